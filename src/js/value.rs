//! A JSON value as the gateway represents it: strings in UTF-16, numbers as doubles (pruning 0.1, 0.2).

use super::JsString;
use crate::units::{Bytes, Chars, Tokens};

/// A JSON value. An absent value is `Option::None`, because rules distinguish it from `null` (pruning 0.7).
#[derive(PartialEq, Debug)]
pub enum Value {
    Null,
    Bool(bool),
    /// Infinite if the text overflowed (pruning 0.7).
    Number(f64),
    String(JsString),
    Array(Vec<Value>),
    /// Members in JavaScript order.
    Object(Object),
}

/// Keys in JavaScript order: canonical array indices first, ascending, then the rest in insertion order. A repeated
/// key keeps its first position and its last value (pruning 0.4).
#[derive(PartialEq, Debug, Default)]
pub struct Object(pub(super) Vec<(JsString, Value)>);

impl Value {
    /// Returns the member `key`; `None` if it is absent or this is not an object. Where reading a key of `null`
    /// throws (pruning 0.7), the rule must check [`is_null`](Self::is_null) first.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_object()?.get(key)
    }

    pub const fn as_str(&self) -> Option<&JsString> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns a number, which may be infinite or NaN.
    pub const fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    pub const fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(bool) => Some(*bool),
            _ => None,
        }
    }

    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    pub const fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    pub const fn as_object_mut(&mut self) -> Option<&mut Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Whether this is exactly the string `text`.
    pub fn str_is(&self, text: &str) -> bool {
        self.as_str().is_some_and(|string| string.eq_str(text))
    }

    /// Names the type for messages: `null`, `boolean`, `number`, `string`, `array` or `object`.
    pub const fn kind_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Number(_) => "number",
            Self::String(_) => "string",
            Self::Array(_) => "array",
            Self::Object(_) => "object",
        }
    }
}

/// Implemented by hand: without optimization, the derived `Clone` needs twice the stack, more than a thread has for a
/// value as deep as [`MAX_DEPTH`](super::MAX_DEPTH).
impl Clone for Value {
    fn clone(&self) -> Self {
        match self {
            Self::Array(items) => copied(items),
            Self::Object(object) => Self::Object(object.clone()),
            Self::String(text) => Self::String(text.clone()),
            Self::Number(number) => Self::Number(*number),
            Self::Bool(bool) => Self::Bool(*bool),
            Self::Null => Self::Null,
        }
    }
}

fn copied(items: &[Value]) -> Value {
    let mut copy = Vec::with_capacity(items.len());
    for item in items {
        copy.push(item.clone());
    }
    Value::Array(copy)
}

impl From<bool> for Value {
    fn from(bool: bool) -> Self {
        Self::Bool(bool)
    }
}

impl From<Tokens> for Value {
    fn from(tokens: Tokens) -> Self {
        tokens.get().into()
    }
}

impl From<Chars> for Value {
    fn from(chars: Chars) -> Self {
        chars.get().into()
    }
}

impl From<Bytes> for Value {
    fn from(bytes: Bytes) -> Self {
        bytes.get().into()
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<i32> for Value {
    fn from(number: i32) -> Self {
        Self::Number(f64::from(number))
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(number as f64)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(number as f64)
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Self::Number(number as f64)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text.into())
    }
}

impl From<JsString> for Value {
    fn from(text: JsString) -> Self {
        Self::String(text)
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Self {
        Self::Array(items)
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    /// `None` becomes `null`.
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_a_key_of_anything_but_an_object_gives_absent() {
        for value in [Value::Null, true.into(), 1.into(), "text".into(), Value::Array(Vec::new())] {
            assert_eq!(value.get("length"), None, "{}", value.kind_name());
        }
        assert_eq!(Value::from(Object::from([("a", 1)])).get("a"), Some(&Value::from(1.0)));
    }

    #[test]
    fn a_value_is_read_only_as_its_type() {
        assert!(Value::from("5").as_f64().is_none() && Value::from(5).as_str().is_none());
        assert!(Value::from("x").str_is("x") && !Value::from("x").str_is("X") && !Value::Null.str_is("null"));
        assert_eq!(Value::from(false).as_bool(), Some(false));
        assert_eq!(Value::from(None::<bool>), Value::Null);
        assert_eq!(Value::from(vec![Value::Null]).as_array(), Some([Value::Null].as_slice()));
    }
}
