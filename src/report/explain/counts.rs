//! Every count of the failing prompt side by side: the provider's, the runtime's trigger, the stored counter and the
//! estimates.

use crate::format::quantity;
use crate::ids::EntryIx;
use crate::report::explain::case::Case;
use crate::report::explain::check::{checks_between_turns, last_check};
use crate::report::explain::failure::Failure;
use crate::units::Tokens;

/// One count of the failing prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptCount {
    /// The party that counted.
    pub counted_by: &'static str,
    pub tokens: u64,
    /// Whether a provider counted the tokens.
    pub is_measured: bool,
    /// The effect of the number, or its origin.
    pub note: String,
    /// The entry that shows it.
    pub entry: Option<EntryIx>,
}

/// Collects every known count of the failing prompt.
pub(super) fn collect_counts(case: &Case<'_>, failure: &Failure) -> Vec<PromptCount> {
    let entry = Some(failure.overflow.entry);
    let provider = PromptCount {
        counted_by: "provider",
        tokens: failure.prompt_tokens,
        is_measured: failure.is_measured,
        note: if failure.is_measured {
            "from the refusal; only this count can refuse".to_owned()
        } else {
            "estimated: the refusal states no number".to_owned()
        },
        entry,
    };
    let within = checks_between_turns(&failure.session);
    let check = last_check(failure, &case.calls).map(|check| PromptCount {
        counted_by: "runtime",
        tokens: check.tokens.whole(),
        is_measured: !within,
        note: if within {
            "triggers compaction: the last reported usage plus chars/4 of what followed".to_owned()
        } else {
            "triggers compaction: the last usage before the run, with its answer".to_owned()
        },
        entry: Some(check.entry),
    });
    let row = &case.session.limits.stored_totals;
    let stale = if row.fresh == Some(false) { ", marked stale" } else { "" };
    let stored = row.total_tokens.filter(|tokens| *tokens > Tokens::ZERO).map(|tokens| PromptCount {
        counted_by: "stored counter",
        tokens: tokens.whole(),
        is_measured: true,
        note: format!("shown in the status line{stale}"),
        entry: case
            .calls
            .iter()
            .rev()
            .find(|call| call.prompt_tokens == tokens.whole())
            .map(|call| call.entry),
    });
    let chars = PromptCount {
        counted_by: "chars/4",
        tokens: failure.gateway_estimate(),
        is_measured: false,
        note: "triggers pruning; the context guard counts results twice".to_owned(),
        entry: None,
    };
    let counted = case.calls.len();
    let calibrated = (counted > 0).then(|| PromptCount {
        counted_by: "calibrated",
        tokens: failure.fitted_tokens,
        is_measured: false,
        note: format!(
            "clawscope: fitted to {}{}",
            quantity(counted, "counted call"),
            if failure.is_measured { " and this refusal" } else { "" }
        ),
        entry: None,
    });
    [Some(provider), check, stored, Some(chars), calibrated].into_iter().flatten().collect()
}
