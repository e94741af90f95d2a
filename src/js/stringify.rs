//! Writes values as JSON text, as `JSON.stringify` without spacing does (pruning 0.4, compaction 1.4), and computes
//! the length of that text without building it.

use std::fmt::Write as _;
use std::slice::Iter;

use super::{JsString, Object, Value};

/// Writes the compact JSON text of a value; lone surrogates as `\udxxx`, NaN and infinities as `null`.
pub fn stringify(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

/// Writes the compact JSON text of an object, as [`stringify()`] does.
pub(super) fn stringify_object(object: &Object) -> String {
    let mut text = String::new();
    text.push('{');
    let mut open = vec![PendingContainer { rest: Rest::Members(object.members()), is_started: false }];
    let first = next_value(&mut open, &mut text);
    write_rest(first, open, &mut text);
    text
}

/// Returns the "JSON length" (pruning 0.4): the length of [`stringify()`] in UTF-16 units.
pub fn stringify_len(value: &Value) -> usize {
    let mut length = LengthSink(0);
    write(value, &mut length);
    length.0
}

/// Writes the JSON text of one string, including its quotes.
pub fn stringify_str(text: &JsString) -> String {
    let mut json = String::new();
    json.string(text);
    json
}

/// Formats a number as JavaScript does: the shortest round-trip form, `-0` as `0`, and `NaN`, `Infinity`, `-Infinity`
/// (pruning 0.4, 0.7).
pub fn number_text(number: f64) -> String {
    ryu_js::Buffer::new().format(number).to_owned()
}

/// Receives the parts of a JSON text in order.
trait Sink {
    /// ASCII text that needs no escapes.
    fn ascii(&mut self, text: &str);
    /// A string that the sink quotes and escapes.
    fn string(&mut self, text: &JsString);
}

impl Sink for String {
    fn ascii(&mut self, text: &str) {
        self.push_str(text);
    }

    fn string(&mut self, text: &JsString) {
        self.reserve(text.len() + 2);
        self.push('"');
        let mut rest = text.units();
        while !rest.is_empty() {
            let (plain, behind) = rest.split_at(plain_len(rest));
            push_plain(self, plain);
            let odd = behind.iter().position(|unit| is_plain(*unit)).unwrap_or(behind.len());
            for decoded in char::decode_utf16(behind[..odd].iter().copied()) {
                match decoded {
                    Ok(char) => push_char(self, char),
                    Err(lone) => push_hex(self, lone.unpaired_surrogate()),
                }
            }
            rest = &behind[odd..];
        }
        self.push('"');
    }
}

/// Whether a unit is ASCII and needs no escape, as nearly all of a transcript.
const fn is_plain(unit: u16) -> bool {
    matches!(unit, 0x20..=0x21 | 0x23..=0x5B | 0x5D..=0x7F)
}

fn plain_len(units: &[u16]) -> usize {
    units.iter().position(|unit| !is_plain(*unit)).unwrap_or(units.len())
}

/// Appends plain units, block by block.
fn push_plain(json: &mut String, units: &[u16]) {
    for block in units.chunks(64) {
        let mut bytes = [0; 64];
        for (byte, unit) in bytes.iter_mut().zip(block) {
            *byte = *unit as u8;
        }
        json.push_str(std::str::from_utf8(&bytes[..block.len()]).unwrap_or_default());
    }
}

struct LengthSink(usize);

impl Sink for LengthSink {
    fn ascii(&mut self, text: &str) {
        self.0 += text.len();
    }

    fn string(&mut self, text: &JsString) {
        let units = text.units();
        self.0 += 2 + units.iter().map(|&unit| units_of(unit)).sum::<usize>();
        if units.iter().any(|unit| matches!(unit, 0xD800..=0xDFFF)) {
            self.0 += 5 * char::decode_utf16(units.iter().copied()).filter(Result::is_err).count();
        }
    }
}

/// UTF-16 units that a unit takes in JSON text, unless it is a lone surrogate.
pub(super) const fn units_of(unit: u16) -> usize {
    match unit {
        0x22 | 0x5C | 0x08..=0x0A | 0x0C | 0x0D => 2,
        0..0x20 => 6,
        _ => 1,
    }
}

/// Appends a character of a string as JSON text.
pub(super) fn push_char(json: &mut String, char: char) {
    match char {
        '"' => json.push_str("\\\""),
        '\\' => json.push_str("\\\\"),
        ' '.. => json.push(char),
        '\u{8}' => json.push_str("\\b"),
        '\t' => json.push_str("\\t"),
        '\n' => json.push_str("\\n"),
        '\u{C}' => json.push_str("\\f"),
        '\r' => json.push_str("\\r"),
        _ => push_hex(json, char as u16),
    }
}

/// Appends a unit as a `\uxxxx` escape in lower-case hex.
pub(super) fn push_hex(json: &mut String, unit: u16) {
    // Writing to a String cannot fail.
    let _ = write!(json, "\\u{unit:04x}");
}

/// A container whose remaining values are still to be written.
struct PendingContainer<'a> {
    rest: Rest<'a>,
    is_started: bool,
}

enum Rest<'a> {
    Items(Iter<'a, Value>),
    Members(Iter<'a, (JsString, Value)>),
}

fn write(value: &Value, sink: &mut impl Sink) {
    write_rest(Some(value), Vec::new(), sink);
}

/// Writes a value and the rest of the containers around it. Their stack is on the heap, so that no depth overflows it.
fn write_rest<'a>(mut next: Option<&'a Value>, mut open: Vec<PendingContainer<'a>>, sink: &mut impl Sink) {
    while let Some(value) = next {
        match value {
            Value::Null => sink.ascii("null"),
            Value::Bool(bool) => sink.ascii(if *bool { "true" } else { "false" }),
            Value::Number(number) => write_number(*number, sink),
            Value::String(text) => sink.string(text),
            Value::Array(items) => {
                sink.ascii("[");
                open.push(PendingContainer { rest: Rest::Items(items.iter()), is_started: false });
            }
            Value::Object(object) => {
                sink.ascii("{");
                open.push(PendingContainer { rest: Rest::Members(object.members()), is_started: false });
            }
        }
        next = next_value(&mut open, sink);
    }
}

fn write_number(number: f64, sink: &mut impl Sink) {
    if number.is_finite() {
        sink.ascii(ryu_js::Buffer::new().format_finite(number));
    } else {
        sink.ascii("null");
    }
}

/// Closes every finished container and writes up to the next value; `None` at the end.
fn next_value<'a>(open: &mut Vec<PendingContainer<'a>>, sink: &mut impl Sink) -> Option<&'a Value> {
    while let Some(PendingContainer { rest, is_started: begun }) = open.last_mut() {
        let comma = if std::mem::replace(begun, true) { "," } else { "" };
        match rest {
            Rest::Items(items) => {
                if let Some(item) = items.next() {
                    sink.ascii(comma);
                    return Some(item);
                }
                sink.ascii("]");
            }
            Rest::Members(members) => {
                if let Some((key, value)) = members.next() {
                    sink.ascii(comma);
                    sink.string(key);
                    sink.ascii(":");
                    return Some(value);
                }
                sink.ascii("}");
            }
        }
        open.pop();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js::parse;

    #[test]
    fn numbers_print_in_shortest_round_trip_form() {
        for (literal, text) in [
            ("1.50", "1.5"),
            ("1.0", "1"),
            ("-0", "0"),
            ("-0.0", "0"),
            ("1e21", "1e+21"),
            ("1e20", "100000000000000000000"),
            ("0.0000001", "1e-7"),
            ("1E-7", "1e-7"),
            ("0.000001", "0.000001"),
            ("12345678901234567890", "12345678901234567000"),
            ("9007199254740993", "9007199254740992"),
            ("5e-324", "5e-324"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"),
            ("1e400", "null"),
            ("-1e400", "null"),
        ] {
            let value = parse(literal).unwrap();
            assert_eq!(stringify(&value), text, "{literal}");
            assert_eq!(stringify_len(&value), text.len(), "{literal}");
        }
        assert_eq!(stringify(&Value::Number(f64::NAN)), "null");
    }

    #[test]
    fn a_number_as_text_names_nan_and_the_infinities() {
        let texts = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1e21].map(number_text);
        assert_eq!(texts, ["NaN", "Infinity", "-Infinity", "0", "1e+21"]);
    }

    #[test]
    fn only_quotes_backslashes_controls_and_lone_surrogates_are_escaped() {
        let mut text = JsString::from("\"\\/\u{8}\t\n\u{B}\u{C}\r\u{0}\u{1f}\u{7f}<\u{2028}é漢😀");
        text.push(&JsString::from(vec![0xD83D, 0x78, 0xDE00]));
        let json = "\"\\\"\\\\/\\b\\t\\n\\u000b\\f\\r\\u0000\\u001f\u{7f}<\u{2028}é漢😀\\ud83dx\\ude00\"";
        assert_eq!(stringify_str(&text), json);
        assert_eq!(stringify_len(&Value::String(text)), json.encode_utf16().count());
    }

    #[test]
    fn keys_are_written_in_javascript_order() {
        let value = parse(r#"{"b":1,"10":2,"a":[{"2":{},"1":[]}],"2":null,"b":true,"\ud83d":"😀"}"#).unwrap();
        let json = r#"{"2":null,"10":2,"b":true,"a":[{"1":[],"2":{}}],"\ud83d":"😀"}"#;
        assert_eq!(stringify(&value), json);
        assert_eq!(stringify_len(&value), json.encode_utf16().count());
    }
}
