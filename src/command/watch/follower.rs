//! All followed transcripts and their store. A change reads only the changed transcripts; only rows, databases, the
//! configuration and unknown files cause a new survey of the store.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::alerts::{AlertRequest, fullness_before, report_alert};
use super::followed_transcript::{FollowedTranscript, is_retryable, original_path};
use super::lines::{TranscriptChange, report_change, report_entries};
use crate::command::environment::Workspace;
use crate::command::failure::Failure;
use crate::command::output::Output;
use crate::commit::{Clock as _, SystemClock};
use crate::ids::SessionKey;
use crate::redact::SecretDisplay;
use crate::store::archive::is_jsonl_path;
use crate::store::discovery::Store;
use crate::store::sqlite::database_of;
use crate::units::Moment;

/// Sessions kept loaded: each holds an open file, and processes have few file descriptors.
const MAX_READINGS: usize = 32;

pub(super) struct Follower {
    pub(super) json: bool,
    pub(super) secrets: SecretDisplay,
    pub(super) agent: Option<String>,
    pub(super) only_session: Option<SessionKey>,
    pub(super) alerts: Option<AlertRequest>,
    pub(super) store: Arc<Store>,
    /// Index into the store's sessions, by transcript path.
    session_indices: HashMap<PathBuf, usize>,
    pub(super) transcripts: HashMap<PathBuf, FollowedTranscript>,
    /// Transcripts with a loaded session, the oldest first.
    recently_read: VecDeque<PathBuf>,
    /// Files named like transcripts that the store does not list.
    unlisted: HashSet<PathBuf>,
    /// Changes to report after the next survey.
    pending_survey: BTreeSet<PathBuf>,
    /// Transcripts to read again after a failure.
    retries: BTreeSet<PathBuf>,
}

impl Follower {
    /// Follows the sessions of a store from their current ends. `now_ms` is the time of the listing.
    pub(super) fn new(
        workspace: &Workspace,
        (json, secrets): (bool, SecretDisplay),
        agent: Option<String>,
        only: Option<SessionKey>,
        now_ms: Moment,
    ) -> Self {
        let mut following = Self {
            json,
            secrets,
            agent,
            only_session: only,
            alerts: None,
            store: Arc::clone(&workspace.listed.store),
            session_indices: HashMap::new(),
            transcripts: HashMap::new(),
            recently_read: VecDeque::new(),
            unlisted: HashSet::new(),
            pending_survey: BTreeSet::new(),
            retries: BTreeSet::new(),
        };
        following.index_sessions();
        for (path, at) in following.transcripts_to_follow() {
            let session = &following.store.sessions[at];
            let followed = FollowedTranscript::from_end(session, &path, now_ms);
            following.transcripts.insert(path, followed);
        }
        following
    }

    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    pub(super) fn len(&self) -> usize {
        self.transcripts.len()
    }

    pub(super) fn paths(&self) -> BTreeSet<PathBuf> {
        self.transcripts.keys().cloned().collect()
    }

    pub(super) fn needs_survey(&self) -> bool {
        !self.pending_survey.is_empty()
    }

    pub(super) fn has_retries(&self) -> bool {
        !self.retries.is_empty()
    }

    /// Reports new entries of known transcripts, and records changes that need a survey.
    pub(super) fn process_changes(
        &mut self,
        changed: &BTreeSet<PathBuf>,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let again = std::mem::take(&mut self.retries);
        let news: Vec<PathBuf> = changed.iter().filter(|path| self.affects_store(path)).cloned().collect();
        self.pending_survey.extend(news);
        for path in self.affected_transcripts(changed).union(&again) {
            self.report_new(path, output)?;
        }
        Ok(())
    }

    /// Surveys the store again, and reports all entries of its new transcripts.
    pub(super) fn resurvey(&mut self, workspace: &Workspace, output: &mut Output) -> Result<(), Failure> {
        let changed = std::mem::take(&mut self.pending_survey);
        let store = Arc::new(workspace.resurvey());
        let known: BTreeSet<PathBuf> = self.session_indices.keys().cloned().collect();
        let listed: HashSet<&Path> = transcript_paths(&store).map(|(path, _)| path).collect();
        // Use the previous store for these: the new one no longer lists them.
        for path in known.iter().filter(|path| !listed.contains(path.as_path())) {
            self.report_new(path, output)?;
        }
        self.store = store;
        self.index_sessions();
        let unlisted = changed.into_iter().filter(|path| !self.session_indices.contains_key(path));
        let unlisted: Vec<PathBuf> = unlisted.filter(|path| is_jsonl_path(path) && path.is_file()).collect();
        self.unlisted.extend(unlisted);
        let mut touched: BTreeSet<PathBuf> = BTreeSet::new();
        for (path, at) in self.transcripts_to_follow() {
            let is_new = !self.transcripts.contains_key(&path);
            let is_in_database = self.store.sessions[at].location.database().is_some();
            if is_new {
                self.transcripts.insert(path.clone(), FollowedTranscript::default());
            }
            if is_new || is_in_database || !known.contains(&path) {
                touched.insert(path);
            }
        }
        touched.iter().try_for_each(|path| self.report_new(path, output))?;
        self.report_unseen_archives(&known, output)
    }

    /// Indexes sessions by transcript; of several sessions with one transcript, a followed one is preferred.
    fn index_sessions(&mut self) {
        let mut places: HashMap<PathBuf, usize> = HashMap::new();
        for (path, at) in transcript_paths(&self.store) {
            if !places.contains_key(path) || self.should_follow(at) {
                places.insert(path.to_path_buf(), at);
            }
        }
        self.session_indices = places;
    }

    fn should_follow(&self, at: usize) -> bool {
        let session = &self.store.sessions[at];
        self.only_session.as_ref().is_none_or(|key| *key == session.key)
            && self.agent.as_ref().is_none_or(|agent| *agent == session.agent)
            && !session.is_archived()
    }

    /// Returns the transcripts to follow, with their index into the store.
    fn transcripts_to_follow(&self) -> Vec<(PathBuf, usize)> {
        let wanted = self.session_indices.iter().filter(|(_, at)| self.should_follow(**at));
        wanted.map(|(path, at)| (path.clone(), *at)).collect()
    }

    /// Whether a change requires a survey: of rows, configuration, databases, unknown transcripts or folders.
    fn affects_store(&self, path: &Path) -> bool {
        if self.session_indices.contains_key(path) {
            return false;
        }
        let is_archive =
            || original_path(path).is_some_and(|original| !self.transcripts.contains_key(&original));
        let is_unknown = || is_jsonl_path(path) && !self.unlisted.contains(path) || is_archive();
        let is_database = || self.store.databases.iter().any(|holding| holding.path == path);
        let is_config = || self.store.config.path.as_deref() == Some(path);
        path.file_name().is_some_and(|name| name == "sessions.json")
            || is_unknown()
            || is_config()
            || is_database()
            || path.is_dir()
    }

    /// Returns the transcripts that a change may concern; a changed folder concerns every transcript in it.
    fn affected_transcripts(&self, changed: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
        let own = changed.iter().filter(|path| self.transcripts.contains_key(*path)).cloned();
        let folders: HashSet<&Path> = changed
            .iter()
            .map(PathBuf::as_path)
            .filter(|path| !is_jsonl_path(path) && path.is_dir())
            .collect();
        let inside = |path: &&PathBuf| path.parent().is_some_and(|parent| folders.contains(parent));
        let inside = self.transcripts.keys().filter(|path| !folders.is_empty() && inside(path)).cloned();
        own.chain(inside).filter(|path| database_of(path).is_none()).collect()
    }

    /// Reports the unreported entries of a transcript.
    fn report_new(&mut self, path: &Path, output: &mut Output) -> Result<(), Failure> {
        let (Some(followed), Some(at)) = (self.transcripts.get_mut(path), self.session_indices.get(path))
        else {
            return Ok(());
        };
        let (store, session) = (&*self.store, &self.store.sessions[*at]);
        if followed.is_unchanged(session, path) {
            return Ok(());
        }
        let now_ms = SystemClock.now_ms();
        if let Some((became, source)) = followed.detect_change(path) {
            // Read the last entries of the old file first.
            if let Some(source) = source
                && let Ok(news) = followed.read(store, session, &source, now_ms)
            {
                report_entries(news.session, &news.entries, (self.json, self.secrets), output)?;
            }
            if became != TranscriptChange::Rewritten {
                report_change(session, path, &became, self.json, output)?;
                followed.mark_gone();
            }
        }
        if session.location.database().is_none() && !path.is_file() {
            return Ok(());
        }
        let known = followed.source();
        let is_first = followed.has_unread_past();
        let read = session
            .location
            .open(path, known.as_ref())
            .map(|source| followed.read(store, session, &source, now_ms));
        match read {
            Ok(Ok(news)) => {
                if news.is_rewritten {
                    report_change(session, path, &TranscriptChange::Rewritten, self.json, output)?;
                }
                report_entries(news.session, &news.entries, (self.json, self.secrets), output)?;
                let before = is_first.then(|| fullness_before(news.session, &news.entries)).flatten();
                self.alert(path, before, now_ms, output)?;
                self.retain_reading(path);
            }
            // The file was just truncated or replaced, or too many files are open: retry.
            Err(_) => drop(self.retries.insert(path.to_path_buf())),
            Ok(Err(error)) if is_retryable(&error) => drop(self.retries.insert(path.to_path_buf())),
            Ok(Err(_)) => {}
        }
        Ok(())
    }

    /// Reports that a session crossed a level. `before` is its fullness before the first read.
    fn alert(
        &mut self,
        path: &Path,
        before: Option<f64>,
        now_ms: Moment,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let (Some(request), Some(followed)) = (&self.alerts, self.transcripts.get_mut(path)) else {
            return Ok(());
        };
        let mut state = before.map_or(followed.crossed_levels, |before| request.levels.baseline(before));
        if let Some(loaded) = followed.reading() {
            report_alert(request, &mut state, (loaded, path), now_ms, (self.json, output))?;
        }
        followed.crossed_levels = state;
        Ok(())
    }

    /// Keeps the sessions of the most recently changed transcripts loaded.
    fn retain_reading(&mut self, path: &Path) {
        self.recently_read.retain(|known| known != path);
        self.recently_read.push_back(path.to_path_buf());
        if self.recently_read.len() > MAX_READINGS
            && let Some(oldest) = self.recently_read.pop_front()
            && let Some(followed) = self.transcripts.get_mut(&oldest)
        {
            followed.drop_reading();
        }
    }
}

fn transcript_paths(store: &Store) -> impl Iterator<Item = (&Path, usize)> {
    let sessions = store.sessions.iter().enumerate();
    sessions.filter_map(|(at, session)| Some((session.path.as_deref()?, at)))
}
