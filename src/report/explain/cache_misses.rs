//! Finds sessions in which cache misses are most of the cost.

use crate::ids::EntryIx;
use crate::report::cache_ledger::{
    CacheLedger, CacheTotals, CallCount, MissCause, cache_ledger_from, missed_share,
};
use crate::report::explain::case::OverflowCase;
use crate::report::explain::finding::{Confidence, FindingClass, Found};
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

/// The misses of a session, and what they cost.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheMisses {
    pub totals: CacheTotals,
    /// The cause that cost most.
    pub worst_cause: MissCause,
    /// The causes of most unread tokens.
    pub causes: Vec<CauseOfMisses>,
}

/// The misses of one cause.
#[derive(Debug, Clone, PartialEq)]
pub struct CauseOfMisses {
    pub cause: MissCause,
    pub count: CallCount,
    /// The first calls.
    pub entries: Vec<EntryIx>,
}

/// Returns the finding if misses are at least half of the cost. It never is the verdict: a miss makes a call expensive, not
/// large.
pub(super) fn find_cache_misses(
    case: &OverflowCase<'_>,
    inputs: Option<&ReplayInputs>,
) -> Result<Option<Found<CacheMisses>>, BodyError> {
    if missed_share(case.session) < MIN_TOKEN_SHARE {
        return Ok(None);
    }
    let ledger = cache_ledger_from(case.session, inputs)?;
    let totals = ledger.totals();
    let share = totals.miss_share().filter(|share| *share >= MIN_COST_SHARE);
    let Some((worst_cause, _)) = share.and(totals.worst_cause()) else { return Ok(None) };
    let confidence = if totals.misses.cost.is_estimated() { Confidence::Likely } else { Confidence::Sure };
    let causes = largest_causes(&ledger, &totals);
    let facts = CacheMisses { totals, worst_cause, causes };
    Ok(Some(Found::new(FindingClass::CacheMisses, confidence, facts)))
}

fn largest_causes(ledger: &CacheLedger, totals: &CacheTotals) -> Vec<CauseOfMisses> {
    let mut causes: Vec<_> = totals.by_cause.iter().filter(|(cause, _)| !cause.makes_new_prompt()).collect();
    causes.sort_by(|(_, one), (_, other)| other.tokens.total_cmp(&one.tokens));
    let of_cause = |(cause, count): (&MissCause, &CallCount)| {
        let missed = ledger.calls.iter().filter(|call| call.miss.is_some_and(|miss| miss.cause == *cause));
        let entries = missed.map(|call| call.entry).take(MAX_ENTRIES).collect();
        CauseOfMisses { cause: *cause, count: *count, entries }
    };
    causes.into_iter().take(MAX_CAUSES).map(of_cause).collect()
}
