//! What rules ask of a JSON value, whether it is held in memory or only outlined over its text: so a rule that measures
//! is written once.

use std::borrow::Cow;
use std::ops::Range;

use super::scan::CharacterSink;
use super::stringify::stringify_len;
use super::{JsException, JsString, Value};

/// A value without what a container holds and without the text of a string.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum JsonKind {
    /// `null`.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number; infinite where the text overflowed (pruning 0.7).
    Number(f64),
    /// A text of so many UTF-16 units.
    String(usize),
    /// So many items.
    Array(usize),
    /// An object.
    Object,
}

/// A JSON value that rules read.
pub trait Json<'a>: Copy {
    /// What it is.
    fn kind(self) -> JsonKind;

    /// The member `key`; `None` when absent and for everything that is no object.
    fn get(self, key: &str) -> Option<Self>;

    /// The items of an array; `None` of anything else.
    fn items(self) -> Option<impl Iterator<Item = Self>>;

    /// A text as UTF-8, each lone surrogate as U+FFFD; `None` of anything else.
    fn text(self) -> Option<Cow<'a, str>>;

    /// The bytes of a text that stands in its file as it is, quotes included; `None` of anything else.
    fn span(self) -> Option<Range<u32>>;

    /// Whether this is exactly the text `text`.
    fn str_is(self, text: &str) -> bool;

    /// The length of its JSON text in UTF-16 units, as [`super::stringify_len`].
    fn json_len(self) -> usize;

    /// The value with everything it holds.
    fn to_value(self) -> Value;

    /// The same, borrowed where it is held in memory.
    fn to_cow(self) -> Cow<'a, Value> {
        Cow::Owned(self.to_value())
    }

    /// A text as it is, lone surrogates too; `None` of anything else.
    fn to_js_string(self) -> Option<JsString>;

    /// Tells a text run by run, as far as it is one.
    fn visit_characters(self, characters: &mut impl CharacterSink);

    /// Whether this is `null`.
    fn is_null(self) -> bool {
        self.kind() == JsonKind::Null
    }

    /// The number, if this is one.
    fn as_f64(self) -> Option<f64> {
        match self.kind() {
            JsonKind::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The boolean, if this is one.
    fn as_bool(self) -> Option<bool> {
        match self.kind() {
            JsonKind::Bool(bool) => Some(bool),
            _ => None,
        }
    }

    /// UTF-16 units of a text; `None` of anything else.
    fn unit_len(self) -> Option<usize> {
        match self.kind() {
            JsonKind::String(units) => Some(units),
            _ => None,
        }
    }

    /// Whether a condition on it holds: on all but `null`, `false`, 0, NaN and `""`.
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

/// The `.length` of a value: UTF-16 units of a text, items of an array, NaN for a number, boolean or
/// object (pruning 0.7). Throws when absent or `null`.
pub(crate) fn length<'a>(value: Option<impl Json<'a>>) -> Result<f64, JsException> {
    match value.map(Json::kind) {
        None | Some(JsonKind::Null) => Err(JsException),
        Some(JsonKind::String(length) | JsonKind::Array(length)) => Ok(length as f64),
        Some(JsonKind::Bool(_) | JsonKind::Number(_) | JsonKind::Object) => Ok(f64::NAN),
    }
}

/// Whether a condition on a value that may be absent holds.
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
