//! One record of a database, and the names that its records use (sqlite C1, D).

use std::path::Path;

use rusqlite::OptionalExtension as _;

use super::open::{Database, OpenError};
use crate::js::{self, Value};
use crate::store::limits::MAX_LINE_BYTES;

/// Reads the record of a key as the gateway stored it; `None` without the key, or when it is not JSON.
///
/// # Errors
/// The database cannot be read.
pub fn stored_record(database: &Path, key: &str) -> Result<Option<Value>, OpenError> {
    let database = Database::open(database)?;
    let text: Option<Option<String>> = database.with_transaction(|at| {
        let query = format!("SELECT {} FROM session_nodes n WHERE session_key = ?1", record_column());
        at.query_row(&query, [key], |row| row.get(0)).optional()
    })?;
    Ok(text.flatten().and_then(|text| js::parse(&text).ok()))
}

/// Returns the column of a row's record for a query; NULL for one that is longer than any line that clawscope reads.
pub(super) fn record_column() -> String {
    format!("CASE WHEN octet_length(n.entry_json) <= {MAX_LINE_BYTES} THEN n.entry_json END")
}

/// Reads the labels that people or programs gave to sessions.
///
/// # Errors
/// The database cannot be read.
pub fn session_labels(database: &Path) -> Result<Vec<String>, OpenError> {
    let database = Database::open(database)?;
    let label = database.column_or_null("session_nodes", "node", "label");
    Ok(database.with_transaction(|at| {
        let mut query = at.prepare(&format!("SELECT {label} FROM session_nodes node"))?;
        let labels = query.query_map([], |row| row.get::<_, Option<String>>(0))?;
        labels.filter_map(Result::transpose).collect()
    })?)
}
