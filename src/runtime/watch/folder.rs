//! One watched folder: its identity, its names in the store, and the way its changes are detected.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use super::polling::FolderSnapshot;
use super::remote::remote_kind;
use super::{PollReason, WatchMode};
use crate::store::index::FileIdentity;
use crate::store::source::file_identity;

/// A watched folder; its key is the path without links.
#[derive(Debug)]
pub(super) struct WatchedFolder {
    /// The paths under which the store knows it.
    pub(super) names: BTreeSet<PathBuf>,
    /// The folder's identity at the start: a folder recreated at the same path is another one, and the old watch
    /// reports nothing about it.
    identity: Option<FileIdentity>,
    /// The last snapshot of a polled folder, and why it is polled.
    pub(super) poll_state: Option<(FolderSnapshot, PollReason)>,
}

/// The system's watcher, or why it is unavailable.
pub(super) type NativeWatcher = Result<RecommendedWatcher, PollReason>;

impl WatchedFolder {
    /// Starts to watch a folder, or polls it if the system cannot.
    pub(super) fn start(
        path: &Path,
        names: BTreeSet<PathBuf>,
        ways: WatchMode,
        native: &mut NativeWatcher,
    ) -> Self {
        let why = watch_natively(path, ways, native).err();
        let poll_state = why.map(|why| (FolderSnapshot::new(path), why));
        Self { names, identity: folder_identity(path), poll_state }
    }

    /// Whether another folder is at this path now.
    pub(super) fn is_replaced(&self, path: &Path) -> bool {
        let now = folder_identity(path);
        now.is_some() && now != self.identity
    }
}

/// Registers the folder with the system's watcher, or returns why it must be polled.
fn watch_natively(path: &Path, ways: WatchMode, native: &mut NativeWatcher) -> Result<(), PollReason> {
    match ways {
        WatchMode::Auto => {}
        WatchMode::Poll => return Err(PollReason::Requested),
        #[cfg(test)]
        WatchMode::Ignore => return Ok(()),
    }
    if let Some(kind) = remote_kind(path) {
        return Err(PollReason::Remote(kind));
    }
    let native = native.as_mut().map_err(|why| why.clone())?;
    // A recreated folder is no longer watched, although the watcher still lists it.
    drop(native.unwatch(path));
    native
        .watch(path, RecursiveMode::NonRecursive)
        .map_err(|error| PollReason::Refused(describe_error(&error)))
}

/// Describes an error in one line, with the remedy if known.
pub(super) fn describe_error(error: &notify::Error) -> String {
    match &error.kind {
        notify::ErrorKind::MaxFilesWatch => {
            "the limit of watches is reached (fs.inotify.max_user_watches, max_user_instances)".to_owned()
        }
        notify::ErrorKind::Io(error) => error.to_string(),
        _ => error.to_string(),
    }
}

fn folder_identity(path: &Path) -> Option<FileIdentity> {
    std::fs::metadata(path).ok().map(|meta| file_identity(&meta))
}
