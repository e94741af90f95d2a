//! Runs policies over one context and returns the result as one value, a [`Plan`], that is shown, compared and
//! committed.

pub mod apply;
pub mod cache_cost;
mod run;
mod summary;
mod unwritable;

pub use apply::{EntryChange, entry_changes, message_after, messages_after, summary_message};
pub use run::PolicyEffect;
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
use crate::policy::{Fate, MessageFate, Policy, PolicySettings};
use crate::store::entry::MessageSize;
use crate::units::{Chars, Tokens};

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
