//! Stores of the first releases with a database, written by the real gateways, and the check of their import.

use std::fs;
use std::path::Path;
use std::process::Command;

use clawscope::gateway::env::Environment;
use clawscope::gateway::ruleset::Ruleset;
use clawscope::ids::SessionKey;
use clawscope::session::LoadedSession;
use clawscope::session::loading::open;
use clawscope::store::discovery::{Store, discover};
use clawscope::transcript::Leaf;
use clawscope::units::Moment;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::fixture::{self, database_of, main_of, put, state_2026_8_1, unpack};
use crate::support::real_import;

const NOW_MS: Moment = Moment(1_795_200_000_000.0);

fn listed(path: &Path) -> Store {
    discover(Some(path), &Environment::default())
}

fn opened(store: &Store, key: &str) -> LoadedSession {
    open(store, &SessionKey(key.to_owned()), None, NOW_MS, &mut |_, _| true).unwrap()
}

/// The program in an empty environment: exit code, output, errors.
fn run(words: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("clawscope"));
    let output = command.env_clear().env("HOME", "/nonexistent").args(words).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// The answer as JSON, and the exit code.
fn checked(state: &Path) -> (i32, Value) {
    let (code, out, error) = run(&["doctor", "--migration", "--json", state.to_str().unwrap()]);
    (code, serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out} {error}")))
}

/// Every fault as kind, entry and line.
fn faults(answer: &Value) -> Vec<(String, String, u64)> {
    let of_pair = |pair: &Value| {
        let faults = pair["faults"].as_array().unwrap().clone();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        faults
            .into_iter()
            .map(move |it| (text(&it["kind"]), text(&it["entry"]), it["line"].as_u64().unwrap()))
    };
    answer["pairs"].as_array().unwrap().iter().flat_map(of_pair).collect()
}

fn changed(state: &Path, sql: &str) {
    let database = rusqlite::Connection::open(database_of(state)).unwrap();
    // The gateway's own triggers need functions and rows that are irrelevant here.
    let drop: Vec<String> = database
        .prepare("SELECT 'DROP TRIGGER \"' || name || '\"' FROM sqlite_schema WHERE type = 'trigger'")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    database.execute_batch(&format!("PRAGMA foreign_keys = OFF; {}", drop.join(";"))).unwrap();
    database.execute_batch(sql).unwrap();
}

#[test]
fn a_store_of_schema_19_reads_as_in_the_gateways_modules() {
    let state = state_2026_8_1();
    let store = listed(state.path());
    let expected = fs::read(fixture::fixture("sqlite-2026.8.1/expected.json")).unwrap();
    let expected: Value = serde_json::from_slice(&expected).unwrap();
    let expected = expected.as_object().unwrap();
    assert_eq!(expected.len(), 8);
    for (key, expected) in expected {
        let session = opened(&store, key);
        let (index, context) = (&session.index, &session.context);
        assert_eq!(json!(session.item.id), expected["sessionId"], "{key}");
        let leaf = session.tree.leaf(index, &Leaf::Own).map(|ix| index.display_id(ix));
        assert_eq!(json!(leaf), expected["leafEntryId"], "{key}");
        let path: Vec<String> = context.path.iter().map(|ix| index.display_id(*ix)).collect();
        assert_eq!(json!(path), expected["activePath"], "{key}");
        let roles: Vec<&str> = context.messages.iter().map(|it| it.size.role.as_str()).collect();
        assert_eq!(json!(roles), expected["contextRoles"], "{key}");
        let thinking = context.thinking_level.and_then(|word| index.values.text(word));
        assert_eq!(json!(thinking.as_deref().unwrap_or("off")), expected["thinkingLevel"], "{key}");
        if let Some(model) = expected["model"].as_object() {
            assert_eq!(
                (json!(session.provider), json!(session.model)),
                (model["provider"].clone(), model["modelId"].clone()),
                "{key}"
            );
        }
        let tips = session.branch_tips(clawscope::redact::SecretDisplay::Hidden);
        let tips = tips.iter().map(|tip| {
            let leaf = &tip.leaf;
            // The gateway searches for a text before the result of a tool; here the result itself is shown.
            let headline = if leaf == "80000007" { "plain text" } else { &tip.headline };
            json!({"leafEntryId": leaf, "active": tip.active, "messageCount": tip.messages, "headline": headline})
        });
        assert_eq!(Value::from(tips.collect::<Vec<_>>()), expected["branches"], "{key}");
    }
}

#[test]
fn a_store_of_schema_19_shows_its_version_and_lists_every_storage_kind() {
    let state = state_2026_8_1();
    let store = listed(state.path());
    let schema = store.databases[0].schema.as_ref().unwrap();
    assert_eq!((schema.version, schema.app_version.as_deref()), (19, Some("2026.8.1")));
    let count = |flag: &str| {
        store.sessions.iter().filter(|it| it.flags.iter().any(|own| own.as_str() == flag)).count()
    };
    assert_eq!([count("earlier"), count("archived"), count("imported"), count("not-imported")], [2, 1, 8, 1]);
    let what: Vec<&str> = store.diagnostics.iter().map(|finding| finding.message.as_str()).collect();
    let aside = "the file contains history that is not in the database: no row has session 55555555-5555-4555-8555-555555555555";
    assert_eq!(what, ["the database has the older schema version 19", aside]);
    let (code, out, _) = run(&["doctor", state.path().to_str().unwrap()]);
    assert!(code == 0 && out.contains("schema 19, written by 2026.8.1, read only"), "{out}");
}

#[test]
fn a_database_of_schema_1_has_no_sessions_and_the_session_files_are_read() {
    let state = tempfile::tempdir().unwrap();
    fixture::copy(&fixture::fixture("sqlite-2026.9.6/legacy"), state.path());
    let without = listed(state.path());
    let database = database_of(state.path());
    unpack(&fixture::fixture("sqlite-2026.7.1/openclaw-agent.sqlite.zst"), &database);
    for path in [state.path(), &database] {
        let store = listed(path);
        // Nothing names the release: the newest change of the rows does.
        assert_eq!((store.databases.len(), store.ruleset.id), (0, Ruleset::V2026_7_33));
        assert!(store.ruleset.id < Ruleset::V2026_8_1);
        assert_eq!(store.sessions, without.sessions);
        let [note] = store.diagnostics.as_slice() else { panic!("{:?}", store.diagnostics) };
        let words = note.to_string();
        assert!(words.starts_with("note: ") && words.contains("contains no sessions"), "{words}");
        assert!(words.contains("2026.6.11 to 2026.7.35") && words.contains("from the files"), "{words}");
    }
    let session = opened(&listed(state.path()), "agent:main:main");
    assert_eq!(session.index.entries.len(), 15);
    let (code, out, _) = run(&["doctor", "--migration", state.path().to_str().unwrap()]);
    assert!(code == 0 && out.contains("No migration to check."), "{out}");
    let alone = tempfile::tempdir().unwrap();
    fs::copy(&database, alone.path().join("copy.sqlite")).unwrap();
    assert_eq!(listed(&alone.path().join("copy.sqlite")).diagnostics.len(), 1);
}

#[test]
fn a_clean_import_reports_zero_although_the_gateway_continued() {
    let state = state_2026_8_1();
    let (code, answer) = checked(state.path());
    assert_eq!((code, &answer["clean"], faults(&answer).len()), (0, &json!(true), 0), "{answer:#}");
    let totals = &answer["totals"];
    let named = |names: [&str; 6]| names.map(|name| totals[name].as_u64().unwrap());
    assert_eq!(
        named(["compared", "entries", "identical", "rewritten", "leftOut", "later"]),
        [8, 51, 50, 1, 0, 5]
    );
    assert_eq!(answer["alone"][0]["why"], "set-aside");
    assert_eq!(answer["withoutFile"], 2);
    let (code, out, _) = run(&["doctor", "--migration", state.path().to_str().unwrap()]);
    assert!(code == 0 && out.contains("Nothing was lost, changed or duplicated."), "{out}");
    let database = database_of(state.path());
    let (code, out, _) = run(&["doctor", "--migration", database.to_str().unwrap()]);
    assert!(code == 0 && out.contains("compared   8 transcripts with 51 entries"), "{out}");
}

/// Plants a fault in a fresh copy of the import, and returns the reported ones.
fn planted(sql: &str) -> Vec<(String, String, u64)> {
    let state = state_2026_8_1();
    changed(state.path(), sql);
    let (code, answer) = checked(state.path());
    assert_eq!((code, &answer["clean"]), (1, &json!(false)), "{sql}");
    faults(&answer)
}

fn one(kind: &str, entry: &str, line: u64) -> Vec<(String, String, u64)> {
    vec![(kind.to_owned(), entry.to_owned(), line)]
}

#[test]
fn every_planted_loss_is_found() {
    let at = "session_id LIKE '11111111%' AND seq";
    assert_eq!(planted(&format!("DELETE FROM transcript_events WHERE {at} = 5")), one("lost", "a0000005", 6));
    let shorter = format!(
        "UPDATE transcript_events SET event_json = replace(event_json, 'about notes', 'about note') WHERE {at} = 6"
    );
    assert_eq!(planted(&shorter), one("changed", "a0000006", 7));
    let other_parent = format!(
        "UPDATE transcript_events SET event_json = replace(event_json, '\"parentId\":\"a0000008\"', '\"parentId\":\"a0000003\"') WHERE {at} = 9"
    );
    assert_eq!(planted(&other_parent), one("reparented", "a0000009", 10));
    let doubled = format!(
        "INSERT INTO transcript_events (session_id, seq, event_json, created_at) \
         SELECT session_id, 100, event_json, created_at FROM transcript_events WHERE {at} = 3"
    );
    assert_eq!(planted(&doubled), one("doubled", "a0000003", 4));
    let under_another_id = doubled.replace(
        "event_json, created_at FROM",
        "replace(event_json, 'a0000003', 'ffffffff'), created_at FROM",
    );
    assert_eq!(planted(&under_another_id), one("doubled", "a0000003", 4));
    assert_eq!(
        planted(&format!("UPDATE transcript_events SET seq = 100 WHERE {at} = 2")),
        one("moved", "a0000002", 3)
    );
}

#[test]
fn a_lost_session_and_a_row_without_a_transcript_are_found() {
    let state = state_2026_8_1();
    let gone = "DELETE FROM session_nodes WHERE current_session_id LIKE '66666666%';
                DELETE FROM session_windows WHERE session_id LIKE '66666666%';
                DELETE FROM transcript_events WHERE session_id LIKE '66666666%';
                DELETE FROM transcript_events WHERE session_id LIKE '44444444%';";
    changed(state.path(), gone);
    let (code, answer) = checked(state.path());
    assert_eq!((code, &answer["totals"]["lostSessions"]), (1, &json!(1)));
    let lost = answer["alone"].as_array().unwrap().iter().find(|it| it["why"] == "lost").unwrap();
    assert_eq!(lost["session"], "66666666-6666-4666-8666-666666666666");
    assert_eq!(faults(&answer).iter().map(|it| it.0.as_str()).collect::<Vec<_>>(), ["lost"; 3]);
}

#[test]
fn a_file_that_grew_after_the_import_is_distinguished_from_a_loss() {
    let state = state_2026_8_1();
    let name = "66666666-6666-4666-8666-666666666666.jsonl";
    let aside = main_of(state.path()).join("session-sqlite-import-archive");
    let from = aside.join(format!("agent_main_cron_job-1.{name}.imported-1795414935836"));
    let mut text = fs::read_to_string(&from).unwrap();
    text += "{\"type\":\"message\",\"id\":\"f0000003\",\"parentId\":\"f0000002\",\"message\":{\"role\":\"user\",\"content\":\"more\"}}\n";
    fs::remove_file(from).unwrap();
    put(&main_of(state.path()).join("sessions").join(name), text);
    let (code, answer) = checked(state.path());
    assert_eq!((code, faults(&answer)), (1, one("added", "f0000003", 4)));
    let (_, out, _) = run(&["doctor", "--migration", state.path().to_str().unwrap()]);
    assert!(out.contains("--session-sqlite import` imports the added entries"), "{out}");
}

#[test]
fn missing_databases_and_files_are_reported() {
    let state = state_2026_8_1();
    fs::remove_file(database_of(state.path())).unwrap();
    let (code, answer) = checked(state.path());
    assert_eq!(
        (code, &answer["totals"]["compared"], &answer["totals"]["lostSessions"]),
        (1, &json!(0), &json!(9))
    );
    let alone = answer["alone"].as_array().unwrap();
    assert!(!alone.is_empty() && alone.iter().all(|it| it["why"] == "database-gone"), "{answer:#}");

    let state = state_2026_8_1();
    fs::remove_dir_all(main_of(state.path()).join("session-sqlite-import-archive")).unwrap();
    let (code, out, _) = run(&["doctor", "--migration", state.path().to_str().unwrap()]);
    assert!(code == 0 && out.contains("no session is in both a file and a database"), "{out}");
    assert!(out.contains("no file    10 sessions in the database"), "{out}");

    let (code, out, _) = run(&["doctor", "--migration", "--demo"]);
    assert!(code == 0 && out.contains("No migration to check."), "{out}");

    let state = state_2026_8_1();
    put(&database_of(state.path()), b"no database, but long enough to be looked at as one".repeat(90));
    let (code, out, error) = run(&["doctor", "--migration", state.path().to_str().unwrap()]);
    assert!(code == 3 && error.contains("the comparison is incomplete"), "{out} {error}");
}

#[test]
fn each_agent_is_compared_with_its_database() {
    let state = state_2026_8_1();
    let other = state.path().join("agents/other");
    fixture::copy(&main_of(state.path()), &other);
    let database = rusqlite::Connection::open(other.join("agent/openclaw-agent.sqlite")).unwrap();
    database.execute_batch("UPDATE schema_meta SET agent_id = 'other'; DELETE FROM transcript_events WHERE session_id LIKE '1%' AND seq = 5").unwrap();
    drop(database);
    let (code, answer) = checked(state.path());
    assert_eq!((code, &answer["totals"]["compared"]), (1, &json!(16)));
    assert_eq!(faults(&answer), one("lost", "a0000005", 6));
    let path = state.path().to_str().unwrap();
    assert_eq!(run(&["doctor", "--migration", "--agent", "main", path]).0, 0);
    assert_eq!(run(&["doctor", "--migration", "--agent", "other", path]).0, 1);
}

/// A transcript with hostile ids next to a database that lacks one of its entries.
fn hostile() -> TempDir {
    let state = state_2026_8_1();
    let name = "66666666-6666-4666-8666-666666666666.jsonl";
    let header = json!({"type": "session", "version": 3, "id": &name[..36], "cwd": "/w", "timestamp": "2026-07-20T08:34:34.000Z"});
    let entry = json!({"type": "message", "id": "\u{1b}[2J\u{202e}x\ny", "parentId": null, "message": {"role": "user", "content": "sk-ant-api03-secret"}});
    put(&main_of(state.path()).join("sessions").join(name), format!("{header}\n{entry}\n{{broken\n\u{0}\n"));
    state
}

#[test]
fn hostile_ids_never_reach_the_terminal_and_texts_are_never_shown() {
    let state = hostile();
    let path = state.path().to_str().unwrap();
    for words in [&["doctor", "--migration", path][..], &["doctor", "--migration", "--json", path][..]] {
        let (code, out, error) = run(words);
        assert_eq!(code, 1, "{error}");
        assert!(!out.contains('\u{1b}') && !out.contains("sk-ant"), "{out}");
        let last = out.trim_end_matches('\n');
        assert!(!words.contains(&"--json") || !last.contains('\n'), "one line");
        assert!(words.contains(&"--json") || !last.contains('\u{202e}'), "{out}");
    }
    let (_, out, _) = run(&["doctor", "--migration", path]);
    assert!(out.contains("line 3: not JSON"), "{out}");
}

#[test]
fn migration_and_repair_exclude_each_other() {
    let (code, _, error) = run(&["doctor", "--migration", "--repair", "--demo"]);
    assert!(code == 2 && error.contains("--repair"), "{error}");
}

#[test]
fn odd_transcripts_are_compared_in_the_form_that_the_importer_gives_them() {
    let state = tempfile::tempdir().unwrap();
    let from = fixture::fixture("import-odd");
    unpack(&from.join("openclaw-agent.sqlite.zst"), &database_of(state.path()));
    fixture::copy(&from.join("sessions"), &main_of(state.path()).join("sessions"));
    let (code, answer) = checked(state.path());
    assert_eq!((code, faults(&answer)), (0, Vec::new()), "{answer:#}");
    let named = ["compared", "entries", "identical", "rewritten"]
        .map(|name| answer["totals"][name].as_u64().unwrap());
    assert_eq!(named, [9, 44, 41, 3]);
}

/// Numbers that look random but are reproducible.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Returns a transcript with everything that a release before databases writes, and more.
fn transcript(session: &str, version: u64, numbers: &mut Numbers) -> String {
    let texts = [
        "plain",
        "gr\u{fc}\u{df}e \u{1f980}",
        "a\u{2028}b",
        "tab\tand \"quotes\" \\",
        "\u{1b}[2J\u{202e}",
        "x\u{0}y",
        "",
    ];
    let mut header =
        json!({"type": "session", "id": session, "timestamp": "2026-07-20T08:00:00.000Z", "cwd": "/w"});
    if version > 1 {
        header["version"] = json!(version);
    }
    let mut lines = vec![header.to_string()];
    for at in 1..=30_u64 {
        let text = format!("{} {at}", texts[numbers.below(texts.len() as u64) as usize]);
        let mut entry = match numbers.below(9) {
            0 => {
                json!({"type": "message", "message": {"role": "assistant", "content": text, "provider": "anthropic", "usage": {"input": 1.5e3}}})
            }
            1 => {
                json!({"type": "message", "message": {"role": "toolResult", "toolCallId": "c", "toolName": "read", "isError": false, "content": [{"type": "text", "text": text.repeat(80)}]}})
            }
            2 => {
                json!({"type": "message", "message": {"role": "user", "content": text, "MediaPaths": ["/a.png", "/b.ogg"], "MediaTypes": ["image/png", "audio/ogg"]}})
            }
            3 => {
                json!({"type": "custom", "customType": "openclaw.cache-ttl", "data": {"9": 1, "1": [2, {"b": null}], "timestamp": at}})
            }
            4 => json!({"type": "mystery", "note": text, "number": 12_345_678_901_234_567_890_u64}),
            5 => json!({"type": "thinking_level_change", "thinkingLevel": "low"}),
            _ => {
                json!({"type": "message", "message": {"role": "user", "content": [{"type": "text", "text": text}]}})
            }
        };
        entry["timestamp"] = json!(format!("2026-07-20T09:{:02}:{:02}.000Z", at / 60, at % 60));
        if version > 1 {
            entry["id"] = json!(format!("e{at:07}"));
            let parent = if numbers.below(6) == 0 { numbers.below(at) } else { at - 1 };
            entry["parentId"] = if parent == 0 { json!(null) } else { json!(format!("e{parent:07}")) };
        }
        lines.push(entry.to_string());
    }
    lines.join("\n") + "\n"
}

/// Names, transcripts and rows of a store of files.
fn file_store(state: &Path) -> Vec<String> {
    let mut numbers = Numbers(7);
    let sessions = main_of(state).join("sessions");
    let mut rows = serde_json::Map::new();
    let ids: Vec<String> = (1..=9).map(|at| format!("{at:08}-0000-4000-8000-000000000000")).collect();
    for (at, id) in ids.iter().enumerate() {
        put(&sessions.join(format!("{id}.jsonl")), transcript(id, 1 + at as u64 % 3, &mut numbers));
        rows.insert(
            format!("agent:main:webchat:{at}"),
            json!({"sessionId": id, "updatedAt": 1_784_537_633_000_u64 + at as u64}),
        );
    }
    put(&sessions.join("sessions.json"), Value::from(rows).to_string());
    put(&state.join("openclaw.json"), "{}\n");
    ids
}

/// A transcript that the importer of 2026.9 repairs: a line twice, an old provider, and a prompt that was sent again without the
/// context that the gateway had put into it.
fn repaired(session: &str) -> String {
    let user = |id: &str, parent: &str, text: &str| json!({"type": "message", "id": id, "parentId": parent, "timestamp": format!("t-{id}"), "message": {"role": "user", "content": [{"type": "text", "text": text}]}});
    let context =
        "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nx\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>\n\nwhat time is it";
    let first = json!({"type": "message", "id": "a1", "parentId": null, "message": {"role": "assistant", "content": "x", "provider": "openai-codex", "api": "openai-codex-responses"}});
    let header = json!({"type": "session", "version": 3, "id": session, "timestamp": "t", "cwd": "/w"});
    let lines = [
        header,
        first.clone(),
        first,
        user("d1", "a1", context),
        user("d2", "d1", "dead"),
        user("b1", "a1", "what time is it"),
        user("b2", "b1", "live"),
    ];
    lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n") + "\n"
}

#[test]
fn odd_transcripts_are_kept_by_the_real_importers() {
    for version in ["2026.8.1", "2026.9.6"] {
        let Some(import) = real_import::RealImport::find(version) else { continue };
        let state = tempfile::tempdir().unwrap();
        fixture::copy(&fixture::fixture("import-odd/sessions"), &main_of(state.path()).join("sessions"));
        put(&state.path().join("openclaw.json"), "{}\n");
        let reported = import.run(state.path());
        let (code, answer) = checked(state.path());
        assert_eq!((code, faults(&answer)), (0, Vec::new()), "{version}: {reported} {answer:#}");
        assert_eq!(answer["totals"]["entries"], 44, "{version}: {reported}");
    }
}

#[test]
fn lines_that_the_real_importer_skips_on_purpose_are_not_lost() {
    let Some(import) = real_import::RealImport::find("2026.9.6") else { return };
    let state = tempfile::tempdir().unwrap();
    let id = "00000001-0000-4000-8000-000000000000";
    let sessions = main_of(state.path()).join("sessions");
    put(&sessions.join(format!("{id}.jsonl")), repaired(id));
    let rows = json!({"agent:main:main": {"sessionId": id, "updatedAt": 1_784_537_633_000_u64}});
    put(&sessions.join("sessions.json"), rows.to_string());
    put(&state.path().join("openclaw.json"), "{}\n");
    let reported = import.run(state.path());
    let (code, answer) = checked(state.path());
    assert_eq!((code, faults(&answer).len()), (0, 0), "{reported} {answer:#}");
    let named =
        ["entries", "identical", "rewritten", "leftOut"].map(|name| answer["totals"][name].as_u64().unwrap());
    assert_eq!(named, [7, 3, 1, 3], "{reported}");
}

#[test]
fn cold_archives_and_packed_events_are_compared_too() {
    let state = tempfile::tempdir().unwrap();
    let from = fixture::fixture("sqlite-2026.9.6");
    put(&database_of(state.path()), fs::read(from.join("openclaw-agent.sqlite")).unwrap());
    fixture::copy(&from.join("sessions"), &main_of(state.path()).join("sessions"));
    fixture::copy(&from.join("legacy/agents/main/sessions"), &main_of(state.path()).join("sessions"));
    let (code, answer) = checked(state.path());
    assert_eq!((code, faults(&answer).len(), &answer["totals"]["compared"]), (0, 0, &json!(6)), "{answer:#}");
    assert_eq!(answer["totals"]["entries"], answer["totals"]["identical"]);
    let cold = main_of(state.path()).join("sessions/cold");
    fs::remove_dir_all(cold).unwrap();
    let (code, answer) = checked(state.path());
    assert_eq!((code, &answer["totals"]["unreadable"], &answer["clean"]), (3, &json!(2), &json!(false)));
}

#[test]
fn a_sessions_folder_is_compared_with_its_imported_files() {
    let state = state_2026_8_1();
    for folder in ["agents/main", "agents/main/sessions"] {
        let (code, answer) = checked(&state.path().join(folder));
        assert_eq!((code, &answer["totals"]["compared"]), (0, &json!(8)), "{folder}");
    }
}

/// One change of a copy of an import, and the kind of fault that it is.
fn plant(state: &Path, session: &str, seq: u64, kind: &str) {
    let database = rusqlite::Connection::open(database_of(state)).unwrap();
    let at = format!("session_id = '{session}' AND seq = {seq}");
    let columns = "session_id, seq, event_json, created_at";
    // A packed event has its text only in packed form: it is unpacked before it is changed.
    let mut rows = database.prepare(&format!("SELECT event_json FROM transcript_events WHERE {at}")).unwrap();
    let text: Option<String> = rows.query_row([], |row| row.get(0)).unwrap();
    drop(rows);
    drop(database);
    let sql = match (kind, text) {
        ("lost", _) | (_, None) => format!("DELETE FROM transcript_events WHERE {at}"),
        ("moved", _) => format!("UPDATE transcript_events SET seq = 900 WHERE {at}"),
        ("doubled", Some(_)) => format!(
            "INSERT INTO transcript_events ({columns}) SELECT session_id, 900, event_json, created_at FROM transcript_events WHERE {at}"
        ),
        ("changed", Some(text)) => {
            let other = text.replace("\"timestamp\":\"2026", "\"timestamp\":\"2025").replace('\'', "''");
            format!("UPDATE transcript_events SET event_json = '{other}' WHERE {at}")
        }
        ("reparented", Some(text)) => {
            let mut entry: Value = serde_json::from_str(&text).unwrap();
            entry["parentId"] = json!("elsewhere");
            format!(
                "UPDATE transcript_events SET event_json = '{}' WHERE {at}",
                entry.to_string().replace('\'', "''")
            )
        }
        (other, _) => panic!("{other}"),
    };
    changed(state, &sql);
}

#[test]
fn a_real_import_is_clean_and_every_planted_loss_is_found() {
    for version in ["2026.8.1", "2026.9.6"] {
        let Some(import) = real_import::RealImport::find(version) else { continue };
        let state = tempfile::tempdir().unwrap();
        let ids = file_store(state.path());
        let reported = import.run(state.path());
        let (code, answer) = checked(state.path());
        assert_eq!((code, faults(&answer).len()), (0, 0), "{version}: {reported} {answer:#}");
        let totals = &answer["totals"];
        assert_eq!(
            (&totals["compared"], &totals["entries"]),
            (&json!(9), &json!(9 * 31)),
            "{version}: {reported}"
        );
        let (mut numbers, mut found) = (Numbers(11), 0);
        for kind in ["lost", "changed", "reparented", "doubled", "moved"].into_iter().cycle().take(40) {
            let copy = tempfile::tempdir().unwrap();
            fixture::copy(&main_of(state.path()), &main_of(copy.path()));
            let (session, seq) = (&ids[numbers.below(9) as usize], 1 + numbers.below(28));
            let database = rusqlite::Connection::open(database_of(copy.path())).unwrap();
            let packed =
                "SELECT event_json IS NULL FROM transcript_events WHERE session_id = ?1 AND seq = ?2";
            let is_packed: bool =
                database.query_row(packed, rusqlite::params![session, seq], |row| row.get(0)).unwrap();
            drop(database);
            let kind = if is_packed { "lost" } else { kind };
            plant(copy.path(), session, seq, kind);
            let (code, answer) = checked(copy.path());
            let reported = faults(&answer);
            assert_eq!((code, reported.len()), (1, 1), "{version} {kind} {session} {seq}: {reported:?}");
            assert_eq!(
                (reported[0].0.as_str(), reported[0].2),
                (kind, seq + 1),
                "{version} {session}: {reported:?}"
            );
            found += 1;
        }
        println!("{version}: 279 entries compared, {found} planted losses found");
    }
}
