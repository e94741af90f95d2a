//! Finds the parts of a plan that no transcript can hold: messages left out, moved or invented. The gateway repeats
//! such changes in memory on every run and never writes them; only new texts and a compaction are ever written.

use std::collections::HashSet;
use std::fmt::Write as _;

use crate::context::Context;
use crate::format::quantity;
use crate::ids::EntryIx;
use crate::plan::Plan;
use crate::policy::message_list::{MessageOrigin, PlannedMessage};
use crate::policy::policy_set::Phase;
use crate::policy::{Fate, Policy};
use crate::store::entry::Role;

/// A plan's changes to the message list other than new texts and its compaction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnwritableChanges {
    /// Messages left out, except by the compaction; includes a summary that is left out again.
    pub omitted: usize,
    /// Messages that follow one which they used to precede.
    pub moved: usize,
    /// Messages that are in no file.
    pub invented: usize,
    /// The policies that leave messages out.
    omitting_policies: Vec<Policy>,
}

impl UnwritableChanges {
    /// Compares the planned list with the context.
    pub fn of(plan: &Plan, context: &Context) -> Self {
        let left_out = omitted_positions(plan, context).len();
        let summaries = plan.messages.iter().filter(|item| item.origin == MessageOrigin::Summary).count();
        let lost_summary = usize::from(plan.compaction.is_some() && summaries == 0);
        let dropped = |policy: Policy| {
            plan.effects.iter().any(|effect| effect.policy == policy && effect.count(Fate::Dropped) > 0)
        };
        let leaving = plan.settings.enabled.iter().filter(|policy| policy.phase() != Phase::Transcript);
        Self {
            omitted: left_out + lost_summary,
            moved: moved(plan),
            invented: plan
                .messages
                .iter()
                .filter(|item| matches!(item.origin, MessageOrigin::Missing(_)))
                .count(),
            omitting_policies: leaving.filter(|policy| dropped(*policy)).collect(),
        }
    }

    /// Returns the remaining changes for a store that can omit messages by context edits (store-pi-1.5 K10).
    #[must_use]
    pub fn allowing_context_edits(self) -> Self {
        Self { omitted: 0, omitting_policies: Vec::new(), ..self }
    }

    /// Whether everything in the plan can be written.
    pub fn is_empty(&self) -> bool {
        self.omitted + self.moved + self.invented == 0
    }

    /// Describes the changes, the policies behind them, and the user's options.
    pub fn describe(&self) -> String {
        let done = [(self.omitted, "drops"), (self.moved, "moves"), (self.invented, "adds")];
        let done = done.iter().filter(|(count, _)| *count > 0);
        let done = done.map(|(count, verb)| format!("{verb} {}", quantity(*count, "message")));
        let done = done.collect::<Vec<_>>().join(", ");
        let mut text = format!(
            "the plan {done}; the runtime does that in memory only, so it cannot be \
             written."
        );
        for policy in self.policies() {
            let _ = write!(text, " `{}` {}", policy.word(), advice(policy));
        }
        text.push_str(" Remove it from the plan to write the rest.");
        text
    }

    /// Returns the policies behind the changes. Only pairing moves and invents messages.
    fn policies(&self) -> Vec<Policy> {
        let mut policies = self.omitting_policies.clone();
        if self.moved + self.invented > 0 && !policies.contains(&Policy::Repair) {
            policies.push(Policy::Repair);
        }
        policies
    }
}

/// Returns advice for a policy that works only in memory.
fn advice(policy: Policy) -> &'static str {
    match policy {
        Policy::History => {
            "runs again at every call, with its limit from the configuration: set it in openclaw.json \
             instead."
        }
        _ => "runs in the gateway at every call, so nothing needs to be written for it.",
    }
}

/// Returns the context positions that the plan leaves out, except those that the compaction removes.
pub fn omitted_positions(plan: &Plan, context: &Context) -> Vec<usize> {
    let there: HashSet<usize> = plan.messages.iter().filter_map(PlannedMessage::position).collect();
    retained_by_compaction(plan, context).into_iter().filter(|at| !there.contains(at)).collect()
}

/// Returns the context positions that the compaction keeps; all without one (compaction 4.2).
fn retained_by_compaction(plan: &Plan, context: &Context) -> Vec<usize> {
    let Some(preparation) = &plan.compaction else { return (0..context.messages.len()).collect() };
    let from = context.path.iter().position(|ix| *ix == preparation.first_kept);
    let kept: HashSet<EntryIx> = from.map_or(&[][..], |from| &context.path[from..]).iter().copied().collect();
    let stays = |at: &usize| {
        let message = &context.messages[*at];
        let replayed = plan.messages.first().is_some_and(|item| item.origin == MessageOrigin::Checkpoint);
        let system = replayed && message.size.role == Role::System;
        kept.contains(&message.entry) && Some(message.entry) != context.compaction && !system
    };
    (0..context.messages.len()).filter(stays).collect()
}

/// Counts messages that follow a later one of the context, and summaries that are not first.
fn moved(plan: &Plan) -> usize {
    let mut highest = None;
    let mut moved = 0;
    for (at, item) in plan.messages.iter().enumerate() {
        match item.position() {
            Some(position) if highest > Some(position) => moved += 1,
            Some(position) => highest = Some(position),
            None => {
                let first = at == 0 || at == 1 && plan.messages[0].origin == MessageOrigin::Checkpoint;
                moved += usize::from(item.origin == MessageOrigin::Summary && !first);
            }
        }
    }
    moved
}
