//! Finds the entry where the kept part of a branch begins (compaction 3.4–3.8).

use crate::context::tokens::estimate_message;
use crate::js::JsException;
use crate::policy::compact::branch::BranchEntry;
use crate::store::entry::{EntryKind, Role};
use crate::units::Tokens;

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
