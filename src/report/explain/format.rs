//! Number formats of findings.

use crate::format::group_digits_with;

/// Formats exact tokens or chars: `190,607`.
pub(super) fn format_exact(number: u64) -> String {
    group_digits_with(number, ',')
}

/// Formats a counted number exactly, an estimate with `~`.
pub(super) fn format_tokens(number: u64, counted: bool) -> String {
    if counted { format_exact(number) } else { format_estimate(number) }
}

/// Formats estimated tokens: `~183k`, `~9.4k`, `~940`.
pub(super) fn format_estimate(number: u64) -> String {
    format!("~{}", format_short(number))
}

/// Formats tokens in thousands: `183k`, `9.4k`, `940`.
pub(super) fn format_short(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..100_000 => format!("{:.1}k", number as f64 / 1_000.0),
        _ => format!("{:.0}k", number as f64 / 1_000.0),
    }
}

/// Formats a share in whole percent; `-` when `whole` is 0.
pub(super) fn format_percent(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.0}%", part * 100.0 / whole) } else { "-".to_owned() }
}

/// Formats a count with its noun: `1 result`, `3 results`.
pub(super) fn format_count(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", format_exact(number as u64), if number == 1 { "" } else { "s" })
}
