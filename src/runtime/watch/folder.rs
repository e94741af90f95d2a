//! One watched folder: which one it is, how it is known here, and how its changes come to be known.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use super::polled::Looked;
use super::remote::remote_kind;
use super::{Ways, Why};
use crate::store::index::FileIdentity;
use crate::store::source::identity;

/// A folder without links in its path.
#[derive(Debug)]
pub(super) struct Folder {
    /// The names it is known by here.
    pub(super) names: BTreeSet<PathBuf>,
    /// Which one it is: one that is made anew at the same place is another, and nobody tells of that.
    identity: Option<FileIdentity>,
    /// What was in it, where it is looked at now and then, and why it is.
    pub(super) looked: Option<(Looked, Why)>,
}

/// The system's own watcher, or why there is none.
pub(super) type Native = Result<RecommendedWatcher, Why>;

impl Folder {
    /// Begins to watch one. Answers what lies in it, too.
    pub(super) fn watch(path: &Path, names: BTreeSet<PathBuf>, ways: Ways, native: &mut Native) -> Self {
        let why = watch_natively(path, ways, native).err();
        let looked = why.map(|why| (Looked::at(path), why));
        Self { names, identity: identity_of(path), looked }
    }

    /// Whether another folder lies there by now.
    pub(super) fn is_another(&self, path: &Path) -> bool {
        let now = identity_of(path);
        now.is_some() && now != self.identity
    }
}

/// Has the system tell of the changes in a folder, or says why it does not.
fn watch_natively(path: &Path, ways: Ways, native: &mut Native) -> Result<(), Why> {
    match ways {
        Ways::Best => {}
        Ways::Poll => return Err(Why::Asked),
        #[cfg(test)]
        Ways::Deaf => return Ok(()),
    }
    if let Some(kind) = remote_kind(path) {
        return Err(Why::Remote(kind));
    }
    let native = native.as_mut().map_err(|why| why.clone())?;
    // One that was made anew is not watched any more, whatever the watcher remembers.
    drop(native.unwatch(path));
    native.watch(path, RecursiveMode::NonRecursive).map_err(|error| Why::Refused(said(&error)))
}

/// What the system says, in one line, with what to do where that is known.
pub(super) fn said(error: &notify::Error) -> String {
    match &error.kind {
        notify::ErrorKind::MaxFilesWatch => {
            "its limit of watches is reached (fs.inotify.max_user_watches, max_user_instances)".to_owned()
        }
        notify::ErrorKind::Io(error) => error.to_string(),
        _ => error.to_string(),
    }
}

fn identity_of(path: &Path) -> Option<FileIdentity> {
    std::fs::metadata(path).ok().map(|meta| identity(&meta))
}
