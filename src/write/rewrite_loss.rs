//! Finds the data that the gateway's own rewrite of oversized results would lose and a commit keeps.
//!
//! The rewrite drops labels and branch summaries, and a compaction keeps naming its first kept entry by the old id
//! (pruning 6.11, 6.12). It is run in memory, exactly as the gateway does, and the contexts are compared.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::commit::{Labels, NewLine, index_with_lines};
use crate::context::build_context;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::format::format_number;
use crate::gateway::ruleset;
use crate::ids::{EntryIx, IdSource};
use crate::js::{self, Value};
use crate::policy::truncate::session::{RewriteInput, RewriteOutcome, SessionRewrite, rewrite};
use crate::session::LoadedSession;
use crate::store::body::{self, BodyError};
use crate::store::entry::EntryKind;
use crate::transcript::{Leaf, Tree};
use crate::units::Moment;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RewriteLoss {
    /// Results that the gateway would cut, with those that a compaction has summarised.
    pub results: usize,
    /// Entries that would lose their label.
    pub labels: usize,
    /// Branch summaries that would leave the context.
    pub branch_summaries: usize,
    /// The compaction whose kept messages would leave the context.
    #[serde(rename = "compaction")]
    pub dangling_compaction: Option<DanglingCompaction>,
    /// Messages after an entry on which the gateway would fail half-way.
    #[serde(rename = "brokenOff")]
    pub unreached_messages: usize,
}

/// A compaction whose first kept entry would not be on the new branch (pruning 6.12).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DanglingCompaction {
    /// Id of the compaction.
    #[serde(rename = "entry")]
    pub compaction: String,
    /// Id of the first kept entry.
    pub first_kept: String,
    /// Messages that would leave the context.
    pub messages: usize,
    /// Their estimated tokens.
    pub tokens: u64,
}

/// Returns the loss if the gateway rewrote the session now. `None` if it would write nothing, if its version loses
/// nothing, or at another leaf than the session's own.
pub fn find_rewrite_loss(loaded: &LoadedSession) -> Result<Option<RewriteLoss>, BodyError> {
    let LoadedSession { index, tree, source, .. } = loaded;
    let loses = loaded.ruleset.id.rules().rewrite == ruleset::Rewrite::Lossy;
    if loaded.leaf != Leaf::Own || !loses {
        return Ok(None);
    }
    let session = RewriteInput { index, tree, window: loaded.window.tokens, now_ms: Moment::ZERO };
    let rewritten =
        rewrite(&session, &mut SequentialIds::default(), |ix| body::read_entry(source, index, ix))?;
    let branch = tree.branch(index, &Leaf::Own);
    let first = rewritten.originals.first().and_then(|first| branch.iter().position(|ix| ix == first));
    let Some(first) = first else { return Ok(None) };
    let in_force = Labels::from_index(index);
    let labelled = |ix: &&EntryIx| index.entry(**ix).id.is_some_and(|id| in_force.get(id).is_some());
    let mut loss = RewriteLoss {
        results: match rewritten.outcome {
            RewriteOutcome::Truncated { count } => count,
            RewriteOutcome::Failed { .. } => 0,
        },
        labels: branch[first..].iter().filter(labelled).count(),
        ..RewriteLoss::default()
    };
    loss.add_messages(loaded, &rewritten_lines(&rewritten));
    Ok(Some(loss))
}

impl RewriteLoss {
    /// Whether the gateway's rewrite would keep everything.
    pub fn is_empty(&self) -> bool {
        self.labels + self.branch_summaries + self.unreached_messages == 0
            && self.dangling_compaction.is_none()
    }

    pub fn description(&self) -> String {
        if self.is_empty() {
            return "The gateway's own rewrite would lose nothing here.".to_owned();
        }
        let mut parts: Vec<String> =
            self.dangling_compaction.iter().map(DanglingCompaction::description).collect();
        let counts = [
            (
                self.unreached_messages,
                "message after an entry on which it fails",
                "messages after an entry on which it fails",
            ),
            (self.branch_summaries, "branch summary", "branch summaries"),
            (self.labels, "label", "labels"),
        ];
        let counts = counts.iter().filter(|(count, ..)| *count > 0);
        parts.extend(
            counts.map(|(count, one, more)| format!("{count} {}", if *count == 1 { one } else { more })),
        );
        format!("The gateway's own rewrite would lose {}; a commit keeps all of it.", parts.join(", "))
    }

    /// Counts the messages of this context that are missing from the rewritten one, both as originals and as copies.
    fn add_messages(&mut self, session: &LoadedSession, lines: &[NewLine]) {
        let (index, context) = (&session.index, &session.context);
        let grown = index_with_lines(index, lines);
        let Ok(after) = build_context(&grown, &Tree::new(&grown), &Leaf::Own) else { return };
        let original = |ix: EntryIx| match ix.index().checked_sub(index.entries.len()) {
            Some(at) => lines[at].copy_of,
            None => Some(ix),
        };
        let there: HashSet<EntryIx> =
            after.messages.iter().filter_map(|message| original(message.entry)).collect();
        let before_compaction: HashSet<EntryIx> =
            context.path.iter().copied().take_while(|ix| Some(*ix) != context.compaction).collect();
        let mut dangling = (0, 0);
        for message in context.messages.iter().filter(|message| !there.contains(&message.entry)) {
            if index.entry(message.entry).kind == EntryKind::BranchSummary {
                self.branch_summaries += 1;
            } else if context.compaction.is_some() && before_compaction.contains(&message.entry) {
                dangling.0 += 1;
                dangling.1 += estimate_or_zero(&message.size);
            } else {
                self.unreached_messages += 1;
            }
        }
        let of = |compaction: EntryIx| DanglingCompaction {
            compaction: index.display_id(compaction),
            first_kept: index
                .entry(compaction)
                .reference
                .map_or_else(String::new, |id| index.ids.text(id).into()),
            messages: dangling.0,
            tokens: dangling.1,
        };
        self.dangling_compaction = context.compaction.filter(|_| dangling.0 > 0).map(of);
    }
}

impl DanglingCompaction {
    fn description(&self) -> String {
        let Self { compaction, first_kept, messages, tokens } = self;
        let what = if *messages == 1 { "message" } else { "messages" };
        format!(
            "{messages} {what} (~{} tokens) that compaction {compaction} keeps from {first_kept}, because \
             that entry would not be on the new branch",
            format_number(*tokens)
        )
    }
}

fn rewritten_lines(rewritten: &SessionRewrite) -> Vec<NewLine> {
    let line = |(value, original): (&Value, &EntryIx)| {
        let id = value.get("id").and_then(Value::as_str).map(js::JsString::to_string_lossy);
        NewLine { id: id.unwrap_or_default(), copy_of: Some(*original), text: js::stringify(value) }
    };
    rewritten.appended.iter().zip(&rewritten.originals).map(line).collect()
}

/// Ids for lines that are never written.
#[derive(Debug, Default)]
struct SequentialIds(u64);

impl IdSource for SequentialIds {
    fn next_id(&mut self, _line: u64, taken: &dyn Fn(&str) -> bool) -> String {
        loop {
            self.0 += 1;
            let id = format!("copy-{}", self.0);
            if !taken(&id) {
                return id;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::testing::{call, loaded_session, result, transcript, user};

    /// Builds a compaction, branch summary or label entry.
    fn entry(members: &str) -> String {
        format!("{{{members}}}")
    }

    fn compaction(first_kept: &str) -> String {
        let kept = format!(r#""firstKeptEntryId":"{first_kept}","tokensBefore":9"#);
        entry(&format!(r#""type":"compaction","summary":"so far",{kept}"#))
    }

    /// Entries: e0 user, e1 call, e2 result of 9,000 chars, e3 user, then the rest. The limit is 1,200 chars.
    fn loss(rest: &[String]) -> Option<RewriteLoss> {
        let mut entries = vec![
            user("read it"),
            call("c1", "read", "{}"),
            result("c1", "read", &"x".repeat(9000), ""),
            user("and now?"),
        ];
        entries.extend_from_slice(rest);
        find_rewrite_loss(&loaded_session(&transcript(&entries), 1000.0)).expect("reads")
    }

    #[test]
    fn a_rewrite_without_losses_says_so() {
        let loss = loss(&[]).expect("a result is oversized");
        assert_eq!(loss, RewriteLoss { results: 1, ..RewriteLoss::default() });
        assert_eq!(loss.description(), "The gateway's own rewrite would lose nothing here.");
    }

    #[test]
    fn messages_kept_by_a_compaction_after_the_first_cut_are_lost() {
        let lost =
            loss(&[compaction("e2"), user("more")]).expect("oversized").dangling_compaction.expect("dangles");
        assert_eq!((lost.compaction.as_str(), lost.first_kept.as_str()), ("e4", "e2"));
        assert_eq!((lost.messages, lost.tokens), (2, 2250 + 2));
        // An entry before the first cut keeps its id, so nothing dangles.
        assert_eq!(loss(&[compaction("e1"), user("more")]).expect("oversized").dangling_compaction, None);
    }

    #[test]
    fn labels_of_copied_entries_and_branch_summaries_are_lost() {
        let label =
            |target: &str, label: &str| entry(&format!(r#""type":"label","targetId":"{target}"{label}"#));
        let summary = entry(r#""type":"branch_summary","fromId":"e1","summary":"tried""#);
        let here = r#","label":"here""#;
        let loss = loss(&[summary, label("e0", here), label("e3", here), label("e2", here), label("e2", "")]);
        let loss = loss.expect("oversized");
        assert_eq!((loss.labels, loss.branch_summaries, loss.dangling_compaction.is_none()), (1, 1, true));
        assert_eq!(
            loss.description(),
            "The gateway's own rewrite would lose 1 branch summary, 1 label; a commit keeps all of it."
        );
    }

    #[test]
    fn messages_after_a_failing_entry_are_lost_too() {
        let loss = loss(&[entry(r#""type":"session_info","name":5"#), user("one"), user("two")]);
        let loss = loss.expect("it writes all the same");
        assert_eq!((loss.results, loss.unreached_messages), (0, 2));
        assert!(
            loss.description().contains("2 messages after an entry on which it fails"),
            "{}",
            loss.description()
        );
    }

    #[test]
    fn no_loss_is_reported_without_a_rewrite() {
        let small = transcript(&[user("hi"), call("c1", "read", "{}"), result("c1", "read", "ok", "")]);
        assert_eq!(find_rewrite_loss(&loaded_session(&small, 1000.0)).expect("reads"), None);
        let big = transcript(&[call("c1", "read", "{}"), result("c1", "read", &"x".repeat(9000), "")]);
        let mut session = loaded_session(&big, 1000.0);
        assert!(find_rewrite_loss(&session).expect("reads").is_some());
        session.ruleset.id = ruleset::Ruleset::V2026_9_6;
        assert_eq!(find_rewrite_loss(&session).expect("reads"), None);
    }
}
