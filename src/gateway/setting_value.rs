//! The value of one setting in its three forms: a position on a slider, typed text, and the gateway's own value.

use crate::format::amount::parse_count;
use crate::format::format_number;
use crate::gateway::duration::parse_duration;
use crate::gateway::prune_setting::{Control, Unit};
use crate::js::{Object, Value};
use crate::units::Millis;

/// Rounds a value to its step. Steps are decimal: 0.1 + 0.2 is 0.3 on a slider.
pub fn snap_to_step(value: f64, step: f64) -> f64 {
    let digits = if step >= 1.0 { 1.0 } else { 1.0 / step };
    (value * digits).round() / digits
}

/// The position of a value on a slider, 0 to 1; `None` for other controls.
pub fn slider_position(control: Control, value: &Value) -> Option<f64> {
    match control {
        Control::Slider { min, max, .. } => Some(((value.as_f64()? - min) / (max - min)).clamp(0.0, 1.0)),
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

/// Formats a value for reading: like [`input_text`], but with whole numbers in groups of three.
pub fn display_text(unit: Option<Unit>, value: &Value) -> String {
    match value {
        Value::Number(count) if unit != Some(Unit::Milliseconds) && count.fract() == 0.0 && *count >= 0.0 => {
            format_number(*count as u64)
        }
        value => input_text(unit, value),
    }
}

/// Formats a value as a person types it.
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
            let parsed = parse_duration(&text.into());
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
}
