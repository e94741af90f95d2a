//! The reasons not to write, each with the file and a remedy; and the errors once writing has begun.

use std::io;
use std::path::{Path, PathBuf};

use crate::commit::expected::Difference;
use crate::commit::journal_trust::JournalFault;
use crate::format::quantity;
use crate::js;
use crate::store::body::BodyError;
use crate::units::{Bytes, Moment};

/// A reason to leave a session file unchanged (store P1, H, J). Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("{}: the session is in memory, not in a file. Copy it to a file and open that.", .path.display())]
    InMemory { path: PathBuf },
    /// The transcript is in a database, to which only its gateway writes (sqlite J3).
    #[error("{}: only the gateway may write to its database, because it keeps indexes there that clawscope cannot update. {instead}", .path.display())]
    Database {
        path: PathBuf,
        /// An action with the same result.
        instead: String,
    },
    /// A commit to a database began a session of its own, so nothing in place can be undone.
    #[error("{}: {what}", .path.display())]
    NothingInPlace {
        path: PathBuf,
        /// The state of both sessions, and the remedy.
        what: String,
    },
    /// The importer would take in this file together with the new session.
    #[error("{}: the gateway's importer has not taken this file in yet, and would do so with the new session. Run `openclaw doctor --fix` with the gateway stopped, or move the file away, and try again.", .path.display())]
    ImportWaiting { path: PathBuf },
    #[error("{}: cannot read the file: {source}. Check that it exists and that you may read it.", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// The path is a directory, a device or a pipe.
    #[error("{}: not a regular file. Pass the transcript itself.", .path.display())]
    NotRegular { path: PathBuf },
    /// A symbolic link may lead out of the store.
    #[error("{}: this is a symbolic link. Open the file it leads to.", .path.display())]
    Symlink { path: PathBuf },
    #[error("{}: the file is read-only. Make it writable, or commit to a copy.", .path.display())]
    ReadOnly { path: PathBuf },
    /// A reset or a deletion archived the file.
    #[error("{}: this is an archive, which no program reads. Copy it to a session first.", .path.display())]
    Archive { path: PathBuf },
    /// No row of the store names the file.
    #[error("{}: no row of the session store points to this file, so no program would read the branch. Pass --allow-orphan to write anyway.", .path.display())]
    Orphan { path: PathBuf },
    /// The first line that parses is not a header.
    #[error("{}: the file has no session header, so the runtime would empty it. Restore the header from a backup first.", .path.display())]
    NoHeader { path: PathBuf },
    /// The version is not 3.
    #[error("{}: transcript version {} is not supported; clawscope writes only version 3. {}", .path.display(), js::number_text(*.version), version_advice(*.version))]
    Version { path: PathBuf, version: f64 },
    #[error("{}: the parents of entry {entry} form a cycle. Repair a copy of the file first.", .path.display())]
    Cycle { path: PathBuf, entry: String },
    /// A line is not JSON, or the runtime cannot open it.
    #[error("{}{}: cannot read the line, and the runtime may rewrite the file because of it. Remove the line in a copy, and commit to that.", .path.display(), line_text(*.line))]
    UnparsableLine { path: PathBuf, line: Option<u64> },
    #[error("{}: the last line has no line break: a program is still writing it, or was interrupted. Wait; if no program is writing, add the line break.", .path.display())]
    UnterminatedLine { path: PathBuf },
    /// The file ends in a part of an interrupted commit.
    #[error("{}: {what}. {}", .path.display(), SETTLE)]
    InterruptedCommit {
        path: PathBuf,
        /// The interrupted commit and its extent.
        what: String,
    },
    /// The journal of the file is not one that clawscope acts on.
    #[error("{}: clawscope does not trust the commit journal beside this file: {fault}. Look at the file with the same name and the ending .clawscope-journal, move it away, and try again.", .path.display())]
    UntrustedJournal { path: PathBuf, fault: JournalFault },
    /// An interrupted commit was just finished: the file differs from the one that was read.
    #[error("{}: {what} Reload the session and make the plan again.", .path.display())]
    JustRecovered {
        path: PathBuf,
        /// The recovery and its outcome.
        what: String,
    },
    /// The file has no assistant message (store M5).
    #[error("{}: the session has no assistant message yet, and the runtime erases such a file when it runs. Wait for the first answer.", .path.display())]
    NoAssistant { path: PathBuf },
    /// A message entry on the branch has no message.
    #[error("{}: an entry on the active branch has no message, so the runtime cannot build a context. Repair a copy of the file first.", .path.display())]
    NoContext { path: PathBuf },
    /// The plan was made for another leaf.
    #[error("{}: the plan is for an earlier entry, but a commit can only follow the session's leaf. Go to the last entry.", .path.display())]
    LeafNotOwn { path: PathBuf },
    /// The last line has no id for a child to name.
    #[error("{}: the last line has no id, so no entry can follow it. Repair a copy of the file first.", .path.display())]
    NoLeaf { path: PathBuf },
    /// A changed entry is not on the active branch.
    #[error("{}: entry {entry} is not on the active branch. Make the plan again.", .path.display())]
    NotOnPath { path: PathBuf, entry: String },
    /// The change touches more than the content of a message.
    #[error("{}: entry {entry} would change outside its message content; a commit may only change that and drop `details`. Make the plan again.", .path.display())]
    NotOnlyContent { path: PathBuf, entry: String },
    /// The runtime does not edit messages of this kind (store-pi-1.5 K4).
    #[error("{}: entry {entry} would change, but the runtime edits only user, assistant, tool and extension messages. Remove the policy that changes it from the plan.", .path.display())]
    NotEditable { path: PathBuf, entry: String },
    /// The compaction has no summary to replace the removed messages.
    #[error("{}: the summary is empty, so the messages it replaces would be lost. Make it again.", .path.display())]
    NoSummary { path: PathBuf },
    /// The first kept entry has no id to name it by (compaction 3.1).
    #[error("{} line {line}: the first entry that the compaction keeps has no id. Change keepRecentTokens.", .path.display())]
    FirstKeptWithoutId { path: PathBuf, line: u64 },
    /// The runtime fails whenever it appends to such a file (compaction 3.22).
    #[error("{}: an entry before the first answer has no message, so the runtime would fail when it appends a compaction. Repair a copy of the file first.", .path.display())]
    CannotAppend { path: PathBuf },
    /// No stored entry would differ.
    #[error("{}: the plan changes nothing, so there is nothing to write. Change a threshold first.", .path.display())]
    NothingToWrite { path: PathBuf },
    #[error("{}: locked by {}{}. Wait until its run ends, then try again.", .path.display(), pid_text(*.pid), since_text(*.since_ms))]
    Locked {
        path: PathBuf,
        /// The holder's process id, if the lock names it.
        pid: Option<u32>,
        /// Start of the lock, if the lock names it.
        since_ms: Option<Moment>,
    },
    #[error("{}: {what} after clawscope read it. Reload the session and make the plan again.", .path.display())]
    FileChanged {
        path: PathBuf,
        /// The difference.
        what: &'static str,
    },
    /// The path leads to another folder than at the start of the commit.
    #[error("{}: the folder of this file was moved or replaced while clawscope wrote to it. Nothing was written. Check where the path leads now, and try again.", .path.display())]
    FolderReplaced { path: PathBuf },
    /// The session grew, and the plan no longer fits it.
    #[error("{}: the session grew by {} after clawscope read it, and {what}. Reload the session and make the plan again.", .path.display(), quantity(*.entries, "entry"))]
    PlanOutdated {
        path: PathBuf,
        /// New entries.
        entries: usize,
        /// The part of the growth that the plan does not allow for.
        what: &'static str,
    },
    /// The session grew between every reading and the write after it.
    #[error("{}: the session grew by {} while clawscope tried {tries} times to write. Nothing was written. Wait until its run ends, then try again.", .path.display(), quantity(*.entries, "entry"))]
    KeepsGrowing {
        path: PathBuf,
        /// New entries since the session was read for the plan.
        entries: usize,
        tries: usize,
    },
    /// Two lines have the id of an entry on the branch.
    #[error("{} lines {first} and {second}: both have the id {id}, so a parent would be ambiguous. Remove one in a copy first.", .path.display())]
    DuplicateId { path: PathBuf, id: String, first: u64, second: u64 },
    /// A tool call would lose its result, or a result its call (store P5).
    #[error("{}: the branch would contain {what}, which providers refuse. Make the plan again.", .path.display())]
    Unpaired {
        path: PathBuf,
        /// The call or result.
        what: String,
    },
    /// The branch would not give the planned context: a bug in clawscope, caught before writing.
    #[error("{}: the branch would read back differently from the plan at message {at}. Nothing was written; please report this.", .path.display())]
    NotAsPlanned {
        path: PathBuf,
        /// Message of the context, counted from 1.
        at: usize,
    },
    #[error("{}: the active branch has no {what} to undo.", .path.display())]
    NothingToUndo {
        path: PathBuf,
        /// `commit` or `undo`, or the requested record.
        what: String,
    },
    /// The active branch does not descend from the commit.
    #[error("{}: the active branch does not descend from {commit}: it was undone, or another branch became active. `clawscope undo --list` shows which commits are active.", .path.display())]
    NotActive { path: PathBuf, commit: String },
    /// The leaf that a commit left is no longer in the file.
    #[error("{}: entry {entry}, the parent of {commit}, is no longer in the file. The file was rewritten, so the commit cannot be undone.", .path.display())]
    LeafGone { path: PathBuf, entry: String, commit: String },
}

/// The remedy for an interrupted commit.
pub(super) const SETTLE: &str = "`clawscope doctor --repair` finishes it.";

fn version_advice(version: f64) -> &'static str {
    if version > 3.0 {
        "Update clawscope."
    } else {
        "Open the session once with the runtime, which upgrades it."
    }
}

fn line_text(line: Option<u64>) -> String {
    line.map_or_else(String::new, |line| format!(" line {line}"))
}

fn pid_text(pid: Option<u32>) -> String {
    pid.map_or_else(|| "an unknown process".to_owned(), |pid| format!("process {pid}"))
}

fn since_text(since_ms: Option<Moment>) -> String {
    since_ms.map_or_else(String::new, |ms| format!(" since {}", js::iso_text(ms)))
}

/// Converts a failed second read of a body.
pub(super) fn unreadable_body(path: &Path, error: BodyError) -> Refusal {
    match error {
        BodyError::Read { source, .. } => Refusal::Unreadable { path: path.to_path_buf(), source },
        BodyError::Changed { .. } => {
            Refusal::FileChanged { path: path.to_path_buf(), what: "a line changed" }
        }
    }
}

/// Errors of a commit, before or while it writes.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The lock file could not be created. Nothing was written.
    #[error("{}: cannot create the lock file: {source}. Check that you may write to this folder.", .path.display())]
    Lock { path: PathBuf, source: io::Error },
    /// The journal could not be written, read or removed. The transcript was not touched.
    #[error("{}: cannot write the commit journal beside it: {source}. Nothing was written. Check the free disk space, and that you may write to this folder.", .path.display())]
    Journal { path: PathBuf, source: io::Error },
    /// Another program took over the lock before anything was written: to a program that cannot see this process, the
    /// lock looks stale (store H3).
    #[error("{}: another program took over the lock. Nothing was written; try again when its run ends.", .path.display())]
    LockLost { path: PathBuf },
    /// The system did not write all lines.
    #[error("{}: cannot write the file: {source}. {}", .path.display(), restored_text(*.restored))]
    Write {
        path: PathBuf,
        source: io::Error,
        /// Whether the file was restored.
        restored: bool,
    },
    /// Another program wrote at the same moment, without the lock (store H10).
    #[error("{}: another program wrote at the same moment. No line is lost, but the branch written last is active. Reload the session and check that it is the one you want.", .path.display())]
    Interleaved { path: PathBuf },
    /// The rest of an interrupted commit was appended and did not read back, so it was taken back.
    #[error("{}: the file contains {written} of {bytes} bytes of an interrupted commit, and with the rest of them it does not read back as planned. {} If the file is right as it is, delete the journal beside it.", .path.display(), restored_text(*.restored))]
    NotFinished {
        path: PathBuf,
        /// Bytes of the commit in the file.
        written: Bytes,
        /// Bytes of the commit in total.
        bytes: Bytes,
        /// Whether the file was restored.
        restored: bool,
    },
    /// The lines read back differ from the plan.
    #[error("{}: the written entries differ from the plan ({what}). {}", .path.display(), restored_text(*.restored))]
    NotVerified {
        path: PathBuf,
        what: Difference,
        /// Whether the file was restored.
        restored: bool,
    },
}

fn restored_text(restored: bool) -> &'static str {
    if restored {
        "The file is the same as before."
    } else {
        "The appended part could not be removed: every old byte is intact, but the file may end with a part \
         of the commit. `clawscope doctor --repair` finishes it."
    }
}
