//! What to write to which session: the values that the checks and the commit itself go by.

use crate::commit::UndoTarget;
use crate::plan::{CompactionSummary, Plan};
use crate::session::LoadedSession;

/// What is to be written to a session.
#[derive(Debug, Clone)]
pub enum WriteAction<'a> {
    /// A plan as a new branch; of a compaction alone, as the entry that ends the active one.
    Commit {
        /// The plan.
        plan: &'a Plan,
        /// What its compaction is written with. Without one a plan that compacts is refused: a summary that was not
        /// made, or failed, changes no file.
        summary: Option<&'a CompactionSummary>,
    },
    /// An earlier branch as the active one.
    Undo(UndoTarget),
}

/// A session and what is to be written to it.
#[derive(Debug, Clone)]
pub struct WriteRequest<'a> {
    /// The session, at its own leaf.
    pub session: &'a LoadedSession,
    /// What is to be written.
    pub action: WriteAction<'a>,
    /// Write to a transcript that no row names (store G3).
    pub allow_orphan: bool,
    /// Time of the new entries, ms since 1970.
    pub now_ms: i64,
}
