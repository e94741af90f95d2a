//! Diagnostics about one entry of a transcript, or about the first of several.

use crate::diagnostic::{Diagnostic, Severity};
use crate::ids::EntryIx;
use crate::store::index::Index;

/// Builds a diagnostic at the line of an entry.
pub(super) fn diagnostic_at(
    index: &Index,
    ix: EntryIx,
    severity: Severity,
    what: String,
    next: &str,
) -> Diagnostic {
    Diagnostic::new(&*index.path, severity, what, next)
        .at_line(index.entry(ix).line)
        .about(index.display_id(ix))
}

/// Returns the first entry that fits, and the number of entries that fit.
pub(super) fn first_match(index: &Index, fits: impl Fn(EntryIx) -> bool) -> Option<(EntryIx, usize)> {
    let mut all = index.iter().map(|(ix, _)| ix).filter(|ix| fits(*ix));
    let first = all.next()?;
    Some((first, 1 + all.count()))
}

pub(super) fn and_more(count: usize) -> String {
    if count > 1 { format!(", also at {} more", count - 1) } else { String::new() }
}
