//! The folder of a dataset: the only place that writes to it.
//!
//! A run first writes all new files to `.staging` and syncs them, then writes the list of files to rename and remove, and
//! only then renames. A run that is killed before has changed nothing; one that is killed while it renames is finished by
//! the next run.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use parquet::errors::ParquetError;
use serde::{Deserialize, Serialize};

use super::documentation::views;
use super::manifest::{Manifest, ManifestError};
use crate::files;
use crate::files::{ReplaceSteps as _, SystemSteps, replace};

const MANIFEST: &str = "manifest.json";
const VIEWS: &str = "views.sql";
const STAGING: &str = ".staging";
const LOCK: &str = ".lock";
const CHANGE: &str = "change.json";
/// Threads that sync files: a disk serves several requests at once.
const SYNC_THREADS: usize = 8;
/// A manifest has less than 1 KB for each session.
const MAX_MANIFEST_BYTES: u64 = 1 << 30;

/// Errors of opening or writing a dataset.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("{}: the folder is not empty and has no {MANIFEST}, so it is no dataset. Name a new folder.", .0.display())]
    NotADataset(PathBuf),
    #[error("{}: another clawscope writes to this dataset. Wait until it ends.", .0.display())]
    Locked(PathBuf),
    #[error("{}: {source}. Name a new folder, or delete this one.", .path.display())]
    Manifest { path: PathBuf, source: ManifestError },
    #[error("{}: {source}. Name a new folder, or delete this one.", .path.display())]
    Table { path: PathBuf, source: ParquetError },
    #[error("{}: names a file outside the dataset: {}. Name a new folder, or delete this one.", .path.display(), .file.display())]
    Outside { path: PathBuf, file: PathBuf },
    #[error("{}: names a file that is not a table: {}. Name a new folder, or delete this one.", .path.display(), .file.display())]
    NotATable { path: PathBuf, file: PathBuf },
    #[error("{}: {source}", .path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// Renames, removals and the manifest that belongs to them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// New files, below the dataset.
    pub files: Vec<PathBuf>,
    /// Files to remove, below the dataset.
    pub removed: Vec<PathBuf>,
    pub manifest: Manifest,
}

/// A dataset that is open for writing, locked against other runs.
#[derive(Debug)]
pub struct DatasetFolder {
    root: PathBuf,
    manifest: Manifest,
    /// Holds the lock until it is closed.
    _lock: File,
}

impl DatasetFolder {
    /// Opens a dataset or creates it in a new or empty folder, and finishes a run that was killed.
    ///
    /// # Errors
    /// When the folder holds something else, another run has it, or the system refuses.
    pub fn open(root: &Path) -> Result<Self, FolderError> {
        let failed = |source| FolderError::Io { path: root.to_owned(), source };
        std::fs::create_dir_all(root).map_err(failed)?;
        if !root.join(MANIFEST).exists() && holds_other_files(root).map_err(failed)? {
            return Err(FolderError::NotADataset(root.to_owned()));
        }
        let lock = lock(root)?;
        finish_change(root)?;
        Ok(Self { manifest: manifest(root)?.unwrap_or_default(), root: root.to_owned(), _lock: lock })
    }

    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns a path below the dataset as one that the system opens.
    pub fn path(&self, path: &Path) -> PathBuf {
        self.root.join(path)
    }

    /// Creates a file where [`Self::publish`] takes it from. The caller syncs it.
    ///
    /// # Errors
    /// The system's.
    pub fn create_staged(&self, path: &Path) -> Result<File, FolderError> {
        let path = self.root.join(STAGING).join(path);
        create(&path).map_err(|source| FolderError::Io { path, source })
    }

    /// Replaces the old files by the staged ones, and the manifest.
    ///
    /// # Errors
    /// The system's. The next [`Self::open`] then finishes the change or has never heard of it.
    pub fn publish(&mut self, change: Change) -> Result<(), FolderError> {
        let path = self.root.join(STAGING).join(CHANGE);
        let failed = |source| FolderError::Io { path: path.clone(), source };
        let text = serde_json::to_vec(&change).map_err(|error| failed(error.into()))?;
        write_synced(&path, &text).map_err(failed)?;
        apply(&self.root, &change)?;
        self.manifest = change.manifest;
        Ok(())
    }
}

/// Reads the manifest of a dataset; `None` if the folder holds none.
///
/// # Errors
/// When it cannot be read.
pub fn manifest(root: &Path) -> Result<Option<Manifest>, FolderError> {
    let path = root.join(MANIFEST);
    match files::read_text(&path, MAX_MANIFEST_BYTES) {
        Ok(text) => match Manifest::parse(&text) {
            Ok(manifest) => Ok(Some(manifest)),
            Err(source) => Err(FolderError::Manifest { path, source }),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(FolderError::Io { path, source }),
    }
}

/// Whether a folder without a manifest holds more than the rests of a first run that was killed.
fn holds_other_files(root: &Path) -> io::Result<bool> {
    for item in std::fs::read_dir(root)? {
        let name = item?.file_name();
        if name != STAGING && name != LOCK && !root.join(STAGING).join(CHANGE).exists() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn lock(root: &Path) -> Result<File, FolderError> {
    let path = root.join(LOCK);
    let file =
        files::open_for_lock(&path).map_err(|source| FolderError::Io { path: path.clone(), source })?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(FolderError::Locked(root.to_owned())),
        Err(TryLockError::Error(source)) => Err(FolderError::Io { path, source }),
    }
}

/// Finishes the change of a killed run, if it was written completely; otherwise forgets its files.
fn finish_change(root: &Path) -> Result<(), FolderError> {
    let staging = root.join(STAGING);
    if is_link(&staging) {
        return remove_staging(&staging);
    }
    let path = staging.join(CHANGE);
    let change = match files::read(&path, MAX_MANIFEST_BYTES) {
        Ok(bytes) => serde_json::from_slice::<Change>(&bytes).ok(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(source) => return Err(FolderError::Io { path, source }),
    };
    match change {
        // A change that was cut off was never applied.
        None => remove_staging(&staging),
        Some(change) => apply(root, &change),
    }
}

fn remove_staging(staging: &Path) -> Result<(), FolderError> {
    match std::fs::remove_dir_all(staging) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(FolderError::Io { path: staging.to_owned(), source })
        }
        _ => Ok(()),
    }
}

/// Applies a change. It may be applied again after any prefix of its steps.
fn apply(root: &Path, change: &Change) -> Result<(), FolderError> {
    let staging = root.join(STAGING);
    let mut named = change.files.iter().chain(&change.removed);
    if let Some(file) = named.find(|path| !is_below(path) || crosses_link(root, path)) {
        return Err(FolderError::Outside { path: staging.join(CHANGE), file: file.clone() });
    }
    let mut named = change.files.iter().chain(&change.removed);
    if let Some(file) = named.find(|path| path.extension().is_none_or(|extension| extension != "parquet")) {
        return Err(FolderError::NotATable { path: staging.join(CHANGE), file: file.clone() });
    }
    let mut folders = BTreeSet::new();
    for path in &change.files {
        let target = root.join(path);
        rename(&staging.join(path), &target)
            .map_err(|source| FolderError::Io { path: target.clone(), source })?;
        // New folders are entries of the folders above them.
        folders
            .extend(target.ancestors().skip(1).take_while(|path| path.starts_with(root)).map(Path::to_owned));
    }
    for path in &change.removed {
        let target = root.join(path);
        remove(&target).map_err(|source| FolderError::Io { path: target.clone(), source })?;
    }
    let write = |name: &str, text: &str| {
        let path = root.join(name);
        replace(&path, text.as_bytes()).map_err(|source| FolderError::Io { path, source })
    };
    side_by_side(&folders.into_iter().collect::<Vec<_>>(), |folder| {
        SystemSteps.sync_dir(folder).map_err(|source| FolderError::Io { path: folder.clone(), source })
    })?;
    write(VIEWS, &views(&change.manifest))?;
    let text = change.manifest.text();
    write(
        MANIFEST,
        &text.map_err(|error| FolderError::Io { path: root.join(MANIFEST), source: error.into() })?,
    )?;
    remove_staging(&staging)
}

/// Calls `act` for each item on several threads, for work that waits for the disk. Returns the first failure.
pub(super) fn side_by_side<T: Sync>(
    items: &[T],
    act: impl Fn(&T) -> Result<(), FolderError> + Sync,
) -> Result<(), FolderError> {
    let each = items.len().div_ceil(SYNC_THREADS).max(1);
    let act_all = |items: &[T]| items.iter().try_for_each(&act);
    std::thread::scope(|scope| {
        let act_all = &act_all;
        let threads: Vec<_> = items.chunks(each).map(|items| scope.spawn(move || act_all(items))).collect();
        let results = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        // Every thread ends before the first failure is returned.
        results.collect::<Vec<_>>().into_iter().collect()
    })
}

/// Whether a path stays below the folder that it is joined to.
fn is_below(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_)))
}

/// Whether a folder on the way to a path is a link. A dataset is shared and copied, so that a change in it may be forged to
/// replace or remove files elsewhere.
fn crosses_link(root: &Path, path: &Path) -> bool {
    let mut folders = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    folders.any(|folder| is_link(&root.join(folder)))
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_symlink())
}

/// Renames a staged file; one that an earlier run has renamed already is left.
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder)?;
    }
    match std::fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && to.exists() => Ok(()),
        other => other,
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn create(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    OpenOptions::new().create(true).truncate(true).write(true).open(path)
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = create(path)?;
    file.write_all(bytes)?;
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::manifest::DatasetSession;

    const PATHS: [&str; 3] =
        ["calls/host=h/day=d/a.parquet", "calls/host=h/day=d/b.parquet", "events/host=h/day=d/a.parquet"];

    fn manifest(inputs: &str) -> Manifest {
        let mut manifest = Manifest::default();
        let session = DatasetSession {
            place: String::new(),
            key: String::new(),
            stamp: None,
            inputs: inputs.to_owned(),
            partition: "host=h/day=d".to_owned(),
            rows: [("calls".to_owned(), 1)].into(),
            problem: None,
        };
        manifest.sessions.insert("a".to_owned(), session);
        manifest
    }

    fn change(inputs: &str) -> Change {
        let [first, second, removed] = PATHS.map(PathBuf::from);
        Change { files: vec![first, second], removed: vec![removed], manifest: manifest(inputs) }
    }

    fn stage(folder: &DatasetFolder, path: &str, bytes: &[u8]) {
        folder.create_staged(Path::new(path)).unwrap().write_all(bytes).unwrap();
    }

    fn read(root: &Path, path: &str) -> Option<String> {
        files::read_text(&root.join(path), 100).ok()
    }

    /// A dataset with old files and everything staged for a change.
    fn staged() -> (tempfile::TempDir, DatasetFolder) {
        let dir = tempfile::tempdir().unwrap();
        let mut folder = DatasetFolder::open(dir.path()).unwrap();
        for path in PATHS {
            stage(&folder, path, b"old");
        }
        let files = PATHS.map(PathBuf::from).to_vec();
        folder.publish(Change { files, removed: Vec::new(), manifest: manifest("old") }).unwrap();
        for path in &PATHS[..2] {
            stage(&folder, path, b"new");
        }
        (dir, folder)
    }

    fn state(root: &Path) -> [Option<String>; 3] {
        PATHS.map(|path| read(root, path))
    }

    #[test]
    fn a_run_killed_before_it_publishes_changes_no_file() {
        let (dir, folder) = staged();
        // The change is cut off: its last byte never reached the disk.
        let text = serde_json::to_vec(&change("new")).unwrap();
        stage(&folder, CHANGE, &text[..text.len() - 1]);
        drop(folder);
        let folder = DatasetFolder::open(dir.path()).unwrap();
        assert_eq!(*folder.manifest(), manifest("old"));
        assert_eq!(state(dir.path()), [Some("old".into()), Some("old".into()), Some("old".into())]);
        assert!(!dir.path().join(STAGING).exists());
    }

    #[test]
    fn a_run_that_is_killed_while_it_renames_is_finished_by_the_next() {
        for renamed in 0..=2 {
            let (dir, folder) = staged();
            stage(&folder, CHANGE, &serde_json::to_vec(&change("new")).unwrap());
            for path in &PATHS[..renamed] {
                std::fs::rename(dir.path().join(STAGING).join(path), dir.path().join(path)).unwrap();
            }
            drop(folder);
            let folder = DatasetFolder::open(dir.path()).unwrap();
            assert_eq!(*folder.manifest(), manifest("new"), "after {renamed} renames");
            assert_eq!(state(dir.path()), [Some("new".into()), Some("new".into()), None]);
            assert!(!dir.path().join(STAGING).exists());
        }
    }

    #[test]
    fn two_runs_do_not_write_at_once_and_other_folders_are_refused() {
        let (dir, folder) = staged();
        assert!(matches!(DatasetFolder::open(dir.path()), Err(FolderError::Locked(_))));
        drop(folder);
        assert!(DatasetFolder::open(dir.path()).is_ok());
        let other = tempfile::tempdir().unwrap();
        write_synced(&other.path().join("notes.txt"), b"x").unwrap();
        assert!(matches!(DatasetFolder::open(other.path()), Err(FolderError::NotADataset(_))));
        assert_eq!(std::fs::read_dir(other.path()).unwrap().count(), 1, "nothing was written there");
    }

    #[test]
    fn a_change_never_reaches_outside_the_folder() {
        let (dir, mut folder) = staged();
        let outside = dir.path().with_extension("kept");
        write_synced(&outside, b"kept").unwrap();
        let name = Path::new("..").join(outside.file_name().unwrap());
        let error = folder.publish(Change { removed: vec![name], ..change("new") }).unwrap_err();
        assert!(error.to_string().contains("outside the dataset"), "{error}");
        assert_eq!(files::read_text(&outside, 100).unwrap(), "kept");
        remove(&outside).unwrap();
        let error =
            folder.publish(Change { removed: vec!["views.sql".into()], ..change("new") }).unwrap_err();
        assert!(error.to_string().contains("not a table"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_change_never_reaches_outside_the_folder_through_a_link() {
        let (dir, mut folder) = staged();
        let elsewhere = tempfile::tempdir().unwrap();
        let table = elsewhere.path().join("a.parquet");
        write_synced(&table, b"kept").unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), dir.path().join("host=x")).unwrap();
        for change in [
            Change { removed: vec!["host=x/a.parquet".into()], ..change("new") },
            Change { files: vec!["host=x/a.parquet".into()], removed: Vec::new(), manifest: manifest("new") },
        ] {
            stage(&folder, "host=x/a.parquet", b"other");
            let error = folder.publish(change).unwrap_err();
            assert!(error.to_string().contains("outside the dataset"), "{error}");
        }
        drop(folder);
        assert_eq!(files::read_text(&table, 100).unwrap(), "kept");
        // A staging folder of another user is not used.
        std::fs::remove_dir_all(dir.path().join(STAGING)).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), dir.path().join(STAGING)).unwrap();
        let forged =
            Change { files: vec!["a.parquet".into()], removed: Vec::new(), manifest: manifest("new") };
        write_synced(&elsewhere.path().join(CHANGE), &serde_json::to_vec(&forged).unwrap()).unwrap();
        DatasetFolder::open(dir.path()).unwrap();
        assert_eq!(files::read_text(&table, 100).unwrap(), "kept");
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_in_the_locks_place_is_refused_at_once() {
        let (dir, folder) = staged();
        drop(folder);
        let lock = dir.path().join(LOCK);
        remove(&lock).unwrap();
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &lock, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let error = DatasetFolder::open(dir.path()).unwrap_err();
        assert!(error.to_string().contains("not a regular file"), "{error}");
    }
}
