//! The read interface of a JSON value, implemented for values in memory and for outlines of their text, so that each
//! measuring rule is written once.

use std::borrow::Cow;
use std::ops::Range;

use super::scan::CharacterSink;
use super::stringify::stringify_len;
use super::{JsException, JsString, Value};

/// A value without the contents of a container and without the text of a string.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum JsonKind {
    Null,
    Bool(bool),
    /// Infinite if the text overflowed (pruning 0.7).
    Number(f64),
    /// The length in UTF-16 units.
    String(usize),
    Array(usize),
    Object,
}

pub trait Json<'a>: Copy {
    fn kind(self) -> JsonKind;

    /// Returns the member `key`; `None` if it is absent or this is not an object.
    fn get(self, key: &str) -> Option<Self>;

    /// Returns the items of an array; `None` for any other value.
    fn items(self) -> Option<impl Iterator<Item = Self>>;

    /// Returns a string as UTF-8, with U+FFFD for each lone surrogate; `None` for any other value.
    fn text(self) -> Option<Cow<'a, str>>;

    /// Returns the byte range, quotes included, of a string without escapes in its file; `None` for any other value.
    fn span(self) -> Option<Range<u32>>;

    /// Whether this is exactly the string `text`.
    fn str_is(self, text: &str) -> bool;

    /// Returns the length of its JSON text in UTF-16 units, like [`super::stringify_len`].
    fn json_len(self) -> usize;

    /// Builds the value with everything in it.
    fn to_value(self) -> Value;

    /// Like [`Json::to_value`], but borrows a value that is in memory.
    fn to_cow(self) -> Cow<'a, Value> {
        Cow::Owned(self.to_value())
    }

    /// Returns a string with its lone surrogates; `None` for any other value.
    fn to_js_string(self) -> Option<JsString>;

    /// Passes a string to `characters` run by run; passes nothing for any other value.
    fn visit_characters(self, characters: &mut impl CharacterSink);

    fn is_null(self) -> bool {
        self.kind() == JsonKind::Null
    }

    fn as_f64(self) -> Option<f64> {
        match self.kind() {
            JsonKind::Number(number) => Some(number),
            _ => None,
        }
    }

    fn as_bool(self) -> Option<bool> {
        match self.kind() {
            JsonKind::Bool(bool) => Some(bool),
            _ => None,
        }
    }

    /// Returns the UTF-16 units of a string; `None` for any other value.
    fn unit_len(self) -> Option<usize> {
        match self.kind() {
            JsonKind::String(units) => Some(units),
            _ => None,
        }
    }

    /// Whether a condition on the value is true: on all but `null`, `false`, 0, NaN and `""`.
    fn is_truthy(self) -> bool {
        match self.kind() {
            JsonKind::Null => false,
            JsonKind::Bool(bool) => bool,
            JsonKind::Number(number) => number != 0.0 && !number.is_nan(),
            JsonKind::String(units) => units > 0,
            JsonKind::Array(_) | JsonKind::Object => true,
        }
    }
}

/// Returns the `.length` of a value: UTF-16 units of a string, items of an array, NaN for a number, boolean or object
/// (pruning 0.7). Fails for an absent value and for `null`.
pub(crate) fn length<'a>(value: Option<impl Json<'a>>) -> Result<f64, JsException> {
    match value.map(Json::kind) {
        None | Some(JsonKind::Null) => Err(JsException),
        Some(JsonKind::String(length) | JsonKind::Array(length)) => Ok(length as f64),
        Some(JsonKind::Bool(_) | JsonKind::Number(_) | JsonKind::Object) => Ok(f64::NAN),
    }
}

/// Whether a condition on a value that may be absent is true.
pub(crate) fn is_truthy<'a>(value: Option<impl Json<'a>>) -> bool {
    value.is_some_and(Json::is_truthy)
}

impl<'a> Json<'a> for &'a Value {
    fn kind(self) -> JsonKind {
        match self {
            Value::Null => JsonKind::Null,
            Value::Bool(bool) => JsonKind::Bool(*bool),
            Value::Number(number) => JsonKind::Number(*number),
            Value::String(text) => JsonKind::String(text.len()),
            Value::Array(items) => JsonKind::Array(items.len()),
            Value::Object(_) => JsonKind::Object,
        }
    }

    fn get(self, key: &str) -> Option<Self> {
        Value::get(self, key)
    }

    fn items(self) -> Option<impl Iterator<Item = Self>> {
        self.as_array().map(<[Value]>::iter)
    }

    fn text(self) -> Option<Cow<'a, str>> {
        self.as_str().map(|text| Cow::Owned(text.to_string_lossy()))
    }

    fn span(self) -> Option<Range<u32>> {
        None
    }

    fn str_is(self, text: &str) -> bool {
        Value::str_is(self, text)
    }

    fn json_len(self) -> usize {
        stringify_len(self)
    }

    fn to_value(self) -> Value {
        self.clone()
    }

    fn to_cow(self) -> Cow<'a, Value> {
        Cow::Borrowed(self)
    }

    fn to_js_string(self) -> Option<JsString> {
        self.as_str().cloned()
    }

    fn visit_characters(self, characters: &mut impl CharacterSink) {
        let units = self.as_str().map_or(&[][..], JsString::units);
        for unit in units {
            characters.unit(*unit);
        }
    }
}
