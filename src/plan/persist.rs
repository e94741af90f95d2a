//! What of a plan no transcript can hold: messages left out, moved or invented. Such steps are taken anew on every run
//! and leave the file as it is; only new texts and a compaction are ever written.

use std::collections::HashSet;
use std::fmt::Write as _;

use crate::context::Context;
use crate::ids::EntryIx;
use crate::plan::Plan;
use crate::policy::list::{From, Item};
use crate::policy::step::Moment;
use crate::policy::{Fate, Step};
use crate::store::entry::Role;

/// What a plan does to the list of messages besides new texts and its compaction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InMemory {
    /// Messages left out that no compaction takes away, a summary that is left out again included.
    pub left_out: usize,
    /// Messages that stand behind one that they stood before.
    pub moved: usize,
    /// Messages that stand in no file.
    pub invented: usize,
    /// The steps that leave out messages.
    leaving: Vec<Step>,
}

impl InMemory {
    /// Looks at what became of the list.
    pub fn of(plan: &Plan, context: &Context) -> Self {
        let left_out = left_out(plan, context).len();
        let summaries = plan.items.iter().filter(|item| item.from == From::Summary).count();
        let lost_summary = usize::from(plan.compaction.is_some() && summaries == 0);
        let dropped = |step: Step| {
            plan.effects.iter().any(|effect| effect.step == step && effect.count(Fate::Dropped) > 0)
        };
        let leaving = plan.settings.steps.iter().filter(|step| step.moment() != Moment::Transcript);
        Self {
            left_out: left_out + lost_summary,
            moved: moved(plan),
            invented: plan.items.iter().filter(|item| matches!(item.from, From::Missing(_))).count(),
            leaving: leaving.filter(|step| dropped(*step)).collect(),
        }
    }

    /// The same where messages can be left out by edits of the context (store-pi-1.5 K10).
    #[must_use]
    pub fn with_edits(self) -> Self {
        Self { left_out: 0, leaving: Vec::new(), ..self }
    }

    /// Whether everything the plan does can be written.
    pub fn is_nothing(&self) -> bool {
        self.left_out + self.moved + self.invented == 0
    }

    /// What it is, where it lives and what to do, in sentences.
    pub fn sentences(&self) -> String {
        let done = [(self.left_out, "leaves out"), (self.moved, "moves"), (self.invented, "invents")];
        let done = done.iter().filter(|(count, _)| *count > 0);
        let done = done.map(|(count, verb)| {
            format!("{verb} {count} {}", if *count == 1 { "message" } else { "messages" })
        });
        let done = done.collect::<Vec<_>>().join(", ");
        let mut text = format!("the plan {done}, which is done in memory and never written.");
        for step in self.steps() {
            let _ = write!(text, " `{}` {}", step.word(), advice(step));
        }
        text.push_str(" Take it out of the plan to write the rest.");
        text
    }

    /// The steps that do it. Only pairing moves and invents.
    fn steps(&self) -> Vec<Step> {
        let mut steps = self.leaving.clone();
        if self.moved + self.invented > 0 && !steps.contains(&Step::Repair) {
            steps.push(Step::Repair);
        }
        steps
    }
}

/// Where a step lives that only works in memory.
fn advice(step: Step) -> &'static str {
    match step {
        Step::History => {
            "is taken anew on every run, and its limit lives in the configuration: set it in openclaw.json instead."
        }
        _ => "is done by the gateway itself on every run, so nothing needs to be written for it.",
    }
}

/// The positions of the context that the plan leaves out, and no compaction takes away.
pub fn left_out(plan: &Plan, context: &Context) -> Vec<usize> {
    let there: HashSet<usize> = plan.items.iter().filter_map(Item::position).collect();
    kept_by_compaction(plan, context).into_iter().filter(|at| !there.contains(at)).collect()
}

/// The positions of the context that the compaction keeps; all without one (compaction 4.2).
fn kept_by_compaction(plan: &Plan, context: &Context) -> Vec<usize> {
    let Some(preparation) = &plan.compaction else { return (0..context.messages.len()).collect() };
    let from = context.path.iter().position(|ix| *ix == preparation.first_kept);
    let kept: HashSet<EntryIx> = from.map_or(&[][..], |from| &context.path[from..]).iter().copied().collect();
    let stays = |at: &usize| {
        let message = &context.messages[*at];
        let replayed = plan.items.first().is_some_and(|item| item.from == From::Checkpoint);
        let system = replayed && message.size.role == Role::System;
        kept.contains(&message.entry) && Some(message.entry) != context.compaction && !system
    };
    (0..context.messages.len()).filter(stays).collect()
}

/// Messages that stand behind a later one of the context; a summary that is not first counts too.
fn moved(plan: &Plan) -> usize {
    let mut highest = None;
    let mut moved = 0;
    for (at, item) in plan.items.iter().enumerate() {
        match item.position() {
            Some(position) if highest > Some(position) => moved += 1,
            Some(position) => highest = Some(position),
            None => {
                let first = at == 0 || at == 1 && plan.items[0].from == From::Checkpoint;
                moved += usize::from(item.from == From::Summary && !first);
            }
        }
    }
    moved
}
