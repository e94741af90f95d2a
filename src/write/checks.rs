//! Describes the checks before a write, and the warnings worth knowing.

use std::path::Path;

use crate::commit::{LockState, PreparedCommit, lock_state};
use crate::format::format_time;
use crate::ids::EntryIx;
use crate::plan::Plan;
use crate::policy::{Policy, Reason};
use crate::session::{LoadedSession, ManualChange};
use crate::store::gateway_process::find_writer;
use crate::store::key::SessionKind;
use crate::store::sqlite::database_of;
use crate::units::Moment;
use crate::write::growth::Growth;
use crate::write::requested_change::{WriteAction, WriteRequest};
use crate::write::rewrite_loss::find_rewrite_loss;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckStatus {
    /// The check passed.
    Passed,
    /// A consequence of the write.
    Note,
    /// The write is possible, but a person should know this.
    Warning,
}

/// Returns the checks and warnings. A failed precondition has already refused the write.
pub(super) fn run_checks(
    request: &WriteRequest<'_>,
    prepared: &PreparedCommit,
    growth: Growth,
    now_ms: Moment,
) -> Vec<(CheckStatus, String)> {
    let session = request.session;
    let unchanged = growth.describe().unwrap_or_else(|| describe_unchanged(session));
    let mut checks = vec![(CheckStatus::Passed, unchanged)];
    let is_rewritten =
        matches!(request.action, WriteAction::Commit { .. } | WriteAction::ByHand(ManualChange::Drop(_)));
    if is_rewritten {
        checks.push((CheckStatus::Passed, "tool calls paired".to_owned()));
    }
    let database = database_of(session.source.path());
    checks.push(match &database {
        Some(database) => writer_check(database),
        None => lock_check(&prepared.path, now_ms),
    });
    if is_rewritten {
        checks.push((CheckStatus::Passed, "sizes match the plan".to_owned()));
    }
    if let WriteAction::Commit { plan, .. } = &request.action {
        checks.extend(rewrite_check(session, plan));
        checks.extend(describe_lost_tail(plan).map(|words| (CheckStatus::Warning, words)));
    }
    checks.extend(database.is_none().then(|| describe_live_writer(session)));
    checks.extend(prepared.warnings.iter().map(|warning| (CheckStatus::Warning, warning.clone())));
    checks
}

/// Preparing a commit compares the file with the index, so this never fails; the time is that of the last entry read.
fn describe_unchanged(session: &LoadedSession) -> String {
    let index = &session.index;
    let last = index.last().map(|ix: EntryIx| index.entry(ix).time_ms).filter(|time| time.is_finite());
    last.map_or_else(
        || "unchanged since clawscope read it".into(),
        |time| format!("unchanged since {}", format_time(time)),
    )
}

fn lock_check(path: &Path, now_ms: Moment) -> (CheckStatus, String) {
    match lock_state(path, now_ms) {
        Ok(LockState::Free) => (CheckStatus::Passed, "lock available".to_owned()),
        Ok(LockState::Stale { reasons }) => {
            let words: Vec<&str> = reasons.iter().map(|reason| reason.as_str()).collect();
            (CheckStatus::Warning, format!("stale lock ({}); writing takes it over", words.join(", ")))
        }
        Ok(LockState::Held { pid, .. }) => {
            let who = pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"));
            (CheckStatus::Warning, format!("locked by {who} for a run; writing will be refused"))
        }
        Err(error) => (CheckStatus::Warning, format!("cannot read the lock: {error}")),
    }
}

/// Notices a gateway that runs: its importer needs it stopped (sqlite J7).
fn writer_check(database: &Path) -> (CheckStatus, String) {
    match find_writer(&[database.to_path_buf()]) {
        Some(process) => (
            CheckStatus::Warning,
            format!("the gateway runs (process {process}); the import stops it and starts it again"),
        ),
        None => (CheckStatus::Passed, "no gateway runs".to_owned()),
    }
}

/// Describes how a program that has the session open handles the branch (store P10, R7).
fn describe_live_writer(session: &LoadedSession) -> (CheckStatus, String) {
    if session.item.kind == SessionKind::Pi.as_str() || session.ruleset.id.is_pi() {
        let words =
            "pi takes no lock: close it first, or it continues the old branch and makes it active again";
        (CheckStatus::Warning, words.to_owned())
    } else {
        (CheckStatus::Note, "a running gateway uses the branch from its next call".to_owned())
    }
}

/// When results are truncated, compares with the loss of the gateway's own rewrite.
fn rewrite_check(session: &LoadedSession, plan: &Plan) -> Option<(CheckStatus, String)> {
    if !plan.settings.enabled.has(Policy::Truncate) {
        return None;
    }
    match find_rewrite_loss(session) {
        Ok(loss) => loss.map(|loss| (CheckStatus::Passed, loss.description())),
        Err(error) => Some((
            CheckStatus::Warning,
            format!("cannot predict what the gateway's rewrite would lose: {error}"),
        )),
    }
}

/// Warns of messages that the previous compaction kept, and that this one neither summarises nor keeps
/// (compaction 3.3).
fn describe_lost_tail(plan: &Plan) -> Option<String> {
    let lost = plan.fates().iter().filter(|fate| fate.reason == Reason::LostTail).count();
    let messages = if lost == 1 { "message" } else { "messages" };
    (lost > 0).then(|| {
        format!(
            "{lost} {messages} that the last compaction kept would leave the context without a summary, as \
             when the gateway compacts"
        )
    })
}
