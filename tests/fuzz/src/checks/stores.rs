//! Stores with one damaged file: the good session is still listed, and no file changes.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clawscope::gateway::env::Environment;
use clawscope::session::list::{SessionListing, list_sessions};
use clawscope::session::loading::open;
use clawscope::session::store_location::{StoreLocation, StoreRequest};
use clawscope::units::Moment;

const GOOD: &str = "agents/main/sessions/good.jsonl";
pub const RECORDS: &str = "agents/main/sessions/sessions.json";
pub const ARCHIVE: &str =
    "agents/main/sessions/x.jsonl.reset.2026-02-21T05-16-55.686Z.0cef322e47e648debdcf66d1825d630a.zst";
const DATABASE: &str = "agents/main/agent/openclaw-agent.sqlite";
pub const LISTED: &str = r#"{"agent:main:main":{"sessionId":"good","updatedAt":1772700000000,"model":"claude-sonnet-4","totalTokens":12,"skillsSnapshot":{"prompt":"x"}},"agent:main:telegram:direct:1":{"sessionId":"gone","updatedAt":5}}"#;
pub const CONFIG: &str = r#"{ $include: ["./models.json5", "./more.json"], agents: { defaults: { contextTokens: 20000, contextPruning: { mode: 'cache-ttl', ttl: '5m' } } }, session: { store: "${HOME}/x" } }"#;
pub const INCLUDED: &str =
    r#"{ models: { providers: { a: { models: [{ id: "m", contextWindow: 1000 }] } } } }"#;
const TRANSCRIPT: &str = r#"{"type":"session","version":3,"id":"good","timestamp":"2026-02-21T05:00:00.000Z","cwd":"/"}
{"type":"message","id":"e1","parentId":null,"timestamp":"2026-02-21T05:00:01.000Z","message":{"role":"user","content":"hello"}}
{"type":"message","id":"e2","parentId":"e1","timestamp":"2026-02-21T05:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"hi"}],"usage":{"input":10,"output":2,"totalTokens":12}}}
"#;
/// The time at which the store is read: some days after its last entry.
const NOW_MS: Moment = Moment(1_772_700_000_000.0);

/// A state folder with a good session.
#[derive(Debug)]
pub struct State(tempfile::TempDir);

impl State {
    pub fn new() -> Self {
        let state = Self(tempfile::tempdir().unwrap());
        state.put(GOOD, TRANSCRIPT.as_bytes());
        state.put(RECORDS, LISTED.as_bytes());
        state.put("openclaw.json", b"{}");
        state
    }

    pub fn put(&self, name: &str, bytes: &[u8]) {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        File::create(path).unwrap().write_all(bytes).unwrap();
    }

    /// Lists the store and opens every session in it.
    fn read(&self) -> SessionListing {
        let request = StoreRequest::Path(self.0.path().to_path_buf());
        let location = StoreLocation::new(&request, Environment::default()).unwrap();
        let listing = list_sessions(&location, NOW_MS);
        for item in &listing.items {
            if let Ok(session) = open(&listing.store, &item.key, None, NOW_MS, &mut |_, _| true) {
                let _ = session.load_details();
            }
        }
        listing
    }

    /// Reads the store with one damaged file. The good session is listed, and no file changes.
    pub fn survives(&self, name: &str, bytes: &[u8]) {
        self.put(name, bytes);
        let before = files(self.0.path());
        let listing = self.read();
        let good = self.0.path().join(GOOD).canonicalize().unwrap();
        let paths = listing.items.iter().filter_map(|item| item.path.as_ref());
        assert!(
            paths.filter_map(|path| path.canonicalize().ok()).any(|path| path == good),
            "the good session is not listed: {:?}",
            listing.items.iter().map(|item| &item.key).collect::<Vec<_>>()
        );
        assert!(files(self.0.path()) == before, "reading changed a file");
    }

    /// Reads the bytes as `openclaw.json` and the two files that it may include, separated by form feeds.
    pub fn survives_configuration(&self, bytes: &[u8]) {
        let texts: Vec<String> = super::parts(bytes).collect();
        let text = |at: usize| texts.get(at).map_or(&b""[..], String::as_bytes);
        self.put("models.json5", text(1));
        self.put("more.json", text(2));
        self.survives("openclaw.json", text(0));
    }

    /// A database may hide the files next to it, so that only its own bytes are compared. Returns whether something is
    /// found wrong with it.
    pub fn leaves_database(&self, bytes: &[u8]) -> bool {
        self.put(DATABASE, bytes);
        let listing = self.read();
        assert!(fs::read(self.0.path().join(DATABASE)).unwrap() == bytes, "reading changed the database");
        listing.items.is_empty() || !listing.store.diagnostics.is_empty()
    }
}

/// The same state folder for each input of a process.
#[allow(dead_code, reason = "for the targets; the tests have a folder each")]
pub fn with_state<T>(check: impl FnOnce(&State) -> T) -> T {
    thread_local! {
        static STATE: State = State::new();
    }
    STATE.with(check)
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
