//! What the provider's counts say of the steps that should have been taken: a version or a configuration that was another
//! at the time shows in prompts that were larger than the steps would have left them.

use crate::policy::{Step, StepSet};
use crate::replay::{CallReplay, RecordedLane};

/// Leaving a step out must bring the estimates so much nearer to the counts.
const NEARER: f64 = 0.5;

/// The steps of a call under which the recorded lane is farther from the counts than without them.
pub fn contradicted(record: &RecordedLane) -> StepSet {
    let speaks_against = |step: &Step| {
        let (with, without) = errors(record, *step);
        with > 0.0 && without < with * NEARER
    };
    [Step::Prune, Step::Guard]
        .into_iter()
        .filter(speaks_against)
        .fold(StepSet::NONE, |steps, step| steps.with(step, true))
}

/// By how many tokens the estimates are off where a step acted: with it, and had it not.
fn errors(record: &RecordedLane, step: Step) -> (f64, f64) {
    let freed = |call: &CallReplay| match step {
        Step::Prune => call.pruned.tokens,
        _ => call.guarded.tokens,
    };
    let counted = record.calls.iter().zip(&record.lane);
    let counted = counted.filter_map(|(call, sent)| Some((call.measured()?, sent.tokens, freed(sent))));
    counted.filter(|(_, _, freed)| *freed > 0.0).fold(
        (0.0, 0.0),
        |(with, without), (measured, sent, freed)| {
            (with + (sent - measured).abs(), without + (sent + freed - measured).abs())
        },
    )
}
