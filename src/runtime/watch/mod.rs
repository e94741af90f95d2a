//! Watches the folders of a store. It watches folders and not files, because writers rename rows and archives into
//! place (store Q1), and reports a burst of changes once (store Q3). It polls folders that the system cannot watch,
//! and reports that too.

mod folder;
mod polling;
mod thread;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};

use crate::runtime::watch::thread::{WatchCommand, WatchThread};
use crate::store::discovery::Store;
use crate::units::Moment;
pub use folder::{POLL_VARIABLE, PollReason, PolledFolder, WatchEvent, WatchMode};

/// Watches folders until it is dropped. The thread sleeps until something changes, unless it has to poll.
#[derive(Debug)]
pub struct Watch {
    commands: Sender<WatchCommand>,
}

impl Watch {
    /// Starts the thread with no folders. It calls `tell` for each event and stops when that returns `false`.
    pub fn start(ways: WatchMode, tell: impl Fn(WatchEvent) -> bool + Send + 'static) -> Self {
        let (commands, received) = channel();
        let for_watcher = commands.clone();
        let run = move || WatchThread::new(ways, for_watcher, tell).run(&received);
        // Without a thread nothing is followed; reloading still works.
        drop(std::thread::Builder::new().name("watch".to_owned()).spawn(run));
        Self { commands }
    }

    /// Replaces the watched folders; missing ones are skipped. `read_ms` is when reading the store
    /// began: changes in a new folder since then are reported, so that none between reading and watching is lost.
    pub fn set_folders(&self, folders: BTreeSet<PathBuf>, read_ms: Moment) {
        drop(self.commands.send(WatchCommand::SetFolders(folders, read_ms)));
    }

    /// Replaces the watched databases. A commit counts as a change of the database's path; a new database is reported
    /// once.
    pub fn set_databases(&self, databases: BTreeSet<PathBuf>) {
        drop(self.commands.send(WatchCommand::SetDatabases(databases)));
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.commands.send(WatchCommand::Stop));
    }
}

pub fn store_databases(store: &Store) -> BTreeSet<PathBuf> {
    store.databases.iter().map(|holding| holding.path.clone()).collect()
}

/// The folders with visible changes: the state dir with the config, `agents`, the folders of every agent, and the
/// folders of transcripts.
pub fn store_folders(store: &Store) -> BTreeSet<PathBuf> {
    let agents = store.state_dir.join("agents");
    let mut folders = BTreeSet::from([store.state_dir.clone(), agents.clone()]);
    for agent in &store.agents {
        let own = agents.join(&agent.id);
        folders.insert(own.join("sessions"));
        folders.insert(own);
    }
    folders.extend(store.transcript_folders().into_iter().map(Path::to_path_buf));
    folders.extend(store.config.path.as_deref().and_then(Path::parent).map(Path::to_path_buf));
    folders.retain(|folder| folder.is_dir());
    folders
}

/// Describes the polled folders and the reason in one sentence; `None` without any.
pub fn describe_polled(polled: &[PolledFolder]) -> Option<String> {
    let first = polled.first()?;
    let others = polled.iter().filter(|other| other.reason == first.reason).count() - 1;
    let folders = match others {
        0 => first.folder.display().to_string(),
        1 => format!("{} and 1 more folder", first.folder.display()),
        _ => format!("{} and {others} more folders", first.folder.display()),
    };
    Some(format!("{folders}: checked every second, because {}.", first.reason))
}

/// Returns the folders that a watch would have to poll now.
pub fn find_polled(folders: BTreeSet<PathBuf>, ways: WatchMode) -> Vec<PolledFolder> {
    WatchThread::new(ways, channel().0, |_| true).find_polled(folders)
}

#[cfg(test)]
mod tests;
