//! Cache misses in words.

use crate::format::{format_number, quantity, round_tokens};
use crate::report::cache_ledger::{MissCause, format_extra_cost};
use crate::report::explain::cache_misses::{CacheMisses, CauseOfMisses};
use crate::report::explain::description::evidence::{Described, Evidence};

impl Described for CacheMisses {
    fn headline(&self) -> String {
        let extra = self.totals.describe_extra_cost().unwrap_or_default();
        let cause = match self.worst_cause {
            MissCause::Pause => "long pauses",
            cause => cause.label(),
        };
        format!("Cache misses are most of the cost of all branches: {extra}. Main cause: {cause}.")
    }

    fn evidence(&self) -> Vec<Evidence> {
        self.causes.iter().map(describe_cause).collect()
    }
}

fn describe_cause(cause: &CauseOfMisses) -> Evidence {
    let cost = format_extra_cost(&cause.count.cost).map(|cost| format!(", {cost}")).unwrap_or_default();
    let text = format!(
        "{}: {}, {} tokens not read{cost}",
        cause.cause.label(),
        quantity(cause.count.calls, "call"),
        format_number(round_tokens(cause.count.tokens))
    );
    Evidence::new(text).with_entries(cause.entries.iter().copied())
}
