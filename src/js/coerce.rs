//! Coercions of JavaScript: a value read as text, as a condition, as a number or for its length (pruning 0.7). An
//! absent value is `None`.
//!
//! For example, `null` is the text `"null"`, but `[null]` is the empty text.

use super::{JsException, JsString, Value, json, number_text};

/// Converts a value to a string, as `String(value)` (pruning 0.7).
pub fn to_text(value: Option<&Value>) -> JsString {
    let mut text = JsString::new();
    match value {
        None => text.push_str("undefined"),
        Some(Value::Null) => text.push_str("null"),
        Some(value) => push_text_of(value, &mut text),
    }
    text
}

/// Appends the text of a value inside an array; `null` is empty there.
fn push_text_of(value: &Value, text: &mut JsString) {
    match value {
        Value::Null => {}
        Value::Bool(bool) => text.push_str(if *bool { "true" } else { "false" }),
        Value::Number(number) => text.push_str(&number_text(*number)),
        Value::String(string) => text.push(string),
        Value::Array(items) => push_joined(items, text),
        Value::Object(_) => text.push_str("[object Object]"),
    }
}

fn push_joined(items: &[Value], text: &mut JsString) {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            text.push_str(",");
        }
        push_text_of(item, text);
    }
}

/// Adds two values as `one + other`: numbers are summed; a string, array or object makes both a string.
pub fn plus(one: Option<&Value>, other: Option<&Value>) -> Value {
    if is_text(one) || is_text(other) {
        let mut text = to_text(one);
        text.push(&to_text(other));
        return Value::String(text);
    }
    Value::Number(to_number(one) + to_number(other))
}

/// Whether a value added to another makes the sum a string.
pub fn is_text(value: Option<&Value>) -> bool {
    matches!(value, Some(Value::String(_) | Value::Array(_) | Value::Object(_)))
}

/// Whether a condition on the value is true: on all but absent, `null`, `false`, 0, NaN and `""`.
pub fn is_truthy(value: Option<&Value>) -> bool {
    json::is_truthy(value)
}

/// Returns the `.length` of a value: UTF-16 units of a string, items of an array, NaN for a number, boolean or object
/// (pruning 0.7). Fails for an absent value and for `null`.
pub fn length_of(value: Option<&Value>) -> Result<f64, JsException> {
    json::length(value)
}

/// Converts a value to a number, as `Number(value)`: absent is NaN, `null` 0, a blank string 0, an array the number
/// of its text (pruning 0.2, 0.7).
pub fn to_number(value: Option<&Value>) -> f64 {
    match value {
        None | Some(Value::Object(_)) => f64::NAN,
        Some(Value::Null) => 0.0,
        Some(Value::Bool(bool)) => f64::from(u8::from(*bool)),
        Some(Value::Number(number)) => *number,
        Some(Value::String(text)) => number_of_text(text),
        Some(array @ Value::Array(_)) => number_of_text(&to_text(Some(array))),
    }
}

/// Parses a number with white space around it: decimal, or whole with `0x`, `0o` or `0b`.
fn number_of_text(text: &JsString) -> f64 {
    let text = text.trim().to_string_lossy();
    let radix = |mark: [&str; 2], radix| {
        let digits = text.strip_prefix(mark[0]).or_else(|| text.strip_prefix(mark[1]))?;
        Some(parse_whole(digits, radix).unwrap_or(f64::NAN))
    };
    if let Some(number) =
        radix(["0x", "0X"], 16).or_else(|| radix(["0o", "0O"], 8)).or_else(|| radix(["0b", "0B"], 2))
    {
        return number;
    }
    match text.as_str() {
        "" => 0.0,
        "Infinity" | "+Infinity" => f64::INFINITY,
        "-Infinity" => f64::NEG_INFINITY,
        // Rust also parses `inf` and `nan`, which are not numbers in JavaScript.
        text if text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte)) => {
            text.parse().unwrap_or(f64::NAN)
        }
        _ => f64::NAN,
    }
}

fn parse_whole(digits: &str, radix: u32) -> Option<f64> {
    let mut number = if digits.is_empty() { return None } else { 0.0 };
    for digit in digits.chars() {
        number = number * f64::from(radix) + f64::from(digit.to_digit(radix)?);
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js::parse;

    fn text_of(json: &str) -> String {
        to_text(Some(&parse(json).unwrap())).to_string_lossy()
    }

    #[test]
    fn values_turn_into_strings_as_javascript_does() {
        assert_eq!(to_text(None), "undefined");
        for (json, text) in [
            ("null", "null"),
            ("true", "true"),
            ("false", "false"),
            ("1.50", "1.5"),
            ("-0", "0"),
            ("1e400", "Infinity"),
            ("-1e400", "-Infinity"),
            (r#""a\nb""#, "a\nb"),
            ("{}", "[object Object]"),
            (r#"[1,null,[2,[null,"x"]],{},[]]"#, "1,,2,,x,[object Object],"),
            ("[]", ""),
            ("[null]", ""),
        ] {
            assert_eq!(text_of(json), text, "{json}");
        }
        assert_eq!(to_text(Some(&Value::Number(f64::NAN))), "NaN");
    }

    #[test]
    fn a_lone_surrogate_survives_being_turned_into_a_string() {
        let value = parse(r#"["\ud83d"]"#).unwrap();
        assert_eq!(to_text(Some(&value)).units(), [0xD83D]);
    }

    #[test]
    fn only_seven_values_are_falsy() {
        assert!(!is_truthy(None) && !is_truthy(Some(&Value::Number(f64::NAN))));
        for json in ["null", "false", "0", "-0", r#""""#] {
            assert!(!is_truthy(Some(&parse(json).unwrap())), "{json}");
        }
        for json in ["true", "1", "-1", "1e400", r#""0""#, r#"" ""#, "[]", "{}"] {
            assert!(is_truthy(Some(&parse(json).unwrap())), "{json}");
        }
    }

    #[test]
    fn length_is_nan_for_values_without_one_and_throws_for_null() {
        assert_eq!(length_of(None), Err(JsException));
        assert_eq!(length_of(Some(&Value::Null)), Err(JsException));
        assert_eq!(length_of(Some(&"a😀".into())), Ok(3.0));
        assert_eq!(length_of(Some(&parse("[1,[2,3]]").unwrap())), Ok(2.0));
        for json in ["5", "true", "{}"] {
            assert!(length_of(Some(&parse(json).unwrap())).unwrap().is_nan(), "{json}");
        }
    }

    #[test]
    fn values_become_numbers_as_javascript_makes_them() {
        assert!(to_number(None).is_nan());
        for (json, number) in [
            ("null", 0.0),
            ("true", 1.0),
            ("2.5", 2.5),
            (r#"" 12 ""#, 12.0),
            (r#""""#, 0.0),
            (r#""-1e3""#, -1000.0),
            (r#"".5""#, 0.5),
            (r#""0x1F""#, 31.0),
            (r#""Infinity""#, f64::INFINITY),
            ("[]", 0.0),
            ("[[3]]", 3.0),
        ] {
            assert_eq!(to_number(Some(&parse(json).unwrap())), number, "{json}");
        }
        for json in [r#""1x""#, r#""inf""#, r#""nan""#, r#""0x""#, r#""1_0""#, "{}", "[1,2]"] {
            assert!(to_number(Some(&parse(json).unwrap())).is_nan(), "{json}");
        }
    }
}
