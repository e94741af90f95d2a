//! Faults of a transcript as a whole, beyond single lines: parent cycles, missing parents, duplicate ids, and messages
//! on which the runtime or its pruner fails.

use crate::commit::{InterruptedCommit, WrittenExtent};
use crate::diagnostic::{Diagnostic, Severity};
use crate::ids::EntryIx;
use crate::session::prompt_faults::{and_more, diagnostic_at, first_match};
use crate::session::{LoadedSession, lineage_diagnostics, prompt_faults, window_diagnostics};
use crate::store::index::{Index, OpenStatus};
use crate::transcript::Tree;

impl LoadedSession {
    /// Returns every diagnostic of the transcript: those of single lines first, then those of the whole.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        collect(self)
    }

    /// Whether an answer shows the token of silent replies to the person (compaction 9.10). pi delivers no messages.
    pub fn leaks_no_reply(&self, entry: EntryIx) -> bool {
        let message = self.index.entry(entry).message;
        !self.ruleset.id.is_pi() && message.is_some_and(|size| size.leaks_no_reply && !size.is_synthetic)
    }
}

/// Collects the diagnostics, those of single lines first. Each kind of fault appears once, at its first entry.
fn collect(session: &LoadedSession) -> Vec<Diagnostic> {
    let LoadedSession { index, tree, .. } = session;
    let mut diagnostics: Vec<Diagnostic> =
        session.unfinished_commit.iter().map(unfinished_commit_diagnostic).collect();
    diagnostics.extend(index.all_diagnostics());
    // The open status already reports the fault; structure is irrelevant in a file the runtime cannot open.
    if matches!(index.open_status, OpenStatus::Throws { .. }) {
        return diagnostics;
    }
    let found = [
        parent_cycle(index, tree),
        missing_message(session),
        unmeasurable(session),
        leaked_token(session),
        duplicate_ids(index, tree),
    ];
    diagnostics.extend(found.into_iter().flatten());
    diagnostics.extend(lineage_diagnostics::collect(session));
    diagnostics.extend(prompt_faults::collect(session));
    diagnostics.extend(window_diagnostics::collect(session));
    diagnostics
}

/// An interrupted commit comes first, because it may have caused the faults below.
pub(super) fn unfinished_commit_diagnostic(unfinished: &InterruptedCommit) -> Diagnostic {
    let severity = match unfinished.extent {
        WrittenExtent::Partial { .. } | WrittenExtent::Overtaken => Severity::Error,
        WrittenExtent::NotStarted
        | WrittenExtent::Complete { .. }
        | WrittenExtent::Replaced
        | WrittenExtent::Untrusted(_) => Severity::Warning,
    };
    let next = match unfinished.extent {
        WrittenExtent::Partial { .. } => {
            "`clawscope doctor --repair` finishes it; until then the branch shown contains a part of the commit."
        }
        WrittenExtent::Untrusted(_) => {
            "Look at the file with the same name and the ending .clawscope-journal, and move it away; until then clawscope \
             does not write to this transcript."
        }
        _ => "`clawscope doctor --repair` or the next commit to this file cleans it up.",
    };
    Diagnostic::new(&unfinished.path, severity, unfinished.description(), next)
}

/// Finds parents in a cycle, or an entry that is its own parent (store J10, J11).
fn parent_cycle(index: &Index, tree: &Tree) -> Option<Diagnostic> {
    let own = |ix: EntryIx| {
        let entry = index.entry(ix);
        entry.parent.is_some() && entry.parent == entry.id
    };
    let (ix, count) = match tree.cyclic() {
        [] => first_match(index, own)?,
        [first, ..] => (*first, tree.cyclic().len()),
    };
    let what = format!("the parents of this entry form a cycle{}", and_more(count));
    let next = "Repair a copy of the file: the runtime would follow the cycle forever. clawscope cuts it and \
         never writes to the file.";
    Some(diagnostic_at(index, ix, Severity::Error, what, next))
}

/// Finds a message entry without its message, on which building a context fails (compaction 4.4b).
fn missing_message(session: &LoadedSession) -> Option<Diagnostic> {
    let index = &session.index;
    let (ix, _) = index.iter().rfind(|(_, entry)| entry.lacks_message && session.context_throws)?;
    let what = "an entry of type message has no message: the runtime fails on every context that contains it";
    let next = "Continue the conversation from an earlier entry; until then the runtime sends nothing from \
         this leaf.";
    Some(diagnostic_at(index, ix, Severity::Error, what.to_owned(), next))
}

/// Finds an answer with the token of silent replies inside its text, which the gateway delivers (compaction 9.10).
fn leaked_token(session: &LoadedSession) -> Option<Diagnostic> {
    let index = &session.index;
    let (ix, count) = first_match(index, |ix| session.leaks_no_reply(ix))?;
    let what = format!("the text of this answer contains NO_REPLY, and the user saw it{}", and_more(count));
    let next = "The gateway hides only an answer that is exactly NO_REPLY, and removes the token at the end of a text. \
         Say in the agent's instructions to send NO_REPLY alone.";
    Some(diagnostic_at(index, ix, Severity::Note, what, next))
}

/// Finds a message of the context on which the pruner fails (pruning 4.7, 5.4).
fn unmeasurable(session: &LoadedSession) -> Option<Diagnostic> {
    let index = &session.index;
    let mut odd = session.context.messages.iter().filter(|message| message.size.prune_chars.value().is_err());
    let first = odd.next()?;
    let what = format!("the context pruner fails on the shape of this message{}", and_more(1 + odd.count()));
    let (severity, next) = if session.ruleset.id.is_pi() {
        (Severity::Note, "pi itself prunes nothing and continues; a plan with pruning is not possible here.")
    } else {
        let next = "The gateway prunes nothing while this message is in the context. Check its content; a \
             compaction that removes it helps.";
        (Severity::Warning, next)
    };
    Some(diagnostic_at(index, first.entry, severity, what, next))
}

/// Finds an id that a later entry has too (store J9).
fn duplicate_ids(index: &Index, tree: &Tree) -> Option<Diagnostic> {
    let later = |ix: EntryIx| index.entry(ix).id.and_then(|id| tree.find(id)).filter(|found| *found != ix);
    let (ix, count) = first_match(index, |ix| later(ix).is_some())?;
    let line = later(ix).map_or(0, |found| index.entry(found).line);
    let what = format!("line {line} has the same id{}", and_more(count));
    let next = "clawscope uses the later line, as the runtime does; the earlier line is on no branch. It \
         refuses a commit to a branch with this id.";
    Some(diagnostic_at(index, ix, Severity::Note, what, next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::testing::loaded_session;

    /// Returns severity, line, entry and first words of each diagnostic of these lines.
    fn found(lines: &[&str]) -> Vec<(Severity, Option<u64>, Option<String>, String)> {
        let header = r#"{"type":"session","version":3,"id":"s"}"#;
        let text = std::iter::once(header).chain(lines.iter().copied()).collect::<Vec<_>>().join("\n") + "\n";
        let diagnostics = loaded_session(&text, 200_000.0).diagnostics();
        diagnostics.into_iter().map(|f| (f.severity, f.line, f.subject, f.message)).collect()
    }

    fn one(
        severity: Severity,
        line: u64,
        entry: &str,
        what: &str,
    ) -> Vec<(Severity, Option<u64>, Option<String>, String)> {
        vec![(severity, Some(line), Some(entry.to_owned()), what.to_owned())]
    }

    #[test]
    fn a_circle_of_parents_is_reported_with_its_first_line() {
        let lines =
            [r#"{"type":"custom","id":"a","parentId":"b"}"#, r#"{"type":"custom","id":"b","parentId":"a"}"#];
        let what = "the parents of this entry form a cycle, also at 1 more";
        assert_eq!(found(&lines), one(Severity::Error, 2, "a", what));
        let own = found(&[r#"{"type":"custom","id":"a","parentId":"a"}"#]);
        assert_eq!(own, one(Severity::Error, 2, "a", "the parents of this entry form a cycle"));
    }

    #[test]
    fn an_unknown_parent_is_reported_and_an_absent_one_is_not() {
        let lines = [
            r#"{"type":"custom","id":"a","parentId":null}"#,
            r#"{"type":"custom","id":"b","parentId":""}"#,
            r#"{"type":"custom","id":"c","parentId":"zz"}"#,
        ];
        let what = "the active branch starts here, because its parent zz is not in the file";
        assert_eq!(found(&lines), one(Severity::Warning, 4, "c", what));
    }

    #[test]
    fn a_duplicate_id_is_reported_at_the_ignored_line() {
        let line = r#"{"type":"custom","id":"a","parentId":null}"#;
        assert_eq!(found(&[line, line]), one(Severity::Note, 2, "a", "line 3 has the same id"));
    }

    #[test]
    fn messages_that_stop_the_runtime_or_its_pruner_are_reported() {
        let missing = found(&[r#"{"type":"message","id":"a","parentId":null}"#]);
        assert_eq!(
            missing,
            one(
                Severity::Error,
                2,
                "a",
                "an entry of type message has no message: the runtime fails on every context that contains it"
            )
        );
        let odd = found(&[
            r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":null}}"#,
        ]);
        assert_eq!(
            odd,
            one(Severity::Warning, 2, "a", "the context pruner fails on the shape of this message")
        );
    }

    #[test]
    fn a_plain_transcript_has_no_diagnostics() {
        assert_eq!(
            found(&[
                r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"x"}}"#
            ]),
            []
        );
    }
}
