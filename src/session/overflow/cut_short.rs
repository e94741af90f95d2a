//! Answers cut short because prompt and reply together filled the window. Such a reply stops with `length`, as one does that
//! reached its own limit, so several signs must agree.

use std::collections::HashSet;

use crate::ids::EntryIx;
use crate::session::overflow::model_windows::WindowCache;
use crate::session::overflow::{Overflow, OverflowKind};
use crate::store::entry::{StopReason, Usage};
use crate::store::index::Index;
use crate::store::intern::ValueIx;

/// A longer reply than this, in tokens, was cut by its own limit and not by the window.
pub(crate) const SHORT_REPLY: f64 = 2_048.0;
/// How near, as a share, two sums of prompt and reply must be to show one and the same window.
const SUM_TOLERANCE: f64 = 0.01;
/// From this share of the known window on a cut reply was cut by it.
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
/// How near a sum must be to one of them, as a share.
const USUAL_WINDOW_TOLERANCE: f64 = 0.003;

/// One reply that stopped with `length`.
#[derive(Debug, Clone, Copy)]
struct CutReply {
    entry: EntryIx,
    time_ms: f64,
    model: Option<(ValueIx, ValueIx)>,
    prompt: f64,
    output: f64,
    window: f64,
}

impl CutReply {
    fn sum(&self) -> f64 {
        self.prompt + self.output
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
            output: usage.output,
            window: windows.known_window(entry.model).unwrap_or(0.0),
        })
    });
    cut_by_window(&cuts.collect::<Vec<_>>())
}

/// Replies that ended because the window was full. One alone may have ended for any reason, so it counts only where the sum
/// of prompt and reply is the known window or one that providers serve; of several the sums must agree.
fn cut_by_window(cuts: &[CutReply]) -> Vec<Overflow> {
    let short: Vec<&CutReply> = cuts.iter().filter(|cut| cut.output <= SHORT_REPLY).collect();
    let agreeing = agreeing(&short);
    let full = |cut: &&&CutReply| {
        let all = cut.sum();
        let agrees = agreeing.contains(&cut.entry);
        let usual = USUAL_WINDOWS.iter().any(|usual| (all - usual).abs() <= usual * USUAL_WINDOW_TOLERANCE);
        agrees || usual || cut.window > 0.0 && all >= cut.window * FULL_RATIO
    };
    let overflow = |cut: &&CutReply| Overflow {
        requested: Some(cut.prompt as u64),
        limit: Some(cut.sum() as u64),
        ..Overflow::from_usage(cut.entry, OverflowKind::CutShort, cut.time_ms, cut.model)
    };
    short.iter().filter(full).map(overflow).collect()
}

/// Replies beside which another one of another length ended at nearly the same sum. Sorted by sum, the nearest reply of
/// another length on either side decides, so that many replies cost no more than their sorting.
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

    fn cut(at: u32, prompt: f64, output: f64) -> CutReply {
        CutReply { entry: EntryIx(at), time_ms: 0.0, model: None, prompt, output, window: 200_000.0 }
    }

    #[test]
    fn replies_that_end_at_the_same_sum_show_the_window() {
        let cuts = [cut(1, 148_646.0, 1_353.0), cut(3, 149_034.0, 965.0), cut(5, 149_998.0, 1.0)];
        let found = cut_by_window(&cuts);
        assert_eq!(found.len(), 3);
        assert_eq!(found[2].limit, Some(149_999));
    }

    #[test]
    fn a_reply_cut_at_its_own_limit_is_none() {
        for (prompt, output) in [(40_000.0, 8_192.0), (61_000.0, 1_024.0), (10.0, 2_000.0)] {
            assert_eq!(cut_by_window(&[cut(1, prompt, output)]), []);
        }
        // The same limit of the reply twice shows no window, as the prompts differ.
        assert_eq!(cut_by_window(&[cut(1, 40_000.0, 1_024.0), cut(3, 40_100.0, 1_024.0)]), []);
    }

    #[test]
    fn one_reply_cut_at_a_window_that_providers_serve_shows_it() {
        let found = cut_by_window(&[cut(1, 130_900.0, 172.0)]);
        assert_eq!(found.first().and_then(|cut| cut.limit), Some(131_072));
        assert_eq!(cut_by_window(&[cut(1, 199_400.0, 600.0)]).len(), 1);
    }
}
