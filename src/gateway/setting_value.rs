//! The value of one setting in its three forms: a position on a slider, typed text, and the gateway's own value.

use crate::format::amount::parse_count;
use crate::format::{format_duration, format_number};
use crate::gateway::duration::parse_duration;
use crate::gateway::prune_setting::{Control, Unit};
use crate::js::{Object, Value};
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
