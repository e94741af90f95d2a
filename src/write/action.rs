//! The write that a person requests; the input of the checks and of the commit.

use crate::commit::UndoTarget;
use crate::plan::{CompactionSummary, Plan};
use crate::session::{LoadedSession, ManualChange};
use crate::units::Moment;

#[derive(Debug, Clone)]
pub enum WriteAction<'a> {
    /// Writes a plan as a new branch or as context edits. A plan that only compacts appends its compaction to the
    /// active branch.
    Commit {
        /// The plan to write.
        plan: &'a Plan,
        /// The summary for the plan's compaction. A plan that compacts is refused without one, so that a summary that
        /// failed changes no file.
        summary: Option<&'a CompactionSummary>,
    },
    /// Writes a change that a person chose, and no policy.
    ByHand(&'a ManualChange),
    /// Makes an earlier branch the active one.
    Undo(UndoTarget),
}

#[derive(Debug, Clone)]
pub struct WriteRequest<'a> {
    /// The session, at its own leaf.
    pub session: &'a LoadedSession,
    pub action: WriteAction<'a>,
    /// Whether to write to a transcript that no session record names (store G3).
    pub allow_orphan: bool,
    /// Time of the new entries.
    pub now_ms: Moment,
}
