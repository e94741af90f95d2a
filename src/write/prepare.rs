//! Turns a plan or an undo into the entries to append, and refuses changes that no transcript can hold.

use crate::commit::{
    BranchRequest, CommitMethod, CommitRequest, PlannedCompaction, PreparedCommit, RandomIds, Refusal,
    TranscriptInput, TranscriptStatus, UndoRequest,
};
use crate::gateway::ruleset::{ReadMode, Ruleset};
use crate::ids::EntryIx;
use crate::js;
use crate::plan::{
    CompactionSummary, EntryChange, Plan, UnwritableChanges, entry_changes, omitted_positions,
};
use crate::policy::compact::stored_summary;
use crate::session::{LoadedSession, ManualChange, Mark};
use crate::store::index::Index;
use crate::store::measure::prune_chars;
use crate::store::source::Source;
use crate::store::sqlite::database_of;
use crate::text::shell;
use crate::transcript::Tree;
use crate::units::Chars;
use crate::write::action::{WriteAction, WriteRequest};
use crate::write::commit_record::{TOOL_VERSION, manual_provenance, provenance};
use crate::write::drop::DropPlan;
use crate::write::error::WriteError;

/// Prepares the entries to append. Writes nothing.
pub fn prepare(request: &WriteRequest<'_>) -> Result<PreparedCommit, WriteError> {
    prepare_on(request, None)
}

/// Prepares the plan for its session, or for the transcript that this has grown to.
pub(super) fn prepare_on(
    request: &WriteRequest<'_>,
    grown: Option<(&Index, &Tree, &Source)>,
) -> Result<PreparedCommit, WriteError> {
    let session = request.session;
    if let Some(refusal) = refuse_database(request) {
        return Err(refusal.into());
    }
    let (status, allow_orphan) = (session_standing(session), request.allow_orphan);
    let (index, tree, source) = grown.unwrap_or((&session.index, &session.tree, &session.source));
    let transcript = TranscriptInput { index, tree, source, status, allow_orphan };
    let new_ids = &mut RandomIds::default();
    match &request.action {
        WriteAction::Undo(target) => {
            let undo = UndoRequest {
                transcript,
                target: target.clone(),
                tool: TOOL_VERSION.to_owned(),
                now_ms: request.now_ms,
            };
            Ok(crate::commit::prepare_undo(&undo, new_ids)?)
        }
        WriteAction::ByHand(change @ ManualChange::Branch(leaf)) => {
            let provenance = manual_provenance(session, change);
            let branch = BranchRequest { transcript, leaf: *leaf, provenance, now_ms: request.now_ms };
            Ok(crate::commit::prepare_branch(&branch, new_ids)?)
        }
        WriteAction::ByHand(change @ ManualChange::Drop(entries)) => {
            let plan = DropPlan::new(session, entries);
            let commit = CommitRequest {
                transcript,
                leaf: &session.leaf,
                provenance: manual_provenance(session, change),
                changes: plan.entry_changes(session)?,
                omitted: plan.omitted,
                method: write_method(session.ruleset.id),
                compaction: None,
                now_ms: request.now_ms,
            };
            Ok(crate::commit::prepare(&commit, new_ids)?)
        }
        WriteAction::Commit { plan, summary } => {
            let way = write_method(session.ruleset.id);
            let what = UnwritableChanges::of(plan, &session.context);
            let what = if way == CommitMethod::Edits { what.allowing_context_edits() } else { what };
            if !what.is_empty() {
                return Err(WriteError::NotStorable {
                    path: session.source.path().to_path_buf(),
                    reason: what,
                });
            }
            let commit = CommitRequest {
                transcript,
                leaf: &session.leaf,
                changes: checked_changes(session, plan)?,
                omitted: omitted_entries(session, plan, way),
                method: way,
                compaction: planned_compaction(session, plan, *summary)?,
                provenance: provenance(request.session, plan, *summary),
                now_ms: request.now_ms,
            };
            Ok(crate::commit::prepare(&commit, new_ids)?)
        }
    }
}

/// Refuses to write to a database, and names the command with the same effect (sqlite J3, J4). An archive is refused
/// later, like any other.
fn refuse_database(request: &WriteRequest<'_>) -> Option<Refusal> {
    let session = request.session;
    let path = session.source.path();
    if database_of(path).is_none() || session_standing(session) == TranscriptStatus::Archive {
        return None;
    }
    let key = &session.item.key.0;
    let call = |method: &str, params: &[(&str, &str)]| {
        let params = js::stringify(&js::Value::Object(params.iter().copied().collect()));
        format!("`openclaw gateway call {method} --params {}`", shell::word(&params))
    };
    let instead = match &request.action {
        WriteAction::Commit { plan, .. } => {
            let compacts = call("sessions.compact", &[("key", key)]);
            let compacts =
                plan.compaction.map(|_| format!(" A running gateway compacts it with {compacts}."));
            let policies: Vec<&str> = plan.effects.iter().map(|effect| effect.policy.word()).collect();
            format!(
                "Set the same in openclaw.json (`clawscope explain` prints a patch), or export the planned branch as a \
                 separate transcript: `clawscope export {} --format pi --policy {} --out branch.jsonl`.{}",
                shell::word(key),
                policies.join(","),
                compacts.unwrap_or_default()
            )
        }
        WriteAction::ByHand(ManualChange::Drop(_)) => {
            let rewind = call("sessions.compact", &[("key", key)]);
            format!("A running gateway compacts the session with {rewind}; or start a new session with /new.")
        }
        WriteAction::Undo(_) | WriteAction::ByHand(ManualChange::Branch(_)) => format!(
            "A running gateway switches branches with {}; `clawscope tree --json` lists them.",
            call("sessions.branches.switch", &[("sessionKey", key), ("leafEntryId", "…")])
        ),
    };
    Some(Refusal::Database { path: path.to_path_buf(), instead })
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

fn session_standing(loaded: &LoadedSession) -> TranscriptStatus {
    let session = &loaded.item;
    // No program reads a file any more once its entries are in a database.
    let put_away = [Mark::Reset, Mark::Deleted, Mark::Backup, Mark::Imported];
    if put_away.into_iter().any(|mark| session.has(mark)) {
        TranscriptStatus::Archive
    } else if session.has(Mark::Orphan) || session.has(Mark::NotImported) {
        TranscriptStatus::Orphan
    } else {
        TranscriptStatus::Referenced
    }
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
