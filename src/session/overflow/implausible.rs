//! Finds counts that no prompt can have had: many times the window, and many times the text that was sent. They are the
//! provider's error, such as a counter that sums up all calls.

use std::cell::LazyCell;
use std::collections::HashSet;

use crate::gateway::window::DEFAULT_WINDOW;
use crate::ids::EntryIx;
use crate::session::overflow::answered::exceeds_text;
use crate::session::overflow::call::OverflowScope;
use crate::session::overflow::model_windows::WindowCache;
use crate::session::prompt_estimates::PromptEstimates;
use crate::store::entry::Usage;
use crate::units::Tokens;

/// Windows that a count must exceed.
const WINDOW_RATIO: f64 = 10.0;
/// Share of the first prompt by which each running total grows at least, and how many times the growth of its messages.
const PROMPT_SHARE: f64 = 0.9;
const TEXT_RATIO_OF_GROWTH: f64 = 8.0;
/// Growths in a row that show a running total.
const MIN_SUMS: usize = 4;

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
    let estimates = LazyCell::new(|| PromptEstimates::new(scope.index));
    let is_wrong = |(ix, counted): &&(EntryIx, Tokens)| {
        let window = windows.known_window(scope.index.entry(*ix).model).unwrap_or(DEFAULT_WINDOW);
        // The estimates take a walk through the tree, so the window is compared first.
        *counted > window * WINDOW_RATIO && exceeds_text(*counted, estimates.sent_to(*ix), window)
    };
    let wrong = counted.iter().filter(is_wrong).map(|(ix, _)| *ix);
    wrong.chain(running_totals(&counted, &estimates)).collect()
}

/// Returns the answers that report a running total: each count adds a whole prompt to the one before, although the
/// messages add little.
fn running_totals<'a>(
    counted: &'a [(EntryIx, Tokens)],
    estimates: &'a LazyCell<PromptEstimates, impl FnOnce() -> PromptEstimates>,
) -> impl Iterator<Item = EntryIx> + 'a {
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
        let found = from + 1..from + 1 + if run >= MIN_SUMS { run } else { 0 };
        from += run.max(1);
        Some(found)
    })
    .flatten()
    .map(|at| counted[at].0)
}
