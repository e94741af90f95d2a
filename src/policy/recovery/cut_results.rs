//! The tool results that the gateway cuts in the file after an overflow, by their sizes (compaction 8.16–8.18, releases
//! R35–R38).

use crate::gateway::ruleset::{Aggregate, Rules};
use crate::policy::compact::BranchEntry;
use crate::policy::truncate::{Reduction, ResultEditor, reduce_results, result_budget, sized_result_chars};
use crate::store::compact_chars::CompactChars;
use crate::store::entry::{CharCount, MessageSize, Role};
use crate::units::{Chars, Tokens};

/// Chars that every text block keeps in releases that look at each result alone (compaction 8.18).
const MIN_BLOCK_CHARS: Chars = Chars(2217.0);

/// Shortens the results that a release cuts for a window, where one result may have `limit` chars; releases with a
/// budget for all results cut for that too. Returns the positions of the shortened, in order.
pub(super) fn cut_results(
    entries: &mut [BranchEntry],
    rules: &Rules,
    window: Tokens,
    limit: Chars,
) -> Vec<usize> {
    let chars: Vec<Option<Chars>> = entries.iter().map(result_chars).collect();
    let Some(budget) = result_budget(rules, window, Some(limit), false) else {
        let over: Vec<usize> =
            (0..chars.len()).filter(|at| chars[*at].is_some_and(|chars| chars > limit)).collect();
        for at in over.iter().copied() {
            if let Some(size) = &mut entries[at].message {
                shorten(size, limit.max(MIN_BLOCK_CHARS * f64::from(size.text_blocks.max(1))));
            }
        }
        return over;
    };
    let is_result: Vec<bool> = chars.iter().map(Option::is_some).collect();
    let chars = chars.into_iter().map(Option::unwrap_or_default).collect();
    let mut editor = BranchEditor { entries, rule: budget.rule, previous: None };
    let mut cut: Vec<usize> =
        reduce_results(&mut editor, &is_result, chars, &budget).iter().map(|done| done.at).collect();
    cut.sort_unstable();
    cut.dedup();
    cut
}

/// Counts the chars of a tool result's text. A malformed result falls back to `text_chars`.
pub(super) fn result_chars(entry: &BranchEntry) -> Option<Chars> {
    let size = entry.message.filter(|_| entry.role() == Some(Role::ToolResult))?;
    Some(chars_of(&size))
}

fn chars_of(size: &MessageSize) -> Chars {
    sized_result_chars(size).unwrap_or_else(|| size.text_chars.get())
}

/// Reduces the sizes of a tool result as if its text were cut to `limit` chars.
fn shorten(size: &mut MessageSize, limit: Chars) {
    let chars = chars_of(size);
    let gone = chars - chars.min(limit);
    size.joined_chars -= gone;
    size.text_chars -= CompactChars::from(gone).min(size.text_chars);
    size.pi_chars = CharCount::new(size.pi_chars.value().map(|chars| chars - gone));
}

/// Changes results of a branch by size alone.
struct BranchEditor<'b> {
    entries: &'b mut [BranchEntry],
    rule: Aggregate,
    /// The entry before the last change.
    previous: Option<BranchEntry>,
}

impl ResultEditor for BranchEditor<'_> {
    fn change(&mut self, at: usize, by: Reduction) -> Chars {
        let entry = &mut self.entries[at];
        self.previous = Some(*entry);
        if let Some(size) = &mut entry.message {
            shorten(size, by.longest(self.rule));
        }
        result_chars(entry).unwrap_or_default()
    }

    fn revert(&mut self, at: usize) {
        if let Some(previous) = self.previous.take() {
            self.entries[at] = previous;
        }
    }
}
