//! The call that did not fit, as it was: what the model was sent, and what each message of it weighed by the provider's
//! own count.

use std::sync::Arc;

use crate::context::budget::Budget;
use crate::context::build;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::explain::calls::Call;
use crate::explain::case::Case;
use crate::explain::errors::{Kind, Overflow, SHORT_REPLY};
use crate::ids::EntryIx;
use crate::inspect::{Inspection, Unmeasured};
use crate::policy::prune::touches;
use crate::policy::recovery::ErrorSource;
use crate::store::entry::Role;
use crate::transcript::Leaf;

/// Share of the window that a change must free, to be worth it before anything failed.
const WORTH: f64 = 0.05;

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
    /// What the count before it and the messages since make of it, whatever the refusal says.
    pub likely: u64,
    /// Tokens that fit: as told, else the window.
    pub limit: u64,
    /// Estimated tokens before the messages.
    pub fixed: u64,
    /// Tokens of the limit that nothing says are there: a reply that was cut short had too few, and of a refusal without a
    /// number only what was answered before is known to fit.
    pub room: u64,
    /// It is the next call, which nobody made yet.
    pub ahead: bool,
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
            likely: estimated,
            limit,
            fixed,
            room: room(overflow, requested, limit, before.map(|(_, tokens)| tokens)),
            ahead: false,
            factors,
        })
    }

    /// The next call of a session that did not overflow: what makes room is tried on it.
    pub(super) fn ahead(case: &Case<'_>) -> Self {
        let inspection = case.inspection;
        let (requested, counted) = case.prompt();
        let last = case.calls.last().map(|call| (call.entry, call.prompt));
        let estimated: u64 = inspection.context.messages.iter().map(|it| estimate_or_zero(&it.size)).sum();
        let fixed = case.fixed.unwrap_or(0);
        let factor = match estimated {
            0 => 1.0,
            _ => requested.saturating_sub(fixed) as f64 / estimated as f64,
        };
        Self {
            overflow: Overflow {
                entry: inspection.context.path.last().copied().unwrap_or(EntryIx(0)),
                kind: Kind::Refused(ErrorSource::Prompt),
                text: String::new(),
                at: case.now_ms,
                requested: None,
                limit: None,
            },
            then: inspection.clone(),
            before: last,
            new_from: inspection.context.messages.len(),
            requested,
            counted,
            likely: requested,
            limit: case.window(),
            fixed,
            room: 0,
            ahead: true,
            factors: (factor, factor),
        }
    }

    /// Whether a prompt of so many tokens would have fitted. One that nobody sent yet must also be smaller than it is by a
    /// part of the window that is worth the change.
    pub fn fits(&self, tokens: u64) -> bool {
        let worth = !self.ahead
            || self.requested > self.limit
            || self.requested.saturating_sub(tokens) as f64 >= WORTH * self.limit as f64;
        worth && tokens <= self.known()
    }

    /// Tokens that are known to fit.
    pub fn known(&self) -> u64 {
        self.limit.saturating_sub(self.room)
    }

    /// What the prompt carried, in tokens as the provider counts them: the estimate of each message by the factor it has.
    pub fn budget(&self) -> Budget {
        let (old, new) = self.factors;
        Budget::new(self.then.fixed, &self.then.context, |at| {
            let factor = if at < self.new_from { old } else { new };
            (estimate_or_zero(&self.then.context.messages[at].size) as f64 * factor).round() as u64
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

/// Tokens of the limit that are not known to fit.
fn room(overflow: &Overflow, requested: u64, limit: u64, before: Option<u64>) -> u64 {
    match overflow.kind {
        Kind::CutShort => SHORT_REPLY as u64,
        Kind::Refused(_) if overflow.limit.is_none() && requested <= limit => {
            limit - before.unwrap_or(requested).min(requested.saturating_sub(1))
        }
        Kind::Refused(_) => 0,
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
