//! A store of 2026.9: the real database that its own package wrote, its archives, and small ones made as it makes them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failing test stops there")]

use std::fs;
use std::path::{Path, PathBuf};

use clawscope::gateway::env::Environment;
use clawscope::gateway::ruleset::Ruleset;
use clawscope::ids::SessionKey;
use clawscope::inspect::Inspection;
use clawscope::inspect::open::open;
use clawscope::store::survey::{Store, survey};
use clawscope::transcript::Leaf;
use serde_json::Value;
use tempfile::TempDir;

const NOW_MS: i64 = 1_795_200_000_000;

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

/// The state dir of the fixture, in a folder of its own.
fn state() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let main = dir.path().join("agents/main");
    fs::create_dir_all(main.join("agent")).unwrap();
    copy(&fixture("openclaw-agent.sqlite"), &main.join("agent/openclaw-agent.sqlite"));
    copy(&fixture("sessions"), &main.join("sessions"));
    dir
}

fn listed(path: &Path) -> Store {
    survey(Some(path), &Environment::default())
}

fn opened(store: &Store, key: &str) -> Inspection {
    open(store, &SessionKey(key.to_owned()), None, NOW_MS, &mut |_, _| true).unwrap()
}

fn names(inspection: &Inspection, entries: &[clawscope::ids::EntryIx]) -> Vec<String> {
    entries.iter().map(|ix| inspection.index.name(*ix)).collect()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_session_reads_as_the_gateways_own_modules_read_it() {
    let state = state();
    let store = listed(state.path());
    assert_eq!(store.ruleset.ruleset, Ruleset::V2026_9);
    let expected: Value = serde_json::from_slice(&fs::read(fixture("expected.json")).unwrap()).unwrap();
    let expected = expected.as_object().unwrap();
    assert_eq!(expected.len(), 4);
    for (key, expected) in expected {
        let inspection = opened(&store, key);
        let (index, context) = (&inspection.index, &inspection.context);
        assert_eq!(inspection.session.id, expected["sessionId"].as_str().unwrap(), "{key}");
        let leaf = inspection.tree.leaf(index, &Leaf::Own).map(|ix| index.name(ix));
        assert_eq!(leaf.as_deref(), expected["leafEntryId"].as_str(), "{key}");
        assert_eq!(names(&inspection, &context.path), texts(&expected["activePath"]), "{key}");
        let roles: Vec<String> = context.messages.iter().map(|it| it.size.role.word().to_owned()).collect();
        assert_eq!(roles, texts(&expected["contextRoles"]), "{key}");
        let thinking = context.thinking.and_then(|word| index.words.text(word));
        assert_eq!(
            thinking.as_deref().unwrap_or("off"),
            expected["thinkingLevel"].as_str().unwrap(),
            "{key}"
        );
        assert_eq!(inspection.provider, expected["model"]["provider"].as_str().unwrap(), "{key}");
        assert_eq!(inspection.model, expected["model"]["modelId"].as_str().unwrap(), "{key}");
        let branches: Vec<Value> = inspection
            .branch_tips()
            .iter()
            .map(|tip| {
                serde_json::json!({"leafEntryId": index.name(tip.leaf), "active": tip.active,
                    "messageCount": tip.messages, "headline": tip.headline})
            })
            .collect();
        assert_eq!(Value::from(branches), expected["branches"], "{key}");
    }
}

#[test]
fn every_kind_of_keeping_is_listed_and_opens() {
    let state = state();
    let store = listed(state.path());
    assert_eq!(store.findings, []);
    let mut seen: Vec<(String, String, u64)> = store
        .sessions
        .iter()
        .map(|session| {
            let inspection = opened(&store, &session.key.0);
            assert_eq!(inspection.findings(), [], "{}", session.key);
            let flags: Vec<&str> = session.flags.iter().map(|flag| flag.name()).collect();
            (session.id[..8].to_owned(), flags.join(" "), inspection.index.entries.len() as u64)
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
    let inspection = opened(&listed(state.path()), "agent:main:main");
    let packed = inspection.tree.find_text(&inspection.index, "5a425ef8").unwrap();
    assert_eq!(inspection.index.entry(packed).bytes, 9849);
    let message =
        clawscope::store::body::message(&inspection.source, &inspection.index, packed).unwrap().unwrap();
    assert!(message.get("role").unwrap().str_is("toolResult"));
}

#[test]
fn one_database_named_alone_is_a_store_too() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("copy.sqlite");
    copy(&fixture("openclaw-agent.sqlite"), &path);
    let store = listed(&path);
    assert_eq!((store.ruleset.ruleset, store.sessions.len()), (Ruleset::V2026_9, 9));
    // Its cold archives are not beside it.
    let cold: Vec<&str> = store.findings.iter().map(|finding| finding.what.as_str()).collect();
    assert_eq!(cold, ["the cold archive of its transcript is not there: cold, unavailable"; 2]);
    assert_eq!(opened(&store, "agent:main:main").index.entries.len(), 19);
}
