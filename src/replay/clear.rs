//! Clearing of tool uses without a message list. The size of a cleared result depends only on that result, and whether
//! it may be cleared depends on the reply before it. Above its trigger, clearing is therefore two borders in the prefix
//! sums (pruning 7.1, 7.2, 7.11).

use std::ops::Range;

use crate::ids::EntryIx;
use crate::policy::clear_tool_uses::{ClearSettings, ClearedBy, clearable_count};
use crate::replay::outcome::{GuardedResult, StepOutcome, TrimStats};
use crate::replay::range_totals::{GuardRange, RangeTotals};
use crate::replay::trace::Trace;
use crate::units::Tokens;

/// Returns how many of the oldest results clearing considers; `None` below the trigger.
fn results_to_clear(settings: &ClearSettings, tokens: Tokens, results: usize) -> Option<usize> {
    let is_over = tokens + Tokens(settings.prompt_tokens() as f64) > Tokens(settings.trigger);
    let count = clearable_count(results, settings.keep).ok().filter(|_| is_over)?;
    (count > 0).then_some(count)
}

/// Whether a server clears nothing, because it would free too little.
fn frees_too_little(settings: &ClearSettings, clearable: Tokens) -> bool {
    settings.cleared_by != ClearedBy::Client && clearable < Tokens(settings.clear_at_least)
}

/// Returns the freed tokens at which a client stops; `None` if it clears without a limit.
fn stop_after_tokens(settings: &ClearSettings) -> Option<Tokens> {
    Some(Tokens(settings.clear_at_least))
        .filter(|least| settings.cleared_by == ClearedBy::Client && *least > Tokens::ZERO)
}

impl Trace<'_> {
    /// Returns the effect of the guard and of clearing on a call whose messages are a range of the path and all
    /// countable.
    pub(super) fn outcome_from_totals(&self, totals: &RangeTotals) -> StepOutcome {
        let mut reach = self.guard_range(totals);
        let (from, to) = (reach.from, reach.to);
        let guarded = self.edits_within(&reach, from, to);
        let mut cleared = TrimStats::default();
        let mut done = guarded;
        if let Some(uses) = self.cleared_range(totals, &reach, guarded.clear_tokens.get()) {
            reach.cleared = uses;
            done = self.edits_within(&reach, from, to);
            let count = self.prefix_sums.range(uses.0, uses.1).cleared.cleared;
            cleared = TrimStats { trimmed: 0, cleared: count, tokens: done.tokens - guarded.tokens };
        }
        let count = guarded.count() + cleared.cleared;
        StepOutcome {
            guarded: TrimStats { trimmed: guarded.trimmed, cleared: guarded.cleared, tokens: guarded.tokens },
            cleared,
            freed_tokens: done.tokens,
            edit_digest: done.edit_digest,
            first_changed: self.first_edited(&reach),
            guard_range: Some(reach).filter(|_| count > 0),
            stopped: self.measure.stops(totals.guard_chars - self.guard_freed_chars(&reach)),
            ..StepOutcome::default()
        }
    }

    fn first_edited(&self, reach: &GuardRange) -> Option<EntryIx> {
        let first = |from: usize, to: usize, is_edited: fn(&RangeTotals) -> bool| {
            let first = self.prefix_sums.find_first(from, to, is_edited);
            (first < to).then_some(first)
        };
        let gone = first(reach.from, reach.compacted_until, |totals| totals.guard_compacted.count() > 0);
        let guarded =
            gone.or_else(|| first(reach.compacted_until, reach.to, |totals| totals.guard_cut.count() > 0));
        let cleared = first(reach.cleared.0, reach.cleared.1, |totals| totals.cleared.count() > 0);
        let first = guarded.into_iter().chain(cleared).min()?;
        self.arena.entry(first)
    }

    /// Returns the messages that clearing covers; `None` if it clears nothing. `guarded` are the tokens that the guard
    /// removed before.
    fn cleared_range(
        &self,
        totals: &RangeTotals,
        reach: &GuardRange,
        guarded: f64,
    ) -> Option<(usize, usize)> {
        let settings = &self.settings.policies.clear;
        let (from, to) = (reach.from, reach.to);
        if !self.measure.has_clearing() {
            return None;
        }
        let count = results_to_clear(
            settings,
            totals.clear_tokens - Tokens(guarded),
            totals.clearing_results as usize,
        )?;
        let kept =
            (self.prefix_sums.find_first(from, to, |totals| totals.clearing_results as usize >= count) + 1)
                .min(to);
        let first = self.first_reply(from).min(kept);
        let used = self.prefix_sums.range(first, kept);
        if used.cleared.count() == 0
            || frees_too_little(settings, used.clearable - self.guarded_clear_tokens(reach, first, kept))
        {
            return None;
        }
        let Some(enough) = stop_after_tokens(settings) else { return Some((first, kept)) };
        let mut reclaimed = 0.0;
        for at in self.results_within(first, kept) {
            let totals = self.prefix_sums.message(*at);
            if totals.cleared.count() > 0 {
                let guarded =
                    if *at < reach.compacted_until { totals.guard_compacted } else { totals.guard_cut };
                reclaimed += totals.cleared.clear_tokens.get() - guarded.clear_tokens.get();
                if reclaimed >= enough.get() {
                    return Some((first, at + 1));
                }
            }
        }
        Some((first, kept))
    }

    /// Tokens that the guard removed from clearable results, as clearing counts them.
    fn guarded_clear_tokens(&self, reach: &GuardRange, from: usize, to: usize) -> Tokens {
        let border = reach.compacted_until.clamp(from, to);
        self.prefix_sums.range(from, border).cleared_compacted.clear_tokens
            + self.prefix_sums.range(border, to).cleared_cut.clear_tokens
    }

    /// Returns the first reply from a message on; results before it answer no call that is sent.
    fn first_reply(&self, from: usize) -> usize {
        let replies = &self.arena.base.replies;
        let first = replies.partition_point(|at| *at < from);
        replies.get(first).copied().unwrap_or(self.messages_seen)
    }

    /// Returns the range of `results` that clearing covers in a pruned list; `tokens` are those of the whole list.
    pub(super) fn cleared_results(&self, tokens: Tokens, results: &[GuardedResult]) -> Range<usize> {
        let settings = &self.settings.policies.clear;
        let uses: Vec<usize> =
            (0..results.len()).filter(|nth| results[*nth].totals.clearing_results > 0).collect();
        let Some(count) =
            results_to_clear(settings, tokens, uses.len()).filter(|_| self.measure.has_clearing())
        else {
            return 0..0;
        };
        let reply = self.first_reply(self.run_start.from);
        let first = results.partition_point(|result| result.at < reply);
        let kept = (uses[count - 1] + 1).max(first);
        let goes = |nth: &usize| results[*nth].totals.cleared.count() > 0;
        let old = || (first..kept).filter(goes);
        let clearable: Tokens =
            old().map(|nth| results[nth].totals.clear_tokens - results[nth].edits.clear_tokens).sum();
        if frees_too_little(settings, clearable) {
            return 0..0;
        }
        let Some(enough) = stop_after_tokens(settings) else { return first..kept };
        let mut reclaimed = 0.0;
        for nth in old() {
            reclaimed +=
                results[nth].totals.cleared.clear_tokens.get() - results[nth].edits.clear_tokens.get();
            if reclaimed >= enough.get() {
                return first..nth + 1;
            }
        }
        first..kept
    }
}
