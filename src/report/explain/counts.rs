//! Every count of the failing prompt side by side: the provider's, the runtime's trigger, the stored counter and the
//! estimates.

use crate::ids::EntryIx;
use crate::report::explain::case::OverflowCase;
use crate::report::explain::check::{checks_between_turns, last_check};
use crate::report::explain::failure::Failure;
use crate::units::Tokens;

/// One count of the failing prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptCount {
    pub counter: Counter,
    pub tokens: u64,
    /// Whether a provider counted the tokens.
    pub is_measured: bool,
    /// The entry that shows it.
    pub entry: Option<EntryIx>,
}

/// The party that counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counter {
    Provider {
        /// Whether the refusal states the number; otherwise it is an estimate.
        is_stated: bool,
        /// Tokens above the limit that the refusal states instead.
        excess: Option<u64>,
        /// Whether nothing is known but that the prompt was more than the limit.
        is_lower_bound: bool,
    },
    Runtime {
        /// Whether it adds an estimate of later messages to the last usage.
        adds_estimate: bool,
    },
    StoredCounter {
        is_stale: bool,
    },
    /// The gateway's estimate.
    CharsByFour,
    /// The fit to this number of counted calls.
    Calibrated {
        counted_calls: usize,
        /// The provider's count of the refused prompt took part in the fit.
        fits_refusal: bool,
    },
}

impl Counter {
    /// The name in JSON and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Provider { .. } => "provider",
            Self::Runtime { .. } => "runtime",
            Self::StoredCounter { .. } => "stored counter",
            Self::CharsByFour => "chars/4",
            Self::Calibrated { .. } => "calibrated",
        }
    }
}

/// Collects every known count of the failing prompt.
pub(super) fn collect_counts(case: &OverflowCase<'_>, failure: &Failure) -> Vec<PromptCount> {
    let provider = PromptCount {
        counter: Counter::Provider {
            is_stated: failure.is_measured,
            excess: failure.overflow.excess,
            is_lower_bound: failure.prompt_size().is_lower_bound,
        },
        tokens: failure.prompt_tokens,
        is_measured: failure.is_measured,
        entry: Some(failure.overflow.entry),
    };
    let adds_estimate = checks_between_turns(&failure.session);
    let check = last_check(failure, &case.calls).map(|check| PromptCount {
        counter: Counter::Runtime { adds_estimate },
        tokens: check.tokens.whole(),
        is_measured: !adds_estimate,
        entry: Some(check.entry),
    });
    let chars = PromptCount {
        counter: Counter::CharsByFour,
        tokens: failure.gateway_estimate(),
        is_measured: false,
        entry: None,
    };
    let counted_calls = case.calls.len();
    let calibrated = (counted_calls > 0).then_some(PromptCount {
        counter: Counter::Calibrated { counted_calls, fits_refusal: failure.is_measured },
        tokens: failure.fitted_tokens,
        is_measured: false,
        entry: None,
    });
    [Some(provider), check, stored_count(case), Some(chars), calibrated].into_iter().flatten().collect()
}

/// Returns the total of the session record, if it has one.
fn stored_count(case: &OverflowCase<'_>) -> Option<PromptCount> {
    let totals = &case.session.limits.stored_totals;
    let tokens = totals.total_tokens.filter(|tokens| *tokens > Tokens::ZERO)?.whole();
    let counted = case.calls.iter().rev().find(|call| call.prompt_tokens == tokens);
    Some(PromptCount {
        counter: Counter::StoredCounter { is_stale: totals.fresh == Some(false) },
        tokens,
        is_measured: true,
        entry: counted.map(|call| call.entry),
    })
}
