//! A finished scenario in its folder, which can be compared again without the program.
//!
//! `CLAWSCOPE_E2E_KEEP=1` keeps every folder instead of those with unexpected differences; they are in `TMPDIR`.
//! `CLAWSCOPE_E2E_KEPT="FOLDER …" cargo test --test it kept_again -- --ignored --nocapture` compares them.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::checks::Outcome;
use super::compared;
use super::mock::Request;
use super::scenario::{Finished, Session};

const NAME: &str = "finished.json";

/// What the folder alone does not say.
#[derive(Serialize, Deserialize)]
struct Kept {
    program: String,
    scenario: String,
    store: PathBuf,
    sessions: Vec<Session>,
    requests: Vec<Request>,
    has_triggers: bool,
}

/// Writes what the folder alone does not say into it.
pub(super) fn write(finished: &Finished) {
    let kept = Kept {
        program: finished.program.clone(),
        scenario: finished.scenario.clone(),
        store: finished.store.clone(),
        sessions: finished.sessions.clone(),
        requests: finished.requests.clone(),
        has_triggers: finished.has_triggers,
    };
    let bytes = serde_json::to_vec(&kept).expect("JSON");
    super::write_file(&finished.folder.path().join(NAME), &bytes);
}

fn read(folder: &Path) -> Finished {
    let bytes = fs::read(folder.join(NAME)).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let Kept { program, scenario, store, sessions, requests, has_triggers } =
        serde_json::from_slice(&bytes).expect("a finished scenario");
    // What was compared while the program ran is not repeated.
    let outcome = Outcome::default();
    let folder = tempfile::tempdir().expect("a folder");
    Finished { program, scenario, folder, store, sessions, requests, has_triggers, outcome }
}

#[test]
#[ignore = "on demand: compares kept folders again"]
fn kept_again() {
    // `just e2e` runs every ignored test.
    let folders = std::env::var("CLAWSCOPE_E2E_KEPT").unwrap_or_default();
    let mut all = Vec::new();
    for folder in folders.split_whitespace() {
        let mut finished = read(Path::new(folder));
        let found = compared(&mut finished);
        println!("{} {} {folder}: {} unexpected", finished.program, finished.scenario, found.len());
        for difference in &finished.outcome.differences {
            println!("  {:?}: {}", difference.check, difference.text);
        }
        all.extend(found);
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}
