//! Describes what is odd about a session's lineage: which file its history is in, and what of it is not sent.

use crate::diagnostic::{Diagnostic, Severity};
use crate::format::{format_count, format_displayed_timestamp, format_number};
use crate::ids::EntryIx;
use crate::session::LoadedSession;
use crate::session::lineage::{CutOff, HiddenBranch, IdMismatch, missing_parent};
use crate::session::manual_change::ManualChange;
use crate::session::prompt_faults::{and_more, diagnostic_at, first_match};

pub(super) fn collect(session: &LoadedSession) -> Vec<Diagnostic> {
    let lineage = &session.lineage;
    let found = [
        lineage.id_mismatch.as_ref().map(|found| describe_id_mismatch(session, found)),
        lineage.hidden_branch.as_ref().map(|found| describe_hidden_branch(session, found)),
        describe_break(session),
        describe_continuations(session),
    ];
    found.into_iter().flatten().collect()
}

fn describe_id_mismatch(session: &LoadedSession, found: &IdMismatch) -> Diagnostic {
    let IdMismatch { record, file } = found;
    let what = format!(
        "the session record names session {record}, but this file belongs to session {file}: a reset changed the id and \
         kept the file, so the old context is still sent"
    );
    let next = "Start a new session with /new, or remove sessionFile from the record in sessions.json while the gateway is \
         stopped.";
    Diagnostic::new(&*session.index.path, Severity::Warning, what, next).about(session.item.key.0.clone())
}

fn describe_hidden_branch(session: &LoadedSession, found: &HiddenBranch) -> Diagnostic {
    let index = &session.index;
    let leaf = index.display_id(found.leaf);
    let what = format!(
        "the active branch ends in this entry, which is no message; a longer branch of {} is not active and ends with {leaf} \
         ({} are active)",
        format_count(found.messages as u64, "message", "messages"),
        format_number(found.active_messages as u64),
    );
    let next = ManualChange::Branch(found.leaf).command_for(session, "the longer branch active again");
    diagnostic_at(index, found.dead_end, Severity::Warning, what, &next)
}

/// Describes a break at the start of the active branch, else the first break elsewhere in the file (store J10).
fn describe_break(session: &LoadedSession) -> Option<Diagnostic> {
    let (index, tree) = (&session.index, &session.tree);
    if let Some(found) = &session.lineage.cut_off {
        return Some(describe_cut_off(session, found));
    }
    let missing = |ix: EntryIx| missing_parent(index, tree, ix);
    let (ix, count) = first_match(index, |ix| missing(ix).is_some())?;
    let what = format!("its parent {} is not in the file{}", missing(ix)?, and_more(count));
    let next = "A separate tree starts here, as in the runtime; the active branch does not use it.";
    Some(diagnostic_at(index, ix, Severity::Note, what, next))
}

fn describe_cut_off(session: &LoadedSession, found: &CutOff) -> Diagnostic {
    let index = &session.index;
    let mut what = match &found.parent {
        Some(parent) => {
            format!("the active branch starts here, because its parent {parent} is not in the file")
        }
        None => "the active branch starts here, because this entry names no parent".to_owned(),
    };
    what.push_str(&and_more(found.breaks));
    if found.messages == 0 {
        let parent = index.header.as_ref().and_then(|header| header.parent.as_ref());
        let next = match parent {
            Some(parent) => format!("The beginning is in the parent session, {parent}."),
            None => "The transcript starts in the middle: the beginning is in no line of this file. An archive beside it may \
                 contain the earlier entries."
                .to_owned(),
        };
        let severity = if parent.is_some() { Severity::Note } else { Severity::Warning };
        return diagnostic_at(index, found.root, severity, what, &next);
    }
    let before = format_count(found.entries as u64, "entry", "entries");
    let messages = format_count(found.messages as u64, "message", "messages");
    what.push_str(". ");
    what.push_str(&before);
    what.push_str(" before it (");
    what.push_str(&messages);
    what.push_str(") are unreachable: they are in this same file, but are not sent");
    let active = found.last_before.map(|last| {
        format!(" {}", ManualChange::Branch(last).command_for(session, "the part before active"))
    });
    let next = format!("`clawscope tree` shows them.{}", active.unwrap_or_default());
    diagnostic_at(index, found.root, Severity::Warning, what, &next)
}

fn describe_continuations(session: &LoadedSession) -> Option<Diagnostic> {
    let found = &session.lineage.continuations;
    let newest = found.last()?;
    let name = newest.path.file_name().unwrap_or_default().to_string_lossy();
    let when =
        format_displayed_timestamp(newest.started_ms).map(|at| format!(" of {at}")).unwrap_or_default();
    let count = format_count(found.len() as u64, "successor transcript names", "successor transcripts name");
    let what = format!(
        "{count} this file as the parent session, and the session record names none of them: the session continues in \
         the old file. The newest is {name}{when}"
    );
    let next = "The gateway wrote them after a compaction (truncateAfterCompaction) and did not adopt them. Turn that setting \
         off, or start a new session with /new.";
    Some(
        Diagnostic::new(&*session.index.path, Severity::Warning, what, next)
            .about(session.item.key.0.clone()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::testing::loaded_session;

    #[test]
    fn no_commit_is_offered_for_a_damaged_file() {
        let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-09-15T09:00:00.000Z"}"#;
        let message = |id: &str, parent: &str, role: &str| {
            format!(
                r#"{{"id":"{id}","parentId":{parent},"type":"message","message":{{"role":"{role}","content":[]}}}}"#
            )
        };
        let (a, b) = (message("a", "null", "user"), message("b", r#""gone""#, "assistant"));
        let advice = |lines: &[&str]| {
            let session = loaded_session(&format!("{}\n", lines.join("\n")), 200_000.0);
            describe_break(&session).expect("a break").advice
        };
        let whole = advice(&[header, &a, &b]);
        assert!(whole.contains("--branch a` makes the part before active."), "{whole}");
        let damaged = advice(&[header, &a, "{broken", &b]);
        assert!(
            damaged.contains("No commit makes the part before active while the file is damaged: line 3"),
            "{damaged}"
        );
        assert!(!damaged.contains("clawscope commit"), "{damaged}");
    }
}
