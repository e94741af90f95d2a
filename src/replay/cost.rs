//! The cost of calls: the recorded amounts, and list prices where the file records nothing or 0.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::gateway::models::Price;
use crate::replay::cache::TokenSplit;
use crate::store::entry::Usage;
use crate::units::schema_of;

/// Cost of some calls and summaries, USD.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[serde(into = "CostMembers")]
pub struct Cost {
    /// Recorded cost; 0 where the file records only zeros, `None` where it records no cost.
    pub recorded: Option<f64>,
    /// List prices of the calls without a recorded cost; `None` if no price is known or needed.
    pub listed: Option<f64>,
    /// Calls that used tokens and have no recorded cost above 0.
    pub unrecorded_calls: usize,
    /// Summaries without a recorded cost above 0.
    pub unrecorded_summaries: usize,
}

schema_of!(Cost, CostMembers);

/// A cost in JSON.
#[derive(Serialize, JsonSchema)]
struct CostMembers {
    /// USD.
    cost: Option<f64>,
    #[serde(flatten)]
    origin: CostOrigin,
}

impl From<Cost> for CostMembers {
    fn from(cost: Cost) -> Self {
        Self { cost: cost.total(), origin: CostOrigin::from(&cost) }
    }
}

/// Writes only the total of a cost to JSON, and null if it is unknown: `#[serde(with = "TotalCost")]`.
#[derive(Debug)]
pub enum TotalCost {}

impl TotalCost {
    pub fn serialize<S: Serializer>(cost: &Cost, serializer: S) -> Result<S::Ok, S::Error> {
        cost.total().serialize(serializer)
    }
}

schema_of!(TotalCost, Option<f64>);

/// The parts of a cost, USD.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the names are the keys")]
pub struct CostOrigin {
    recorded_cost: Option<f64>,
    /// List prices of the calls without a recorded cost.
    listed_cost: Option<f64>,
    /// Calls and summaries without a recorded cost.
    calls_without_cost: usize,
}

impl From<&Cost> for CostOrigin {
    fn from(cost: &Cost) -> Self {
        Self {
            recorded_cost: cost.recorded,
            listed_cost: cost.listed,
            calls_without_cost: cost.unrecorded_calls + cost.unrecorded_summaries,
        }
    }
}

impl Cost {
    /// Adds a call that used tokens: its recorded cost if above 0, otherwise its list price.
    pub fn add_call(&mut self, recorded: Option<f64>, listed: Option<f64>) {
        self.unrecorded_calls += usize::from(self.add(recorded, listed));
    }

    /// Adds the summaries of `times` compactions in the same way.
    pub fn add_summaries(&mut self, times: usize, recorded: Option<f64>, listed: Option<f64>) {
        self.unrecorded_summaries += if self.add(recorded, listed) { times } else { 0 };
    }

    /// Adds a call by the provider's counts.
    pub fn add_usage(&mut self, usage: &Usage, price: Option<&Price>) {
        self.add_call(file_cost(usage), price.map(|price| TokenSplit::from_usage(usage).cost(price)));
    }

    #[must_use]
    pub fn combined_with(self, other: Self) -> Self {
        Self {
            recorded: sum(self.recorded, other.recorded),
            listed: sum(self.listed, other.listed),
            unrecorded_calls: self.unrecorded_calls + other.unrecorded_calls,
            unrecorded_summaries: self.unrecorded_summaries + other.unrecorded_summaries,
        }
    }

    /// Returns recorded and listed cost together; `None` if neither is known.
    pub fn total(&self) -> Option<f64> {
        let recorded = self.recorded.filter(|usd| *usd > 0.0 || !self.is_estimated());
        sum(recorded, self.listed)
    }

    /// Whether a part of the total is estimated or missing.
    pub fn is_estimated(&self) -> bool {
        self.unrecorded_calls + self.unrecorded_summaries > 0
    }

    /// Returns whether the recorded cost is missing or 0.
    fn add(&mut self, recorded: Option<f64>, listed: Option<f64>) -> bool {
        self.recorded = sum(self.recorded, recorded);
        let without = recorded.is_none_or(|usd| usd <= 0.0);
        if without {
            self.listed = sum(self.listed, listed);
        }
        without
    }
}

/// Returns the cost that the file records for a call, in USD; `None` if it is not a finite amount of at least 0.
pub fn file_cost(usage: &Usage) -> Option<f64> {
    Some(usage.cost).filter(|usd| usd.is_finite() && *usd >= 0.0)
}

fn sum(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Tokens;

    fn usage(cost: f64) -> Usage {
        Usage {
            input: Tokens(1e6),
            output: Tokens::ZERO,
            cache_read: Tokens::ZERO,
            cache_write: Tokens::ZERO,
            context_tokens: Tokens(1e6),
            cost,
            is_text_sum: false,
            is_reported_total: false,
        }
    }

    const PRICE: Price = Price::flat([5.0, 25.0, 0.5, 6.25]);

    #[test]
    fn a_recorded_cost_counts_and_a_zero_or_missing_one_is_replaced_by_the_list_price() {
        let mut cost = Cost::default();
        cost.add_usage(&usage(1.25), Some(&PRICE));
        assert_eq!((cost.total(), cost.is_estimated()), (Some(1.25), false));
        cost.add_usage(&usage(0.0), Some(&PRICE));
        cost.add_usage(&usage(f64::NAN), Some(&PRICE));
        assert_eq!((cost.recorded, cost.listed, cost.unrecorded_calls), (Some(1.25), Some(10.0), 2));
        assert_eq!(cost.total(), Some(11.25));
        assert!(cost.is_estimated());
    }

    #[test]
    fn a_recorded_zero_without_a_price_has_no_total() {
        let mut cost = Cost::default();
        cost.add_usage(&usage(0.0), None);
        assert_eq!((cost.recorded, cost.total()), (Some(0.0), None));
    }
}
