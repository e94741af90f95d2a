//! Maps changed files to the sessions to refresh, or to a rescan of the store.
//!
//! While many sessions are written to, a change must cost only its own session, not a scan of the whole store. A change
//! to `a.jsonl.lock` refreshes session `a`; an unknown `.jsonl` triggers a rescan.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::commit::{find_interrupted, transcript_for_journal};
use crate::session::item::{Mark, SessionItem};
use crate::session::list::list_item;
use crate::store::archive::is_jsonl_path;
use crate::store::discovery::Store;
use crate::store::session::{Flag, Session};
use crate::units::Moment;

/// Sessions of a store by transcript path.
#[derive(Debug, Default)]
pub struct PathIndex {
    /// Made for the first change: a large store is shown before.
    sessions: OnceLock<HashMap<PathBuf, Vec<usize>>>,
    /// Files that look like transcripts but were not listed by the last scan, so another change to them needs no
    /// rescan.
    unlisted: BTreeSet<PathBuf>,
}

/// The effect of a set of changed files.
#[derive(Debug, Default)]
pub struct Invalidation {
    /// Sessions whose files changed, with their updated list items.
    pub sessions: Vec<(Session, SessionItem)>,
    /// Whether to rescan the store, because sessions may have appeared or disappeared or settings changed.
    pub rescan: bool,
}

enum AffectedItems<'a> {
    Nothing,
    Sessions(&'a [usize]),
    Store,
}

impl PathIndex {
    /// Indexes a store that was scanned because of these changed paths.
    pub fn new(store: &Store, because: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut index = Self::default();
        let is_left = |path: &PathBuf| {
            is_jsonl_path(path) && path.is_file() && !index.sessions(store).contains_key(path)
        };
        index.unlisted = because.into_iter().filter(is_left).collect();
        index
    }

    fn sessions(&self, store: &Store) -> &HashMap<PathBuf, Vec<usize>> {
        self.sessions.get_or_init(|| {
            let mut sessions: HashMap<PathBuf, Vec<usize>> = HashMap::new();
            for (at, session) in store.sessions.iter().enumerate() {
                if let Some(path) = &session.path {
                    sessions.entry(path.clone()).or_default().push(at);
                }
            }
            sessions
        })
    }

    /// Returns the effect of these changes to the indexed store. `now_ms` decides whether a lock is stale.
    pub fn invalidated_by<'a>(
        &self,
        store: &Store,
        paths: impl IntoIterator<Item = &'a PathBuf>,
        now_ms: Moment,
    ) -> Invalidation {
        let mut touched = Invalidation::default();
        let mut places = BTreeSet::new();
        for path in paths {
            match self.affected_by(store, path) {
                AffectedItems::Nothing => {}
                AffectedItems::Sessions(own) => places.extend(own),
                AffectedItems::Store => touched.rescan = true,
            }
        }
        let now = |at: &usize| {
            let session = store.sessions.get(*at)?.refreshed();
            let mut item = list_item(store, &session, now_ms);
            let path = session.path.as_deref()?;
            item.set_mark(
                Mark::Unfinished,
                find_interrupted(path, now_ms).is_ok_and(|found| found.is_some()),
            );
            Some((session, item))
        };
        touched.sessions = places.iter().filter_map(now).collect();
        touched
    }

    fn affected_by(&self, store: &Store, path: &Path) -> AffectedItems<'_> {
        if let Some(own) = self.sessions(store).get(path) {
            let was_there = own.iter().any(|at| !store.sessions[*at].has_flag(Flag::Missing));
            return match (was_there, path.is_file()) {
                (true, true) => AffectedItems::Sessions(own),
                (false, false) => AffectedItems::Nothing,
                // When the transcript appears or disappears, another candidate may become the session's file
                // (store E6).
                _ => AffectedItems::Store,
            };
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let beside = name
            .strip_suffix(".lock")
            .map(|name| path.with_file_name(name))
            .or_else(|| transcript_for_journal(path));
        match beside {
            Some(transcript) => match self.sessions(store).get(&transcript) {
                Some(own) => AffectedItems::Sessions(own),
                None => AffectedItems::Nothing,
            },
            None if self.unlisted.contains(path) && path.is_file() => AffectedItems::Nothing,
            None => AffectedItems::Store,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::gateway::env::Environment;
    use crate::store::discovery::discover;
    use crate::units::Bytes;

    fn write(dir: &Path, name: &str, text: &str) -> PathBuf {
        let path = dir.join("agents/main/sessions").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
        path
    }

    fn store(dir: &Path) -> Store {
        discover(Some(dir), &Environment::new([("HOME", "/nowhere")], None, "/".into()))
    }

    /// Returns the ids of the sessions to refresh, and whether to rescan the store.
    fn reported(places: &PathIndex, store: &Store, path: &Path) -> (Vec<String>, bool) {
        let touched = places.invalidated_by(store, [&path.to_path_buf()], Moment::ZERO);
        (touched.sessions.iter().map(|(session, _)| session.id.clone()).collect(), touched.rescan)
    }

    #[test]
    fn a_changed_transcript_lock_or_journal_affects_only_its_session() {
        let dir = tempfile::tempdir().unwrap();
        write(
            dir.path(),
            "sessions.json",
            r#"{"agent:main:x":{"sessionId":"a"},"agent:main:y":{"sessionId":"b"}}"#,
        );
        let path = write(dir.path(), "a.jsonl", "");
        write(dir.path(), "b.jsonl", "");
        let store = store(dir.path());
        let places = PathIndex::new(&store, []);
        write(dir.path(), "a.jsonl", "{\"type\":\"session\"}\n");
        let touched = places.invalidated_by(&store, [&path], Moment::ZERO);
        assert_eq!((touched.sessions[0].1.bytes, touched.rescan), (Bytes(19), false));
        let lock = write(dir.path(), "a.jsonl.lock", "");
        assert_eq!(reported(&places, &store, &lock), (vec!["a".to_owned()], false));
        let journal = path.with_file_name("a.jsonl.clawscope-journal");
        assert_eq!(reported(&places, &store, &journal), (vec!["a".to_owned()], false));
        assert_eq!(reported(&places, &store, &path.with_file_name("sessions.json.lock")), (vec![], false));
    }

    #[test]
    fn new_or_removed_files_rows_and_settings_affect_the_whole_store() {
        let dir = tempfile::tempdir().unwrap();
        let rows = write(
            dir.path(),
            "sessions.json",
            r#"{"agent:main:x":{"sessionId":"a"},"agent:main:y":{"sessionId":"b"}}"#,
        );
        let path = write(dir.path(), "a.jsonl", "");
        let known = store(dir.path());
        let places = PathIndex::new(&known, []);
        let orphan = write(dir.path(), "c.jsonl", "");
        let archive = write(dir.path(), "a.jsonl.reset.2026-02-21T05-16-55.686Z", "");
        for path in [&rows, &orphan, &archive, &dir.path().join("openclaw.json"), &dir.path().to_path_buf()] {
            assert_eq!(reported(&places, &known, path), (vec![], true), "{}", path.display());
        }
        let unwritten = path.with_file_name("b.jsonl");
        assert_eq!(reported(&places, &known, &unwritten), (vec![], false));
        write(dir.path(), "b.jsonl", "");
        assert_eq!(reported(&places, &known, &unwritten), (vec![], true));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(reported(&places, &known, &path), (vec![], true));
    }

    #[test]
    fn a_file_that_is_not_listed_causes_only_one_rescan() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "a.jsonl", "");
        let log = dir.path().join("log.jsonl");
        std::fs::File::create(&log).unwrap();
        let store = store(dir.path());
        assert_eq!(reported(&PathIndex::new(&store, []), &store, &log), (vec![], true));
        assert_eq!(reported(&PathIndex::new(&store, [log.clone()]), &store, &log), (vec![], false));
    }
}
