//! Formats durations and times. Times are UTC unless a zone is given.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::format::number::group_digits;
use crate::js;

const DAY_MS: f64 = 86_400_000.0;

/// Formats a duration in its two largest units: `3h 12m`; `-` if not finite.
pub fn format_duration(ms: f64) -> String {
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

/// Formats a measured time: `412 ms`, `38.4 s`, `2m 05s`.
pub fn format_measured_duration(ms: f64) -> String {
    if ms < 1_000.0 {
        format!("{} ms", ms.round())
    } else if ms < 60_000.0 {
        format!("{:.1} s", ms / 1_000.0)
    } else {
        let seconds = (ms / 1_000.0).round() as u64;
        format!("{}m {:02}s", group_digits(seconds / 60), seconds % 60)
    }
}

/// Formats a span for comparison: `45s`, `12m`, `1h 30m`, `3d 4h`. Minutes drop their seconds.
pub fn format_span(ms: f64) -> String {
    let units = [("d", DAY_MS), ("h", 3_600_000.0), ("m", 60_000.0), ("s", 1_000.0)];
    let Some(at) = units.iter().position(|(_, unit)| ms >= *unit) else {
        return format!("{}ms", ms.floor());
    };
    let (name, unit) = units[at];
    let first = format!("{}{name}", (ms / unit).floor());
    let rest = units.get(at + 1).filter(|_| at < 2).map(|(name, next)| ((ms % unit / next).floor(), name));
    match rest {
        Some((count, name)) if count > 0.0 => format!("{first} {count}{name}"),
        _ => first,
    }
}

/// Formats a span as [`format_span`] does, unbroken, and `0s` below a second.
pub fn elapsed(ms: f64) -> String {
    let whole = if ms >= 1000.0 { format_span(ms) } else { "0s".to_owned() };
    whole.replace(' ', "\u{a0}")
}

/// Formats the age of a timestamp: `3h 12m ago`; the date if it is older than 30 days or in the future.
pub fn format_age(ms: i64, now_ms: f64) -> String {
    let since = now_ms - ms as f64;
    if (0.0..30.0 * DAY_MS).contains(&since) {
        return format!("{} ago", format_duration(since));
    }
    format_time(ms as f64)
}

/// Formats a timestamp (ms since 1970) as ISO 8601 to the second, or `-`.
pub fn format_time(ms: f64) -> String {
    strftime(ms, "%Y-%m-%dT%H:%M:%SZ").unwrap_or_else(|| "-".to_owned())
}

/// Formats a timestamp: `2026-11-19 13:31:07Z`. `None` outside JavaScript's range of dates.
pub fn format_timestamp(ms: f64) -> Option<String> {
    if !ms.is_finite() || ms.abs() > 8.64e15 {
        return None;
    }
    let iso = js::iso_text(ms as i64);
    let (day, time) = iso.split_once('T')?;
    Some(format!("{day} {}Z", time.get(..8)?))
}

/// Formats a timestamp in a zone: `2026-03-06 04:00 Europe/Berlin`.
pub fn format_local_time(ms: f64, zone: &TimeZone) -> Option<String> {
    let at = Timestamp::from_millisecond(ms as i64).ok()?.to_zoned(zone.clone());
    let name = zone.iana_name().map_or_else(|| at.strftime("%:z").to_string(), str::to_owned);
    Some(format!("{} {name}", at.strftime("%Y-%m-%d %H:%M")))
}

/// Formats a timestamp as time of day, with the date unless it is today.
pub fn time_of_day(ms: f64, now_ms: i64) -> Option<String> {
    let same_day = now_ms.div_euclid(86_400_000) == (ms as i64).div_euclid(86_400_000);
    strftime(ms, if same_day { "%H:%M:%S" } else { "%Y-%m-%d %H:%M" })
}

/// Formats a timestamp as hours and minutes.
pub fn minute(ms: f64) -> Option<String> {
    strftime(ms, "%H:%M")
}

fn strftime(ms: f64, form: &str) -> Option<String> {
    let at = Timestamp::from_millisecond(ms.is_finite().then_some(ms as i64)?).ok()?;
    Some(at.strftime(form).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_show_two_units_and_never_an_empty_text() {
        let texts = [0.0, 59_999.0, 3_600_000.0, 11_520_000.0, -61_000.0, f64::NAN].map(format_duration);
        assert_eq!(texts, ["0s", "59s", "1h", "3h 12m", "-1m 1s", "-"]);
    }

    #[test]
    fn spans_name_their_two_largest_units() {
        let spans =
            [0.0, 999.0, 45_000.0, 720_000.0, 3_600_000.0, 5_400_000.0, 273_600_000.0].map(format_span);
        assert_eq!(spans, ["0ms", "999ms", "45s", "12m", "1h", "1h 30m", "3d 4h"]);
        let texts = [412.0, 38_400.0, 125_000.0].map(format_measured_duration);
        assert_eq!(texts, ["412 ms", "38.4 s", "2m 05s"]);
        let texts = [f64::NAN, 999.0, 5_000.0, 3_900_000.0].map(elapsed);
        assert_eq!(texts, ["0s", "0s", "5s", "1h\u{a0}5m"]);
    }

    #[test]
    fn a_timestamp_is_utc_and_an_impossible_one_is_none() {
        assert_eq!(format_timestamp(1_795_181_467_000.0).as_deref(), Some("2026-11-20 13:31:07Z"));
        assert_eq!((format_timestamp(f64::NAN), format_timestamp(1e300)), (None, None));
        assert_eq!([1_772_719_601_999.0, f64::NAN].map(format_time), ["2026-03-05T14:06:41Z", "-"]);
    }

    #[test]
    fn times_of_another_day_have_their_date() {
        let noon = 1_772_712_137_000.0;
        assert_eq!(time_of_day(noon, 1_772_719_601_000).as_deref(), Some("12:02:17"));
        assert_eq!(time_of_day(noon, 0).as_deref(), Some("2026-03-05 12:02"));
        assert_eq!(time_of_day(f64::NAN, 0), None);
    }
}
