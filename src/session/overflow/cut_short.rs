//! Finds answers that were cut short because prompt and reply together filled the window.
//!
//! Such a reply stops with `length`, as does one that reached its own output limit, so further signs are needed:
//! 148,646 + 1,353 and 149,034 + 965 both end at 149,999, which shows a window of 150k.

use std::collections::HashSet;

use crate::ids::EntryIx;
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
/// Share of the known window from which a cut reply was cut by that window.
const FULL_RATIO: f64 = 0.98;
/// Windows that providers serve, in tokens.
const USUAL_WINDOWS: [f64; 11] = [
    8_192.0,
    16_384.0,
    32_768.0,
    65_536.0,
    98_304.0,
    128_000.0,
    131_072.0,
    200_000.0,
    262_144.0,
    1_000_000.0,
    1_048_576.0,
];
/// Relative difference up to which a sum matches a usual window.
const USUAL_WINDOW_TOLERANCE: f64 = 0.003;

/// A reply that stopped with `length`.
#[derive(Debug, Clone, Copy)]
struct CutReply {
    entry: EntryIx,
    time_ms: Moment,
    model: Option<(ValueIx, ValueIx)>,
    prompt: Tokens,
    output: f64,
    window: Tokens,
}

impl CutReply {
    fn sum(&self) -> f64 {
        (self.prompt + Tokens(self.output)).get()
    }
}

pub(super) fn find_cut_short(index: &Index, windows: &WindowCache<'_>) -> Vec<Overflow> {
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
        })
    });
    cut_by_window(&cuts.collect::<Vec<_>>())
}

/// Returns the replies that ended because the window was full. A single one may have ended for any reason, so it counts
/// only if its sum of prompt and reply is the known window or a usual one; several count if their sums agree.
fn cut_by_window(cuts: &[CutReply]) -> Vec<Overflow> {
    let short: Vec<&CutReply> = cuts.iter().filter(|cut| cut.output <= SHORT_REPLY).collect();
    let agreeing = agreeing(&short);
    let full = |cut: &&&CutReply| {
        let all = cut.sum();
        let agrees = agreeing.contains(&cut.entry);
        let usual = USUAL_WINDOWS.iter().any(|usual| (all - usual).abs() <= usual * USUAL_WINDOW_TOLERANCE);
        agrees || usual || cut.window > Tokens::ZERO && all >= (cut.window * FULL_RATIO).get()
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
    fn one_reply_cut_at_a_window_that_providers_serve_shows_it() {
        let found = cut_by_window(&[cut(1, Tokens(130_900.0), 172.0)]);
        assert_eq!(found.first().and_then(|cut| cut.limit), Some(131_072));
        assert_eq!(cut_by_window(&[cut(1, Tokens(199_400.0), 600.0)]).len(), 1);
    }
}
