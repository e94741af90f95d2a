//! Small databases for tests, built as a gateway builds them (sqlite K).

use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};
use tempfile::TempDir;

/// Tables that a reader needs, from the gateway's schema (sqlite K1).
pub(crate) const TABLES: &str = include_str!("../../../tests/fixtures/sqlite-tables.sql");

pub(crate) struct TestStore {
    dir: TempDir,
    connection: Connection,
}

impl TestStore {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let agent = dir.path().join("agents/main/agent");
        std::fs::create_dir_all(&agent).unwrap();
        let connection = Connection::open(agent.join(super::DATABASE_NAME)).unwrap();
        connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;").unwrap();
        connection.execute_batch(TABLES).unwrap();
        Self { dir, connection }
    }

    pub(crate) fn state(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.dir.path().join("agents/main/agent").join(super::DATABASE_NAME)
    }

    pub(crate) fn execute_batch(&self, sql: &str) {
        self.connection.execute_batch(sql).unwrap();
    }

    pub(crate) fn checkpoint(&self) {
        self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    }

    /// Moves the log into the database file and closes the connection.
    pub(crate) fn close(self) -> PathBuf {
        self.checkpoint();
        let path = self.database();
        drop(self.connection);
        let _ = self.dir.keep();
        path
    }

    /// Adds a key with its transcript.
    pub(crate) fn add_session(&self, key: &str, id: &str, events: &[&str]) {
        let entry = format!(r#"{{"sessionId":"{id}","updatedAt":1}}"#);
        let node = "INSERT INTO session_nodes (session_key, current_session_id, entry_json, updated_at) VALUES (?1, ?2, ?3, 1)";
        self.connection.execute(node, params![key, id, entry]).unwrap();
        self.add_window(key, id, events);
    }

    /// Adds a transcript whose key may refer to another one.
    pub(crate) fn add_window(&self, key: &str, id: &str, events: &[&str]) {
        let window = "INSERT INTO session_windows (session_id, session_key, created_at, updated_at) VALUES (?1, ?2, 1, 1)";
        self.connection.execute(window, params![id, key]).unwrap();
        let mark = "INSERT INTO transcript_rewrite_watermarks VALUES (?1, ?2, 1)";
        self.connection.execute(mark, params![id, "0".repeat(31) + "1"]).unwrap();
        for (seq, event) in events.iter().enumerate() {
            self.add_event(id, seq as i64, event);
        }
    }

    pub(crate) fn add_event(&self, id: &str, seq: i64, event: &str) {
        let insert = "INSERT INTO transcript_events (session_id, seq, event_json, created_at, event_utf8_bytes) \
                      VALUES (?1, ?2, ?3, 1, ?4)";
        self.connection.execute(insert, params![id, seq, event, event.len() as i64]).unwrap();
    }

    pub(crate) fn add_packed_event(&self, id: &str, seq: i64, packed: &[u8], bytes: i64) {
        let insert = "INSERT INTO transcript_events (session_id, seq, created_at, event_zstd, event_utf8_bytes) \
                      VALUES (?1, ?2, 1, ?3, ?4)";
        self.connection.execute(insert, params![id, seq, packed, bytes]).unwrap();
    }

    pub(crate) fn execute(&self, sql: &str, params: impl rusqlite::Params) {
        self.connection.execute(sql, params).unwrap();
    }
}
