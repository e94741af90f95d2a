//! A plan, or an undo, as what a person is asked about before it is written, and told about afterwards.

use std::path::PathBuf;

use crate::commit::{
    Clock, CommitError, CommitMethod, CommitRequest, PlannedCompaction, PreparedCommit, RandomIds,
    ReceiptKind, Refusal, TranscriptInput, TranscriptStatus, UndoRequest,
};
use crate::format::group_digits;
use crate::gateway::ruleset::{ReadMode, Ruleset};
use crate::ids::EntryIx;
use crate::js;
use crate::plan::{
    CompactionSummary, EntryChange, Plan, UnwritableChanges, entry_changes, omitted_positions,
};
use crate::policy::compact::stored_summary;
use crate::session::{LoadedSession, Mark};
use crate::store::body::BodyError;
use crate::store::measure::prune_chars;
use crate::store::sqlite::database_of;
pub use crate::write::action::{WriteAction, WriteRequest};
pub use crate::write::checks::CheckStatus;
use crate::write::checks::run_checks;
use crate::write::commit_record::{TOOL_VERSION, provenance};

/// What a commit or an undo would write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WritePreview {
    /// The transcript.
    pub path: PathBuf,
    /// Bytes of it now.
    pub bytes: u64,
    /// Entries that would be appended.
    pub entries: usize,
    /// They begin a branch with copies; otherwise the active one goes on.
    pub is_branch: bool,
    /// Messages that get an edit of their own on the active branch; 0 where a branch is copied.
    pub edits: usize,
    /// Which way it is written and why, in a sentence.
    pub method: String,
    /// The entry the new branch starts after; none for a new root.
    pub parent: Option<String>,
    /// The leaf now.
    pub old_leaf: String,
    /// Bytes that would be appended.
    pub appended_bytes: usize,
    /// Checks: passed or not, and the words.
    pub checks: Vec<(CheckStatus, String)>,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteOutcome {
    /// One sentence for the status line.
    pub message: String,
    /// How to take it back, or what to do next.
    pub next_step: String,
}

/// Why nothing is written, or not as planned.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Refused; nothing was touched.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A text the plan changes could not be read again.
    #[error(transparent)]
    Body(#[from] BodyError),
    /// A changed message has another size than the plan says: the text is not what was measured.
    #[error("{}: entry {entry} would have {found} chars and the plan says {planned}. Reload the session; if it happens again, please report it.", .path.display())]
    SizeMismatch {
        /// The transcript.
        path: PathBuf,
        /// The entry.
        entry: String,
        /// Chars by the plan.
        planned: String,
        /// Chars of the message that would be written.
        found: String,
    },
    /// The plan does what no transcript can hold.
    #[error("{}: {}", .path.display(), .reason.describe())]
    NotStorable {
        /// The transcript.
        path: PathBuf,
        /// What.
        reason: UnwritableChanges,
    },
    /// A compaction without a summary.
    #[error("{}: the plan compacts, and no summary was made yet. Make one first; nothing is written without it.", .path.display())]
    NoSummary {
        /// The transcript.
        path: PathBuf,
    },
    /// Writing failed.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

impl WriteError {
    /// Whether it was refused before anything was tried (exit code 4).
    pub fn is_refusal(&self) -> bool {
        !matches!(self, Self::Commit(error) if !matches!(error, CommitError::Refused(_)))
    }
}

/// Says what would be appended. Writes nothing.
pub fn prepare(request: &WriteRequest<'_>) -> Result<PreparedCommit, WriteError> {
    let session = request.session;
    if let Some(refusal) = refuse_database(request) {
        return Err(refusal.into());
    }
    let transcript = TranscriptInput {
        index: &session.index,
        tree: &session.tree,
        source: &session.source,
        status: session_standing(session),
        allow_orphan: request.allow_orphan,
    };
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
                provenance: provenance(plan, *summary),
                now_ms: request.now_ms,
            };
            Ok(crate::commit::prepare(&commit, new_ids)?)
        }
    }
}

/// Into a database nothing is written, whatever it is; what leads to the same is told (sqlite J3, J4). An archive is refused as
/// any other.
fn refuse_database(request: &WriteRequest<'_>) -> Option<Refusal> {
    let session = request.session;
    let path = session.source.path();
    if database_of(path).is_none() || session_standing(session) == TranscriptStatus::Archive {
        return None;
    }
    let key = &session.item.key.0;
    let call = |method: &str, params: &[(&str, &str)]| {
        let params = js::stringify(&js::Value::Object(params.iter().copied().collect()));
        format!("`openclaw gateway call {method} --params '{params}'`")
    };
    let instead = match &request.action {
        WriteAction::Commit { plan, .. } => {
            let compacts = call("sessions.compact", &[("key", key)]);
            let compacts = plan.compaction.map(|_| format!(" A running gateway compacts it by {compacts}."));
            format!(
                "Set the same in openclaw.json: the changed settings can be copied as a patch. Or export the planned branch as a \
                 transcript of its own, in the format `pi`.{}",
                compacts.unwrap_or_default()
            )
        }
        WriteAction::Undo(_) => format!(
            "A running gateway goes to another branch by {}; `clawscope tree --json` lists them.",
            call("sessions.branches.switch", &[("sessionKey", key), ("leafEntryId", "…")])
        ),
    };
    Some(Refusal::Database { path: path.to_path_buf(), instead })
}

/// What a person is asked about. `now_ms` is the time the lock is judged by.
pub fn preview(request: &WriteRequest<'_>, prepared: &PreparedCommit, now_ms: i64) -> WritePreview {
    let session = request.session;
    WritePreview {
        path: prepared.path.to_path_buf(),
        bytes: session.index.end + session.index.pending_bytes,
        entries: prepared.lines.len(),
        is_branch: prepared.is_branch(),
        edits: prepared.edit_count(),
        method: describe_method(session.ruleset.id, prepared),
        parent: prepared.parent.clone(),
        old_leaf: prepared.from_leaf.clone(),
        appended_bytes: prepared.byte_len(),
        checks: run_checks(request, prepared, now_ms),
    }
}

/// How plans are written to sessions of a ruleset's runtime.
fn write_method(ruleset: Ruleset) -> CommitMethod {
    match ruleset.rules().read_mode {
        ReadMode::Entries => CommitMethod::Branch,
        ReadMode::Projected => CommitMethod::Edits,
    }
}

/// Which way something is written, and why.
fn describe_method(ruleset: Ruleset, prepared: &PreparedCommit) -> String {
    let program = ruleset.display_name();
    match (prepared.kind, prepared.edit_count()) {
        (ReceiptKind::Undo, _) => {
            "one entry behind the branch before, which being last makes it the active one".into()
        }
        (ReceiptKind::Commit, 0) if prepared.is_branch() => {
            format!("a branch of copies: {program} reads no edits")
        }
        (ReceiptKind::Commit, 0) => "a compaction, as the runtime's own".into(),
        (ReceiptKind::Commit, _) => {
            format!("one context_edit a message, the way of {program}: nothing is copied, every id stays")
        }
    }
}

/// The messages that leave the context without a compaction, where that can be written.
fn omitted_entries(session: &LoadedSession, plan: &Plan, way: CommitMethod) -> Vec<EntryIx> {
    let left = || omitted_positions(plan, &session.context);
    let entry = |at: usize| session.context.messages[at].entry;
    if way == CommitMethod::Edits { left().into_iter().map(entry).collect() } else { Vec::new() }
}

/// Prepares anew and appends it: the file must still be the one that was read. The lock is tried once.
pub fn write(request: &WriteRequest<'_>, clock: &dyn Clock) -> Result<WriteOutcome, WriteError> {
    let prepared = prepare(request)?;
    let written = crate::commit::write(&prepared, 0, clock)?;
    let entries = match written.lines {
        1 => "1 entry".to_owned(),
        lines => format!("{lines} entries"),
    };
    Ok(match written.receipt.kind {
        ReceiptKind::Commit => WriteOutcome {
            message: format!(
                "{} written: {entries}, {} bytes.",
                match prepared.edit_count() {
                    0 if prepared.is_branch() => "Branch".to_owned(),
                    0 => "Summary".to_owned(),
                    1 => "1 context edit".to_owned(),
                    edits => format!("{edits} context edits"),
                },
                group_digits(written.bytes)
            ),
            next_step: "u takes it back.".to_owned(),
        },
        ReceiptKind::Undo => WriteOutcome {
            message: format!("Back on the branch before ({entries} appended)."),
            next_step: "The branch left stays in the file.".to_owned(),
        },
    })
}

/// The compaction of a plan with the summary that was made for it.
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
    // A file whose entries are in a database is read by no program any more.
    let put_away = [Mark::Reset, Mark::Deleted, Mark::Backup, Mark::Imported];
    if put_away.into_iter().any(|mark| session.has(mark)) {
        TranscriptStatus::Archive
    } else if session.has(Mark::Orphan) || session.has(Mark::NotImported) {
        TranscriptStatus::Orphan
    } else {
        TranscriptStatus::Referenced
    }
}

/// The changed messages, each of the size that the plan promised.
fn checked_changes(session: &LoadedSession, plan: &Plan) -> Result<Vec<EntryChange>, WriteError> {
    let (index, context) = (&session.index, &session.context);
    let changes = entry_changes(&session.source, index, context, plan)?;
    for (change, (at, made)) in changes.iter().zip(plan.rewritten()) {
        let planned = made.size(&context.messages[at].size).prune_chars.value();
        let found = prune_chars(&change.message);
        if planned != found {
            let text =
                |size: Result<f64, js::JsException>| size.map_or_else(|_| "no".into(), js::number_text);
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

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
