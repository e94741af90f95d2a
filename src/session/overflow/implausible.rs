//! Finds counts that no prompt can have had: many times the window, and many times the text that was sent. They are the
//! provider's error, such as a counter that sums up all calls.

use std::cell::LazyCell;
use std::collections::HashSet;
use std::ops::Range;

use crate::gateway::window::DEFAULT_WINDOW;
use crate::ids::EntryIx;
use crate::session::overflow::answered::exceeds_text;
use crate::session::overflow::call::OverflowScope;
use crate::session::overflow::model_windows::WindowCache;
use crate::session::prompt_estimates::PromptEstimates;
use crate::store::entry::Usage;
use crate::store::index::Index;
use crate::units::Tokens;

/// Windows that a count must exceed.
const WINDOW_RATIO: f64 = 10.0;
/// Share of the first prompt by which each running total grows at least, and how many times the growth of its messages.
const PROMPT_SHARE: f64 = 0.9;
const TEXT_RATIO_OF_GROWTH: f64 = 8.0;
/// Growths in a row that show a running total.
const MIN_SUMS: usize = 4;
/// Times the count of the call before, and its text since, that no tokenizer reaches.
const NEIGHBOUR_RATIO: f64 = 4.0;

/// Returns the answers of any branch whose usage is impossible.
pub(crate) fn implausible_counts(scope: &OverflowScope<'_>) -> HashSet<EntryIx> {
    find_implausible(scope, &WindowCache::new(scope))
}

pub(super) fn find_implausible(scope: &OverflowScope<'_>, windows: &WindowCache<'_>) -> HashSet<EntryIx> {
    let answers = scope.index.iter().filter(|(_, entry)| entry.is_model_call());
    let counted: Vec<(EntryIx, Tokens)> = answers
        .filter_map(|(ix, entry)| Some((ix, entry.message?.usage.filter(Usage::has_prompt_tokens)?)))
        .map(|(ix, usage)| (ix, usage.prompt_tokens()))
        .collect();
    let estimates = LazyCell::new(|| PromptEstimates::new(scope.index, None));
    let window_of = |ix: EntryIx| windows.known_window(scope.index.entry(ix).model).unwrap_or(DEFAULT_WINDOW);
    // The estimates take a walk through the tree, so the window is compared first.
    let is_wrong = |at: &usize| {
        let (ix, count) = counted[*at];
        let window = window_of(ix);
        let many = count > window * WINDOW_RATIO && exceeds_text(count, estimates.sent_to(ix), window);
        many || (count > window && stands_out(scope.index, &counted, *at, &estimates))
    };
    let wrong = (0..counted.len()).filter(is_wrong).map(|at| counted[at].0);
    let sums = running_totals(&counted, &estimates).filter(|sums| {
        let (ix, largest) = counted[sums.end - 1];
        largest > window_of(ix)
    });
    wrong.chain(sums.flatten().map(|at| counted[at].0)).collect()
}

/// Whether a count is many times that of the calls next to it, although these were sent nearly the same messages.
fn stands_out(
    index: &Index,
    counted: &[(EntryIx, Tokens)],
    at: usize,
    estimates: &LazyCell<PromptEstimates, impl FnOnce() -> PromptEstimates>,
) -> bool {
    let (ix, count) = counted[at];
    let sent = estimates.sent_to(ix);
    let before = at.checked_sub(1).and_then(|at| counted.get(at)).map(|(other, tokens)| {
        let added = (sent - estimates.sent_to(*other)).max(Tokens::ZERO);
        let images = index.iter().skip(other.index()).take(ix.index() - other.index());
        let images = images.filter_map(|(_, entry)| entry.message).any(|size| size.images > 0);
        !images && count > (*tokens + added * TEXT_RATIO_OF_GROWTH) * NEIGHBOUR_RATIO
    });
    // After a compaction the next count says nothing.
    let after = counted.get(at + 1).filter(|(other, _)| estimates.sent_to(*other) >= sent);
    let after = after.map(|(_, tokens)| count > *tokens * NEIGHBOUR_RATIO);
    (before.is_some() || after.is_some()) && before.unwrap_or(true) && after.unwrap_or(true)
}

/// Returns the runs of answers that report a running total: each count adds a whole prompt to the one before, although
/// the messages add little. A real prompt may grow so too, by images or tool schemas, as long as it fits the window.
fn running_totals<'a>(
    counted: &'a [(EntryIx, Tokens)],
    estimates: &'a LazyCell<PromptEstimates, impl FnOnce() -> PromptEstimates>,
) -> impl Iterator<Item = Range<usize>> + 'a {
    let sums_up = |pair: &[(EntryIx, Tokens)], first: Tokens| {
        let growth = pair[1].1 - pair[0].1;
        growth >= first * PROMPT_SHARE && {
            let added = estimates.sent_to(pair[1].0) - estimates.sent_to(pair[0].0);
            added >= Tokens::ZERO && growth >= added * TEXT_RATIO_OF_GROWTH
        }
    };
    let mut from = 0;
    std::iter::from_fn(move || {
        let first = counted.get(from)?.1;
        let run = counted[from..].windows(2).take_while(|pair| sums_up(pair, first)).count();
        let found = from + 1..from + 1 + run;
        from += run.max(1);
        Some(found)
    })
    .filter(|found| found.len() >= MIN_SUMS)
}
