//! Requests to write: the changes, and the transcript that they concern.

use schemars::JsonSchema;
use serde::Serialize;

use crate::ids::EntryIx;
use crate::js::{JsString, Value};
use crate::plan::EntryChange;
use crate::policy::compact::FileLists;
use crate::store::index::Index;
use crate::store::source::Source;
use crate::transcript::{Leaf, Tree};
use crate::units::{Moment, Tokens};

/// A transcript's status in the store (store F, G).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptStatus {
    /// A row of `sessions.json` names it, or it is one of pi's own files, which need no row.
    Referenced,
    /// No row names it (store G1); writing needs permission (G3).
    Orphan,
    /// A reset or a deletion archived it (store F1); never written to.
    Archive,
}

/// A loaded transcript, and its status.
#[derive(Debug, Clone, Copy)]
pub struct TranscriptInput<'a> {
    pub index: &'a Index,
    pub tree: &'a Tree,
    /// Source of the bytes.
    pub source: &'a Source,
    pub status: TranscriptStatus,
    /// Writes to an orphan too.
    pub allow_orphan: bool,
}

/// The origin of a commit. Its record in the file keeps it.
#[derive(Debug, Clone, PartialEq)]
pub struct CommitProvenance {
    /// The policies that changed something, in the order they ran.
    pub policies: Vec<PolicyRecord>,
    /// Estimated tokens of the context before.
    pub tokens_before: u64,
    /// Estimated tokens of the context after.
    pub tokens_after: u64,
    /// Tokens of the next prompt before and after, as the person saw them: in the provider's count where it is known.
    pub prompt_tokens: (u64, u64),
    /// Name and version of the program that writes.
    pub tool: String,
}

/// One policy of a commit.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyRecord {
    #[serde(rename = "policy")]
    pub name: String,
    /// The settings it ran with.
    pub settings: Value,
    /// Estimated tokens of its input messages; null where the record does not say.
    #[schemars(with = "Option<f64>")]
    pub tokens_before: Tokens,
    /// Estimated tokens of its output messages; null where the record does not say.
    #[schemars(with = "Option<f64>")]
    pub tokens_after: Tokens,
}

/// A compaction to end the branch with (compaction 3.21). Its summary exists already: `commit` calls no model.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedCompaction {
    /// The whole summary with all its appendices; not blank.
    pub summary: JsString,
    /// The first kept entry, on the active path.
    pub first_kept: EntryIx,
    /// Tokens of the context before (compaction 3.9).
    pub tokens_before: Tokens,
    /// The file lists that the next compaction continues.
    pub details: Option<FileLists>,
    /// Stores it as made by an extension: the next compaction does not take over its file lists (compaction 3.13).
    pub from_hook: bool,
}

/// The form in which a plan's changes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CommitMethod {
    /// A branch: the path is copied from the first change on. Every runtime reads it.
    #[default]
    Branch,
    /// One `context_edit` for each change, on the active branch: nothing is copied and all ids stay. Only pi from 0.87
    /// on reads it (store-pi-1.5 K10).
    Edits,
    /// One entry after another leaf, which makes that branch the active one.
    Switch,
}

impl CommitMethod {
    /// The word used on screen and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Branch => "branch",
            Self::Edits => "context_edit",
            Self::Switch => "switch",
        }
    }
}

/// A plan's changes to write as a new branch, or a compaction to append to the active one, or both.
#[derive(Debug, Clone)]
pub struct CommitRequest<'a> {
    pub transcript: TranscriptInput<'a>,
    /// The leaf that the plan was made for. Only [`Leaf::Own`] can be written.
    pub leaf: &'a Leaf,
    /// Changed messages, in any order.
    pub changes: Vec<EntryChange>,
    /// Messages that leave the context.
    pub omitted: Vec<EntryIx>,
    pub method: CommitMethod,
    /// The compaction after the changes.
    pub compaction: Option<PlannedCompaction>,
    pub provenance: CommitProvenance,
    /// Time of writing.
    pub now_ms: Moment,
}

/// A request to make the branch of an entry active (store K1).
#[derive(Debug, Clone)]
pub struct BranchRequest<'a> {
    pub transcript: TranscriptInput<'a>,
    /// The entry that the branch ends with.
    pub leaf: EntryIx,
    pub provenance: CommitProvenance,
    /// Time of writing.
    pub now_ms: Moment,
}

/// The record to undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndoTarget {
    /// The last commit on the active branch.
    LastCommit,
    /// The last undo on the active branch: a redo.
    LastUndo,
    /// The commit or undo with this entry id, on the active branch.
    Entry(String),
}

/// A request to make an earlier branch active again (store K1).
#[derive(Debug, Clone)]
pub struct UndoRequest<'a> {
    pub transcript: TranscriptInput<'a>,
    pub target: UndoTarget,
    /// Name and version of the program that writes.
    pub tool: String,
    /// Time of writing.
    pub now_ms: Moment,
}
