//! Follows the folders of a store: their own folders are watched, not the files, because rows and archives
//! are renamed into place (store Q1). A burst of changes is told once (store Q3). Where the system cannot
//! tell of changes, the folders are looked at now and then, and that is told too.

mod folder;
mod polling;
mod remote;
mod thread;

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};

use crate::gateway::env::Environment;
use crate::runtime::watch::thread::{WatchCommand, WatchThread};
use crate::store::discovery::Store;

/// Set to anything but `0`, folders are looked at now and then instead of waiting for what the system tells.
pub const POLL_VARIABLE: &str = "CLAWSCOPE_POLL";

/// What a watch tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchEvent {
    /// Paths that changed, in order and without repetition.
    Changed(Vec<PathBuf>),
    /// Every folder that is looked at now and then, and why; none when the system tells of all.
    Polled(Vec<PolledFolder>),
}

/// A folder whose changes the system does not tell of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolledFolder {
    /// The folder.
    pub folder: PathBuf,
    /// Why.
    pub reason: PollReason,
}

/// Why the system does not tell of a folder's changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PollReason {
    /// It lies on a file system of this kind, where other machines may write.
    Remote(&'static str),
    /// The system refused: this is what it said.
    Refused(String),
    /// Someone asked for it.
    Requested,
}

impl fmt::Display for PollReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Remote(kind) => write!(f, "{kind} does not tell of changes made elsewhere"),
            Self::Refused(said) => write!(f, "the system cannot watch it: {said}"),
            Self::Requested => write!(f, "{POLL_VARIABLE} is set"),
        }
    }
}

/// How changes are to be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WatchMode {
    /// The system tells, where it can.
    #[default]
    Auto,
    /// Everything is looked at now and then.
    Poll,
    /// Not at all: as if every change were lost.
    #[cfg(test)]
    Ignore,
}

impl WatchMode {
    /// As the environment asks for.
    pub fn from_env(env: &Environment) -> Self {
        match env.get(POLL_VARIABLE) {
            None | Some("" | "0") => Self::Auto,
            Some(_) => Self::Poll,
        }
    }
}

/// Watches folders until it is dropped. Without changes it never wakes up, unless it has to look.
#[derive(Debug)]
pub struct Watch {
    commands: Sender<WatchCommand>,
}

impl Watch {
    /// Begins to watch nothing yet. `tell` is called from another thread; it answers whether to go on.
    pub fn start(ways: WatchMode, tell: impl Fn(WatchEvent) -> bool + Send + 'static) -> Self {
        let (commands, received) = channel();
        let for_watcher = commands.clone();
        let run = move || WatchThread::new(ways, for_watcher, tell).run(&received);
        // Without a thread nothing is followed; reloading still works.
        drop(std::thread::Builder::new().name("watch".to_owned()).spawn(run));
        Self { commands }
    }

    /// Watches these folders and no others. Folders that are not there are left out. What changed in a new one since
    /// `read_ms` (ms since 1970), when reading it began, is told too: nothing falls between reading and watching.
    pub fn set_folders(&self, folders: BTreeSet<PathBuf>, read_ms: i64) {
        drop(self.commands.send(WatchCommand::SetFolders(folders, read_ms)));
    }

    /// Follows these databases and no others: a commit to one is told as a change of its path. A new one is told once.
    pub fn set_databases(&self, databases: BTreeSet<PathBuf>) {
        drop(self.commands.send(WatchCommand::SetDatabases(databases)));
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.commands.send(WatchCommand::Stop));
    }
}

/// The databases of a store.
pub fn store_databases(store: &Store) -> BTreeSet<PathBuf> {
    store.databases.iter().map(|holding| holding.path.clone()).collect()
}

/// The folders whose changes may show: the state dir with the configuration, `agents`, every agent's own
/// folder, and wherever a transcript lies.
pub fn store_folders(store: &Store) -> BTreeSet<PathBuf> {
    let agents = store.state_dir.join("agents");
    let mut folders = BTreeSet::from([store.state_dir.clone(), agents.clone()]);
    for agent in &store.agents {
        let own = agents.join(&agent.id);
        folders.insert(own.join("sessions"));
        folders.insert(own);
    }
    let parents = store.sessions.iter().filter_map(|session| session.path.as_deref()?.parent());
    let parents: BTreeSet<&Path> = parents.collect();
    folders.extend(parents.into_iter().map(Path::to_path_buf));
    folders.extend(store.config.path.as_deref().and_then(Path::parent).map(Path::to_path_buf));
    folders.retain(|folder| folder.is_dir());
    folders
}

/// Folders that are looked at, and why, in one sentence; none for none.
pub fn describe_polled(polled: &[PolledFolder]) -> Option<String> {
    let first = polled.first()?;
    let others = polled.iter().filter(|other| other.reason == first.reason).count() - 1;
    let folders = match others {
        0 => first.folder.display().to_string(),
        1 => format!("{} and 1 folder more", first.folder.display()),
        _ => format!("{} and {others} folders more", first.folder.display()),
    };
    Some(format!("{folders}: looked at every second, as {}.", first.reason))
}

/// The folders among these that the system will not tell of, as a watch would find now.
pub fn find_polled(folders: BTreeSet<PathBuf>, ways: WatchMode) -> Vec<PolledFolder> {
    WatchThread::new(ways, channel().0, |_| true).find_polled(folders)
}

/// Whether a file may show: transcripts, archives, locks, rows and configurations, and folders. Temporary
/// files of writers are not.
fn is_relevant(path: &Path) -> bool {
    let Some(name) = path.file_name().map(|name| name.to_string_lossy()) else { return true };
    match name.rsplit_once('.') {
        None | Some(("", _) | (_, "jsonl" | "json" | "json5" | "lock")) => true,
        _ => name.contains(".jsonl.") && !name.ends_with(".tmp"),
    }
}

#[cfg(test)]
mod tests;
