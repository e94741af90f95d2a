//! Wrong measurements: the window, the usage, the estimator, the stored counter. Each is a cause only if its correction
//! makes every call of a replay fit; otherwise it is a note.

use crate::gateway::provenance::Provenance;
use crate::gateway::window::WindowSource;
use crate::ids::EntryIx;
use crate::js::Value;
use crate::policy::Policy;
use crate::policy::settings::SettingId;
use crate::replay::Settings;
use crate::report::explain::case::Case;
use crate::report::explain::failure::Failure;
use crate::report::explain::finding::{Confidence, FindingClass, Found, Numbers};
use crate::report::explain::replay_runner::ReplayRunner;
use crate::session::overflow::OverflowKind;
use crate::session::setting_change::SettingChange;
use crate::store::entry::StopReason;
use crate::units::Tokens;

/// Counted over estimated tokens above which an estimate is wrong.
const MIN_ESTIMATE_RATIO: f64 = 1.5;
/// Above this ratio no writing system explains the error: the estimate lacks content.
const MAX_PLAUSIBLE_RATIO: f64 = 8.0;
/// Below this many estimated tokens, the provider's framing outweighs the messages.
const MIN_MESSAGE_TOKENS: u64 = 4_000;
/// Consecutive answers without usage after which the runtime has no usable count.
const MIN_UNCOUNTED_ANSWERS: usize = 3;
/// Factor by which the gateway's own check must overcount.
const MIN_OVERCOUNT_RATIO: f64 = 1.5;
/// Share of the prompt below which a stored counter is too low; also the share of the counter below which a prompt
/// makes the counter too high.
const LOW_COUNTER_SHARE: f64 = 0.7;

/// The values of a wrong measurement.
#[derive(Debug, Clone, PartialEq)]
pub enum Mismeasured {
    /// The provider serves a smaller window than the runtime believes.
    Window {
        believed: Tokens,
        /// Tokens that fit.
        served: u64,
        /// Whether nothing configures the window.
        is_default: bool,
        proof: LimitProof,
        refusal: EntryIx,
    },
    /// The provider reported no usage or far too little, so the runtime compared its trigger with nothing, or with an old
    /// count.
    Usage {
        /// The answers without a usable count.
        uncounted: Vec<EntryIx>,
        /// Whether one of them reported too few tokens.
        is_partial: bool,
        /// The last counted call and its tokens.
        last_counted: Option<(EntryIx, u64)>,
        /// The counter of the session record.
        stored: Option<Tokens>,
    },
    /// The gateway's own check refused a prompt that the provider would have taken.
    Overcount {
        /// Estimated tokens of the prompt.
        likely: u64,
        window: u64,
        /// The largest prompt that the provider counted.
        peak: (EntryIx, u64),
        /// The check's tokens per estimated token.
        factor: Option<f64>,
    },
    /// chars / 4 is far below the provider's count, so every threshold in chars is reached late.
    Estimator {
        /// Counted per estimated token.
        ratio: f64,
        keep_recent: Tokens,
        /// The failing prompt by both counts.
        failing: Option<TwiceCounted>,
    },
    /// The stored counter differs widely from the session's tokens. Only the memory flush and the status line read it.
    StoredCounter {
        stored: Tokens,
        /// The session's tokens, and whether the provider counted them.
        live: (u64, bool),
        /// Other counters of the record that add up to it, with their names.
        summands: Vec<(&'static str, f64)>,
        /// The last counted call and its tokens.
        last_counted: Option<(EntryIx, u64)>,
    },
}

/// The reason why a limit is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitProof {
    /// The provider reserves so many tokens for the reply.
    ReplyReserve(u64),
    /// The refusal states the limit.
    Stated,
    /// The provider accepted one prompt and refused another.
    Accepted {
        accepted: u64,
        refused: u64,
        /// Whether the provider counted the refused prompt.
        is_measured: bool,
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

impl Mismeasured {
    pub(super) fn numbers(&self) -> Numbers {
        match self {
            Self::Window { believed, served, .. } => {
                vec![("believed", believed.get()), ("served", *served as f64)]
            }
            Self::Usage { uncounted, .. } => vec![("uncounted", uncounted.len() as f64)],
            Self::Overcount { likely, peak: (_, peak), factor, .. } => vec![
                ("likely", *likely as f64),
                ("peak", *peak as f64),
                ("overcount", factor.unwrap_or(f64::NAN)),
            ],
            Self::Estimator { ratio, .. } => vec![("ratio", *ratio)],
            Self::StoredCounter { stored, live: (live, _), .. } => {
                vec![("stored", stored.get()), ("live", *live as f64)]
            }
        }
    }
}

/// Returns every wrong measurement, the causes first.
pub(super) fn find_mismeasured(case: &Case<'_>) -> Vec<Found<Mismeasured>> {
    let mut found = Vec::new();
    if let Some((failure, runner)) = case.failure.as_ref().zip(case.replays.as_ref()) {
        found.extend(detect_wrong_window(failure, runner));
        found.extend(detect_missing_usage(case, failure, runner));
        found.extend(detect_overcount(case, failure));
        found.extend(detect_estimator_error(case, failure, runner));
    } else {
        found.extend(detect_ratio_without_overflow(case));
    }
    found.extend(detect_wrong_counter(case));
    found.sort_by_key(|finding| finding.prevents_overflow != Some(true));
    found
}

fn detect_wrong_window(failure: &Failure, runner: &ReplayRunner) -> Option<Found<Mismeasured>> {
    if !failure.serves_less() {
        return None;
    }
    let served = failure.limit;
    let change = SettingChange {
        id: SettingId::ContextWindow,
        value: Value::from(served as f64),
        origin: Provenance::Tuned,
    };
    let own_model = failure.believed_window.gateway == runner.session.window;
    let prevents = own_model && runner.run_under(&[change]).overflows == 0;
    let is_stated = failure.overflow.limit.is_some();
    let facts = Mismeasured::Window {
        believed: failure.believed_window.runtime,
        served,
        is_default: failure.believed_window.gateway.source == WindowSource::Default,
        proof: limit_proof(failure, is_stated),
        refusal: failure.overflow.entry,
    };
    let confidence = if is_stated { Confidence::Sure } else { Confidence::Likely };
    Some(
        Found::new(FindingClass::WrongWindow, confidence, facts)
            .with_rule("compaction 7.1")
            .with_prevents_overflow(prevents),
    )
}

fn limit_proof(failure: &Failure, is_stated: bool) -> LimitProof {
    let reserve = failure.overflow.reply_reserve.filter(|reserve| *reserve > 0);
    match (is_stated, reserve) {
        (true, Some(reserve)) => LimitProof::ReplyReserve(reserve),
        (true, None) => LimitProof::Stated,
        (false, _) => {
            let accepted = failure.last_counted.map_or(failure.limit, |(_, tokens)| tokens);
            LimitProof::Accepted {
                accepted: accepted.max(failure.limit),
                refused: failure.prompt_tokens,
                is_measured: failure.is_measured,
            }
        }
    }
}

fn detect_missing_usage(
    case: &Case<'_>,
    failure: &Failure,
    runner: &ReplayRunner,
) -> Option<Found<Mismeasured>> {
    let calls = &runner.recorded_trace.calls;
    let failing = calls.iter().position(|call| call.entry == failure.overflow.entry)?;
    let answered = calls[..failing]
        .iter()
        .rev()
        .filter(|call| !call.is_failed() && call.stop_reason != StopReason::Aborted);
    let uncounted: Vec<EntryIx> =
        answered.take_while(|call| call.usage.is_none()).map(|call| call.entry).collect();
    if uncounted.len() < MIN_UNCOUNTED_ANSWERS {
        return None;
    }
    let counted = |on: bool| {
        let mut settings = runner.settings_under(&[]);
        settings.assumptions.assume_usage = on;
        enable_compaction(&mut settings);
        runner.run(&settings)
    };
    let prevents = counted(true).overflows == 0 && counted(false).overflows > 0;
    let facts = Mismeasured::Usage {
        is_partial: uncounted.iter().any(|entry| case.session.partial_counts.contains(entry)),
        uncounted,
        last_counted: last_counted(case),
        stored: case.session.limits.stored_totals.total_tokens,
    };
    Some(
        Found::new(FindingClass::CounterStaleLow, Confidence::Sure, facts)
            .with_rule("compaction 1.11")
            .with_prevents_overflow(prevents),
    )
}

fn last_counted(case: &Case<'_>) -> Option<(EntryIx, u64)> {
    case.calls.last().map(|call| (call.entry, call.prompt_tokens))
}

fn detect_overcount(case: &Case<'_>, failure: &Failure) -> Option<Found<Mismeasured>> {
    let highest = case.calls.iter().map(|call| call.prompt_tokens).max()?;
    let peak = case.calls.iter().find(|call| call.prompt_tokens == highest)?.entry;
    let likely = failure.fixed_tokens + (failure.weights.iter().sum::<Tokens>()).whole();
    let window = failure.believed_window.runtime.whole();
    let fits = failure.overflow.kind == OverflowKind::Precheck
        && (likely as f64) * MIN_OVERCOUNT_RATIO <= window.max(1) as f64 * 1.2;
    let factor = failure.overflow.requested.map(|requested| requested as f64 / likely.max(1) as f64);
    if !fits || likely > window || factor.is_some_and(|factor| factor < MIN_OVERCOUNT_RATIO) {
        return None;
    }
    let facts = Mismeasured::Overcount { likely, window, peak: (peak, highest), factor };
    Some(
        Found::new(FindingClass::EstimatorError, Confidence::Likely, facts)
            .with_rule("compaction 8.8")
            .with_prevents_overflow(true),
    )
}

fn detect_estimator_error(
    case: &Case<'_>,
    failure: &Failure,
    runner: &ReplayRunner,
) -> Option<Found<Mismeasured>> {
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
    Some(estimator_finding(case, ratio, Some(failing)).with_prevents_overflow(prevents))
}

fn detect_ratio_without_overflow(case: &Case<'_>) -> Option<Found<Mismeasured>> {
    let ratio =
        case.token_ratio.filter(|ratio| (MIN_ESTIMATE_RATIO..=MAX_PLAUSIBLE_RATIO).contains(ratio))?;
    Some(estimator_finding(case, ratio, None))
}

fn estimator_finding(case: &Case<'_>, ratio: f64, failing: Option<TwiceCounted>) -> Found<Mismeasured> {
    let keep_recent = case.session.configured_settings.compaction.keep_recent_tokens.max(Tokens::ZERO);
    let facts = Mismeasured::Estimator { ratio, keep_recent, failing };
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

fn enable_compaction(settings: &mut Settings) {
    settings.policies.enabled = settings.policies.enabled.with(Policy::Compact, true);
}

fn detect_wrong_counter(case: &Case<'_>) -> Option<Found<Mismeasured>> {
    let totals = &case.session.limits.stored_totals;
    let stored = totals.total_tokens.filter(|stored| *stored > Tokens::ZERO)?;
    // The counter describes the last accepted call, so the growth of a refused call does not make it wrong.
    let accepted = last_counted(case).filter(|_| case.failure.is_some()).map(|(_, tokens)| (tokens, true));
    let live = accepted.unwrap_or_else(|| case.next_prompt());
    let live_tokens = live.0 as f64;
    let class = if live_tokens < LOW_COUNTER_SHARE * stored.get() {
        FindingClass::CounterInflated
    } else if stored < Tokens(LOW_COUNTER_SHARE * live_tokens) && totals.fresh != Some(false) {
        FindingClass::CounterStaleLow
    } else {
        return None;
    };
    let facts = Mismeasured::StoredCounter {
        stored,
        live,
        summands: counters_adding_up(case, stored.get()),
        last_counted: last_counted(case),
    };
    Some(Found::new(class, Confidence::Sure, facts).with_rule("compaction 9.11"))
}

/// Returns the other counters of the record, if they add up to the total; those of 0 are left out.
fn counters_adding_up(case: &Case<'_>, total: f64) -> Vec<(&'static str, f64)> {
    let row = &case.session.limits.stored_totals;
    let Some(input) = row.input else { return Vec::new() };
    let (read, write) = (row.cache_read.unwrap_or(0.0), row.cache_write.unwrap_or(0.0));
    let parts = [("input", input), ("cacheRead", read), ("cacheWrite", write)];
    let all = input + read + write == total;
    if !all && input + read != total {
        return Vec::new();
    }
    let summed = if all { 3 } else { 2 };
    parts.into_iter().take(summed).filter(|(_, tokens)| *tokens > 0.0).collect()
}

#[cfg(test)]
#[path = "mismeasured_tests.rs"]
mod tests;
