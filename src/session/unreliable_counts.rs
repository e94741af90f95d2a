//! Joins the answers whose usage does not measure their prompt, so that every count of a session leaves out the same ones.

use std::collections::HashSet;

use crate::ids::EntryIx;
use crate::session::overflow::{Overflow, OverflowScope};
use crate::session::partial_usage::find_partial_usage;
use crate::session::sent_forms::StepSettings;
use crate::transcript::run_replies;

/// Returns the answers whose usage is impossible (`implausible`), of a prompt that the server cut, or on this path partial. Where pruning or
/// a history limit can act, small prompts may be its effect.
pub(super) fn find_unreliable_counts(
    scope: &OverflowScope<'_>,
    implausible: &HashSet<EntryIx>,
    overflows: &[Overflow],
    path: &[EntryIx],
    steps: &StepSettings<'_>,
) -> HashSet<EntryIx> {
    let mut found = implausible.clone();
    found.extend(run_replies(scope.index));
    found.extend(overflows.iter().filter(|overflow| overflow.is_truncated()).map(|overflow| overflow.entry));
    if steps.prune.is_none() && !steps.limits_history() {
        let partial = find_partial_usage(scope.index, path, &found, steps.guard_limits());
        found.extend(partial);
    }
    found
}
