//! One record of a database, and the names that its records use (sqlite C1, D).

use std::path::Path;

use rusqlite::OptionalExtension as _;

use super::open::{Database, OpenError};
use crate::js::{self, Value};

/// Reads the record of a key as the gateway stored it; `None` without the key, or when it is not JSON.
///
/// # Errors
/// The database cannot be read.
pub fn stored_record(database: &Path, key: &str) -> Result<Option<Value>, OpenError> {
    let database = Database::open(database)?;
    let text: Option<String> = database.with_transaction(|at| {
        let query = "SELECT entry_json FROM session_nodes WHERE session_key = ?1";
        at.query_row(query, [key], |row| row.get(0)).optional()
    })?;
    Ok(text.and_then(|text| js::parse(&text).ok()))
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
