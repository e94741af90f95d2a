//! Pruning without a message list, followed by the guard and clearing: the same decisions from the numbers of each
//! result, cached while the result does not change (pruning 5, 6.33–6.35).

use crate::js::Value;
use crate::policy::Policy;
use crate::policy::edit::{Edit, single_text_size};
use crate::policy::message_list::MessageOrigin;
use crate::policy::prune::{HardClearer, SoftTrimmer, cutoff_among, keeps_images};
use crate::replay::edit_digest::EditDigest;
use crate::replay::outcome::{GuardedResult, PrunedForm, StepOutcome};
use crate::replay::range_totals::RangeTotals;
use crate::replay::trace::Trace;
use crate::store::entry::{MessageSize, Role};
use crate::units::{Chars, Tokens};

struct PrunedResult {
    at: usize,
    form: PrunedForm,
}

impl Trace<'_> {
    /// Prunes a call whose messages are a range of the path and all countable, then applies the guard.
    pub(super) fn prune_without_list(&mut self, totals: &RangeTotals) -> StepOutcome {
        let pruned = self.results_to_prune(totals);
        if pruned.is_empty() {
            return self.outcome_from_totals(totals);
        }
        let mut worked = StepOutcome { was_pruned: true, ..StepOutcome::default() };
        let forms: Vec<(usize, PrunedForm, RangeTotals)> =
            pruned.iter().map(|pruned| (pruned.at, pruned.form, self.totals_when_pruned(pruned))).collect();
        let mut over = totals.guard_chars - totals.guard_cut.chars - self.measure.budget();
        for (at, form, made) in &forms {
            let own = self.prefix_sums.message(*at);
            over += (made.guard_chars - made.guard_cut.chars) - (own.guard_chars - own.guard_cut.chars);
            match form {
                PrunedForm::Trimmed => worked.pruned.trimmed += 1,
                PrunedForm::Cleared => worked.pruned.cleared += 1,
            }
            worked.pruned.tokens += own.tokens - made.tokens;
        }
        self.guard_pruned(totals, &forms, over, &mut worked);
        worked
    }

    /// Applies the guard and clearing to a pruned list; `needed` is the excess over the guard's budget in chars.
    fn guard_pruned(
        &self,
        all: &RangeTotals,
        forms: &[(usize, PrunedForm, RangeTotals)],
        needed: Chars,
        worked: &mut StepOutcome,
    ) {
        let (mut gained, mut reaches) = (Chars::ZERO, needed > Chars::ZERO);
        let mut left = all.guard_chars;
        let mut forms = forms.iter().peekable();
        let mut results = Vec::new();
        let mut counted = all.clear_tokens;
        for at in self.results_within(self.run_start.from, self.messages_seen) {
            let own = self.prefix_sums.message(*at);
            let made = forms.next_if(|(form, _, _)| form == at).map(|(_, _, made)| *made);
            let totals = made.unwrap_or(own);
            let done = if reaches { totals.guard_compacted } else { totals.guard_cut };
            left += totals.guard_chars - own.guard_chars - totals.guard_cut.chars;
            left -= if reaches { totals.guard_compacted.chars } else { Chars::ZERO };
            if reaches {
                gained += done.chars;
                reaches = !(gained >= needed && done.chars > Chars::ZERO);
            }
            counted += totals.clear_tokens - done.clear_tokens - own.clear_tokens;
            let is_pruned = made.is_some();
            results.push(GuardedResult { at: *at, before: own.tokens.get(), is_pruned, totals, edits: done });
        }
        worked.stopped = self.measure.stops(left);
        let gone = self.cleared_results(counted, &results);
        for (nth, result) in results.iter().enumerate() {
            let clears = gone.contains(&nth) && result.totals.cleared.count() > 0;
            worked.add_result(result, clears);
        }
        worked.freed_tokens = worked.edits.iter().map(|(_, _, less)| *less).sum();
        let edited = worked.edits.iter().map(|(at, after, _)| (*at, after.get().round() as u64));
        worked.edit_digest = edited.fold(EditDigest::default(), EditDigest::with_edit);
        worked.first_changed = worked.edits.first().and_then(|(at, _, _)| self.arena.entry(*at));
    }

    /// Returns the results that pruning changes, in order.
    fn results_to_prune(&mut self, totals: &RangeTotals) -> Vec<PrunedResult> {
        let settings = &self.settings.policies.prune;
        let window = self.settings.window;
        let base = self.arena.base;
        let (from, to) = (self.run_start.from, self.messages_seen);
        let stretch =
            |places: &[usize]| places.partition_point(|at| *at < from)..places.partition_point(|at| *at < to);
        // The releases that prune from sizes drop no answers, so all of these are sent.
        let replies = &base.replies[stretch(&base.replies)];
        let Some(cutoff) = cutoff_among(replies, to, settings.keep_last_assistants) else {
            return Vec::new();
        };
        let Some(start) = base.users[stretch(&base.users)].first().copied() else { return Vec::new() };
        if window.is_nan() || window <= Tokens::ZERO {
            return Vec::new();
        }
        let mut clearing = HardClearer::new(settings, window, totals.prune_chars);
        if clearing.ratio() < settings.soft_trim_ratio {
            return Vec::new();
        }
        let trimming = SoftTrimmer::new(&settings.soft_trim);
        let mut candidates: Vec<(usize, Chars, bool)> = Vec::new();
        for at in self.results_within(start, cutoff) {
            let size = self.arena.size(*at);
            if size.role != Role::ToolResult || self.arena.is_omitted(*at) || !self.may_prune(*at, size) {
                continue;
            }
            let before = size.prune_chars.value().unwrap_or(Chars::ZERO);
            let trimmed = trimming.chars_after(&size.tool_result_size());
            let after = trimmed.unwrap_or(before);
            clearing.total_chars += after - before;
            candidates.push((*at, after, trimmed.is_some()));
        }
        let chars: Vec<Chars> = candidates.iter().map(|(_, chars, _)| *chars).collect();
        let cleared = clearing.count_cleared(&chars, chars.iter().sum()).unwrap_or(0);
        let form = |(nth, (at, _, trimmed)): (usize, &(usize, Chars, bool))| {
            let form = if nth < cleared {
                Some(PrunedForm::Cleared)
            } else {
                trimmed.then_some(PrunedForm::Trimmed)
            };
            form.map(|form| PrunedResult { at: *at, form })
        };
        candidates.iter().enumerate().filter_map(form).collect()
    }

    /// Whether only its position can protect a result (pruning 5.12).
    fn may_prune(&self, at: usize, size: &MessageSize) -> bool {
        let by_tool = match self.arena.base.missing.get(&at).map(|message| &message.origin) {
            Some(MessageOrigin::Missing(missing)) => {
                let name = Value::String(missing.name.clone());
                self.settings.policies.prune.tool_filter().is_prunable(Some(&name))
            }
            _ => self.prunable_tools.get(&size.tool_name).copied().unwrap_or(false),
        };
        by_tool && !keeps_images(&self.settings.policies.prune, size.images)
    }

    /// Returns the totals of a pruned result, cached by whether its details are stripped.
    fn totals_when_pruned(&mut self, pruned: &PrunedResult) -> RangeTotals {
        let key = (pruned.at, pruned.form, pruned.at < self.stripped_until);
        if let Some(known) = self.pruned_totals.get(&key) {
            return *known;
        }
        let settings = &self.settings.policies.prune;
        let size = *self.arena.size(pruned.at);
        let (edit, chars) = match pruned.form {
            PrunedForm::Trimmed => {
                let chars = SoftTrimmer::new(&settings.soft_trim).chars_after(&size.tool_result_size());
                (Edit::SoftTrim(settings.soft_trim), chars.unwrap_or(Chars::ZERO))
            }
            PrunedForm::Cleared => {
                let placeholder = settings.hard_clear.placeholder.clone();
                let chars = Chars::from_len(placeholder.len());
                (Edit::Placeholder(placeholder.into()), chars)
            }
        };
        let after = single_text_size(&size, chars);
        let features = self.arena.features(pruned.at).filter(|_| {
            let policies = self.settings.policies.enabled;
            policies.has(Policy::Guard) || policies.has(Policy::Clear)
        });
        let features = features.map(|features| edit.predict(&size, features).1);
        let totals = self.measure.edited_totals(&self.arena, pruned.at, &after, features.as_ref());
        self.pruned_totals.insert(key, totals);
        totals
    }
}
