//! The value of one setting in its three forms: a position on a slider, typed text, and the gateway's own value.

use crate::format::number::parse_count;
use crate::format::{format_duration, format_number};
use crate::js::{JsString, Object, Value};
use crate::units::Millis;

/// The durations at which a slider stops, in seconds: fine where people choose, up to a day.
const DURATION_STOPS: [u32; 22] = [
    0, 30, 60, 120, 180, 300, 600, 900, 1_200, 1_800, 2_700, 3_600, 5_400, 7_200, 10_800, 14_400, 21_600,
    28_800, 36_000, 43_200, 64_800, 86_400,
];
/// Moves from which a key is one of the large ones, and the stops that it then passes.
const LARGE_MOVE: f64 = 10.0;
const LARGE_MOVE_STOPS: f64 = 2.0;

/// Rounds a value to its step. Steps are decimal: 0.1 + 0.2 is 0.3 on a slider.
fn snap_to_step(value: f64, step: f64) -> f64 {
    let digits = if step >= 1.0 { 1.0 } else { 1.0 / step };
    ((value / step).round() * step * digits).round() / digits
}

fn duration_stop(at: f64) -> f64 {
    let last = DURATION_STOPS.len() - 1;
    f64::from(DURATION_STOPS[(at.max(0.0) as usize).min(last)]) * 1_000.0
}

/// The position of a value on a slider, 0 to 1; `None` for other controls.
pub fn slider_position(control: Control, value: &Value) -> Option<f64> {
    let value = value.as_f64()?;
    match control {
        Control::Slider { unit: Unit::Milliseconds, .. } => {
            let above = DURATION_STOPS.partition_point(|stop| f64::from(*stop) * 1_000.0 <= value) as f64;
            let (low, high) = (duration_stop(above - 1.0), duration_stop(above));
            let part = if high > low { (value - low) / (high - low) } else { 0.0 };
            Some(((above - 1.0 + part) / (DURATION_STOPS.len() - 1) as f64).clamp(0.0, 1.0))
        }
        Control::Slider { min, max, .. } => Some(((value - min) / (max - min)).clamp(0.0, 1.0)),
        _ => None,
    }
}

/// The value at a position of a slider, 0 to 1; `None` for other controls.
pub fn slider_value(control: Control, position: f64) -> Option<f64> {
    match control {
        Control::Slider { unit: Unit::Milliseconds, .. } => {
            Some(duration_stop((position * (DURATION_STOPS.len() - 1) as f64).round()))
        }
        Control::Slider { min, max, step, .. } => Some(snap_to_step(min + (max - min) * position, step)),
        _ => None,
    }
}

/// The value some moves from another one on a slider; `None` for other controls.
pub fn moved_value(control: Control, now: f64, moves: f64) -> Option<f64> {
    match control {
        Control::Slider { unit: Unit::Milliseconds, .. } => {
            let large = moves.abs() >= LARGE_MOVE;
            let moves = if large { moves / LARGE_MOVE * LARGE_MOVE_STOPS } else { moves };
            let below = |stop: &u32| f64::from(*stop) * 1_000.0 < now;
            let not_above = |stop: &u32| f64::from(*stop) * 1_000.0 <= now;
            Some(if moves < 0.0 {
                duration_stop(DURATION_STOPS.partition_point(below) as f64 + moves)
            } else {
                duration_stop(DURATION_STOPS.partition_point(not_above) as f64 - 1.0 + moves).max(now)
            })
        }
        Control::Slider { min, max, step, .. } => {
            let moved = ((now / step).round() + moves) * step;
            Some(snap_to_step(moved.clamp(min, max.max(now)), step))
        }
        _ => None,
    }
}

pub fn insert_dotted(object: &mut Object, key: &str, value: Value) {
    match key.split_once('.') {
        None => object.set(key, value),
        Some((outer, inner)) => {
            let mut nested = object.get(outer).and_then(Value::as_object).cloned().unwrap_or_default();
            insert_dotted(&mut nested, inner, value);
            object.set(outer, Value::Object(nested));
        }
    }
}

/// Converts a duration in ms to the text in the configuration.
pub fn ttl_text(value: &Value) -> Value {
    value.as_f64().map_or_else(|| value.clone(), |ms| Value::from(duration_text(Millis(ms)).as_str()))
}

/// Formats a duration as the gateway reads it, in the largest unit that divides it (pruning 3.4): `90m`, `1d`.
pub fn duration_text(duration: Millis) -> String {
    let ms = duration.get();
    let units = [("d", 86_400_000.0), ("h", 3_600_000.0), ("m", 60_000.0), ("s", 1_000.0)];
    let whole = units.iter().find(|(_, unit)| ms >= *unit && ms % unit == 0.0);
    match whole {
        Some((name, unit)) => format!("{}{name}", ms / unit),
        None if ms == 0.0 => "0".to_owned(),
        None => format!("{ms}ms"),
    }
}

/// Formats a duration as everywhere on the screen, `1h 2m`; one that this would round, as the gateway reads it.
pub fn duration_words(ms: Millis) -> String {
    let words = format_duration(ms);
    let is_exact = ms > Millis::ZERO && parse_duration(&words.replace(' ', "").as_str().into()) == Some(ms);
    if is_exact { words } else { duration_text(ms) }
}

/// Formats a value as a person types it, durations as the screen shows them.
pub fn edit_text(unit: Option<Unit>, value: &Value) -> String {
    match value {
        Value::Number(ms) if unit == Some(Unit::Milliseconds) => duration_words(Millis(*ms)),
        value => input_text(unit, value),
    }
}

/// Formats a value for reading: like [`input_text`], but with whole numbers in groups of three.
pub fn display_text(unit: Option<Unit>, value: &Value) -> String {
    match value {
        Value::Number(count) if unit != Some(Unit::Milliseconds) && count.fract() == 0.0 && *count >= 0.0 => {
            format_number(*count as u64)
        }
        value => input_text(unit, value),
    }
}

/// Formats a value as a command line takes it.
pub fn input_text(unit: Option<Unit>, value: &Value) -> String {
    match value {
        Value::Number(ms) if unit == Some(Unit::Milliseconds) => duration_text(Millis(*ms)),
        Value::Number(number) => crate::js::number_text(*number),
        Value::Bool(on) => on.to_string(),
        Value::Array(items) => items
            .iter()
            .filter_map(Value::as_str)
            .map(crate::js::JsString::to_string_lossy)
            .collect::<Vec<_>>()
            .join(", "),
        other => crate::js::to_text(Some(other)).to_string_lossy(),
    }
}

/// Parses typed text; the error is the expected input.
pub fn parse_value(control: Control, text: &str) -> Result<Value, &'static str> {
    let text = text.trim();
    match control {
        Control::Slider { unit: Unit::Milliseconds, .. } => {
            let parsed = parse_duration(&text.replace(' ', "").as_str().into());
            parsed.map(|ms| Value::Number(ms.get())).ok_or("a duration such as 30m, 1h or 1h30m")
        }
        Control::Slider { unit: Unit::Share, .. } => number(text)
            .filter(|share| (0.0..=1.0).contains(share))
            .map(Value::Number)
            .ok_or("a number from 0 to 1"),
        Control::Slider { .. } => parse_count(&text.replace(' ', ""))
            .filter(|count| *count >= 0.0 && count.fract() == 0.0)
            .map(Value::Number)
            .ok_or("a whole number, 0 or more"),
        Control::Switch => match text {
            "on" | "true" | "yes" => Ok(Value::Bool(true)),
            "off" | "false" | "no" => Ok(Value::Bool(false)),
            _ => Err("on or off"),
        },
        Control::List => {
            let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
            Ok(Value::Array(names.map(Value::from).collect()))
        }
        Control::Fixed { why, .. } => Err(why),
        Control::Text if text.is_empty() => Err("text that is not blank"),
        Control::Text => Ok(Value::from(text)),
    }
}

fn number(text: &str) -> Option<f64> {
    text.replace([' ', '_'], "").parse().ok().filter(|number: &f64| number.is_finite())
}

/// The path of the settings object in the configuration.
pub const PRUNING_PATH: [&str; 3] = ["agents", "defaults", "contextPruning"];

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Control {
    Switch,
    /// A number in a range. The gateway may accept numbers outside it.
    Slider {
        min: f64,
        max: f64,
        step: f64,
        unit: Unit,
    },
    /// A list of tool names and patterns.
    List,
    Text,
    /// A built-in value: the version does not read the key.
    Fixed {
        unit: Option<Unit>,
        /// The reason, such as `built in since 2026.8.1`.
        why: &'static str,
    },
}

impl Control {
    /// Returns the reason for which the setting cannot change; `None` if it can.
    pub fn fixed_reason(self) -> Option<&'static str> {
        match self {
            Self::Fixed { why, .. } => Some(why),
            _ => None,
        }
    }

    /// Returns the unit of a number; `None` for other values.
    pub fn unit(self) -> Option<Unit> {
        match self {
            Self::Slider { unit, .. } => Some(unit),
            Self::Fixed { unit, .. } => unit,
            Self::Switch | Self::List | Self::Text => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Shown as a duration.
    Milliseconds,
    Messages,
    /// Share of the window, 0 to 1.
    Share,
    /// UTF-16 code units.
    Chars,
    Tokens,
    /// Turns of the person.
    Turns,
    Bytes,
}

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
    fn durations_are_written_in_their_largest_whole_unit() {
        let texts = [3_600_000.0, 5_400_000.0, 300_000.0, 500.0, 0.0].map(|ms| duration_text(Millis(ms)));
        assert_eq!(texts, ["1h", "90m", "5m", "500ms", "0"]);
    }

    #[test]
    fn a_duration_moves_between_the_values_that_people_choose() {
        let control =
            Control::Slider { min: 0.0, max: 86_400_000.0, step: 60_000.0, unit: Unit::Milliseconds };
        let minutes = |minutes: f64| minutes * 60_000.0;
        let moved = |from: f64, moves: f64| moved_value(control, minutes(from), moves).unwrap() / 60_000.0;
        assert_eq!(
            [moved(5.0, 1.0), moved(5.0, -1.0), moved(60.0, 1.0), moved(0.0, 1.0)],
            [10.0, 3.0, 90.0, 0.5]
        );
        assert_eq!([moved(61.0, 1.0), moved(61.0, -1.0), moved(60.0, 10.0)], [90.0, 60.0, 120.0]);
        assert_eq!([moved(0.0, -1.0), moved(2_000.0, 1.0), moved(2_000.0, -1.0)], [0.0, 2_000.0, 1_440.0]);
        for stop in DURATION_STOPS {
            let value = f64::from(stop) * 1_000.0;
            let position = slider_position(control, &Value::Number(value)).unwrap();
            assert_eq!(slider_value(control, position), Some(value));
        }
        let between = slider_position(control, &Value::Number(minutes(75.0))).unwrap();
        assert!((11.0 / 21.0..12.0 / 21.0).contains(&between), "{between}");
    }

    #[test]
    fn a_duration_is_edited_in_the_form_that_is_shown() {
        let control = Control::Slider { min: 0.0, max: 1.0, step: 1.0, unit: Unit::Milliseconds };
        let value = Value::Number(61.0 * 60_000.0);
        assert_eq!(edit_text(control.unit(), &value), "1h 1m");
        for text in ["1h 1m", "61m", "1h1m", "61"] {
            assert_eq!(parse_value(control, text), Ok(value.clone()), "{text}");
        }
    }
}

#[cfg(test)]
mod duration_tests {
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
