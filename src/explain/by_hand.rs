//! A prune by hand where the gate never opens: at which turn it would have paid, and after how many calls (compaction 10.11).

use std::sync::Arc;

use crate::context::build;
use crate::explain::case::Case;
use crate::explain::simulate::open_plan;
use crate::ids::EntryIx;
use crate::inspect::Inspection;
use crate::plan::cache_cost::CacheCost;
use crate::transcript::Leaf;

/// Turns that are looked at, spread over the session.
const LOOKED_AT: usize = 12;
/// Share of what fits that a prune must free to be worth the trouble.
const LEAST_FREED: f64 = 0.05;

/// A prune by hand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ByHand {
    /// The turn, counted from 1.
    pub turn: usize,
    /// The user message that begins it.
    pub entry: EntryIx,
    /// Tokens that it frees, estimated.
    pub freed: u64,
    /// What the next call costs more, USD.
    pub dearer: f64,
    /// What each later call costs less, USD.
    pub saves: f64,
    /// Calls after which it is paid back.
    pub calls: u64,
    /// Calls that the session made from there on.
    pub left: usize,
}

impl ByHand {
    /// When it would have paid.
    pub(super) fn words(&self) -> String {
        let turns = if self.calls == 1 { "call" } else { "calls" };
        format!("a manual prune at turn {} breaks even after {} {turns}", self.turn, self.calls)
    }
}

/// The prune that would have saved most in the calls that followed; none where none pays, or without a price.
pub(super) fn best(case: &Case<'_>, limit: u64) -> Option<ByHand> {
    let asked = case.asked();
    let every = asked.len().div_ceil(LOOKED_AT).max(1);
    let turns = asked.iter().enumerate().skip(1).step_by(every);
    let found = turns.filter_map(|(turn, entry)| at(case, turn + 1, *entry, limit));
    let gain = |it: &ByHand| it.saves * it.left as f64 - it.dearer;
    found.filter(|it| gain(it) > 0.0).max_by(|a, b| gain(a).total_cmp(&gain(b)))
}

/// What a prune right before a turn would have cost and saved, the cache being warm.
fn at(case: &Case<'_>, turn: usize, entry: EntryIx, limit: u64) -> Option<ByHand> {
    let inspection = case.inspection;
    let index = &inspection.index;
    let price = inspection.price?;
    let parent = inspection.tree.parent(entry)?;
    let leaf = Leaf::Id(index.entry(parent).id.map(|id| index.ids.text(id).to_owned())?);
    let context = Arc::new(build(index, &inspection.tree, &leaf).ok()?);
    let then = Inspection { leaf, context, closer: None, ..inspection.clone() };
    let plan = open_plan(&then, &then.configured.prune)?;
    let freed = plan.total_before().saturating_sub(plan.total_after());
    if (freed as f64) < LEAST_FREED * limit as f64 {
        return None;
    }
    let cost = CacheCost::new(&plan, &price, Some(0.0))?;
    let left = case.calls.iter().filter(|call| call.entry > entry).count();
    Some(ByHand {
        turn,
        entry,
        freed,
        dearer: cost.next_call,
        saves: cost.later_calls,
        calls: cost.paid_back_after()?,
        left,
    })
}
