//! One watched folder: its identity, its names in the store, and the way its changes are detected.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use super::polling::FolderSnapshot;
use crate::gateway::env::Environment;
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

/// Returns the kind of a network file system, or `None` for a local folder.
#[cfg(target_os = "linux")]
fn remote_kind(folder: &Path) -> Option<&'static str> {
    let stat = rustix::fs::statfs(folder).ok()?;
    // Where the type is signed some values are negative; the lower half is the magic number.
    kind_from_magic(stat.f_type as u64 & 0xFFFF_FFFF)
}

/// Maps `f_type` to a name. sshfs and virtiofs are FUSE.
#[cfg(target_os = "linux")]
fn kind_from_magic(number: u64) -> Option<&'static str> {
    Some(match number {
        0x6969 => "nfs",
        0x517B => "smb",
        0xFF53_4D42 => "cifs",
        0xFE53_4D42 => "smb2",
        0x0102_1997 => "9p",
        0x5346_414F => "afs",
        0x00C3_6400 => "ceph",
        0x6573_5546 => "fuse",
        _ => return None,
    })
}

/// Detection needs `statfs` magic numbers, which only Linux has.
#[cfg(not(target_os = "linux"))]
fn remote_kind(_folder: &Path) -> Option<&'static str> {
    None
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchEvent {
    /// Changed paths, sorted and without duplicates.
    Changed(Vec<PathBuf>),
    /// All polled folders; empty when the system reports every change.
    Polled(Vec<PolledFolder>),
}

/// A folder whose changes the system does not report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolledFolder {
    pub folder: PathBuf,
    pub reason: PollReason,
}

/// The reason to poll a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PollReason {
    /// It is on a file system of this kind, where other machines may write.
    Remote(&'static str),
    /// The system refused, with this error.
    Refused(String),
    /// [`POLL_VARIABLE`] is set.
    Requested,
}

impl fmt::Display for PollReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Remote(kind) => write!(f, "{kind} does not report changes by other machines"),
            Self::Refused(said) => write!(f, "the system cannot watch it: {said}"),
            Self::Requested => write!(f, "{POLL_VARIABLE} is set"),
        }
    }
}

// The way a watch detects changes, and the variable that selects it.

/// Any value but `0` makes clawscope poll every folder instead of waiting for the system's events.
pub const POLL_VARIABLE: &str = "CLAWSCOPE_POLL";

/// The way changes are detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WatchMode {
    /// The system's events where possible, otherwise polling.
    #[default]
    Auto,
    /// Polling everywhere.
    Poll,
    /// Neither: every change is lost.
    #[cfg(test)]
    Ignore,
}

impl WatchMode {
    /// Reads the mode from [`POLL_VARIABLE`].
    pub fn from_env(env: &Environment) -> Self {
        match env.get(POLL_VARIABLE) {
            None | Some("" | "0") => Self::Auto,
            Some(_) => Self::Poll,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn local_folders_are_not_remote_and_network_file_systems_are_named() {
        assert_eq!(remote_kind(Path::new("/proc")), None);
        assert_eq!(
            [0x6969, 0x6573_5546, 0xFF53_4D42].map(kind_from_magic),
            [Some("nfs"), Some("fuse"), Some("cifs")]
        );
    }
}
