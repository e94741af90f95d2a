//! Formats numbers, sizes, times and money for people.
//!
//! All text output uses these functions, so that the same number looks the same in every report and on every screen.

pub mod amount;
pub mod cost;

use crate::js;
use crate::plan::cache_cost::CacheCost;

/// Smallest amount in US dollars that four decimals show.
const MIN_SHOWN_USD: f64 = 0.00005;

/// The no-break space between groups of three digits.
pub const DIGIT_SEPARATOR: char = '\u{a0}';

/// Groups a whole number by three digits: `203 412`.
pub fn group_digits(number: u64) -> String {
    group_digits_with(number, DIGIT_SEPARATOR)
}

/// Groups a whole number by three digits, with another separator.
pub fn group_digits_with(number: u64, between: char) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(between);
        }
        text.push(digit);
    }
    text
}

/// Formats a count held as a double: grouped if it is whole and not negative, else as JavaScript writes it.
pub fn format_count(number: f64) -> String {
    let whole = (0.0..=9e15).contains(&number) && number.fract() == 0.0;
    if whole { group_digits(number as u64) } else { js::number_text(number) }
}

/// Formats a count with its noun: `1 image`, `4 000 chars`.
pub fn quantity(number: f64, noun: &str) -> String {
    format!("{} {noun}{}", format_count(number), if number == 1.0 { "" } else { "s" })
}

/// Formats bytes in decimal units: `3.1 MB`, `231 bytes`.
pub fn format_bytes(count: u64) -> String {
    let units = [("GB", 1e9), ("MB", 1e6), ("KB", 1e3)];
    match units.iter().find(|(_, size)| count as f64 >= *size) {
        Some((name, size)) => format!("{:.1}{DIGIT_SEPARATOR}{name}", count as f64 / size),
        None => format!("{count}{DIGIT_SEPARATOR}bytes"),
    }
}

/// Formats a measured time: `412 ms`, `38.4 s`, `2m 05s`.
pub fn format_duration(ms: f64) -> String {
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
    let units = [("d", 86_400_000.0), ("h", 3_600_000.0), ("m", 60_000.0), ("s", 1_000.0)];
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

/// Formats a time in UTC: `2026-11-19 13:31:07Z`. `None` outside JavaScript's range of dates.
pub fn format_timestamp(ms: f64) -> Option<String> {
    if !ms.is_finite() || ms.abs() > 8.64e15 {
        return None;
    }
    let iso = js::iso_text(ms as i64);
    let (day, time) = iso.split_once('T')?;
    Some(format!("{day} {}Z", time.get(..8)?))
}

/// Formats two ratios with as many digits as distinguish them: at least two, at most six.
pub fn format_ratios(one: f64, other: f64) -> (String, String) {
    let texts = |digits: usize| (format!("{one:.digits$}"), format!("{other:.digits$}"));
    (2..6)
        .map(texts)
        .find(|(one, other)| one != other)
        .unwrap_or_else(|| texts(if one == other { 2 } else { 6 }))
}

/// Formats a difference in USD as the gateway does, with its sign: two decimals, four below a cent, rounded half up
/// (compaction 10.5).
pub fn format_gateway_usd(usd: f64) -> String {
    let sign = if usd < 0.0 { "\u{2212}" } else { "+" };
    format!("{sign}{}", format_usd(usd.abs()))
}

/// Formats US dollars: two decimals from a cent on, else four, rounded half up (compaction 10.5). An amount above 0
/// that rounds to 0 is `<$0.0001`.
pub fn format_usd(amount: f64) -> String {
    if amount > 0.0 && amount < MIN_SHOWN_USD {
        return "<$0.0001".to_owned();
    }
    let decimals = if amount >= 0.01 { 2 } else { 4 };
    let scale = 10_f64.powi(decimals);
    format!("${:.*}", decimals as usize, (amount * scale).round() / scale)
}

/// Formats an estimate: `~$0.31`.
pub fn format_estimated_usd(amount: f64) -> String {
    let words = format_usd(amount);
    if words.starts_with('<') { words } else { format!("~{words}") }
}

/// Formats a difference in US dollars: `+$0.80`, `-$1.92`.
pub fn format_usd_difference(amount: f64) -> String {
    let sign = if amount < 0.0 { "-" } else { "+" };
    match format_usd(amount.abs()) {
        _ if amount.abs() < MIN_SHOWN_USD => "$0".to_owned(),
        words => format!("{sign}{words}"),
    }
}

/// Describes a plan's cost at the provider's cache: first for the next call, then for the later ones.
pub fn describe_cache_cost(cost: &CacheCost) -> (String, String) {
    let why = match (cost.is_warm, cost.next_call > 0.0) {
        (true, true) => "once: the cache is written again",
        (true, false) => "on the next call, the rewritten cache included",
        (false, _) => "on the next call: the cache is cold and less is written",
    };
    let later = format!("{} per call after that", format_gateway_usd(-cost.later_calls));
    let later = match cost.calls_to_break_even() {
        Some(calls) => format!("{later}: paid back after {}", format_calls(calls)),
        None => later,
    };
    (format!("{} {why}", format_gateway_usd(cost.next_call)), later)
}

fn format_calls(calls: u64) -> String {
    if calls == 1 { "one".to_owned() } else { group_digits(calls) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn money_is_rounded_half_up_and_signed() {
        let words = [0.625, -0.125, 0.0, 0.004, 12.0].map(format_gateway_usd);
        assert_eq!(words, ["+$0.63", "\u{2212}$0.13", "+$0.0000", "+$0.0040", "+$12.00"]);
    }

    #[test]
    fn an_amount_that_rounds_to_nothing_is_no_zero() {
        assert_eq!([0.000_014, 0.00005, 0.0].map(format_usd), ["<$0.0001", "$0.0001", "$0.0000"]);
        assert_eq!([0.000_014, 0.31].map(format_estimated_usd), ["<$0.0001", "~$0.31"]);
        assert_eq!([0.000_014, -0.000_014, 0.8].map(format_usd_difference), ["$0", "$0", "+$0.80"]);
    }

    #[test]
    fn the_price_of_a_plan_says_when_it_is_paid_back() {
        let cost = CacheCost { next_call: 0.41, later_calls: 0.14, is_warm: true };
        let (next, later) = describe_cache_cost(&cost);
        assert_eq!(next, "+$0.41 once: the cache is written again");
        assert_eq!(later, "\u{2212}$0.14 per call after that: paid back after 3");
    }

    use super::*;

    #[test]
    fn digits_are_in_groups_of_three() {
        let plain = |number| group_digits(number).replace(DIGIT_SEPARATOR, " ");
        assert_eq!((plain(0), plain(999), plain(1_000)), ("0".into(), "999".into(), "1 000".into()));
        assert_eq!(plain(203_412), "203 412");
        assert_eq!(plain(u64::MAX), "18 446 744 073 709 551 615");
        let sizes = [231, 999, 1_000, 3_149_999, 2_000_000_000]
            .map(|count| format_bytes(count).replace(DIGIT_SEPARATOR, " "));
        assert_eq!(sizes, ["231 bytes", "999 bytes", "1.0 KB", "3.1 MB", "2.0 GB"]);
        assert_eq!(
            (format_count(1.5), format_count(f64::NAN), format_count(-2.0)),
            ("1.5".into(), "NaN".into(), "-2".into())
        );
        assert_eq!((quantity(1.0, "image"), quantity(2.0, "image")), ("1 image".into(), "2 images".into()));
    }

    #[test]
    fn spans_name_their_two_largest_units() {
        let spans =
            [0.0, 999.0, 45_000.0, 720_000.0, 3_600_000.0, 5_400_000.0, 273_600_000.0].map(format_span);
        assert_eq!(spans, ["0ms", "999ms", "45s", "12m", "1h", "1h 30m", "3d 4h"]);
        assert_eq!([412.0, 38_400.0, 125_000.0].map(format_duration), ["412 ms", "38.4 s", "2m 05s"]);
    }

    #[test]
    fn a_moment_is_utc_and_no_date_is_none() {
        assert_eq!(format_timestamp(1_795_181_467_000.0).as_deref(), Some("2026-11-20 13:31:07Z"));
        assert_eq!((format_timestamp(f64::NAN), format_timestamp(1e300)), (None, None));
    }

    #[test]
    fn ratios_that_differ_late_are_written_until_they_differ() {
        assert_eq!(format_ratios(0.28, 0.3), ("0.28".into(), "0.30".into()));
        assert_eq!(format_ratios(0.2999, 0.3), ("0.2999".into(), "0.3000".into()));
        assert_eq!(format_ratios(0.3, 0.3), ("0.30".into(), "0.30".into()));
    }
}
