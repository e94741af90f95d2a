//! Parses the gateway's durations: `5m`, `1h30m`, and `90` for 90 minutes (pruning 3.4).

use crate::js::JsString;
use crate::units::Millis;

const MINUTE: f64 = 60_000.0;

/// Returns a duration; `None` where the gateway fails. A single number without a unit is minutes;
/// several numbers need a unit each.
pub fn parse_duration(text: &JsString) -> Option<Millis> {
    let text = text.trim().to_lowercase().to_string_lossy();
    let (number, rest) = split_number(&text)?;
    if rest.is_empty() {
        return rounded(number * MINUTE);
    }
    let mut total = 0.0;
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (number, after) = split_number(rest)?;
        let (unit, after) = split_unit(after)?;
        total += number * unit;
        rest = after;
    }
    rounded(total)
}

/// Like [`parse_duration`], but for versions that read one number with one unit (releases R10).
pub fn parse_single_duration(text: &JsString) -> Option<Millis> {
    let lower = text.trim().to_lowercase().to_string_lossy();
    let (_, rest) = split_number(&lower)?;
    let single = rest.is_empty() || split_unit(rest).is_some_and(|(_, rest)| rest.is_empty());
    parse_duration(text).filter(|_| single)
}

/// One or more ASCII digits, optionally a dot and one or more digits.
fn split_number(text: &str) -> Option<(f64, &str)> {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut end = digits(0);
    if end == 0 {
        return None;
    }
    if text[end..].starts_with('.') {
        match digits(end + 1) {
            0 => return None,
            fraction => end += 1 + fraction,
        }
    }
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// A unit in milliseconds; `ms` is tried before `m`.
fn split_unit(text: &str) -> Option<(f64, &str)> {
    [("ms", 1.0), ("s", 1000.0), ("m", MINUTE), ("h", 3_600_000.0), ("d", 86_400_000.0)]
        .into_iter()
        .find_map(|(name, ms)| text.strip_prefix(name).map(|rest| (ms, rest)))
}

/// JavaScript rounds half up; `round` does the same for numbers that are not negative.
fn rounded(ms: f64) -> Option<Millis> {
    ms.is_finite().then(|| Millis(ms.round()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_documented_duration_has_its_milliseconds() {
        for (text, expected) in [
            ("5", 300_000.0),
            ("5m", 300_000.0),
            (" 5M ", 300_000.0),
            ("\u{feff}5m\u{a0}", 300_000.0),
            ("1.5", 90_000.0),
            ("1.5h", 5_400_000.0),
            ("1h30m", 5_400_000.0),
            ("1h1h", 7_200_000.0),
            ("1m500ms", 60_500.0),
            ("0", 0.0),
            ("0.0001s", 0.0),
            ("0.4ms", 0.0),
            ("0.5ms", 1.0),
            ("0.49999999999999994ms", 0.0),
            ("0.5ms0.5ms", 1.0),
            ("1d", 86_400_000.0),
            ("2d4h", 187_200_000.0),
            ("999999999999999999999d", 8.64e28),
        ] {
            assert_eq!(parse_duration(&text.into()), Some(Millis(expected)), "{text:?}");
        }
    }

    #[test]
    fn everything_else_is_an_error() {
        let long = "9".repeat(400);
        for text in [
            "", " ", "1 h", "1h 30m", "-5m", "+5m", "5min", "1e3", "1m30", "1ms5", "1.m", "1.", ".5m",
            "1..5m", "1.5.5m", "٥m", "５m", "m", "5m5", "bad", &long,
        ] {
            assert_eq!(parse_duration(&text.into()), None, "{text:?}");
        }
    }
}
