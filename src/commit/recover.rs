//! Recovers an interrupted commit: finds out how much of it was written, then finishes it.
//!
//! Opening a session only reports an interrupted commit. Recovery happens on request, or before the next write to the
//! same file, and under the lock. It finishes a partial commit, because that was confirmed and checked before. Where it
//! cannot finish, as on a full disk, the file and the journal stay as they were. A commit without a written line is
//! discarded, and one with all lines only loses its journal: neither touches the transcript.
//!
//! No repair removes a byte that it did not append itself: only the journal shows whether the bytes before were a
//! commit's, and a journal is a file that others can write.
//!
//! Lines are appended in one write(2), so a part of them can only remain when the machine stopped or the process was
//! killed within that call. No order of lines would hide such a part from a reader: the last line of a file is its
//! leaf, with any content (store K1), so a message that arrived alone is read.

use std::io;
use std::path::{Path, PathBuf};

use crate::commit::append::Appender;
use crate::commit::disk::Disk;
use crate::commit::journal::{Intent, Journal};
use crate::commit::journal_trust::{JournalFault, are_commit_lines};
use crate::commit::lock::{Clock, Lock};
use crate::commit::lock_state::{LockState, read_lock};
use crate::commit::refusal::{CommitError, Refusal};
use crate::commit::session_folder::SessionFiles;
use crate::ids::LineIds;
use crate::js;
use crate::store::index::OpenStatus;
use crate::store::load::load;
use crate::units::{Bytes, Millis, Moment};

/// The written part of an interrupted commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenExtent {
    /// None of its lines is in the file.
    NotStarted,
    /// The file ends in a part of them.
    Partial {
        /// Bytes in the file.
        written: Bytes,
        /// Bytes in total.
        bytes: Bytes,
    },
    /// The file holds all of them; they were not yet read back.
    Complete {
        /// Nothing follows them.
        last: bool,
    },
    /// The file holds a part of them, and other lines follow.
    Overtaken,
    /// The file was replaced, rewritten or archived since.
    Replaced,
    /// clawscope may not have written the journal and does not act on it.
    Untrusted(JournalFault),
}

#[derive(Debug, Clone, PartialEq)]
pub struct InterruptedCommit {
    pub path: PathBuf,
    /// `commit` or `undo`; `None` where the journal itself is incomplete.
    pub kind: Option<String>,
    /// Time of the commit.
    pub time_ms: Option<Moment>,
    pub extent: WrittenExtent,
}

impl InterruptedCommit {
    /// Returns the reason to plan nothing for the file: it ends in a part of a commit, which no runtime would read as a
    /// branch.
    pub fn refusal(&self) -> Option<Refusal> {
        match self.extent {
            WrittenExtent::Partial { .. } => {
                Some(Refusal::InterruptedCommit { path: self.path.clone(), what: self.description() })
            }
            WrittenExtent::Untrusted(fault) => {
                Some(Refusal::UntrustedJournal { path: self.path.clone(), fault })
            }
            _ => None,
        }
    }

    /// Returns a sentence without its full stop.
    pub fn description(&self) -> String {
        let kind = self.kind.as_deref().unwrap_or("commit");
        let time = self.time_ms.map_or_else(String::new, |ms| format!(" of {}", js::iso_text(ms)));
        let found = match self.extent {
            WrittenExtent::NotStarted => "before its first line was written".to_owned(),
            WrittenExtent::Partial { written, bytes } => format!("after {written} of {bytes} bytes"),
            WrittenExtent::Complete { .. } => "after its last line was written".to_owned(),
            WrittenExtent::Overtaken => {
                "after a part of its lines, and another program wrote after them".to_owned()
            }
            WrittenExtent::Replaced => "and another program rewrote or moved the file since".to_owned(),
            WrittenExtent::Untrusted(fault) => {
                return format!("clawscope does not trust the commit journal beside the file: {fault}");
            }
        };
        format!("the {kind}{time} was interrupted {found}")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryOutcome {
    /// The file contained nothing of the commit.
    Discarded,
    /// The rest was appended, and it reads back as planned.
    Finished,
    /// The file contained all of it.
    AlreadyComplete,
    /// The file is unchanged: another program wrote after the commit, or the file was replaced.
    Unchanged,
}

impl RecoveryOutcome {
    /// The word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Discarded => "forgotten",
            Self::Finished => "finished",
            Self::AlreadyComplete => "complete",
            Self::Unchanged => "leftAsItIs",
        }
    }

    /// Whether the transcript changed.
    pub fn changed_file(self) -> bool {
        self == Self::Finished
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct RecoveredCommit {
    pub interrupted: InterruptedCommit,
    pub outcome: RecoveryOutcome,
}

impl RecoveredCommit {
    /// Describes commit and outcome in two sentences.
    pub fn description(&self) -> String {
        let done = match self.outcome {
            RecoveryOutcome::Discarded => "The file has no part of it; commit again.",
            RecoveryOutcome::Finished => "The rest was appended, and the new branch is active.",
            RecoveryOutcome::AlreadyComplete => "The file has all of it; nothing to repair.",
            RecoveryOutcome::Unchanged => {
                "It can no longer be finished or undone, so the file stays unchanged. The branch written last \
                 is active; check that it is the one you want."
            }
        };
        let found = self.interrupted.description();
        let mut chars = found.chars();
        let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
        format!("{first}{}. {done}", chars.as_str())
    }
}

/// Finds the interrupted commit of a transcript, if any; a commit in progress does not count. Only reads. `now_ms`
/// decides whether the lock is stale.
pub fn find_interrupted(transcript: &Path, now_ms: Moment) -> io::Result<Option<InterruptedCommit>> {
    let session = SessionFiles::open(transcript)?;
    let Some(journal) = Journal::read(&session)? else { return Ok(None) };
    let (state, lock) = read_lock(session.lock().open(), now_ms)?;
    let writing = match (&state, &journal) {
        (LockState::Held { live: true, .. }, Journal::Complete(intent, _)) => {
            lock.is_some_and(|lock| intent.is_own_lock(&lock))
        }
        (LockState::Held { live: true, .. }, Journal::Incomplete) => true,
        _ => false,
    };
    // A commit that ended between the two reads removed its journal.
    if writing || Journal::read(&session)?.as_ref() != Some(&journal) {
        return Ok(None);
    }
    Ok(Some(inspect_journal(&session, &journal)?))
}

/// Recovers the interrupted commit of a transcript, if any. Waits at most `wait_ms` for the lock.
pub fn recover_commit(
    transcript: &Path,
    wait_ms: Millis,
    clock: &dyn Clock,
    disk: &dyn Disk,
) -> Result<Option<RecoveredCommit>, CommitError> {
    let journal = |source| CommitError::Journal { path: transcript.into(), source };
    let session = SessionFiles::open(transcript).map_err(journal)?;
    if Journal::read(&session).map_err(journal)?.is_none() {
        return Ok(None);
    }
    let lock = Lock::acquire(&session, wait_ms, clock, disk)?;
    let settled = recover_locked(&session, disk)?;
    drop(lock);
    Ok(settled)
}

/// The caller holds the lock.
pub(super) fn recover_locked(
    session: &SessionFiles<'_>,
    disk: &dyn Disk,
) -> Result<Option<RecoveredCommit>, CommitError> {
    let transcript = session.transcript;
    let failed = |source| CommitError::Journal { path: transcript.into(), source };
    let Some(journal) = Journal::read(session).map_err(failed)? else { return Ok(None) };
    let found = inspect_journal(session, &journal).map_err(failed)?;
    let outcome = match (found.extent, &journal) {
        (WrittenExtent::Partial { written, .. }, Journal::Complete(intent, payload)) => {
            finish(session, intent, payload, written, disk)?
        }
        (WrittenExtent::Untrusted(fault), _) => {
            return Err(Refusal::UntrustedJournal { path: transcript.into(), fault }.into());
        }
        (WrittenExtent::Complete { last }, Journal::Complete(intent, _)) => {
            if !last || reads_back(session, intent) {
                RecoveryOutcome::AlreadyComplete
            } else {
                RecoveryOutcome::Unchanged
            }
        }
        (WrittenExtent::NotStarted, _) => RecoveryOutcome::Discarded,
        _ => RecoveryOutcome::Unchanged,
    };
    Journal::end(disk, session).map_err(failed)?;
    Ok(Some(RecoveredCommit { interrupted: found, outcome }))
}

/// Refuses to plan for a file that ends in a part of an interrupted commit. A commit in progress passes: the file grows
/// on, and the write refuses the plan then.
pub(super) fn refuse_partial(transcript: &Path, now_ms: Moment) -> Result<(), Refusal> {
    let unreadable = |source| Refusal::Unreadable { path: transcript.into(), source };
    let found = find_interrupted(transcript, now_ms).map_err(unreadable)?;
    found.as_ref().and_then(InterruptedCommit::refusal).map_or(Ok(()), Err)
}

/// Appends the missing bytes; if that fails or reads back differently, rolls back the appended bytes. The journal stays
/// then, so that a later repair can finish, as after the disk was full.
fn finish(
    session: &SessionFiles<'_>,
    intent: &Intent,
    payload: &[u8],
    written: Bytes,
    disk: &dyn Disk,
) -> Result<RecoveryOutcome, CommitError> {
    let mut appender = Appender::resume(session, intent, written, disk)?;
    match appender.append(&payload[written.to_len()..]) {
        Ok(false) | Err(CommitError::Refused(Refusal::FileChanged { .. })) => Ok(RecoveryOutcome::Unchanged),
        Ok(true) if reads_back(session, intent) => Ok(RecoveryOutcome::Finished),
        Ok(true) => {
            let (path, bytes) = (session.transcript.to_path_buf(), Bytes::from_len(payload.len()));
            let restored = appender.roll_back();
            Err(CommitError::NotFinished { path, written, bytes, restored })
        }
        Err(error) => Err(error),
    }
}

/// Whether the runtime would accept every line of the file, and the last line is the planned one. A check of the
/// context is not needed: it was made before the same lines were written after the same bytes.
fn reads_back(session: &SessionFiles<'_>, intent: &Intent) -> bool {
    let Ok(source) = session.source() else { return false };
    let Ok(index) = load(&source, &mut LineIds, &mut |_, _| true) else { return false };
    let last = index.last().map(|ix| index.display_id(ix));
    index.open_status == OpenStatus::Opens
        && index.bad_lines == 0
        && index.pending_bytes == Bytes::ZERO
        && last.as_ref() == Some(&intent.leaf)
}

fn inspect_journal(session: &SessionFiles<'_>, journal: &Journal) -> io::Result<InterruptedCommit> {
    let path = session.transcript.to_path_buf();
    match journal {
        Journal::Incomplete => {
            Ok(InterruptedCommit { path, kind: None, time_ms: None, extent: WrittenExtent::NotStarted })
        }
        Journal::Untrusted(fault) => Ok(InterruptedCommit {
            path,
            kind: None,
            time_ms: None,
            extent: WrittenExtent::Untrusted(*fault),
        }),
        Journal::Complete(intent, payload) => {
            let extent = match content_fault(intent, payload) {
                Some(fault) => WrittenExtent::Untrusted(fault),
                None => appended_bytes(session, intent)?
                    .map_or(WrittenExtent::Replaced, |behind| measure_extent(payload, &behind)),
            };
            Ok(InterruptedCommit {
                path,
                kind: Some(intent.kind.clone()),
                time_ms: Some(Moment::from_whole(intent.time_ms)),
                extent,
            })
        }
    }
}

/// Returns the fault of a journal whose content no commit has.
fn content_fault(intent: &Intent, payload: &[u8]) -> Option<JournalFault> {
    if !intent.has_old_end() {
        return Some(JournalFault::NoOldEnd);
    }
    (!are_commit_lines(payload)).then_some(JournalFault::NoCommitLines)
}

/// Returns the bytes after the old end of the file; `None` if the file or its old end was replaced.
fn appended_bytes(session: &SessionFiles<'_>, intent: &Intent) -> io::Result<Option<Vec<u8>>> {
    let source = match session.source() {
        Ok(source) => source,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidInput) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    if source.identity()? != intent.identity() {
        return Ok(None);
    }
    let Some(added) = source.len()?.checked_sub(intent.size) else { return Ok(None) };
    let (from, count) = intent.tail_span();
    if !intent.matches_tail(&source.read_span(from, count)?) {
        return Ok(None);
    }
    source.read_span(intent.size, added as usize).map(Some)
}

fn measure_extent(payload: &[u8], behind: &[u8]) -> WrittenExtent {
    if behind.is_empty() {
        return WrittenExtent::NotStarted;
    }
    if payload.starts_with(behind) && payload.len() > behind.len() {
        return WrittenExtent::Partial {
            written: Bytes::from_len(behind.len()),
            bytes: Bytes::from_len(payload.len()),
        };
    }
    // Another program may have written at the same moment, before or after.
    if let Some(at) = memchr::memmem::find(behind, payload) {
        return WrittenExtent::Complete { last: at + payload.len() == behind.len() };
    }
    let line = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').next().unwrap_or_default().to_vec();
    let first = line(behind);
    let is_json = std::str::from_utf8(&first).is_ok_and(|text| js::parse(text).is_ok());
    // A whole line of ours, or a part of one followed by another program's line.
    if first == line(payload) || !is_json { WrittenExtent::Overtaken } else { WrittenExtent::NotStarted }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commit::disk::SystemDisk;
    use crate::commit::snapshot::FileSnapshot;

    fn session(path: &Path) -> SessionFiles<'_> {
        SessionFiles::open(path).expect("a folder")
    }

    #[test]
    fn the_bytes_after_the_old_end_show_how_much_was_written() {
        let payload = b"{\"id\":1}\n{\"id\":2}\n";
        let reported = |behind: &str| measure_extent(payload, behind.as_bytes());
        let torn = |written| WrittenExtent::Partial { written, bytes: Bytes(18) };
        assert_eq!(reported(""), WrittenExtent::NotStarted);
        assert_eq!(
            [reported("{"), reported("{\"id\":1}"), reported("{\"id\":1}\n")],
            [torn(Bytes(1)), torn(Bytes(8)), torn(Bytes(9))]
        );
        assert_eq!(reported("{\"id\":1}\n{\"id\":2}\n"), WrittenExtent::Complete { last: true });
        assert_eq!(reported("{\"id\":1}\n{\"id\":2}\n{}\n"), WrittenExtent::Complete { last: false });
    }

    #[test]
    fn lines_of_other_programs_are_distinguished_from_ours() {
        let payload = b"{\"id\":1}\n{\"id\":2}\n";
        let reported = |behind: &str| measure_extent(payload, behind.as_bytes());
        // They wrote, we did not.
        assert_eq!(reported("{\"id\":7}\n"), WrittenExtent::NotStarted);
        // They wrote at the same moment, before us.
        assert_eq!(reported("{\"id\":7}\n{\"id\":1}\n{\"id\":2}\n"), WrittenExtent::Complete { last: true });
        // They wrote after a line of ours, and after a part of one.
        assert_eq!(reported("{\"id\":1}\n{\"id\":7}\n"), WrittenExtent::Overtaken);
        assert_eq!(reported("{\"id\"{\"id\":7}\n"), WrittenExtent::Overtaken);
    }

    /// A transcript with an interrupted commit, of which the file holds `written` bytes; the journal names `leaf`.
    fn interrupted(leaf: &str, written: usize) -> (tempfile::TempDir, PathBuf, Vec<u8>) {
        let header =
            "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-11-19T13:00:00.000Z\"}\n";
        let line = b"{\"type\":\"custom\",\"customType\":\"x\",\"id\":\"e0\",\"parentId\":null,\"timestamp\":\"2026-11-19T13:00:00.000Z\"}\n";
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s.jsonl");
        let write = |bytes: &[u8]| {
            let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&path).expect("a file");
            io::Write::write_all(&mut file, bytes).expect("written");
        };
        write(header.as_bytes());
        let before = FileSnapshot::take(&path).expect("a file");
        let intent = Intent::new("commit", Moment(1_772_000_000_000.0), &before, leaf, "{}");
        Journal::begin(&SystemDisk, &session(&path), intent, line).expect("a journal");
        write(&line[..written.min(line.len())]);
        let bytes = std::fs::read(&path).expect("the file");
        (folder, path, bytes)
    }

    #[test]
    fn a_repair_that_reads_back_another_leaf_is_rolled_back_and_keeps_the_journal() {
        let (_folder, path, before) = interrupted("other", 10);
        let failed = recover_locked(&session(&path), &SystemDisk);
        assert!(matches!(failed, Err(CommitError::NotFinished { restored: true, .. })), "{failed:?}");
        assert_eq!(std::fs::read(&path).expect("the file"), before);
        assert!(matches!(Journal::read(&session(&path)), Ok(Some(Journal::Complete(..)))));
        let (_folder, path, _) = interrupted("e0", 10);
        let done = recover_locked(&session(&path), &SystemDisk).expect("a repair").expect("a commit");
        assert_eq!(done.outcome, RecoveryOutcome::Finished);
    }

    #[test]
    fn a_whole_commit_counts_as_complete_only_if_it_reads_back() {
        let outcome = |leaf: &str| {
            let (_folder, path, before) = interrupted(leaf, usize::MAX);
            let done = recover_locked(&session(&path), &SystemDisk).expect("a repair").expect("a commit");
            assert_eq!(std::fs::read(&path).expect("the file"), before);
            done.outcome
        };
        assert_eq!(outcome("e0"), RecoveryOutcome::AlreadyComplete);
        assert_eq!(outcome("other"), RecoveryOutcome::Unchanged);
    }

    #[test]
    fn the_description_of_an_interrupted_commit_has_time_extent_and_outcome() {
        use RecoveryOutcome::{AlreadyComplete, Discarded, Finished, Unchanged};
        let of = |kind: Option<&str>, time_ms, extent| InterruptedCommit {
            path: PathBuf::from("t.jsonl"),
            kind: kind.map(str::to_owned),
            time_ms,
            extent,
        };
        let torn = of(
            Some("undo"),
            Some(Moment(1_772_000_000_000.0)),
            WrittenExtent::Partial { written: Bytes(7), bytes: Bytes(18) },
        );
        assert_eq!(
            torn.description(),
            "the undo of 2026-02-25T06:13:20.000Z was interrupted after 7 of 18 bytes"
        );
        assert_eq!(
            of(None, None, WrittenExtent::NotStarted).description(),
            "the commit was interrupted before its first line was written"
        );
        let refuses = |extent| of(None, None, extent).refusal().is_some();
        assert!(refuses(WrittenExtent::Partial { written: Bytes(7), bytes: Bytes(18) }));
        assert!(!refuses(WrittenExtent::NotStarted) && !refuses(WrittenExtent::Complete { last: true }));
        let all = [Discarded, Finished, AlreadyComplete, Unchanged];
        assert_eq!(all.map(RecoveryOutcome::as_str), ["forgotten", "finished", "complete", "leftAsItIs"]);
        assert_eq!(all.map(RecoveryOutcome::changed_file), [false, true, false, false]);
        let done = RecoveredCommit { interrupted: torn, outcome: Finished }.description();
        assert!(
            done.starts_with("The undo of 2026")
                && done.ends_with(". The rest was appended, and the new branch is active."),
            "{done}"
        );
    }

    #[test]
    fn an_interrupted_commit_is_found_with_its_kind_its_time_and_its_extent() {
        let (_folder, path, before) = interrupted("e0", 10);
        let journal = Journal::read(&session(&path)).expect("a journal").expect("a commit");
        let bytes = match &journal {
            Journal::Complete(_, payload) => payload.len() as u64,
            other => panic!("{other:?}"),
        };
        let found = |extent| InterruptedCommit {
            path: path.clone(),
            kind: Some("commit".to_owned()),
            time_ms: Some(Moment(1_772_000_000_000.0)),
            extent,
        };
        let partial = found(WrittenExtent::Partial { written: Bytes(10), bytes: Bytes(bytes) });
        assert_eq!(inspect_journal(&session(&path), &journal).expect("it reads"), partial);
        assert_eq!(find_interrupted(&path, Moment(1_772_000_000_000.0)).expect("it reads"), Some(partial));
        let moved = path.with_extension("moved");
        std::fs::rename(&path, &moved).expect("renamed");
        assert_eq!(
            inspect_journal(&session(&path), &journal).expect("it reads"),
            found(WrittenExtent::Replaced)
        );
        std::fs::rename(&moved, &path).expect("renamed");
        let done = recover_locked(&session(&path), &SystemDisk).expect("a repair").expect("a commit");
        assert_eq!(
            done.interrupted,
            found(WrittenExtent::Partial { written: Bytes(10), bytes: Bytes(bytes) })
        );
        let after = std::fs::read(&path).expect("the file");
        assert_eq!(after.len(), before.len() - 10 + bytes as usize);
        assert_eq!(find_interrupted(&path, Moment(1_772_000_000_000.0)).expect("it reads"), None);
    }
}
