//! Finds sessions in which cache misses are most of the cost.

use crate::format::{format_number, quantity, round_tokens};
use crate::report::cache_ledger::{CacheTotals, MissCause, cache_ledger_from, missed_share};
use crate::report::cost::format_cost;
use crate::report::explain::case::Case;
use crate::report::explain::finding::{Confidence, Evidence, Finding, FindingClass};
use crate::session::replay_inputs::ReplayInputs;
use crate::store::body::BodyError;

/// Share of the cost from which misses are worth a line.
const MIN_COST_SHARE: f64 = 0.5;
/// Share of the prompt tokens below which misses cannot be half of the cost: a missed token costs about twelve times a read
/// one.
const MIN_TOKEN_SHARE: f64 = 0.05;
/// Causes to name.
const MAX_CAUSES: usize = 3;
/// Calls to name for each cause.
const MAX_ENTRIES: usize = 8;

/// Returns the finding if misses are at least half of the cost. It never is the verdict: a miss makes a call expensive, not
/// large.
pub(super) fn find_cache_misses(
    case: &Case<'_>,
    inputs: Option<&ReplayInputs>,
) -> Result<Option<Finding>, BodyError> {
    if missed_share(case.session) < MIN_TOKEN_SHARE {
        return Ok(None);
    }
    let ledger = cache_ledger_from(case.session, inputs)?;
    let totals = CacheTotals::of(&ledger.calls);
    let share = totals.miss_share().filter(|share| *share >= MIN_COST_SHARE);
    let Some((extra, (worst, _))) = share.and(totals.describe_extra_cost()).zip(totals.worst_cause()) else {
        return Ok(None);
    };
    let confidence = if totals.misses.cost.is_estimated() { Confidence::Likely } else { Confidence::Sure };
    let headline = format!("Cache misses are most of the cost: {extra}, mainly {}", worst.label());
    let mut finding = Finding::new(FindingClass::CacheMisses, confidence, headline);
    let mut causes: Vec<_> = totals.by_cause.iter().filter(|(cause, _)| !cause.makes_new_prompt()).collect();
    causes.sort_by(|(_, one), (_, other)| other.tokens.total_cmp(&one.tokens));
    for (cause, count) in causes.into_iter().take(MAX_CAUSES) {
        let cost = format_cost(&count.cost).map(|cost| format!(", {cost} extra")).unwrap_or_default();
        let text = format!(
            "{}: {}, {} tokens not read{cost}",
            cause.label(),
            quantity(count.calls, "call"),
            format_number(round_tokens(count.tokens))
        );
        let of_cause = |known: MissCause| known == *cause;
        let missed = ledger.calls.iter().filter(|call| call.miss.is_some_and(|miss| of_cause(miss.cause)));
        let entries = missed.map(|call| call.entry).take(MAX_ENTRIES);
        finding = finding.with_evidence(Evidence::new(text).with_entries(entries));
    }
    Ok(Some(finding))
}
