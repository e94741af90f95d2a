//! Derived output with JavaScript's numbers and strings: `1` for 1.0, `null` for NaN, and lone surrogates as `\udxxx`.
//!
//! [`json_text`] writes any `Serialize` value, members in field order. A [`Value`] or [`JsString`] inside it is passed
//! through as JSON text, because serde's strings cannot hold a lone surrogate.

use std::borrow::Cow;
use std::io::{self, Write};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::ser::{CompactFormatter, Formatter};
use serde_json::value::RawValue;

use super::stringify::{stringify, stringify_object, stringify_str};
use super::{JsString, Object, Value, number_text};

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
