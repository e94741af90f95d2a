//! Wrong estimates of the gateway: chars / 4 far below the provider's count, or its own check far above it.

use crate::ids::EntryIx;
use crate::replay::Settings;
use crate::report::explain::case::OverflowCase;
use crate::report::explain::failure::Failure;
use crate::report::explain::finding::{Confidence, FindingClass, Found, Numbers};
use crate::report::explain::replay_runner::{ReplayRunner, enable_compaction};
use crate::units::Tokens;

/// Counted over estimated tokens above which an estimate is wrong.
const MIN_ESTIMATE_RATIO: f64 = 1.5;
/// Above this ratio no writing system explains the error: the estimate lacks content.
const MAX_PLAUSIBLE_RATIO: f64 = 8.0;
/// Below this many estimated tokens, the provider's framing outweighs the messages.
const MIN_MESSAGE_TOKENS: u64 = 4_000;

/// The values of a wrong estimate.
#[derive(Debug, Clone, PartialEq)]
pub enum EstimatorError {
    /// The gateway's own check refused a prompt that the provider would have taken.
    Overcount {
        /// Estimated tokens of the prompt.
        likely: u64,
        window: u64,
        /// The gateway's estimate, if its record has it, and its limit.
        check: (Option<u64>, u64),
        /// The largest prompt that the provider counted.
        peak: (EntryIx, u64),
        /// The check's tokens per estimated token.
        factor: Option<f64>,
    },
    /// chars / 4 is far below the provider's count, so every threshold in chars is reached late.
    Undercount {
        /// Counted per estimated token.
        ratio: f64,
        keep_recent: Tokens,
        /// The failing prompt by both counts.
        failing: Option<TwiceCounted>,
    },
}

/// A prompt by the provider's and the gateway's count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TwiceCounted {
    pub entry: EntryIx,
    pub tokens: u64,
    /// Whether the provider counted the tokens.
    pub is_measured: bool,
    /// Tokens by the gateway's own estimate.
    pub gateway_estimate: u64,
}

impl EstimatorError {
    pub(super) fn numbers(&self) -> Numbers {
        match self {
            Self::Overcount { likely, peak: (_, peak), factor, .. } => vec![
                ("likely", *likely as f64),
                ("peak", *peak as f64),
                ("overcount", factor.unwrap_or(f64::NAN)),
            ],
            Self::Undercount { ratio, .. } => vec![("ratio", *ratio)],
        }
    }
}

/// Returns the wrong estimates behind an overflow, or those that make thresholds late.
pub(super) fn find_estimator_errors(case: &OverflowCase<'_>) -> Vec<Found<EstimatorError>> {
    let Some((failure, runner)) = case.failure.as_ref().zip(case.replays.as_ref()) else {
        return detect_ratio_without_overflow(case).into_iter().collect();
    };
    let overcount = detect_overcount(case, failure);
    overcount.into_iter().chain(detect_undercount(case, failure, runner)).collect()
}

fn detect_overcount(case: &OverflowCase<'_>, failure: &Failure) -> Option<Found<EstimatorError>> {
    let highest = case.calls.iter().map(|call| call.prompt_tokens).max()?;
    let peak = case.calls.iter().find(|call| call.prompt_tokens == highest)?.entry;
    let likely = failure.fixed_tokens + (failure.weights.iter().sum::<Tokens>()).whole();
    let window = failure.believed_window.runtime.whole();
    let fits = failure.is_by_gateway();
    let factor = failure.overflow.requested.map(|requested| requested as f64 / likely.max(1) as f64);
    if !fits || likely > window {
        return None;
    }
    let facts = EstimatorError::Overcount {
        likely,
        window,
        check: (failure.overflow.requested, failure.limit),
        peak: (peak, highest),
        factor,
    };
    Some(
        Found::new(FindingClass::EstimatorError, Confidence::Likely, facts)
            .with_rule("compaction 8.8")
            .with_prevents_overflow(true),
    )
}

fn detect_undercount(
    case: &OverflowCase<'_>,
    failure: &Failure,
    runner: &ReplayRunner,
) -> Option<Found<EstimatorError>> {
    let estimate = failure.gateway_estimate();
    let at_call = failure.prompt_tokens as f64 / estimate.max(1) as f64;
    let ratio = case.token_ratio.unwrap_or(at_call).max(if failure.is_measured { at_call } else { 0.0 });
    if estimate < MIN_MESSAGE_TOKENS || !(MIN_ESTIMATE_RATIO..=MAX_PLAUSIBLE_RATIO).contains(&ratio) {
        return None;
    }
    let prevents = [false, true].into_iter().any(|compacts| {
        let replayed = |ratio: f64| {
            let mut settings = runner.settings_under(&[]);
            if compacts {
                enable_compaction(&mut settings);
            }
            scale_thresholds(&mut settings, ratio);
            runner.run(&settings).overflows
        };
        replayed(ratio) == 0 && replayed(1.0) > 0
    });
    let failing = TwiceCounted {
        entry: failure.overflow.entry,
        tokens: failure.prompt_tokens,
        is_measured: failure.is_measured,
        gateway_estimate: estimate,
    };
    Some(undercount_finding(case, ratio, Some(failing)).with_prevents_overflow(prevents))
}

fn detect_ratio_without_overflow(case: &OverflowCase<'_>) -> Option<Found<EstimatorError>> {
    let ratio =
        case.token_ratio.filter(|ratio| (MIN_ESTIMATE_RATIO..=MAX_PLAUSIBLE_RATIO).contains(ratio))?;
    Some(undercount_finding(case, ratio, None))
}

fn undercount_finding(
    case: &OverflowCase<'_>,
    ratio: f64,
    failing: Option<TwiceCounted>,
) -> Found<EstimatorError> {
    let keep_recent = case.session.configured_settings.compaction.keep_recent_tokens.max(Tokens::ZERO);
    let facts = EstimatorError::Undercount { ratio, keep_recent, failing };
    Found::new(FindingClass::EstimatorError, Confidence::Likely, facts).with_rule("compaction 1.1")
}

/// Scales the thresholds to those of a gateway that counts correctly.
fn scale_thresholds(settings: &mut Settings, ratio: f64) {
    let policies = &mut settings.policies;
    policies.prune.soft_trim_ratio /= ratio;
    policies.prune.hard_clear_ratio /= ratio;
    policies.prune.min_prunable_tool_chars /= ratio;
    policies.compaction.keep_recent_tokens /= ratio;
}
