//! Runs the policies one after another and merges their fates.

use std::sync::Arc;

use crate::context::tokens::chars4::{estimate_chars, estimate_or_zero};
use crate::context::{Context, ContextMessage};
use crate::gateway::ruleset::Preflight;
use crate::js::JsException;
use crate::plan::Plan;
use crate::plan::effect::PolicyEffect;
use crate::policy::clear_tool_uses::{ClearTotals, clear_list};
use crate::policy::compact::{CompactionInput, Preparation, compact_list};
use crate::policy::features::ContentFeatures;
use crate::policy::guard::{GuardOutcome, guard_list};
use crate::policy::history_range::limit_history_under;
use crate::policy::images::remove_seen_images;
use crate::policy::message_list::{MessageChange, MessageList, MessageOrigin, PlannedMessage};
use crate::policy::preflight::{self, PreflightResult, Pressure, check, sum_pressure};
use crate::policy::prune::projections::ProjectionSnapshot;
use crate::policy::prune::{Gate, PruneOutcome, RoundInput, prune_list, prune_round_list};
use crate::policy::repair::{pair_list, repair_list};
use crate::policy::truncate::{reduce_list, reducible_chars, truncate_list};
use crate::policy::{MessageFate, Policy, PolicySettings, Reason};
use crate::store::entry::CharCount;
use crate::store::index::Index;

/// The inputs of a plan.
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
    pub window: f64,
    /// Window of the model itself in tokens, which the guard uses (pruning 6.30); NaN when unknown.
    pub guard_window: f64,
    /// The result of the pruner's gate.
    pub gate: Gate,
    /// The model receives only the thinking of its last answer (releases R13, R18).
    pub drops_thinking: bool,
    /// Tokens of the system prompt, for versions whose prompt check counts them; without tools.
    pub system_tokens: f64,
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

struct PolicyOutcome {
    /// The fate of each input message.
    fates: Vec<MessageFate>,
    /// The policy replaced content.
    changed: bool,
    /// Positions of the replaced messages, if the policy did nothing else; `None` if any message may differ.
    replaced: Option<Vec<usize>>,
}

impl PolicyOutcome {
    fn new(fates: Vec<MessageFate>, changed: bool) -> Self {
        Self { fates, changed, replaced: None }
    }
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

impl PlanRun<'_> {
    fn apply(&mut self, policy: Policy) -> Result<(), PlanError> {
        if policy.needs_features(self.input.settings.ruleset.rules()) && self.input.features.is_none() {
            return Err(PlanError::NeedsTexts(policy));
        }
        let positions = self.positions();
        let done = self.run_policy(policy)?;
        self.record_effect(policy, done, positions.as_deref());
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
        let repaired = pair_list(&mut self.list);
        if repaired.changed {
            self.record_effect(
                Policy::Repair,
                PolicyOutcome::new(repaired.fates, true),
                positions.as_deref(),
            );
        }
    }

    /// Returns the context position of each list message; `None` while all are in context order.
    fn positions(&self) -> Option<Vec<Option<usize>>> {
        (!self.list.is_in_context_order())
            .then(|| self.list.messages().iter().map(PlannedMessage::position).collect())
    }

    /// Runs one policy.
    fn run_policy(&mut self, policy: Policy) -> Result<PolicyOutcome, PlanError> {
        let PlanInput { settings, index, window, gate, .. } = *self.input;
        let throws = |JsException| PlanError::Throws(policy);
        let rules = settings.ruleset.rules();
        let fates = match policy {
            Policy::Compact => {
                let compacting = self.input.branch.ok_or(PlanError::NeedsTexts(policy))?;
                let keep = settings.compaction.keep_recent_tokens;
                let compacted =
                    compact_list(&mut self.list, rules, &compacting, keep, settings.summary_tokens)
                        .map_err(throws)?;
                self.compaction = compacted.preparation;
                compacted.fates
            }
            Policy::History => limit_history_under(rules, &mut self.list, settings.history_limit),
            Policy::Images => remove_seen_images(&mut self.list, rules),
            Policy::Reduce => {
                reduce_list(&mut self.list, rules, window, &settings.truncate, &settings.reduce)
            }
            Policy::Check => {
                self.checked = self.check();
                self.list.sizes().map(|size| MessageFate::kept(&size, Reason::Untouched)).collect()
            }
            Policy::Prune => {
                let exact = rules.needs_text_features() && self.input.features.is_some();
                let (list, words, prune) = (&mut self.list, &index.values, &settings.prune);
                let PlanInput { remembered, drops_thinking, .. } = *self.input;
                let outcome = if exact {
                    let input =
                        RoundInput { words, settings: prune, window, gate, remembered, drops_thinking };
                    prune_round_list(list, rules, input).map_err(throws)?
                } else {
                    prune_list(list, rules, words, prune, window, gate).map_err(throws)?
                };
                return Ok(self.record_pruning(outcome));
            }
            Policy::Truncate => truncate_list(&mut self.list, rules, window, &settings.truncate),
            Policy::Repair => {
                let repaired = repair_list(&mut self.list);
                return Ok(PolicyOutcome::new(repaired.fates, repaired.changed));
            }
            Policy::Guard => {
                let window = self.input.guard_window;
                let (fates, guarded) =
                    guard_list(&mut self.list, rules, window, &settings.guard).map_err(throws)?;
                self.guarded = guarded;
                fates
            }
            Policy::Clear => {
                let (fates, cleared) = clear_list(&mut self.list, &settings.clear).map_err(throws)?;
                self.cleared = Some(cleared);
                fates
            }
        };
        let changed = fates.iter().any(|fate| fate.fate.is_change())
            || self.compaction.is_some() && policy == Policy::Compact;
        Ok(PolicyOutcome::new(fates, changed))
    }

    /// Checks the current messages with system prompt and next prompt (releases R60–R62).
    fn check(&self) -> Option<PreflightResult> {
        let PlanInput { settings, window, system_tokens, .. } = *self.input;
        let rules = settings.ruleset.rules();
        let prompt = settings.check.prompt_tokens;
        let (counted, sum) = match rules.preflight {
            Preflight::Pressure(_) => {
                let pressure = |at| {
                    self.list.features_at(at).map_or_else(Pressure::default, |features| features.pressure)
                };
                let (counted, messages) = sum_pressure((0..self.list.len()).map(pressure));
                (counted, messages + system_tokens + prompt)
            }
            _ => (0.0, self.tokens.iter().sum::<u64>() as f64 + prompt),
        };
        let reducible_chars = reducible_chars(&self.list, rules, window, &settings.truncate);
        let reserve = settings.compaction.reserve_tokens;
        check(
            rules,
            &preflight::PreflightInput {
                window,
                reserve,
                counted_tokens: counted,
                estimated_tokens: sum,
                reducible_chars,
            },
        )
    }

    /// Records the details of pruning, with list positions mapped to the context.
    fn record_pruning(&mut self, mut outcome: PruneOutcome) -> PolicyOutcome {
        let fates = std::mem::take(&mut outcome.fates);
        let replaced = std::mem::take(&mut outcome.replaced);
        let count = self.input.context.messages.len();
        let position =
            |at: usize| self.list.messages()[at..].iter().find_map(PlannedMessage::position).unwrap_or(count);
        (outcome.start, outcome.cutoff) = (position(outcome.start), position(outcome.cutoff));
        self.outcome = outcome;
        PolicyOutcome { fates, changed: !replaced.is_empty(), replaced: Some(replaced) }
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

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
