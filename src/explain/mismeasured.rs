//! What was measured wrong: the window, the usage, the estimator, the stored counter. Each is a cause only where setting it
//! right makes every call fit, by replay; otherwise it is a note.

use crate::explain::case::Case;
use crate::explain::failure::Failure;
use crate::explain::finding::{Class, Confidence, Evidence, Finding};
use crate::explain::rehearsal::Rehearsal;
use crate::explain::words::{about, count, exact, told};
use crate::gateway::provenance::Provenance;
use crate::gateway::window::WindowSource;
use crate::inspect::change::Change;
use crate::inspect::overflow::Sign;
use crate::inspect::session_settings::CONTEXT_WINDOW;
use crate::js::Value;
use crate::policy::Step;
use crate::replay::Settings;
use crate::store::entry::StopReason;

/// How far off an estimate must be, counted by estimated.
const FAR_OFF: f64 = 1.5;
/// Beyond this no script explains an estimate: something is missing from it.
const BEYOND: f64 = 8.0;
/// Estimated tokens below which what surrounds the messages outweighs them.
const ENOUGH: u64 = 4_000;
/// Answers without a usage that leave the runtime blind.
const UNCOUNTED: usize = 3;
/// How much more the gateway's own check must count than there is.
const OVERCOUNT: f64 = 1.5;
/// Share of the prompt below which a stored counter is low, and of the counter below which a prompt is.
const COUNTER: f64 = 0.7;

/// Everything that was measured wrong, the causes first.
pub(super) fn mismeasured(case: &Case<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    if let Some((failure, rehearsal)) = case.failure.as_ref().zip(case.rehearsal.as_ref()) {
        found.extend(window(failure, rehearsal));
        found.extend(usage(case, failure, rehearsal));
        found.extend(overcounted(case, failure));
        found.extend(estimator(case, failure, rehearsal));
    } else {
        found.extend(ratio_at_rest(case));
    }
    found.extend(counter(case));
    found.sort_by_key(|finding| finding.flips != Some(true));
    found
}

/// The provider serves less than the runtime believes.
fn window(failure: &Failure, rehearsal: &Rehearsal) -> Option<Finding> {
    let believed = failure.believed.runtime;
    let served = failure.limit;
    if !failure.serves_less() {
        return None;
    }
    let change = Change {
        key: CONTEXT_WINDOW.to_owned(),
        step: None,
        value: Value::from(served as f64),
        origin: Provenance::Tuned,
    };
    let own_model = failure.believed.gateway == rehearsal.inspection.window;
    let flips = own_model && rehearsal.under(&[change]).overflows == 0;
    let source = match failure.believed.gateway.source {
        WindowSource::Default => "nobody named the model's window, so the default was filled in",
        _ => "the window the configuration or catalogue names",
    };
    let named = failure.overflow.limit.is_some();
    let reply = failure.overflow.reply.filter(|reply| *reply > 0);
    let how = match (named, reply) {
        (true, Some(reply)) => format!("{} of them are reserved for the reply", exact(reply)),
        (true, None) => "the refusal names the limit".to_owned(),
        (false, _) => {
            let accepted = failure.before.map_or(served, |(_, tokens)| tokens);
            format!(
                "accepted {}, refused {}",
                exact(accepted.max(served)),
                told(failure.requested, failure.counted)
            )
        }
    };
    let line =
        format!("the provider takes {} while the gateway believes {}", exact(served), exact(believed as u64));
    Some(
        Finding::new(Class::WrongWindow, if named { Confidence::Sure } else { Confidence::Likely }, line)
            .by("compaction 7.1")
            .seen(Evidence::new(how).at([failure.overflow.entry]))
            .seen(Evidence::new(source).by("compaction 7.1"))
            .number("believed", believed)
            .number("served", served as f64)
            .flips(flips),
    )
}

/// The provider reported no usage, so the runtime's trigger compared nothing, or a count of long ago.
fn usage(case: &Case<'_>, failure: &Failure, rehearsal: &Rehearsal) -> Option<Finding> {
    let calls = &rehearsal.record.calls;
    let failing = calls.iter().position(|call| call.entry == failure.overflow.entry)?;
    let answered =
        calls[..failing].iter().rev().filter(|call| !call.failed() && call.stop != StopReason::Aborted);
    let blind: Vec<_> = answered.take_while(|call| call.usage.is_none()).collect();
    if blind.len() < UNCOUNTED {
        return None;
    }
    let counted = |on: bool| {
        let mut settings = rehearsal.settings(&[]);
        settings.assumed.counted = on;
        with_compaction(&mut settings);
        rehearsal.run(&settings)
    };
    let flips = counted(true).overflows == 0 && counted(false).overflows > 0;
    let last = case.calls.last();
    let partial = blind.iter().any(|call| case.inspection.doubted.contains(&call.entry));
    let what = if partial { "reported far fewer tokens than their text" } else { "reported no usage" };
    let line = match last {
        Some(call) => {
            format!("{} {what}; the last count is {}", count(blind.len(), "call"), exact(call.prompt))
        }
        None => format!("{} {what}, so compaction had nothing to compare", count(blind.len(), "call")),
    };
    let stored = case.inspection.upkeep.row.total_tokens;
    let mut finding = Finding::new(Class::CounterStaleLow, Confidence::Sure, line)
        .by("compaction 1.11")
        .seen(Evidence::new("answers without a usable count").at(blind.iter().map(|call| call.entry)))
        .number("uncounted", blind.len() as f64)
        .flips(flips);
    finding.evidence.extend(last.map(|call| {
        Evidence::new(format!("the last counted call: {}", exact(call.prompt)))
            .at([call.entry])
            .by("compaction 1.11")
    }));
    finding.evidence.extend(stored.map(|stored| {
        Evidence::new(format!("the stored counter still says {}", exact(stored as u64))).by("compaction 9.4")
    }));
    Some(finding)
}

/// The gateway's own check refused what the provider would have taken.
fn overcounted(case: &Case<'_>, failure: &Failure) -> Option<Finding> {
    let peak = case.calls.iter().map(|call| call.prompt).max()?;
    let likely = failure.fixed + failure.weights.iter().sum::<f64>() as u64;
    let limit = failure.believed.runtime as u64;
    let fits =
        failure.overflow.sign == Sign::Precheck && (likely as f64) * OVERCOUNT <= limit.max(1) as f64 * 1.2;
    let over = failure.overflow.requested.map(|requested| requested as f64 / likely.max(1) as f64);
    if !fits || likely > limit || over.is_some_and(|over| over < OVERCOUNT) {
        return None;
    }
    let line = format!("the gateway's own check refused about {} of {}", about(likely), exact(limit));
    let at = case.calls.iter().find(|call| call.prompt == peak).map(|call| call.entry);
    Some(
        Finding::new(Class::EstimatorError, Confidence::Likely, line)
            .by("compaction 8.8")
            .seen(Evidence::new(format!("the largest prompt the provider counted: {}", exact(peak))).at(at))
            .number("likely", likely as f64)
            .number("peak", peak as f64)
            .number("overcount", over.unwrap_or(f64::NAN))
            .flips(true),
    )
}

/// Chars / 4 is far from what the provider counts, so every threshold in chars is reached late.
fn estimator(case: &Case<'_>, failure: &Failure, rehearsal: &Rehearsal) -> Option<Finding> {
    let estimate = failure.estimate();
    let at_call = failure.requested as f64 / estimate.max(1) as f64;
    let ratio = case.ratio.unwrap_or(at_call).max(if failure.counted { at_call } else { 0.0 });
    if estimate < ENOUGH || !(FAR_OFF..=BEYOND).contains(&ratio) {
        return None;
    }
    let fits = [false, true].into_iter().any(|compacts| {
        let replayed = |ratio: f64| {
            let mut settings = rehearsal.settings(&[]);
            if compacts {
                with_compaction(&mut settings);
            }
            scale(&mut settings, ratio);
            rehearsal.run(&settings).overflows
        };
        replayed(ratio) == 0 && replayed(1.0) > 0
    });
    Some(estimated_wrong(case, ratio).at_failure(failure).flips(fits))
}

fn ratio_at_rest(case: &Case<'_>) -> Option<Finding> {
    let ratio = case.ratio.filter(|ratio| (FAR_OFF..=BEYOND).contains(ratio))?;
    Some(estimated_wrong(case, ratio))
}

fn estimated_wrong(case: &Case<'_>, ratio: f64) -> Finding {
    let keep = case.inspection.configured.compaction.keep_recent_tokens.max(0.0);
    let line = format!("the gateway counts this text {ratio:.1}x too small");
    let kept =
        format!("keepRecentTokens {} keeps about {}", exact(keep as u64), exact((keep * ratio) as u64));
    Finding::new(Class::EstimatorError, Confidence::Likely, line)
        .by("compaction 1.1")
        .seen(Evidence::new(kept).by("compaction 1.1"))
        .number("ratio", ratio)
}

impl Finding {
    fn at_failure(self, failure: &Failure) -> Self {
        let text = format!(
            "the provider counted {}, chars / 4 says ~{}",
            told(failure.requested, failure.counted),
            exact(failure.estimate())
        );
        self.seen(Evidence::new(text).at([failure.overflow.entry]))
    }
}

/// The thresholds as a gateway would have that counts right.
fn scale(settings: &mut Settings, ratio: f64) {
    let steps = &mut settings.steps;
    steps.prune.soft_trim_ratio /= ratio;
    steps.prune.hard_clear_ratio /= ratio;
    steps.prune.min_prunable_tool_chars /= ratio;
    steps.compaction.keep_recent_tokens /= ratio;
}

fn with_compaction(settings: &mut Settings) {
    settings.steps.steps = settings.steps.steps.with(Step::Compact, true);
}

/// The stored counter is far from what the session holds. Nothing compares it but the memory flush and the status line.
fn counter(case: &Case<'_>) -> Option<Finding> {
    let row = &case.inspection.upkeep.row;
    let stored = row.total_tokens.filter(|stored| *stored > 0.0)?;
    // The counter is that of the last accepted call; what a refused one brought is not its fault.
    let accepted = case.calls.last().filter(|_| case.failure.is_some()).map(|call| (call.prompt, true));
    let (live, counted) = accepted.unwrap_or_else(|| case.prompt());
    let (class, how) = if (live as f64) < COUNTER * stored {
        (Class::CounterInflated, "more")
    } else if stored < COUNTER * live as f64 && row.fresh != Some(false) {
        (Class::CounterStaleLow, "less")
    } else {
        return None;
    };
    let line = format!(
        "the stored counter says {}, {how} than the session's {}",
        exact(stored as u64),
        told(live, counted)
    );
    let mut finding = Finding::new(class, Confidence::Sure, line)
        .by("compaction 9.11")
        .number("stored", stored)
        .number("live", live as f64);
    finding.evidence.extend(sum(case, stored).map(|sum| Evidence::new(sum).by("compaction 9.11")));
    let last = case.calls.last();
    finding.evidence.extend(last.map(|call| {
        Evidence::new(format!("the last call was counted at {}", exact(call.prompt))).at([call.entry])
    }));
    Some(finding)
}

/// Which of the row's other counters add up to the total.
fn sum(case: &Case<'_>, total: f64) -> Option<String> {
    let row = &case.inspection.upkeep.row;
    let (input, read, write) = (row.input?, row.cache_read.unwrap_or(0.0), row.cache_write.unwrap_or(0.0));
    let parts = [("input", input), ("cacheRead", read), ("cacheWrite", write)];
    let all = input + read + write == total;
    let shown = parts.iter().take(if all { 3 } else { 2 }).filter(|(_, tokens)| *tokens > 0.0);
    let words: Vec<String> =
        shown.map(|(name, tokens)| format!("{name} {}", exact(*tokens as u64))).collect();
    (all || input + read == total).then(|| format!("it is the sum {}", words.join(" + ")))
}
