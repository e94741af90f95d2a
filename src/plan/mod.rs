//! Runs policies over one context and returns the result as one value, a [`Plan`], that is shown, compared and
//! committed.

mod run;
mod unwritable;

use std::sync::Arc;

use crate::context::budget::running_totals;
use crate::context::system::replay_system_messages;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::context::{Context, bodies};
use crate::gateway::models::Price;
use crate::ids::EntryIx;
use crate::js::{JsException, JsString, Object, Value};
use crate::policy::clear_tool_uses::ClearTotals;
use crate::policy::compact::{FileLists, Preparation};
use crate::policy::edit::{Edit, apply_all};
use crate::policy::guard::GuardOutcome;
use crate::policy::message_list::{MessageChange, MessageOrigin, PlannedMessage};
use crate::policy::preflight::PreflightResult;
use crate::policy::prune::{Gate, PruneOutcome};
use crate::policy::{Fate, MessageFate, Policy, PolicySettings};
use crate::store::body::BodyError;
use crate::store::entry::MessageSize;
use crate::store::index::Index;
use crate::store::scan::measure_message;
use crate::store::source::Source;
use crate::units::{Chars, Millis, Moment, Tokens};

pub use run::{PlanError, PlanInput, PolicyEffect};
pub use unwritable::{UnwritableChanges, omitted_positions};

/// The result of some policies on one context.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The settings of the plan, including the enabled policies.
    pub settings: PolicySettings,
    /// Window in tokens; NaN when unknown.
    pub window: Tokens,
    /// Window of the model itself in tokens, which the guard uses; NaN when unknown.
    pub guard_window: Tokens,
    /// The result of the pruner's gate. A closed gate disables pruning; other policies still run.
    pub gate: Gate,
    /// Details of pruning, with positions in the context; [`PruneOutcome::not_run`] when pruning is off.
    pub pruning: PruneOutcome,
    /// The planned compaction; `None` when it is off or finds nothing (compaction 3.1).
    pub compaction: Option<Preparation>,
    /// Details of the guard; `None` when it is off.
    pub guarded: Option<GuardOutcome>,
    /// Result of the check of the prompt; `None` when it is off.
    pub checked: Option<PreflightResult>,
    /// Details of clearing tool uses; `None` when it is off.
    pub cleared: Option<ClearTotals>,
    /// The effect of each policy, in order. `repair` appears again after `history` if that left unpaired calls or
    /// results (pruning 1.1, step 7).
    pub effects: Vec<PolicyEffect>,
    /// The messages that would be sent.
    pub messages: Vec<PlannedMessage>,
    /// Edits that several messages share.
    shared_edits: Vec<Edit>,
    /// Estimated tokens of each context message after the plan (chars/4, rounded up); 0 for a removed one.
    pub tokens_after: Vec<u64>,
    /// Estimated tokens of each context message before the plan.
    pub tokens_before: Arc<[u64]>,
    /// Estimated tokens of messages that are in no file: a summary and invented results.
    pub tokens_added: u64,
    /// The fate of each context message, from the last policy that changes it.
    fates: Vec<MessageFate>,
    /// Some policy replaced content.
    changed: bool,
}

impl Plan {
    pub fn fates(&self) -> &[MessageFate] {
        &self.fates
    }

    pub fn is_empty(&self) -> bool {
        !self.changed
    }

    /// Whether a policy changes the list.
    pub fn is_changed_by(&self, policy: Policy) -> bool {
        self.effects.iter().any(|effect| effect.policy == policy && effect.changed)
    }

    pub fn count(&self, fate: Fate) -> usize {
        self.fates.iter().filter(|message| message.fate == fate).count()
    }

    /// Sums the estimated tokens of all messages before the plan.
    pub fn total_before(&self) -> u64 {
        self.tokens_before.iter().sum()
    }

    /// Sums the estimated tokens of all messages after the plan, including those that are in no file.
    pub fn total_after(&self) -> u64 {
        self.tokens_after.iter().sum::<u64>() + self.tokens_added
    }

    /// Returns the messages that are in no file with their estimated tokens, in sending order.
    pub fn added_messages(&self) -> impl Iterator<Item = (MessageSize, u64)> {
        let made = self.messages.iter().filter(|item| item.position().is_none());
        made.filter_map(|item| item.change.as_ref()).map(|change| {
            let size = change.size(&MessageSize::EMPTY);
            (size, estimate_or_zero(&size))
        })
    }

    /// Returns the prompt tokens up to and including each context message, of which each has `tokens_after`, starting at
    /// `fixed`. Messages that are in no file count at the place where they are sent.
    pub fn running_totals(&self, fixed: u64, tokens_after: &[u64]) -> Vec<u64> {
        let mut extra = vec![0; tokens_after.len()];
        let mut waiting = 0;
        let mut last = None;
        for item in &self.messages {
            match (item.position(), &item.change) {
                (Some(position), _) => {
                    extra[position] += std::mem::take(&mut waiting);
                    last = Some(position);
                }
                (None, Some(change)) => waiting += estimate_or_zero(&change.size(&MessageSize::EMPTY)),
                (None, None) => {}
            }
        }
        // Messages added at the end count with the last context message.
        if let Some(at) = last.or(extra.len().checked_sub(1)) {
            extra[at] += waiting;
        }
        running_totals(fixed, tokens_after.iter().zip(extra).map(|(tokens, extra)| tokens + extra))
    }

    /// Sums the chars of all messages before and after, as the pruner counts them (pruning 5.4).
    pub fn total_chars(&self) -> Result<(Chars, Chars), JsException> {
        self.fates.iter().try_fold((Chars::ZERO, Chars::ZERO), |(before, after), fate| {
            Ok((before + fate.before.value()?, after + fate.after.value()?))
        })
    }

    /// Returns the context messages whose text differs in a transcript written under the plan: position and change, in
    /// sending order.
    pub fn rewritten(&self) -> impl Iterator<Item = (usize, &MessageChange)> {
        let changed = self.messages.iter().filter_map(|item| Some((item.position()?, item.change.as_ref()?)));
        changed.filter(|(_, change)| change.edits(&self.shared_edits).iter().any(Edit::is_written))
    }

    /// Returns the edits that turn the recorded text into the planned one.
    pub fn message_edits<'a>(&'a self, item: &'a PlannedMessage) -> &'a [Edit] {
        item.edits(&self.shared_edits)
    }

    /// Returns the edits of the context message at `position`.
    pub fn edits_at(&self, position: usize) -> &[Edit] {
        let there = |item: &&PlannedMessage| item.position() == Some(position);
        let item = self.messages.get(position).filter(there);
        item.or_else(|| self.messages.iter().find(there)).map_or(&[], |item| self.message_edits(item))
    }
}

// Estimates a plan's effect on the provider's prompt cache from prices. The next call writes everything from the first
// changed message on again; the prefix before it stays cached (compaction 10.9, 10.11).

/// Lifetime of a cached prefix after a call: the short retention, which is the default (compaction 10.7).
pub const RETENTION_MS: Millis = Millis(300_000.0);

/// The cost of a plan in USD. Output costs the same with and without the plan and is left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CacheCost {
    /// Extra cost of the next call compared with no plan; negative when it is cheaper at once.
    pub next_call: f64,
    /// Savings of each later call while the cache is warm.
    pub later_calls: f64,
    /// The prefix is still cached.
    pub is_warm: bool,
}

impl CacheCost {
    /// Estimates the cost of a change from the tokens of the first changed message and all behind it, before and after.
    /// `idle_ms` is the time since the last call; `None` means that nothing is cached.
    pub fn of_tail((before, after): (u64, u64), price: &Price, idle_ms: Option<Millis>) -> Self {
        let (before, after) = (before as f64 / 1e6, after as f64 / 1e6);
        let warm = idle_ms.is_some_and(|idle| idle < RETENTION_MS);
        // Providers without a cache-write price charge the input price.
        let write = if price.cache_write > 0.0 { price.cache_write } else { price.input };
        let without = before * if warm { price.cache_read } else { write };
        Self {
            next_call: after * write - without,
            later_calls: (before - after) * price.cache_read,
            is_warm: warm,
        }
    }

    /// Returns the number of later calls that pay back a dearer next call; `None` when it is not dearer or never pays
    /// back.
    pub fn calls_to_break_even(&self) -> Option<u64> {
        let dearer = self.next_call > 0.0 && self.later_calls > 0.0;
        dearer.then(|| (self.next_call / self.later_calls).ceil() as u64)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct EntryChange {
    pub entry: EntryIx,
    /// The message under the plan.
    pub message: Value,
}

/// Applies a plan to one message of the context. An edit was decided from the sizes of this message, so it cannot fail
/// on it; if the text has changed since, the message stays unchanged.
pub fn message_after(message: &Value, position: usize, plan: &Plan) -> Value {
    apply_all(plan.edits_at(position), message)
}

/// Builds the summary that a planned compaction puts first; without one a placeholder states the number of messages.
pub fn summary_message(plan: &Plan, made: Option<&CompactionSummary>, now_ms: Moment) -> Value {
    let not_made = || format!("[summary of {} messages, not made yet]", plan.count(Fate::Summarised)).into();
    Value::from(Object::from([
        ("role", Value::from("compactionSummary")),
        ("summary", made.map_or_else(not_made, |made| Value::String(made.text.clone()))),
        ("tokensBefore", plan.compaction.map_or(Value::Null, |compaction| compaction.tokens_before.into())),
        ("timestamp", Value::from(now_ms.get())),
    ]))
}

/// Builds every message as it would be sent. `summary` replaces the messages that a compaction removes; invented
/// results get the time `now_ms`.
pub fn messages_after(
    source: &Source,
    index: &Index,
    context: &Context,
    plan: &Plan,
    summary: &Value,
    now_ms: Moment,
) -> Result<Vec<Value>, BodyError> {
    let message = |item: &PlannedMessage| match &item.origin {
        MessageOrigin::Context(position) => {
            let body = bodies::read_message(source, index, &context.messages[*position as usize])?;
            Ok(apply_all(plan.message_edits(item), &body))
        }
        MessageOrigin::Summary => Ok(summary.clone()),
        MessageOrigin::Checkpoint => {
            let state = replay_system_messages(index, &context.messages).ok().flatten();
            Ok(state.map_or(Value::Null, |state| state.message_at(now_ms)))
        }
        MessageOrigin::Missing(missing) => Ok(apply_all(plan.message_edits(item), &missing.message(now_ms))),
    };
    plan.messages.iter().map(message).collect()
}

/// Returns the entry and new message of every [rewritten](Plan::rewritten) message, in the same order. Edits that no
/// transcript stores are left out ([`Edit::is_written`]).
pub fn entry_changes(
    source: &Source,
    index: &Index,
    context: &Context,
    plan: &Plan,
) -> Result<Vec<EntryChange>, BodyError> {
    plan.rewritten()
        .map(|(position, change)| {
            let message = &context.messages[position];
            let edits = change.edits(&plan.shared_edits);
            let written: Vec<Edit> = edits.iter().filter(|edit| edit.is_written()).cloned().collect();
            let body = bodies::read_message(source, index, message)?;
            Ok(EntryChange { entry: message.entry, message: apply_all(&written, &body) })
        })
        .collect()
}

#[derive(Debug, Clone, PartialEq)]
pub struct CompactionSummary {
    /// The complete text, including file lists and all other appended sections.
    pub text: JsString,
    /// The file lists, which the next compaction continues.
    pub details: Option<FileLists>,
    /// Stored as made by an extension, so the next compaction does not continue its file lists (compaction 3.13).
    pub from_hook: bool,
}

impl CompactionSummary {
    /// Returns the estimated tokens (chars/4, rounded up; compaction 1.7).
    pub fn tokens(&self) -> u64 {
        let message =
            Object::from([("role", Value::from("compactionSummary")), ("summary", self.text.clone().into())]);
        estimate_or_zero(&measure_message(&Value::Object(message)).size)
    }
}

impl Plan {
    /// Replaces the tokens of the assumed summary in `tokens` with those of the finished one.
    pub fn tokens_with_summary(&self, summary: Option<&CompactionSummary>, tokens: u64) -> u64 {
        match summary.filter(|_| self.compaction.is_some()) {
            Some(made) => tokens.saturating_sub(self.settings.summary_tokens) + made.tokens(),
            None => tokens,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPUS: Price = Price::flat([5.0, 25.0, 0.5, 6.25]);

    #[test]
    fn a_warm_cache_is_written_again_from_the_first_change_on() {
        let cost = CacheCost::of_tail((100_000, 772), &OPUS, Some(Millis(60_000.0)));
        assert_eq!(cost.next_call, 772.0 / 1e6 * 6.25 - 0.1 * 0.5);
        assert_eq!(cost.later_calls, (0.1 - 772.0 / 1e6) * 0.5);
        assert!(cost.is_warm);
    }

    #[test]
    fn a_plan_with_a_cold_cache_makes_the_next_call_cheaper() {
        let cost = CacheCost::of_tail((100_000, 772), &OPUS, Some(RETENTION_MS));
        assert!(!cost.is_warm && cost.next_call < -0.6 && cost.calls_to_break_even().is_none());
    }

    #[test]
    fn later_calls_pay_back_a_more_expensive_one() {
        let cost = CacheCost { next_call: 0.41, later_calls: 0.14, is_warm: true };
        assert_eq!(cost.calls_to_break_even(), Some(3));
    }
}
