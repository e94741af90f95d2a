//! The state of a session file when the branch was prepared, for the comparison under the lock (store H10, P8).

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::commit::refusal::Refusal;
use crate::commit::session_folder::SessionFiles;
use crate::format::format_duration;
use crate::gateway::ruleset::{PiChange, PiRelease};
use crate::store::index::FileIdentity;
use crate::store::source::{Source, file_identity};
use crate::units::{Millis, Moment};

/// Bytes at the end of the file that are compared.
pub(super) const TAIL_BYTES: u64 = 64 * 1024;
/// The difference of a file with another identity.
pub(super) const REPLACED: &str = "the file was replaced";
/// A file written to within this time may still be open elsewhere.
const RECENT_WRITE_MS: Millis = Millis(600_000.0);
/// The same for a runtime that keeps a cache warm: it may still append this long after its last answer
/// (store-pi-1.5 K1).
const CACHE_WARM_WRITE_MS: Millis = Millis(1_800_000.0);

/// Returns a warning if a program wrote to the file recently (store P10).
pub(super) fn live_writer_warning(written: Moment, now_ms: Moment, pi: PiRelease) -> Option<String> {
    let lately = if pi.has(PiChange::KeepsSystemMessages) { CACHE_WARM_WRITE_MS } else { RECENT_WRITE_MS };
    let age = Some(now_ms - written).filter(|age| (Millis::ZERO..lately).contains(age))?;
    let when =
        if age < Millis(1000.0) { "just now".to_owned() } else { format!("{} ago", format_duration(age)) };
    Some(format!(
        "A program wrote to the file {when}. If it still has the file open, it does not see the new branch, and its \
         next entry makes its old branch active again."
    ))
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct FileSnapshot {
    pub(super) identity: FileIdentity,
    /// Bytes.
    pub(super) size: u64,
    pub(super) modified: Option<SystemTime>,
    /// The last bytes, at most 64 KiB.
    pub(super) tail: Vec<u8>,
}

impl FileSnapshot {
    /// Reads the file at a path; refuses files that are never written to (store P1).
    pub(super) fn take(path: &Path) -> Result<Self, Refusal> {
        let unreadable = |source| Refusal::Unreadable { path: path.to_path_buf(), source };
        let metadata = std::fs::symlink_metadata(path).map_err(unreadable)?;
        check_writable(path, &metadata)?;
        let file = Source::open(path).map_err(unreadable)?;
        Self::of(&metadata, &file).map_err(unreadable)
    }

    /// Reads the file of an open folder, without a check of its permissions.
    pub(super) fn in_folder(session: &SessionFiles<'_>) -> io::Result<Self> {
        let file = session.transcript().open()?;
        let metadata = file.metadata()?;
        Self::of(&metadata, &Source::from_file(session.transcript, file))
    }

    fn of(metadata: &Metadata, source: &Source) -> io::Result<Self> {
        let size = metadata.len();
        let from = size.saturating_sub(TAIL_BYTES);
        Ok(Self {
            identity: file_identity(metadata),
            size,
            modified: metadata.modified().ok(),
            tail: source.read_span(from, (size - from) as usize)?,
        })
    }

    /// Returns the first difference.
    pub(super) fn difference(&self, now: &Self) -> Option<&'static str> {
        if self.identity != now.identity {
            Some(REPLACED)
        } else if self.size != now.size {
            Some("the file grew or shrank")
        } else if self.tail != now.tail {
            Some("the end of the file changed")
        } else if self.modified != now.modified {
            Some("the file was written to")
        } else {
            None
        }
    }
}

fn check_writable(path: &Path, metadata: &Metadata) -> Result<(), Refusal> {
    let path_buf = || PathBuf::from(path);
    if metadata.is_symlink() {
        return Err(Refusal::Symlink { path: path_buf() });
    }
    if !metadata.is_file() {
        return Err(Refusal::NotRegular { path: path_buf() });
    }
    if metadata.permissions().readonly() || !has_write_permission(path) {
        return Err(Refusal::ReadOnly { path: path_buf() });
    }
    Ok(())
}

#[cfg(unix)]
fn has_write_permission(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

#[cfg(not(unix))]
fn has_write_permission(_: &Path) -> bool {
    true
}

impl SessionFiles<'_> {
    /// Refuses a folder that was moved, or replaced by a link, since it was opened. The next step would still go to the open
    /// folder, but nobody would find its result there.
    pub(super) fn check_folder(&self) -> Result<(), Refusal> {
        if self.folder.is_in_place() {
            return Ok(());
        }
        Err(Refusal::FolderReplaced { path: self.transcript.into() })
    }

    /// Refuses a folder whose file is not the one that was read, before a lock is put beside it (store H10).
    pub(super) fn check_transcript(&self, read: &FileSnapshot) -> Result<(), Refusal> {
        let replaced = || Refusal::FileChanged { path: self.transcript.into(), what: REPLACED };
        let found = self.transcript().open().and_then(|file| file.metadata());
        // Any other file than a regular one gets its own refusal when it is opened for writing.
        match found {
            Ok(metadata) if file_identity(&metadata) != read.identity => Err(replaced()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(replaced()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Millis = Millis(60_000.0);

    /// Returns the warning of a commit about a writer whose last write is this old.
    fn warns(age_ms: Millis, pi: PiRelease) -> Option<String> {
        let now_ms = Moment(1_772_000_000_000.0);
        live_writer_warning(now_ms - age_ms, now_ms, pi)
    }

    #[test]
    fn a_writer_of_the_last_minutes_may_still_have_the_file_open() {
        let old = PiRelease([0, 85, 9]);
        assert!(!old.has(PiChange::KeepsSystemMessages), "this release keeps no cache warm");
        let said = warns(Millis(999.0), old).expect("just now");
        assert!(said.starts_with("A program wrote to the file just now."), "{said}");
        assert!(warns(Millis(1_000.0), old).expect("a second").contains("1s ago"));
        assert!(warns(MINUTE * 10.0 - Millis(1.0), old).is_some());
        assert_eq!(warns(MINUTE * 10.0, old), None);
        assert_eq!(warns(Millis(-1.0), old), None, "a time to come says nothing");
    }

    #[test]
    fn a_runtime_that_keeps_a_cache_warm_may_write_for_half_an_hour() {
        let warm = crate::gateway::ruleset::Ruleset::Pi1_5.rules().pi;
        assert!(warm.has(PiChange::KeepsSystemMessages));
        assert!(warns(MINUTE * 30.0 - Millis(1.0), warm).is_some());
        assert_eq!(warns(MINUTE * 30.0, warm), None);
    }
}
