//! Decides which entries of a branch a compaction summarises and which it keeps (compaction 3.1–3.12).

use std::ops::Range;
use std::sync::Arc;

use crate::context::tokens::{estimate_context, estimate_message};
use crate::context::{ContentSource, ContextMessage, bodies};
use crate::gateway::ruleset::{PiChange, PiRelease};
use crate::ids::EntryIx;
use crate::js::{JsException, Value};
use crate::policy::compact::branch::{BranchEntry, is_summarised, message_to_summarise};
use crate::policy::compact::files::FileOps;
use crate::store::entry::{EntryKind, Replacement, Role};
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

/// The cut of a branch, as positions on the branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutPoint {
    /// Position of the first kept entry.
    pub first_kept: usize,
    /// Start of the turn that the cut splits; `None` when it splits none. It may equal `first_kept`: then the prefix
    /// before the cut is empty (compaction 3.8b).
    pub turn_start: Option<usize>,
}

/// Cuts `branch[start..]` so that about `keep_tokens` of its newest messages are kept. Errors when a `message` entry
/// has no message, or when a needed estimate fails (compaction 3.23).
pub fn find_cut_point(
    branch: &[BranchEntry],
    start: usize,
    keep_tokens: Tokens,
) -> Result<CutPoint, JsException> {
    if branch[start..].iter().any(|entry| entry.lacks_message) {
        return Err(JsException);
    }
    let Some(first_valid) = next_valid_cut(branch, start) else {
        return Ok(CutPoint { first_kept: start, turn_start: None });
    };
    let reached = budget_boundary(branch, start, keep_tokens.get())?;
    let mut cut = reached.and_then(|at| next_valid_cut(branch, at)).unwrap_or(first_valid);
    while cut > start && !is_message_or_compaction(&branch[cut - 1]) {
        cut -= 1;
    }
    let starts_turn = branch[cut].role() == Some(Role::User);
    let turn_start = (start..=cut).rev().find(|at| is_turn_start(&branch[*at])).filter(|_| !starts_turn);
    Ok(CutPoint { first_kept: cut, turn_start })
}

/// Returns the newest position from which the messages fill the budget; only `message` entries count (compaction 3.6).
fn budget_boundary(branch: &[BranchEntry], start: usize, keep: f64) -> Result<Option<usize>, JsException> {
    let mut tokens = 0.0;
    for (at, entry) in branch.iter().enumerate().skip(start).rev() {
        let Some(message) = entry.message.filter(|_| entry.kind == EntryKind::Message) else { continue };
        tokens += estimate_message(&message)?.get();
        if tokens >= keep {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Returns the first valid cut from `at` on.
fn next_valid_cut(branch: &[BranchEntry], at: usize) -> Option<usize> {
    (at..branch.len()).find(|at| is_valid_cut(&branch[*at]))
}

/// Whether the kept part may begin here: never at a tool result, never at an entry without a message for the model
/// (compaction 3.4).
pub(super) fn is_valid_cut(entry: &BranchEntry) -> bool {
    match entry.kind {
        EntryKind::CustomMessage | EntryKind::BranchSummary => true,
        _ => entry.role().is_some_and(|role| !matches!(role, Role::ToolResult | Role::System | Role::Other)),
    }
}

/// Whether a turn begins here (compaction 3.8).
pub(super) fn is_turn_start(entry: &BranchEntry) -> bool {
    match entry.kind {
        EntryKind::CustomMessage | EntryKind::BranchSummary => true,
        _ => matches!(entry.role(), Some(Role::User | Role::BashExecution)),
    }
}

fn is_message_or_compaction(entry: &BranchEntry) -> bool {
    matches!(entry.kind, EntryKind::Message | EntryKind::Compaction)
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

#[cfg(test)]
mod cut_point_tests {
    use super::*;
    use crate::ids::EntryIx;
    use crate::js;
    use crate::store::scan::measure_message;

    /// Parses `u:8` as a message of 8 tokens (`u` user, `a` assistant, `r` result, `b` shell command) and `custom`,
    /// `custom_message`, … as an entry of that type.
    fn entry((at, word): (usize, &str)) -> BranchEntry {
        let Some((role, tokens)) = word.split_once(':') else {
            let kind = EntryKind::from_type(word);
            let named = BranchEntry {
                entry: EntryIx(at as u32),
                kind,
                has_id: true,
                message: None,
                lacks_message: false,
                projected: None,
            };
            return named;
        };
        let text = "x".repeat(4 * tokens.parse::<usize>().expect("tokens"));
        let json = match role {
            "u" => format!(r#"{{"role":"user","content":"{text}"}}"#),
            "a" => format!(r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}]}}"#),
            "r" => format!(r#"{{"role":"toolResult","content":"{text}"}}"#),
            _ => format!(r#"{{"role":"bashExecution","command":"","output":"{text}"}}"#),
        };
        let message = measure_message(&js::parse(&json).expect("test JSON")).size;
        BranchEntry {
            entry: EntryIx(at as u32),
            kind: EntryKind::Message,
            has_id: true,
            message: Some(message),
            lacks_message: false,
            projected: None,
        }
    }

    fn entries(list: &str) -> Vec<BranchEntry> {
        list.split_whitespace().enumerate().map(entry).collect()
    }

    fn cut(list: &str, keep: f64) -> (usize, Option<usize>) {
        let cut = find_cut_point(&entries(list), 0, Tokens(keep)).expect("measurable");
        (cut.first_kept, cut.turn_start)
    }

    #[test]
    fn the_budget_is_reached_when_the_sum_is_equal_to_it() {
        assert_eq!(cut("u:10 u:10 u:10 u:10", 20.0), (2, None));
        assert_eq!(cut("u:10 u:10 u:10 u:10", 21.0), (1, None));
    }

    #[test]
    fn a_tool_result_is_never_kept_first_and_a_cut_at_an_answer_splits_the_turn() {
        assert_eq!(cut("u:10 a:1 r:10 a:1 r:1", 11.0), (3, Some(0)));
    }

    #[test]
    fn a_huge_newest_result_leaves_no_entry_to_summarise() {
        assert_eq!(cut("u:10 a:1 r:1000", 100.0), (0, None));
    }

    #[test]
    fn other_entries_before_the_cut_are_kept_and_split_the_turn_before() {
        assert_eq!(cut("u:10 a:10 custom u:10 a:10", 20.0), (2, Some(0)));
        assert_eq!(cut("u:10 a:10 custom_message u:10", 10.0), (2, Some(2)));
    }

    #[test]
    fn a_shell_command_starts_a_turn() {
        assert_eq!(cut("u:10 a:10 b:10 a:10", 20.0), (2, Some(2)));
    }

    #[test]
    fn without_a_valid_cut_everything_is_kept() {
        assert_eq!(cut("custom r:10", 1.0), (0, None));
    }

    #[test]
    fn only_messages_the_walk_meets_have_to_be_measurable() {
        let mut branch = entries("u:10 u:10 u:10");
        let broken = js::parse(r#"{"role":"assistant"}"#).expect("test JSON");
        branch[0].message = Some(measure_message(&broken).size);
        assert!(find_cut_point(&branch, 0, Tokens(20.0)).is_ok());
        assert_eq!(find_cut_point(&branch, 0, Tokens(21.0)), Err(JsException));
        branch[0] = BranchEntry { lacks_message: true, message: None, ..branch[0] };
        assert_eq!(find_cut_point(&branch, 0, Tokens(1.0)), Err(JsException));
    }
}
