//! What the provider's counts say of the steps that should have been taken: a version or a configuration that was another
//! at the time shows in prompts that were larger than the steps would have left them.

use crate::policy::{Policy, PolicySet};
use crate::replay::{CallReplay, RecordedTrace};

/// Leaving a step out must bring the estimates so much nearer to the counts.
const MIN_IMPROVEMENT: f64 = 0.5;

/// The steps of a call under which the recorded lane is farther from the counts than without them.
pub fn contradicted_policies(record: &RecordedTrace) -> PolicySet {
    let speaks_against = |step: &Policy| {
        let (with, without) = prediction_errors(record, *step);
        with > 0.0 && without < with * MIN_IMPROVEMENT
    };
    [Policy::Prune, Policy::Guard]
        .into_iter()
        .filter(speaks_against)
        .fold(PolicySet::NONE, |steps, step| steps.with(step, true))
}

/// By how many tokens the estimates are off where a step acted: with it, and had it not.
fn prediction_errors(record: &RecordedTrace, step: Policy) -> (f64, f64) {
    let freed = |call: &CallReplay| match step {
        Policy::Prune => call.pruned.tokens,
        _ => call.guarded.tokens,
    };
    let counted = record.calls.iter().zip(&record.trace);
    let counted =
        counted.filter_map(|(call, sent)| Some((call.measured_tokens()?, sent.tokens, freed(sent))));
    counted.filter(|(_, _, freed)| *freed > 0.0).fold(
        (0.0, 0.0),
        |(with, without), (measured, sent, freed)| {
            (with + (sent - measured).abs(), without + (sent + freed - measured).abs())
        },
    )
}
