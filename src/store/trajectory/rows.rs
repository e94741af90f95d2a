//! Recordings in an agent's database: table `trajectory_runtime_events` (trajectory 2.5).

use std::io;

use rusqlite::{OptionalExtension as _, Row, types::ValueRef};

use crate::store::sqlite::Database;

pub(super) fn has_rows(database: &Database, session: &str) -> bool {
    let ask = "SELECT EXISTS (SELECT 1 FROM trajectory_runtime_events WHERE session_id = ?1)";
    database.has_column("trajectory_runtime_events", "event_json")
        && database
            .with_transaction(|at| at.prepare_cached(ask)?.query_row([session], |row| row.get(0)))
            .unwrap_or(false)
}

/// Calls `take` with `seq` and text of each event of a session, in order.
pub(super) fn for_each_row(
    database: &Database,
    session: &str,
    mut take: impl FnMut(i64, &[u8]),
) -> io::Result<()> {
    let ask = "SELECT seq, event_json FROM trajectory_runtime_events WHERE session_id = ?1 ORDER BY seq";
    let read = database.with_transaction(|at| {
        let mut statement = at.prepare(ask)?;
        let mut rows = statement.query([session])?;
        while let Some(row) = rows.next()? {
            take(row.get(0)?, column_text(row, 1)?);
        }
        Ok(())
    });
    read.map_err(io::Error::other)
}

/// Returns the text of one event; `None` when it was removed meanwhile.
pub(super) fn read_row(database: &Database, session: &str, seq: i64) -> Option<Vec<u8>> {
    let ask = "SELECT event_json FROM trajectory_runtime_events WHERE session_id = ?1 AND seq = ?2";
    let read = database.with_transaction(|at| {
        at.query_row(ask, (session, seq), |row| column_text(row, 0).map(<[u8]>::to_vec)).optional()
    });
    read.ok().flatten()
}

/// Returns the bytes of a text or blob column; empty for other types.
fn column_text<'a>(row: &'a Row<'_>, column: usize) -> rusqlite::Result<&'a [u8]> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes,
        _ => &[],
    })
}
