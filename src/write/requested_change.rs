//! The changes that a request makes to a branch, read from the transcript in the form in which they are written.

use crate::commit::{
    CommitMethod, CommitProvenance, CommitRequest, PlannedCompaction, Refusal, TranscriptInput, UndoTarget,
};
use crate::gateway::ruleset::{ReadMode, Ruleset};
use crate::ids::EntryIx;
use crate::js;
use crate::plan::{
    CompactionSummary, EntryChange, Plan, UnwritableChanges, entry_changes, omitted_positions,
};
use crate::policy::compact::stored_summary;
use crate::session::{LoadedSession, ManualChange};
use crate::store::measure::prune_chars;
use crate::transcript::Leaf;
use crate::units::{Chars, Moment};
use crate::write::commit_record::{manual_provenance, provenance};
use crate::write::drop::DropPlan;
use crate::write::error::WriteError;

/// The changes that a request makes to the branch, in the form in which they are written.
#[derive(Debug)]
pub(super) struct RequestedChange {
    pub changes: Vec<EntryChange>,
    pub omitted: Vec<EntryIx>,
    pub method: CommitMethod,
    pub compaction: Option<PlannedCompaction>,
    pub provenance: CommitProvenance,
}

impl RequestedChange {
    /// Reads the changes of a plan, or of messages that a person leaves out.
    pub(super) fn of(request: &WriteRequest<'_>) -> Result<Self, WriteError> {
        let session = request.session;
        let method = write_method(session.ruleset.id);
        match &request.action {
            WriteAction::Commit { plan, summary } => Self::of_plan(session, plan, *summary, method),
            WriteAction::ByHand(change) => {
                let dropped = match change {
                    ManualChange::Drop(entries) => entries.as_slice(),
                    ManualChange::Branch(_) => &[],
                };
                let plan = DropPlan::new(session, dropped);
                Ok(Self {
                    provenance: manual_provenance(session, change),
                    changes: plan.entry_changes(session)?,
                    omitted: plan.omitted,
                    method,
                    compaction: None,
                })
            }
            WriteAction::Undo(_) => {
                let path = session.source.path().to_path_buf();
                Err(Refusal::NothingToWrite { path }.into())
            }
        }
    }

    fn of_plan(
        session: &LoadedSession,
        plan: &Plan,
        summary: Option<&CompactionSummary>,
        method: CommitMethod,
    ) -> Result<Self, WriteError> {
        let what = UnwritableChanges::of(plan, &session.context);
        let what = if method == CommitMethod::Edits { what.allowing_context_edits() } else { what };
        if !what.is_empty() {
            return Err(WriteError::NotStorable { path: session.source.path().to_path_buf(), reason: what });
        }
        Ok(Self {
            changes: checked_changes(session, plan)?,
            omitted: omitted_entries(session, plan, method),
            method,
            compaction: planned_compaction(session, plan, summary)?,
            provenance: provenance(session, plan, summary),
        })
    }

    pub(super) fn into_request<'a>(
        self,
        transcript: TranscriptInput<'a>,
        leaf: &'a Leaf,
        now_ms: Moment,
    ) -> CommitRequest<'a> {
        let Self { changes, omitted, method, compaction, provenance } = self;
        CommitRequest { transcript, leaf, changes, omitted, method, compaction, provenance, now_ms }
    }
}

/// Chooses context edits where the runtime reads them, else a branch of copies.
fn write_method(ruleset: Ruleset) -> CommitMethod {
    match ruleset.rules().read_mode {
        ReadMode::Entries => CommitMethod::Branch,
        ReadMode::Projected => CommitMethod::Edits,
    }
}

/// Returns the messages that a plan drops without a compaction, if the method can write that.
fn omitted_entries(session: &LoadedSession, plan: &Plan, way: CommitMethod) -> Vec<EntryIx> {
    let left = || omitted_positions(plan, &session.context);
    let entry = |at: usize| session.context.messages[at].entry;
    if way == CommitMethod::Edits { left().into_iter().map(entry).collect() } else { Vec::new() }
}

/// Combines a plan's compaction with its summary.
fn planned_compaction(
    session: &LoadedSession,
    plan: &Plan,
    summary: Option<&CompactionSummary>,
) -> Result<Option<PlannedCompaction>, WriteError> {
    let Some(preparation) = &plan.compaction else { return Ok(None) };
    let missing = || WriteError::NoSummary { path: session.source.path().to_path_buf() };
    let summary = summary.ok_or_else(missing)?;
    Ok(Some(PlannedCompaction {
        summary: stored_summary(session.ruleset.id.rules(), &summary.text),
        first_kept: preparation.first_kept,
        tokens_before: preparation.tokens_before,
        details: summary.details.clone(),
        from_hook: summary.from_hook,
    }))
}

/// Returns the changed messages, and checks that each has its planned size.
fn checked_changes(session: &LoadedSession, plan: &Plan) -> Result<Vec<EntryChange>, WriteError> {
    let (index, context) = (&session.index, &session.context);
    let changes = entry_changes(&session.source, index, context, plan)?;
    for (change, (at, made)) in changes.iter().zip(plan.rewritten()) {
        let planned = made.size(&context.messages[at].size).prune_chars.value();
        let found = prune_chars(&change.message);
        if planned != found {
            let text = |size: Result<Chars, js::JsException>| {
                size.map_or_else(|_| "no".into(), |chars| js::number_text(chars.get()))
            };
            return Err(WriteError::SizeMismatch {
                path: session.source.path().to_path_buf(),
                entry: index.display_id(change.entry),
                planned: text(planned),
                found: text(found),
            });
        }
    }
    Ok(changes)
}

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
