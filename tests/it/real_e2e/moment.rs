//! A store as it was at some moment, and clawscope's answers about it.

use std::fs;
use std::path::{Path, PathBuf};

use clawscope::command::{self, environment::Invocation, output::Output};
use clawscope::gateway::env::Environment;
use clawscope::units::Moment as Time;
use serde_json::Value;

use super::scenario::{Finished, Place, Session};

/// A store that clawscope opens.
pub(super) struct Moment {
    /// Holds a copy; `None` for the store itself.
    _folder: Option<tempfile::TempDir>,
    store: PathBuf,
    session: String,
    now_ms: u64,
    /// A folder with the program's command, for clawscope to run.
    programs: Option<PathBuf>,
}

impl Moment {
    /// The store as the program left it.
    pub(super) fn last(finished: &Finished) -> Self {
        let now_ms = finished.requests.last().map_or(0, |request| request.at_ms);
        let session = session_in(finished, finished.main(), &finished.store);
        Self { _folder: None, store: finished.store.clone(), session, now_ms, programs: None }
    }

    /// A session of a store, now.
    pub(super) fn now(store: PathBuf, session: String) -> Self {
        Self { _folder: None, store, session, now_ms: super::now_ms(), programs: None }
    }

    /// A copy in which the session ends with the entry `leaf`.
    pub(super) fn at(finished: &Finished, session: &Session, leaf: &str, now_ms: u64) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = folder.path().join("store");
        fs::create_dir(&store).expect("a folder");
        for name in ["openclaw.json", "settings.json", "models.json"] {
            if finished.store.join(name).exists() {
                fs::copy(finished.store.join(name), store.join(name)).expect("a copy");
            }
        }
        match &session.place {
            Place::File(path) => cut_file(&finished.store, path, &store, leaf),
            Place::Database(path, id) => super::database::cut((&finished.store, path), id, &store, leaf),
        }
        let session = session_in(finished, session, &store);
        Self { _folder: Some(folder), store, session, now_ms, programs: None }
    }

    /// The same, with a folder of programs in `PATH`.
    pub(super) fn with_programs(self, programs: PathBuf) -> Self {
        Self { programs: Some(programs), ..self }
    }

    /// Runs a command about the session; returns what it prints as JSON.
    pub(super) fn ask(&self, words: &[&str]) -> Result<Value, String> {
        let (first, rest) = words.split_first().expect("a command");
        self.run(&[&[first, self.session.as_str()], rest].concat())
    }

    /// Lists the sessions of the store.
    pub(super) fn sessions(&self) -> Result<Value, String> {
        self.run(&["sessions"])
    }

    fn run(&self, words: &[&str]) -> Result<Value, String> {
        let store = self.store.to_string_lossy();
        let words = [&["clawscope"], words, &["--store", &store, "--json"]].concat();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let home = self.store.clone();
        let path = self.programs.iter().map(|folder| ("PATH", folder.to_string_lossy().into_owned()));
        let env = Environment::new(path, Some(home.clone()), home);
        let invocation = Invocation { env, now_ms: Time(self.now_ms as f64) };
        let code =
            command::main(words.iter().map(Into::into), &invocation, &mut Output::new(&mut out, &mut err));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        serde_json::from_slice(&out).map_err(|_| format!("{words:?} ends with {code}: {}", text(&err)))
    }
}

fn session_in(finished: &Finished, session: &Session, store: &Path) -> String {
    let place = |path: &Path| {
        let within = path.strip_prefix(&finished.store).expect("within the store");
        store.join(within).to_string_lossy().into_owned()
    };
    session.key.clone().unwrap_or_else(|| match &session.place {
        Place::File(path) => place(path),
        Place::Database(path, id) => place(path) + "#" + id,
    })
}

/// Copies a transcript up to an entry, with the rows beside it, whose paths lead into the copy.
fn cut_file(from: &Path, transcript: &Path, to: &Path, leaf: &str) {
    let within = transcript.strip_prefix(from).expect("within the store");
    let target = to.join(within);
    let (old, new) = (transcript.parent().expect("a folder"), target.parent().expect("a folder"));
    fs::create_dir_all(new).expect("a folder");
    if let Ok(rows) = fs::read_to_string(old.join("sessions.json")) {
        let rows = rows.replace(&*old.to_string_lossy(), &new.to_string_lossy());
        super::write_file(&new.join("sessions.json"), rows.as_bytes());
    }
    let mut kept = String::new();
    for line in fs::read_to_string(transcript).expect("a transcript").lines() {
        kept.push_str(line);
        kept.push('\n');
        let id = serde_json::from_str::<Value>(line).map(|entry| entry["id"].clone());
        if id.is_ok_and(|id| id == leaf) {
            break;
        }
    }
    super::write_file(&target, kept.as_bytes());
}
