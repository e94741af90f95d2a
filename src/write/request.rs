//! Prepares and writes a plan or an undo: first a preview to confirm, then the write itself.
//!
//! Both use the same preparation, and the write prepares again: a file that changed in between is refused, and growth
//! during the write is read ([`super::growth`]).

use std::path::PathBuf;

use crate::commit::{Clock, CommitMethod, FollowingEntries, PreparedCommit, ReadPrefix, ReceiptKind};
use crate::format::{format_number, quantity};
use crate::gateway::env::Environment;
use crate::gateway::programs::find_program;
use crate::gateway::ruleset::Ruleset;
use crate::session::{LoadedSession, ManualChange};
use crate::units::{Bytes, Moment};
pub use crate::write::checks::CheckStatus;
use crate::write::checks::run_checks;
pub use crate::write::drop::ManualEffect;
pub use crate::write::error::WriteError;
use crate::write::growth::{GrowingWrite, Growth, RETRY_PAUSES_MS};
pub use crate::write::growth::{is_in_database, prepare};
use crate::write::new_session::{NewSession, run_import, staging_root};
pub use crate::write::requested_change::{WriteAction, WriteRequest};

/// The entries that a commit or an undo would write, and the checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WritePreview {
    pub path: PathBuf,
    /// Current size of the transcript.
    pub bytes: Bytes,
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
    pub appended_bytes: Bytes,
    /// Status and description of each check.
    pub checks: Vec<(CheckStatus, String)>,
    /// The effect of an undo, or of a change that a person chose.
    pub effect: Option<Box<ManualEffect>>,
    /// The bytes of the file that it was made from, for the write that a person confirms later.
    pub read: Option<ReadPrefix>,
    /// The title of the new session that carries the branch, where only the gateway writes.
    pub new_session: Option<String>,
}

impl WritePreview {
    /// Describes what is appended, and where: `72 entries after 36f2883b, as a new branch`.
    pub fn describe_appended(&self, kind: ReceiptKind) -> String {
        if let Some(title) = &self.new_session {
            return format!("{}, as the new session \"{title}\"", quantity(self.entries as u64, "entry"));
        }
        let place = match kind {
            ReceiptKind::Commit if self.is_branch => "as a new branch",
            ReceiptKind::Commit if self.is_switch() => "which becomes the active branch",
            ReceiptKind::Commit => "on the active branch",
            ReceiptKind::Undo => "on the previous branch",
        };
        let parent = self.parent.as_deref().unwrap_or("the start");
        format!("{} after {parent}, {place}", quantity(self.entries as u64, "entry"))
    }

    /// Whether the write makes another branch active and changes no message.
    pub fn is_switch(&self) -> bool {
        !self.is_branch && self.parent.as_deref() != Some(&self.old_leaf)
    }

    /// Describes what stays as it is.
    pub fn describe_kept(&self, kind: ReceiptKind) -> String {
        if self.new_session.is_some() {
            return "the old session as it is; continue with either".to_owned();
        }
        match (kind, self.is_branch, self.edits) {
            (ReceiptKind::Commit, false, 0) if !self.is_switch() => "every existing byte".to_owned(),
            (ReceiptKind::Commit, false, 1..) => {
                "every byte and every id; undo returns to before the edits".to_owned()
            }
            _ => format!("old branch {}, byte for byte", self.old_leaf),
        }
    }
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

/// Prepares the write and builds the preview to confirm. `now_ms` decides whether the lock is stale.
///
/// # Errors
/// The reason that nothing can be written.
pub fn preview(request: &WriteRequest<'_>, now_ms: Moment) -> Result<WritePreview, WriteError> {
    let LoadedSession { source, index, .. } = request.session;
    if is_in_database(request.session) {
        return Ok(preview_session(request, &NewSession::prepare(request)?, now_ms));
    }
    let prepared = prepare(request)?;
    let read = ReadPrefix::of(source, index);
    Ok(WritePreview { read, ..preview_after(request, &prepared, Growth::default(), now_ms) })
}

/// Builds the preview of a plan that becomes a new session.
pub fn preview_session(request: &WriteRequest<'_>, new: &NewSession, now_ms: Moment) -> WritePreview {
    let shown = preview_after(request, &new.prepared, Growth::default(), now_ms);
    WritePreview {
        entries: new.entry_count(),
        appended_bytes: new.byte_len(),
        parent: None,
        method: "a transcript that openclaw's own importer takes in; clawscope never writes to the database"
            .to_owned(),
        new_session: Some(new.title.clone()),
        ..shown
    }
}

/// Builds the preview of a write to a session that grew after the request was made.
pub fn preview_after(
    request: &WriteRequest<'_>,
    prepared: &PreparedCommit,
    growth: Growth,
    now_ms: Moment,
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
        effect: effect_of(request, prepared).map(Box::new),
        read: None,
        new_session: None,
    }
}

/// The effect of a write that no plan describes. An undo makes the branch of its parent active.
fn effect_of(request: &WriteRequest<'_>, prepared: &PreparedCommit) -> Option<ManualEffect> {
    let session = request.session;
    match &request.action {
        WriteAction::Commit { .. } => None,
        WriteAction::ByHand(change) => Some(ManualEffect::new(session, change)),
        WriteAction::Undo(_) => {
            let leaf = session.tree.find_by_text(&session.index, prepared.parent.as_deref()?)?;
            Some(ManualEffect::new(session, &ManualChange::Branch(leaf)))
        }
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
        (ReceiptKind::Commit, 0) if prepared.method == CommitMethod::Switch => {
            "appends one entry to another branch, which makes that branch active".into()
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

/// Prepares again and appends, so that a file that has changed since the preview is refused; pure growth is read. `read`
/// is that of the preview; without it only growth during the write itself is read. Tries the lock once. A plan for a
/// database becomes a new session, which the person's own `openclaw` imports.
pub fn write(
    request: &WriteRequest<'_>,
    read: Option<&ReadPrefix>,
    clock: &dyn Clock,
    env: &Environment,
) -> Result<WriteOutcome, WriteError> {
    if is_in_database(request.session) {
        return write_session(request, clock, env);
    }
    let LoadedSession { source, index, .. } = request.session;
    let is_as_read = || source.len().is_ok_and(|bytes| Bytes(bytes) == index.file_bytes());
    let read_now = || is_as_read().then(|| ReadPrefix::of(source, index)).flatten();
    let read = read.cloned().or_else(read_now);
    let mut growing = GrowingWrite::new(request.clone(), read, &RETRY_PAUSES_MS);
    let (prepared, written) = growing.write(None, clock)?;
    let entries = quantity(written.lines, "entry");
    let outcome = match written.receipt.kind {
        ReceiptKind::Commit => WriteOutcome {
            message: format!(
                "{} written: {entries}, {} bytes.",
                match prepared.edit_count() {
                    0 if prepared.is_branch() => "Branch".to_owned(),
                    0 if prepared.method == CommitMethod::Switch => "Switch to another branch".to_owned(),
                    0 => "Summary".to_owned(),
                    edits => quantity(edits, "context edit"),
                },
                format_number(written.bytes)
            ),
            next_step: "u undoes it.".to_owned(),
        },
        ReceiptKind::Undo => WriteOutcome {
            message: format!("Undone: the previous branch is active again ({entries} appended)."),
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

/// Stages a new session and imports it; without `openclaw` the person gets the lines to run.
fn write_session(
    request: &WriteRequest<'_>,
    clock: &dyn Clock,
    env: &Environment,
) -> Result<WriteOutcome, WriteError> {
    let staged = NewSession::prepare(request)?.stage(&staging_root(env), request.session.ruleset.id, env)?;
    if find_program(env, "openclaw").is_none() {
        return Ok(WriteOutcome {
            message: format!("Staged the session \"{}\"; no openclaw is in PATH.", staged.session.title),
            next_step: format!("The lines to run are in {}.", staged.script().display()),
        });
    }
    let imported = run_import(&staged, request.session, env, clock)?;
    Ok(WriteOutcome { message: imported.describe(), next_step: imported.next_step() })
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

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
