//! Limits for reading one transcript, so that no file exhausts the memory. All are far above real sessions.

use crate::format::{format_number, format_size};
use crate::js;
use crate::units::Bytes;

/// Maximum bytes of a line, above any message that a provider accepts; a longer line is skipped.
pub(super) const MAX_LINE_BYTES: Bytes = Bytes(32 << 20);
/// Number of entries that every transcript may have, and bytes of it that allow one more: an entry costs about 200 bytes
/// of memory, even for a short line.
const MIN_ENTRIES: u64 = 1_000_000;
const BYTES_PER_ENTRY: u64 = 1_000;

/// Describes a line that is too long to be read.
pub(super) fn overlong_line(bytes: Bytes) -> String {
    format!("a line of {}, longer than the limit of {}", format_size(bytes), format_size(MAX_LINE_BYTES))
}

/// Returns the limit that one more line at an offset exceeds: its own length, or the number of entries before it.
pub(super) fn exceeded(entries: usize, offset: u64, line: &[u8]) -> Option<String> {
    if Bytes::from_len(line.len()) > MAX_LINE_BYTES {
        return Some(overlong_line(Bytes::from_len(line.len())));
    }
    let limit = MIN_ENTRIES + offset / BYTES_PER_ENTRY;
    (entries as u64 >= limit).then(|| format!("more than the limit of {} entries", format_number(limit)))
}

/// Returns the limit for which a line was not parsed; `None` when it is not JSON.
pub(super) fn exceeded_by(error: js::SyntaxError) -> Option<String> {
    if error.is_too_deep() {
        return Some(format!("JSON nested deeper than {} levels", js::MAX_DEPTH));
    }
    let values = || format!("JSON with more than {} values", format_number(js::MAX_LINE_VALUES));
    error.has_too_many_values().then(values)
}
