//! Decides which entries of a branch a compaction summarises and which it keeps (compaction 3.1–3.12).

use std::ops::Range;
use std::sync::Arc;

use crate::context::bodies;
use crate::context::tokens::estimate_context;
use crate::context::{ContentSource, ContextMessage};
use crate::gateway::ruleset::{PiChange, PiRelease};
use crate::ids::EntryIx;
use crate::js::{JsException, Value};
use crate::policy::compact::branch::{BranchEntry, is_summarised, message_to_summarise};
use crate::policy::compact::cut_point::{CutPoint, find_cut_point};
use crate::policy::compact::files::FileOps;
use crate::store::entry::{EntryKind, Replacement};
use crate::units::Tokens;

/// A prepared compaction, decided from sizes. All positions are on the branch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Preparation {
    /// The last compaction of the branch. Up to OpenClaw 2026.3.2, the part that it kept is neither summarised nor kept
    /// again (compaction 3.3).
    pub previous_compaction: Option<usize>,
    /// Start of the range that is considered: after the previous compaction (compaction 3.2).
    pub start: usize,
    pub cut: CutPoint,
    /// The first kept entry, at the cut.
    pub first_kept: EntryIx,
    /// Tokens of the context from the previous compaction on, anchored on usage (compaction 3.9); NaN for malformed
    /// usage.
    pub tokens_before: Tokens,
    /// The release of pi that compacts.
    pub pi: PiRelease,
}

impl Preparation {
    /// Whether the cut splits a turn; sometimes wrongly, as in the runtime (compaction 3.8c).
    pub fn is_split_turn(&self) -> bool {
        self.cut.turn_start.is_some()
    }

    /// Positions summarised as history; possibly none (compaction 3.11).
    pub fn history(&self) -> Range<usize> {
        self.start..self.cut.turn_start.unwrap_or(self.cut.first_kept)
    }

    /// Positions summarised as the beginning of a split turn; possibly none.
    pub fn turn_prefix(&self) -> Range<usize> {
        self.cut.turn_start.unwrap_or(self.cut.first_kept)..self.cut.first_kept
    }

    /// Reads the messages to summarise. `body` reads an entry as the runtime holds it.
    pub fn read_texts<E>(
        &self,
        branch: &[BranchEntry],
        body: impl Fn(EntryIx) -> Result<Value, E>,
    ) -> Result<CompactionTexts, E> {
        let messages = |range: Range<usize>| -> Result<Vec<Value>, E> {
            let message = |entry: &BranchEntry| match entry.projected {
                None if !self.pi.has(PiChange::StartsAtKept) => {
                    Ok(message_to_summarise(&body(entry.entry)?, entry.kind))
                }
                _ if !is_summarised(self.pi, entry) => Ok(None),
                None if self.pi.has(PiChange::CutsByContext) => Ok(Some(bodies::projected_message(
                    &body(entry.entry)?,
                    entry.kind,
                    ContentSource::Own,
                    None,
                ))),
                None => Ok(message_to_summarise(&body(entry.entry)?, entry.kind)),
                Some(projected) => projected_message(entry, projected.content_source, &body).map(Some),
            };
            // Where the range includes the part that the previous compaction kept, that compaction is inside the range.
            let other = range.filter(|at| Some(*at) != self.previous_compaction).map(|at| &branch[at]);
            other.filter_map(|entry| message(entry).transpose()).collect()
        };
        let previous = self.previous_compaction.map(|at| body(branch[at].entry)).transpose()?;
        let (history, turn_prefix) = (messages(self.history())?, messages(self.turn_prefix())?);
        let mut files = previous.as_ref().map(FileOps::from_compaction).unwrap_or_default();
        history.iter().chain(&turn_prefix).for_each(|message| files.add_message_for(self.pi, message));
        let previous_summary = previous.and_then(|entry| entry.get("summary").cloned());
        Ok(CompactionTexts { history, turn_prefix, previous_summary, files, pi: self.pi })
    }
}

/// Reads the projected message of an entry, edits applied.
fn projected_message<E>(
    entry: &BranchEntry,
    made: ContentSource,
    body: &impl Fn(EntryIx) -> Result<Value, E>,
) -> Result<Value, E> {
    let edit = match made {
        ContentSource::Edited(edit) => body(edit)?.get("replacement").cloned(),
        _ => None,
    };
    let edit = edit.map(|new| Replacement::Content(Arc::new(new)));
    Ok(bodies::projected_message(&body(entry.entry)?, entry.kind, made, edit.as_ref()))
}

/// The texts that a compaction works on.
#[derive(Debug, Clone)]
pub struct CompactionTexts {
    /// Messages summarised as history.
    pub history: Vec<Value>,
    /// Messages summarised as the beginning of a split turn.
    pub turn_prefix: Vec<Value>,
    /// The previous compaction's summary, including everything appended to it (compaction 3.12).
    pub previous_summary: Option<Value>,
    pub files: FileOps,
    /// The release of pi that summarises; it determines how messages are written.
    pub pi: PiRelease,
}

/// Prepares a compaction that keeps about `keep_tokens` of the newest messages. Returns `None` when the branch is
/// empty, ends in a compaction, or has no id at the cut (compaction 3.1). Errors where the runtime throws (compaction
/// 3.23).
pub fn prepare(branch: &[BranchEntry], keep_tokens: Tokens) -> Result<Option<Preparation>, JsException> {
    let previous = branch.iter().rposition(|entry| entry.kind == EntryKind::Compaction);
    let start = previous.map_or(0, |at| at + 1);
    if start == branch.len() {
        return Ok(None);
    }
    let tokens_before = tokens_before(&branch[previous.unwrap_or(0)..])?;
    let cut = find_cut_point(branch, start, keep_tokens)?;
    let first_kept = branch[cut.first_kept];
    let pi = PiRelease::OLDEST;
    let prepared = Preparation {
        previous_compaction: previous,
        start,
        cut,
        first_kept: first_kept.entry,
        tokens_before,
        pi,
    };
    Ok(first_kept.has_id.then_some(prepared))
}

fn tokens_before(branch: &[BranchEntry]) -> Result<Tokens, JsException> {
    let message = |entry: &BranchEntry| Some(ContextMessage::from_entry(entry.entry, entry.message?));
    let messages: Vec<ContextMessage> = branch.iter().filter_map(message).collect();
    estimate_context(&messages).map(|estimate| estimate.tokens)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::LineIds;
    use crate::js;
    use crate::policy::compact::branch::branch_entries;
    use crate::store::load::load_bytes;

    /// Builds a branch of these lines, each the child of the one before, and prepares it.
    fn prepared(lines: &[&str], keep: f64) -> (Option<Preparation>, Option<CompactionTexts>) {
        let lines: Vec<String> = lines
            .iter()
            .enumerate()
            .map(|(at, line)| format!(r#"{{"id":"e{at}","parentId":"e{}",{line}}}"#, at.wrapping_sub(1)))
            .collect();
        let text = format!("{{\"type\":\"session\",\"version\":3,\"id\":\"s\"}}\n{}\n", lines.join("\n"));
        let index = load_bytes("t.jsonl", text.as_bytes(), &mut LineIds);
        let path: Vec<EntryIx> = index.iter().map(|(ix, _)| ix).collect();
        let body = |ix: EntryIx| Ok::<_, ()>(js::parse(&lines[ix.index()]).expect("test JSON"));
        let branch = branch_entries(&index, &path, body).expect("reads");
        let preparation = prepare(&branch, Tokens(keep)).expect("measurable");
        (preparation, preparation.map(|preparation| preparation.read_texts(&branch, body).expect("reads")))
    }

    const USER: &str = r#""type":"message","message":{"role":"user","content":"12345678"}"#;
    const READ: &str = r#""type":"message","message":{"role":"assistant","content":[{"type":"toolCall","name":"read","arguments":{"path":"new.rs"}}]}"#;
    const COMPACTION: &str = r#""type":"compaction","summary":"so far","firstKeptEntryId":"e0","details":{"readFiles":["old.rs"]}"#;

    #[test]
    fn an_empty_branch_or_one_that_ends_in_a_compaction_cannot_be_compacted() {
        assert_eq!(prepared(&[USER, COMPACTION], 1.0).0, None);
        assert_eq!(prepared(&[], 1.0).0, None);
    }

    #[test]
    fn a_compaction_loses_the_previously_kept_messages_and_inherits_summary_and_files() {
        let (preparation, inputs) = prepared(&[USER, COMPACTION, USER, READ, USER], 2.0);
        let (preparation, inputs) = (preparation.expect("prepared"), inputs.expect("prepared"));
        assert_eq!((preparation.history(), preparation.turn_prefix()), (2..4, 4..4));
        assert_eq!(preparation.first_kept, EntryIx(4));
        assert_eq!(inputs.history.len(), 2);
        assert_eq!(inputs.previous_summary, Some(Value::from("so far")));
        assert_eq!(inputs.files.read(), ["old.rs", "new.rs"].map(Value::from));
    }

    #[test]
    fn tokens_before_begin_with_the_previous_summary() {
        let (preparation, _) = prepared(&[USER, COMPACTION, USER], 1.0);
        assert_eq!(preparation.expect("prepared").tokens_before, Tokens(2.0 + 2.0));
    }

    #[test]
    fn the_beginning_of_a_split_turn_is_summarised_apart() {
        let (preparation, inputs) = prepared(&[USER, USER, READ, READ], 5.0);
        let preparation = preparation.expect("prepared");
        assert!(preparation.is_split_turn());
        assert_eq!((preparation.history(), preparation.turn_prefix()), (0..1, 1..3));
        assert_eq!(inputs.expect("prepared").turn_prefix.len(), 2);
    }
}
