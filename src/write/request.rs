//! Prepares and writes a plan or an undo: first a preview to confirm, then the write itself.
//!
//! Both use the same preparation, and the write prepares anew: a file that changed in between is refused, and growth
//! during the write is read ([`super::growth`]).

use std::path::PathBuf;

use crate::commit::{
    Clock, CommitError, CommitMethod, CommitRequest, FollowingEntries, PlannedCompaction, PreparedCommit,
    RandomIds, ReadPrefix, ReceiptKind, Refusal, TranscriptInput, TranscriptStatus, UndoRequest,
};
use crate::format::{format_number, quantity};
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
use crate::text::shell;
pub use crate::write::action::{WriteAction, WriteRequest};
pub use crate::write::checks::CheckStatus;
use crate::write::checks::run_checks;
use crate::write::commit_record::{TOOL_VERSION, provenance};
use crate::write::growth::{GrowingWrite, GrownTranscript, Growth, RETRY_PAUSES_MS};

/// The entries that a commit or an undo would write, and the checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WritePreview {
    pub path: PathBuf,
    /// Current size of the transcript.
    pub bytes: u64,
    /// Number of entries to append.
    pub entries: usize,
    /// Whether the entries begin a branch of copies; otherwise they continue the active branch.
    pub is_branch: bool,
    /// Messages that get a context edit on the active branch; 0 for a branch of copies.
    pub edits: usize,
    /// The method and its reason, in a sentence.
    pub method: String,
    /// The entry after which the new branch starts; `None` for a new root.
    pub parent: Option<String>,
    /// The current leaf.
    pub old_leaf: String,
    pub appended_bytes: usize,
    /// Status and description of each check.
    pub checks: Vec<(CheckStatus, String)>,
}

/// The result of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteOutcome {
    /// One sentence for the status line.
    pub message: String,
    /// The key to undo it, or the next step.
    pub next_step: String,
}

impl WriteOutcome {
    /// Adds a sentence to the message.
    fn with_sentence(mut self, words: &str) -> Self {
        let mut letters = words.chars();
        self.message.push(' ');
        self.message.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        self.message.push_str(letters.as_str());
        self.message.push('.');
        self
    }
}

/// Why nothing is written, or not as planned.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Refused; nothing was touched.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A text that the plan changes could not be read again.
    #[error(transparent)]
    Body(#[from] BodyError),
    /// A changed message has another size than planned: the text is not the one that was measured.
    #[error("{}: entry {entry} would have {found} chars; the plan expects {planned}. Reload the session; if it happens again, please report it.", .path.display())]
    SizeMismatch {
        path: PathBuf,
        entry: String,
        /// Planned chars.
        planned: String,
        /// Chars of the message that would be written.
        found: String,
    },
    /// The plan makes changes that no transcript can hold.
    #[error("{}: {}", .path.display(), .reason.describe())]
    NotStorable {
        path: PathBuf,
        /// The changes that cannot be written.
        reason: UnwritableChanges,
    },
    /// The plan compacts, but has no summary.
    #[error("{}: the plan compacts but has no summary yet. Make the summary first.", .path.display())]
    NoSummary {
        /// The transcript that would be written to.
        path: PathBuf,
    },
    /// Writing failed.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

impl WriteError {
    /// Whether it failed before anything was written (exit code 4). Only a failed write is no refusal.
    pub fn is_refusal(&self) -> bool {
        !matches!(self, Self::Commit(error) if !matches!(error, CommitError::Refused(_)))
    }
}

/// Prepares the entries to append. Writes nothing.
pub fn prepare(request: &WriteRequest<'_>) -> Result<PreparedCommit, WriteError> {
    prepare_on(request, None)
}

/// Prepares the plan for its session, or for the transcript that this has grown to.
pub(super) fn prepare_on(
    request: &WriteRequest<'_>,
    grown: Option<&GrownTranscript>,
) -> Result<PreparedCommit, WriteError> {
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
    let transcript =
        grown.map_or(transcript, |grown| grown.input(transcript.status, transcript.allow_orphan));
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
            format!(
                "Set the same in openclaw.json (copy the changed settings as a patch), or export the planned \
                 branch as a separate transcript in the format `pi`.{}",
                compacts.unwrap_or_default()
            )
        }
        WriteAction::Undo(_) => format!(
            "A running gateway switches branches with {}; `clawscope tree --json` lists them.",
            call("sessions.branches.switch", &[("sessionKey", key), ("leafEntryId", "…")])
        ),
    };
    Some(Refusal::Database { path: path.to_path_buf(), instead })
}

/// Builds the preview to confirm. `now_ms` decides whether the lock is stale.
pub fn preview(request: &WriteRequest<'_>, prepared: &PreparedCommit, now_ms: i64) -> WritePreview {
    preview_after(request, prepared, Growth::default(), now_ms)
}

/// Builds the preview of a write to a session that grew after the request was made.
pub fn preview_after(
    request: &WriteRequest<'_>,
    prepared: &PreparedCommit,
    growth: Growth,
    now_ms: i64,
) -> WritePreview {
    WritePreview {
        path: prepared.path.to_path_buf(),
        bytes: prepared.file_bytes(),
        entries: prepared.lines.len(),
        is_branch: prepared.is_branch(),
        edits: prepared.edit_count(),
        method: describe_method(request.session.ruleset.id, prepared),
        parent: prepared.parent.clone(),
        old_leaf: prepared.from_leaf.clone(),
        appended_bytes: prepared.byte_len(),
        checks: run_checks(request, prepared, growth, now_ms),
    }
}

/// Chooses context edits where the runtime reads them, else a branch of copies.
fn write_method(ruleset: Ruleset) -> CommitMethod {
    match ruleset.rules().read_mode {
        ReadMode::Entries => CommitMethod::Branch,
        ReadMode::Projected => CommitMethod::Edits,
    }
}

fn describe_method(ruleset: Ruleset, prepared: &PreparedCommit) -> String {
    let program = ruleset.display_name();
    match (prepared.kind, prepared.edit_count()) {
        (ReceiptKind::Undo, _) => {
            "appends one entry to the previous branch, which makes that branch active again".into()
        }
        (ReceiptKind::Commit, 0) if prepared.is_branch() => {
            format!("copies entries to a new branch ({program} ignores context edits)")
        }
        (ReceiptKind::Commit, 0) => "appends a compaction, as the runtime does".into(),
        (ReceiptKind::Commit, _) => {
            format!(
                "appends one context_edit for each message, as {program} does; copies nothing, keeps \
                 every id"
            )
        }
    }
}

/// Returns the messages that a plan drops without a compaction, if the method can write that.
fn omitted_entries(session: &LoadedSession, plan: &Plan, way: CommitMethod) -> Vec<EntryIx> {
    let left = || omitted_positions(plan, &session.context);
    let entry = |at: usize| session.context.messages[at].entry;
    if way == CommitMethod::Edits { left().into_iter().map(entry).collect() } else { Vec::new() }
}

/// Prepares anew and appends, so that a file that has changed since the preview is refused; only growth during the write
/// itself is read. Tries the lock once.
pub fn write(request: &WriteRequest<'_>, clock: &dyn Clock) -> Result<WriteOutcome, WriteError> {
    let LoadedSession { source, index, .. } = request.session;
    let is_as_read = source.len().is_ok_and(|bytes| bytes == index.end + index.pending_bytes);
    let read = is_as_read.then(|| ReadPrefix::of(source, index)).flatten();
    let mut growing = GrowingWrite::new(request.clone(), read, &RETRY_PAUSES_MS);
    let (prepared, written) = growing.write(None, clock)?;
    let entries = quantity(written.lines, "entry");
    let outcome = match written.receipt.kind {
        ReceiptKind::Commit => WriteOutcome {
            message: format!(
                "{} written: {entries}, {} bytes.",
                match prepared.edit_count() {
                    0 if prepared.is_branch() => "Branch".to_owned(),
                    0 => "Summary".to_owned(),
                    edits => quantity(edits, "context edit"),
                },
                format_number(written.bytes)
            ),
            next_step: "u undoes it.".to_owned(),
        },
        ReceiptKind::Undo => WriteOutcome {
            message: format!("Back on the previous branch ({entries} appended)."),
            next_step: "The old branch stays in the file.".to_owned(),
        },
    };
    Ok(growing
        .growth()
        .describe()
        .into_iter()
        .chain(written.following.map(describe_following))
        .fold(outcome, |outcome, words| outcome.with_sentence(&words)))
}

/// Describes entries that another program appended right after ours.
pub fn describe_following(following: FollowingEntries) -> String {
    let entries = quantity(following.count, "entry");
    if following.continue_ours {
        format!("another program then appended {entries} to the new branch")
    } else {
        format!("another program then appended {entries} to another branch, which is active now")
    }
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
