//! Follows the folders of a store: their own folders are watched, not the files, because rows and archives
//! are renamed into place (store Q1). A burst of changes is told once (store Q3). Where the system cannot
//! tell of changes, the folders are looked at now and then.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::runtime::poll::{self, Seen};
use crate::runtime::pulses::Pulses;
use crate::store::survey::Store;

/// Changes within this time are told together.
const DEBOUNCE: Duration = Duration::from_millis(80);
/// How often folders are looked at that the system does not tell of.
const POLL_EVERY: Duration = Duration::from_secs(2);

/// Watches folders until it is dropped. Without changes it never wakes up.
#[derive(Debug)]
pub struct Watch {
    orders: Sender<Order>,
}

/// What the watching thread is told.
#[derive(Debug)]
enum Order {
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

impl Watch {
    /// Begins to watch nothing yet. `on_change` is called from another thread with the changed paths, in
    /// order and without repetition; it answers whether to go on.
    pub fn start(on_change: impl Fn(Vec<PathBuf>) -> bool + Send + 'static) -> Self {
        let (orders, received) = channel();
        let for_watcher = orders.clone();
        let run = move || Thread::new(for_watcher, on_change).run(&received);
        // Without a thread nothing is followed; reloading still works.
        drop(std::thread::Builder::new().name("watch".to_owned()).spawn(run));
        Self { orders }
    }

    /// Watches these folders and no others. Folders that are not there are left out. What changed in a new one since
    /// `read_ms` (ms since 1970), when reading it began, is told too: nothing falls between reading and watching.
    pub fn set(&self, folders: BTreeSet<PathBuf>, read_ms: i64) {
        drop(self.orders.send(Order::Watch(folders, read_ms)));
    }
}

impl Watch {
    /// Follows these databases and no others: a commit to one is told as a change of its path. A new one is told once.
    pub fn follow(&self, databases: BTreeSet<PathBuf>) {
        drop(self.orders.send(Order::Follow(databases)));
    }
}

/// The databases of a store.
pub fn databases_of(store: &Store) -> BTreeSet<PathBuf> {
    store.databases.iter().map(|holding| holding.path.clone()).collect()
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.orders.send(Order::Stop));
    }
}

/// The folders whose changes may show: the state dir with the configuration, `agents`, every agent's own
/// folder, and wherever a transcript lies.
pub fn folders_of(store: &Store) -> BTreeSet<PathBuf> {
    let agents = store.state_dir.join("agents");
    let mut folders = BTreeSet::from([store.state_dir.clone(), agents.clone()]);
    for agent in &store.agents {
        let own = agents.join(&agent.id);
        folders.insert(own.join("sessions"));
        folders.insert(own);
    }
    let parents = store.sessions.iter().filter_map(|session| session.path.as_deref()?.parent());
    folders.extend(parents.map(Path::to_path_buf));
    folders.extend(store.config.path.as_deref().and_then(Path::parent).map(Path::to_path_buf));
    folders.retain(|folder| folder.is_dir());
    folders
}

/// Whether a file may show: transcripts, archives, locks, rows and configurations, and folders. Temporary
/// files of writers are not.
fn matters(path: &Path) -> bool {
    let Some(name) = path.file_name().map(|name| name.to_string_lossy()) else { return true };
    match name.rsplit_once('.') {
        None | Some(("", _) | (_, "jsonl" | "json" | "json5" | "lock")) => true,
        _ => name.contains(".jsonl.") && !name.ends_with(".tmp"),
    }
}

struct Thread<F> {
    /// The system's own watcher; none where there is no such thing.
    native: Option<RecommendedWatcher>,
    on_change: F,
    /// Real folder → the names it is known by here.
    folders: BTreeMap<PathBuf, BTreeSet<PathBuf>>,
    /// Real folders the system does not tell of, and what was in them.
    polled: BTreeMap<PathBuf, Seen>,
    changed: BTreeSet<PathBuf>,
    /// When the changes are told.
    due: Option<Instant>,
    /// When polled folders are looked at.
    next_poll: Option<Instant>,
    pulses: Pulses,
}

impl<F: Fn(Vec<PathBuf>) -> bool> Thread<F> {
    fn new(orders: Sender<Order>, on_change: F) -> Self {
        let native = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if let Some(order) = order_of(event) {
                drop(orders.send(order));
            }
        });
        Self {
            native: native.ok(),
            on_change,
            folders: BTreeMap::new(),
            polled: BTreeMap::new(),
            changed: BTreeSet::new(),
            due: None,
            next_poll: None,
            pulses: Pulses::default(),
        }
    }

    fn run(mut self, orders: &Receiver<Order>) {
        loop {
            match self.wait(orders) {
                Ok(Order::Watch(folders, read_ms)) => self.watch(folders, read_ms),
                Ok(Order::Follow(databases)) => self.pulses.set(databases, Instant::now()),
                Ok(Order::Changed(paths)) => self.note(&paths),
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
            if self.due.is_some_and(|at| at <= now) {
                self.due = None;
                let paths = std::mem::take(&mut self.changed).into_iter().collect();
                if !(self.on_change)(paths) {
                    return;
                }
            }
        }
    }

    fn wait(&self, orders: &Receiver<Order>) -> Result<Order, RecvTimeoutError> {
        match [self.due, self.next_poll, self.pulses.due()].into_iter().flatten().min() {
            None => orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(at) => orders.recv_timeout(at.saturating_duration_since(Instant::now())),
        }
    }

    fn watch(&mut self, folders: BTreeSet<PathBuf>, read_ms: i64) {
        let mut real: BTreeMap<PathBuf, BTreeSet<PathBuf>> = BTreeMap::new();
        for folder in folders {
            let at = folder.canonicalize().unwrap_or_else(|_| folder.clone());
            real.entry(at).or_default().insert(folder);
        }
        for gone in self.folders.keys().filter(|folder| !real.contains_key(*folder)) {
            self.polled.remove(gone);
            if let Some(native) = &mut self.native {
                // A folder that was deleted is watched no more anyway.
                drop(native.unwatch(gone));
            }
        }
        let known = std::mem::replace(&mut self.folders, real);
        let mut missed = Vec::new();
        for folder in self.folders.keys().filter(|folder| !known.contains_key(*folder)) {
            let native = watch_natively(self.native.as_mut(), folder);
            let seen = poll::look(folder);
            missed.extend(poll::changed_since(folder, &seen, read_ms));
            if !native {
                self.polled.insert(folder.clone(), seen);
            }
        }
        self.note(&missed);
        self.next_poll = (!self.polled.is_empty()).then(|| Instant::now() + POLL_EVERY);
    }

    /// Notes changes under every name their folder is known by.
    fn note(&mut self, paths: &[PathBuf]) {
        for path in paths {
            self.pulses.wake(path, Instant::now());
        }
        for path in paths.iter().filter(|path| matters(path)) {
            let names = path.parent().and_then(|folder| self.folders.get(folder));
            match (names, path.file_name(), self.folders.get(path)) {
                (Some(names), Some(name), _) => self.changed.extend(names.iter().map(|own| own.join(name))),
                (_, _, Some(own)) => self.changed.extend(own.iter().cloned()),
                _ => drop(self.changed.insert(path.clone())),
            }
        }
        self.note_all([]);
    }

    /// Notes changes of paths as they are, and sets the time when all are told.
    fn note_all(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        self.changed.extend(paths);
        if !self.changed.is_empty() && self.due.is_none() {
            self.due = Some(Instant::now() + DEBOUNCE);
        }
    }

    fn note_everything(&mut self) {
        let inside = |folder: &PathBuf| poll::look(folder).into_keys();
        let paths: Vec<PathBuf> =
            self.folders.keys().flat_map(|folder| inside(folder).chain([folder.clone()])).collect();
        self.note(&paths);
    }

    fn look(&mut self) {
        let mut changed = Vec::new();
        for (folder, seen) in &mut self.polled {
            let now = poll::look(folder);
            changed.extend(poll::differences(seen, &now));
            *seen = now;
        }
        self.note(&changed);
        self.next_poll = Some(Instant::now() + POLL_EVERY);
    }
}

/// Whether the system will tell of changes in a folder.
fn watch_natively(native: Option<&mut RecommendedWatcher>, folder: &Path) -> bool {
    let Some(native) = native.filter(|_| !poll::is_remote(folder)) else { return false };
    native.watch(folder, RecursiveMode::NonRecursive).is_ok()
}

/// What an event means here. Reading changes nothing, and we read a lot.
fn order_of(event: notify::Result<notify::Event>) -> Option<Order> {
    match event {
        Ok(event) if event.need_rescan() => Some(Order::Lost),
        Ok(event) if matches!(event.kind, EventKind::Access(_)) => None,
        Ok(event) if event.paths.is_empty() => None,
        Ok(event) => Some(Order::Changed(event.paths)),
        // Something was lost, and nobody says what.
        Err(_) => Some(Order::Lost),
    }
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
