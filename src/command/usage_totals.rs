//! Total usage of a session: tokens and costs of its answers, failed calls and side calls.

use schemars::JsonSchema;
use serde::Serialize;

use super::session_output::finite;
use crate::format::{format_count, format_estimate, format_estimated_usd, format_number};
use crate::replay::Cost;
use crate::report::cost::describe_cost;
use crate::session::usage_totals::{SessionUsage, UsageTotals};
use crate::units::Tokens;

/// Usage of the whole session, all branches included.
#[derive(Serialize, JsonSchema)]
pub(super) struct UsageJson {
    answers: UsageTotalsJson,
    /// Answers that failed or were aborted.
    failed: UsageTotalsJson,
    /// Calls outside the conversation, such as summaries.
    beside: UsageTotalsJson,
    /// Summaries whose usage the store does not record, by estimate.
    summaries: UsageTotalsJson,
    /// USD.
    cost: Option<f64>,
    #[serde(flatten)]
    origin: CostOriginJson,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct UsageTotalsJson {
    calls: usize,
    /// Tokens neither read from nor written to the cache.
    input: Option<Tokens>,
    output: Option<Tokens>,
    cache_read: Option<Tokens>,
    cache_write: Option<Tokens>,
    /// USD.
    cost: Option<f64>,
}

/// The parts of a cost, USD.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the names are the keys")]
pub(super) struct CostOriginJson {
    recorded_cost: Option<f64>,
    /// List prices of the calls without a recorded cost.
    listed_cost: Option<f64>,
    /// Calls and summaries without a recorded cost.
    calls_without_cost: usize,
}

impl From<&Cost> for CostOriginJson {
    fn from(cost: &Cost) -> Self {
        Self {
            recorded_cost: cost.recorded,
            listed_cost: cost.listed,
            calls_without_cost: cost.unrecorded_calls + cost.unrecorded_summaries,
        }
    }
}

pub(super) fn usage_json(spending: &SessionUsage) -> UsageJson {
    let part = |spent: &UsageTotals| UsageTotalsJson {
        calls: spent.calls,
        input: finite(spent.input),
        output: finite(spent.output),
        cache_read: finite(spent.cache_read),
        cache_write: finite(spent.cache_write),
        cost: spent.cost.total(),
    };
    let cost = spending.cost();
    UsageJson {
        answers: part(&spending.answers),
        failed: part(&spending.failed),
        beside: part(&spending.side_calls),
        summaries: part(&spending.summaries),
        cost: cost.total(),
        origin: CostOriginJson::from(&cost),
    }
}

/// Formats the session's total usage; `None` without any counts.
pub(super) fn describe_usage(spending: &SessionUsage) -> Option<String> {
    let part = |spent: &UsageTotals, one: &str, many: &str| {
        let prompt = (spent.input + spent.cache_read + spent.cache_write).whole();
        (spent.calls > 0).then(|| {
            format!(
                "{}, {} in, {} out",
                format_count(spent.calls as u64, one, many),
                format_number(prompt),
                format_number(spent.output.whole())
            )
        })
    };
    let answers = part(&spending.answers, "answer", "answers");
    let failed = part(&spending.failed, "failed call", "failed calls");
    let beside = part(&spending.side_calls, "side call", "side calls");
    let summaries = describe_summaries(&spending.summaries);
    let cost = describe_cost(&spending.cost());
    let parts: Vec<String> = [answers, failed, beside, cost, summaries].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("all branches: {}", parts.join(" · ")))
}

fn describe_summaries(spent: &UsageTotals) -> Option<String> {
    (spent.calls > 0).then(|| {
        let cost = spent.cost.total().map(|usd| format!(", {}", format_estimated_usd(usd)));
        format!(
            "{} without recorded usage, by chars/4 {} in, {} out{} (no store records summaries that failed)",
            format_count(spent.calls as u64, "summary", "summaries"),
            format_estimate(spent.input.whole()),
            format_estimate(spent.output.whole()),
            cost.unwrap_or_default()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Tokens;

    #[test]
    fn side_calls_are_listed_separately_and_no_usage_has_no_text() {
        let recorded = |usd| Cost { recorded: Some(usd), ..Cost::default() };
        let answers = UsageTotals {
            calls: 2,
            input: Tokens(1_000.0),
            output: Tokens(50.0),
            cache_read: Tokens(234.0),
            cost: recorded(0.5),
            ..UsageTotals::default()
        };
        let beside = UsageTotals {
            calls: 1,
            input: Tokens(10.0),
            output: Tokens(1.0),
            cost: recorded(0.25),
            ..UsageTotals::default()
        };
        assert_eq!(
            describe_usage(&SessionUsage { answers, side_calls: beside, ..SessionUsage::default() }).unwrap(),
            "all branches: 2 answers, 1,234 in, 50 out · 1 side call, 10 in, 1 out · $0.75 recorded"
        );
        assert_eq!(describe_usage(&SessionUsage::default()), None);
    }
}
