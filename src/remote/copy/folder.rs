//! The private folder of a copy. One whose program was killed is removed by the next copy.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

const PREFIX: &str = "clawscope-copy-";
/// A younger folder may be one that another copy has made and not locked yet.
const MIN_AGE: Duration = Duration::from_mins(1);

/// A folder that only the person can open; it is removed when this value is dropped.
#[derive(Debug)]
pub(super) struct CopyFolder {
    folder: TempDir,
    /// The system releases the lock however the program ends, so a folder without one belongs to nobody.
    _lock: Option<File>,
}

impl CopyFolder {
    pub(super) fn new() -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        let builder = {
            use std::os::unix::fs::PermissionsExt as _;
            builder.permissions(std::fs::Permissions::from_mode(0o700))
        };
        let folder = builder.prefix(PREFIX).tempdir()?;
        let lock = locked(folder.path());
        if let Some(own) = folder.path().parent().zip(folder.path().symlink_metadata().ok()) {
            remove_abandoned(own.0, &own.1);
        }
        Ok(Self { folder, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Locks a folder; `None` if another program has the lock, or where folders cannot be locked.
fn locked(folder: &Path) -> Option<File> {
    let opened = File::open(folder).ok()?;
    opened.try_lock().is_ok().then_some(opened)
}

/// Removes the copies of killed programs. What cannot be removed is left to the system.
fn remove_abandoned(parent: &Path, own: &Metadata) {
    let Ok(folders) = parent.read_dir() else { return };
    for folder in folders.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX)) {
        let path = folder.path();
        if path.symlink_metadata().is_ok_and(|found| is_older_copy(&found, own))
            && let Some(_lock) = locked(&path)
        {
            _ = std::fs::remove_dir_all(&path);
        }
    }
}

/// Whether a folder is a copy that the same person made some time before.
fn is_older_copy(found: &Metadata, own: &Metadata) -> bool {
    #[cfg(unix)]
    let is_same_person = {
        use std::os::unix::fs::MetadataExt as _;
        found.uid() == own.uid()
    };
    #[cfg(not(unix))]
    let is_same_person = true;
    let age = own
        .modified()
        .ok()
        .zip(found.modified().ok())
        .and_then(|(own, found)| own.duration_since(found).ok());
    found.is_dir() && is_same_person && age >= Some(MIN_AGE)
}
