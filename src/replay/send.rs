//! Replays one call: builds its prompt at that moment, decides whether it fits, and computes its cost (pruning 1.4,
//! 4.6; compaction 2.11, 10.11).

use crate::ids::EntryIx;
use crate::policy::Policy;
use crate::policy::prune::{Gate, gate_under};
use crate::replay::calls::{ModelCall, RefusalReason, RefusedCall};
use crate::replay::edit_digest::EditDigest;
use crate::replay::outcome::{CallReplay, PromptKey, StepOutcome, TrimStats};
use crate::replay::range_totals::{PromptEdits, RangeTotals};
use crate::replay::trace::Trace;
use crate::replay::{ReplaySession, Settings};
use crate::store::entry::StopReason;
use crate::units::Tokens;

/// Chars per token of the window (pruning 5.1).
const CHARS_PER_TOKEN: f64 = 4.0;

/// A prompt in its sent form, after its policies.
pub(super) struct SentPrompt {
    pub(super) tokens: Tokens,
    pub(super) gate: Gate,
    pub(super) pruned: TrimStats,
    pub(super) guarded: TrimStats,
    pub(super) cleared: TrimStats,
    pub(super) first_changed: Option<EntryIx>,
    pub(super) prompt: PromptKey,
    pub(super) edits: PromptEdits,
    /// Tokens that the edits removed; `listed_freed` has them for each listed edit.
    pub(super) freed_tokens: Tokens,
    pub(super) listed_freed: Vec<f64>,
    /// The guard ends the call before it is sent (releases R41).
    pub(super) stopped: bool,
}

impl SentPrompt {
    /// Records the effect of the policies.
    fn record(&mut self, worked: StepOutcome) {
        self.tokens -= worked.freed_tokens;
        self.freed_tokens = worked.freed_tokens;
        self.prompt.edits = worked.edit_digest;
        self.edits.guard_range = worked.guard_range;
        self.first_changed = worked.first_changed;
        self.stopped = worked.stopped;
        (self.pruned, self.guarded, self.cleared) = (worked.pruned, worked.guarded, worked.cleared);
        for (at, after, less) in worked.edits {
            self.edits.listed_edits.push((at, after.get().round() as u64));
            self.listed_freed.push(less.get());
        }
    }
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
                let tokens = Self::recorded_tokens(call, sent.tokens.get());
                (tokens, refused || call.cut_short, refused && call.usage.is_none())
            }
            Some(record) if self.settings.assumptions.is_window_refused => {
                (moved_size(record, sent.tokens), true, true)
            }
            Some(record) => {
                let room = PromptLimit::of(self.session, self.settings, call, record.expected.get());
                let expected = |sent: &SentPrompt| moved_size(record, sent.tokens);
                let compacts = self.may_compact && self.settings.policies.compaction.enabled;
                if compacts
                    && self.should_compact_before(expected(&sent))
                    && self.compact_when_due(call.entry, false)
                {
                    sent = self.build_prompt(call);
                }
                if self.settle_pending() {
                    sent = self.build_prompt(call);
                }
                // A recorded call with an answer was not ended by the guard.
                let stopped = |sent: &SentPrompt| {
                    sent.stopped && (call.refused.is_some() || sent.tokens > record.tokens)
                };
                let overflow = expected(&sent) > Tokens(room.fits)
                    || stopped(&sent)
                    || self.is_refused_by_gateway(call, record);
                // Nothing tells the runtime that a server cut the prompt.
                let is_cut = call.refused.is_some_and(|refused| refused.counted_when_cut().is_some());
                if overflow && compacts && !is_cut && self.compact_after_overflow(call) {
                    sent = self.build_prompt(call);
                }
                if expected(&sent) > Tokens(room.fits) && self.may_truncate(call) && self.truncate() {
                    sent = self.build_prompt(call);
                }
                // The reply was truncated for lack of room. Nobody knows how much was missing, so any smaller prompt
                // may fit.
                let cut_short = call.cut_short && expected(&sent) >= record.expected;
                let failed = expected(&sent) > Tokens(room.answered)
                    || stopped(&sent)
                    || self.is_refused_by_gateway(call, record);
                (expected(&sent), overflow || cut_short, failed)
            }
        };
        let gateway_factor = if record.is_none() { self.gateway_factor(call) } else { 1.0 };
        CallReplay {
            checked,
            gateway_factor,
            ..self.account_call(call, record, sent, expected, (overflow, failed))
        }
    }

    /// Returns the size that the provider counted or the refusal names. A refused prompt without a number was larger
    /// than every accepted one.
    fn recorded_tokens(call: &ModelCall, estimated: f64) -> Tokens {
        let refused_tokens = call
            .refused
            .map(|refused| refused.requested.unwrap_or(Tokens(estimated.max(refused.min_tokens.get()))));
        call.measured_tokens()
            .or(refused_tokens.filter(|tokens| tokens.is_finite()))
            .unwrap_or(Tokens(estimated))
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
            tokens: Tokens(fixed + totals.tokens.get()),
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
            freed_tokens: Tokens::ZERO,
            listed_freed: Vec::new(),
            stopped: false,
        };
        if let Some(worked) = self.trim_prompt(&totals, gate) {
            if worked.was_pruned {
                self.last_touch = Some(call.started);
            }
            sent.record(worked);
        }
        sent
    }

    /// Applies the policies that can change the prompt, with as little reading as its totals allow; `None` when none can.
    fn trim_prompt(&mut self, totals: &RangeTotals, gate: Gate) -> Option<StepOutcome> {
        let may = self.policies_may_act(totals, gate);
        let guards = self.measure.guard_needs_list(totals);
        let needs_list = guards || self.loaded.is_some() || self.has_context_edits || totals.odd > 0;
        (guards || may.contains(&true)).then(|| match may {
            _ if needs_list => self.apply_to_list(gate),
            [_, _, true] if self.settings.policies.clear.clear_tool_inputs => self.apply_to_list(gate),
            // Only texts give the weight of a reweighted message after a trim.
            [true, ..] if totals.reweighted > 0 => self.apply_to_list(gate),
            [true, ..] => self.prune_without_list(totals),
            [false, ..] => self.outcome_from_totals(totals),
        })
    }

    /// Whether pruning, the guard and clearing can change a list with these totals.
    fn policies_may_act(&self, totals: &RangeTotals, gate: Gate) -> [bool; 3] {
        let settings = &self.settings.policies;
        let policies = settings.enabled;
        let ratio = totals.prune_chars / self.settings.window.to_chars(CHARS_PER_TOKEN);
        let unsure = totals.odd > 0;
        let is_over = |limit: f64, number: f64| limit.is_nan() || number > limit;
        [
            policies.has(Policy::Prune)
                && gate.is_open()
                && (unsure || ratio.is_nan() || ratio >= settings.prune.soft_trim_ratio),
            policies.has(Policy::Guard)
                && (unsure
                    || totals.guard_cut.count() > 0
                    || self.measure.stops(totals.guard_chars - totals.guard_cut.chars)
                    || is_over(
                        self.measure.budget().get(),
                        (totals.guard_chars - totals.guard_cut.chars).get(),
                    )),
            policies.has(Policy::Clear)
                && (unsure
                    || is_over(
                        settings.clear.trigger,
                        (totals.clear_tokens + Tokens(settings.clear.prompt_tokens() as f64)).get(),
                    )),
        ]
    }

    /// Splits the prompt's tokens by price class and adds up the cost.
    fn account_call(
        &mut self,
        call: &ModelCall,
        record: Option<&CallReplay>,
        sent: SentPrompt,
        expected: Tokens,
        (overflow, failed): (bool, bool),
    ) -> CallReplay {
        // A refused call that fits now has an answer to pay for, unless the next call is that answer.
        let answers = record.is_some() && call.refused.is_some() && !call.retried;
        let free = failed || call.is_failed() && !answers;
        let same = record.is_none_or(|record| record.has_same_prompt(&sent.prompt));
        let measured = same && self.matched_record && call.usage.is_some() && !free;
        self.matched_record = same;
        let size_source = self.size_source(call, record.map(|record| (record, same)), failed);
        let paid = self.bill(call, &sent, expected, (free, measured));
        let summary = self.compacted.and_then(|compacted| compacted.summary_cost).unwrap_or(0.0);
        self.total_cost += paid.cost.unwrap_or(0.0) + summary;
        self.log_losses(&sent);
        let prefix_changed = record.is_none().then(|| self.first_prefix_change(&sent)).flatten();
        if !free {
            self.cache.record_prompt(call.started, call.cache_key, sent.prompt.len, sent.edits);
        }
        CallReplay {
            tokens: sent.tokens,
            expected,
            overflowed: overflow,
            failed,
            size_source,
            messages: sent.prompt.len,
            gate: sent.gate,
            pruned: sent.pruned,
            guarded: sent.guarded,
            cleared: sent.cleared,
            history_trim: self.history_trim,
            reduce_trim: self.reduce_trim,
            checked: None,
            gateway_factor: 1.0,
            compacted: self.compacted.take().map(Box::new),
            compacted_after: None,
            truncated: self.truncated.take().map(Box::new),
            first_changed: sent.first_changed,
            prefix_changed,
            split: paid.split,
            cost: paid.cost,
            recorded_cost: paid.recorded_cost,
            modelled_cost: paid.modelled_cost,
            is_measured: measured,
            cache_cost: paid.cache_cost,
            total_cost: self.total_cost,
            prompt: sent.prompt,
        }
    }

    /// Returns the first message of a prompt that differs from the prompt before it.
    fn first_prefix_change(&self, sent: &SentPrompt) -> Option<EntryIx> {
        let differs = |other: &PromptEdits| self.first_difference(&sent.edits, other);
        let at = self.cache.first_change(sent.prompt.len, differs)?;
        let message = (at < self.list_len()).then(|| self.message_at(at))?;
        self.arena.entry(message.position()?)
    }
}

/// Moves the recorded size by the change that the settings make to the estimate. What they remove is at most its share of
/// the estimate: the estimate may be far above the count, as after a switch to a model with another tokenizer.
fn moved_size(record: &CallReplay, estimate: Tokens) -> Tokens {
    let moved = record.expected + (estimate - record.tokens);
    if moved >= record.expected {
        return moved;
    }
    moved.max(record.expected * (estimate / record.tokens)).max(Tokens::ZERO)
}

// The number of tokens that fit at a call. Both traces share this rule, so that a replay under the settings in force
// agrees with the record: an answered prompt did fit, a refused one did not, and beyond the record the window decides.

/// Limits for the prompt of one call, in tokens; infinite where the window is unknown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PromptLimit {
    /// Above it the prompt overflows.
    pub(super) fits: f64,
    /// Above it there is no answer either. Between the two limits the call has an answer, which the runtime takes for
    /// an overflow because its prompt exceeded the runtime's window (compaction 8.1 ii); the runtime checks only the
    /// last answer of a run.
    pub(super) answered: f64,
}

impl PromptLimit {
    /// `recorded` is the size of the call's prompt in the record, in tokens.
    pub(super) fn of(
        session: &ReplaySession<'_>,
        settings: &Settings,
        call: &ModelCall,
        recorded: f64,
    ) -> Self {
        let gain = session.reply_gain(&call.cache_key, settings);
        // `min` ignores a NaN window.
        let asked = |refused: &RefusedCall| !matches!(refused.reason, RefusalReason::Gateway { .. });
        if let Some(refused) = call.refused.filter(|_| call.usage.is_none()).filter(asked) {
            // The request was refused for its bytes: the token count did not matter, so nothing is known to fit.
            let below = if refused.reason == RefusalReason::Bytes {
                0.0
            } else {
                session.provider_window(&call.cache_key).min(Tokens(recorded - 1.0)).get() + gain
            };
            return Self { fits: below, answered: below };
        }
        let unknown = |window: f64| if window.is_nan() { f64::INFINITY } else { window };
        let provider = unknown(session.provider_window(&call.cache_key).get()) + gain;
        // The gateway refused the prompt without asking the provider. Unless other calls show less, the provider is
        // believed to serve the configured window.
        let was_asked = call.refused.as_ref().is_none_or(asked);
        let own =
            settings.assumptions.runtime_window.filter(|_| session.model_limits(&call.cache_key).is_none());
        let other = settings.assumptions.of_model(&call.cache_key).and_then(|model| model.window);
        let configured = other.or(own);
        let is_learnt = session.provider_window(&call.cache_key) < session.believed_window(&call.cache_key);
        let answered = match configured.filter(|_| !is_learnt) {
            _ if was_asked => provider.max(recorded),
            Some(configured) => provider.max(configured.get() + gain),
            None => provider,
        };
        let fits = match call.refused.filter(asked) {
            Some(_) => provider.min(recorded - 1.0),
            None => configured.map_or(answered, |window| answered.min(trusted_prompt(call, window))),
        };
        Self { fits, answered }
    }
}

/// Returns the largest prompt whose answer the runtime believes under a changed window, in tokens: it takes the last answer
/// of a run for an overflow if the prompt, without what was written to the cache, exceeded the window (compaction 8.1 ii).
fn trusted_prompt(call: &ModelCall, window: Tokens) -> f64 {
    let written = call.usage.map_or(Tokens::ZERO, |usage| usage.cache_write);
    let written = if written.is_finite() { written } else { Tokens::ZERO };
    match call.stop_reason {
        StopReason::Stop if call.usage.is_some() => (window + written).get(),
        _ => f64::INFINITY,
    }
}
