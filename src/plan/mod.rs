//! Steps → one checked change over one context: a value that is shown, applied, diffed and committed.

pub mod apply;
pub mod cache_cost;
mod effect;
mod persist;
mod run;
mod summary;

pub use apply::{EntryChange, after, changes, messages_after, summary_message};
pub use effect::StepEffect;
pub use persist::{InMemory, left_out};
pub use run::{Asked, PlanError};
pub use summary::MadeSummary;

use std::sync::Arc;

use crate::context::budget::running_totals;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::js::Throws;
use crate::policy::clear_tool_uses::Cleared;
use crate::policy::compact::Preparation;
use crate::policy::edit::Edit;
use crate::policy::guard::Guarded;
use crate::policy::list::{Change, Item};
use crate::policy::preflight::Checked;
use crate::policy::prune::{Gate, Outcome};
use crate::policy::{Fate, MessageFate, StepSettings};
use crate::store::entry::MessageSize;

/// What some steps would do to one context.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The settings it was made with, and the steps that take part.
    pub settings: StepSettings,
    /// Window in tokens it was made with; NaN when none is known.
    pub window: f64,
    /// Window of the model itself in tokens, which the guard went by; NaN when none is known.
    pub guard_window: f64,
    /// What the pruner's gate said. A shut gate leaves every message to the other steps.
    pub gate: Gate,
    /// The numbers behind pruning, its positions told as those of the context; of nothing when it takes no part.
    pub outcome: Outcome,
    /// What a compaction would summarise and keep; none when it takes no part or finds nothing (compaction 3.1).
    pub compaction: Option<Preparation>,
    /// The numbers of the guard; none when it takes no part.
    pub guarded: Option<Guarded>,
    /// What the check of the prompt says; none where it takes no part.
    pub checked: Option<Checked>,
    /// The numbers of clearing tool uses; none when it takes no part.
    pub cleared: Option<Cleared>,
    /// What each step does, in order. `repair` is there a second time, behind `history`, where that left something to
    /// pair again (pruning 1.1, step 7).
    pub effects: Vec<StepEffect>,
    /// The messages as they would be sent.
    pub items: Vec<Item>,
    /// Edits that many of them share.
    shared: Vec<Edit>,
    /// Estimated tokens of each message of the context after the plan (chars/4, rounded up); 0 where it leaves.
    pub tokens_after: Vec<u64>,
    /// Estimated tokens of each message before the plan.
    pub tokens_before: Arc<[u64]>,
    /// Estimated tokens of messages that stand in no file: a summary, invented results.
    pub tokens_made: u64,
    /// The fate of each message of the context: that of the last step that changes it.
    fates: Vec<MessageFate>,
    /// Some step replaced something.
    changed: bool,
}

impl Plan {
    /// Plans the steps that the settings switch on.
    pub fn new(asked: &Asked<'_>) -> Result<Self, PlanError> {
        run::run(asked)
    }

    /// The fate of each message of the context.
    pub fn fates(&self) -> &[MessageFate] {
        &self.fates
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        !self.changed
    }

    /// How many messages have a fate.
    pub fn count(&self, fate: Fate) -> usize {
        self.fates.iter().filter(|message| message.fate == fate).count()
    }

    /// Estimated tokens of all messages before.
    pub fn total_before(&self) -> u64 {
        self.tokens_before.iter().sum()
    }

    /// Estimated tokens of all messages after, those that stand in no file included.
    pub fn total_after(&self) -> u64 {
        self.tokens_after.iter().sum::<u64>() + self.tokens_made
    }

    /// The messages that stand in no file, with their estimated tokens, in the order they are sent.
    pub fn made(&self) -> impl Iterator<Item = (MessageSize, u64)> {
        let made = self.items.iter().filter(|item| item.position().is_none());
        made.filter_map(|item| item.change.as_ref()).map(|change| {
            let size = change.size(&MessageSize::NOTHING);
            (size, estimate_or_zero(&size))
        })
    }

    /// Prompt tokens up to and with each message of the context, what precedes the messages (`fixed`) included; those
    /// that stand in no file count at the place they are sent in.
    pub fn running_totals(&self, fixed: u64) -> Vec<u64> {
        let mut extra = vec![0; self.tokens_after.len()];
        let mut waiting = 0;
        let mut last = None;
        for item in &self.items {
            match (item.position(), &item.change) {
                (Some(position), _) => {
                    extra[position] += std::mem::take(&mut waiting);
                    last = Some(position);
                }
                (None, Some(change)) => waiting += estimate_or_zero(&change.size(&MessageSize::NOTHING)),
                (None, None) => {}
            }
        }
        // What is made at the end counts with the last message there is.
        if let Some(at) = last.or(extra.len().checked_sub(1)) {
            extra[at] += waiting;
        }
        running_totals(fixed, self.tokens_after.iter().zip(extra).map(|(tokens, extra)| tokens + extra))
    }

    /// Chars of all messages before and after, as the pruner counts them (pruning 5.4).
    pub fn total_chars(&self) -> Result<(f64, f64), Throws> {
        self.fates.iter().try_fold((0.0, 0.0), |(before, after), fate| {
            Ok((before + fate.before.get()?, after + fate.after.get()?))
        })
    }

    /// The messages of the context whose text differs in a transcript written under the plan: their positions, and what
    /// was done to them, in the order they are sent.
    pub fn rewritten(&self) -> impl Iterator<Item = (usize, &Change)> {
        let changed = self.items.iter().filter_map(|item| Some((item.position()?, item.change.as_ref()?)));
        changed.filter(|(_, change)| change.edits(&self.shared).iter().any(Edit::is_written))
    }

    /// How the text of one of its messages is made, from the one it comes from.
    pub fn edits_of<'a>(&'a self, item: &'a Item) -> &'a [Edit] {
        item.edits(&self.shared)
    }

    /// What is done to the text of a message of the context.
    pub fn edits(&self, position: usize) -> &[Edit] {
        let there = |item: &&Item| item.position() == Some(position);
        let item = self.items.get(position).filter(there);
        item.or_else(|| self.items.iter().find(there)).map_or(&[], |item| self.edits_of(item))
    }
}
