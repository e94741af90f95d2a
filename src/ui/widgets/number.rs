//! Numbers as the screen shows them.

use crate::format;
pub use crate::format::format_bytes;

/// Formats tokens in thousands with one decimal: `33.1k`, and `<0.1k` below 50. The decimal goes from a million on, and
/// ten million is `10.0M`, to fit the columns.
pub fn thousands(tokens: u64) -> String {
    match tokens {
        0 => "0".to_owned(),
        1..50 => "<0.1k".to_owned(),
        10_000_000.. => format!("{:.1}M", tokens as f64 / 1e6),
        999_950.. => format!("{:.0}k", tokens as f64 / 1000.0),
        _ => format!("{:.1}k", tokens as f64 / 1000.0),
    }
}

/// Formats an estimate: `~33.1k`. `<0.1k` already implies an approximation.
pub fn estimate(tokens: u64) -> String {
    let words = thousands(tokens);
    if words.starts_with('<') { words } else { format!("~{words}") }
}

/// Formats round thousands without a decimal, `200k`; others as [`thousands`].
pub fn round_thousands(tokens: u64) -> String {
    if tokens > 0 && tokens.is_multiple_of(1000) { format!("{}k", tokens / 1000) } else { thousands(tokens) }
}

/// Groups digits in threes with no-break spaces; the minus sign is `−`.
pub fn grouped(number: i64) -> String {
    let digits = format::group_digits(number.unsigned_abs());
    if number < 0 { format!("−{digits}") } else { digits }
}

/// Returns tokens in whole percent of the window, rounded half up; `None` without a window.
pub fn percent(tokens: u64, window: u64) -> Option<u64> {
    (window > 0).then(|| (tokens * 100 + window / 2) / window)
}

/// Formats elapsed milliseconds in their two largest units: `12m`, `1h 5m`, `3d 4h`.
pub fn elapsed(ms: f64) -> String {
    let whole = if ms >= 1000.0 { format::format_span(ms) } else { "0s".to_owned() };
    whole.replace(' ', "\u{a0}")
}

/// Formats a timestamp (ms since 1970) as UTC time of day, with the date unless it is today.
pub fn time_of_day(ms: f64, now_ms: i64) -> Option<String> {
    let same_day = now_ms.div_euclid(86_400_000) == (ms as i64).div_euclid(86_400_000);
    formatted(ms, if same_day { "%H:%M:%S" } else { "%Y-%m-%d %H:%M" })
}

/// Formats a timestamp (ms since 1970) as hours and minutes, UTC.
pub fn minute(ms: f64) -> Option<String> {
    formatted(ms, "%H:%M")
}

fn formatted(ms: f64, form: &str) -> Option<String> {
    let at = jiff::Timestamp::from_millisecond(ms.is_finite().then_some(ms as i64)?).ok()?;
    Some(at.strftime(form).to_string())
}

/// Formats a count with its noun: `1 session`, `14 sessions`, `2 entries`.
pub fn pluralised(count: u64, noun: &str) -> String {
    let many = match noun.strip_suffix('y') {
        _ if count == 1 => noun.to_owned(),
        Some(stem) => format!("{stem}ies"),
        None => format!("{noun}s"),
    };
    format!("{}\u{a0}{many}", grouped(count as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_one_decimal_all_down_a_column() {
        let texts = [0, 9, 49, 50, 949, 33_149, 125_600, 1_048_576, 16_290_100].map(thousands);
        assert_eq!(texts, ["0", "<0.1k", "<0.1k", "0.1k", "0.9k", "33.1k", "125.6k", "1049k", "16.3M"]);
        assert_eq!([0, 9, 33_149].map(estimate), ["~0", "<0.1k", "~33.1k"]);
        assert_eq!(round_thousands(200_000), "200k");
        assert_eq!(round_thousands(198_700), "198.7k");
    }

    #[test]
    fn exact_numbers_are_grouped_by_spaces_that_do_not_break() {
        assert_eq!(grouped(203_412), "203\u{a0}412");
        assert_eq!(grouped(-1_500), "−1\u{a0}500");
        assert_eq!(grouped(999), "999");
        assert_eq!([pluralised(1, "entry"), pluralised(7, "entry")], ["1\u{a0}entry", "7\u{a0}entries"]);
    }

    #[test]
    fn times_have_at_most_two_units() {
        let texts =
            [f64::NAN, 999.0, 5_000.0, 720_000.0, 3_600_000.0, 3_900_000.0, 273_600_000.0].map(elapsed);
        assert_eq!(texts, ["0s", "0s", "5s", "12m", "1h", "1h\u{a0}5m", "3d\u{a0}4h"]);
    }

    #[test]
    fn moments_of_another_day_say_which() {
        let noon = 1_772_712_137_000.0;
        assert_eq!(time_of_day(noon, 1_772_719_601_000).as_deref(), Some("12:02:17"));
        assert_eq!(time_of_day(noon, 0).as_deref(), Some("2026-03-05 12:02"));
        assert_eq!(time_of_day(f64::NAN, 0), None);
    }
}
