//! Stores with one damaged file: the good session is still listed, whatever happens to the rest, and no file changes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clawscope::gateway::env::Environment;
use clawscope::session::list::{SessionListing, list_sessions};
use clawscope::session::loading::open;
use clawscope::session::store_location::{StoreLocation, StoreRequest};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::{damage, for_each_seed, random_bytes};
use crate::support::generate::{Dice, Options, transcript};
use crate::support::session::NOW;

const GOOD: &str = "agents/main/sessions/good.jsonl";
const ROWS: &str = "agents/main/sessions/sessions.json";
const ARCHIVE: &str =
    "agents/main/sessions/x.jsonl.reset.2026-02-21T05-16-55.686Z.0cef322e47e648debdcf66d1825d630a.zst";
const DATABASE: &str = "agents/main/agent/openclaw-agent.sqlite";
const LISTED: &str = r#"{"agent:main:main":{"sessionId":"good","updatedAt":1772700000000,"model":"claude-sonnet-4","totalTokens":12,"skillsSnapshot":{"prompt":"x"}},"agent:main:telegram:direct:1":{"sessionId":"gone","updatedAt":5}}"#;
const CONFIG: &str = r#"{ $include: ["./models.json5", "./more.json"], agents: { defaults: { contextTokens: 20000, contextPruning: { mode: 'cache-ttl', ttl: '5m' } } }, session: { store: "${HOME}/x" } }"#;

/// A state folder with a good session.
struct State(tempfile::TempDir);

impl State {
    fn new() -> Self {
        let state = Self(tempfile::tempdir().unwrap());
        state.put(GOOD, &transcript(5, &Options { steps: 3, ..Options::default() }));
        state.put(ROWS, LISTED.as_bytes());
        state.put("openclaw.json", b"{}");
        state
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        File::create(path).unwrap().write_all(bytes).unwrap();
    }

    /// Lists the store and opens every session in it.
    fn read(&self) -> SessionListing {
        let location =
            StoreLocation::new(&StoreRequest::Path(self.0.path().to_path_buf()), Environment::default())
                .unwrap();
        let listing = list_sessions(&location, NOW);
        for item in &listing.items {
            if let Ok(session) = open(&listing.store, &item.key, None, NOW, &mut |_, _| true) {
                let _ = session.load_details();
            }
        }
        listing
    }

    /// Reads the store with one damaged file. The good session is listed, and every file stays as it is.
    fn survives(&self, name: &str, bytes: &[u8]) {
        self.put(name, bytes);
        let before = files(self.0.path());
        let listing = self.read();
        let good = self.path(GOOD).canonicalize().unwrap();
        let paths = listing.items.iter().filter_map(|item| item.path.as_ref());
        assert!(
            paths.filter_map(|path| path.canonicalize().ok()).any(|path| path == good),
            "the good session is not listed: {:?}",
            listing.items.iter().map(|item| &item.key).collect::<Vec<_>>()
        );
        assert!(files(self.0.path()) == before, "reading changed a file");
    }
}

/// Every file below a folder, by path. The helper files of a database may come and go.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for item in fs::read_dir(folder).unwrap().map(|item| item.unwrap().path()) {
        if item.is_dir() {
            found.extend(files(&item));
        } else if !item.to_string_lossy().ends_with("-shm") {
            found.insert(item.clone(), fs::read(&item).unwrap());
        }
    }
    found
}

fn damaged(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    if dice.once_in(12) {
        return random_bytes(dice, 400);
    }
    let mut bytes = bytes.to_vec();
    damage(&mut bytes, dice);
    bytes
}

#[test]
fn whatever_sessions_json_holds_the_transcripts_are_listed() {
    let state = State::new();
    for_each_seed(60, |dice| state.survives(ROWS, &damaged(LISTED.as_bytes(), dice)));
}

#[test]
fn whatever_the_configuration_and_its_includes_hold_the_sessions_are_listed() {
    let state = State::new();
    let included = br#"{ models: { providers: { a: { models: [{ id: "m", contextWindow: 1000 }] } } } }"#;
    state.put("models.json5", included);
    state.put("more.json", b"{}");
    for_each_seed(60, |dice| {
        if dice.once_in(2) {
            state.survives("openclaw.json", &damaged(CONFIG.as_bytes(), dice));
        } else {
            state.put("openclaw.json", CONFIG.as_bytes());
            state.survives("models.json5", &damaged(included, dice));
        }
    });
}

#[test]
fn whatever_an_archive_holds_the_other_sessions_are_listed() {
    let state = State::new();
    let whole = transcript(9, &Options { steps: 8, ..Options::default() });
    let packed = compress_to_vec(whole.as_slice(), CompressionLevel::Fastest);
    state.survives(ARCHIVE, &packed);
    for_each_seed(60, |dice| state.survives(ARCHIVE, &damaged(&packed, dice)));
}

#[test]
fn whatever_a_transcript_holds_the_other_sessions_are_listed() {
    let state = State::new();
    for_each_seed(60, |dice| {
        let bytes = transcript(dice.below(300) as u64, &Options { steps: 5, ..Options::default() });
        state.survives("agents/main/sessions/other.jsonl", &damaged(&bytes, dice));
    });
}

/// A header field, a page or a few bytes of the real database are others; or its end is missing.
#[test]
fn whatever_a_database_holds_it_is_read_or_named() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sqlite-2026.9.6");
    let real = fs::read(fixture.join("openclaw-agent.sqlite")).unwrap();
    let state = State::new();
    let findings = RefCell::new(0);
    for_each_seed(24, |dice| {
        let mut bytes = real.clone();
        for _ in 0..=dice.below(6) {
            let at = match dice.below(3) {
                0 => dice.below(100),
                1 => dice.below(bytes.len() / 4096) * 4096 + dice.below(16),
                _ => dice.below(bytes.len()),
            };
            bytes[at] = dice.below(256) as u8;
        }
        if dice.once_in(4) {
            bytes.truncate(dice.below(bytes.len()));
        }
        state.put(DATABASE, &bytes);
        let listing = state.read();
        *findings.borrow_mut() +=
            usize::from(listing.items.is_empty() || !listing.store.diagnostics.is_empty());
        assert!(fs::read(state.path(DATABASE)).unwrap() == bytes, "reading changed the database");
    });
    assert!(findings.into_inner() > 3, "damage is named");
}
