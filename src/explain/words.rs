//! Numbers in verdicts, as people say them. Groups are parted by a no-break space; who prints may part them otherwise.

use crate::inspect::words::grouped;

/// Exact tokens or chars: `190 607`.
pub(super) fn exact(number: u64) -> String {
    grouped(number)
}

/// Exact where it was counted, with a `~` where it was estimated.
pub(super) fn told(number: u64, counted: bool) -> String {
    if counted { exact(number) } else { about(number) }
}

/// Estimated tokens in thousands: `~183.7k`; below a thousand as they are.
pub(super) fn about(number: u64) -> String {
    if number < 1_000 { format!("~{number}") } else { format!("~{}", thousands(number)) }
}

/// In thousands with one decimal.
pub(super) fn thousands(number: u64) -> String {
    format!("{:.1}k", number as f64 / 1_000.0)
}

/// A share in whole percent.
pub(super) fn percent(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.0}%", part * 100.0 / whole) } else { "-".to_owned() }
}

/// `1 result`, `3 results`.
pub(super) fn count(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number as u64), if number == 1 { "" } else { "s" })
}
