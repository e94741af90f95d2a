//! Joins the answers whose usage does not measure their prompt, so that every count of a session leaves out the same ones.

use std::collections::HashSet;

use crate::ids::EntryIx;
use crate::policy::guard::GuardLimits;
use crate::session::overflow::{Overflow, OverflowScope};
use crate::session::prompt_estimates::PromptEstimates;
use crate::session::sent_forms::StepSettings;
use crate::store::entry::{EntryKind, Usage};
use crate::store::index::Index;
use crate::transcript::run_replies;
use crate::units::Tokens;

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

// Finds usage that cannot be of the whole prompt.
//
// A proxy that omits the tokens read from the cache, for example, reports only the last block of the prompt. Such usage
// measures nothing, and the runtime's compaction trigger, which relies on it, is blind. A count far below the estimate
// proves nothing by itself, because some texts have ten and more chars per token; the shape of the counts does.

/// Share of the estimate below which the shape of a count is looked at.
const LOW_RATIO: f64 = 0.4;

/// Estimated tokens below which a low count proves nothing.
const MIN_ESTIMATE: Tokens = Tokens(6_000.0);

/// Low counts needed before any is doubted: a single one may belong to another context.
const MIN_CALLS: usize = 3;

/// Share of the previous count below which a count has fallen, although messages were only added.
const FALL_RATIO: f64 = 0.95;

/// Counted growth per estimated token below which counts do not follow the messages.
const MIN_GROWTH_RATIO: f64 = 0.05;

/// Estimated growth from which that ratio means anything.
const MIN_GROWTH: Tokens = Tokens(1_000.0);

/// Counted tokens per estimated token that no text has: 160 chars in each token.
const IMPOSSIBLE_RATIO: f64 = 1.0 / 40.0;

/// A reported total above this many times the sum of its fields shows that a field is missing.
const TOTAL_RATIO: f64 = 1.5;

/// A count far below the estimate of its prompt, without any number of a cache.
#[derive(Debug, Clone, Copy)]
struct LowCount {
    entry: EntryIx,
    counted: Tokens,
    estimate: Tokens,
    /// Compactions before it on the path.
    segment: usize,
    /// Whether the reported total is far above the fields.
    lacks_field: bool,
}

/// Returns the answers of a path whose usage is partial; `known` are those that are unreliable for another reason. No prompt
/// is larger than the guard's limits let it be.
pub(super) fn find_partial_usage(
    index: &Index,
    path: &[EntryIx],
    known: &HashSet<EntryIx>,
    guard: Option<GuardLimits>,
) -> HashSet<EntryIx> {
    let path: Vec<EntryIx> = path.iter().copied().filter(|ix| !known.contains(ix)).collect();
    let low = low_counts(index, &path, guard);
    let is_partial =
        low.len() >= MIN_CALLS && (has_impossible_shape(&low) || low.iter().all(|it| it.lacks_field));
    if is_partial { low.iter().map(|count| count.entry).collect() } else { HashSet::new() }
}

fn low_counts(index: &Index, path: &[EntryIx], guard: Option<GuardLimits>) -> Vec<LowCount> {
    let counted = path.iter().filter(|ix| index.entry(**ix).is_model_call());
    if counted.count() < MIN_CALLS {
        return Vec::new();
    }
    let estimates = PromptEstimates::new(index, guard);
    let mut segment = 0;
    let mut low = Vec::new();
    for ix in path {
        let entry = index.entry(*ix);
        segment += usize::from(matches!(entry.kind, EntryKind::Compaction | EntryKind::Reset));
        let usage = entry.message.filter(|_| entry.is_model_call()).and_then(|size| size.usage);
        let Some(usage) = usage.filter(Usage::has_prompt_tokens).filter(|usage| !usage.has_cache_tokens())
        else {
            continue;
        };
        let (counted, estimate) = (usage.prompt_tokens(), estimates.sent_to(*ix));
        if estimate >= MIN_ESTIMATE && counted < estimate * LOW_RATIO {
            let lacks_field = usage.context_tokens > (counted + usage.output) * TOTAL_RATIO;
            low.push(LowCount { entry: *ix, counted, estimate, segment, lacks_field });
        }
    }
    low
}

/// Whether the counts cannot be of whole prompts: they fall or stand still while messages are added, or are too few
/// for any text.
fn has_impossible_shape(low: &[LowCount]) -> bool {
    if low.iter().all(|count| count.counted < count.estimate * IMPOSSIBLE_RATIO) {
        return true;
    }
    let pairs = || low.windows(2).filter(|pair| pair[0].segment == pair[1].segment);
    let falls = pairs().any(|pair| pair[1].counted < pair[0].counted * FALL_RATIO);
    let sum = |of: fn(&LowCount) -> Tokens| pairs().map(|pair| of(&pair[1]) - of(&pair[0])).sum::<Tokens>();
    let (counted, added) = (sum(|count| count.counted), sum(|count| count.estimate));
    falls || added >= MIN_GROWTH && counted < added * MIN_GROWTH_RATIO
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::testing::{loaded_session, message, transcript, user};

    /// Answers with these counts to messages of 8,000 chars, with or without a cache.
    fn doubted(counted: &[u64], cached: u64) -> usize {
        let mut entries = vec![user(&"word ".repeat(8_000))];
        for prompt in counted {
            let uncached = prompt - cached;
            entries.push(message(&format!(
                r#"{{"role":"assistant","content":[],"stopReason":"stop","usage":{{"input":{uncached},"output":1,"cacheRead":{cached},"cacheWrite":0,"totalTokens":{prompt}}}}}"#
            )));
            entries.push(user(&"word ".repeat(1_600)));
        }
        let made = loaded_session(&transcript(&entries), 200_000.0);
        find_partial_usage(&made.index, &made.context.path, &HashSet::new(), None).len()
    }

    #[test]
    fn counts_that_do_not_follow_the_text_are_doubted() {
        assert_eq!(doubted(&[120, 130, 140], 0), 3, "too few for any text");
        assert_eq!(doubted(&[2_100, 1_850, 2_300, 2_000], 0), 4, "only the last block: they fall");
        assert_eq!(doubted(&[2_000, 2_010, 2_020, 2_030], 0), 4, "equal blocks: they stand still");
    }

    #[test]
    fn counts_that_follow_the_text_are_measured_however_low() {
        assert_eq!(doubted(&[120, 12_000, 12_100], 0), 0, "one may be another context's");
        assert_eq!(doubted(&[3_000, 3_600, 4_200, 4_800, 5_400], 0), 0, "rules of dashes have few tokens");
        assert_eq!(doubted(&[1_300, 1_200, 1_250, 1_200], 1_000), 0, "with its cache the usage is complete");
    }
}
