//! Writes values as JSON text, as `JSON.stringify` without spacing does (pruning 0.4, compaction 1.4), and computes
//! the length of that text without building it.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::slice::Iter;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::ser::{CompactFormatter, Formatter};
use serde_json::value::RawValue;

use super::{JsString, Object, Value};

/// Writes the compact JSON text of a value; lone surrogates as `\udxxx`, NaN and infinities as `null`.
pub fn stringify(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

/// Writes the compact JSON text of an object, as [`stringify()`] does.
fn stringify_object(object: &Object) -> String {
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

// Derived output with JavaScript's numbers and strings: `1` for 1.0, `null` for NaN, and lone surrogates as `\udxxx`.
//
// [`json_text`] writes any `Serialize` value, members in field order. A [`Value`] or [`JsString`] inside it is passed
// through as JSON text, because serde's strings cannot hold a lone surrogate.

/// Returns the compact JSON text of a value, as `JSON.stringify` writes it.
pub fn json_text(value: &(impl Serialize + ?Sized)) -> serde_json::Result<String> {
    let mut text = Vec::new();
    write_json(&mut text, value)?;
    String::from_utf8(text).map_err(serde_json::Error::custom)
}

/// Returns the same text for a place within another value, as which it is written unchanged.
pub fn json_text_of(value: &impl Serialize) -> serde_json::Result<Box<RawValue>> {
    RawValue::from_string(json_text(value)?)
}

/// Writes the text that [`json_text`] returns. Each write holds whole characters.
pub fn write_json(writer: impl Write, value: &(impl Serialize + ?Sized)) -> serde_json::Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(writer, JavaScriptNumbers))
}

/// Up to it, doubles hold every integer.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// Writes every number as the double that JavaScript reads from it. NaN and infinities are `null` before they get here.
struct JavaScriptNumbers;

impl Formatter for JavaScriptNumbers {
    fn write_f64<W: Write + ?Sized>(&mut self, writer: &mut W, number: f64) -> io::Result<()> {
        writer.write_all(number_text(number).as_bytes())
    }

    fn write_i64<W: Write + ?Sized>(&mut self, writer: &mut W, number: i64) -> io::Result<()> {
        if number.unsigned_abs() <= MAX_SAFE_INTEGER {
            return CompactFormatter.write_i64(writer, number);
        }
        self.write_f64(writer, number as f64)
    }

    fn write_u64<W: Write + ?Sized>(&mut self, writer: &mut W, number: u64) -> io::Result<()> {
        if number <= MAX_SAFE_INTEGER {
            return CompactFormatter.write_u64(writer, number);
        }
        self.write_f64(writer, number as f64)
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_raw(stringify(self), serializer)
    }
}

impl Serialize for JsString {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_raw(stringify_str(self), serializer)
    }
}

fn serialize_raw<S: Serializer>(json: String, serializer: S) -> Result<S::Ok, S::Error> {
    RawValue::from_string(json).map_err(S::Error::custom)?.serialize(serializer)
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_raw(stringify_object(self), serializer)
    }
}

/// Any JSON value: the gateway's own data, unchanged.
impl JsonSchema for Value {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Json".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        true.into()
    }
}

impl JsonSchema for Object {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "JsonObject".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object" })
    }
}

crate::units::schema_of!(JsString, String);

/// An object whose keys are data, in the order given.
#[derive(Debug, Clone, Default)]
pub struct Members<T>(Vec<(String, T)>);

impl<K: Into<String>, T> FromIterator<(K, T)> for Members<T> {
    fn from_iter<I: IntoIterator<Item = (K, T)>>(members: I) -> Self {
        Self(members.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }
}

impl<T: Serialize> Serialize for Members<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl<T: JsonSchema> JsonSchema for Members<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Members_of_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": generator.subschema_for::<T>() })
    }
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

#[cfg(test)]
mod serialize_tests {
    use super::*;
    use crate::js::parse;

    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Output<'a> {
        z_first: f64,
        count: u64,
        a: Option<f64>,
        text: JsString,
        #[serde(flatten)]
        inner: Inner<'a>,
    }

    #[derive(Serialize)]
    struct Inner<'a> {
        raw: &'a Value,
        number: f64,
    }

    #[test]
    fn derived_output_has_field_order_javascript_numbers_and_lone_surrogates() {
        let raw = parse(r#"{"b":1.0,"2":[1e400,-0,"\ud83d","\u0001"]}"#).unwrap();
        let output = Output {
            z_first: 1.0,
            count: 9_007_199_254_740_993,
            a: None,
            text: JsString::from(vec![0xDE00, 0x22]),
            inner: Inner { raw: &raw, number: f64::NAN },
        };
        assert_eq!(
            json_text(&output).unwrap(),
            r#"{"zFirst":1,"count":9007199254740992,"a":null,"text":"\ude00\"","raw":{"2":[null,0,"\ud83d","\u0001"],"b":1},"number":null}"#
        );
    }

    #[test]
    fn numbers_and_strings_are_written_as_stringify_writes_them() {
        for number in [0.1, -0.0, 1e21, 1e-7, 5e-324, 1.797_693_134_862_315_7e308, f64::INFINITY] {
            assert_eq!(json_text(&number).unwrap(), stringify(&Value::Number(number)));
        }
        assert_eq!(json_text(&[-1_i64, i64::MAX]).unwrap(), "[-1,9223372036854776000]");
        let text = "\"\\/\u{8}\t\n\u{b}\u{c}\r\u{0}\u{1f}\u{7f}<\u{2028}é漢😀";
        assert_eq!(json_text(text).unwrap(), stringify_str(&text.into()));
    }

    #[test]
    fn a_value_of_any_depth_is_written() {
        let depth = crate::js::MAX_DEPTH - 1;
        let text = "[".repeat(depth) + &"]".repeat(depth);
        assert_eq!(json_text(&parse(&text).unwrap()).unwrap(), text);
    }
}
