//! Hashes of values for the comparison in clearing, so that a digest need not keep them (pruning 7.2 f).

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::js::{JsString, Object, Value};

/// 128 bits, so that different values with the same hash do not occur in practice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ValueHash(u64, u64);

impl ValueHash {
    fn hash_with(write: impl Fn(&mut DefaultHasher)) -> Self {
        let half = |seed: u8| {
            let mut hasher = DefaultHasher::new();
            hasher.write_u8(seed);
            write(&mut hasher);
            hasher.finish()
        };
        Self(half(0), half(1))
    }

    pub(super) fn from_text(text: &JsString) -> Self {
        Self::hash_with(|hasher| text.hash(hasher))
    }

    /// Hashes arguments; arguments that Python finds equal have the same hash.
    pub(super) fn from_arguments(arguments: &Object) -> Self {
        Self::hash_with(|hasher| hash_object(hasher, arguments))
    }
}

/// Sorts the keys first, because Python ignores their order.
fn hash_object(hasher: &mut DefaultHasher, object: &Object) {
    let mut members: Vec<(&JsString, &Value)> = object.iter().collect();
    members.sort_by_key(|(key, _)| *key);
    hasher.write_u8(b'{');
    hasher.write_usize(members.len());
    for (key, value) in members {
        key.hash(hasher);
        hash_value(hasher, value);
    }
}

/// `true` hashes as 1, −0 as 0, and a number that JSON cannot write as null.
fn hash_value(hasher: &mut DefaultHasher, value: &Value) {
    let number = |hasher: &mut DefaultHasher, number: f64| {
        hasher.write_u8(b'0');
        hasher.write_u64((number + 0.0).to_bits());
    };
    match value {
        Value::Bool(bool) => number(hasher, f64::from(u8::from(*bool))),
        Value::Number(finite) if finite.is_finite() => number(hasher, *finite),
        Value::Null | Value::Number(_) => hasher.write_u8(b'n'),
        Value::String(text) => {
            hasher.write_u8(b'"');
            text.hash(hasher);
        }
        Value::Array(items) => {
            hasher.write_u8(b'[');
            hasher.write_usize(items.len());
            for item in items {
                hash_value(hasher, item);
            }
        }
        Value::Object(object) => hash_object(hasher, object),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js;

    fn object(json: &str) -> Object {
        js::parse(json).unwrap().as_object().unwrap().clone()
    }

    /// The classes follow Python's `==`: the order of keys does not matter, `True` is 1, and a number without a
    /// value is `None`.
    #[test]
    fn arguments_equal_in_python_have_one_digest() {
        let all = [
            ('a', r#"{"a":1,"b":[2]}"#),
            ('a', r#"{"b":[2.0],"a":true}"#),
            ('b', r#"{"a":1,"b":[2,2]}"#),
            ('c', r#"{"a":-0,"b":null}"#),
            ('c', r#"{"a":false,"b":1e400}"#),
            ('d', r#"{"a":"0","b":null}"#),
            ('e', r#"{"a":"0","b":{}}"#),
            ('f', r#"{"a":"0","b":[]}"#),
            ('g', r#"{"a":null,"b":null}"#),
            ('h', r#"{"a":1,"c":[2]}"#),
            ('i', "{}"),
        ];
        let hash = |json| ValueHash::from_arguments(&object(json));
        for (class, a) in all {
            for (other, b) in all {
                assert_eq!(hash(a) == hash(b), class == other, "{a} {b}");
            }
        }
    }
}
