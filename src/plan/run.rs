//! Runs the policies one after another and merges their fates.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::context::tokens::chars4::{estimate_chars, estimate_or_zero};
use crate::context::{Context, ContextMessage};
use crate::js::Members;
use crate::plan::Plan;
use crate::policy::clear_tool_uses::ClearTotals;
use crate::policy::compact::{CompactionInput, Preparation};
use crate::policy::features::ContentFeatures;
use crate::policy::guard::GuardOutcome;
use crate::policy::message_list::{MessageChange, MessageList, MessageOrigin, PlannedMessage};
use crate::policy::preflight::{FixedPressure, PreflightResult};
use crate::policy::prune::projections::ProjectionSnapshot;
use crate::policy::prune::{Gate, PruneOutcome};
use crate::policy::repair::pair_list;
use crate::policy::trimming::{PolicyDetails, PolicyError, PolicyInput, PolicyOutcome, Windows};
use crate::policy::{Fate, MessageFate, Policy, PolicySettings, Reason};
use crate::store::entry::CharCount;
use crate::store::index::Index;
use crate::units::Tokens;

#[derive(Debug, Clone, Copy)]
pub struct PlanInput<'a> {
    pub index: &'a Index,
    pub context: &'a Context,
    /// The branch as a compaction reads it; `None` if it was not loaded.
    pub branch: Option<CompactionInput<'a>>,
    /// Features of the messages; `None` if they were not loaded.
    pub features: Option<&'a [ContentFeatures]>,
    /// The pruned and cut results that the gateway remembers; `None` if they were not loaded.
    pub remembered: Option<&'a ProjectionSnapshot>,
    pub settings: &'a PolicySettings,
    /// Window in tokens; NaN when unknown.
    pub window: Tokens,
    /// Window of the model itself in tokens, which the guard uses (pruning 6.30); NaN when unknown.
    pub guard_window: Tokens,
    /// The result of the pruner's gate.
    pub gate: Gate,
    /// The model receives only the thinking of its last answer (releases R13, R18).
    pub drops_thinking: bool,
    /// The model is called through the Responses API (compaction 6.8).
    pub is_responses_api: bool,
    /// The system prompt and the tools, for versions whose prompt check counts them.
    pub fixed_pressure: FixedPressure,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The runtime throws at this policy because of a message's shape.
    #[error("the runtime fails on the shape of a message in step `{}`", .0.word())]
    Throws(Policy),
    /// The policy needs more than sizes, and the texts are not loaded.
    #[error("step `{}` needs the message texts, which clawscope has not read yet", .0.word())]
    NeedsTexts(Policy),
}

struct PlanRun<'a> {
    input: &'a PlanInput<'a>,
    list: MessageList<'a>,
    /// Estimated tokens of each context message.
    tokens_before: Arc<[u64]>,
    /// Estimated tokens of each message of the current list.
    tokens: Vec<u64>,
    fates: Vec<MessageFate>,
    effects: Vec<PolicyEffect>,
    outcome: PruneOutcome,
    compaction: Option<Preparation>,
    guarded: Option<GuardOutcome>,
    checked: Option<PreflightResult>,
    cleared: Option<ClearTotals>,
}

impl Plan {
    /// Runs the policies that the settings enable.
    pub fn new(input: &PlanInput<'_>) -> Result<Self, PlanError> {
        run(input)
    }
}

pub(super) fn run(input: &PlanInput<'_>) -> Result<Plan, PlanError> {
    let tokens_before = Arc::clone(input.context.messages.tokens());
    let mut run = PlanRun {
        input,
        list: MessageList::from_context(input.context, input.features),
        tokens: tokens_before.to_vec(),
        tokens_before,
        fates: Vec::new(),
        effects: Vec::new(),
        outcome: PruneOutcome::not_run(input.context.messages.len()),
        compaction: None,
        guarded: None,
        checked: None,
        cleared: None,
    };
    let policies = input.settings.enabled;
    for policy in policies.iter() {
        run.apply(policy)?;
        if policy == Policy::History && policies.has(Policy::Repair) {
            run.repair_after_history();
        }
    }
    Ok(run.finish())
}

impl<'a> PlanRun<'a> {
    fn apply(&mut self, policy: Policy) -> Result<(), PlanError> {
        let positions = self.positions();
        let input = self.policy_input();
        let mut outcome = policy.run(&mut self.list, &input).map_err(|error| match error {
            PolicyError::Throws => PlanError::Throws(policy),
            PolicyError::NeedsTexts => PlanError::NeedsTexts(policy),
        })?;
        outcome.details.take().into_iter().for_each(|details| self.record_details(details));
        self.record_effect(policy, outcome, positions.as_deref());
        Ok(())
    }

    /// Records the effect of a policy whose input messages had these positions.
    fn record_effect(&mut self, policy: Policy, done: PolicyOutcome, positions: Option<&[Option<usize>]>) {
        let before = (self.tokens.len(), self.tokens.iter().sum());
        match done.replaced {
            Some(replaced) => replaced.iter().for_each(|at| self.tokens[*at] = self.tokens_of(*at)),
            None => self.tokens = (0..self.list.len()).map(|at| self.tokens_of(at)).collect(),
        }
        let after = (self.tokens.len(), self.tokens.iter().sum());
        self.effects.push(PolicyEffect::new(policy, &done.fates, before, after, done.changed));
        self.merge(done.fates, positions);
    }

    /// Returns the tokens of a list message; those of an unchanged one are already known.
    fn tokens_of(&self, at: usize) -> u64 {
        match &self.list.messages()[at] {
            PlannedMessage { origin: MessageOrigin::Context(position), change: None } => {
                self.tokens_before[*position as usize]
            }
            PlannedMessage { change: Some(MessageChange::SingleText { chars, .. }), .. } => {
                estimate_chars(CharCount::new(Ok(*chars)).whole_chars())
            }
            _ => estimate_or_zero(&self.list.size(at)),
        }
    }

    /// Pairs calls and results again after the history limit; recorded as a separate effect if it changes the list
    /// (pruning 1.1, step 7).
    fn repair_after_history(&mut self) {
        let positions = self.positions();
        let rules = self.policy_input().repair_rules();
        let repaired = pair_list(&mut self.list, rules);
        if repaired.changed {
            let outcome = PolicyOutcome { changed: true, ..PolicyOutcome::new(repaired.fates) };
            self.record_effect(Policy::Repair, outcome, positions.as_deref());
        }
    }

    /// Returns the context position of each list message; `None` while all are in context order.
    fn positions(&self) -> Option<Vec<Option<usize>>> {
        (!self.list.is_in_context_order())
            .then(|| self.list.messages().iter().map(PlannedMessage::position).collect())
    }

    fn policy_input(&self) -> PolicyInput<'a> {
        let input = self.input;
        PolicyInput {
            settings: input.settings,
            windows: Windows { session: input.window.get(), model: input.guard_window.get() },
            gate: input.gate,
            words: &input.index.values,
            has_features: input.features.is_some(),
            branch: input.branch,
            remembered: input.remembered,
            drops_thinking: input.drops_thinking,
            is_responses_api: input.is_responses_api,
            fixed_pressure: input.fixed_pressure,
            list_tokens: self.tokens.iter().sum(),
            ends_with_answer: input.context.ends_with_answer,
        }
    }

    fn record_details(&mut self, details: PolicyDetails) {
        match details {
            PolicyDetails::Compaction(preparation) => self.compaction = Some(preparation),
            PolicyDetails::Pruning(outcome) => self.outcome = self.in_context(outcome),
            PolicyDetails::Guard(guarded) => self.guarded = Some(guarded),
            PolicyDetails::Check(checked) => self.checked = Some(checked),
            PolicyDetails::Clearing(cleared) => self.cleared = Some(cleared),
        }
    }

    /// Maps the list positions of a pruning to the context.
    fn in_context(&self, outcome: PruneOutcome) -> PruneOutcome {
        let count = self.input.context.messages.len();
        let position =
            |at: usize| self.list.messages()[at..].iter().find_map(PlannedMessage::position).unwrap_or(count);
        PruneOutcome { start: position(outcome.start), cutoff: position(outcome.cutoff), ..outcome }
    }

    /// Merges fates: the last policy that changes a message decides; until then the last given reason stays.
    fn merge(&mut self, fates: Vec<MessageFate>, positions: Option<&[Option<usize>]>) {
        let Some(positions) = positions else {
            if self.fates.is_empty() {
                self.fates = fates;
            } else {
                self.fates.iter_mut().zip(&fates).for_each(|(known, fate)| merge(known, fate));
            }
            return;
        };
        for (fate, position) in fates.iter().zip(positions) {
            if let Some(known) = position.and_then(|position| self.fates.get_mut(position)) {
                merge(known, fate);
            }
        }
    }

    /// Returns the tokens of each context message after all policies, and those of messages that are in no file.
    fn tokens_after(&mut self) -> (Vec<u64>, u64) {
        let tokens = std::mem::take(&mut self.tokens);
        if self.list.is_in_context_order() {
            return (tokens, 0);
        }
        let (mut after, mut made) = (vec![0; self.tokens_before.len()], 0);
        for (item, tokens) in self.list.messages().iter().zip(tokens) {
            match item.position() {
                Some(position) => after[position] = tokens,
                None => made += tokens,
            }
        }
        (after, made)
    }

    fn finish(mut self) -> Plan {
        let PlanInput { context, settings, window, guard_window, gate, .. } = *self.input;
        if self.fates.is_empty() {
            let kept = |message: &ContextMessage| MessageFate::kept(&message.size, Reason::Untouched);
            self.fates = context.messages.iter().map(kept).collect();
        }
        let (tokens_after, tokens_made) = self.tokens_after();
        let changed = self.effects.iter().any(|effect| effect.changed);
        let (items, shared) = self.list.into_parts();
        Plan {
            settings: settings.clone(),
            window,
            guard_window,
            gate,
            pruning: self.outcome,
            compaction: self.compaction,
            guarded: self.guarded,
            checked: self.checked,
            cleared: self.cleared,
            effects: self.effects,
            messages: items,
            shared_edits: shared,
            tokens_after,
            tokens_before: self.tokens_before,
            tokens_added: tokens_made,
            fates: self.fates,
            changed,
        }
    }
}

fn merge(known: &mut MessageFate, fate: &MessageFate) {
    if fate.fate.is_change() || !known.fate.is_change() && fate.reason != Reason::Untouched {
        *known = MessageFate { before: known.before, ..*fate };
    }
}

// The effect of one policy of a plan, in numbers.

/// The effect of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyEffect {
    #[serde(skip)]
    pub policy: Policy,
    /// Whether it replaced content, even if with the same bytes.
    pub changed: bool,
    /// Number of messages before the policy.
    pub messages_before: usize,
    /// Number of messages after it.
    pub messages_after: usize,
    /// Estimated tokens before.
    pub tokens_before: u64,
    /// Estimated tokens after.
    pub tokens_after: u64,
    /// Number of messages with each fate.
    #[serde(rename = "fates", serialize_with = "counts_by_fate")]
    #[schemars(with = "Members<usize>")]
    pub counts: [usize; 7],
}

fn counts_by_fate<S: Serializer>(counts: &[usize; 7], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(Fate::ALL.map(Fate::word).iter().zip(counts))
}

impl PolicyEffect {
    /// Takes the number of messages and their estimated tokens before and after the policy.
    pub(super) fn new(
        policy: Policy,
        fates: &[MessageFate],
        before: (usize, u64),
        after: (usize, u64),
        changed: bool,
    ) -> Self {
        // Two tables, because consecutive increments of one counter would wait for each other.
        let mut counts = [[0; 7]; 2];
        for (at, fate) in fates.iter().enumerate() {
            counts[at % 2][fate.fate as usize] += 1;
        }
        let counts = std::array::from_fn(|fate| counts[0][fate] + counts[1][fate]);
        Self {
            policy,
            changed,
            messages_before: before.0,
            messages_after: after.0,
            tokens_before: before.1,
            tokens_after: after.1,
            counts,
        }
    }

    pub fn count(&self, fate: Fate) -> usize {
        self.counts[fate as usize]
    }

    /// Counts the messages that the policy changed or removed.
    pub fn changed_count(&self) -> usize {
        Fate::ALL.iter().filter(|fate| fate.is_change()).map(|fate| self.count(*fate)).sum()
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
