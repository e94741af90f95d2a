//! Finds the calls of a transcript that overflowed. Lists, screens and commands all use it, so they agree.
//!
//! Whether a call overflowed does not depend on the gateway's version: the provider's words, codes and stop reasons
//! decide (overflow-texts 2). Whether that version recognised it is a separate fact ([`Overflow::recognised`]). Every
//! call is judged by the model that answered it, never by the session's current one.

mod answered;
mod call;
mod cut_short;
mod model_windows;
pub(crate) mod refused;
mod silent;

pub use call::{Overflow, OverflowKind, OverflowScope};
pub use model_windows::ModelWindow;

/// Returns every overflow of a transcript once, in file order. Reads the bodies of failed answers, and skips one that
/// cannot be read again.
pub fn find_overflows(scope: &OverflowScope<'_>) -> Vec<Overflow> {
    let windows = model_windows::WindowCache::new(scope);
    let mut found = refused::find_refused(scope);
    found.extend(silent::find_silent(scope.index, &windows));
    found.extend(cut_short::find_cut_short(scope.index, &windows));
    // The sort is stable, so of two signs of one call the first detector's is kept.
    found.sort_by_key(|overflow| overflow.entry);
    found.dedup_by_key(|overflow| overflow.entry);
    found
}
