//! Numbers in findings, as people write them.

use crate::inspect::words::grouped_by;

/// Exact tokens or chars: `190,607`.
pub(super) fn exact(number: u64) -> String {
    grouped_by(number, ',')
}

/// Exact where it was counted, with a `~` where it was estimated.
pub(super) fn told(number: u64, counted: bool) -> String {
    if counted { exact(number) } else { about(number) }
}

/// Estimated tokens: `~183k`, `~9.4k`, `~940`.
pub(super) fn about(number: u64) -> String {
    format!("~{}", short(number))
}

/// Tokens in thousands: `183k`, `9.4k`, `940`.
pub(super) fn short(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..100_000 => format!("{:.1}k", number as f64 / 1_000.0),
        _ => format!("{:.0}k", number as f64 / 1_000.0),
    }
}

/// A share in whole percent.
pub(super) fn percent(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.0}%", part * 100.0 / whole) } else { "-".to_owned() }
}

/// `1 result`, `3 results`.
pub(super) fn count(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", exact(number as u64), if number == 1 { "" } else { "s" })
}
