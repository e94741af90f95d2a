//! Describes costs in words: recorded amounts bare, list prices with `~` and the reason.

use crate::format::{
    format_amount, format_count, format_estimated_usd, format_estimated_usd_difference, format_usd,
};
use crate::plan::CacheCost;
use crate::replay::Cost;

/// Returns the cost of calls in words: `$30.33 recorded`, `~$14.70 at list prices (the file records $0)`. `None` if no
/// call has usage.
pub fn describe_cost(cost: &Cost) -> Option<String> {
    let recorded = cost.recorded.filter(|usd| *usd > 0.0).map(|usd| format!("{} recorded", format_usd(usd)));
    if !cost.is_estimated() {
        return recorded;
    }
    let zero = cost.recorded.map_or("the file records no cost", |_| "the file records $0");
    Some(match (recorded, cost.listed) {
        (Some(recorded), Some(listed)) if listed > 0.0 => {
            format!(
                "{recorded} + {} for {} (list price)",
                format_estimated_usd(listed),
                describe_unpriced(cost)
            )
        }
        (Some(recorded), Some(_)) => recorded,
        (Some(recorded), None) => format!("{recorded}, {} without a price", describe_unpriced(cost)),
        (None, Some(listed)) if listed > 0.0 => {
            format!("{} at list prices ({zero})", format_estimated_usd(listed))
        }
        (None, Some(_)) => "free (config says $0)".to_owned(),
        (None, None) => format!("no price known ({zero})"),
    })
}

/// Returns a cost for a column: `$30.33` if the file records all of it, else `~$14.70`; `free` at list prices of 0.
/// `None` without a price.
pub fn format_cost(cost: &Cost) -> Option<String> {
    let total = cost.total()?;
    Some(if total <= 0.0 { "free".to_owned() } else { format_amount(total, cost.is_estimated()) })
}

/// Counts calls without a recorded cost: `12 calls and 2 summaries`.
fn describe_unpriced(cost: &Cost) -> String {
    let part = |count: usize, one: &str, many: &str| {
        (count > 0).then(|| format!("{count} {}", if count == 1 { one } else { many }))
    };
    let parts = [
        part(cost.unrecorded_calls, "call", "calls"),
        part(cost.unrecorded_summaries, "summary", "summaries"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" and ")
}

/// Describes a plan's cost at the provider's cache: first for the next call, then for the later ones.
pub fn describe_cache_cost(cost: &CacheCost) -> (String, String) {
    let next = format_estimated_usd_difference(cost.next_call);
    let why = match (cost.is_warm, cost.next_call > 0.0) {
        _ if next == "$0" => "on the next call: it costs the same",
        (true, true) => "once: the cache is rewritten",
        (true, false) => "on the next call, including the cache rewrite",
        (false, true) => "on the next call: cache expired, more is written",
        (false, false) => "on the next call: cache expired, less is written",
    };
    let later = format!("{} per call after that", format_estimated_usd_difference(-cost.later_calls));
    let later = match cost.calls_to_break_even() {
        Some(calls) => format!("{later}: paid back after {}", format_count(calls, "call", "calls")),
        None => later,
    };
    (format!("{next} {why}"), later)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(recorded: Option<f64>, listed: Option<f64>, calls_without: usize) -> String {
        let cost = Cost { recorded, listed, unrecorded_calls: calls_without, unrecorded_summaries: 0 };
        describe_cost(&cost).expect("there are calls")
    }

    #[test]
    fn a_cost_says_which_part_the_file_records_and_which_part_is_an_estimate() {
        assert_eq!(words(Some(30.33), None, 0), "$30.33 recorded");
        assert_eq!(words(Some(0.0), Some(14.7), 90), "~$14.70 at list prices (the file records $0)");
        assert_eq!(words(None, Some(14.7), 90), "~$14.70 at list prices (the file records no cost)");
        assert_eq!(words(Some(1.2), Some(0.4), 12), "$1.20 recorded + ~$0.40 for 12 calls (list price)");
        assert_eq!(words(Some(0.0), Some(0.0), 3), "free (config says $0)");
        assert_eq!(words(Some(0.0), None, 3), "no price known (the file records $0)");
        assert_eq!(words(Some(1.2), None, 1), "$1.20 recorded, 1 call without a price");
        assert_eq!(describe_cost(&Cost::default()), None);
    }

    #[test]
    fn a_column_marks_an_estimate_and_names_a_free_model() {
        let short = |recorded, listed, calls_without| {
            format_cost(&Cost { recorded, listed, unrecorded_calls: calls_without, unrecorded_summaries: 0 })
        };
        assert_eq!(short(Some(30.33), None, 0).as_deref(), Some("$30.33"));
        assert_eq!(short(Some(0.0), Some(14.7), 9).as_deref(), Some("~$14.70"));
        assert_eq!(short(Some(0.0), Some(0.0), 9).as_deref(), Some("free"));
        assert_eq!(short(Some(0.0), None, 9), None);
    }

    #[test]
    fn the_price_of_a_plan_says_when_it_is_paid_back() {
        let cost = CacheCost { next_call: 0.41, later_calls: 0.14, is_warm: true };
        let (next, later) = describe_cache_cost(&cost);
        assert_eq!(next, "+~$0.41 once: the cache is rewritten");
        assert_eq!(later, "-~$0.14 per call after that: paid back after 3 calls");
        let same = CacheCost { next_call: 0.000_01, later_calls: 0.0, is_warm: false };
        assert_eq!(describe_cache_cost(&same).0, "$0 on the next call: it costs the same");
    }
}
