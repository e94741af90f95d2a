//! Replays one call: builds its prompt at that moment, decides whether it fits, and computes its cost (pruning 1.4,
//! 4.6; compaction 2.11, 10.11).

use crate::ids::EntryIx;
use crate::policy::Policy;
use crate::policy::prune::{Gate, gate_under};
use crate::replay::cache::TokenSplit;
use crate::replay::calls::ModelCall;
use crate::replay::cost::file_cost;
use crate::replay::edit_digest::EditDigest;
use crate::replay::outcome::{CallReplay, PromptKey, PromptSizeSource, TrimStats};
use crate::replay::prompt_edits::PromptEdits;
use crate::replay::prompt_limit::PromptLimit;
use crate::replay::range_totals::RangeTotals;
use crate::replay::trace::Trace;

/// Chars per token of the window (pruning 5.1).
const CHARS_PER_TOKEN: f64 = 4.0;

struct SentPrompt {
    tokens: f64,
    gate: Gate,
    pruned: TrimStats,
    guarded: TrimStats,
    cleared: TrimStats,
    first_changed: Option<EntryIx>,
    prompt: PromptKey,
    edits: PromptEdits,
    /// Tokens that the edits removed; `listed_freed` has them for each listed edit.
    freed_tokens: f64,
    listed_freed: Vec<f64>,
    /// The guard ends the call before it is sent (releases R41).
    stopped: bool,
}

impl Trace<'_> {
    /// Decides the outcome of a call. The recorded trace (`record` is `None`) takes the recorded outcome.
    pub(super) fn resolve_call(&mut self, call: &ModelCall, record: Option<&CallReplay>) -> CallReplay {
        let checked = self.preflight_route(call);
        if let (Some(record), Some(route)) = (record, checked) {
            self.apply_route(call, record, route);
        }
        let mut sent = self.build_prompt(call);
        let (expected, overflow, failed) = match record {
            None => {
                let refused = call.refused.is_some();
                let tokens = Self::recorded_tokens(call, sent.tokens);
                (tokens, refused || call.cut_short, refused && call.usage.is_none())
            }
            Some(record) => {
                let room = PromptLimit::of(self.session, call, record.expected);
                // The recorded size, moved by the change that the settings make.
                let expected = |sent: &SentPrompt| (record.expected + (sent.tokens - record.tokens)).max(0.0);
                let compacts = self.may_compact && self.settings.policies.compaction.enabled;
                if compacts && self.should_compact_before(expected(&sent)) && self.compact(call.entry, false)
                {
                    sent = self.build_prompt(call);
                }
                // A recorded call with an answer was not ended by the guard.
                let stopped = |sent: &SentPrompt| {
                    sent.stopped && (call.refused.is_some() || sent.tokens > record.tokens)
                };
                let overflow = expected(&sent) > room.fits || stopped(&sent);
                if overflow && compacts && self.compact(call.entry, true) {
                    sent = self.build_prompt(call);
                }
                if expected(&sent) > room.fits && self.truncate() {
                    sent = self.build_prompt(call);
                }
                // The reply was truncated for lack of room. Nobody knows how much was missing, so any smaller prompt
                // may fit.
                let cut_short = call.cut_short && expected(&sent) >= record.expected;
                let failed = expected(&sent) > room.answered || stopped(&sent);
                (expected(&sent), overflow || cut_short, failed)
            }
        };
        CallReplay { checked, ..self.account_call(call, record, sent, expected, (overflow, failed)) }
    }

    /// Returns the size that the provider counted or the refusal names. A refused prompt without a number was larger
    /// than every accepted one.
    fn recorded_tokens(call: &ModelCall, estimated: f64) -> f64 {
        let refused_tokens =
            call.refused.map(|refused| refused.requested.unwrap_or(estimated.max(refused.min_tokens)));
        call.measured_tokens().or(refused_tokens.filter(|tokens| tokens.is_finite())).unwrap_or(estimated)
    }

    /// Tokens before the messages.
    pub(super) fn fixed(&self) -> f64 {
        self.session.fixed() - self.settings.assumptions.fixed_reduction
    }

    pub(super) fn is_eligible(&self) -> bool {
        self.session.prune_eligible || self.settings.assumptions.prune_eligible
    }

    /// Builds the prompt at this moment. If pruning changes it, now becomes the last cache touch (pruning 4.6).
    fn build_prompt(&mut self, call: &ModelCall) -> SentPrompt {
        let settings = &self.settings.policies;
        let gate = gate_under(
            settings.ruleset.rules(),
            self.settings.prune_on.then_some(&settings.prune),
            self.is_eligible(),
            self.last_touch,
            call.started,
        );
        let totals = self.totals();
        let prompt = PromptKey {
            summary: self.run_start.summary.map(|at| self.arena.summary_key(at)),
            from: self.run_start.from,
            len: self.list_len(),
            base_tokens: totals.tokens,
            edits: EditDigest::default(),
        };
        let fixed = self.fixed();
        let mut sent = SentPrompt {
            tokens: fixed + totals.tokens,
            gate,
            pruned: TrimStats::default(),
            guarded: TrimStats::default(),
            cleared: TrimStats::default(),
            first_changed: None,
            prompt,
            edits: PromptEdits {
                start: Some(self.run_start).filter(|_| self.loaded.is_none()),
                ..PromptEdits::default()
            },
            freed_tokens: 0.0,
            listed_freed: Vec::new(),
            stopped: false,
        };
        let may = self.policies_may_act(&totals, gate);
        let guards = self.measure.guard_needs_list(&totals);
        if guards || may.iter().any(|may| *may) {
            let worked = match may {
                _ if guards || self.loaded.is_some() || self.has_context_edits || totals.odd > 0 => {
                    self.apply_to_list(gate)
                }
                [_, _, true] if settings.clear.clear_tool_inputs => self.apply_to_list(gate),
                // Only texts give the weight of a reweighted message after a trim.
                [true, ..] if totals.reweighted > 0 => self.apply_to_list(gate),
                [true, ..] => self.prune_without_list(&totals),
                [false, ..] => self.outcome_from_totals(&totals),
            };
            if worked.was_pruned {
                self.last_touch = Some(call.started);
            }
            sent.tokens -= worked.freed_tokens;
            sent.freed_tokens = worked.freed_tokens;
            sent.prompt.edits = worked.edit_digest;
            sent.edits.guard_range = worked.guard_range;
            sent.first_changed = worked.first_changed;
            sent.stopped = worked.stopped;
            (sent.pruned, sent.guarded, sent.cleared) = (worked.pruned, worked.guarded, worked.cleared);
            for (at, after, less) in worked.edits {
                sent.edits.listed_edits.push((at, after.round() as u64));
                sent.listed_freed.push(less);
            }
        }
        sent
    }

    /// Whether pruning, the guard and clearing can change a list with these totals.
    fn policies_may_act(&self, totals: &RangeTotals, gate: Gate) -> [bool; 3] {
        let settings = &self.settings.policies;
        let policies = settings.enabled;
        let ratio = totals.prune_chars / (self.settings.window * CHARS_PER_TOKEN);
        let unsure = totals.odd > 0;
        let is_over = |limit: f64, tokens: f64| limit.is_nan() || tokens > limit;
        [
            policies.has(Policy::Prune)
                && gate.is_open()
                && (unsure || ratio.is_nan() || ratio >= settings.prune.soft_trim_ratio),
            policies.has(Policy::Guard)
                && (unsure
                    || totals.guard_cut.count() > 0
                    || self.measure.stops(totals.guard_chars - totals.guard_cut.chars)
                    || is_over(self.measure.budget(), totals.guard_chars - totals.guard_cut.chars)),
            policies.has(Policy::Clear)
                && (unsure
                    || is_over(
                        settings.clear.trigger,
                        totals.clear_tokens + settings.clear.cleared_by.prompt_tokens() as f64,
                    )),
        ]
    }

    /// Splits the prompt's tokens by price class and adds up the cost.
    fn account_call(
        &mut self,
        call: &ModelCall,
        record: Option<&CallReplay>,
        sent: SentPrompt,
        expected: f64,
        (overflow, failed): (bool, bool),
    ) -> CallReplay {
        let price = self.session.price_of(call);
        // A refused call that fits now has an answer to pay for, unless the next call is that answer.
        let answers = record.is_some() && call.refused.is_some() && !call.retried;
        let free = failed || call.is_failed() && !answers;
        let billed = call.billed.filter(|_| free);
        let same = record.is_none_or(|record| record.has_same_prompt(&sent.prompt));
        let measured = same && self.matched_record && call.usage.is_some() && !free;
        self.matched_record = same;
        // Nobody counted a prompt whose fixed parts are assumed to be smaller.
        let is_reduced = self.settings.assumptions.fixed_reduction != 0.0;
        let size = match record {
            None => recorded_size_source(call),
            Some(record) if same && failed == record.failed && !is_reduced => record.size_source,
            Some(record) if record.has_size() || call.refused.is_some() && !failed => {
                PromptSizeSource::Estimated
            }
            Some(_) => PromptSizeSource::Unknown,
        };
        let output = self.output_tokens(call);
        let modelled = self.split_tokens(call, &sent, expected, output, true);
        let cost_of = |split: &TokenSplit| price.map(|price| split.cost(&price));
        let plain = (!sent.edits.is_empty()).then(|| self.split_tokens(call, &sent, expected, output, false));
        let split = match call.usage {
            _ if billed.is_some() => {
                billed.map_or_else(TokenSplit::default, |usage| TokenSplit::from_usage(&usage))
            }
            _ if free => TokenSplit::default(),
            Some(usage) if measured => TokenSplit::from_usage(&usage),
            _ => modelled,
        };
        let recorded_cost = call.usage.filter(|_| measured).or(billed).and_then(|usage| file_cost(&usage));
        let cost = recorded_cost.filter(|usd| *usd > 0.0).or_else(|| cost_of(&split));
        let summary = self.compacted.and_then(|compacted| compacted.summary_cost).unwrap_or(0.0);
        self.total_cost += cost.unwrap_or(0.0) + summary;
        if !free {
            self.cache.record_prompt(call.started, call.cache_key, sent.prompt.len, sent.edits);
        }
        CallReplay {
            tokens: sent.tokens,
            expected,
            overflowed: overflow,
            failed,
            size_source: size,
            messages: sent.prompt.len,
            gate: sent.gate,
            pruned: sent.pruned,
            guarded: sent.guarded,
            cleared: sent.cleared,
            history_trim: self.history_trim,
            reduce_trim: self.reduce_trim,
            checked: None,
            compacted: self.compacted.take(),
            compacted_after: None,
            truncated: self.truncated.take(),
            first_changed: sent.first_changed,
            split,
            cost,
            recorded_cost,
            modelled_cost: if free { Some(0.0) } else { cost_of(&modelled) },
            is_measured: measured,
            cache_cost: plain
                .filter(|_| !free)
                .and_then(|plain| Some(cost_of(&modelled)? - cost_of(&plain)?)),
            total_cost: self.total_cost,
            prompt: sent.prompt,
        }
    }

    /// Returns the tokens of the answer: counted, otherwise estimated; for a missing answer the mean of the counted
    /// ones before it.
    fn output_tokens(&self, call: &ModelCall) -> f64 {
        if call.is_failed() {
            let (tokens, count) = self.counted_answers;
            return if count > 0.0 { tokens / count } else { 0.0 };
        }
        let counted = call.usage.map(|usage| usage.output).filter(|tokens| tokens.is_finite());
        counted.unwrap_or_else(|| {
            let size = self.session.index.entry(call.entry).message;
            size.map_or(0.0, |size| crate::context::tokens::chars4::estimate_or_zero(&size) as f64)
        })
    }

    /// Splits a prompt by the cache model, with this call's edits or without them.
    fn split_tokens(
        &self,
        call: &ModelCall,
        sent: &SentPrompt,
        expected: f64,
        output: f64,
        edited: bool,
    ) -> TokenSplit {
        let price = self.session.price_of(call);
        let none = PromptEdits { start: sent.edits.start, ..PromptEdits::default() };
        let (edits, less) = if edited { (&sent.edits, 0.0) } else { (&none, sent.freed_tokens) };
        let tokens = sent.tokens + less;
        let reusable = self.cache.reusable_len(call.started, &call.cache_key, sent.prompt.len, |other| {
            self.first_difference(edits, other)
        });
        let read = reusable.map_or(0.0, |count| {
            let gone = if edited { self.freed_before(sent, count) } else { 0.0 };
            self.fixed() + self.prefix_tokens(count) - gone
        });
        let request = expected + less;
        let scale = if tokens > 0.0 { request / tokens } else { 0.0 };
        TokenSplit::for_request(request, read * scale, 0.0, output, price.as_ref())
    }
}

impl Trace<'_> {
    /// Returns the tokens that the edits removed from the first `count` messages of a prompt.
    fn freed_before(&self, sent: &SentPrompt, count: usize) -> f64 {
        let edits = &sent.edits;
        let reach = edits.guard_range.filter(|_| count > 0);
        let reached = reach.map_or(0.0, |reach| {
            let front = usize::from(self.run_start.summary.is_some());
            let border = self.arena_index_after(count - front).clamp(reach.from, reach.to);
            self.edits_within(&reach, reach.from, border).tokens
        });
        let listed = edits.listed_edits.iter().zip(&sent.listed_freed);
        let listed = listed.filter(|((at, _), _)| self.index_in(edits, *at) < count);
        reached + listed.map(|(_, less)| less).sum::<f64>()
    }
}

fn recorded_size_source(call: &ModelCall) -> PromptSizeSource {
    if call.measured_tokens().is_some() {
        return PromptSizeSource::Counted;
    }
    match call.refused {
        Some(refused) if refused.requested.is_some() => PromptSizeSource::FromRefusal,
        None if !call.is_failed() => PromptSizeSource::Estimated,
        _ => PromptSizeSource::Unknown,
    }
}
