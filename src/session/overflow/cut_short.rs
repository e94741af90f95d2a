//! Finds answers that were cut short because prompt and reply together filled the window.
//!
//! Such a reply stops with `length`, as does one that reached its own output limit (overflow-texts 6, S2), so another
//! sign must support the sum: the known window, or a second reply of another length that ended at the same sum. A model
//! that answered a larger prompt has no such window.
//!
//! For example, //! 148,646 + 1,353 and 149,034 + 965 both end at 149,999, which shows a window of 150k.

use std::collections::HashSet;

use crate::ids::EntryIx;
use crate::session::overflow::answered::{is_answer, largest_prompts};
use crate::session::overflow::call::{Overflow, OverflowKind};
use crate::session::overflow::model_windows::WindowCache;
use crate::store::entry::{StopReason, Usage};
use crate::store::index::Index;
use crate::store::intern::ValueIx;
use crate::units::{Moment, Tokens};

/// Longest reply, in tokens, that counts: a longer one was cut by its own limit and not by the window.
pub(crate) const SHORT_REPLY: f64 = 2_048.0;
/// Relative difference up to which two sums of prompt and reply show the same window.
const SUM_TOLERANCE: f64 = 0.01;
/// Share of the known window by which a sum may differ from it.
const WINDOW_TOLERANCE: f64 = 0.02;
/// A reply that stopped with `length`.
#[derive(Debug, Clone, Copy)]
struct CutReply {
    entry: EntryIx,
    time_ms: Moment,
    model: Option<(ValueIx, ValueIx)>,
    prompt: Tokens,
    output: f64,
    window: Tokens,
    /// The largest prompt that the model answered.
    answered: Tokens,
}

impl CutReply {
    fn sum(&self) -> f64 {
        (self.prompt + Tokens(self.output)).get()
    }
}

pub(super) fn find_cut_short(index: &Index, windows: &WindowCache<'_>) -> Vec<Overflow> {
    let answered = largest_prompts(index, is_answer);
    let cuts = index.iter().filter(|(_, entry)| entry.is_model_call()).filter_map(|(ix, entry)| {
        let size = entry.message.filter(|size| size.stop_reason == StopReason::Length)?;
        let usage = size.usage.filter(Usage::has_prompt_tokens)?;
        Some(CutReply {
            entry: ix,
            time_ms: entry.time_ms,
            model: entry.model,
            prompt: usage.prompt_tokens(),
            output: usage.output.get(),
            window: windows.known_window(entry.model).unwrap_or(Tokens::ZERO),
            answered: answered.get(&entry.model).copied().unwrap_or_default(),
        })
    });
    cut_by_window(&cuts.collect::<Vec<_>>())
}

/// Returns the replies that ended because the window was full.
fn cut_by_window(cuts: &[CutReply]) -> Vec<Overflow> {
    let short: Vec<&CutReply> =
        cuts.iter().filter(|cut| cut.output <= SHORT_REPLY && cut.answered.get() <= cut.sum()).collect();
    let agreeing = agreeing(&short);
    let full = |cut: &&&CutReply| {
        let off = (Tokens(cut.sum()) - cut.window).abs();
        agreeing.contains(&cut.entry) || off <= cut.window * WINDOW_TOLERANCE
    };
    let overflow = |cut: &&CutReply| Overflow {
        requested: Some(cut.prompt.whole()),
        limit: Some(cut.sum() as u64),
        ..Overflow::from_usage(cut.entry, OverflowKind::CutShort, cut.time_ms, cut.model)
    };
    short.iter().filter(full).map(overflow).collect()
}

/// Returns the replies for which another one of a different length ended at nearly the same sum. In order of the sums,
/// only the nearest reply of a different length on either side matters, so the cost is that of sorting.
fn agreeing(short: &[&CutReply]) -> HashSet<EntryIx> {
    let mut by_sum = short.to_vec();
    by_sum.sort_by(|one, other| one.sum().total_cmp(&other.sum()));
    let runs: Vec<&[&CutReply]> = by_sum.chunk_by(|one, other| one.output == other.output).collect();
    let mut found = HashSet::new();
    for (at, run) in runs.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| runs[at].last());
        let after = runs.get(at + 1).and_then(|run| run.first());
        for cut in *run {
            let near = |other: &&CutReply| (other.sum() - cut.sum()).abs() <= SUM_TOLERANCE * cut.sum();
            if before.into_iter().chain(after).any(near) {
                found.insert(cut.entry);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(at: u32, prompt: Tokens, output: f64) -> CutReply {
        CutReply {
            entry: EntryIx(at),
            time_ms: Moment::ZERO,
            model: None,
            prompt,
            output,
            window: Tokens(200_000.0),
            answered: prompt,
        }
    }

    #[test]
    fn replies_that_end_at_the_same_sum_show_the_window() {
        let cuts = [
            cut(1, Tokens(148_646.0), 1_353.0),
            cut(3, Tokens(149_034.0), 965.0),
            cut(5, Tokens(149_998.0), 1.0),
        ];
        let found = cut_by_window(&cuts);
        assert_eq!(found.len(), 3);
        assert_eq!(found[2].limit, Some(149_999));
    }

    #[test]
    fn a_reply_cut_at_its_output_limit_shows_no_window() {
        for (prompt, output) in [(40_000.0, 8_192.0), (61_000.0, 1_024.0), (10.0, 2_000.0)] {
            assert_eq!(cut_by_window(&[cut(1, Tokens(prompt), output)]), []);
        }
        // The same output limit twice shows no window, because the prompts differ.
        assert_eq!(
            cut_by_window(&[cut(1, Tokens(40_000.0), 1_024.0), cut(3, Tokens(40_100.0), 1_024.0)]),
            []
        );
    }

    #[test]
    fn one_reply_shows_no_window_that_nothing_else_supports() {
        assert_eq!(cut_by_window(&[cut(1, Tokens(199_400.0), 600.0)]).len(), 1, "the known window");
        for prompt in [8_000.0, 130_900.0] {
            assert_eq!(cut_by_window(&[cut(1, Tokens(prompt), 192.0)]), []);
        }
    }

    #[test]
    fn a_model_that_answered_a_larger_prompt_has_no_smaller_window() {
        let cuts = [cut(1, Tokens(8_000.0), 192.0), cut(3, Tokens(7_900.0), 292.0)];
        assert_eq!(cut_by_window(&cuts).len(), 2);
        assert_eq!(cut_by_window(&cuts.map(|cut| CutReply { answered: Tokens(9_395.0), ..cut })), []);
    }
}
