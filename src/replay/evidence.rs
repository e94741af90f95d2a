//! Compares the provider's counts with the policies of the recorded trace: under another version or configuration at
//! the time, recorded prompts are larger than those policies would have left them.

use crate::policy::{Policy, PolicySet};
use crate::replay::{CallReplay, RecordedTrace};
use crate::units::Tokens;

/// A policy is contradicted if the error without it is below this share of the error with it.
const MIN_IMPROVEMENT: f64 = 0.5;

/// Returns the policies under which the recorded trace is farther from the counts than without them.
pub fn contradicted_policies(record: &RecordedTrace) -> PolicySet {
    let speaks_against = |policy: &Policy| {
        let (with, without) = prediction_errors(record, *policy);
        with > 0.0 && without < with * MIN_IMPROVEMENT
    };
    [Policy::Prune, Policy::Guard]
        .into_iter()
        .filter(speaks_against)
        .fold(PolicySet::NONE, |policies, policy| policies.with(policy, true))
}

/// Returns the total error of the estimates in tokens at the calls on which a policy acted: with it, and without it.
fn prediction_errors(record: &RecordedTrace, policy: Policy) -> (f64, f64) {
    let freed = |call: &CallReplay| match policy {
        Policy::Prune => call.pruned.tokens,
        _ => call.guarded.tokens,
    };
    let counted = record.calls.iter().zip(record.trace.iter());
    let counted =
        counted.filter_map(|(call, sent)| Some((call.measured_tokens()?, sent.tokens, freed(sent))));
    counted.filter(|(_, _, freed)| *freed > Tokens::ZERO).fold(
        (0.0, 0.0),
        |(with, without), (measured, sent, freed)| {
            (with + (sent - measured).abs().get(), without + (sent + freed - measured).abs().get())
        },
    )
}
