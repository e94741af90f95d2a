//! Numbers over all messages of the open session and its plan: counted when one of the two changes, and
//! not again with every frame.

use crate::context::budget::Budget;
use crate::context::rows::is_failed_call;
use crate::ids::EntryIx;
use crate::inspect::{CountSource, LoadedSession};
use crate::plan::Plan;
use crate::plan::cache_cost::CacheCost;
use crate::policy::{Fate, Reason};
use crate::store::entry::Role;

/// What the screen says of all messages together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PlanTotals {
    /// What fills the window now.
    pub current: Budget,
    /// Where the count of that comes from.
    pub count_source: CountSource,
    /// What would fill it under the plan, where one is shown.
    pub after: Option<Budget>,
    /// The replay sends other messages than the plan holds, so only the total of `after` is known.
    pub parts_unknown: bool,
    /// Tokens under the plan by chars/4.
    pub estimate_after: Option<u64>,
    /// Tokens of the messages by chars/4.
    pub estimated_messages: u64,
    /// Calls on the path that failed.
    pub failed_calls: u64,
    /// Tool results longer than the tuned `softTrim.maxChars`.
    pub long_results: u64,
    /// Messages the plan clears.
    pub cleared: u64,
    /// Messages the plan trims.
    pub trimmed: u64,
    /// Messages that `contextPruning.tools` leaves out.
    pub excluded: u64,
    /// What the plan costs and saves at the provider's cache, where the model has a price.
    pub cache_cost: Option<CacheCost>,
}

impl PlanTotals {
    /// Counts a session and the plan that is shown; all but what failed. `max_chars` is the tuned limit of a result; `now_ms` the
    /// time of the next call.
    pub fn compute(inspection: &LoadedSession, plan: Option<&Plan>, max_chars: f64, now_ms: f64) -> Self {
        let context = &inspection.context;
        let results = context.messages.iter().filter(|message| message.size.role == Role::ToolResult);
        let mut figures = Self {
            current: inspection.next_prompt.budget(context),
            count_source: inspection.next_prompt.total.source,
            after: plan.map(|plan| inspection.next_prompt.budget_after(context, plan)),
            estimate_after: plan.map(|plan| inspection.fixed_tokens() + plan.total_after()),
            estimated_messages: inspection.next_prompt.estimated_tokens - inspection.fixed_tokens(),
            cache_cost: plan.and_then(|plan| inspection.cache_cost(plan, now_ms)),
            long_results: results.filter(|message| message.size.joined_chars > max_chars).count() as u64,
            ..Self::default()
        };
        for message in plan.map_or(&[][..], |plan| plan.fates()) {
            figures.cleared += u64::from(message.fate == Fate::Cleared);
            figures.trimmed += u64::from(message.fate == Fate::SoftTrimmed);
            figures.excluded += u64::from(message.reason == Reason::ToolDenied);
        }
        figures
    }
}

/// Calls on the path that failed.
pub(super) fn count_failed_calls(inspection: &LoadedSession) -> u64 {
    let is_failed = |ix: &&EntryIx| is_failed_call(inspection.index.entry(**ix));
    inspection.context.path.iter().filter(is_failed).count() as u64
}
