//! Tests for reading databases, case by case (sqlite K3).

use std::path::Path;

use rusqlite::params;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use sha2::{Digest as _, Sha256};

use super::size_cache::hex;
use super::testing::TestStore;
use super::{Database, Events, item_path};
use crate::diagnostic::Severity;
use crate::gateway::env::Environment;
use crate::ids::LineIds;
use crate::store::discovery::{Store, discover};
use crate::store::index::Index;
use crate::store::load::{FileChange, load, refresh};
use crate::store::location::Location;
use crate::store::session::{Flag, Session};
use crate::units::{Moment, Tokens};

const HEADER: &str = r#"{"type":"session","version":4,"id":"s1","cwd":"/w"}"#;

fn message(id: &str, parent: &str, text: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"message":{{"role":"user","content":"{text}"}}}}"#
    )
}

fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn listed(path: &Path) -> Store {
    discover(Some(path), &Environment::default())
}

fn session<'a>(store: &'a Store, id: &str) -> &'a Session {
    store.sessions.iter().find(|session| session.id == id).unwrap()
}

fn read(session: &Session) -> std::io::Result<Index> {
    let path = session.path.as_deref().unwrap();
    let source = session.location.open(path, None)?;
    Ok(load(&source, &mut LineIds, &mut |_, _| true).unwrap())
}

fn ids(index: &Index) -> Vec<String> {
    index.iter().map(|(ix, _)| index.display_id(ix)).collect()
}

fn write_file(path: &Path, bytes: impl AsRef<[u8]>) {
    let mut file = std::fs::File::create(path).unwrap();
    std::io::Write::write_all(&mut file, bytes.as_ref()).unwrap();
}

fn error(path: &Path) -> String {
    let store = listed(path);
    assert!(store.sessions.is_empty());
    let finding = store.diagnostics.iter().find(|finding| finding.severity == Severity::Error).unwrap();
    finding.to_string()
}

#[test]
fn rows_read_as_lines_in_seq_order_despite_line_breaks_inside() {
    let made = TestStore::new();
    made.add_session("agent:main:main", "s1", &[]);
    made.add_event("s1", 1, &message("b", "null", "x").replace("\"type\"", "\n \"type\""));
    made.add_event("s1", 0, HEADER);
    made.add_event("s1", 5, &message("c", "\"b\"", "y"));
    let store = listed(made.state());
    let index = read(session(&store, "s1")).unwrap();
    assert_eq!((ids(&index), index.bad_lines), (vec!["b".to_owned(), "c".to_owned()], 0));
    assert_eq!(index.header.unwrap().version, 4.0);
    assert_eq!(store.diagnostics, []);
}

#[test]
fn a_packed_event_reads_as_any_other_and_a_broken_one_is_a_line_that_cannot_be_read() {
    let made = TestStore::new();
    made.add_session("agent:main:main", "s1", &[HEADER]);
    let long = message("a", "null", &"word ".repeat(1000));
    made.add_packed_event(
        "s1",
        1,
        &compress_to_vec(long.as_bytes(), CompressionLevel::Fastest),
        long.len() as i64,
    );
    made.add_packed_event("s1", 2, b"no frame", 3000);
    made.add_event("s1", 3, &message("b", "\"a\"", "after"));
    let index = read(session(&listed(made.state()), "s1")).unwrap();
    assert_eq!(ids(&index), ["a", "b"]);
    assert_eq!((index.bad_lines, index.entries[0].bytes as usize), (1, long.len()));
    let said = &index.diagnostics[0].message;
    assert!(said.starts_with("cannot read this event: not a Zstandard frame"), "{said}");
}

#[test]
fn a_row_larger_than_a_block_is_read_in_parts() {
    let made = TestStore::new();
    let long = message("a", "null", &"x".repeat(3 << 20));
    made.add_session("agent:main:main", "s1", &[HEADER, &long, &message("b", "\"a\"", "y")]);
    let index = read(session(&listed(made.state()), "s1")).unwrap();
    assert_eq!(
        (ids(&index).len(), index.end as usize),
        (2, HEADER.len() + long.len() + message("b", "\"a\"", "y").len() + 3)
    );
}

#[test]
fn rows_in_the_wal_are_read_and_growth_continues_at_the_old_end() {
    let made = TestStore::new();
    made.add_session("agent:main:main", "s1", &[HEADER, &message("a", "null", "x")]);
    let store = listed(made.state());
    let own = session(&store, "s1");
    let path = own.path.as_deref().unwrap();
    let first = own.location.open(path, None).unwrap();
    let index = load(&first, &mut LineIds, &mut |_, _| true).unwrap();
    let again = own.location.open(path, Some(&first)).unwrap();
    assert!(matches!(refresh(&index, &again, &mut LineIds, &mut |_, _| true), Ok(FileChange::Unchanged)));
    made.add_event("s1", 2, &message("b", "\"a\"", "y"));
    let grown = own.location.open(path, Some(&first)).unwrap();
    let Ok(FileChange::Grown(longer)) = refresh(&index, &grown, &mut LineIds, &mut |_, _| true) else {
        panic!("grown")
    };
    assert_eq!(ids(&longer), ["a", "b"]);
    // The earlier snapshot still returns the same rows.
    assert_eq!(first.len().unwrap(), index.end);
}

#[test]
fn a_rewritten_history_is_read_again_and_an_old_snapshot_detects_it() {
    let made = TestStore::new();
    // A short transcript is read whole when it is opened.
    let long = "x".repeat(70_000);
    made.add_session("agent:main:main", "s1", &[HEADER, &message("a", "null", &long)]);
    let store = listed(made.state());
    let own = session(&store, "s1");
    let path = own.path.as_deref().unwrap();
    let first = own.location.open(path, None).unwrap();
    let untouched = own.location.open(path, None).unwrap();
    let index = load(&first, &mut LineIds, &mut |_, _| true).unwrap();
    made.execute_batch(
        "UPDATE transcript_events SET event_json = replace(event_json, '\"a\"', '\"z\"') WHERE seq = 1;
              UPDATE transcript_rewrite_watermarks SET generation = '00000000000000000000000000000002'",
    );
    // The old snapshot may return rows that it has read, but must not mix them with rewritten ones.
    let unread = Events::read(first.events().unwrap().database(), "s1", None).unwrap();
    assert_eq!(unread.identity(), own.location.open(path, None).unwrap().identity().unwrap());
    assert_ne!(unread.identity(), index.identity);
    assert!(untouched.read_span(0, 4).unwrap_err().to_string().contains("rewrote"));
    let next = own.location.open(path, Some(&first)).unwrap();
    let Ok(FileChange::Replaced(new)) = refresh(&index, &next, &mut LineIds, &mut |_, _| true) else {
        panic!("replaced")
    };
    assert_eq!(ids(&new), ["z"]);
}

fn cold_archive(session: &str, events: &[&str]) -> Vec<u8> {
    let header = format!(r#"{{"kind":"header","version":1,"sessionId":"{session}","generation":"g"}}"#);
    let event = |(seq, event): (usize, &&str)| {
        let text = crate::js::stringify(&crate::js::Value::from(*event));
        format!(r#"{{"kind":"event","row":{{"seq":{seq},"event_json":{text},"created_at":1}}}}"#)
    };
    let lines: Vec<String> = std::iter::once(header).chain(events.iter().enumerate().map(event)).collect();
    compress_to_vec((lines.join("\n") + "\n").as_bytes(), CompressionLevel::Fastest)
}

/// Adds a session with a cold archive, in the database or in a file.
fn cold(made: &TestStore, id: &str, storage: &str, hash: Option<&str>) -> Vec<u8> {
    made.add_session(&format!("agent:main:{id}"), id, &[]);
    let header = HEADER.replace("s1", id);
    let events = [header.as_str(), r#"{"type":"custom","id":"a","parentId":null}"#];
    let packed = cold_archive(id, &events);
    let raw: usize = events.iter().map(|event| event.len()).sum();
    let blob = (storage == "sqlite").then_some(&packed);
    let insert =
        "INSERT INTO session_transcript_cold_archives VALUES (?1, 'g', ?2, ?3, 2, ?4, ?5, 1, 1, ?6, ?7)";
    let hash = hash.map_or_else(|| sha256(&packed), str::to_owned);
    let name = format!("{id}.jsonl.zst");
    made.execute(insert, params![id, name, hash, raw as i64, packed.len() as i64, storage, blob]);
    packed
}

#[test]
fn cold_transcripts_are_read_from_their_archive_and_never_shown_as_empty() {
    let made = TestStore::new();
    let folder = made.state().join("agents/main/sessions/cold");
    std::fs::create_dir_all(&folder).unwrap();
    let write = |id: &str, bytes: &[u8]| write_file(&folder.join(format!("{id}.jsonl.zst")), bytes);
    write("there", &cold(&made, "there", "file", None));
    cold(&made, "inside", "sqlite", None);
    cold(&made, "gone", "file", None);
    write("other", &cold(&made, "other", "file", Some("00")));
    let store = listed(made.state());
    for id in ["there", "inside"] {
        assert_eq!(session(&store, id).flags, [Flag::Cold]);
        assert_eq!(ids(&read(session(&store, id)).unwrap()), ["a"], "{id}");
    }
    assert_eq!(session(&store, "gone").flags, [Flag::Missing, Flag::Cold]);
    assert!(read(session(&store, "gone")).unwrap_err().to_string().starts_with("cold, unavailable"));
    let error = read(session(&store, "other")).unwrap_err().to_string();
    assert!(error.contains("differs from the one"), "{error}");
}

#[test]
fn deleted_transcripts_are_kept_packed_or_plain_and_are_listed_once() {
    let made = TestStore::new();
    let text = format!("{HEADER}\n{}\n", message("a", "null", "x"));
    let add = |generation: &str, encoding: &str, blob: &[u8]| {
        let name = format!("s1.jsonl.deleted.2026-11-20T11-49-06.295Z.{generation}");
        let insert = "INSERT INTO session_transcript_archives VALUES ('s1', ?1, 'agent:main:x', 'deleted', ?2, ?3, ?4, ?5, 1, 1)";
        made.execute(insert, params![generation, encoding, blob, sha256(blob), name]);
        name
    };
    let published = add(&"a".repeat(32), "identity", text.as_bytes());
    add(&"b".repeat(32), "zstd", &compress_to_vec(text.as_bytes(), CompressionLevel::Fastest));
    let folder = made.state().join("agents/main/sessions");
    std::fs::create_dir_all(&folder).unwrap();
    write_file(&folder.join(published), &text);
    // An archive that exists only in the folder.
    let alone = format!("s2.jsonl.deleted.2026-11-20T11-49-06.295Z.{}.zst", "c".repeat(32));
    write_file(&folder.join(alone), compress_to_vec(text.as_bytes(), CompressionLevel::Fastest));
    let store = listed(made.state());
    assert_eq!(store.sessions.len(), 3);
    for session in &store.sessions {
        assert!(session.is_archived());
        assert_eq!(ids(&read(session).unwrap()), ["a"], "{}", session.key);
    }
}

#[test]
fn other_versions_roles_and_tables_are_named_and_not_interpreted() {
    let broken = |sql: &str| {
        let made = TestStore::new();
        made.add_session("agent:main:main", "s1", &[HEADER]);
        made.execute_batch(sql);
        error(made.state())
    };
    let newer = broken("PRAGMA user_version = 24; UPDATE schema_meta SET schema_version = 24");
    assert!(newer.contains("schema version 24") && newer.contains("newer gateway"), "{newer}");
    let older = broken("PRAGMA user_version = 18; UPDATE schema_meta SET schema_version = 18");
    assert!(older.contains("schema version 18") && older.contains("doctor"), "{older}");
    let beta = broken(
        "PRAGMA user_version = 9; UPDATE schema_meta SET schema_version = 9;
         ALTER TABLE session_nodes RENAME TO session_entries",
    );
    assert!(beta.contains("schema version 9"), "{beta}");
    let torn = broken("PRAGMA user_version = 22");
    assert!(torn.contains("22 in the header and 23 in schema_meta"), "{torn}");
    assert!(broken("UPDATE schema_meta SET role = 'global'").contains("role \"global\""));
    let column = broken("ALTER TABLE session_nodes RENAME COLUMN entry_json TO entry");
    assert!(column.contains("session_nodes has no column entry_json"), "{column}");
}

#[test]
fn every_older_version_is_read_without_packed_events_and_cold_archives_and_labelled() {
    let made = TestStore::new();
    made.add_session("agent:main:main", "s1", &[HEADER, &message("a", "null", "x")]);
    made.execute_batch(
        "ALTER TABLE transcript_events DROP COLUMN event_zstd;
              ALTER TABLE transcript_events DROP COLUMN event_utf8_bytes;
              DROP TABLE session_transcript_cold_archives;
              DROP TABLE session_transcript_archives; ALTER TABLE session_nodes DROP COLUMN archived_at",
    );
    for version in 19..=22 {
        made.execute_batch(&format!(
            "PRAGMA user_version = {version}; UPDATE schema_meta SET schema_version = {version}"
        ));
        let store = listed(made.state());
        assert_eq!(ids(&read(session(&store, "s1")).unwrap()), ["a"], "{version}");
        assert_eq!(
            store.diagnostics[0].message,
            format!("the database has the older schema version {version}")
        );
    }
    made.execute_batch("PRAGMA user_version = 21; UPDATE schema_meta SET schema_version = 21");
    made.execute_batch("ALTER TABLE transcript_events ADD COLUMN event_zstd BLOB; UPDATE transcript_events SET event_zstd = x'00'");
    assert!(error(made.state()).contains("schema version 21"));
}

#[test]
fn odd_rows_are_listed_with_a_diagnostic() {
    let made = TestStore::new();
    made.add_session("agent:main:bad", "s1", &[HEADER, &message("a", "null", "x")]);
    made.execute_batch("UPDATE session_nodes SET entry_json = '{oops', label = 'a label'");
    made.add_session("agent:main:lost", "s2", &[]);
    made.execute_batch("DELETE FROM session_windows WHERE session_id = 's2'");
    made.add_session("agent:main:two", "s3", &[HEADER]);
    made.execute_batch("UPDATE session_nodes SET label = 'column', entry_json = '{\"sessionId\":\"s3\",\"label\":\"record\"}' WHERE session_key LIKE '%two'");
    let store = listed(made.state());
    let what: Vec<&str> = store.diagnostics.iter().map(|finding| finding.message.as_str()).collect();
    assert!(what.iter().any(|what| what.starts_with("cannot read entry_json")), "{what:?}");
    assert!(what.contains(&"the row's current session s2 has no row in session_windows"), "{what:?}");
    assert!(what.iter().any(|what| what.contains("\"record\" in entry_json, \"column\"")), "{what:?}");
    assert_eq!(session(&store, "s1").title, "a label");
    assert_eq!(session(&store, "s3").title, "record");
    assert!(session(&store, "s2").has_flag(Flag::Missing));
}

#[test]
fn fields_missing_in_columns_are_read_from_the_record() {
    let made = TestStore::new();
    made.add_session("agent:main:main", "s1", &[HEADER]);
    let entry = r#"{"sessionId":"s1","updatedAt":5,"totalTokens":7,"totalTokensFresh":true,"status":"running",
        "delivery":{"kind":"external","route":{"channel":"telegram"}}}"#;
    made.execute(
        "UPDATE session_nodes SET entry_json = ?1, status = 'running', last_activity_at = 9",
        [entry],
    );
    made.execute_batch("UPDATE session_windows SET transcript_updated_at = 8");
    let store = listed(made.state());
    let own = session(&store, "s1");
    let row = own.record.as_ref().unwrap();
    assert_eq!(
        (row.total_tokens, row.channel.as_deref(), row.updated_at),
        (None, Some("telegram"), Some(Moment(9.0)))
    );
    assert!(own.has_flag(Flag::Running));
    let is_running = |entry: String| {
        made.execute("UPDATE session_nodes SET entry_json = ?1", [entry]);
        session(&listed(made.state()), "s1").has_flag(Flag::Running)
    };
    assert!(
        !is_running(entry.replace("\"status\":\"running\"", "\"activeWriterRunId\":\"r\"")),
        "the last run's claim"
    );
    assert!(
        !is_running(entry.replace("\"status\"", "\"abortedLastRun\":true,\"status\"")),
        "a restart ended it"
    );
    made.execute(
        "UPDATE session_nodes SET entry_json = ?1",
        [entry.replace("\"status\"", "\"totalTokensVersion\":1,\"x\"")],
    );
    let store = listed(made.state());
    assert_eq!(session(&store, "s1").record.as_ref().unwrap().total_tokens, Some(Tokens(7.0)));
}

#[test]
fn files_next_to_a_database_are_imported_or_extra_history() {
    let made = TestStore::new();
    let first = message("a", "null", "x");
    made.add_session("agent:main:main", "s1", &[HEADER, &first]);
    made.execute("INSERT INTO transcript_event_identities (session_id, event_id, seq, created_at) VALUES ('s1', 'a', 1, 1)", []);
    let folder = made.state().join("agents/main/sessions");
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, lines: &[&str]| write_file(&folder.join(name), lines.join("\n") + "\n");
    write(
        "sessions.json",
        &[r#"{"agent:main:main":{"sessionId":"s1"},"agent:main:old":{"sessionId":"s9"}}"#],
    );
    write("s1.jsonl", &[HEADER, &first]);
    write("s1-topic-4.jsonl", &[HEADER, &first, &message("b", "\"a\"", "later")]);
    write("s9.jsonl", &[&HEADER.replace("s1", "s9"), &first]);
    let store = listed(made.state());
    let flags = |name: &str| {
        let path = folder.join(name);
        store.sessions.iter().find(|session| session.path.as_ref() == Some(&path)).unwrap().flags.clone()
    };
    assert_eq!(flags("s1.jsonl"), [Flag::Imported]);
    assert_eq!(flags("s1-topic-4.jsonl"), [Flag::NotImported]);
    assert_eq!(flags("s9.jsonl"), [Flag::NotImported]);
    let what: Vec<&str> = store.diagnostics.iter().map(|finding| finding.message.as_str()).collect();
    assert!(
        what.contains(&"the file contains history that is not in the database: session s1 lacks entry b"),
        "{what:?}"
    );
    assert!(
        what.contains(&"the file contains history that is not in the database: no row has session s9"),
        "{what:?}"
    );
    // The key finds the session in the database.
    let main = crate::store::find::find_session(&store, "main", Path::new("/")).unwrap();
    assert!(matches!(main.location, Location::DatabaseRows { .. }));
    assert_eq!(crate::store::find::find_session(&store, "s1", Path::new("/")).unwrap().key, main.key);
}

#[test]
fn a_read_only_store_is_read() {
    let made = TestStore::new();
    made.add_session("agent:main:main", "s1", &[HEADER, &message("a", "null", "x")]);
    let closed = made.close();
    // Root may write everywhere, so only the usual way to open a database is tested here, not the immutable fallback.
    let database = Database::open(&closed).unwrap();
    assert!(!database.is_immutable());
    assert_eq!(item_path(&closed, "s1").parent(), closed.parent());
    std::fs::remove_dir_all(closed.ancestors().nth(4).unwrap()).unwrap();
}

#[test]
fn lengths_that_no_gateway_writes_become_notes_and_cost_no_memory() {
    let made = TestStore::new();
    made.add_session("agent:main:main", "s1", &[HEADER, &message("a", "null", "x")]);
    let frame = compress_to_vec(&b"{}"[..], CompressionLevel::Fastest);
    for (seq, claimed) in [(2, i64::MAX), (3, -1), (4, 4_194_305), (5, 4_194_304)] {
        made.add_packed_event("s1", seq, &frame, claimed);
    }
    let insert =
        "INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES ('s1', 6, ?1, 1)";
    made.execute(insert, [format!("{{\"type\":\"custom\",\"id\":\"{}\"}}", "x".repeat(33 << 20))]);
    let zeros = "INSERT INTO transcript_events (session_id, seq, created_at, event_zstd, event_utf8_bytes) \
                 VALUES ('s1', 7, 1, zeroblob(9000000), 100)";
    made.execute_batch(zeros);
    made.add_event("s1", 8, &message("b", "\"a\"", "y"));
    let store = listed(made.state());
    let index = read(session(&store, "s1")).unwrap();
    assert_eq!(ids(&index), ["a", "b"]);
    let said: Vec<String> = index.all_diagnostics().into_iter().map(|finding| finding.message).collect();
    assert_eq!(said.len(), 6, "{said:?}");
    let unknown = "cannot read this event: no text, and no length below 4.2 MB";
    assert_eq!(said[..3], [unknown; 3]);
    assert_eq!(said[3], "cannot read this event: expected 4194304 bytes, found 2");
    assert!(said[4].contains("a line of 34.6 MB, longer than the limit of 33.6 MB"), "{}", said[4]);
    assert!(said[5].contains("one above 8.4 MB"), "{}", said[5]);
}

#[test]
fn a_huge_value_is_an_error_or_a_note_and_an_archive_is_read_in_pieces() {
    let made = TestStore::new();
    made.add_session("agent:main:main", "s1", &[HEADER]);
    made.add_session("agent:main:other", "s2", &[HEADER]);
    let grow = "UPDATE session_nodes SET entry_json = printf('%.*c', 34000000, 'x') WHERE session_key = 'agent:main:other'";
    made.execute_batch(grow);
    let store = listed(made.state());
    assert_eq!(store.sessions.len(), 2);
    assert!(
        store.diagnostics.iter().any(|finding| finding.message.contains("longer than the limit of 33.6 MB"))
    );
    let insert = "INSERT INTO session_transcript_archives VALUES ('s3', 'g', 'agent:main:x', 'deleted', 'identity', \
                  zeroblob(300000000), 'hash', 's3.jsonl.deleted.2026-11-20T11-49-06.295Z.g', 1, 1)";
    made.execute_batch(insert);
    let store = listed(made.state());
    let error = read(session(&store, "s3")).unwrap_err().to_string();
    assert!(error.contains("larger than 268.4 MB"), "{error}");
    made.execute_batch("UPDATE session_nodes SET label = printf('%.*c', 70000000, 'x') WHERE session_key = 'agent:main:main'");
    assert!(error_of(made.state()).contains("too big"), "{}", error_of(made.state()));
}

/// The first error of a store.
fn error_of(state: &Path) -> String {
    let store = listed(state);
    let errors = store.diagnostics.iter().filter(|finding| finding.severity == Severity::Error);
    errors.map(|finding| finding.message.clone()).next().unwrap_or_default()
}

#[test]
fn a_short_transcript_is_read_in_one_transaction() {
    let made = TestStore::new();
    made.add_session(
        "agent:main:main",
        "s1",
        &[HEADER, &message("a", "null", "x"), &message("b", "\"a\"", "y")],
    );
    let database = std::sync::Arc::new(Database::open(&made.database()).unwrap());
    let events = Events::read(&database, "s1", None).unwrap();
    let source = crate::store::source::Source::DatabaseRows(std::sync::Arc::new(events));
    let index = load(&source, &mut LineIds, &mut |_, _| true).unwrap();
    assert_eq!(ids(&index), ["a", "b"]);
    assert_eq!(database.transactions.load(std::sync::atomic::Ordering::Relaxed), 1);
}

#[test]
fn many_keys_are_listed_newest_first_and_those_of_one_time_by_their_name() {
    const KEYS: i64 = 3_000;
    let made = TestStore::new();
    made.execute_batch(&format!(
        "WITH RECURSIVE ids(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM ids WHERE n < {KEYS}) \
         INSERT INTO session_nodes (session_key, current_session_id, entry_json, updated_at) \
         SELECT 'agent:main:' || n, 's' || n, '{{}}', n * 7 % 1000 FROM ids"
    ));
    made.add_window("agent:main:7", "s7", &[HEADER]);
    let store = listed(made.state());
    let mut expected: Vec<(i64, String)> =
        (1..=KEYS).map(|n| (-(n * 7 % 1000), format!("agent:main:{n}"))).collect();
    expected.sort();
    let keys: Vec<&str> = store.sessions.iter().map(|session| session.key.0.as_str()).collect();
    assert_eq!(keys, expected.iter().map(|(_, key)| key.as_str()).collect::<Vec<_>>());
    // A key without a window is reported with it.
    let about: Vec<&str> =
        store.diagnostics.iter().filter_map(|finding| finding.subject.as_deref()).collect();
    let without: Vec<&str> = keys.iter().copied().filter(|key| *key != "agent:main:7").collect();
    assert_eq!(about, without);
    let seven = session(&store, "s7");
    assert_eq!((seven.bytes.get(), seven.has_flag(Flag::Missing)), (HEADER.len() as u64 + 1, false));
    assert!(session(&store, "s8").has_flag(Flag::Missing));
}
