//! The journal of a commit: a file next to the transcript that names, before the first byte is appended, the file, its
//! old end and the bytes to append. It is synced to disk before the transcript is touched and removed after the lines
//! were read back, so that a journal found after a crash shows how far the commit got ([`super::recover`]).
//!
//! It holds a line of JSON, the bytes to append, and a line with the hash of both.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use std::{fs, io};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::commit::disk::{Disk, write_all};
use crate::commit::journal_trust::{JournalFault, JournalFile, read_journal_file};
use crate::commit::session_folder::{JOURNAL_SUFFIX, SessionFiles};
use crate::commit::snapshot::{FileSnapshot, TAIL_BYTES};
use crate::store::index::FileIdentity;
use crate::units::Moment;

const VERSION: u32 = 1;
/// Chars of a hash, with its line end.
const HASH_LINE_LEN: usize = 65;

/// The file and the bytes to append to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Intent {
    #[serde(rename = "clawscopeJournal")]
    version: u32,
    /// `commit` or `undo`.
    pub kind: String,
    /// ms since 1970.
    pub time_ms: i64,
    device: u64,
    inode: u64,
    /// Bytes of the file before.
    pub size: u64,
    /// Last write to the file before, ns since 1970, where the system knows it.
    modified_ns: Option<u64>,
    /// Hashed bytes at the file's old end.
    tail_bytes: u64,
    tail_sha256: String,
    /// Bytes to append.
    bytes: u64,
    /// The id of the last line to append.
    pub leaf: String,
    /// Content of the lock file during the write.
    lock: String,
}

impl Intent {
    /// Describes a write to a file in the state `before`; `bytes` is set when the journal is encoded.
    pub(super) fn new(kind: &str, time_ms: Moment, before: &FileSnapshot, leaf: &str, lock: &str) -> Self {
        let since = before.modified.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        Self {
            version: VERSION,
            kind: kind.to_owned(),
            time_ms: time_ms.whole(),
            device: before.identity.device,
            inode: before.identity.inode,
            size: before.size,
            modified_ns: since.and_then(|since| u64::try_from(since.as_nanos()).ok()),
            tail_bytes: before.tail.len() as u64,
            tail_sha256: hash(&before.tail),
            bytes: 0,
            leaf: leaf.to_owned(),
            lock: lock.to_owned(),
        }
    }

    /// Whether it names an old end to append to: a transcript has at least its header.
    pub(super) fn has_old_end(&self) -> bool {
        (1..=self.size.min(TAIL_BYTES)).contains(&self.tail_bytes)
    }

    pub(super) fn identity(&self) -> FileIdentity {
        FileIdentity { device: self.device, inode: self.inode }
    }

    /// Returns offset and length of the hashed bytes.
    pub(super) fn tail_span(&self) -> (u64, usize) {
        (self.size.saturating_sub(self.tail_bytes), self.tail_bytes as usize)
    }

    /// Whether the bytes before the old end are unchanged.
    pub(super) fn matches_tail(&self, tail: &[u8]) -> bool {
        hash(tail) == self.tail_sha256
    }

    /// Whether this lock is held for the commit.
    pub(super) fn is_own_lock(&self, lock: &str) -> bool {
        self.lock == lock
    }
}

/// A journal file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Journal {
    /// The journal is cut off: the transcript was not touched yet.
    Incomplete,
    /// clawscope does not act on this journal.
    Untrusted(JournalFault),
    /// The intent, and the bytes to append.
    Complete(Box<Intent>, Vec<u8>),
}

/// Returns the transcript of a journal, from the journal's name.
pub fn transcript_for_journal(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?.strip_suffix(JOURNAL_SUFFIX)?;
    (!name.is_empty()).then(|| path.with_file_name(name))
}

/// Returns the transcripts of a folder that have a journal, by name.
pub fn transcripts_with_journal(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for item in fs::read_dir(folder)? {
        let name = item?.file_name();
        let transcript = name.to_str().and_then(|name| name.strip_suffix(JOURNAL_SUFFIX));
        found.extend(transcript.filter(|name| !name.is_empty()).map(|name| folder.join(name)));
    }
    found.sort();
    Ok(found)
}

impl Journal {
    pub(super) fn read(session: &SessionFiles<'_>) -> io::Result<Option<Self>> {
        Ok(match read_journal_file(session)? {
            JournalFile::Missing => None,
            JournalFile::Untrusted(fault) => Some(Self::Untrusted(fault)),
            JournalFile::Bytes(bytes) => Some(Self::decode(&bytes)),
        })
    }

    fn decode(bytes: &[u8]) -> Self {
        Self::parse_complete(bytes).unwrap_or(Self::Incomplete)
    }

    fn parse_complete(bytes: &[u8]) -> Option<Self> {
        let (sealed, seal) = bytes.split_at_checked(bytes.len().checked_sub(HASH_LINE_LEN)?)?;
        if seal != (hash(sealed) + "\n").as_bytes() {
            return None;
        }
        let end = memchr::memchr(b'\n', sealed)?;
        let intent: Intent = serde_json::from_slice(&sealed[..end]).ok()?;
        let payload = sealed[end + 1..].to_vec();
        let known = intent.version == VERSION && intent.bytes == payload.len() as u64;
        known.then(|| Self::Complete(Box::new(intent), payload))
    }

    /// Writes a journal and syncs it to disk. On failure none is left behind.
    pub(super) fn begin(
        disk: &dyn Disk,
        session: &SessionFiles<'_>,
        intent: Intent,
        payload: &[u8],
    ) -> io::Result<()> {
        let bytes = encode(intent, payload)?;
        let write = || {
            let mut file = disk.create(session.journal(), true)?;
            write_all(disk, &mut file, &bytes)?;
            disk.sync(&file)?;
            disk.sync_dir(&session.folder)
        };
        write().inspect_err(|error| {
            // An existing journal is not ours to remove.
            if error.kind() != io::ErrorKind::AlreadyExists {
                let _ = disk.remove(session.journal());
            }
        })
    }

    /// Removes the journal. If a power failure brings it back, recovery finds all lines in the file or none, and
    /// removes it again.
    pub(super) fn end(disk: &dyn Disk, session: &SessionFiles<'_>) -> io::Result<()> {
        match disk.remove(session.journal()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

fn encode(intent: Intent, payload: &[u8]) -> io::Result<Vec<u8>> {
    let intent = Intent { bytes: payload.len() as u64, ..intent };
    let mut bytes = serde_json::to_vec(&intent)?;
    bytes.push(b'\n');
    bytes.extend_from_slice(payload);
    let seal = hash(&bytes);
    bytes.extend_from_slice(seal.as_bytes());
    bytes.push(b'\n');
    Ok(bytes)
}

fn hash(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or_default();
    Sha256::digest(bytes).iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::commit::disk::SystemDisk;

    fn intent(path: &Path) -> Intent {
        let before = FileSnapshot::take(path).unwrap();
        Intent::new("commit", Moment(1_772_000_000_000.0), &before, "leaf", "{}")
    }

    fn session(path: &Path) -> SessionFiles<'_> {
        SessionFiles::open(path).unwrap()
    }

    fn transcript(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
        (folder, path)
    }

    #[test]
    fn a_journal_reads_back_and_is_not_listed_as_a_session() {
        let (folder, path) = transcript("one\n");
        Journal::begin(&SystemDisk, &session(&path), intent(&path), b"two\nthree\n").unwrap();
        let Some(Journal::Complete(reported, payload)) = Journal::read(&session(&path)).unwrap() else {
            panic!("complete")
        };
        assert_eq!(payload, b"two\nthree\n");
        assert_eq!(
            (reported.size, reported.tail_span(), reported.bytes, reported.leaf.as_str()),
            (4, (0, 4), 10, "leaf")
        );
        assert!(reported.matches_tail(b"one\n") && !reported.matches_tail(b"two\n"));
        let name = session(&path).journal().path();
        assert!(name.extension().is_some_and(|ending| ending != "jsonl"));
        let folder = folder.path().canonicalize().unwrap();
        assert_eq!(transcripts_with_journal(&folder).unwrap(), [folder.join("t.jsonl")]);
        Journal::end(&SystemDisk, &session(&path)).unwrap();
        assert_eq!(Journal::read(&session(&path)).unwrap(), None);
    }

    #[test]
    fn a_truncated_or_altered_journal_counts_as_not_written() {
        let (_folder, path) = transcript("one\n");
        let whole = encode(intent(&path), b"two\n").unwrap();
        assert!(matches!(Journal::decode(&whole), Journal::Complete(..)));
        for end in 0..whole.len() {
            assert_eq!(Journal::decode(&whole[..end]), Journal::Incomplete, "{end} bytes");
        }
        for at in 0..whole.len() {
            let mut altered = whole.clone();
            altered[at] ^= 1;
            assert_eq!(Journal::decode(&altered), Journal::Incomplete, "byte {at}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_journal_is_readable_only_by_its_owner() {
        use std::os::unix::fs::PermissionsExt as _;
        let (_folder, path) = transcript("one\n");
        Journal::begin(&SystemDisk, &session(&path), intent(&path), b"secret\n").unwrap();
        let mode = fs::metadata(session(&path).journal().path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn an_existing_journal_is_never_overwritten() {
        let (_folder, path) = transcript("one\n");
        Journal::begin(&SystemDisk, &session(&path), intent(&path), b"two\n").unwrap();
        let second = Journal::begin(&SystemDisk, &session(&path), intent(&path), b"other\n");
        assert_eq!(second.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert!(
            matches!(Journal::read(&session(&path)).unwrap(), Some(Journal::Complete(_, reported)) if reported == b"two\n")
        );
    }

    #[test]
    fn a_journal_keeps_at_least_one_and_at_most_all_bytes_of_the_old_end() {
        let (_folder, path) = transcript("one\n");
        let has_end = |size, tail_bytes| Intent { size, tail_bytes, ..intent(&path) }.has_old_end();
        assert!(has_end(4, 4) && has_end(4, 1) && has_end(TAIL_BYTES + 9, TAIL_BYTES));
        assert!(!has_end(4, 0), "nothing to compare");
        assert!(!has_end(4, 5) && !has_end(0, 0) && !has_end(0, 1), "more than there was");
        assert!(!has_end(TAIL_BYTES + 9, TAIL_BYTES + 1));
    }
}
