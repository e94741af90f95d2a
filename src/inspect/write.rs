//! A plan, or an undo, as what a person is asked about before it is written, and told about afterwards.

use std::path::{Path, PathBuf};

use crate::commit::{
    Clock, CommitError, CommitRequest, LockState, Prepared, Provenance, RandomIds, ReceiptKind, Refusal,
    SessionStanding, Transcript, UndoRequest, UndoTarget, lock_state,
};
use crate::ids::EntryIx;
use crate::inspect::words::grouped;
use crate::inspect::{Inspection, Mark};
use crate::js::{self, Object, Value};
use crate::plan::{EntryChange, Plan, changes};
use crate::store::body::BodyError;
use crate::store::key::Kind;
use crate::store::measure::prune_chars;

/// Name and version of the program, for the record in the file.
const TOOL: &str = concat!("clawscope ", env!("CARGO_PKG_VERSION"));

/// What is to be written to a session.
#[derive(Debug, Clone)]
pub enum Ask<'a> {
    /// A plan as a new branch.
    Commit(&'a Plan),
    /// An earlier branch as the active one.
    Undo(UndoTarget),
}

/// A session and what is to be written to it.
#[derive(Debug, Clone)]
pub struct WriteRequest<'a> {
    /// The session, at its own leaf.
    pub inspection: &'a Inspection,
    /// What is to be written.
    pub ask: Ask<'a>,
    /// Write to a transcript that no row names (store G3).
    pub allow_orphan: bool,
    /// Time of the new entries, ms since 1970.
    pub now_ms: i64,
}

/// What a commit or an undo would write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WritePreview {
    /// The transcript.
    pub path: PathBuf,
    /// Bytes of it now.
    pub bytes: u64,
    /// Entries that would be appended.
    pub entries: usize,
    /// The entry the new branch starts after; none for a new root.
    pub from: Option<String>,
    /// The leaf now.
    pub old_leaf: String,
    /// Bytes that would be appended.
    pub appended_bytes: usize,
    /// Checks: passed or not, and the words.
    pub checks: Vec<(Check, String)>,
}

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Passed.
    Passed,
    /// Worth knowing.
    Warning,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// One sentence for the status line.
    pub line: String,
    /// How to take it back, or what to do next.
    pub next: String,
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
    Sizes {
        /// The transcript.
        path: PathBuf,
        /// The entry.
        entry: String,
        /// Chars by the plan.
        planned: String,
        /// Chars of the message that would be written.
        found: String,
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
pub fn prepare(request: &WriteRequest<'_>) -> Result<Prepared, WriteError> {
    let inspection = request.inspection;
    let transcript = Transcript {
        index: &inspection.index,
        tree: &inspection.tree,
        source: &inspection.source,
        standing: standing(inspection),
        allow_orphan: request.allow_orphan,
    };
    let new_ids = &mut RandomIds::default();
    match &request.ask {
        Ask::Undo(target) => {
            let undo = UndoRequest {
                transcript,
                target: target.clone(),
                tool: TOOL.to_owned(),
                now_ms: request.now_ms,
            };
            Ok(crate::commit::prepare_undo(&undo, new_ids)?)
        }
        Ask::Commit(plan) => {
            let commit = CommitRequest {
                transcript,
                leaf: &inspection.leaf,
                changes: checked_changes(inspection, plan)?,
                provenance: provenance(plan),
                now_ms: request.now_ms,
            };
            Ok(crate::commit::prepare(&commit, new_ids)?)
        }
    }
}

/// What a person is asked about. `now_ms` is the time the lock is judged by.
pub fn preview(request: &WriteRequest<'_>, prepared: &Prepared, now_ms: i64) -> WritePreview {
    let inspection = request.inspection;
    WritePreview {
        path: prepared.path.to_path_buf(),
        bytes: inspection.index.end + inspection.index.pending,
        entries: prepared.lines.len(),
        from: prepared.parent.clone(),
        old_leaf: prepared.from_leaf.clone(),
        appended_bytes: prepared.len(),
        checks: checks(request, prepared, now_ms),
    }
}

/// Prepares anew and appends it: the file must still be the one that was read. The lock is tried once.
pub fn write(request: &WriteRequest<'_>, clock: &dyn Clock) -> Result<Written, WriteError> {
    let prepared = prepare(request)?;
    let written = crate::commit::write(&prepared, 0, clock)?;
    let entries = match written.lines {
        1 => "1 entry".to_owned(),
        lines => format!("{lines} entries"),
    };
    Ok(match written.receipt.kind {
        ReceiptKind::Commit => Written {
            line: format!("Branch written: {entries}, {} bytes.", grouped(written.bytes)),
            next: "u takes it back.".to_owned(),
        },
        ReceiptKind::Undo => Written {
            line: format!("Back on the branch before ({entries} appended)."),
            next: "The branch left stays in the file.".to_owned(),
        },
    })
}

fn standing(inspection: &Inspection) -> SessionStanding {
    let session = &inspection.session;
    if session.marks.iter().any(|mark| mark.is_archive()) {
        SessionStanding::Archive
    } else if session.has(Mark::Orphan) {
        SessionStanding::Orphan
    } else {
        SessionStanding::Referenced
    }
}

/// The changed messages, each of the size that the plan promised.
fn checked_changes(inspection: &Inspection, plan: &Plan) -> Result<Vec<EntryChange>, WriteError> {
    let (index, context) = (&inspection.index, &inspection.context);
    let changes = changes(&inspection.source, index, context, plan)?;
    let planned = plan.items.iter().filter(|item| !item.edits().is_empty());
    for (change, item) in changes.iter().zip(planned) {
        let planned = item.change.as_ref().map_or(Err(js::Throws), |change| change.size.prune_chars.get());
        let found = prune_chars(&change.message);
        if planned != found {
            let text = |size: Result<f64, js::Throws>| size.map_or_else(|_| "no".into(), js::number_text);
            return Err(WriteError::Sizes {
                path: inspection.source.path().to_path_buf(),
                entry: index.name(change.entry),
                planned: text(planned),
                found: text(found),
            });
        }
    }
    Ok(changes)
}

fn provenance(plan: &Plan) -> Provenance {
    let settings = &plan.settings.prune;
    let mut soft = Object::default();
    soft.set("maxChars", Value::Number(settings.soft_trim.max_chars));
    soft.set("headChars", Value::Number(settings.soft_trim.head_chars));
    soft.set("tailChars", Value::Number(settings.soft_trim.tail_chars));
    let mut hard = Object::default();
    hard.set("enabled", Value::Bool(settings.hard_clear.enabled));
    hard.set("placeholder", Value::String(settings.hard_clear.placeholder.clone()));
    let mut object = Object::default();
    object.set("ttlMs", Value::Number(settings.ttl_ms));
    object.set("keepLastAssistants", Value::Number(settings.keep_last_assistants));
    object.set("softTrimRatio", Value::Number(settings.soft_trim_ratio));
    object.set("hardClearRatio", Value::Number(settings.hard_clear_ratio));
    object.set("minPrunableToolChars", Value::Number(settings.min_prunable_tool_chars));
    object.set("softTrim", Value::Object(soft));
    object.set("hardClear", Value::Object(hard));
    object.set("tools", settings.tools.clone());
    Provenance {
        policy: "prune".to_owned(),
        settings: Value::Object(object),
        tokens_before: plan.total_before(),
        tokens_after: plan.total_after(),
        tool: TOOL.to_owned(),
    }
}

/// What was checked, and what is worth knowing. Everything that must hold was refused before.
fn checks(request: &WriteRequest<'_>, prepared: &Prepared, now_ms: i64) -> Vec<(Check, String)> {
    let inspection = request.inspection;
    let mut checks = vec![(Check::Passed, unchanged(inspection))];
    if prepared.kind == ReceiptKind::Commit {
        checks.push((Check::Passed, "tool calls paired".to_owned()));
    }
    checks.push(lock_check(&prepared.path, now_ms));
    if prepared.kind == ReceiptKind::Commit {
        checks.push((Check::Passed, "sizes match the plan".to_owned()));
    }
    checks.push((Check::Warning, live_writer(inspection)));
    checks.extend(prepared.warnings.iter().map(|warning| (Check::Warning, warning.clone())));
    checks
}

/// Preparing compares the file with what was read; the time is that of the last entry read.
fn unchanged(inspection: &Inspection) -> String {
    let index = &inspection.index;
    let last = index.last().map(|ix: EntryIx| index.entry(ix).time).filter(|time| time.is_finite());
    let iso = last.map(|ms| js::iso_text(ms as i64));
    let clock = iso.as_deref().and_then(|iso| iso.get(11..19));
    clock.map_or_else(|| "unchanged since it was read".into(), |clock| format!("unchanged since {clock} UTC"))
}

fn lock_check(path: &Path, now_ms: i64) -> (Check, String) {
    match lock_state(path, now_ms) {
        Ok(LockState::Free) => (Check::Passed, "lock free, taken on yes".to_owned()),
        Ok(LockState::Stale { reasons }) => {
            let words: Vec<&str> = reasons.iter().map(|reason| reason.word()).collect();
            (Check::Warning, format!("a lock was left behind ({}); it is taken over", words.join(", ")))
        }
        Ok(LockState::Held { pid, .. }) => {
            let who = pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"));
            (Check::Warning, format!("locked by {who}: a run is going on, writing will be refused"))
        }
        Err(error) => (Check::Warning, format!("the lock cannot be read: {error}")),
    }
}

/// What a program that has the session open makes of the branch (store P10, R7).
fn live_writer(inspection: &Inspection) -> String {
    if inspection.session.kind == Kind::Pi.name() {
        "pi takes no lock: close it first, else it goes on with the branch it has".to_owned()
    } else {
        "a gateway that runs sees the branch on its next call".to_owned()
    }
}
