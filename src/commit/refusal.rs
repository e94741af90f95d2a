//! The reasons not to write, each with the file and a remedy; and the errors once writing has begun.

use std::io;
use std::path::{Path, PathBuf};

use crate::js;
use crate::store::body::BodyError;

/// A reason to leave a session file unchanged (store P1, H, J). Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("{}: is held in memory, not in a file. Copy the session to a file and open that.", .path.display())]
    InMemory { path: PathBuf },
    /// The transcript is in a database, to which only its gateway writes (sqlite J3).
    #[error("{}: is in the gateway's own database: what it claims, indexes and remembers there would be left wrong by any other program, so nothing is written. {instead}", .path.display())]
    Database {
        path: PathBuf,
        /// An action with the same result.
        instead: String,
    },
    #[error("{}: cannot be looked at: {source}. Check that it exists and that you may read it.", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// The path is a directory, a device or a pipe.
    #[error("{}: is not a regular file. Name the transcript itself.", .path.display())]
    NotRegular { path: PathBuf },
    /// A symbolic link may lead out of the store.
    #[error("{}: is a symbolic link. Open the file it leads to.", .path.display())]
    Symlink { path: PathBuf },
    #[error("{}: is read-only. Give yourself permission to write it, or commit to a copy.", .path.display())]
    ReadOnly { path: PathBuf },
    /// A reset or a deletion archived the file.
    #[error("{}: is an archive, which no program reads any more. Copy it to a session first.", .path.display())]
    Archive { path: PathBuf },
    /// No row of the store names the file.
    #[error("{}: no row of the session store names this file, so no program would read the branch. Allow orphans to write all the same.", .path.display())]
    Orphan { path: PathBuf },
    /// The first line that parses is not a header.
    #[error("{}: has no session header, so the runtime would empty it. Restore the header from a backup first.", .path.display())]
    NoHeader { path: PathBuf },
    /// The version is not 3.
    #[error("{}: is of transcript version {}, and only version 3 is written. {}", .path.display(), js::number_text(*.version), version_advice(*.version))]
    Version { path: PathBuf, version: f64 },
    #[error("{}: the parents of entry {entry} lead in a circle. Repair the file in a copy first.", .path.display())]
    Cycle { path: PathBuf, entry: String },
    /// A line is not JSON, or the runtime cannot open it.
    #[error("{}{}: the line cannot be read, and the runtime may rewrite the file because of it. Remove it in a copy first.", .path.display(), line_text(*.line))]
    UnparsableLine { path: PathBuf, line: Option<u64> },
    #[error("{}: the last line has no line end, so a program is writing right now or was cut off. Wait for it; if nothing writes, add the line end.", .path.display())]
    UnterminatedLine { path: PathBuf },
    /// The file ends in a part of an interrupted commit.
    #[error("{}: {what}. {}", .path.display(), SETTLE)]
    InterruptedCommit {
        path: PathBuf,
        /// The interrupted commit and its extent.
        what: String,
    },
    /// An interrupted commit was just finished or rolled back: the file differs from the one that was read.
    #[error("{}: {what} Reload the session and make the plan anew.", .path.display())]
    JustRecovered {
        path: PathBuf,
        /// The recovery and its outcome.
        what: String,
    },
    /// The file has no assistant message (store M5).
    #[error("{}: holds no assistant message yet, and the runtime erases such a file when it runs. Wait for the first answer.", .path.display())]
    NoAssistant { path: PathBuf },
    /// A message entry on the branch has no message.
    #[error("{}: an entry on the active branch has no message, so no context can be built from it. Repair the file in a copy first.", .path.display())]
    NoContext { path: PathBuf },
    /// The plan was made for another leaf.
    #[error("{}: the plan is for an earlier entry, and only the session's own leaf can be committed to. Go back to the last entry.", .path.display())]
    LeafNotOwn { path: PathBuf },
    /// The last line has no id for a child to name.
    #[error("{}: the last line has no id, so nothing can follow it. Repair the file in a copy first.", .path.display())]
    NoLeaf { path: PathBuf },
    /// A changed entry is not on the active branch.
    #[error("{}: entry {entry} is not on the active branch. Make the plan anew.", .path.display())]
    NotOnPath { path: PathBuf, entry: String },
    /// The change touches more than the content of a message.
    #[error("{}: entry {entry} would change in more than the content of its message (`details` may go), which is all that is written. Make the plan anew.", .path.display())]
    NotOnlyContent { path: PathBuf, entry: String },
    /// The runtime does not edit messages of this kind (store-pi-1.5 K4).
    #[error("{}: entry {entry} would change, and the runtime edits only messages of a user, the model, a tool or an extension. Take the step that changes it out of the plan.", .path.display())]
    NotEditable { path: PathBuf, entry: String },
    /// A message would leave the context, and the file's runtime has no entry for that.
    #[error("{}: entry {entry} would leave the context, which a branch for this runtime cannot say. Take the step that drops it out of the plan.", .path.display())]
    CannotOmit { path: PathBuf, entry: String },
    /// The compaction has no summary to replace the removed messages.
    #[error("{}: the summary is empty, so everything it stands for would be lost. Make it anew.", .path.display())]
    NoSummary { path: PathBuf },
    /// The first kept entry has no id to name it by (compaction 3.1).
    #[error("{} line {line}: the first entry that the compaction keeps has no id. Keep another number of recent tokens.", .path.display())]
    FirstKeptWithoutId { path: PathBuf, line: u64 },
    /// The runtime fails whenever it appends to such a file (compaction 3.22).
    #[error("{}: an entry without a message stands before the first answer, and the runtime fails on it when it appends a compaction. Repair the file in a copy first.", .path.display())]
    CannotAppend { path: PathBuf },
    /// No stored entry would differ.
    #[error("{}: the plan changes nothing, so there is nothing to write. Move a threshold first.", .path.display())]
    NothingToWrite { path: PathBuf },
    #[error("{}: is locked by {}{}. Wait until its run is over, then try again.", .path.display(), pid_text(*.pid), since_text(*.since_ms))]
    Locked {
        path: PathBuf,
        /// The holder's process id, if the lock names it.
        pid: Option<u32>,
        /// Start of the lock, ms since 1970, if the lock names it.
        since_ms: Option<i64>,
    },
    #[error("{}: {what} since it was read. Reload the session and make the plan anew.", .path.display())]
    FileChanged {
        path: PathBuf,
        /// The difference.
        what: &'static str,
    },
    /// Two lines have the id of an entry on the branch.
    #[error("{} lines {first} and {second}: both have the id {id}, so a parent would be ambiguous. Remove one in a copy first.", .path.display())]
    DuplicateId { path: PathBuf, id: String, first: u64, second: u64 },
    /// A tool call would lose its result, or a result its call (store P5).
    #[error("{}: the branch would hold {what}, which providers refuse. Make the plan anew.", .path.display())]
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
    #[error("{}: the active branch holds no {what} to take back.", .path.display())]
    NothingToUndo {
        path: PathBuf,
        /// `commit` or `undo`, or the requested record.
        what: String,
    },
    /// The active branch does not descend from the commit.
    #[error("{}: the active branch does not come from {commit}: it was undone, or another branch was made active since. `clawscope commits` tells what is in force.", .path.display())]
    NotActive { path: PathBuf, commit: String },
    /// The leaf that a commit left is no longer in the file.
    #[error("{}: entry {entry}, where {commit} came from, is not in the file any more. The file was rewritten; there is nothing to go back to.", .path.display())]
    LeafGone { path: PathBuf, entry: String, commit: String },
}

/// The remedy for an interrupted commit.
pub(super) const SETTLE: &str = "`clawscope doctor --repair` finishes it or takes it back.";

fn version_advice(version: f64) -> &'static str {
    if version > 3.0 {
        "It is newer than this program knows."
    } else {
        "Open it once with the runtime, which upgrades it."
    }
}

fn line_text(line: Option<u64>) -> String {
    line.map_or_else(String::new, |line| format!(" line {line}"))
}

fn pid_text(pid: Option<u32>) -> String {
    pid.map_or_else(|| "an unknown process".to_owned(), |pid| format!("process {pid}"))
}

fn since_text(since_ms: Option<i64>) -> String {
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

/// A reason that a prepared branch is missing from the file or damaged.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The lock file could not be created. Nothing was written.
    #[error("{}: the lock cannot be taken: {source}. Check that you may write to this folder.", .path.display())]
    Lock { path: PathBuf, source: io::Error },
    /// The journal could not be written, read or removed. The transcript was not touched.
    #[error("{}: the journal of the commit beside it cannot be kept: {source}. Nothing was written. Check the room on the disk, and that you may write to this folder.", .path.display())]
    Journal { path: PathBuf, source: io::Error },
    /// Another program took over the lock before anything was written: to a program that cannot see this process, the
    /// lock looks stale (store H3).
    #[error("{}: another program took the lock over. Nothing was written; try again when its run is over.", .path.display())]
    LockLost { path: PathBuf },
    /// The system did not write all lines.
    #[error("{}: could not be written: {source}. {}", .path.display(), restored_text(*.restored))]
    Write {
        path: PathBuf,
        source: io::Error,
        /// Whether the file was restored.
        restored: bool,
    },
    /// Another program wrote at the same moment, without the lock (store H10).
    #[error("{}: another program wrote to it in the same moment. Nothing is lost: every line is in the file, but the active branch is the one written last. Reload the session and look which one you want.", .path.display())]
    Interleaved { path: PathBuf },
    /// The lines read back differ from the plan.
    #[error("{}: what was read back is not what was planned ({what}). {}", .path.display(), restored_text(*.restored))]
    NotVerified {
        path: PathBuf,
        /// The difference.
        what: String,
        /// Whether the file was restored.
        restored: bool,
    },
}

fn restored_text(restored: bool) -> &'static str {
    if restored {
        "The file is as it was before."
    } else {
        "What was added could not be taken back: every old byte is there, but a part of the commit may stand at the end of the file. `clawscope doctor --repair` settles it."
    }
}
