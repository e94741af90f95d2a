//! Transcripts in the database of an agent.

use std::fs;
use std::path::Path;

use rusqlite::{Connection, OpenFlags, params};
use serde_json::Value;

use crate::support::fixture::unpacked;

fn opened(path: &Path) -> Connection {
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("a database")
}

/// Every entry of a session, in its order.
pub(super) fn entries(path: &Path, session: &str) -> Vec<Value> {
    let all = events(&opened(path)).into_iter();
    all.filter(|((own, _), _)| own == session).map(|(_, event)| event).collect()
}

/// Id of each session, and the key that leads to it now, if one does.
pub(super) fn sessions(path: &Path) -> Vec<(String, Option<String>)> {
    let connection = opened(path);
    let query = "select session_id, node.session_key from session_windows \
                 left join session_nodes node on node.current_session_id = session_id";
    let mut statement = connection.prepare(query).expect("a query");
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows");
    rows.map(|row| row.expect("a row")).collect()
}

/// A session's id, and the position in it.
type Place = (String, i64);

fn events(connection: &Connection) -> Vec<(Place, Value)> {
    let has_packed = connection
        .prepare("select 1 from pragma_table_info('transcript_events') where name = 'event_zstd'")
        .and_then(|mut statement| statement.exists([]))
        .expect("the table's columns");
    let packed = if has_packed { "event_zstd" } else { "null" };
    let query = format!(
        "select session_id, seq, event_json, {packed} from transcript_events order by session_id, seq"
    );
    let mut statement = connection.prepare(&query).expect("a query");
    let row = |row: &rusqlite::Row<'_>| Ok(((row.get(0)?, row.get(1)?), row.get(2)?, row.get(3)?));
    let rows = statement.query_map([], row).expect("rows");
    let parsed = rows.map(|row| {
        let (place, text, packed): (Place, Option<String>, Option<Vec<u8>>) = row.expect("a row");
        let bytes = text.map(String::into_bytes);
        let bytes = bytes.unwrap_or_else(|| unpacked(&*packed.expect("an event")));
        (place, serde_json::from_slice(&bytes).expect("JSON"))
    });
    parsed.collect()
}

/// Copies an agent's database of a store without the events of a session behind an entry.
pub(super) fn cut((from, database): (&Path, &Path), session: &str, to: &Path, leaf: &str) {
    let within = database.strip_prefix(from).expect("within the store");
    let target = to.join(within);
    fs::create_dir_all(target.parent().expect("a folder")).expect("folders");
    for end in ["", "-wal"] {
        let name = |path: &Path| format!("{}{end}", path.display());
        if Path::new(&name(database)).exists() {
            fs::copy(name(database), name(&target)).expect("a copy");
        }
    }
    let connection = Connection::open(&target).expect("a database");
    connection.execute_batch("pragma foreign_keys = off").expect("off");
    let events = events(&connection);
    let is_leaf = |((own, _), event): &&(Place, Value)| own == session && event["id"] == leaf;
    let ((_, seq), _) = events.iter().find(is_leaf).expect("the entry");
    let tables = [
        ("session_transcript_active_events", "event_seq"),
        ("transcript_event_identities", "seq"),
        ("transcript_events", "seq"),
    ];
    for (table, column) in tables {
        let query = format!("delete from {table} where session_id = ? and {column} > ?");
        // A release may lack the table.
        _ = connection.execute(&query, params![session, seq]);
    }
}
