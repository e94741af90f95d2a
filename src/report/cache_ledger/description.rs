//! Misses in words, as the command, the timeline and the explanation print them.

use super::{CacheMiss, CacheTotals, MissCause};
use crate::format::{format_duration, format_ratio};
use crate::replay::Cost;
use crate::report::cost::format_cost;
use crate::session::LoadedSession;

impl CacheMiss {
    /// Describes the cause with its place: `context edit at 3fa1`, `pause of 12m`.
    pub fn describe_cause(&self, session: &LoadedSession) -> String {
        match (self.cause, self.at) {
            (MissCause::Pause, _) => format!("pause of {}", format_duration(self.age_ms)),
            (cause, Some(entry)) => format!("{} at {}", cause.label(), session.index.display_id(entry)),
            (cause, None) => cause.label().to_owned(),
        }
    }
}

impl CacheTotals {
    /// Describes the extra cost of the misses with its share of the cost: `$1.20 extra (34%)`; `None` without a price, or if
    /// it is 0.
    pub fn describe_extra_cost(&self) -> Option<String> {
        let extra = format_extra_cost(&self.misses.cost)?;
        let share = self.miss_share().map(|share| format!(" ({})", format_ratio(share)));
        Some(format!("{extra}{}", share.unwrap_or_default()))
    }
}

/// Formats what misses cost more: `$1.20 extra`; `None` without a price, or if it is 0.
pub fn format_extra_cost(cost: &Cost) -> Option<String> {
    format_cost(cost).filter(|_| cost.total() > Some(0.0)).map(|extra| format!("{extra} extra"))
}
