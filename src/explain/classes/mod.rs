//! One file per class of verdict: what must be seen for it, and how it is said.

mod compaction_hollow;
mod compaction_no_op;
mod compaction_refused;
mod compaction_timeout;
mod counter_inflated;
mod counter_stale_low;
mod disagreement;
mod engine_owned;
mod estimator_error;
mod fixed_overhead;
mod healthy;
mod image_bloat;
mod impossible_budget;
mod model_switch;
mod parallel_results;
mod pruning_inert;
mod recurring_session_growth;
mod runtime_fault;
mod single_result;
mod summary_too_large;
mod tool_loop_treadmill;
mod unexplained;
mod wrong_window;

use crate::explain::case::Case;
use crate::explain::failure::Failure;
use crate::explain::finding::{Class, Confidence, Evidence, Finding};
use crate::explain::simulate::{last_check, looks_between_turns};
use crate::explain::words::{exact, told};

type Look = fn(&Case<'_>) -> Option<Finding>;

/// Every class that something must be seen for.
const CLASSES: [Look; 20] = [
    runtime_fault::look,
    impossible_budget::look,
    engine_owned::look,
    wrong_window::look,
    model_switch::look,
    compaction_refused::look,
    summary_too_large::look,
    compaction_timeout::look,
    compaction_hollow::look,
    compaction_no_op::look,
    single_result::look,
    parallel_results::look,
    image_bloat::look,
    tool_loop_treadmill::look,
    recurring_session_growth::look,
    fixed_overhead::look,
    estimator_error::look,
    counter_stale_low::look,
    counter_inflated::look,
    pruning_inert::look,
];

/// Classes that share out the tokens of the refused prompt.
const ON_THE_COUNT: [Class; 5] = [
    Class::SingleResult,
    Class::ParallelResults,
    Class::ImageBloat,
    Class::ToolLoopTreadmill,
    Class::RecurringSessionGrowth,
];

/// Classes that rest on a number which somebody told from something else than the provider's count.
const ON_AN_ESTIMATE: [Class; 7] = [
    Class::EstimatorError,
    Class::CounterStaleLow,
    Class::CounterInflated,
    Class::FixedOverhead,
    Class::WrongWindow,
    Class::ImpossibleBudget,
    Class::EngineOwned,
];

/// All that is found, the surest cause first; never empty.
pub(super) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = CLASSES.iter().filter_map(|look| look(case)).collect();
    if estimator_error::overcounted(case).is_some() {
        // What they say of sizes rests on a count that is none.
        found.retain(|finding| !ON_THE_COUNT.contains(&finding.class));
    }
    let disagree = disagreement::evidence(case);
    for finding in found.iter_mut().filter(|it| ON_AN_ESTIMATE.contains(&it.class)) {
        finding.evidence.push(disagree.clone());
    }
    found.sort_by_key(|finding| (finding.confidence, finding.class));
    if found.is_empty() {
        found.push(match &case.failure {
            Some(failure) => unexplained::finding(case, failure),
            None => unexplained::next_call(case).unwrap_or_else(|| healthy::finding(case)),
        });
    }
    found
}

/// `OVERFLOW by 190 607`; without a number where nothing is over: then an estimate says that it fits.
fn overflow(failure: &Failure) -> String {
    match failure.over() {
        0 => "OVERFLOW".to_owned(),
        over => format!("OVERFLOW by {}", told(over, failure.counted)),
    }
}

/// As sure as the numbers: counted ones, or estimates.
fn by_count(failure: &Failure) -> Confidence {
    if failure.counted { Confidence::Sure } else { Confidence::Likely }
}

/// What a runtime compares that looks between two runs only.
const OWN_COUNT: &str = "the last answer's own count";
/// What today's pi compares before a call (store-pi-1.5 E5).
const COUNT_AND_SINCE: &str = "the last count and chars / 4 of what came since";

/// What the runtime compared before the run that failed (compaction 2.9, 2.11).
fn compared(case: &Case<'_>, failure: &Failure) -> Option<Evidence> {
    let check = last_check(failure, &case.calls)?;
    let trigger = case.trigger();
    let (relation, what) = if check.tokens > trigger {
        ("over", "so it should have compacted")
    } else {
        ("not over", "so it did not compact")
    };
    let (when, count) = if looks_between_turns(&failure.then) {
        ("before that call pi", COUNT_AND_SINCE)
    } else {
        ("before that run the runtime", OWN_COUNT)
    };
    let text = format!(
        "{when} compared {} tokens, {count}, with its trigger of {}: {relation}, {what}",
        exact(check.tokens as u64),
        exact(trigger.max(0.0) as u64),
    );
    Some(Evidence::new(text).at([check.entry]).by("compaction 2.11"))
}

/// What was refused, who says so, and what the gateway's own estimate was.
fn numbers_of(failure: &Failure) -> Evidence {
    let requested = told(failure.requested, failure.counted);
    let text = format!(
        "{requested} tokens were sent where {} fit, says {}; chars / 4 said ~{}",
        exact(failure.limit),
        failure.overflow.who(),
        exact(failure.estimate()),
    );
    Evidence::new(text).at([failure.overflow.entry]).by("compaction 8.8")
}
