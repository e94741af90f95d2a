//! What someone asks to be written, and about which session.

use crate::ids::EntryIx;
use crate::js::{JsString, Value};
use crate::plan::EntryChange;
use crate::policy::compact::FileLists;
use crate::store::index::Index;
use crate::store::source::Source;
use crate::transcript::{Leaf, Tree};

/// How the store holds the transcript (store F, G).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptStatus {
    /// A row of `sessions.json` names it, or it is one of pi's own files, which need no row.
    Referenced,
    /// No row names it (store G1); written to only when that is allowed (G3).
    Orphan,
    /// It was put away by a reset or a deletion (store F1); never written to.
    Archive,
}

/// One transcript as it was read, and how the store holds it.
#[derive(Debug, Clone, Copy)]
pub struct TranscriptInput<'a> {
    /// What is known of its entries.
    pub index: &'a Index,
    /// Their tree.
    pub tree: &'a Tree,
    /// Where their bytes are.
    pub source: &'a Source,
    /// How the store holds it.
    pub status: TranscriptStatus,
    /// Write to an orphan all the same.
    pub allow_orphan: bool,
}

/// Where a commit comes from; kept in its record, so that the file itself tells what was done.
#[derive(Debug, Clone, PartialEq)]
pub struct CommitProvenance {
    /// The steps that changed something, in the order they were taken.
    pub policies: Vec<PolicyRecord>,
    /// Estimated tokens of the context before.
    pub tokens_before: u64,
    /// Estimated tokens of the context after.
    pub tokens_after: u64,
    /// Name and version of the program that writes.
    pub tool: String,
}

/// One step of a commit.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyRecord {
    /// The policy, by its own name.
    pub name: String,
    /// The settings it ran with.
    pub settings: Value,
    /// Estimated tokens of the messages it was given; NaN where the record does not tell.
    pub tokens_before: f64,
    /// Estimated tokens of the messages it left; NaN where the record does not tell.
    pub tokens_after: f64,
}

/// A compaction that is to end the branch (compaction 3.21). Its summary was made before: nothing here asks a model.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedCompaction {
    /// The whole summary, with everything that is appended to it; not blank.
    pub summary: JsString,
    /// The first entry that is kept, on the active path.
    pub first_kept: EntryIx,
    /// Tokens of the context before (compaction 3.9).
    pub tokens_before: f64,
    /// The file lists, for the next compaction to go on from.
    pub details: Option<FileLists>,
    /// It is stored as one that an extension made: the next one does not take over its file lists
    /// (compaction 3.13).
    pub from_hook: bool,
}

/// How a plan's changes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CommitMethod {
    /// A branch: the path is copied from the first change on. Every runtime reads it.
    #[default]
    Branch,
    /// One `context_edit` for each change, on the active branch: nothing is copied, every id stays. Only pi from 0.87 on
    /// reads it (store-pi-1.5 K10).
    Edits,
}

impl CommitMethod {
    /// The word used on screen and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Branch => "branch",
            Self::Edits => "context_edit",
        }
    }
}

/// A plan's changes, to be written as a new branch, or a compaction to be added to the active one, or both.
#[derive(Debug, Clone)]
pub struct CommitRequest<'a> {
    /// The session.
    pub transcript: TranscriptInput<'a>,
    /// The leaf the plan was made for. Only [`Leaf::Own`] can be written.
    pub leaf: &'a Leaf,
    /// Messages that change, in any order.
    pub changes: Vec<EntryChange>,
    /// Messages that leave the context; only [`CommitMethod::Edits`] can write that.
    pub omitted: Vec<EntryIx>,
    /// How the changes are written.
    pub method: CommitMethod,
    /// The compaction that follows them.
    pub compaction: Option<PlannedCompaction>,
    /// Where the plan comes from.
    pub provenance: CommitProvenance,
    /// Time of writing, ms since 1970.
    pub now_ms: i64,
}

/// Which of our own entries is undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndoTarget {
    /// The last commit on the active branch.
    LastCommit,
    /// The last undo on the active branch: a redo.
    LastUndo,
    /// The commit or undo with this entry id, on the active branch.
    Entry(String),
}

/// An earlier branch, to be made active again (store K1).
#[derive(Debug, Clone)]
pub struct UndoRequest<'a> {
    /// The session.
    pub transcript: TranscriptInput<'a>,
    /// What is undone.
    pub target: UndoTarget,
    /// Name and version of the program that writes.
    pub tool: String,
    /// Time of writing, ms since 1970.
    pub now_ms: i64,
}
