//! Wrong measurements: the window, the usage, the estimator, the stored counter. Each is a cause only if its correction
//! makes every call of a replay fit; otherwise it is a note.

use crate::format::{format_estimate, format_number, format_short_estimate, format_tokens, quantity};
use crate::gateway::provenance::Provenance;
use crate::gateway::window::WindowSource;
use crate::js::Value;
use crate::policy::Policy;
use crate::policy::settings::SettingId;
use crate::replay::Settings;
use crate::report::explain::case::Case;
use crate::report::explain::failure::Failure;
use crate::report::explain::finding::{Confidence, Evidence, Finding, FindingClass};
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

/// Returns every wrong measurement, the causes first.
pub(super) fn find_mismeasured(case: &Case<'_>) -> Vec<Finding> {
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

/// The provider serves a smaller window than the runtime believes.
fn detect_wrong_window(failure: &Failure, runner: &ReplayRunner) -> Option<Finding> {
    let believed = failure.believed_window.runtime;
    let served = failure.limit;
    if !failure.serves_less() {
        return None;
    }
    let change = SettingChange {
        id: SettingId::ContextWindow,
        value: Value::from(served as f64),
        origin: Provenance::Tuned,
    };
    let own_model = failure.believed_window.gateway == runner.session.window;
    let flips = own_model && runner.run_under(&[change]).overflows == 0;
    let source = match failure.believed_window.gateway.source {
        WindowSource::Default => "nothing configures the model's window, so the gateway uses its default",
        _ => "the gateway takes its window from the configuration or the model catalogue",
    };
    let named = failure.overflow.limit.is_some();
    let reply = failure.overflow.reply_reserve.filter(|reply| *reply > 0);
    let how = match (named, reply) {
        (true, Some(reply)) => format!("the provider reserves {} tokens for the reply", format_number(reply)),
        (true, None) => "the refusal states the limit".to_owned(),
        (false, _) => {
            let accepted = failure.last_counted.map_or(served, |(_, tokens)| tokens);
            format!(
                "the provider accepted {} and refused {}",
                format_number(accepted.max(served)),
                format_tokens(failure.prompt_tokens, failure.is_measured)
            )
        }
    };
    let line = format!(
        "the provider accepts {} tokens, but the gateway assumes {}",
        format_number(served),
        format_number(believed.whole())
    );
    Some(
        Finding::new(
            FindingClass::WrongWindow,
            if named { Confidence::Sure } else { Confidence::Likely },
            line,
        )
        .with_rule("compaction 7.1")
        .with_evidence(Evidence::new(how).with_entries([failure.overflow.entry]))
        .with_evidence(Evidence::new(source).with_rule("compaction 7.1"))
        .with_number("believed", believed.get())
        .with_number("served", served as f64)
        .with_prevents_overflow(flips),
    )
}

/// The provider reported no usage or far too little, so the runtime compared its trigger with nothing, or with an old
/// count.
fn detect_missing_usage(case: &Case<'_>, failure: &Failure, runner: &ReplayRunner) -> Option<Finding> {
    let calls = &runner.recorded_trace.calls;
    let failing = calls.iter().position(|call| call.entry == failure.overflow.entry)?;
    let answered = calls[..failing]
        .iter()
        .rev()
        .filter(|call| !call.is_failed() && call.stop_reason != StopReason::Aborted);
    let blind: Vec<_> = answered.take_while(|call| call.usage.is_none()).collect();
    if blind.len() < MIN_UNCOUNTED_ANSWERS {
        return None;
    }
    let counted = |on: bool| {
        let mut settings = runner.settings_under(&[]);
        settings.assumptions.assume_usage = on;
        enable_compaction(&mut settings);
        runner.run(&settings)
    };
    let flips = counted(true).overflows == 0 && counted(false).overflows > 0;
    let last = case.calls.last();
    let partial = blind.iter().any(|call| case.session.partial_counts.contains(&call.entry));
    let what = if partial { "far too few tokens" } else { "no usage" };
    let line = match last {
        Some(call) => {
            format!(
                "the provider reported {what} for {}; its last count is {}",
                quantity(blind.len(), "call"),
                format_number(call.prompt_tokens)
            )
        }
        None => format!(
            "the provider reported {what} for {}, so compaction had nothing to compare",
            quantity(blind.len(), "call")
        ),
    };
    let stored = case.session.limits.stored_totals.total_tokens;
    let mut finding = Finding::new(FindingClass::CounterStaleLow, Confidence::Sure, line)
        .with_rule("compaction 1.11")
        .with_evidence(
            Evidence::new("answers without a usable count").with_entries(blind.iter().map(|call| call.entry)),
        )
        .with_number("uncounted", blind.len() as f64)
        .with_prevents_overflow(flips);
    finding.evidence.extend(last.map(|call| {
        Evidence::new(format!("the last counted call had {} tokens", format_number(call.prompt_tokens)))
            .with_entries([call.entry])
            .with_rule("compaction 1.11")
    }));
    finding.evidence.extend(stored.map(|stored| {
        Evidence::new(format!("the stored counter still shows {}", format_number(stored.whole())))
            .with_rule("compaction 9.4")
    }));
    Some(finding)
}

/// The gateway's own check refused a prompt that the provider would have taken.
fn detect_overcount(case: &Case<'_>, failure: &Failure) -> Option<Finding> {
    let peak = case.calls.iter().map(|call| call.prompt_tokens).max()?;
    let likely = failure.fixed_tokens + (failure.weights.iter().sum::<Tokens>()).whole();
    let limit = failure.believed_window.runtime.whole();
    let fits = failure.overflow.kind == OverflowKind::Precheck
        && (likely as f64) * MIN_OVERCOUNT_RATIO <= limit.max(1) as f64 * 1.2;
    let over = failure.overflow.requested.map(|requested| requested as f64 / likely.max(1) as f64);
    if !fits || likely > limit || over.is_some_and(|over| over < MIN_OVERCOUNT_RATIO) {
        return None;
    }
    let line = format!(
        "the gateway itself refused {} tokens, although the window is {}",
        format_short_estimate(likely),
        format_number(limit)
    );
    let at = case.calls.iter().find(|call| call.prompt_tokens == peak).map(|call| call.entry);
    Some(
        Finding::new(FindingClass::EstimatorError, Confidence::Likely, line)
            .with_rule("compaction 8.8")
            .with_evidence(
                Evidence::new(format!("the largest prompt the provider counted: {}", format_number(peak)))
                    .with_entries(at),
            )
            .with_number("likely", likely as f64)
            .with_number("peak", peak as f64)
            .with_number("overcount", over.unwrap_or(f64::NAN))
            .with_prevents_overflow(true),
    )
}

/// chars / 4 is far below the provider's count, so every threshold in chars is reached late.
fn detect_estimator_error(case: &Case<'_>, failure: &Failure, runner: &ReplayRunner) -> Option<Finding> {
    let estimate = failure.gateway_estimate();
    let at_call = failure.prompt_tokens as f64 / estimate.max(1) as f64;
    let ratio = case.token_ratio.unwrap_or(at_call).max(if failure.is_measured { at_call } else { 0.0 });
    if estimate < MIN_MESSAGE_TOKENS || !(MIN_ESTIMATE_RATIO..=MAX_PLAUSIBLE_RATIO).contains(&ratio) {
        return None;
    }
    let fits = [false, true].into_iter().any(|compacts| {
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
    Some(estimator_finding(case, ratio).with_failure(failure).with_prevents_overflow(fits))
}

fn detect_ratio_without_overflow(case: &Case<'_>) -> Option<Finding> {
    let ratio =
        case.token_ratio.filter(|ratio| (MIN_ESTIMATE_RATIO..=MAX_PLAUSIBLE_RATIO).contains(ratio))?;
    Some(estimator_finding(case, ratio))
}

fn estimator_finding(case: &Case<'_>, ratio: f64) -> Finding {
    let keep = case.session.configured_settings.compaction.keep_recent_tokens.max(Tokens::ZERO);
    let line = format!("new messages have {ratio:.1}x the tokens that the gateway estimates");
    let kept = format!(
        "keepRecentTokens {} keeps {}",
        format_number(keep.whole()),
        format_estimate((keep * ratio).whole())
    );
    Finding::new(FindingClass::EstimatorError, Confidence::Likely, line)
        .with_rule("compaction 1.1")
        .with_evidence(Evidence::new(kept).with_rule("compaction 1.1"))
        .with_number("ratio", ratio)
}

impl Finding {
    fn with_failure(self, failure: &Failure) -> Self {
        let text = format!(
            "the provider counted {}; chars/4 estimates ~{}",
            format_tokens(failure.prompt_tokens, failure.is_measured),
            format_number(failure.gateway_estimate())
        );
        self.with_evidence(Evidence::new(text).with_entries([failure.overflow.entry]))
    }
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

/// The stored counter differs widely from the session's tokens. Only the memory flush and the status line read it.
fn detect_wrong_counter(case: &Case<'_>) -> Option<Finding> {
    let row = &case.session.limits.stored_totals;
    let stored = row.total_tokens.filter(|stored| *stored > Tokens::ZERO)?;
    // The counter describes the last accepted call, so the growth of a refused call does not make it wrong.
    let accepted =
        case.calls.last().filter(|_| case.failure.is_some()).map(|call| (call.prompt_tokens, true));
    let (live, counted) = accepted.unwrap_or_else(|| case.next_prompt());
    let (class, how) = if (live as f64) < LOW_COUNTER_SHARE * stored.get() {
        (FindingClass::CounterInflated, "more")
    } else if stored < Tokens(LOW_COUNTER_SHARE * live as f64) && row.fresh != Some(false) {
        (FindingClass::CounterStaleLow, "less")
    } else {
        return None;
    };
    let line = format!(
        "the stored counter shows {}, {how} than the session's {}",
        format_number(stored.whole()),
        format_tokens(live, counted)
    );
    let mut finding = Finding::new(class, Confidence::Sure, line)
        .with_rule("compaction 9.11")
        .with_number("stored", stored.get())
        .with_number("live", live as f64);
    finding.evidence.extend(
        counters_adding_up(case, stored.get()).map(|sum| Evidence::new(sum).with_rule("compaction 9.11")),
    );
    let last = case.calls.last();
    finding.evidence.extend(last.map(|call| {
        Evidence::new(format!("the provider counted {} for the last call", format_number(call.prompt_tokens)))
            .with_entries([call.entry])
    }));
    Some(finding)
}

/// Describes which other counters of the record add up to the total.
fn counters_adding_up(case: &Case<'_>, total: f64) -> Option<String> {
    let row = &case.session.limits.stored_totals;
    let (input, read, write) = (row.input?, row.cache_read.unwrap_or(0.0), row.cache_write.unwrap_or(0.0));
    let parts = [("input", input), ("cacheRead", read), ("cacheWrite", write)];
    let all = input + read + write == total;
    let shown = parts.iter().take(if all { 3 } else { 2 }).filter(|(_, tokens)| *tokens > 0.0);
    let words: Vec<String> =
        shown.map(|(name, tokens)| format!("{name} {}", format_number(*tokens as u64))).collect();
    (all || input + read == total).then(|| format!("it is the sum of {}", words.join(" + ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::context_limits::{ContextLimits, StoredTotals};
    use crate::session::testing::{loaded_session, transcript, user};
    use crate::session::{CountSource, LoadedSession, SessionItem, TokenCount};

    /// A session of `live` tokens whose record has these totals.
    fn wrong_counter(live: u64, totals: StoredTotals) -> Option<Finding> {
        let session = loaded_session(&transcript(&[user("hi")]), 200_000.0);
        let tokens = Some(TokenCount { tokens: live, source: CountSource::Measured });
        let item = SessionItem { tokens, ..session.item };
        let limits = ContextLimits { stored_totals: totals, ..session.limits };
        let session = LoadedSession { item, limits, ..session };
        detect_wrong_counter(&Case::read(&session, None).expect("memory is readable"))
    }

    fn stored(total: f64) -> StoredTotals {
        StoredTotals { total_tokens: Some(Tokens(total)), ..StoredTotals::default() }
    }

    #[test]
    fn a_stored_counter_is_wrong_below_seven_tenths_of_the_session_or_above_its_inverse() {
        let class = |live: u64, totals: f64| wrong_counter(live, stored(totals)).map(|found| found.class);
        assert_eq!(class(1_000, 699.0), Some(FindingClass::CounterStaleLow));
        assert_eq!(class(1_000, 700.0), None);
        assert_eq!(class(700, 1_000.0), None);
        assert_eq!(class(699, 1_000.0), Some(FindingClass::CounterInflated));
        assert_eq!(class(1_000, 0.0), None, "a counter of 0 is not kept yet");
    }

    #[test]
    fn a_low_counter_marked_stale_is_not_reported() {
        let low =
            |fresh: Option<bool>| wrong_counter(1_000, StoredTotals { fresh, ..stored(10.0) }).is_some();
        assert!(low(None) && low(Some(true)) && !low(Some(false)));
    }

    #[test]
    fn an_inflated_counter_names_the_counters_that_it_is_the_sum_of() {
        let sum = |total: f64, write: f64| {
            let totals = StoredTotals {
                input: Some(1_000.0),
                cache_read: Some(8_000.0),
                cache_write: Some(write),
                ..stored(total)
            };
            let found = wrong_counter(100, totals).expect("inflated");
            assert!(found.headline.contains("more than the session's 100"), "{}", found.headline);
            found.evidence.iter().map(|evidence| evidence.text.clone()).find(|text| text.contains("sum"))
        };
        let all = "it is the sum of input 1,000 + cacheRead 8,000 + cacheWrite 500";
        assert_eq!(sum(9_500.0, 500.0).as_deref(), Some(all));
        let without_writes = "it is the sum of input 1,000 + cacheRead 8,000";
        assert_eq!(sum(9_000.0, 500.0).as_deref(), Some(without_writes));
        assert_eq!(sum(9_000.0, 0.0).as_deref(), Some(without_writes));
        assert_eq!(sum(9_100.0, 500.0), None);
    }
}
