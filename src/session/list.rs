//! Builds the session list from records, files and locks only.
//!
//! No transcript is read, so a large store appears at once; [`crate::session::load_item`] fills in the rest later.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use rayon::prelude::*;

use crate::commit::{LockState, find_interrupted as unfinished_commit, lock_state, transcripts_with_journal};
use crate::diagnostic::{Diagnostic, Severity};
use crate::gateway::recorded_window::ModelUser;
use crate::gateway::ruleset::RulesetChoice;
use crate::ids::SessionKey;
use crate::session::diagnostics::unfinished_commit_diagnostic;
use crate::session::item::{CountSource, Mark, SessionItem, TokenCount};
use crate::session::store_location::StoreLocation;
use crate::store::archive::ArchiveReason;
use crate::store::discovery::Store;
use crate::store::key::{key_of_parent, parse_peer};
use crate::store::model::{ModelRef, session_model};
use crate::store::path_kind::PathKind;
use crate::store::session::{Flag, Session};
use crate::store::session_records::SessionRecord;
use crate::units::{Moment, Tokens};

#[derive(Debug, Clone)]
pub struct SessionListing {
    pub store: Arc<Store>,
    /// Display name of the location.
    pub name: String,
    pub is_demo: bool,
    /// The gateway store that is missing, where the demo store replaces it.
    pub missing_store: Option<String>,
    /// One item per session: grouped by agent, newest first, archived ones last.
    pub items: Vec<SessionItem>,
    pub diagnostics: Vec<Diagnostic>,
}

impl SessionListing {
    /// Returns why the list is empty, when the location itself is at fault.
    pub fn place_error(&self) -> Option<String> {
        let is_no_store = match self.store.path_kind {
            PathKind::Nothing(_) => true,
            PathKind::Database(_) => self.store.sessions.is_empty(),
            _ => false,
        };
        let fault = self.diagnostics.iter().rev().find(|finding| finding.severity == Severity::Error);
        fault.filter(|_| is_no_store).map(describe_fault)
    }

    /// Returns why a database of the store was not read; its sessions are missing from the list.
    pub fn unread_database(&self) -> Option<String> {
        self.diagnostics.iter().find(|finding| self.is_about_unread_database(finding)).map(describe_fault)
    }

    /// Whether a finding says that a database was not read.
    pub fn is_about_unread_database(&self, finding: &Diagnostic) -> bool {
        finding.severity == Severity::Error
            && self.store.databases.iter().any(|database| database.path == finding.path)
    }
}

/// Writes a finding as the sentences of an error.
fn describe_fault(fault: &Diagnostic) -> String {
    let advice = capitalize(fault.advice.trim_end_matches('.'));
    format!("{}: {}. {advice}.", fault.path.display(), fault.message)
}

fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_uppercase().collect::<String>());
    first.unwrap_or_default() + chars.as_str()
}

/// Lists a location under the ruleset that its store shows. `now_ms` decides whether a lock is stale.
pub fn list_sessions(place: &StoreLocation, now_ms: Moment) -> SessionListing {
    list_sessions_with(place, None, now_ms)
}

/// Lists a location under the requested ruleset, else the one that its store shows.
pub fn list_sessions_with(
    place: &StoreLocation,
    requested: Option<&RulesetChoice>,
    now_ms: Moment,
) -> SessionListing {
    let store = survey_with(place, requested);
    let mut diagnostics = store.diagnostics.clone();
    if let Some(path) = place.missing_store() {
        let next = "This is the built-in demo store. Pass a PATH or set OPENCLAW_STATE_DIR to see your own.";
        diagnostics.insert(0, Diagnostic::new(path, Severity::Note, "found no gateway store", next));
    }
    diagnostics.extend(abandoned_commits(&store, now_ms));
    SessionListing {
        name: place.display_name(&store),
        is_demo: place.is_demo(),
        missing_store: place.missing_store_name(),
        items: list_items(&store, now_ms),
        diagnostics,
        store: Arc::new(store),
    }
}

/// Scans a location under the requested ruleset, else the one that its store shows.
pub fn survey_with(place: &StoreLocation, requested: Option<&RulesetChoice>) -> Store {
    let mut store = place.survey();
    if let Some(requested) = requested {
        store.use_ruleset(requested.clone());
    }
    store
}

fn list_items(store: &Store, now_ms: Moment) -> Vec<SessionItem> {
    let unfinished = unfinished_commit_paths(store);
    let mut items: Vec<SessionItem> =
        store.sessions.par_iter().map(|session| list_item(store, session, now_ms)).collect();
    for item in
        items.iter_mut().filter(|item| item.path.as_ref().is_some_and(|path| unfinished.contains(path)))
    {
        let found = item.path.as_deref().and_then(|path| unfinished_commit(path, now_ms).ok().flatten());
        item.set_mark(Mark::Unfinished, found.is_some());
    }
    sort_newest_first(store, &mut items);
    items
}

/// Sorts by agent, and within one newest first with archived sessions and orphans last.
pub fn sort_newest_first(store: &Store, items: &mut [SessionItem]) {
    let order: HashMap<&str, usize> =
        store.agents.iter().enumerate().map(|(at, agent)| (agent.id.as_str(), at)).collect();
    items.sort_by_cached_key(|item| {
        let agent = order.get(item.agent.as_str()).copied().unwrap_or(usize::MAX);
        let (aside, updated, key) = item.sort_key();
        (agent, item.agent.clone(), aside, updated, key.clone())
    });
}

/// Returns the transcripts that have a journal: their commit is running or was interrupted.
pub fn unfinished_commit_paths(store: &Store) -> BTreeSet<PathBuf> {
    let folders = store.transcript_folders();
    folders.into_iter().flat_map(|folder| transcripts_with_journal(folder).unwrap_or_default()).collect()
}

/// Reports interrupted commits to files that belong to no session any more.
fn abandoned_commits(store: &Store, now_ms: Moment) -> Vec<Diagnostic> {
    let unfinished = unfinished_commit_paths(store);
    if unfinished.is_empty() {
        return Vec::new();
    }
    let known: HashSet<&PathBuf> =
        store.sessions.iter().filter_map(|session| session.path.as_ref()).collect();
    let left = unfinished.into_iter().filter(|path| !known.contains(path));
    let found = left.filter_map(|path| unfinished_commit(&path, now_ms).ok().flatten());
    found.map(|found| unfinished_commit_diagnostic(&found)).collect()
}

/// Builds a list item from record, file and lock.
pub fn list_item(store: &Store, session: &Session, now_ms: Moment) -> SessionItem {
    let row = session.record.as_ref();
    let ModelRef { provider, model } =
        session_model(store, session).unwrap_or_else(|| configured_model(store, session));
    let window = store.config.window(
        store.ruleset.id.rules(),
        ModelUser { agent: &session.agent, session: &session.key.0 },
        &provider,
        &model,
    );
    let is_assumed = window.model_source.is_assumed() && !model.is_empty();
    let (window, run_window) = (window.model_tokens.whole(), window.tokens.whole());
    let tokens = row.and_then(|row| row.total_tokens).map(Tokens::whole);
    let mut item = SessionItem {
        key: session.key.clone(),
        agent: session.agent.clone(),
        kind: session.kind.as_str().to_owned(),
        channel: row.and_then(|row| row.channel.clone()).or_else(|| parse_peer(&session.key.0).channel),
        parent: parent_key(session),
        title: session.title.clone(),
        id: session.id.clone(),
        path: session.path.clone(),
        provider,
        model,
        ruleset: store.ruleset.id,
        window,
        run_window,
        tokens: tokens.map(|tokens| TokenCount { tokens, source: CountSource::Measured }),
        entries: None,
        compactions: row.and_then(|row| row.compaction_count).map(|count| count.max(0.0) as u64),
        overflows: None,
        state: None,
        usage: None,
        updated_ms: session.updated_ms(),
        bytes: session.bytes,
        marks: session.flags.iter().filter_map(|flag| mark_for_flag(*flag)).collect(),
    };
    item.marks.sort();
    item.set_mark(Mark::AssumedWindow, is_assumed);
    if is_running(session, now_ms) {
        item.set_mark(Mark::Running, true);
    }
    item
}

/// Returns the session that started this one: the record's, else that in the key (store C5, D3, D4).
fn parent_key(session: &Session) -> Option<SessionKey> {
    let recorded = session.record.as_ref().and_then(SessionRecord::parent);
    recorded.map(SessionKey).or_else(|| key_of_parent(&session.key.0).map(|key| SessionKey(key.to_owned())))
}

/// Returns the configured model, for a session that names none.
fn configured_model(store: &Store, session: &Session) -> ModelRef {
    let named = store.config.default_model(&session.agent);
    named.map_or(ModelRef { provider: String::new(), model: String::new() }, ModelRef::parse)
}

fn mark_for_flag(flag: Flag) -> Option<Mark> {
    Some(match flag {
        Flag::Orphan => Mark::Orphan,
        Flag::Archived(ArchiveReason::Reset) => Mark::Reset,
        Flag::Archived(ArchiveReason::Deleted) => Mark::Deleted,
        Flag::Archived(ArchiveReason::Bak) => Mark::Backup,
        Flag::Missing => Mark::Missing,
        Flag::ForeignPath => Mark::Foreign,
        Flag::Symlink => Mark::Symlink,
        Flag::ReadOnly => Mark::ReadOnly,
        Flag::Running => Mark::Running,
        Flag::Superseded => Mark::Earlier,
        Flag::MarkedArchived => Mark::Archived,
        Flag::Cold => Mark::Cold,
        Flag::Imported => Mark::Imported,
        Flag::NotImported => Mark::NotImported,
        // Not a fault: a held lock shows as a run, and a second key is not worth a note.
        Flag::Locked | Flag::DuplicateRun => return None,
    })
}

/// A held lock means a run (store H11); a stale lock does not. In a database the row decides (sqlite I5).
fn is_running(session: &Session, now_ms: Moment) -> bool {
    if session.has_flag(Flag::Running) {
        return true;
    }
    let path = session.path.as_deref().filter(|_| session.has_flag(Flag::Locked));
    path.is_some_and(|path| matches!(lock_state(path, now_ms), Ok(LockState::Held { .. })))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::Path;

    use super::*;
    use crate::commit::{Clock, SystemClock};
    use crate::gateway::env::Environment;
    use crate::js::iso_text;
    use crate::session::store_location::StoreRequest;

    fn write(dir: &Path, path: &str, text: &str) {
        let path = dir.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn listed(dir: &Path) -> SessionListing {
        let place = StoreLocation::new(&StoreRequest::Path(dir.into()), Environment::default()).unwrap();
        list_sessions(&place, SystemClock.now_ms())
    }

    #[test]
    fn the_newest_session_of_an_agent_is_first_and_archives_are_last() {
        let dir = tempfile::tempdir().unwrap();
        write(
            dir.path(),
            "agents/main/sessions/sessions.json",
            r#"{"agent:main:old":{"sessionId":"a","updatedAt":1},"agent:main:new":{"sessionId":"b","updatedAt":2}}"#,
        );
        for name in ["a.jsonl", "b.jsonl", "zz.jsonl", "c.jsonl.reset.2026-02-21T05-16-55.686Z"] {
            write(dir.path(), &format!("agents/main/sessions/{name}"), "");
        }
        let listed = listed(dir.path());
        let ids: Vec<&str> = listed.items.iter().map(|item| item.id.as_str()).collect();
        assert_eq!(ids, ["b", "a", "zz", "c"]);
        assert!(listed.items[2].has(Mark::Orphan) && listed.items[3].has(Mark::Reset));
        assert_eq!((&listed.store.ruleset, listed.is_demo), (&RulesetChoice::default(), false));
    }

    #[test]
    fn a_row_shows_tokens_before_anything_was_read_and_no_overflow() {
        let dir = tempfile::tempdir().unwrap();
        write(
            dir.path(),
            "agents/main/sessions/sessions.json",
            r#"{"agent:main:x":{"sessionId":"a","totalTokens":250000,"model":"claude-opus-4-5","modelProvider":"anthropic","compactionCount":2}}"#,
        );
        let item = &listed(dir.path()).items[0];
        assert_eq!(item.tokens, Some(TokenCount { tokens: 250_000, source: CountSource::Measured }));
        assert_eq!((item.window, item.compactions), (200_000, Some(2)));
        assert!(!item.has(Mark::Overflow) && item.has(Mark::Missing));
    }

    #[test]
    fn only_a_held_lock_means_a_running_session() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "agents/main/sessions/sessions.json", r#"{"agent:main:x":{"sessionId":"a"}}"#);
        write(dir.path(), "agents/main/sessions/a.jsonl", "");
        let running = || listed(dir.path()).items[0].has(Mark::Running);
        assert!(!running());
        let since = iso_text(SystemClock.now_ms());
        let lock = format!(r#"{{"pid":{},"createdAt":"{since}"}}"#, std::os::unix::process::parent_id());
        write(dir.path(), "agents/main/sessions/a.jsonl.lock", &lock);
        assert!(running());
        write(
            dir.path(),
            "agents/main/sessions/a.jsonl.lock",
            r#"{"pid":4000000,"createdAt":"2023-11-14T21:00:00.000Z"}"#,
        );
        assert!(!running());
    }

    #[test]
    fn an_empty_or_missing_path_is_refused_with_advice() {
        let dir = tempfile::tempdir().unwrap();
        let refusal = listed(&dir.path().join("nowhere")).place_error().unwrap();
        assert!(refusal.contains("nowhere: does not exist. Pass a state dir"), "{refusal}");
    }
}
