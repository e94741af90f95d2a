//! Who counted what of the failing prompt: the provider, the runtime's trigger, the stored counter, and the estimates.

use crate::explain::case::Case;
use crate::explain::check::{last_check, looks_between_turns};
use crate::explain::failure::Failure;
use crate::ids::EntryIx;

/// One number for the failing prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Count {
    /// Who counted.
    pub who: &'static str,
    /// Tokens.
    pub tokens: u64,
    /// Whether a provider counted them.
    pub exact: bool,
    /// What the number decides, or where it comes from.
    pub what: String,
    /// Where it is seen.
    pub entry: Option<EntryIx>,
}

/// Every number that somebody keeps of the failing prompt.
pub(super) fn counts(case: &Case<'_>, failure: &Failure) -> Vec<Count> {
    let entry = Some(failure.overflow.entry);
    let provider = Count {
        who: "provider",
        tokens: failure.requested,
        exact: failure.counted,
        what: if failure.counted {
            "named by the refusal; the only count that refuses".to_owned()
        } else {
            "not named by the refusal, so estimated".to_owned()
        },
        entry,
    };
    let within = looks_between_turns(&failure.then);
    let check = last_check(failure, &case.calls).map(|check| Count {
        who: "runtime",
        tokens: check.tokens.max(0.0) as u64,
        exact: !within,
        what: if within {
            "decides compaction: the last usage and chars/4 of what came after".to_owned()
        } else {
            "decides compaction: the last answer's usage before the run".to_owned()
        },
        entry: Some(check.entry),
    });
    let row = &case.inspection.upkeep.row;
    let stale = if row.fresh == Some(false) { ", marked stale" } else { "" };
    let stored = row.total_tokens.filter(|tokens| *tokens > 0.0).map(|tokens| Count {
        who: "stored counter",
        tokens: tokens as u64,
        exact: true,
        what: format!("fills the status line{stale}"),
        entry: case.calls.iter().rev().find(|call| call.prompt == tokens as u64).map(|call| call.entry),
    });
    let chars = Count {
        who: "chars/4",
        tokens: failure.estimate(),
        exact: false,
        what: "decides pruning and the context guard".to_owned(),
        entry: None,
    };
    let calibrated = Count {
        who: "calibrated",
        tokens: failure.fixed + failure.weights.iter().sum::<f64>() as u64,
        exact: false,
        what: format!("clawscope: weighed by {} counted calls", case.calls.len()),
        entry: None,
    };
    [Some(provider), check, stored, Some(chars), Some(calibrated)].into_iter().flatten().collect()
}
