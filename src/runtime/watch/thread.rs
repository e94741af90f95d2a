//! The watching thread merges three sources into one stream of changes: the system's events, polls, and probes of
//! databases.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use notify::{EventKind, Watcher};

use super::folder::{NativeWatcher, WatchedFolder, describe_error};
use super::polling::{self, POLL_INTERVAL, is_relevant};
use super::{PollReason, PolledFolder, WatchEvent, WatchMode};
use crate::runtime::change_probes::ChangeProbes;
use crate::units::Moment;

/// Changes within this time are reported together.
const DEBOUNCE: Duration = Duration::from_millis(80);

#[derive(Debug)]
pub(super) enum WatchCommand {
    /// Replaces the watched folders; new ones were read at this time.
    SetFolders(BTreeSet<PathBuf>, Moment),
    /// Replaces the watched databases.
    SetDatabases(BTreeSet<PathBuf>),
    Changed(Vec<PathBuf>),
    /// Events were lost: anything may have changed.
    Rescan,
    Stop,
}

pub(super) struct WatchThread<F> {
    mode: WatchMode,
    pub(super) native_watcher: NativeWatcher,
    notify: F,
    /// By path without links.
    pub(super) folders: BTreeMap<PathBuf, WatchedFolder>,
    pub(super) changed: BTreeSet<PathBuf>,
    /// The time to report the collected changes.
    pub(super) notify_at: Option<Instant>,
    /// The time of the next poll.
    pub(super) next_poll: Option<Instant>,
    /// The polled folders that were reported last.
    reported_polled: Vec<PolledFolder>,
    change_probes: ChangeProbes,
}

impl<F: Fn(WatchEvent) -> bool> WatchThread<F> {
    pub(super) fn new(mode: WatchMode, orders: Sender<WatchCommand>, notify: F) -> Self {
        let native = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if let Some(order) = command_for(event) {
                drop(orders.send(order));
            }
        });
        Self {
            mode,
            native_watcher: native.map_err(|error| PollReason::Refused(describe_error(&error))),
            notify,
            folders: BTreeMap::new(),
            changed: BTreeSet::new(),
            notify_at: None,
            next_poll: None,
            reported_polled: Vec::new(),
            change_probes: ChangeProbes::default(),
        }
    }

    pub(super) fn run(mut self, orders: &Receiver<WatchCommand>) {
        loop {
            match self.wait(orders) {
                Ok(WatchCommand::SetFolders(folders, read_ms)) => self.set_folders(folders, read_ms),
                Ok(WatchCommand::SetDatabases(databases)) => {
                    self.change_probes.set_databases(databases, Instant::now());
                }
                Ok(WatchCommand::Changed(paths)) => {
                    for path in &paths {
                        self.rewatch(path);
                    }
                    self.record_changes(&paths);
                }
                Ok(WatchCommand::Rescan) => self.record_all_folders(),
                Ok(WatchCommand::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now = Instant::now();
            if self.next_poll.is_some_and(|at| at <= now) {
                self.poll_folders();
            }
            let committed = self.change_probes.probe_due(now);
            self.record_paths(committed);
            if !self.notify_due(now) {
                return;
            }
        }
    }

    fn wait(&self, orders: &Receiver<WatchCommand>) -> Result<WatchCommand, RecvTimeoutError> {
        match [self.notify_at, self.next_poll, self.change_probes.next_due()].into_iter().flatten().min() {
            None => orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(at) => orders.recv_timeout(at.saturating_duration_since(Instant::now())),
        }
    }

    /// Reports polled folders and changes that are due; returns `false` when the receiver is dropped.
    fn notify_due(&mut self, now: Instant) -> bool {
        let polled = self.polled_folders();
        if polled != self.reported_polled {
            self.reported_polled.clone_from(&polled);
            if !(self.notify)(WatchEvent::Polled(polled)) {
                return false;
            }
        }
        if self.notify_at.is_none_or(|at| at > now) {
            return true;
        }
        self.notify_at = None;
        let paths = std::mem::take(&mut self.changed).into_iter().collect();
        (self.notify)(WatchEvent::Changed(paths))
    }

    fn polled_folders(&self) -> Vec<PolledFolder> {
        let looked =
            self.folders.iter().filter_map(|(path, folder)| Some((path, folder.poll_state.as_ref()?)));
        looked.map(|(path, (_, why))| PolledFolder { folder: path.clone(), reason: why.clone() }).collect()
    }

    /// Returns those of the folders that must be polled.
    pub(super) fn find_polled(mut self, folders: BTreeSet<PathBuf>) -> Vec<PolledFolder> {
        self.set_folders(folders, Moment::NEVER);
        self.polled_folders()
    }

    pub(super) fn set_folders(&mut self, folders: BTreeSet<PathBuf>, read_ms: Moment) {
        let mut real: BTreeMap<PathBuf, BTreeSet<PathBuf>> = BTreeMap::new();
        for folder in folders {
            let at = folder.canonicalize().unwrap_or_else(|_| folder.clone());
            real.entry(at).or_default().insert(folder);
        }
        let mut known = std::mem::take(&mut self.folders);
        let mut missed = Vec::new();
        for (path, names) in real {
            let folder = match known.remove(&path) {
                Some(mut folder) if !folder.is_replaced(&path) => {
                    folder.names = names;
                    folder
                }
                other => {
                    let since = if other.is_some() { Moment::ZERO } else { read_ms };
                    let folder = WatchedFolder::start(&path, names, self.mode, &mut self.native_watcher);
                    missed.extend(polling::changed_since(&path, since));
                    folder
                }
            };
            self.folders.insert(path, folder);
        }
        if let Ok(native) = &mut self.native_watcher {
            // A deleted folder is unwatched already.
            for gone in known.keys() {
                drop(native.unwatch(gone));
            }
        }
        self.record_changes(&missed);
        let polls = self.folders.values().any(|folder| folder.poll_state.is_some());
        self.next_poll = polls.then(|| self.next_poll.unwrap_or_else(|| Instant::now() + POLL_INTERVAL));
    }

    /// Records changes under every path that the store knows their folder by.
    fn record_changes(&mut self, paths: &[PathBuf]) {
        for path in paths {
            self.change_probes.schedule_soon(path, Instant::now());
        }
        for path in paths.iter().filter(|path| is_relevant(path)) {
            let names = |folder: &Path| self.folders.get(folder).map(|folder| &folder.names);
            match (path.parent().and_then(names), path.file_name(), names(path)) {
                (Some(names), Some(name), _) => self.changed.extend(names.iter().map(|own| own.join(name))),
                (_, _, Some(own)) => self.changed.extend(own.iter().cloned()),
                _ => drop(self.changed.insert(path.clone())),
            }
        }
        self.record_paths([]);
    }

    /// Watches a changed folder again. It may have been deleted and recreated, and then reports nothing until it is
    /// watched again. Comparing inodes does not help, as the new folder may reuse the old inode.
    fn rewatch(&mut self, path: &Path) {
        let Some(folder) = self.folders.get(path).filter(|_| path.is_dir()) else { return };
        let names = folder.names.clone();
        self.folders.insert(
            path.to_path_buf(),
            WatchedFolder::start(path, names, self.mode, &mut self.native_watcher),
        );
        self.record_changes(&polling::changed_since(path, Moment::ZERO));
    }

    /// Records paths as they are, and schedules the report.
    fn record_paths(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        self.changed.extend(paths);
        if !self.changed.is_empty() && self.notify_at.is_none() {
            self.notify_at = Some(Instant::now() + DEBOUNCE);
        }
    }

    /// Watches every folder again, as a lost event may be that a folder was recreated.
    pub(super) fn record_all_folders(&mut self) {
        let folders: Vec<PathBuf> = self.folders.keys().cloned().collect();
        for folder in &folders {
            self.rewatch(folder);
        }
        self.record_changes(&folders);
    }

    pub(super) fn poll_folders(&mut self) {
        let looked =
            self.folders.iter_mut().filter_map(|(path, folder)| Some((path, folder.poll_state.as_mut()?)));
        let changed: Vec<PathBuf> = looked.flat_map(|(path, (looked, _))| looked.poll(path)).collect();
        self.record_changes(&changed);
        self.next_poll = Some(Instant::now() + POLL_INTERVAL);
    }
}

/// Converts an event to a command. Reads are ignored, as clawscope itself reads a lot.
pub(super) fn command_for(event: notify::Result<notify::Event>) -> Option<WatchCommand> {
    match event {
        Ok(event) if event.need_rescan() => Some(WatchCommand::Rescan),
        Ok(event) if matches!(event.kind, EventKind::Access(_)) => None,
        Ok(event) if event.paths.is_empty() => None,
        Ok(event) => Some(WatchCommand::Changed(event.paths)),
        // An error means lost events, of unknown files.
        Err(_) => Some(WatchCommand::Rescan),
    }
}
