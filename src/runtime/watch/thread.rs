//! The watching thread: what the system tells, what looking shows and what databases say becomes one stream of changes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use notify::{EventKind, Watcher};

use super::folder::{Folder, Native, said};
use super::polled::{self, POLL_EVERY};
use super::{Polled, Told, Ways, Why, matters};
use crate::runtime::pulses::Pulses;

/// Changes within this time are told together.
const DEBOUNCE: Duration = Duration::from_millis(80);

/// What the watching thread is told.
#[derive(Debug)]
pub(super) enum Order {
    /// Watch these folders and no others; new ones were read at this moment (ms since 1970).
    Watch(BTreeSet<PathBuf>, i64),
    /// Follow these databases and no others.
    Follow(BTreeSet<PathBuf>),
    /// Something changed at these paths.
    Changed(Vec<PathBuf>),
    /// Changes were lost: anything may have changed.
    Lost,
    /// End.
    Stop,
}

pub(super) struct Thread<F> {
    ways: Ways,
    pub(super) native: Native,
    tell: F,
    /// By real path.
    pub(super) folders: BTreeMap<PathBuf, Folder>,
    pub(super) changed: BTreeSet<PathBuf>,
    /// When the changes are told.
    pub(super) due: Option<Instant>,
    /// When polled folders are looked at.
    pub(super) next_poll: Option<Instant>,
    /// What was said last of the folders that are looked at.
    told: Vec<Polled>,
    pulses: Pulses,
}

impl<F: Fn(Told) -> bool> Thread<F> {
    pub(super) fn new(ways: Ways, orders: Sender<Order>, tell: F) -> Self {
        let native = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if let Some(order) = order_of(event) {
                drop(orders.send(order));
            }
        });
        Self {
            ways,
            native: native.map_err(|error| Why::Refused(said(&error))),
            tell,
            folders: BTreeMap::new(),
            changed: BTreeSet::new(),
            due: None,
            next_poll: None,
            told: Vec::new(),
            pulses: Pulses::default(),
        }
    }

    pub(super) fn run(mut self, orders: &Receiver<Order>) {
        loop {
            match self.wait(orders) {
                Ok(Order::Watch(folders, read_ms)) => self.watch(folders, read_ms),
                Ok(Order::Follow(databases)) => self.pulses.set(databases, Instant::now()),
                Ok(Order::Changed(paths)) => {
                    for path in &paths {
                        self.watch_anew(path);
                    }
                    self.note(&paths);
                }
                Ok(Order::Lost) => self.note_everything(),
                Ok(Order::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now = Instant::now();
            if self.next_poll.is_some_and(|at| at <= now) {
                self.look();
            }
            let committed = self.pulses.ask(now);
            self.note_all(committed);
            if !self.tell_what_is_due(now) {
                return;
            }
        }
    }

    fn wait(&self, orders: &Receiver<Order>) -> Result<Order, RecvTimeoutError> {
        match [self.due, self.next_poll, self.pulses.due()].into_iter().flatten().min() {
            None => orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(at) => orders.recv_timeout(at.saturating_duration_since(Instant::now())),
        }
    }

    /// Answers whether to go on.
    fn tell_what_is_due(&mut self, now: Instant) -> bool {
        let polled = self.polled();
        if polled != self.told {
            self.told.clone_from(&polled);
            if !(self.tell)(Told::Polled(polled)) {
                return false;
            }
        }
        if self.due.is_none_or(|at| at > now) {
            return true;
        }
        self.due = None;
        let paths = std::mem::take(&mut self.changed).into_iter().collect();
        (self.tell)(Told::Changed(paths))
    }

    /// The folders that are looked at now and then.
    fn polled(&self) -> Vec<Polled> {
        let looked = self.folders.iter().filter_map(|(path, folder)| Some((path, folder.looked.as_ref()?)));
        looked.map(|(path, (_, why))| Polled { folder: path.clone(), why: why.clone() }).collect()
    }

    /// Those of these folders that would be looked at now and then.
    pub(super) fn polled_among(mut self, folders: BTreeSet<PathBuf>) -> Vec<Polled> {
        self.watch(folders, i64::MAX);
        self.polled()
    }

    pub(super) fn watch(&mut self, folders: BTreeSet<PathBuf>, read_ms: i64) {
        let mut real: BTreeMap<PathBuf, BTreeSet<PathBuf>> = BTreeMap::new();
        for folder in folders {
            let at = folder.canonicalize().unwrap_or_else(|_| folder.clone());
            real.entry(at).or_default().insert(folder);
        }
        let mut known = std::mem::take(&mut self.folders);
        let mut missed = Vec::new();
        for (path, names) in real {
            let folder = match known.remove(&path) {
                Some(mut folder) if !folder.is_another(&path) => {
                    folder.names = names;
                    folder
                }
                other => {
                    let since = if other.is_some() { 0 } else { read_ms };
                    let folder = Folder::watch(&path, names, self.ways, &mut self.native);
                    missed.extend(polled::changed_since(&path, since));
                    folder
                }
            };
            self.folders.insert(path, folder);
        }
        if let Ok(native) = &mut self.native {
            // A folder that was deleted is watched no more anyway.
            for gone in known.keys() {
                drop(native.unwatch(gone));
            }
        }
        self.note(&missed);
        let polls = self.folders.values().any(|folder| folder.looked.is_some());
        self.next_poll = polls.then(|| self.next_poll.unwrap_or_else(|| Instant::now() + POLL_EVERY));
    }

    /// Notes changes under every name their folder is known by.
    fn note(&mut self, paths: &[PathBuf]) {
        for path in paths {
            self.pulses.wake(path, Instant::now());
        }
        for path in paths.iter().filter(|path| matters(path)) {
            let names = |folder: &Path| self.folders.get(folder).map(|folder| &folder.names);
            match (path.parent().and_then(names), path.file_name(), names(path)) {
                (Some(names), Some(name), _) => self.changed.extend(names.iter().map(|own| own.join(name))),
                (_, _, Some(own)) => self.changed.extend(own.iter().cloned()),
                _ => drop(self.changed.insert(path.clone())),
            }
        }
        self.note_all([]);
    }

    /// A change of a watched folder itself: it may have been deleted and made anew, and then nobody tells of it until it is
    /// watched again. Its inode does not say: that of the old one is free for the new.
    fn watch_anew(&mut self, path: &Path) {
        let Some(folder) = self.folders.get(path).filter(|_| path.is_dir()) else { return };
        let names = folder.names.clone();
        self.folders.insert(path.to_path_buf(), Folder::watch(path, names, self.ways, &mut self.native));
        self.note(&polled::changed_since(path, 0));
    }

    /// Notes changes of paths as they are, and sets the time when all are told.
    fn note_all(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        self.changed.extend(paths);
        if !self.changed.is_empty() && self.due.is_none() {
            self.due = Some(Instant::now() + DEBOUNCE);
        }
    }

    /// What was lost may also be that a folder was made anew.
    pub(super) fn note_everything(&mut self) {
        let folders: Vec<PathBuf> = self.folders.keys().cloned().collect();
        for folder in &folders {
            self.watch_anew(folder);
        }
        self.note(&folders);
    }

    pub(super) fn look(&mut self) {
        let looked =
            self.folders.iter_mut().filter_map(|(path, folder)| Some((path, folder.looked.as_mut()?)));
        let changed: Vec<PathBuf> = looked.flat_map(|(path, (looked, _))| looked.again(path)).collect();
        self.note(&changed);
        self.next_poll = Some(Instant::now() + POLL_EVERY);
    }
}

/// What an event means here. Reading changes nothing, and we read a lot.
pub(super) fn order_of(event: notify::Result<notify::Event>) -> Option<Order> {
    match event {
        Ok(event) if event.need_rescan() => Some(Order::Lost),
        Ok(event) if matches!(event.kind, EventKind::Access(_)) => None,
        Ok(event) if event.paths.is_empty() => None,
        Ok(event) => Some(Order::Changed(event.paths)),
        // Something was lost, and nobody says what.
        Err(_) => Some(Order::Lost),
    }
}
