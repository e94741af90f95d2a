//! Totals over all messages of the open session and its plan. They are computed when one of the two changes and not
//! with every frame, as they read every message.

use crate::context::budget::Budget;
use crate::context::rows::is_failed_call;
use crate::ids::EntryIx;
use crate::plan::{CacheCost, Plan};
use crate::policy::{Fate, Reason};
use crate::session::{CountSource, LoadedSession};
use crate::store::entry::Role;
use crate::units::{Chars, Moment};

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PlanTotals {
    /// The window now.
    pub current: Budget,
    pub count_source: CountSource,
    /// The window under the plan, if there is one.
    pub after: Option<Budget>,
    /// Whether only the total of `after` is known: the replay sends other messages than the plan.
    pub parts_unknown: bool,
    /// Failed calls on the path.
    pub failed_calls: u64,
    /// Tool results longer than the tuned `softTrim.maxChars`.
    pub long_results: u64,
    /// Messages that the plan clears.
    pub cleared: u64,
    /// Messages that the plan trims.
    pub trimmed: u64,
    /// Messages excluded by `contextPruning.tools`.
    pub excluded: u64,
    /// The plan's cost and savings in the provider's cache; `None` when the model has no price.
    pub cache_cost: Option<CacheCost>,
}

impl PlanTotals {
    /// Computes everything except `failed_calls`. `max_chars` is the tuned limit of a result; `now_ms` is the time of
    /// the next call.
    pub fn compute(session: &LoadedSession, plan: Option<&Plan>, max_chars: Chars, now_ms: Moment) -> Self {
        let context = &session.context;
        let results = context.messages.iter().filter(|message| message.size.role == Role::ToolResult);
        let mut figures = Self {
            current: session.next_prompt.budget(context),
            count_source: session.next_prompt.total.source,
            after: plan.map(|plan| session.next_budget_after(plan)),
            cache_cost: plan.and_then(|plan| session.cache_cost(plan, now_ms)),
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

pub(super) fn count_failed_calls(session: &LoadedSession) -> u64 {
    let is_failed = |ix: &&EntryIx| is_failed_call(session.index.entry(**ix));
    session.context.path.iter().filter(is_failed).count() as u64
}
