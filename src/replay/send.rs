//! One call: what its prompt is made into at that moment, whether that fits, and what it costs (pruning 1.4, 4.6;
//! compaction 2.11, 10.11).

use crate::ids::EntryIx;
use crate::policy::Step;
use crate::policy::prune::{Gate, gate_under};
use crate::replay::cache::Split;
use crate::replay::calls::Call;
use crate::replay::cost::in_file;
use crate::replay::digest::Digest;
use crate::replay::edits::PromptEdits;
use crate::replay::held::Held;
use crate::replay::lane::Lane;
use crate::replay::outcome::{CallReplay, Prompt, PromptSize, Trimmed};
use crate::replay::room::Room;

/// Chars per token of the window (pruning 5.1).
const CHARS_PER_TOKEN: f64 = 4.0;

/// A prompt as it is sent.
struct Sent {
    tokens: f64,
    gate: Gate,
    pruned: Trimmed,
    guarded: Trimmed,
    cleared: Trimmed,
    first_changed: Option<EntryIx>,
    prompt: Prompt,
    edits: PromptEdits,
    /// Tokens less than without the edits, and of each that is listed.
    less: f64,
    listed_less: Vec<f64>,
    /// The guard ends the call before it is sent (releases R41).
    stopped: bool,
}

impl Lane<'_> {
    /// What becomes of a call. The record's own lane takes what happened for granted.
    pub(super) fn answer(&mut self, call: &Call, record: Option<&CallReplay>) -> CallReplay {
        let checked = self.checked(call);
        if let (Some(record), Some(route)) = (record, checked) {
            self.heed(call, record, route);
        }
        let mut sent = self.send(call);
        let (expected, overflow, failed) = match record {
            None => {
                let refused = call.refused.is_some();
                let tokens = Self::recorded_tokens(call, sent.tokens);
                (tokens, refused || call.cut_short, refused && call.usage.is_none())
            }
            Some(record) => {
                let room = Room::of(self.session, call, record.expected);
                // What the provider counted, moved by what the settings change.
                let expected = |sent: &Sent| (record.expected + (sent.tokens - record.tokens)).max(0.0);
                let compacts = self.compacts && self.settings.steps.compaction.enabled;
                if compacts && self.compacts_before(expected(&sent)) && self.compact(call.entry, false) {
                    sent = self.send(call);
                }
                // A recorded call that got an answer was not ended by the guard.
                let stopped =
                    |sent: &Sent| sent.stopped && (call.refused.is_some() || sent.tokens > record.tokens);
                let overflow = expected(&sent) > room.fits || stopped(&sent);
                if overflow && compacts && self.compact(call.entry, true) {
                    sent = self.send(call);
                }
                if expected(&sent) > room.fits && self.truncate() {
                    sent = self.send(call);
                }
                // A reply was cut for want of room; how much it lacked nobody knows, so that any less of a prompt may do.
                let cut_short = call.cut_short && expected(&sent) >= record.expected;
                let failed = expected(&sent) > room.answered || stopped(&sent);
                (expected(&sent), overflow || cut_short, failed)
            }
        };
        CallReplay { checked, ..self.pay(call, record, sent, expected, (overflow, failed)) }
    }

    /// What the provider counted, or a refusal says; one without a number was larger than every prompt that was accepted.
    fn recorded_tokens(call: &Call, estimated: f64) -> f64 {
        let told = call.refused.map(|refused| refused.requested.unwrap_or(estimated.max(refused.least)));
        call.measured().or(told.filter(|tokens| tokens.is_finite())).unwrap_or(estimated)
    }

    /// Tokens before the messages.
    pub(super) fn fixed(&self) -> f64 {
        self.session.fixed() - self.settings.assumed.fixed_less
    }

    /// Whether pruning can be installed for the model.
    pub(super) fn is_eligible(&self) -> bool {
        self.session.eligible || self.settings.assumed.eligible
    }

    /// The prompt at this moment. Where a pruner changes it, the touch is now (pruning 4.6).
    fn send(&mut self, call: &Call) -> Sent {
        let settings = &self.settings.steps;
        let gate = gate_under(
            settings.ruleset.rules(),
            self.settings.prune_on.then_some(&settings.prune),
            self.is_eligible(),
            self.touch,
            call.started,
        );
        let held = self.held();
        let prompt = Prompt {
            front: self.run_start.front.map(|at| self.arena.summary(at)),
            from: self.run_start.from,
            len: self.list_len(),
            base: held.tokens,
            edits: Digest::default(),
        };
        let fixed = self.fixed();
        let mut sent = Sent {
            tokens: fixed + held.tokens,
            gate,
            pruned: Trimmed::default(),
            guarded: Trimmed::default(),
            cleared: Trimmed::default(),
            first_changed: None,
            prompt,
            edits: PromptEdits {
                start: Some(self.run_start).filter(|_| self.loaded.is_none()),
                ..PromptEdits::default()
            },
            less: 0.0,
            listed_less: Vec::new(),
            stopped: false,
        };
        let may = self.may_act(&held, gate);
        let guards = self.measure.guards_by_list(&held);
        if guards || may.iter().any(|may| *may) {
            let worked = match may {
                _ if guards || self.loaded.is_some() || self.is_edited || held.odd > 0 => self.work(gate),
                [_, _, true] if settings.clear.clear_tool_inputs => self.work(gate),
                // Only texts tell what a weighed message comes to once it is trimmed.
                [true, ..] if held.weighed > 0 => self.work(gate),
                [true, ..] => self.prune_alone(&held),
                [false, ..] => self.by_sums(&held),
            };
            if worked.touched {
                self.touch = Some(call.started);
            }
            sent.tokens -= worked.less;
            sent.less = worked.less;
            sent.prompt.edits = worked.digest;
            sent.edits.reach = worked.reach;
            sent.first_changed = worked.first;
            sent.stopped = worked.stopped;
            (sent.pruned, sent.guarded, sent.cleared) = (worked.pruned, worked.guarded, worked.cleared);
            for (at, after, less) in worked.edits {
                sent.edits.listed.push((at, after.round() as u64));
                sent.listed_less.push(less);
            }
        }
        sent
    }

    /// Whether pruning, the guard and clearing can change anything of a list that holds this much.
    fn may_act(&self, held: &Held, gate: Gate) -> [bool; 3] {
        let settings = &self.settings.steps;
        let steps = settings.steps;
        let ratio = held.prune / (self.settings.window * CHARS_PER_TOKEN);
        let unsure = held.odd > 0;
        let is_over = |limit: f64, tokens: f64| limit.is_nan() || tokens > limit;
        [
            steps.has(Step::Prune)
                && gate.is_open()
                && (unsure || ratio.is_nan() || ratio >= settings.prune.soft_trim_ratio),
            steps.has(Step::Guard)
                && (unsure
                    || held.cut.count() > 0
                    || self.measure.stops(held.guard - held.cut.chars)
                    || is_over(self.measure.budget(), held.guard - held.cut.chars)),
            steps.has(Step::Clear)
                && (unsure
                    || is_over(
                        settings.clear.trigger,
                        held.clear + settings.clear.by.prompt_tokens() as f64,
                    )),
        ]
    }

    /// Splits the prompt by what it costs and adds up.
    fn pay(
        &mut self,
        call: &Call,
        record: Option<&CallReplay>,
        sent: Sent,
        expected: f64,
        (overflow, failed): (bool, bool),
    ) -> CallReplay {
        let price = self.session.price_of(call);
        // What was refused and fits now has an answer to be paid for, unless the call after it is that answer.
        let answers = record.is_some() && call.refused.is_some() && !call.retried;
        let free = failed || call.failed() && !answers;
        let billed = call.billed.filter(|_| free);
        let same = record.is_none_or(|record| record.is_like(&sent.prompt));
        let measured = same && self.was_same && call.usage.is_some() && !free;
        self.was_same = same;
        let size = match record {
            None => recorded_size(call),
            Some(record) if same && failed == record.failed => record.size,
            Some(record) if record.is_sized() || call.refused.is_some() && !failed => PromptSize::Estimated,
            Some(_) => PromptSize::Unknown,
        };
        let output = self.output(call);
        let modelled = self.split(call, &sent, expected, output, true);
        let cost_of = |split: &Split| price.map(|price| split.cost(&price));
        let plain = (!sent.edits.is_empty()).then(|| self.split(call, &sent, expected, output, false));
        let split = match call.usage {
            _ if billed.is_some() => billed.map_or_else(Split::default, |usage| Split::recorded(&usage)),
            _ if free => Split::default(),
            Some(usage) if measured => Split::recorded(&usage),
            _ => modelled,
        };
        let recorded_cost = call.usage.filter(|_| measured).or(billed).and_then(|usage| in_file(&usage));
        let cost = recorded_cost.filter(|usd| *usd > 0.0).or_else(|| cost_of(&split));
        let summary = self.compacted.and_then(|compacted| compacted.summary_cost).unwrap_or(0.0);
        self.total_cost += cost.unwrap_or(0.0) + summary;
        if !free {
            self.cache.sent(call.started, call.mind, sent.prompt.len, sent.edits);
        }
        CallReplay {
            tokens: sent.tokens,
            expected,
            overflow,
            failed,
            size,
            messages: sent.prompt.len,
            gate: sent.gate,
            pruned: sent.pruned,
            guarded: sent.guarded,
            cleared: sent.cleared,
            history: self.history,
            reduced: self.reduced,
            checked: None,
            compacted: self.compacted.take(),
            compacted_after: None,
            truncated: self.truncated.take(),
            first_changed: sent.first_changed,
            split,
            cost,
            recorded_cost,
            modelled: if free { Some(0.0) } else { cost_of(&modelled) },
            measured,
            cache_cost: plain
                .filter(|_| !free)
                .and_then(|plain| Some(cost_of(&modelled)? - cost_of(&plain)?)),
            total_cost: self.total_cost,
            prompt: sent.prompt,
        }
    }

    /// Tokens of the answer: as counted, else estimated; of one that was never given the mean of those before it.
    fn output(&self, call: &Call) -> f64 {
        if call.failed() {
            let (tokens, count) = self.answered;
            return if count > 0.0 { tokens / count } else { 0.0 };
        }
        let counted = call.usage.map(|usage| usage.output).filter(|tokens| tokens.is_finite());
        counted.unwrap_or_else(|| {
            let size = self.session.index.entry(call.entry).message;
            size.map_or(0.0, |size| crate::context::tokens::chars4::estimate_or_zero(&size) as f64)
        })
    }

    /// The split of a prompt by the model of the cache, with the edits of this call or without them.
    fn split(&self, call: &Call, sent: &Sent, expected: f64, output: f64, edited: bool) -> Split {
        let price = self.session.price_of(call);
        let none = PromptEdits { start: sent.edits.start, ..PromptEdits::default() };
        let (edits, less) = if edited { (&sent.edits, 0.0) } else { (&none, sent.less) };
        let tokens = sent.tokens + less;
        let reusable = self
            .cache
            .reusable(call.started, &call.mind, sent.prompt.len, |other| self.first_difference(edits, other));
        let read = reusable.map_or(0.0, |count| {
            let gone = if edited { self.less_before(sent, count) } else { 0.0 };
            self.fixed() + self.prefix(count) - gone
        });
        let request = expected + less;
        let scale = if tokens > 0.0 { request / tokens } else { 0.0 };
        Split::of(request, read * scale, 0.0, output, price.as_ref())
    }
}

impl Lane<'_> {
    /// Tokens that the edits of a prompt took from its first messages.
    fn less_before(&self, sent: &Sent, count: usize) -> f64 {
        let edits = &sent.edits;
        let reach = edits.reach.filter(|_| count > 0);
        let reached = reach.map_or(0.0, |reach| {
            let front = usize::from(self.run_start.front.is_some());
            let border = self.behind(count - front).clamp(reach.from, reach.to);
            self.done_within(&reach, reach.from, border).tokens
        });
        let listed = edits.listed.iter().zip(&sent.listed_less);
        let listed = listed.filter(|((at, _), _)| self.index_in(edits, *at) < count);
        reached + listed.map(|(_, less)| less).sum::<f64>()
    }
}

/// Who says how large the prompt of a recorded call was.
fn recorded_size(call: &Call) -> PromptSize {
    if call.measured().is_some() {
        return PromptSize::Counted;
    }
    match call.refused {
        Some(refused) if refused.requested.is_some() => PromptSize::Named,
        None if !call.failed() => PromptSize::Estimated,
        _ => PromptSize::Unknown,
    }
}
