//! What a session took in all: tokens and costs of its answers, and of the work beside them.

use super::described::number;
use super::words::{counted, grouped};
use crate::inspect::cost::cost_words;
use crate::inspect::spending::{Spending, Spent};
use crate::js::{Object, Value};
use crate::replay::Cost;

/// What a session took, as JSON.
pub(super) fn spending_value(spending: &Spending) -> Value {
    let part = |spent: &Spent| {
        Value::from(Object::from([
            ("calls", Value::from(spent.calls)),
            ("input", number(spent.input)),
            ("output", number(spent.output)),
            ("cacheRead", number(spent.cache_read)),
            ("cacheWrite", number(spent.cache_write)),
            ("cost", spent.cost.total().map_or(Value::Null, number)),
        ]))
    };
    let cost = spending.cost();
    let mut object = Object::from([
        ("answers", part(&spending.answers)),
        ("failed", part(&spending.failed)),
        ("beside", part(&spending.beside)),
        ("cost", cost.total().map_or(Value::Null, number)),
    ]);
    set_cost_origin(&mut object, &cost);
    Value::from(object)
}

/// Adds to an answer which part of its `cost` the file records and which part list prices make.
pub(super) fn set_cost_origin(object: &mut Object, cost: &Cost) {
    object.set("recordedCost", cost.recorded.map_or(Value::Null, number));
    object.set("listedCost", cost.listed.map_or(Value::Null, number));
    object.set("callsWithoutCost", Value::from(cost.calls_without + cost.summaries_without));
}

/// What the session took in all; none where nobody counted.
pub(super) fn spent_words(spending: &Spending) -> Option<String> {
    let whole = |tokens: f64| tokens.max(0.0) as u64;
    let part = |spent: &Spent, one: &str, many: &str| {
        let prompt = whole(spent.input + spent.cache_read + spent.cache_write);
        (spent.calls > 0).then(|| {
            format!(
                "{}, {} in, {} out",
                counted(spent.calls as u64, one, many),
                grouped(prompt),
                grouped(whole(spent.output))
            )
        })
    };
    let answers = part(&spending.answers, "answer", "answers");
    let failed = part(&spending.failed, "failed call", "failed calls");
    let beside = part(&spending.beside, "call beside them", "calls beside them");
    let cost = cost_words(&spending.cost());
    let parts: Vec<String> = [answers, failed, beside, cost].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("all branches took: {}", parts.join(" · ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_beside_the_conversation_is_told_apart_and_nothing_of_nothing() {
        let recorded = |usd| Cost { recorded: Some(usd), ..Cost::default() };
        let answers = Spent {
            calls: 2,
            input: 1_000.0,
            output: 50.0,
            cache_read: 234.0,
            cost: recorded(0.5),
            ..Spent::default()
        };
        let beside = Spent { calls: 1, input: 10.0, output: 1.0, cost: recorded(0.25), ..Spent::default() };
        assert_eq!(
            spent_words(&Spending { answers, beside, ..Spending::default() }).unwrap(),
            "all branches took: 2 answers, 1,234 in, 50 out · 1 call beside them, 10 in, 1 out · $0.75 recorded"
        );
        assert_eq!(spent_words(&Spending::default()), None);
    }
}
