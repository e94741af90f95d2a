//! Python's view of the arguments of a call: the length of their `repr`, and their equality (pruning 7.2 f, 7.4b).
//! `LangChain` counts tokens from the `repr`, so its length must be exact. Lengths are in code points.

use crate::js::{self, JsString, Object, Value};
use crate::policy::clear_tool_uses::printable::is_printable;

const QUOTES: usize = 2;
/// Most digits before the point of a float that Python writes without an exponent.
const PLAIN_PLACES: i64 = 16;
/// Most zeros after the point of a float that Python writes without an exponent.
const PLAIN_ZEROS: i64 = 3;

/// Counts code points; a lone surrogate is one.
pub(super) fn code_points(text: &JsString) -> usize {
    let units = text.units();
    if units.iter().all(|unit| *unit < 0xD800) {
        return units.len();
    }
    char::decode_utf16(units.iter().copied()).count()
}

/// Returns the length of the `repr` of a value parsed from JSON.
pub(super) fn repr_len(value: &Value) -> usize {
    match value {
        Value::Null => "None".len(),
        Value::Bool(true) => "True".len(),
        Value::Bool(false) => "False".len(),
        Value::Number(number) => number_len(*number),
        Value::String(text) => text_len(text),
        Value::Array(items) => list_len(items.iter().map(repr_len)),
        Value::Object(object) => object_len(object),
    }
}

/// Returns the length of the `repr` of a dictionary.
pub(super) fn object_len(object: &Object) -> usize {
    list_len(object.iter().map(|(key, value)| text_len(key) + ": ".len() + repr_len(value)))
}

/// Returns the length of brackets and items, with a comma and a space between the items.
pub(super) fn list_len(items: impl Iterator<Item = usize>) -> usize {
    let (count, sum) = items.fold((0, 0), |(count, sum), item| (count + 1, sum + item));
    "[]".len() + sum + ", ".len() * usize::saturating_sub(count, 1)
}

/// Returns the length of the `repr` of a text: in single quotes, or in double quotes if it holds single and no double
/// ones.
pub(super) fn text_len(text: &JsString) -> usize {
    let has = |quote: char| text.units().contains(&(quote as u16));
    let quote = if has('\'') && !has('"') { '"' } else { '\'' };
    let chars = char::decode_utf16(text.units().iter().copied());
    let chars = chars.map(|char| char.map_or_else(|lone| u32::from(lone.unpaired_surrogate()), u32::from));
    QUOTES + chars.map(|char| char_len(char, quote)).sum::<usize>()
}

fn char_len(code_point: u32, quote: char) -> usize {
    let escaped = ['\\', '\n', '\r', '\t', quote].map(u32::from).contains(&code_point);
    match code_point {
        _ if escaped => "\\n".len(),
        0x20..0x7F => 1,
        code_point if is_printable(code_point) => 1,
        0..0x100 => "\\x00".len(),
        0x100..0x1_0000 => "\\u0000".len(),
        _ => "\\U00000000".len(),
    }
}

/// Returns the length of a number: an integer if JavaScript writes it without point and exponent, otherwise a float. A
/// number that JSON cannot write is Python's `None`.
fn number_len(number: f64) -> usize {
    if !number.is_finite() {
        return "None".len();
    }
    let text = js::number_text(number);
    if text.contains(['.', 'e']) { float_len(&text) } else { text.len() }
}

/// Returns the length of a float's `repr` from JavaScript's text: both use the shortest digits, in different forms.
fn float_len(text: &str) -> usize {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let unsigned = mantissa.trim_start_matches('-');
    let sign = mantissa.len() - unsigned.len();
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let all = format!("{whole}{fraction}");
    let digits = all.trim_start_matches('0');
    let zeros = (all.len() - digits.len()) as i64;
    // The value is 0.DIGITS times ten to the power of `point`.
    let point = whole.len() as i64 - zeros + exponent.parse::<i64>().unwrap_or(0);
    let count = digits.len() as i64;
    let plain = match point {
        _ if !(-PLAIN_ZEROS..=PLAIN_PLACES).contains(&point) => return sign + exponent_len(count, point - 1),
        _ if point <= 0 => "0.".len() as i64 - point + count,
        _ if point < count => count + 1,
        _ => point + ".0".len() as i64,
    };
    sign + plain as usize
}

/// Returns the length of a text such as `1.5e-07`: the exponent has a sign and at least two digits.
fn exponent_len(digits: i64, exponent: i64) -> usize {
    let mantissa = if digits > 1 { digits as usize + 1 } else { 1 };
    mantissa + "e+".len() + exponent.abs().to_string().len().max(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn len(json: &str) -> usize {
        repr_len(&js::parse(json).unwrap())
    }

    #[test]
    fn numbers_are_written_as_python_writes_them() {
        for (json, repr) in [
            ("1.0", "1"),
            ("-0", "0"),
            ("1e20", "100000000000000000000"),
            ("1.5", "1.5"),
            ("-0.0001", "-0.0001"),
            ("0.00001", "1e-05"),
            ("1.25e-7", "1.25e-07"),
            ("1e21", "1e+21"),
            ("-1.5e300", "-1.5e+300"),
            ("123.456", "123.456"),
            ("1e400", "None"),
        ] {
            assert_eq!(len(json), repr.len(), "{json} as {repr}");
        }
    }

    #[test]
    fn texts_are_quoted_and_escaped_as_python_does() {
        for (json, repr) in [
            (r#""""#, "''"),
            (r#""it's""#, "\"it's\""),
            (r#""say \"hi\"""#, "'say \"hi\"'"),
            (r#""' and \"""#, "'\\' and \"'"),
            (r#""\t\n\r\\\u0000\u007f""#, "'\\t\\n\\r\\\\\\x00\\x7f'"),
            (r#""\u200d\ud83d\ufeff""#, "'\\u200d\\ud83d\\ufeff'"),
        ] {
            assert_eq!(len(json), repr.len(), "{json} as {repr}");
        }
        assert_eq!(len(r#""é漢😀""#), 5);
        assert_eq!(len(r#""\udbff\udfff""#), "'\\U0010ffff'".len());
    }

    #[test]
    fn lists_and_dictionaries_have_a_space_after_commas_and_colons() {
        let json = r#"{"t":true,"x":null,"l":[],"o":{},"n":{"a":[1,{"b":"c"}]}}"#;
        assert_eq!(len(json), "{'t': True, 'x': None, 'l': [], 'o': {}, 'n': {'a': [1, {'b': 'c'}]}}".len());
    }
}
