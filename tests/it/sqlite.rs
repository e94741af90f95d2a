//! A store of 2026.9: the real database that its own package wrote, its archives, and small ones made in the same way.

use std::fs;
use std::path::{Path, PathBuf};

use clawscope::gateway::env::Environment;
use clawscope::gateway::ruleset::Ruleset;
use clawscope::ids::SessionKey;
use clawscope::session::LoadedSession;
use clawscope::session::loading::open;
use clawscope::store::discovery::{Store, discover};
use clawscope::transcript::Leaf;
use clawscope::units::{Bytes, Moment};
use serde_json::Value;
use tempfile::TempDir;

const NOW_MS: Moment = Moment(1_795_200_000_000.0);

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sqlite-2026.9.6").join(name)
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).unwrap();
        for item in fs::read_dir(from).unwrap() {
            let item = item.unwrap();
            copy(&item.path(), &to.join(item.file_name()));
        }
    } else {
        fs::copy(from, to).unwrap();
    }
}

/// The state dir of the fixture, in a temporary folder.
fn state() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let main = dir.path().join("agents/main");
    fs::create_dir_all(main.join("agent")).unwrap();
    copy(&fixture("openclaw-agent.sqlite"), &main.join("agent/openclaw-agent.sqlite"));
    copy(&fixture("sessions"), &main.join("sessions"));
    dir
}

fn listed(path: &Path) -> Store {
    discover(Some(path), &Environment::default())
}

fn opened(store: &Store, key: &str) -> LoadedSession {
    open(store, &SessionKey(key.to_owned()), None, NOW_MS, &mut |_, _| true).unwrap()
}

fn names(session: &LoadedSession, entries: &[clawscope::ids::EntryIx]) -> Vec<String> {
    entries.iter().map(|ix| session.index.display_id(*ix)).collect()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_session_reads_as_in_the_gateways_modules() {
    let state = state();
    let store = listed(state.path());
    assert_eq!(store.ruleset.id, Ruleset::V2026_9_6);
    let expected: Value = serde_json::from_slice(&fs::read(fixture("expected.json")).unwrap()).unwrap();
    let expected = expected.as_object().unwrap();
    assert_eq!(expected.len(), 4);
    for (key, expected) in expected {
        let session = opened(&store, key);
        let (index, context) = (&session.index, &session.context);
        assert_eq!(session.item.id, expected["sessionId"].as_str().unwrap(), "{key}");
        let leaf = session.tree.leaf(index, &Leaf::Own).map(|ix| index.display_id(ix));
        assert_eq!(leaf.as_deref(), expected["leafEntryId"].as_str(), "{key}");
        assert_eq!(names(&session, &context.path), texts(&expected["activePath"]), "{key}");
        let roles: Vec<String> = context.messages.iter().map(|it| it.size.role.as_str().to_owned()).collect();
        assert_eq!(roles, texts(&expected["contextRoles"]), "{key}");
        let thinking = context.thinking_level.and_then(|word| index.values.text(word));
        assert_eq!(
            thinking.as_deref().unwrap_or("off"),
            expected["thinkingLevel"].as_str().unwrap(),
            "{key}"
        );
        assert_eq!(session.provider, expected["model"]["provider"].as_str().unwrap(), "{key}");
        assert_eq!(session.model, expected["model"]["modelId"].as_str().unwrap(), "{key}");
        let branches: Vec<Value> = session
            .branch_tips(clawscope::redact::SecretDisplay::Hidden)
            .iter()
            .map(|tip| {
                serde_json::json!({"leafEntryId": tip.leaf, "active": tip.active,
                    "messageCount": tip.messages, "headline": tip.headline})
            })
            .collect();
        assert_eq!(Value::from(branches), expected["branches"], "{key}");
    }
}

#[test]
fn every_storage_kind_is_listed_and_opens() {
    let state = state();
    let store = listed(state.path());
    assert_eq!(store.diagnostics, []);
    let mut seen: Vec<(String, String, u64)> = store
        .sessions
        .iter()
        .map(|session| {
            let loaded = opened(&store, &session.key.0);
            assert_eq!(loaded.diagnostics(), [], "{}", session.key);
            let flags: Vec<&str> = session.flags.iter().map(|flag| flag.as_str()).collect();
            (session.id[..8].to_owned(), flags.join(" "), loaded.index.entries.len() as u64)
        })
        .collect();
    seen.sort();
    let expected = [
        ("11111111", "", 19),
        ("22222222", "earlier", 3),
        ("33333333", "earlier", 8),
        ("44444444", "cold", 3),
        ("55555555", "shelved cold", 3),
        ("66666666", "", 3),
        ("88888888", "archived", 2),
        ("f20dfae3", "", 6),
        ("f857a0f5", "", 9),
    ];
    let expected = expected.map(|(id, flags, entries)| (id.to_owned(), flags.to_owned(), entries));
    assert_eq!(seen, expected);
}

#[test]
fn a_packed_event_has_its_text() {
    let state = state();
    let session = opened(&listed(state.path()), "agent:main:main");
    let packed = session.tree.find_by_text(&session.index, "5a425ef8").unwrap();
    assert_eq!(session.index.entry(packed).bytes(), Bytes(9849));
    let message =
        clawscope::store::body::read_message(&session.source, &session.index, packed).unwrap().unwrap();
    assert!(message.get("role").unwrap().str_is("toolResult"));
}

#[test]
fn a_single_database_is_a_store_too() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("copy.sqlite");
    copy(&fixture("openclaw-agent.sqlite"), &path);
    let store = listed(&path);
    assert_eq!((store.ruleset.id, store.sessions.len()), (Ruleset::V2026_9_6, 9));
    // Its cold archives are not in the same folder.
    let cold: Vec<&str> = store.diagnostics.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(cold, ["cold, unavailable: the archive of its transcript does not exist"; 2]);
    assert_eq!(opened(&store, "agent:main:main").index.entries.len(), 19);
}

/// Makes a store of 2026.9 with one session of only a header, open for writing.
fn made(dir: &Path) -> rusqlite::Connection {
    let agent = dir.join("agents/main/agent");
    fs::create_dir_all(&agent).unwrap();
    let connection = rusqlite::Connection::open(agent.join("openclaw-agent.sqlite")).unwrap();
    connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;").unwrap();
    let tables =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sqlite-tables.sql"));
    connection.execute_batch(&tables.unwrap()).unwrap();
    connection
        .execute_batch(
            r#"INSERT INTO session_nodes (session_key, current_session_id, entry_json, updated_at)
                 VALUES ('agent:main:main', 's1', '{"sessionId":"s1"}', 1);
               INSERT INTO session_windows (session_id, session_key, created_at, updated_at) VALUES ('s1', 'agent:main:main', 1, 1);
               INSERT INTO transcript_rewrite_watermarks VALUES ('s1', '00000000000000000000000000000001', 1);"#,
        )
        .unwrap();
    append(&connection, 0, r#"{"type":"session","version":4,"id":"s1","cwd":"/w"}"#);
    connection
}

fn append(connection: &rusqlite::Connection, seq: i64, event: &str) {
    let insert = "INSERT INTO transcript_events (session_id, seq, event_json, created_at, event_utf8_bytes) VALUES ('s1', ?1, ?2, 1, ?3)";
    connection.execute(insert, rusqlite::params![seq, event, event.len() as i64]).unwrap();
}

/// Entries that the other process appends.
const WRITTEN: i64 = 600;
/// Set in the process that writes, which is this program too.
const WRITER: &str = "CLAWSCOPE_TEST_WRITER";

/// The other process: appends entry by entry, now and then several in one transaction, and moves the log into the file.
#[test]
fn the_other_process() {
    let Some(path) = std::env::var_os(WRITER) else { return };
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    let mut seq = 1;
    while seq <= WRITTEN {
        let several = if seq % 7 == 0 { 5 } else { 1 };
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        for _ in 0..several.min(WRITTEN + 1 - seq) {
            let parent = if seq == 1 { "null".to_owned() } else { format!("\"e{}\"", seq - 1) };
            let text = "x".repeat((seq as usize * 37) % 6000);
            append(
                &connection,
                seq,
                &format!(
                    r#"{{"type":"message","id":"e{seq}","parentId":{parent},"message":{{"role":"user","content":"{text}"}}}}"#
                ),
            );
            seq += 1;
        }
        connection.execute_batch("COMMIT").unwrap();
        if seq % 50 == 0 {
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        }
        std::thread::park_timeout(std::time::Duration::from_millis(seq as u64 % 9));
    }
}

#[test]
fn every_entry_of_another_process_is_followed() {
    use clawscope::runtime::watch::{Watch, WatchEvent, WatchMode, store_databases, store_folders};
    let dir = tempfile::tempdir().unwrap();
    drop(made(dir.path()));
    let store = listed(dir.path());
    let key = SessionKey("agent:main:main".to_owned());
    let (reported, heard) = std::sync::mpsc::channel();
    let watch = Watch::start(WatchMode::Auto, move |news| match news {
        WatchEvent::Changed(paths) => reported.send(paths).is_ok(),
        WatchEvent::Polled(_) => true,
    });
    watch.set_folders(store_folders(&store), Moment::NEVER);
    watch.set_databases(store_databases(&store));
    let database = dir.path().join("agents/main/agent/openclaw-agent.sqlite");
    let mut session = open(&store, &key, None, NOW_MS, &mut |_, _| true).unwrap();
    let mut writer = std::process::Command::new(crate::support::process::this_program())
        .args(["--exact", "sqlite::the_other_process", "--nocapture"])
        .env(WRITER, &database)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_mins(2);
    let (mut seen, mut readings) = (0, 0);
    while seen < WRITTEN as usize {
        assert!(std::time::Instant::now() < deadline, "{seen} of {WRITTEN} after {readings} readings");
        let Ok(paths) = heard.recv_timeout(std::time::Duration::from_secs(10)) else { continue };
        if !paths.contains(&database) {
            continue;
        }
        let next = open(&store, &key, Some(&session), NOW_MS, &mut |_, _| true).unwrap();
        assert_eq!(next.extends_epoch, Some(session.epoch), "only what was added is read");
        let entries = next.index.entries.len();
        assert!(entries >= seen);
        for (at, (ix, _)) in next.index.iter().enumerate().skip(seen) {
            assert_eq!(next.index.display_id(ix), format!("e{}", at + 1));
        }
        assert_eq!(next.context.messages.len(), entries);
        (seen, readings) = (entries, readings + 1);
        session = next;
    }
    assert!(writer.wait().unwrap().success());
    let whole = open(&store, &key, None, NOW_MS, &mut |_, _| true).unwrap();
    let places =
        |of: &LoadedSession| of.index.entries.iter().map(|it| (it.offset, it.bytes())).collect::<Vec<_>>();
    assert!(places(&whole) == places(&session), "read at once it is the same");
    assert_eq!(whole.index.end, session.index.end);
    println!("{WRITTEN} entries followed in {readings} readings");
}

#[test]
fn branches_in_a_database_are_switched_by_its_gateway_alone() {
    use clawscope::commit::UndoTarget;
    use clawscope::session::ManualChange;
    use clawscope::write::request::{WriteAction, WriteError, WriteRequest, prepare};
    let state = state();
    let path = state.path().join("agents/main/agent/openclaw-agent.sqlite");
    let before = fs::read(&path).unwrap();
    let loaded = opened(&listed(state.path()), "agent:main:main");
    let refusal = |action| {
        let request = WriteRequest { session: &loaded, action, allow_orphan: true, now_ms: NOW_MS };
        let Err(error @ WriteError::Refused(_)) = prepare(&request) else { panic!("refused") };
        error.to_string()
    };
    let leaf = ManualChange::Branch(loaded.context.messages[0].entry);
    let branch = refusal(WriteAction::ByHand(&leaf));
    assert!(
        branch.contains("openclaw-agent.sqlite#1111") && branch.contains("only the gateway may write"),
        "{branch}"
    );
    assert!(branch.contains("sessions.branches.switch") && branch.contains("agent:main:main"), "{branch}");
    let undo = refusal(WriteAction::Undo(UndoTarget::LastCommit));
    assert!(undo.contains("a session of its own"), "{undo}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn an_unreadable_database_is_reported_and_still_decides_the_ruleset() {
    let whole = fs::read(fixture("openclaw-agent.sqlite")).unwrap();
    let noise: Vec<u8> = (0..9_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for bytes in [Some(&whole[..100_000]), Some(&noise[..]), None] {
        let state = state();
        let path = state.path().join("agents/main/agent/openclaw-agent.sqlite");
        fs::remove_file(&path).unwrap();
        match bytes {
            Some(bytes) => {
                std::io::Write::write_all(&mut fs::File::create(&path).unwrap(), bytes).unwrap();
            }
            None => fs::create_dir(&path).unwrap(),
        }
        let store = listed(state.path());
        let reported: Vec<String> = store.diagnostics.iter().map(ToString::to_string).collect();
        assert!(reported.iter().any(|it| it.contains("cannot read it as a database")), "{reported:?}");
        assert!(store.databases.len() == 1 && store.databases[0].schema.is_none());
        assert_eq!(store.ruleset.id, Ruleset::V2026_9_6);
    }
}

#[test]
fn watch_shows_new_entries_and_sessions_of_a_database() {
    use std::io::BufRead as _;
    use std::process::{Command, Stdio};
    let dir = tempfile::tempdir().unwrap();
    let connection = made(dir.path());
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("clawscope"))
        .args(["watch", "--json"])
        .arg(dir.path())
        .env_clear()
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (sender, reported) = std::sync::mpsc::channel();
    let output = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        for line in std::io::BufReader::new(output).lines().map_while(Result::ok) {
            let line: Value = serde_json::from_str(&line).unwrap();
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    let next = || reported.recv_timeout(std::time::Duration::from_secs(30)).unwrap();
    assert_eq!(next()["event"], "following");
    append(
        &connection,
        1,
        r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"12345678"}}"#,
    );
    let line = next();
    assert_eq!(
        (&line["entry"], &line["tokens"], &line["key"]),
        (&"a".into(), &2.into(), &"agent:main:main".into())
    );
    connection
        .execute_batch(
            r#"BEGIN; INSERT INTO session_nodes (session_key, current_session_id, entry_json, updated_at)
                 VALUES ('agent:main:new', 's2', '{"sessionId":"s2"}', 2);
               INSERT INTO session_windows (session_id, session_key, created_at, updated_at) VALUES ('s2', 'agent:main:new', 1, 1);
               INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES
                 ('s2', 0, '{"type":"session","version":4,"id":"s2"}', 1),
                 ('s2', 1, '{"type":"message","id":"b","parentId":null,"message":{"role":"user","content":"x"}}', 1); COMMIT"#,
        )
        .unwrap();
    let line = next();
    assert_eq!((&line["entry"], &line["key"]), (&"b".into(), &"agent:main:new".into()));
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap();
}

/// The program as a user without permissions: they do not restrict root.
#[cfg(unix)]
fn as_nobody(folder: &Path, words: &[&str]) -> (Option<i32>, String, String) {
    use std::os::unix::fs::MetadataExt as _;
    use std::os::unix::process::CommandExt as _;
    // The build folder may be closed to others.
    let program = folder.join("clawscope");
    if !program.exists() {
        // In a separate process: a child another test starts meanwhile would inherit the copy
        // open for writing, and such a file cannot be run ("Text file busy").
        let copied =
            std::process::Command::new("cp").arg(env!("CARGO_BIN_EXE_clawscope")).arg(&program).status();
        assert!(copied.unwrap().success(), "no copy of the program in {}", folder.display());
    }
    let mut command = std::process::Command::new(&program);
    command.env_clear().env("HOME", "/nonexistent").current_dir("/").args(words);
    if fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0) {
        command.uid(65534).gid(65534);
    }
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn put(path: &Path, text: &str) {
    std::io::Write::write_all(&mut fs::File::create(path).unwrap(), text.as_bytes()).unwrap();
}

#[cfg(unix)]
fn permit(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[cfg(unix)]
#[test]
fn a_database_in_a_read_only_folder_is_read() {
    let state = state();
    permit(state.path(), 0o755);
    let agent = state.path().join("agents/main/agent");
    permit(&agent.join("openclaw-agent.sqlite"), 0o444);
    permit(&agent, 0o555);
    let (code, out, error) = as_nobody(state.path(), &["sessions", state.path().to_str().unwrap(), "--json"]);
    assert_eq!(code, Some(0), "{error}");
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(answer["sessions"].as_array().unwrap().len(), 9);
    let reported = answer["findings"][0]["what"].as_str().unwrap();
    assert!(reported.starts_with("opened as an unchanging file"), "{reported}");
    let names: Vec<_> = fs::read_dir(&agent).unwrap().map(|item| item.unwrap().file_name()).collect();
    assert_eq!(names, ["openclaw-agent.sqlite"]);
    // With content in the log that way would show an old state: nothing is shown then, and the reason is reported.
    permit(&agent, 0o755);
    put(&agent.join("openclaw-agent.sqlite-wal"), "not empty");
    permit(&agent, 0o555);
    let (_, out, error) = as_nobody(state.path(), &["sessions", state.path().to_str().unwrap(), "--json"]);
    let answer: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out} {error}"));
    let held: Vec<&Value> = answer["sessions"].as_array().unwrap().iter().collect();
    assert!(
        held.iter().all(|session| !session["path"].as_str().unwrap_or_default().contains(".sqlite#")),
        "{held:?}"
    );
    let reported = answer["findings"][0]["what"].as_str().unwrap();
    assert!(reported.starts_with("cannot read it as a database"), "{reported}");
    permit(&agent, 0o755);
}

#[cfg(unix)]
#[test]
fn a_database_that_may_not_be_read_is_reported_and_the_rest_is_listed() {
    let state = state();
    permit(state.path(), 0o755);
    let database = state.path().join("agents/main/agent/openclaw-agent.sqlite");
    permit(&database, 0o000);
    let other = state.path().join("agents/second/sessions/x.jsonl");
    fs::create_dir_all(other.parent().unwrap()).unwrap();
    let header = serde_json::json!({ "type": "session", "version": 3, "id": "x", "cwd": "/w" });
    put(&other, &format!("{header}\n"));
    let (code, out, error) = as_nobody(state.path(), &["doctor", state.path().to_str().unwrap(), "--json"]);
    assert_ne!(code, Some(0), "an error is no success");
    let answer: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out} {error}"));
    let finding = &answer["findings"][0];
    assert_eq!(finding["severity"], "error", "{finding}");
    assert!(finding["path"].as_str().unwrap().ends_with("openclaw-agent.sqlite"), "{finding}");
    assert!(finding["next"].as_str().unwrap().contains("check that you may read it"), "{finding}");
    let listed = answer["agents"].as_array().unwrap().iter().map(|it| it["sessions"].as_u64().unwrap());
    assert!(listed.sum::<u64>() >= 1);
}

#[test]
fn files_moved_aside_by_an_import_are_listed_and_missing_history_is_reported() {
    let state = state();
    let aside = state.path().join("agents/main/session-sqlite-import-archive");
    fs::create_dir_all(&aside).unwrap();
    let legacy = fixture("legacy/agents/main/sessions");
    let mut moved = 0;
    for item in fs::read_dir(&legacy).unwrap() {
        let path = item.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let front = if name == "sessions.json" { "legacy-store" } else { "agent_main_x" };
        fs::copy(&path, aside.join(format!("{front}.{name}.imported-1795171494689"))).unwrap();
        moved += usize::from(name != "sessions.json");
    }
    let header = serde_json::json!({ "type": "session", "version": 3, "id": "lost", "cwd": "/w" });
    put(&aside.join("agent_main_y.lost.jsonl.imported-1"), &format!("{header}\n"));
    let store = listed(state.path());
    let named = |flag: &str| {
        let has = |it: &&clawscope::store::session::Session| it.flags.iter().any(|own| own.as_str() == flag);
        store.sessions.iter().filter(has).map(|it| it.key.0.clone()).collect::<Vec<_>>()
    };
    let imported = named("imported");
    assert_eq!(imported.len(), moved, "{imported:?}");
    assert!(
        imported.contains(&"agent:main:11111111-1111-4111-8111-111111111111.jsonl.imported".to_owned()),
        "{imported:?}"
    );
    assert_eq!(named("not-imported"), ["agent:main:lost.jsonl.imported"]);
    let [finding] = store.diagnostics.as_slice() else { panic!("{:?}", store.diagnostics) };
    assert!(finding.message.contains("no row has session lost"), "{finding}");
    let session = opened(&store, "agent:main:11111111-1111-4111-8111-111111111111.jsonl.imported");
    assert!(session.index.entries.len() > 3);
}
