//! Caches transcript sizes in databases between listings. A busy gateway commits several times a second, so each
//! listing queries only the rows added since the last one (sqlite I3).

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, params};

use super::events::read_generation;
use super::open::Database;
use super::unpack::MAX_EVENT_BYTES;
use crate::store::index::FileIdentity;
use crate::units::Bytes;

#[derive(Debug, Default)]
pub struct SizeCache(Mutex<HashMap<(PathBuf, String), CachedSize>>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct CachedSize {
    database: FileIdentity,
    generation: Option<String>,
    /// `seq` of its last row.
    last_seq: i64,
    /// Bytes of all rows, one line end each.
    bytes: Bytes,
}

impl SizeCache {
    /// Returns the bytes of a session's rows, one line end each; 0 without rows. SQLite stores lengths in row headers,
    /// so no text is read.
    pub(super) fn bytes(
        &self,
        at: &Connection,
        database: &Database,
        session: &str,
    ) -> rusqlite::Result<Bytes> {
        let ask = "SELECT max(seq) FROM transcript_events WHERE session_id = ?1";
        let last: Option<i64> = at.prepare_cached(ask)?.query_row([session], |row| row.get(0))?;
        let Some(last) = last else { return Ok(Bytes::ZERO) };
        let generation = read_generation(at, session)?;
        let key = (database.path().to_path_buf(), session.to_owned());
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        let same = known.filter(|known| {
            known.database == database.identity() && known.generation == generation && known.last_seq <= last
        });
        let (after, before) = same.map_or((i64::MIN, Bytes::ZERO), |known| (known.last_seq, known.bytes));
        let added = if after == last { Bytes::ZERO } else { added_bytes(at, database, session, after)? };
        let known =
            CachedSize { database: database.identity(), generation, last_seq: last, bytes: before + added };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, known);
        Ok(before + added)
    }
}

/// Returns the bytes of the rows after a `seq`.
fn added_bytes(at: &Connection, database: &Database, session: &str, after: i64) -> rusqlite::Result<Bytes> {
    let packed = database.column_or_null("transcript_events", "e", "event_utf8_bytes");
    let sum = format!(
        "SELECT total(CASE WHEN e.event_json IS NOT NULL THEN octet_length(e.event_json) \
         WHEN {packed} BETWEEN 0 AND {MAX_EVENT_BYTES} THEN {packed} ELSE 0 END + 1) FROM transcript_events e WHERE e.session_id = ?1 AND e.seq > ?2"
    );
    let bytes: f64 = at.prepare_cached(&sum)?.query_row(params![session, after], |row| row.get(0))?;
    Ok(Bytes(bytes as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sqlite::testing::TestStore;

    #[test]
    fn cached_sizes_follow_additions_and_rewrites() {
        let made = TestStore::new();
        made.add_session("agent:main:main", "s1", &["12345", "123"]);
        let sizes = SizeCache::default();
        let bytes = || {
            let database = Database::open(&made.database()).unwrap();
            database.with_transaction(|at| sizes.bytes(at, &database, "s1")).unwrap().get()
        };
        assert_eq!([bytes(), bytes()], [10, 10]);
        made.add_event("s1", 2, "1");
        assert_eq!(bytes(), 12);
        made.execute_batch(
            "UPDATE transcript_events SET event_json = '1' WHERE seq = 0;
                  UPDATE transcript_rewrite_watermarks SET generation = '00000000000000000000000000000002'",
        );
        assert_eq!(bytes(), 8);
        made.execute_batch("DELETE FROM transcript_events");
        assert_eq!(bytes(), 0);
    }
}
