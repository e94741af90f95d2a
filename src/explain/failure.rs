//! The call that did not fit, as it was: what the model was sent, and what each message of it weighed by the provider's
//! own count.

use std::sync::Arc;

use crate::context::build;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::explain::calls::Call;
use crate::explain::errors::{Kind, Overflow};
use crate::ids::EntryIx;
use crate::inspect::{Inspection, Unmeasured};
use crate::policy::prune::touches;
use crate::policy::recovery::ErrorSource;
use crate::store::entry::Role;
use crate::transcript::Leaf;

/// A call that did not fit.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The overflow.
    pub overflow: Overflow,
    /// The session as it was when the call was made.
    pub then: Inspection,
    /// The last call before it that was counted, behind the same compaction.
    pub before: Option<(EntryIx, u64)>,
    /// Where the messages since that call begin in the context, its answer included; 0 without one.
    pub new_from: usize,
    /// Tokens of the prompt: as told, else estimated.
    pub requested: u64,
    /// Whether they were counted.
    pub counted: bool,
    /// Tokens that fit: as told, else the window.
    pub limit: u64,
    /// Estimated tokens before the messages.
    pub fixed: u64,
    /// Tokens counted for one estimated: of the messages before [`Self::new_from`], and from it on.
    pub factors: (f64, f64),
}

impl Failure {
    /// The call behind an overflow. `calls` are those of its path, `ratio` is what the session tells of its estimates.
    pub(super) fn new(
        inspection: &Inspection,
        overflow: &Overflow,
        calls: &[Call],
        ratio: f64,
        first_fixed: Option<u64>,
    ) -> Option<Self> {
        let then = at_call(inspection, overflow)?;
        let estimates: Vec<u64> =
            then.context.messages.iter().map(|message| estimate_or_zero(&message.size)).collect();
        let same = |call: &&Call| {
            call.entry < overflow.entry
                && then.context.compaction.is_none_or(|compacted| compacted < call.entry)
        };
        let before = calls.iter().rev().find(same).map(|call| (call.entry, call.prompt));
        let new_from = before.and_then(|(entry, _)| then.context.position(entry)).unwrap_or(0);
        let fixed = then.fixed.map_or(first_fixed.unwrap_or(0), |_| then.fixed_tokens());
        let (old, new) = estimates.split_at(new_from);
        let (old, new) = (old.iter().sum::<u64>(), new.iter().sum::<u64>());
        let estimated = match before {
            Some((_, tokens)) => tokens + (new as f64 * ratio) as u64,
            None => fixed + (new as f64 * ratio) as u64,
        };
        let requested = overflow.requested.unwrap_or(estimated);
        let factors = factors(before.map(|(_, tokens)| tokens), requested, fixed, (old, new), ratio);
        let window = then.window.tokens.max(0.0) as u64;
        let limit = match overflow.kind {
            Kind::Refused(ErrorSource::Silent) => then.upkeep.runtime_window.max(0.0) as u64,
            _ => overflow.limit.unwrap_or(window),
        };
        let counted = overflow.requested.is_some();
        Some(Self {
            overflow: overflow.clone(),
            then,
            before,
            new_from,
            requested,
            counted,
            limit,
            fixed,
            factors,
        })
    }

    /// By how many tokens it did not fit.
    pub fn over(&self) -> u64 {
        self.requested.saturating_sub(self.limit)
    }

    /// Tokens of a message of the context by the provider's count, from what is estimated of it.
    pub fn scaled(&self, position: usize, estimated: u64) -> f64 {
        estimated as f64 * if position < self.new_from { self.factors.0 } else { self.factors.1 }
    }

    /// What the gateway's own estimate said of the prompt: chars / 4 of everything.
    pub fn estimate(&self) -> u64 {
        self.fixed + self.then.context.messages.iter().map(|it| estimate_or_zero(&it.size)).sum::<u64>()
    }

    /// Tokens of all messages of a role by the provider's count.
    pub fn tokens_of(&self, role: Role) -> f64 {
        let messages = self.then.context.messages.iter().enumerate();
        let own = messages.filter(|(_, message)| message.size.role == role);
        own.map(|(at, message)| self.scaled(at, estimate_or_zero(&message.size))).sum()
    }

    /// The results that came since the last counted call: positions in the context.
    pub fn new_results(&self) -> Vec<usize> {
        let messages = self.then.context.messages.iter().enumerate().skip(self.new_from);
        messages.filter(|(_, message)| message.size.role == Role::ToolResult).map(|(at, _)| at).collect()
    }
}

/// The session as it was when an overflow's call was made.
fn at_call(inspection: &Inspection, overflow: &Overflow) -> Option<Inspection> {
    let index = &inspection.index;
    let parent = inspection.tree.parent(overflow.entry)?;
    let leaf = Leaf::Id(index.entry(parent).id.map(|id| index.ids.text(id).to_owned())?);
    let context = build(index, &inspection.tree, &leaf).ok()?;
    let touch = touches(index).find(|(entry, _)| *entry < overflow.entry);
    let mut then = Inspection {
        leaf,
        context: Arc::new(context),
        context_throws: false,
        closer: None,
        last_touch: touch.map(|(_, at)| at),
        measured: Err(Unmeasured::OtherLeaf),
        ..inspection.clone()
    };
    then.tell_prompt();
    Some(then)
}

/// What one estimated token counted for. The old messages are known from the count before, the new ones from what the
/// prompt grew by.
fn factors(
    before: Option<u64>,
    requested: u64,
    fixed: u64,
    (old, new): (u64, u64),
    ratio: f64,
) -> (f64, f64) {
    let share = |tokens: u64, estimated: u64| match estimated {
        0 => ratio,
        _ => tokens as f64 / estimated as f64,
    };
    if let Some(before) = before {
        return (share(before.saturating_sub(fixed), old), share(requested.saturating_sub(before), new));
    }
    let one = share(requested.saturating_sub(fixed), old + new);
    (one, one)
}
