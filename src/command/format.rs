//! Numbers, times and sizes as commands print them. JSON has the exact values.

use crate::format;

/// Groups digits in threes: `12,345`.
pub(super) fn format_number(number: u64) -> String {
    format::group_digits_with(number, ',')
}

/// Replaces digit separators inside numbers by commas; spaces between words stay.
pub(super) fn with_commas(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(char) = rest.next() {
        let inside = out.ends_with(|last: char| last.is_ascii_digit())
            && rest.peek().is_some_and(char::is_ascii_digit);
        out.push(if char == format::DIGIT_SEPARATOR && inside { ',' } else { char });
    }
    out
}

/// Formats an estimate: `~12,345`.
pub(super) fn format_estimate(number: u64) -> String {
    format!("~{}", format_number(number))
}

/// Formats a share in whole percent, rounded half up; `-` if `whole` is 0.
pub(super) fn format_percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    format!("{}%", (u128::from(part) * 100 + u128::from(whole) / 2) / u128::from(whole))
}

/// Formats a number with its noun: `1 entry`, `2 entries`.
pub(super) fn format_count(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", format_number(number), if number == 1 { one } else { many })
}

/// Formats bytes with a unit: `1.4 MB`.
pub(super) fn format_bytes(number: u64) -> String {
    format::format_bytes(number).replace(format::DIGIT_SEPARATOR, " ")
}

/// Formats milliseconds in their two largest units: `3h 12m`; `-` if not finite.
pub(super) fn format_duration(ms: f64) -> String {
    if !ms.is_finite() {
        return "-".to_owned();
    }
    let sign = if ms < 0.0 { "-" } else { "" };
    let seconds = (ms.abs() / 1000.0).floor() as u64;
    let parts =
        [(seconds / 86_400, "d"), (seconds / 3600 % 24, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")];
    let from = parts.iter().position(|(number, _)| *number > 0).unwrap_or(3);
    let shown = parts[from..].iter().take(2).filter(|(number, _)| *number > 0 || from == 3);
    let words: Vec<String> = shown.map(|(number, unit)| format!("{number}{unit}")).collect();
    format!("{sign}{}", words.join(" "))
}

/// Formats the age of a timestamp: `3h 12m ago`; the date if it is older than 30 days or in the future.
pub(super) fn format_age(ms: i64, now_ms: f64) -> String {
    let since = now_ms - ms as f64;
    if (0.0..30.0 * 86_400_000.0).contains(&since) {
        return format!("{} ago", format_duration(since));
    }
    format_time(ms as f64)
}

/// Formats a timestamp (ms) as ISO 8601 to the second, or `-`.
pub(super) fn format_time(ms: f64) -> String {
    let known = ms.is_finite().then(|| jiff::Timestamp::from_millisecond(ms as i64).ok()).flatten();
    known.map_or_else(|| "-".to_owned(), |time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// Parses `now`, ISO text (local time without a zone) or milliseconds since 1970.
pub(super) fn parse_time(text: &str, now_ms: f64) -> Result<f64, String> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("now") {
        return Ok(now_ms);
    }
    if let Ok(ms) = text.parse::<i64>() {
        return Ok(ms as f64);
    }
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        return Ok(time.as_millisecond() as f64);
    }
    let local =
        text.parse::<jiff::civil::DateTime>().and_then(|time| time.to_zoned(jiff::tz::TimeZone::system()));
    local.map(|time| time.timestamp().as_millisecond() as f64).map_err(|_| {
        format!(
            "--now {text:?}: expected `now`, a time such as 2026-03-05T14:06:41Z, or milliseconds since 1970"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_from_the_right() {
        let grouped: Vec<String> = [0, 999, 1000, 1_234_567].map(format_number).into();
        assert_eq!(grouped, ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn only_groups_of_digits_get_commas() {
        assert_eq!(with_commas("31\u{a0}240 chars,\u{a0}so"), "31,240 chars,\u{a0}so");
    }

    #[test]
    fn spans_show_two_units_and_never_an_empty_text() {
        let spans: Vec<String> =
            [0.0, 59_999.0, 3_600_000.0, 11_520_000.0, -61_000.0, f64::NAN].map(format_duration).into();
        assert_eq!(spans, ["0s", "59s", "1h", "3h 12m", "-1m 1s", "-"]);
    }

    #[test]
    fn shares_round_half_up_and_nothing_has_no_share() {
        assert_eq!(
            [format_percent(1, 8), format_percent(5, 0), format_percent(955, 100)],
            ["13%", "-", "955%"]
        );
    }

    #[test]
    fn moments_are_read_as_text_or_number() {
        assert_eq!(parse_time("2026-03-05T14:06:41Z", 0.0), Ok(1_772_719_601_000.0));
        assert_eq!(parse_time("1772719601000", 0.0), Ok(1_772_719_601_000.0));
        assert_eq!(parse_time("now", 5.0), Ok(5.0));
        assert!(parse_time("tomorrow", 0.0).unwrap_err().contains("expected"));
        assert_eq!(format_time(1_772_719_601_999.0), "2026-03-05T14:06:41Z");
    }
}
