//! The changes that the policies of one call make to its prompt, whether prefix sums or a message list gave them.

use crate::ids::EntryIx;
use crate::replay::edit_digest::EditDigest;
use crate::replay::outcome::TrimStats;
use crate::replay::prompt_edits::GuardRange;
use crate::replay::range_totals::{EditTotals, RangeTotals};
use crate::units::Tokens;

/// The changes that one call's policies made.
#[derive(Default)]
pub(super) struct StepOutcome {
    pub(super) pruned: TrimStats,
    pub(super) guarded: TrimStats,
    pub(super) cleared: TrimStats,
    /// The guard's range, where prefix sums gave the result.
    pub(super) guard_range: Option<GuardRange>,
    /// All other edits: position, tokens after, tokens removed.
    pub(super) edits: Vec<(usize, Tokens, Tokens)>,
    /// Tokens removed by all edits.
    pub(super) freed_tokens: Tokens,
    pub(super) edit_digest: EditDigest,
    pub(super) first_changed: Option<EntryIx>,
    /// Pruning replaced something, even if with identical bytes.
    pub(super) was_pruned: bool,
    /// The guard ends the call.
    pub(super) stopped: bool,
}

/// The form in which pruning leaves a result that it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum PrunedForm {
    Trimmed,
    Cleared,
}

/// A result after the guard.
pub(super) struct GuardedResult {
    pub(super) at: usize,
    /// Its tokens before any policy.
    pub(super) before: f64,
    pub(super) is_pruned: bool,
    /// Its totals after pruning.
    pub(super) totals: RangeTotals,
    /// The guard's effect.
    pub(super) edits: EditTotals,
}

impl StepOutcome {
    pub(super) fn add_result(&mut self, result: &GuardedResult, clears: bool) {
        let GuardedResult { at, before, is_pruned, totals, edits: done } = result;
        self.guarded.trimmed += done.trimmed;
        self.guarded.cleared += done.cleared;
        self.guarded.tokens += done.tokens;
        let guarded = totals.tokens - done.tokens;
        let after = if clears { totals.tokens - totals.cleared.tokens } else { guarded };
        if clears {
            self.cleared.cleared += 1;
            self.cleared.tokens += guarded - after;
        }
        if *is_pruned || done.count() > 0 || clears {
            self.edits.push((*at, after, Tokens(before - after.get())));
        }
    }
}
