//! The calls that did not fit: refusals in answers and in `openclaw:prompt-error` entries, answers that took in more than
//! the window, and answers cut short because the prompt left them no room (compaction 8.1–8.8).

use crate::explain::calls::Call;
use crate::ids::EntryIx;
use crate::inspect::Inspection;
use crate::inspect::recovery::refusal_at;
use crate::policy::recovery::ErrorSource;
use crate::store::body::BodyError;
use crate::store::entry::StopReason;

/// A longer reply than this, in tokens, was cut by its own limit and not by the window.
pub(super) const SHORT_REPLY: f64 = 2_048.0;
/// How near, as a share, two sums of prompt and reply must be to show one and the same window.
const SAME_SUM: f64 = 0.01;
/// From this share of the known window on a cut reply was cut by it.
const FULL: f64 = 0.98;
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
const NEAR_USUAL: f64 = 0.003;

/// How a call failed to fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The provider, or the gateway before it, refused.
    Refused(ErrorSource),
    /// It was answered, but the reply ended where prompt and reply filled the window.
    CutShort,
}

/// A call that did not fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Overflow {
    /// Its entry.
    pub entry: EntryIx,
    /// How it failed.
    pub kind: Kind,
    /// What was said; empty where nothing was.
    pub text: String,
    /// When, ms since the epoch; NaN where nothing tells.
    pub at: f64,
    /// Tokens of the prompt, where the words or the usage tell.
    pub requested: Option<u64>,
    /// Tokens that fit, where the words or the cut tell.
    pub limit: Option<u64>,
}

impl Overflow {
    /// Who names the numbers, for people.
    pub fn who(&self) -> &'static str {
        match self.kind {
            Kind::Refused(ErrorSource::Prompt) => "the gateway, before the model was asked",
            Kind::Refused(ErrorSource::Assistant) => "the provider",
            Kind::Refused(ErrorSource::Silent) => "the usage of the answer",
            Kind::CutShort => "the place where the reply was cut",
        }
    }
}

/// Every overflow of the file, in its order, each once: a branch that was written again copies its errors.
///
/// # Errors
/// When an entry cannot be read again.
pub(super) fn overflows(inspection: &Inspection, calls: &[Call]) -> Result<Vec<Overflow>, BodyError> {
    let mut found: Vec<Overflow> = Vec::new();
    for (ix, _) in inspection.index.iter() {
        let Some(refusal) = refusal_at(inspection, ix)? else { continue };
        let is_copy = |known: &Overflow| known.at == refusal.at && known.text == refusal.text;
        if !found.iter().any(is_copy) {
            found.push(Overflow {
                entry: ix,
                kind: Kind::Refused(refusal.source),
                text: refusal.text,
                at: refusal.at,
                requested: refusal.tokens,
                limit: refusal.limit,
            });
        }
    }
    for cut in cut_short(calls, inspection.window.tokens) {
        if !found.iter().any(|known| known.entry == cut.entry) {
            found.push(cut);
        }
    }
    found.sort_by_key(|overflow| overflow.entry);
    Ok(found)
}

/// Replies that ended because the window was full. One alone may have ended for any reason, so it counts only where the sum
/// of prompt and reply is the known window or one that providers serve; of several the sums must agree.
pub(super) fn cut_short(calls: &[Call], window: f64) -> Vec<Overflow> {
    let cut: Vec<&Call> =
        calls.iter().filter(|call| call.stop == StopReason::Length && call.output <= SHORT_REPLY).collect();
    let sum = |call: &Call| call.prompt as f64 + call.output;
    let full = |call: &&&Call| {
        let all = sum(call);
        let agrees = cut.iter().any(|other| {
            let near = (sum(other) - all).abs() <= SAME_SUM * all;
            other.entry != call.entry && near && other.output != call.output
        });
        let usual = USUAL_WINDOWS.iter().any(|usual| (all - usual).abs() <= usual * NEAR_USUAL);
        agrees || usual || window > 0.0 && all >= window * FULL
    };
    let overflow = |call: &&Call| Overflow {
        entry: call.entry,
        kind: Kind::CutShort,
        text: String::new(),
        at: call.at,
        requested: Some(call.prompt),
        limit: Some(sum(call) as u64),
    };
    cut.iter().filter(full).map(overflow).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(at: u32, prompt: u64, output: f64, stop: StopReason) -> Call {
        Call { entry: EntryIx(at), prompt, output, stop, ..Call::default() }
    }

    #[test]
    fn replies_that_end_at_the_same_sum_show_the_window() {
        let calls = [
            call(1, 148_646, 1_353.0, StopReason::Length),
            call(3, 149_034, 965.0, StopReason::Length),
            call(5, 149_998, 1.0, StopReason::Length),
        ];
        let found = cut_short(&calls, 200_000.0);
        assert_eq!(found.len(), 3);
        assert_eq!(found[2].limit, Some(149_999));
    }

    #[test]
    fn a_reply_cut_at_its_own_limit_is_none() {
        for (prompt, output) in [(40_000, 8_192.0), (61_000, 1_024.0), (10, 2_000.0)] {
            assert_eq!(cut_short(&[call(1, prompt, output, StopReason::Length)], 200_000.0), []);
        }
        // The same limit of the reply twice shows no window, as the prompts differ.
        let twice =
            [call(1, 40_000, 1_024.0, StopReason::Length), call(3, 40_100, 1_024.0, StopReason::Length)];
        assert_eq!(cut_short(&twice, 200_000.0), []);
        assert_eq!(cut_short(&[call(1, 199_999, 1.0, StopReason::Stop)], 200_000.0), []);
    }

    #[test]
    fn one_reply_cut_at_a_window_that_providers_serve_shows_it() {
        let found = cut_short(&[call(1, 130_900, 172.0, StopReason::Length)], 200_000.0);
        assert_eq!(found.first().and_then(|cut| cut.limit), Some(131_072));
        assert_eq!(cut_short(&[call(1, 199_400, 600.0, StopReason::Length)], 200_000.0).len(), 1);
    }
}
