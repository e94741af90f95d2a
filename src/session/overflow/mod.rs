//! Finds the calls of a transcript that overflowed. Lists, screens and commands all use it, so they agree.
//!
//! Whether a call overflowed does not depend on the gateway's version: the provider's words, codes and stop reasons
//! decide (overflow-texts 2). Whether that version recognised it is a separate fact ([`Overflow::recognised`]). Every
//! call is judged by the model that answered it, never by the session's current one.

mod answered;
mod call;
mod call_error;
mod cut_short;
mod implausible;
mod last_calls;
mod model_windows;
pub(crate) mod refused;
mod request_bytes;
mod row_error;
mod silent;
mod truncated;
mod unknown_words;
mod unrecorded;

use std::sync::Arc;

pub use answered::largest_answer;
pub use call::{Overflow, OverflowKind, OverflowScope};
pub use call_error::CallError;
pub(crate) use implausible::implausible_counts;
pub use last_calls::{CallState, LastCalls};
pub use model_windows::ModelWindow;

/// Every call of a transcript that failed, each once and in file order.
#[derive(Debug, Clone, Default)]
pub struct CallFailures {
    pub overflows: Arc<[Overflow]>,
    /// Errors of any other kind.
    pub errors: Arc<[CallError]>,
}

/// Returns every overflow and every other error of a transcript. Reads the bodies of failed answers, and skips one that
/// cannot be read again.
pub fn find_failures(scope: &OverflowScope<'_>) -> CallFailures {
    let (refusals, errors) = refused::find_refused(scope);
    let scope = OverflowScope { refusals: &refusals, ..*scope };
    let windows = model_windows::WindowCache::new(&scope);
    let wrong = implausible::find_implausible(&scope, &windows);
    let mut found = refusals.clone();
    found.extend(truncated::find_truncated(&scope, &windows));
    found.extend(silent::find_silent(scope.index, &windows, &wrong));
    found.extend(cut_short::find_cut_short(scope.index, &windows));
    found.extend(unrecorded::find_unrecorded(&scope, &windows));
    // The sort is stable, so of two signs of one call the first detector's is kept.
    found.sort_by_key(|overflow| overflow.entry);
    found.dedup_by_key(|overflow| overflow.entry);
    CallFailures { overflows: found.into(), errors: errors.into() }
}
