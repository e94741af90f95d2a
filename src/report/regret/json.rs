//! The sums of a regret as JSON, for `replay --lost` and `sweep`.

use schemars::JsonSchema;
use serde::Serialize;

use super::RegretTotals;
use crate::session::json::rounded;
use crate::units::Tokens;

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegretTotalsJson {
    lost: usize,
    /// Estimated lost tokens.
    lost_tokens: Option<Tokens>,
    /// Lost messages that were needed again.
    needed: usize,
    fetched_again: usize,
    quoted: usize,
    asked_again: usize,
    /// Estimated tokens of all repetitions.
    tokens: Option<Tokens>,
    /// List price of all repetitions, USD.
    cost: Option<f64>,
}

impl RegretTotalsJson {
    pub fn new(totals: &RegretTotals) -> Self {
        Self {
            lost: totals.lost,
            lost_tokens: rounded(totals.lost_tokens),
            needed: totals.needed,
            fetched_again: totals.fetched_again,
            quoted: totals.quoted,
            asked_again: totals.asked_again,
            tokens: rounded(totals.tokens),
            cost: totals.cost,
        }
    }
}
