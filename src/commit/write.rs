//! Appends prepared lines to the file: under the lock, all or nothing, and read back before success is reported (store
//! P8, P9). A journal next to the file covers the time from before the first byte until the lines were read back, so
//! that an interrupted commit can be recovered ([`super::recover`]).

use std::path::Path;

use crate::commit::append::Appender;
use crate::commit::disk::{Disk, SystemDisk};
use crate::commit::expected::{Difference, first_difference, messages_from_file};
use crate::commit::journal::{Intent, Journal};
use crate::commit::lock::{Clock, Lock};
use crate::commit::prepare::PreparedCommit;
use crate::commit::receipt::Receipt;
use crate::commit::refusal::{CommitError, Refusal};
use crate::commit::session_folder::SessionFiles;
use crate::commit::snapshot::FileSnapshot;
use crate::commit::{receipt, recover};
use crate::ids::{EntryIx, LineIds};
use crate::store::index::Index;
use crate::store::load::{FileChange, refresh};
use crate::transcript::{Leaf, Tree};
use crate::units::{Bytes, Millis};

#[derive(Debug, Clone, PartialEq)]
pub struct WriteResult {
    /// Our record, as read back from the file.
    pub receipt: Receipt,
    /// The new leaf.
    pub leaf: String,
    /// Offset of the new lines: the file's size before, in bytes.
    pub offset: u64,
    /// Bytes appended.
    pub bytes: Bytes,
    /// Lines appended.
    pub lines: usize,
    /// Entries that another program appended right after ours.
    pub following: Option<FollowingEntries>,
}

/// Appends a prepared commit. Waits at most `wait_ms` for the lock; 0 tries once. `sessions.json` is not touched (store
/// P11).
pub fn write(
    prepared: &PreparedCommit,
    wait_ms: Millis,
    clock: &dyn Clock,
) -> Result<WriteResult, CommitError> {
    write_to_disk(&SystemDisk, prepared, wait_ms, clock)
}

/// Runs [`write`](write()) on a disk that a test can make fail.
pub fn write_to_disk(
    disk: &dyn Disk,
    prepared: &PreparedCommit,
    wait_ms: Millis,
    clock: &dyn Clock,
) -> Result<WriteResult, CommitError> {
    let path: &Path = &prepared.path;
    let in_memory = || Refusal::InMemory { path: path.into() };
    let snapshot = prepared.snapshot.as_ref().ok_or_else(in_memory)?;
    let opened = SessionFiles::open(path);
    let session = opened.map_err(|source| Refusal::Unreadable { path: path.into(), source })?;
    session.check_transcript(snapshot)?;
    let lock = Lock::acquire(&session, wait_ms, clock, disk)?;
    recover_before_write(&session, disk)?;
    let bytes = prepared.bytes();
    let leaf = prepared.leaf.as_str();
    let intent = Intent::new(prepared.kind.as_str(), clock.now_ms(), snapshot, leaf, lock.payload());
    let addition = PendingAppend { session: &session, snapshot, intent, bytes: &bytes };
    let (receipt, following) = append(disk, &lock, addition, || read_back(prepared, &session, &bytes))?;
    drop(lock);
    Ok(WriteResult {
        receipt,
        leaf: prepared.leaf.clone(),
        offset: snapshot.size,
        bytes: Bytes::from_len(bytes.len()),
        lines: prepared.lines.len(),
        following,
    })
}

/// Recovers an interrupted commit first. If that changed the file, the plan does not fit any more.
fn recover_before_write(session: &SessionFiles<'_>, disk: &dyn Disk) -> Result<(), CommitError> {
    match recover::recover_locked(session, disk)? {
        Some(settled) if settled.outcome.changed_file() => {
            Err(Refusal::JustRecovered { path: session.transcript.into(), what: settled.description() }
                .into())
        }
        _ => Ok(()),
    }
}

/// Bytes to append to a file.
struct PendingAppend<'a> {
    session: &'a SessionFiles<'a>,
    /// State of the file when it was read.
    snapshot: &'a FileSnapshot,
    /// The journal's content.
    intent: Intent,
    bytes: &'a [u8],
}

/// Appends under a journal. `verify` reads the file again; if it finds a difference from the plan, the bytes are rolled
/// back.
fn append<T>(
    disk: &dyn Disk,
    lock: &Lock<'_>,
    addition: PendingAppend<'_>,
    verify: impl FnOnce() -> Result<T, Difference>,
) -> Result<T, CommitError> {
    let PendingAppend { session, snapshot, intent, bytes } = addition;
    let path = session.transcript;
    let mut appender = Appender::open(session, snapshot, disk)?;
    let failed = |source| CommitError::Journal { path: path.into(), source };
    session.check_folder()?;
    Journal::begin(disk, session, intent, bytes).map_err(failed)?;
    let appended = if lock.is_ours() {
        appender.append(bytes)
    } else {
        Err(CommitError::LockLost { path: path.into() })
    };
    let verified = appended.and_then(|_| {
        verify().map_err(|what| {
            if !appender.is_at_end() {
                return CommitError::Interleaved { path: path.into() };
            }
            let restored = appender.roll_back();
            CommitError::NotVerified { path: path.into(), what, restored }
        })
    });
    // The journal stays where a part of the lines may remain in the file.
    if !matches!(
        verified,
        Err(CommitError::Write { restored: false, .. } | CommitError::NotVerified { restored: false, .. })
    ) {
        let _ = Journal::end(disk, session);
    }
    verified
}

// Reads a commit back from the file before success is reported (store P9).

/// Entries that another program, which takes no lock, appended right after a commit (store H10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowingEntries {
    pub count: usize,
    /// Whether they continue the committed branch; otherwise their own branch is active (store P10).
    pub continue_ours: bool,
}

/// Checks that our bytes follow the old ones, the planned leaf is the last of our entries, and its context is the
/// planned one. Returns our record and the entries after ours, or the difference.
pub(super) fn read_back(
    prepared: &PreparedCommit,
    session: &SessionFiles<'_>,
    bytes: &[u8],
) -> Result<(Receipt, Option<FollowingEntries>), Difference> {
    let source = session.source()?;
    let offset = prepared.file_bytes().get();
    if source.read_span(offset, bytes.len())? != bytes {
        return Err(Difference::Bytes);
    }
    let before = prepared.index_before.entries.len();
    let end = before + prepared.lines.len();
    let grown = match refresh(&prepared.index_before, &source, &mut LineIds, &mut |_, _| true) {
        Ok(FileChange::Grown(grown)) if grown.end >= offset + bytes.len() as u64 => grown,
        Ok(_) => return Err(Difference::NotAppended),
        Err(error) => return Err(error.into()),
    };
    let is_last = grown.end == offset + bytes.len() as u64;
    if grown.entries.len() < end || (is_last && grown.entries.len() > end) {
        return Err(Difference::Lines { written: prepared.lines.len(), read: grown.entries.len() - before });
    }
    let read = messages_from_file(&grown, &source, before, &Leaf::Id(prepared.leaf.clone()))?;
    if let Some(at) = first_difference(&prepared.messages, &read) {
        return Err(Difference::Message(at));
    }
    let ours = EntryIx(end.checked_sub(1).ok_or(Difference::Empty)? as u32);
    if grown.display_id(ours) != prepared.leaf {
        return Err(Difference::Leaf);
    }
    let record = prepared.lines.iter().position(|line| line.id == prepared.record_id);
    let record = record.ok_or(Difference::NoRecord)?;
    let receipt = receipt::read_receipt(&grown, &source, EntryIx((before + record) as u32));
    let receipt = receipt?.filter(|receipt| receipt.id == prepared.record_id);
    Ok((receipt.ok_or(Difference::RecordMoved)?, following_entries(&grown, ours)))
}

fn following_entries(grown: &Index, ours: EntryIx) -> Option<FollowingEntries> {
    let count = grown.entries.len() - ours.index() - 1;
    let last = grown.last().filter(|_| count > 0)?;
    let continue_ours = Tree::new(grown).path_to(grown, last).contains(&ours);
    Some(FollowingEntries { count, continue_ours })
}
