//! Steps → one checked change over one context: a value that is shown, applied, diffed and committed.

pub mod apply;
pub mod cache_cost;
mod effect;
mod run;
mod summary;
mod unwritable;

pub use apply::{EntryChange, entry_changes, message_after, messages_after, summary_message};
pub use effect::PolicyEffect;
pub use run::{PlanError, PlanInput};
pub use summary::CompactionSummary;
pub use unwritable::{UnwritableChanges, omitted_positions};

use std::sync::Arc;

use crate::context::budget::running_totals;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::js::JsException;
use crate::policy::clear_tool_uses::ClearTotals;
use crate::policy::compact::Preparation;
use crate::policy::edit::Edit;
use crate::policy::guard::GuardOutcome;
use crate::policy::message_list::{MessageChange, PlannedMessage};
use crate::policy::preflight::PreflightResult;
use crate::policy::prune::{Gate, PruneOutcome};
use crate::policy::{Fate, MessageFate, PolicySettings};
use crate::store::entry::MessageSize;

/// What some steps would do to one context.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The settings it was made with, and the steps that take part.
    pub settings: PolicySettings,
    /// Window in tokens it was made with; NaN when none is known.
    pub window: f64,
    /// Window of the model itself in tokens, which the guard went by; NaN when none is known.
    pub guard_window: f64,
    /// What the pruner's gate said. A shut gate leaves every message to the other steps.
    pub gate: Gate,
    /// The numbers behind pruning, its positions told as those of the context; of nothing when it takes no part.
    pub pruning: PruneOutcome,
    /// What a compaction would summarise and keep; none when it takes no part or finds nothing (compaction 3.1).
    pub compaction: Option<Preparation>,
    /// The numbers of the guard; none when it takes no part.
    pub guarded: Option<GuardOutcome>,
    /// What the check of the prompt says; none where it takes no part.
    pub checked: Option<PreflightResult>,
    /// The numbers of clearing tool uses; none when it takes no part.
    pub cleared: Option<ClearTotals>,
    /// What each step does, in order. `repair` is there a second time, behind `history`, where that left something to
    /// pair again (pruning 1.1, step 7).
    pub effects: Vec<PolicyEffect>,
    /// The messages as they would be sent.
    pub messages: Vec<PlannedMessage>,
    /// Edits that many of them share.
    shared_edits: Vec<Edit>,
    /// Estimated tokens of each message of the context after the plan (chars/4, rounded up); 0 where it leaves.
    pub tokens_after: Vec<u64>,
    /// Estimated tokens of each message before the plan.
    pub tokens_before: Arc<[u64]>,
    /// Estimated tokens of messages that stand in no file: a summary, invented results.
    pub tokens_added: u64,
    /// The fate of each message of the context: that of the last step that changes it.
    fates: Vec<MessageFate>,
    /// Some step replaced something.
    changed: bool,
}

impl Plan {
    /// Plans the steps that the settings switch on.
    pub fn new(input: &PlanInput<'_>) -> Result<Self, PlanError> {
        run::run(input)
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
        self.tokens_after.iter().sum::<u64>() + self.tokens_added
    }

    /// The messages that stand in no file, with their estimated tokens, in the order they are sent.
    pub fn added_messages(&self) -> impl Iterator<Item = (MessageSize, u64)> {
        let made = self.messages.iter().filter(|item| item.position().is_none());
        made.filter_map(|item| item.change.as_ref()).map(|change| {
            let size = change.size(&MessageSize::EMPTY);
            (size, estimate_or_zero(&size))
        })
    }

    /// Prompt tokens up to and with each message of the context, what precedes the messages (`fixed`) included; those
    /// that stand in no file count at the place they are sent in.
    pub fn running_totals(&self, fixed: u64) -> Vec<u64> {
        let mut extra = vec![0; self.tokens_after.len()];
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
        // What is made at the end counts with the last message there is.
        if let Some(at) = last.or(extra.len().checked_sub(1)) {
            extra[at] += waiting;
        }
        running_totals(fixed, self.tokens_after.iter().zip(extra).map(|(tokens, extra)| tokens + extra))
    }

    /// Chars of all messages before and after, as the pruner counts them (pruning 5.4).
    pub fn total_chars(&self) -> Result<(f64, f64), JsException> {
        self.fates.iter().try_fold((0.0, 0.0), |(before, after), fate| {
            Ok((before + fate.before.value()?, after + fate.after.value()?))
        })
    }

    /// The messages of the context whose text differs in a transcript written under the plan: their positions, and what
    /// was done to them, in the order they are sent.
    pub fn rewritten(&self) -> impl Iterator<Item = (usize, &MessageChange)> {
        let changed = self.messages.iter().filter_map(|item| Some((item.position()?, item.change.as_ref()?)));
        changed.filter(|(_, change)| change.edits(&self.shared_edits).iter().any(Edit::is_written))
    }

    /// How the text of one of its messages is made, from the one it comes from.
    pub fn message_edits<'a>(&'a self, item: &'a PlannedMessage) -> &'a [Edit] {
        item.edits(&self.shared_edits)
    }

    /// What is done to the text of a message of the context.
    pub fn edits_at(&self, position: usize) -> &[Edit] {
        let there = |item: &&PlannedMessage| item.position() == Some(position);
        let item = self.messages.get(position).filter(there);
        item.or_else(|| self.messages.iter().find(there)).map_or(&[], |item| self.message_edits(item))
    }
}
