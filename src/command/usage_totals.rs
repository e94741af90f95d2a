//! Total usage of a session: tokens and costs of its answers, failed calls and side calls.

use super::session_output::number_value;
use crate::format::{format_count, format_number};
use crate::js::{Object, Value};
use crate::replay::Cost;
use crate::report::cost::describe_cost;
use crate::session::usage_totals::{SessionUsage, UsageTotals};

pub(super) fn usage_value(spending: &SessionUsage) -> Value {
    let part = |spent: &UsageTotals| {
        Value::from(Object::from([
            ("calls", Value::from(spent.calls)),
            ("input", number_value(spent.input)),
            ("output", number_value(spent.output)),
            ("cacheRead", number_value(spent.cache_read)),
            ("cacheWrite", number_value(spent.cache_write)),
            ("cost", spent.cost.total().map_or(Value::Null, number_value)),
        ]))
    };
    let cost = spending.cost();
    let mut object = Object::from([
        ("answers", part(&spending.answers)),
        ("failed", part(&spending.failed)),
        ("beside", part(&spending.side_calls)),
        ("cost", cost.total().map_or(Value::Null, number_value)),
    ]);
    set_cost_origin(&mut object, &cost);
    Value::from(object)
}

/// Adds the recorded and the list-price part of `cost`.
pub(super) fn set_cost_origin(object: &mut Object, cost: &Cost) {
    object.set("recordedCost", cost.recorded.map_or(Value::Null, number_value));
    object.set("listedCost", cost.listed.map_or(Value::Null, number_value));
    object.set("callsWithoutCost", Value::from(cost.unrecorded_calls + cost.unrecorded_summaries));
}

/// Formats the session's total usage; `None` without any counts.
pub(super) fn describe_usage(spending: &SessionUsage) -> Option<String> {
    let whole = |tokens: f64| tokens.max(0.0) as u64;
    let part = |spent: &UsageTotals, one: &str, many: &str| {
        let prompt = whole(spent.input + spent.cache_read + spent.cache_write);
        (spent.calls > 0).then(|| {
            format!(
                "{}, {} in, {} out",
                format_count(spent.calls as u64, one, many),
                format_number(prompt),
                format_number(whole(spent.output))
            )
        })
    };
    let answers = part(&spending.answers, "answer", "answers");
    let failed = part(&spending.failed, "failed call", "failed calls");
    let beside = part(&spending.side_calls, "call beside them", "calls beside them");
    let cost = describe_cost(&spending.cost());
    let parts: Vec<String> = [answers, failed, beside, cost].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("all branches took: {}", parts.join(" · ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_beside_the_conversation_is_distinguished_and_nothing_of_nothing() {
        let recorded = |usd| Cost { recorded: Some(usd), ..Cost::default() };
        let answers = UsageTotals {
            calls: 2,
            input: 1_000.0,
            output: 50.0,
            cache_read: 234.0,
            cost: recorded(0.5),
            ..UsageTotals::default()
        };
        let beside = UsageTotals {
            calls: 1,
            input: 10.0,
            output: 1.0,
            cost: recorded(0.25),
            ..UsageTotals::default()
        };
        assert_eq!(
            describe_usage(&SessionUsage { answers, side_calls: beside, ..SessionUsage::default() }).unwrap(),
            "all branches took: 2 answers, 1,234 in, 50 out · 1 call beside them, 10 in, 1 out · $0.75 recorded"
        );
        assert_eq!(describe_usage(&SessionUsage::default()), None);
    }
}
