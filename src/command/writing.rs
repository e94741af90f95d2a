//! What `commit` and `undo` share: the preparation shown, the checks, the receipt, and how to take it back.

use std::io::Write as _;

use super::described::session_value;
use super::failure::Failure;
use super::output::{Output, Tone};
use super::words::{bytes, counted};
use crate::cli::{PlaceArgs, WriteArgs};
use crate::commit::{LockState, Prepared, ReceiptKind, SystemClock, UndoTarget, Written, lock_state};
use crate::inspect::Inspection;
use crate::inspect::making;
use crate::inspect::write::{self, Ask, Check, WriteError, WritePreview, WriteRequest};
use crate::js::{Object, Value};

/// Something to be written to a session.
pub(super) struct Job<'a> {
    /// The session.
    pub inspection: &'a Inspection,
    /// What.
    pub ask: Ask<'a>,
    /// How.
    pub write: WriteArgs,
    /// The session lies in the demo store.
    pub demo: bool,
    /// The session as it was named.
    pub session: &'a str,
    /// The store as it was named.
    pub place: &'a PlaceArgs,
    /// The time here, ms since 1970.
    pub now_ms: i64,
}

/// Everything that a person is told before something is written.
#[derive(Debug)]
pub(super) struct Ready {
    prepared: Prepared,
    shown: WritePreview,
}

/// Refuses what would be refused whatever a summary says: it is made only where it can be written.
pub(super) fn refuse_early(job: &Job) -> Result<(), Failure> {
    refuse_demo(job)?;
    making::refuse_early(&request(job)).map_err(|error| told(&error))
}

fn refuse_demo(job: &Job) -> Result<(), Failure> {
    if job.write.apply && job.demo {
        return Err(Failure::refused(
            "the demo store is made for this command alone and goes with it. Try the commit on the screen \
             (`clawscope --demo`), or on a copy of your own store.",
        ));
    }
    Ok(())
}

fn request<'a>(job: &Job<'a>) -> WriteRequest<'a> {
    WriteRequest {
        inspection: job.inspection,
        ask: job.ask.clone(),
        allow_orphan: job.write.allow_orphan,
        now_ms: job.now_ms,
    }
}

/// Says what would be written, or why nothing is. Writes nothing.
pub(super) fn prepare(job: &Job) -> Result<Ready, Failure> {
    refuse_demo(job)?;
    let request = request(job);
    let prepared = write::prepare(&request).map_err(|error| told(&error))?;
    let shown = write::preview(&request, &prepared, job.now_ms);
    Ok(Ready { prepared, shown })
}

/// Shows what was prepared, and writes it where that is asked for. `members` are added to the JSON.
pub(super) fn run(
    job: &Job,
    ready: &Ready,
    json: bool,
    members: Object,
    output: &mut Output,
) -> Result<(), Failure> {
    let Ready { prepared, shown } = ready;
    if !json {
        print_prepared(prepared, shown, job, output)?;
    }
    let written = if job.write.apply { Some(append(prepared)?) } else { None };
    if json {
        return Ok(output.json(answer(job, members, prepared, shown, written.as_ref()))?);
    }
    match written {
        Some(written) => print_written(job, &written, output),
        None => Ok(output.line(Tone::Dim, "Nothing was written. --apply writes it.")?),
    }
}

fn append(prepared: &Prepared) -> Result<Written, Failure> {
    crate::commit::write(prepared, 0, &SystemClock).map_err(|error| told(&WriteError::from(error)))
}

fn told(error: &WriteError) -> Failure {
    if error.is_refusal() {
        Failure::refused(error.to_string())
    } else {
        Failure::unreadable(error.to_string())
    }
}

fn print_prepared(
    prepared: &Prepared,
    shown: &WritePreview,
    job: &Job,
    output: &mut Output,
) -> Result<(), Failure> {
    let verb = if job.write.apply { "writes" } else { "would write" };
    let entries = counted(shown.entries as u64, "entry", "entries");
    let added = bytes(shown.appended_bytes as u64);
    let from = shown.from.as_deref().unwrap_or("the root");
    writeln!(output)?;
    output.line(Tone::Strong, &format!("{verb} {entries} ({added}) at the end of the transcript"))?;
    let what = match prepared.kind {
        ReceiptKind::Commit if prepared.is_branch() => "a new branch after",
        ReceiptKind::Commit | ReceiptKind::Undo => "the active branch goes on after",
    };
    output.line(Tone::Plain, &format!("  as {}", shown.way))?;
    output.line(
        Tone::Plain,
        &format!("  {what} {from}; the leaf was {} and stays in the file", shown.old_leaf),
    )?;
    for (check, words) in &shown.checks {
        let (sign, tone) = match check {
            Check::Passed => ("✓", Tone::Good),
            Check::Warning => ("!", Tone::Warning),
        };
        output.line(tone, &format!("  {sign} {words}"))?;
    }
    if prepared.kind == ReceiptKind::Commit {
        output.line(Tone::Dim, &format!("  to take it back: {}", undo_command(job)))?;
    }
    Ok(())
}

fn print_written(job: &Job, written: &Written, output: &mut Output) -> Result<(), Failure> {
    let lines = counted(written.lines as u64, "entry", "entries");
    let line = format!(
        "written: {lines}, {} at byte {}; the leaf is {}",
        bytes(written.bytes),
        written.offset,
        written.leaf
    );
    output.line(Tone::Good, &line)?;
    Ok(output.line(Tone::Plain, &format!("to take it back: {}", undo_command(job)))?)
}

/// The command line that takes a write back, with the store as it was named: of an undo that is a redo, of a redo an undo.
fn undo_command(job: &Job) -> String {
    let mut words = vec!["clawscope".to_owned(), "undo".to_owned(), quoted(job.session)];
    let place = [
        ("--store", job.place.store.as_ref().map(|path| path.to_string_lossy().into_owned())),
        ("--profile", job.place.profile.clone()),
        ("--agent", job.place.agent.clone()),
    ];
    for (option, value) in place {
        if let Some(value) = value {
            words.extend([option.to_owned(), quoted(&value)]);
        }
    }
    if job.write.allow_orphan {
        words.push("--allow-orphan".to_owned());
    }
    if matches!(job.ask, Ask::Undo(UndoTarget::LastCommit)) {
        words.push("--redo".to_owned());
    }
    words.push("--apply".to_owned());
    words.join(" ")
}

/// A word for a POSIX shell.
fn quoted(word: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "-_./:@%+=,".contains(char);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn answer(
    job: &Job,
    members: Object,
    prepared: &Prepared,
    shown: &WritePreview,
    written: Option<&Written>,
) -> Object {
    let checks = shown.checks.iter().map(|(check, words)| {
        let word = match check {
            Check::Passed => "passed",
            Check::Warning => "warning",
        };
        Value::from(Object::from([("check", word), ("what", words.as_str())]))
    });
    let changed = prepared.changed.iter().map(|(from, to)| {
        Value::from(Object::from([("from", Value::from(from.as_str())), ("to", Value::from(to.as_str()))]))
    });
    let mut object = Object::from([
        ("session", session_value(&job.inspection.session)),
        ("kind", Value::from(prepared.kind.word())),
        ("applied", Value::from(written.is_some())),
        ("path", Value::from(shown.path.to_string_lossy().as_ref())),
        ("way", Value::from(way_word(prepared))),
        ("why", Value::from(shown.way.as_str())),
        ("entries", Value::from(shown.entries)),
        ("bytes", Value::from(shown.appended_bytes)),
        ("fileBytes", Value::from(shown.bytes)),
        ("from", Value::from(shown.from.clone())),
        ("oldLeaf", Value::from(shown.old_leaf.as_str())),
        ("newLeaf", Value::from(written.map(|written| written.leaf.clone()))),
        ("offset", Value::from(written.map(|written| written.offset))),
        ("lock", Value::from(lock_word(job))),
        ("checks", Value::from(checks.collect::<Vec<_>>())),
        ("changed", Value::from(changed.collect::<Vec<_>>())),
        ("undo", Value::from(undo_command(job))),
    ]);
    for (key, value) in members {
        object.insert(key, value);
    }
    object
}

/// `branch`, `context_edit`, or `append` where nothing that stands in the file changes.
fn way_word(prepared: &Prepared) -> &'static str {
    if prepared.is_branch() || prepared.edits() > 0 { prepared.way.word() } else { "append" }
}

fn lock_word(job: &Job) -> &'static str {
    match lock_state(job.inspection.source.path(), job.now_ms) {
        Ok(LockState::Free) => "free",
        Ok(LockState::Held { .. }) => "held",
        Ok(LockState::Stale { .. }) => "stale",
        Err(_) => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_the_shell_are_quoted_only_where_it_matters() {
        assert_eq!(quoted("agent:main:main"), "agent:main:main");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's;rm"), r"'it'\''s;rm'");
    }
}
