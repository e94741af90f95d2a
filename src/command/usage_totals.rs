//! Total usage of a session: tokens and costs of its answers, failed calls and side calls.

use schemars::JsonSchema;
use serde::Serialize;

use crate::format::{format_count, format_estimate, format_estimated_usd, format_number};
use crate::replay::Cost;
use crate::report::cost::describe_cost;
use crate::session::usage_totals::{SessionUsage, UsageTotals};

/// Usage of the whole session, all branches included.
#[derive(Serialize, JsonSchema)]
pub(super) struct UsageJson {
    #[serde(flatten)]
    calls: SessionUsage,
    #[serde(flatten)]
    cost: Cost,
}

pub(super) fn usage_json(spending: &SessionUsage) -> UsageJson {
    UsageJson { calls: *spending, cost: spending.cost() }
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
