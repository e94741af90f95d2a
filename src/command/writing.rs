//! The shared part of `commit` and `undo`: prepare, show, write, and print the command that reverts it.

use std::io::Write as _;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::failure::Failure;
use super::import_report::{ImportJson, ImportReport};
use super::output::Output;
use super::session_output::{SessionJson, session_json};
use super::summary::SummaryJson;
use crate::cli::{StoreArgs, WriteArgs};
use crate::commit::{
    CommitMethod, LockState, PreparedCommit, ReadPrefix, ReceiptKind, SystemClock, UndoTarget, WriteResult,
    lock_state,
};
use crate::doc::Tone;
use crate::export::json::JsonOutput;
use crate::format::{format_count, format_counted, format_estimate, format_number, format_size};
use crate::gateway::env::Environment;
use crate::report::commits::ReplacedEntry;
use crate::session::{CountSource, LoadedSession};
use crate::text::shell;
use crate::units::Moment;
use crate::write::growth::{GrowingWrite, Growth, RETRY_PAUSES_MS};
use crate::write::new_session::NewSession;
use crate::write::request::{
    CheckStatus, ManualEffect, WriteAction, WriteError, WritePreview, WriteRequest, describe_following,
    is_in_database, preview_after, preview_session,
};

pub(super) struct WriteJob<'a> {
    pub session: &'a LoadedSession,
    pub env: &'a Environment,
    pub ask: WriteAction<'a>,
    pub write: WriteArgs,
    /// The read part of the transcript, for a write; see [`read_for_write`].
    pub read: Option<ReadPrefix>,
    pub is_demo: bool,
    /// The SESSION argument as typed.
    pub session_arg: &'a str,
    /// The store options as typed.
    pub store_args: &'a StoreArgs,
    /// The time by the system clock, even for the demo store.
    pub now_ms: Moment,
}

/// A prepared write and its preview for the user.
#[derive(Debug)]
pub(super) struct PreparedWrite<'a> {
    growing: GrowingWrite<'a>,
    prepared: PreparedCommit,
    preview: WritePreview,
    /// The session to import, where only the gateway writes.
    new_session: Option<NewSession>,
}

/// Hashes the read part of a session before `--apply` writes to it, to distinguish growth from other changes.
pub(super) fn read_for_write(session: &LoadedSession, write: WriteArgs) -> Option<ReadPrefix> {
    write.apply.then(|| ReadPrefix::of(&session.source, &session.index)).flatten()
}

/// Refuses writes that no summary could make valid, before a summary is generated.
pub(super) fn refuse_early(job: &WriteJob) -> Result<(), Failure> {
    refuse_demo(job)?;
    crate::write::summary::job::check_writable(&write_request(job))
        .map_err(|error| write_failure(job, &error))
}

fn refuse_demo(job: &WriteJob) -> Result<(), Failure> {
    if job.write.apply && job.is_demo {
        return Err(Failure::refused(
            "the demo store exists only for this command, so a commit to it would be lost. `clawscope demo --out ./demo` \
             writes a copy to commit to.",
        ));
    }
    Ok(())
}

/// A commit to a file needs no other program.
fn refuse_run(job: &WriteJob) -> Result<(), Failure> {
    if !job.write.run {
        return Ok(());
    }
    let words =
        "--run imports a session into a gateway's database, and this session is a file: leave --run out.";
    Err(Failure::usage(words.to_owned()))
}

fn write_request<'a>(job: &WriteJob<'a>) -> WriteRequest<'a> {
    WriteRequest {
        session: job.session,
        action: job.ask.clone(),
        allow_orphan: job.write.allow_orphan,
        now_ms: job.now_ms,
    }
}

/// Prepares a write without writing, or returns why it is refused.
pub(super) fn prepare<'a>(job: &WriteJob<'a>) -> Result<PreparedWrite<'a>, Failure> {
    refuse_demo(job)?;
    let request = write_request(job);
    let failed = |error: WriteError| write_failure(job, &error);
    let mut growing = GrowingWrite::new(request.clone(), job.read.clone(), &RETRY_PAUSES_MS);
    if is_in_database(job.session) {
        let new = NewSession::prepare(&request).map_err(failed)?;
        let preview = preview_session(&request, &new, job.now_ms);
        return Ok(PreparedWrite {
            growing,
            prepared: new.prepared.clone(),
            preview,
            new_session: Some(new),
        });
    }
    refuse_run(job)?;
    let prepared = growing.prepare(&SystemClock).map_err(failed)?;
    let preview = preview_after(growing.request(), &prepared, growing.growth(), job.now_ms);
    Ok(PreparedWrite { growing, prepared, preview, new_session: None })
}

/// Shows a prepared write, and with `--apply` writes it. `plan` is added to the JSON.
pub(super) fn run(
    job: &WriteJob,
    ready: PreparedWrite<'_>,
    json: bool,
    plan: Option<CommittedPlanJson>,
    output: &mut Output,
) -> Result<(), Failure> {
    if !json {
        print_prepared(&ready.prepared, &ready.preview, job, output)?;
    }
    if !job.write.apply {
        return if json {
            Ok(output.json(&report_json(job, plan, &ready, None))?)
        } else {
            Ok(output.line(Tone::Dim, next_step(job.is_demo))?)
        };
    }
    if let Some(new) = &ready.new_session {
        let import = ImportReport::make(new.clone(), job.session, job.write.run, job.env);
        let import = import.map_err(|error| write_failure(job, &error.into()))?;
        return if json {
            let report = report_json(job, plan, &ready, None);
            Ok(output.json(&WriteJson { applied: true, import: Some(import.into()), ..report })?)
        } else {
            import.print(output)
        };
    }
    let (ready, written) = append(job, ready)?;
    if json {
        return Ok(output.json(&report_json(job, plan, &ready, Some(&written)))?);
    }
    print_written(job, ready.growing.growth(), &written, output)
}

/// Returns the last line of a dry run.
fn next_step(is_demo: bool) -> &'static str {
    if is_demo {
        "Nothing was written. This is the demo store: `clawscope demo --out ./demo` writes a copy to commit to."
    } else {
        "Nothing was written. Add --apply to write it."
    }
}

/// Appends, and updates the preview if the session has grown since.
fn append<'a>(job: &WriteJob, ready: PreparedWrite<'a>) -> Result<(PreparedWrite<'a>, WriteResult), Failure> {
    let PreparedWrite { mut growing, prepared, preview, new_session } = ready;
    let before = growing.growth();
    let written = growing.write(Some(prepared), &SystemClock);
    let (prepared, written) = written.map_err(|error| write_failure(job, &error))?;
    let growth = growing.growth();
    let preview = if growth == before {
        preview
    } else {
        preview_after(growing.request(), &prepared, growth, job.now_ms)
    };
    Ok((PreparedWrite { growing, prepared, preview, new_session }, written))
}

/// Reports why nothing was written. The session's key takes the place of a long path, unless the path was typed.
fn write_failure(job: &WriteJob, error: &WriteError) -> Failure {
    let message = error.to_string();
    let path = format!("{}: ", job.session.source.path().display());
    let message = match message.strip_prefix(&path) {
        Some(rest) if !is_typed_path(job) => format!("{}: {rest}", job.session.item.key),
        _ => message,
    };
    if error.is_refusal() { Failure::refused(message) } else { Failure::unreadable(message) }
}

/// Whether SESSION is the path of a transcript.
fn is_typed_path(job: &WriteJob) -> bool {
    Path::new(job.session_arg).is_file()
}

fn describe_effect(session: &LoadedSession, effect: &ManualEffect) -> String {
    let (before, after) = effect.prompt_tokens;
    let before = format_counted(before, session.next_prompt.total.source == CountSource::Measured);
    format!("{}; next prompt {before} → {} tokens", effect.description, format_estimate(after))
}

fn print_prepared(
    prepared: &PreparedCommit,
    shown: &WritePreview,
    job: &WriteJob,
    output: &mut Output,
) -> Result<(), Failure> {
    let verb = match (job.write.apply, &shown.new_session) {
        (true, Some(_)) => "writes",
        (false, Some(_)) => "would write",
        (true, None) => "appends",
        (false, None) => "would append",
    };
    let added = format_size(shown.appended_bytes);
    if let Some(effect) = &shown.effect {
        output.line(Tone::Plain, &describe_effect(job.session, effect))?;
        if effect.prompt_tokens.1 > job.session.window.model_tokens.whole() {
            output.line(Tone::Warning, "the next prompt does not fit the window")?;
        }
    }
    writeln!(output)?;
    output.line(Tone::Strong, &format!("{verb} {} ({added})", shown.describe_appended(prepared.kind)))?;
    output.line(Tone::Plain, &format!("  keeps {}", shown.describe_kept(prepared.kind)))?;
    output.line(Tone::Plain, &format!("  {}", shown.method))?;
    for (check, words) in &shown.checks {
        let (sign, tone) = match check {
            CheckStatus::Passed => ("✓", Tone::Good),
            CheckStatus::Note => ("·", Tone::Plain),
            CheckStatus::Warning => ("!", Tone::Warning),
        };
        output.line(tone, &format!("  {sign} {words}"))?;
    }
    if prepared.kind == ReceiptKind::Commit && shown.new_session.is_none() && !job.is_demo {
        output.line(Tone::Dim, &format!("  to undo it: {}", undo_command(job)))?;
    }
    Ok(())
}

fn print_written(
    job: &WriteJob,
    growth: Growth,
    written: &WriteResult,
    output: &mut Output,
) -> Result<(), Failure> {
    let lines = format_count(written.lines as u64, "entry", "entries");
    let line = format!(
        "written: {lines}, {} at byte {}; the leaf is {}",
        format_size(written.bytes),
        format_number(written.offset),
        written.leaf
    );
    output.line(Tone::Good, &line)?;
    if let Some(words) = growth.describe() {
        output.line(Tone::Plain, &words)?;
    }
    if let Some(following) = written.following {
        output.line(Tone::Warning, &describe_following(following))?;
    }
    Ok(output.line(Tone::Plain, &format!("to undo it: {}", undo_command(job)))?)
}

/// Returns the command line that reverts a write, with the store as typed. An undo is reverted by a redo, and a redo by
/// an undo.
fn undo_command(job: &WriteJob) -> String {
    // A part of a key finds a session only for commands that read; a path needs no store.
    let name = if is_typed_path(job) { job.session_arg } else { job.session.item.key.0.as_str() };
    let mut words = vec!["clawscope".to_owned(), "undo".to_owned(), shell::word(name)];
    let place = [
        ("--store", job.store_args.store.as_ref().map(|path| path.to_string_lossy().into_owned())),
        ("--profile", job.store_args.profile.clone()),
        ("--agent", job.store_args.agent.clone()),
    ];
    for (option, value) in place {
        if let Some(value) = value {
            words.extend([option.to_owned(), shell::word(&value)]);
        }
    }
    if job.write.allow_orphan {
        words.push("--allow-orphan".to_owned());
    }
    if matches!(job.ask, WriteAction::Undo(UndoTarget::LastCommit)) {
        words.push("--redo".to_owned());
    }
    words.push("--apply".to_owned());
    words.join(" ")
}

/// A commit or an undo, written or previewed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct WriteJson {
    session: SessionJson,
    kind: &'static str,
    /// Whether it was written.
    applied: bool,
    path: String,
    /// `branch`, `context_edit`, `switch` to another branch, `append` if no existing entry changes, or `new_session` in a
    /// gateway's database.
    way: &'static str,
    /// The way in words.
    why: String,
    /// Number of new entries.
    entries: usize,
    /// Bytes of the new entries.
    bytes: usize,
    /// Bytes of the file before.
    file_bytes: u64,
    /// The parent of the first new entry; null for the root.
    from: Option<String>,
    old_leaf: String,
    new_leaf: Option<String>,
    /// The offset of the new entries, in bytes.
    offset: Option<u64>,
    /// Entries that were added to the session between reading and writing.
    grown_entries: usize,
    /// Tries after the first, each after reading the entries that were added.
    retries: usize,
    /// Entries that another program appended right after the new ones.
    following: usize,
    /// Whether the new branch is the active one; null before writing.
    active: Option<bool>,
    /// The state of the transcript's lock.
    lock: &'static str,
    checks: Vec<CheckJson>,
    changed: Vec<ReplacedEntry>,
    /// The command that takes it back.
    undo: String,
    /// The new session, where only the gateway writes; null before writing.
    import: Option<ImportJson>,
    #[serde(flatten)]
    plan: Option<CommittedPlanJson>,
}

impl JsonOutput for WriteJson {}

#[derive(Serialize, JsonSchema)]
struct CheckJson {
    check: &'static str,
    what: String,
}

/// The content of a commit.
#[derive(Serialize, JsonSchema)]
pub(super) struct CommittedPlanJson {
    pub tokens: CommittedTokensJson,
    pub summary: Option<SummaryJson>,
}

/// Estimated tokens of the messages.
#[derive(Serialize, JsonSchema)]
pub(super) struct CommittedTokensJson {
    pub before: u64,
    pub after: u64,
}

fn report_json(
    job: &WriteJob,
    plan: Option<CommittedPlanJson>,
    ready: &PreparedWrite,
    written: Option<&WriteResult>,
) -> WriteJson {
    let PreparedWrite { growing, prepared, preview: shown, new_session } = ready;
    let following = written.and_then(|written| written.following);
    let check = |(check, words): &(CheckStatus, String)| CheckJson {
        check: match check {
            CheckStatus::Passed => "passed",
            CheckStatus::Note | CheckStatus::Warning => "warning",
        },
        what: words.clone(),
    };
    WriteJson {
        session: session_json(&job.session.item),
        kind: prepared.kind.as_str(),
        applied: written.is_some(),
        path: shown.path.to_string_lossy().into_owned(),
        way: if new_session.is_some() { "new_session" } else { method_name(prepared) },
        why: shown.method.clone(),
        entries: shown.entries,
        bytes: shown.appended_bytes.to_len(),
        file_bytes: shown.bytes.get(),
        from: shown.parent.clone(),
        old_leaf: shown.old_leaf.clone(),
        new_leaf: written.map(|written| written.leaf.clone()),
        offset: written.map(|written| written.offset),
        grown_entries: growing.growth().entries,
        retries: growing.growth().retries,
        following: following.map_or(0, |following| following.count),
        active: written.map(|_| following.is_none_or(|following| following.continue_ours)),
        lock: lock_state_name(job),
        checks: shown.checks.iter().map(check).collect(),
        changed: prepared.changed.iter().cloned().map(ReplacedEntry::from).collect(),
        undo: undo_command(job),
        import: None,
        plan,
    }
}

/// Names the method: `branch`, `context_edit`, or `append` if no existing entry changes.
fn method_name(prepared: &PreparedCommit) -> &'static str {
    let is_switch = prepared.method == CommitMethod::Switch;
    if prepared.is_branch() || is_switch || prepared.edit_count() > 0 {
        prepared.method.as_str()
    } else {
        "append"
    }
}

fn lock_state_name(job: &WriteJob) -> &'static str {
    match lock_state(job.session.source.path(), job.now_ms) {
        Ok(LockState::Free) => "free",
        Ok(LockState::Held { .. }) => "held",
        Ok(LockState::Stale { .. }) => "stale",
        Err(_) => "unknown",
    }
}
