//! Every transcript that is followed, and the store they belong to. A change costs what the transcripts take that
//! changed, not what the store holds: only rows, databases and files that are not known make it look at the whole.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::archives::original_of;
use super::followed::{Followed, may_pass};
use super::lines::{Became, tell, tell_became};
use crate::command::failure::Failure;
use crate::command::output::Output;
use crate::command::scene::Scene;
use crate::commit::{Clock as _, SystemClock};
use crate::ids::SessionKey;
use crate::redact::Secrets;
use crate::store::archive::is_jsonl_path;
use crate::store::sqlite::database_of;
use crate::store::survey::Store;

/// Readings that are kept: each holds an open file, and of those a process has few.
const KEPT: usize = 32;

/// What is followed.
pub(super) struct Following {
    pub(super) json: bool,
    /// Whether lines show the secrets of their texts.
    pub(super) secrets: Secrets,
    pub(super) agent: Option<String>,
    pub(super) only: Option<SessionKey>,
    pub(super) store: Arc<Store>,
    /// Place in the store's sessions by transcript.
    places: HashMap<PathBuf, usize>,
    pub(super) followed: HashMap<PathBuf, Followed>,
    /// Those with a reading that is kept, the oldest first.
    recent: VecDeque<PathBuf>,
    /// Files that look like transcripts and that the store does not list.
    unlisted: HashSet<PathBuf>,
    /// Changes that are told once the store was looked at.
    waiting: BTreeSet<PathBuf>,
    /// Transcripts that could not be read just now.
    behind: BTreeSet<PathBuf>,
}

impl Following {
    /// Follows the sessions of a store from their ends on. `now_ms` is when it was listed (ms since 1970).
    pub(super) fn new(
        scene: &Scene,
        (json, secrets): (bool, Secrets),
        agent: Option<String>,
        only: Option<SessionKey>,
        now_ms: i64,
    ) -> Self {
        let mut following = Self {
            json,
            secrets,
            agent,
            only,
            store: Arc::clone(&scene.listed.store),
            places: HashMap::new(),
            followed: HashMap::new(),
            recent: VecDeque::new(),
            unlisted: HashSet::new(),
            waiting: BTreeSet::new(),
            behind: BTreeSet::new(),
        };
        following.find_places();
        for (path, at) in following.wanted() {
            let session = &following.store.sessions[at];
            let followed = Followed::from_end(session, &path, now_ms);
            following.followed.insert(path, followed);
        }
        following
    }

    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    pub(super) fn len(&self) -> usize {
        self.followed.len()
    }

    /// Every transcript that is followed.
    pub(super) fn paths(&self) -> BTreeSet<PathBuf> {
        self.followed.keys().cloned().collect()
    }

    /// Whether the store is to be looked at again.
    pub(super) fn wants_survey(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether something could not be read and is to be tried again.
    pub(super) fn is_behind(&self) -> bool {
        !self.behind.is_empty()
    }

    /// Tells what was added to the transcripts that are known, and notes what asks for more.
    pub(super) fn take(&mut self, changed: &BTreeSet<PathBuf>, output: &mut Output) -> Result<(), Failure> {
        let again = std::mem::take(&mut self.behind);
        let news: Vec<PathBuf> = changed.iter().filter(|path| self.is_news_of_store(path)).cloned().collect();
        self.waiting.extend(news);
        for path in self.touched(changed).union(&again) {
            self.tell_new(path, output)?;
        }
        Ok(())
    }

    /// Looks at the store again, and tells all of the transcripts that are new in it.
    pub(super) fn survey(&mut self, scene: &Scene, output: &mut Output) -> Result<(), Failure> {
        let changed = std::mem::take(&mut self.waiting);
        let store = Arc::new(scene.resurveyed());
        let known: BTreeSet<PathBuf> = self.places.keys().cloned().collect();
        let listed: HashSet<&Path> = paths_of(&store).map(|(path, _)| path).collect();
        // By the store that knew them: the new one has no word for what they were.
        for path in known.iter().filter(|path| !listed.contains(path.as_path())) {
            self.tell_new(path, output)?;
        }
        self.store = store;
        self.find_places();
        let unlisted = changed.into_iter().filter(|path| !self.places.contains_key(path));
        let unlisted: Vec<PathBuf> = unlisted.filter(|path| is_jsonl_path(path) && path.is_file()).collect();
        self.unlisted.extend(unlisted);
        let mut touched: BTreeSet<PathBuf> = BTreeSet::new();
        for (path, at) in self.wanted() {
            let is_new = !self.followed.contains_key(&path);
            let is_in_database = self.store.sessions[at].kept.database().is_some();
            if is_new {
                self.followed.insert(path.clone(), Followed::default());
            }
            if is_new || is_in_database || !known.contains(&path) {
                touched.insert(path);
            }
        }
        touched.iter().try_for_each(|path| self.tell_new(path, output))?;
        self.tell_unseen_archives(&known, output)
    }

    /// Of several sessions with one transcript that one counts which is to be followed.
    fn find_places(&mut self) {
        let mut places: HashMap<PathBuf, usize> = HashMap::new();
        for (path, at) in paths_of(&self.store) {
            if !places.contains_key(path) || self.is_wanted(at) {
                places.insert(path.to_path_buf(), at);
            }
        }
        self.places = places;
    }

    fn is_wanted(&self, at: usize) -> bool {
        let session = &self.store.sessions[at];
        self.only.as_ref().is_none_or(|key| *key == session.key)
            && self.agent.as_ref().is_none_or(|agent| *agent == session.agent)
            && !session.archived()
    }

    /// The transcripts that are to be followed, with their places in the store.
    fn wanted(&self) -> Vec<(PathBuf, usize)> {
        let wanted = self.places.iter().filter(|(_, at)| self.is_wanted(**at));
        wanted.map(|(path, at)| (path.clone(), *at)).collect()
    }

    /// Rows, the configuration, databases, unknown transcripts and folders say that the store is to be looked at again.
    fn is_news_of_store(&self, path: &Path) -> bool {
        if self.places.contains_key(path) {
            return false;
        }
        let is_archive = || original_of(path).is_some_and(|original| !self.followed.contains_key(&original));
        let is_unknown = || is_jsonl_path(path) && !self.unlisted.contains(path) || is_archive();
        let is_database = || self.store.databases.iter().any(|holding| holding.path == path);
        let is_config = || self.store.config.path.as_deref() == Some(path);
        path.file_name().is_some_and(|name| name == "sessions.json")
            || is_unknown()
            || is_config()
            || is_database()
            || path.is_dir()
    }

    /// The transcripts that a change may be one of: a change of a folder may be one of any file in it.
    fn touched(&self, changed: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
        let own = changed.iter().filter(|path| self.followed.contains_key(*path)).cloned();
        let folders: HashSet<&Path> = changed
            .iter()
            .map(PathBuf::as_path)
            .filter(|path| !is_jsonl_path(path) && path.is_dir())
            .collect();
        let inside = |path: &&PathBuf| path.parent().is_some_and(|parent| folders.contains(parent));
        let inside = self.followed.keys().filter(|path| !folders.is_empty() && inside(path)).cloned();
        own.chain(inside).filter(|path| database_of(path).is_none()).collect()
    }

    /// Tells the entries of a transcript that were not told yet.
    fn tell_new(&mut self, path: &Path, output: &mut Output) -> Result<(), Failure> {
        let (Some(followed), Some(at)) = (self.followed.get_mut(path), self.places.get(path)) else {
            return Ok(());
        };
        let (store, session) = (&*self.store, &self.store.sessions[*at]);
        if followed.is_as_known(session, path) {
            return Ok(());
        }
        let now_ms = SystemClock.now_ms();
        if let Some((became, source)) = followed.left(path) {
            // What was added to it last, before it went.
            if let Some(source) = source
                && let Ok(news) = followed.read(store, session, &source, now_ms)
            {
                tell(news.inspection, &news.entries, (self.json, self.secrets), output)?;
            }
            if became != Became::Rewritten {
                tell_became(session, path, &became, self.json, output)?;
                followed.is_gone();
            }
        }
        if session.kept.database().is_none() && !path.is_file() {
            return Ok(());
        }
        let known = followed.source();
        let read = session
            .kept
            .open(path, known.as_ref())
            .map(|source| followed.read(store, session, &source, now_ms));
        match read {
            Ok(Ok(news)) => {
                if news.rewritten {
                    tell_became(session, path, &Became::Rewritten, self.json, output)?;
                }
                tell(news.inspection, &news.entries, (self.json, self.secrets), output)?;
                self.keep(path);
            }
            // Cut or replaced just then, or no file more can be open: tried again.
            Err(_) => drop(self.behind.insert(path.to_path_buf())),
            Ok(Err(error)) if may_pass(&error) => drop(self.behind.insert(path.to_path_buf())),
            Ok(Err(_)) => {}
        }
        Ok(())
    }

    /// Keeps the readings of the transcripts that changed last.
    fn keep(&mut self, path: &Path) {
        self.recent.retain(|known| known != path);
        self.recent.push_back(path.to_path_buf());
        if self.recent.len() > KEPT
            && let Some(oldest) = self.recent.pop_front()
            && let Some(followed) = self.followed.get_mut(&oldest)
        {
            followed.rest();
        }
    }
}

fn paths_of(store: &Store) -> impl Iterator<Item = (&Path, usize)> {
    let sessions = store.sessions.iter().enumerate();
    sessions.filter_map(|(at, session)| Some((session.path.as_deref()?, at)))
}
