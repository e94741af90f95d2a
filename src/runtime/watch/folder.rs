//! One watched folder: which one it is, how it is known here, and how its changes come to be known.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use super::polling::FolderSnapshot;
use super::remote::remote_kind;
use super::{PollReason, WatchMode};
use crate::store::index::FileIdentity;
use crate::store::source::file_identity;

/// A folder without links in its path.
#[derive(Debug)]
pub(super) struct WatchedFolder {
    /// The names it is known by here.
    pub(super) names: BTreeSet<PathBuf>,
    /// Which one it is: one that is made anew at the same place is another, and nobody tells of that.
    identity: Option<FileIdentity>,
    /// What was in it, where it is looked at now and then, and why it is.
    pub(super) poll_state: Option<(FolderSnapshot, PollReason)>,
}

/// The system's own watcher, or why there is none.
pub(super) type NativeWatcher = Result<RecommendedWatcher, PollReason>;

impl WatchedFolder {
    /// Begins to watch one. Answers what lies in it, too.
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

    /// Whether another folder lies there by now.
    pub(super) fn is_replaced(&self, path: &Path) -> bool {
        let now = folder_identity(path);
        now.is_some() && now != self.identity
    }
}

/// Has the system tell of the changes in a folder, or says why it does not.
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
    // One that was made anew is not watched any more, whatever the watcher remembers.
    drop(native.unwatch(path));
    native
        .watch(path, RecursiveMode::NonRecursive)
        .map_err(|error| PollReason::Refused(describe_error(&error)))
}

/// What the system says, in one line, with what to do where that is known.
pub(super) fn describe_error(error: &notify::Error) -> String {
    match &error.kind {
        notify::ErrorKind::MaxFilesWatch => {
            "its limit of watches is reached (fs.inotify.max_user_watches, max_user_instances)".to_owned()
        }
        notify::ErrorKind::Io(error) => error.to_string(),
        _ => error.to_string(),
    }
}

fn folder_identity(path: &Path) -> Option<FileIdentity> {
    std::fs::metadata(path).ok().map(|meta| file_identity(&meta))
}
