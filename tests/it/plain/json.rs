//! JSON as `serde_json` reads it. Texts are read as bytes, because its strings take no half of a pair; numbers as
//! digits, because it refuses those that overflow.

use std::fmt;

use clawscope::js::MAX_DEPTH;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A JavaScript value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Plain {
    Null,
    Bool(bool),
    Number(f64),
    Text(Vec<u16>),
    List(Vec<Plain>),
    Object(Vec<(Vec<u16>, Plain)>),
}

/// The value of a text; `None` where it is not JSON or nests too deep.
pub(crate) fn parse(text: &str) -> Option<Plain> {
    value(serde_json::from_str::<&RawValue>(text).ok()?.get(), 0)
}

fn value(raw: &str, depth: usize) -> Option<Plain> {
    Some(match raw.as_bytes()[0] {
        b'n' => Plain::Null,
        b't' | b'f' => Plain::Bool(raw == "true"),
        b'"' => Plain::Text(serde_json::from_str::<Units>(raw).ok()?.0),
        b'[' | b'{' if depth == MAX_DEPTH => return None,
        b'[' => {
            let items: Vec<&RawValue> = serde_json::from_str(raw).ok()?;
            Plain::List(items.into_iter().map(|item| value(item.get(), depth + 1)).collect::<Option<_>>()?)
        }
        b'{' => {
            let mut members: Vec<(Vec<u16>, Plain)> = Vec::new();
            for (key, member) in serde_json::from_str::<Members<'_>>(raw).ok()?.0 {
                let member = value(member.get(), depth + 1)?;
                match members.iter_mut().find(|(known, _)| *known == key.0) {
                    Some((_, known)) => *known = member,
                    None => members.push((key.0, member)),
                }
            }
            // Array indices come first, by their size.
            members.sort_by_key(|(key, _)| array_index(key).map_or((1, 0), |index| (0, index)));
            Plain::Object(members)
        }
        _ => Plain::Number(raw.parse().ok()?),
    })
}

/// Returns the array index that a key is, in JavaScript's spelling.
fn array_index(key: &[u16]) -> Option<u32> {
    let text = String::from_utf16(key).ok()?;
    let index: u32 = text.parse().ok().filter(|index| *index < u32::MAX)?;
    (index.to_string() == text).then_some(index)
}

/// The units of a text.
struct Units(Vec<u16>);

impl<'de> Deserialize<'de> for Units {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;

        impl Visitor<'_> for Bytes {
            type Value = Units;

            fn expecting(&self, form: &mut fmt::Formatter<'_>) -> fmt::Result {
                form.write_str("a text")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Units, E> {
                Ok(Units(units(bytes)))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

/// UTF-8 in which halves of pairs are encoded like characters.
fn units(mut bytes: &[u8]) -> Vec<u16> {
    let mut units = Vec::new();
    while let Some(first) = bytes.first() {
        let (len, top) = match first {
            0..0x80 => (1, u32::from(*first)),
            0x80..0xE0 => (2, u32::from(first & 0x1F)),
            0xE0..0xF0 => (3, u32::from(first & 0x0F)),
            _ => (4, u32::from(first & 0x07)),
        };
        let code = bytes[1..len].iter().fold(top, |code, byte| code << 6 | u32::from(byte & 0x3F));
        match char::from_u32(code) {
            Some(char) => units.extend_from_slice(char.encode_utf16(&mut [0; 2])),
            None => units.push(code as u16),
        }
        bytes = &bytes[len..];
    }
    units
}

/// Every member of an object as written, repeated keys included.
struct Members<'a>(Vec<(Units, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Members<'de>;

            fn expecting(&self, form: &mut fmt::Formatter<'_>) -> fmt::Result {
                form.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

impl Plain {
    /// A member of an object.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let Self::Object(members) = self else { return None };
        members.iter().find(|(name, _)| name.iter().copied().eq(key.encode_utf16())).map(|(_, value)| value)
    }

    pub(crate) fn items(&self) -> Option<&[Self]> {
        if let Self::List(items) = self { Some(items) } else { None }
    }

    pub(crate) fn number(&self) -> Option<f64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }

    pub(crate) fn units(&self) -> Option<&[u16]> {
        if let Self::Text(units) = self { Some(units) } else { None }
    }

    pub(crate) fn is(&self, text: &str) -> bool {
        self.units().is_some_and(|units| units.iter().copied().eq(text.encode_utf16()))
    }

    pub(crate) fn truthy(&self) -> bool {
        match self {
            Self::Null => false,
            Self::Bool(bool) => *bool,
            Self::Number(number) => *number != 0.0,
            Self::Text(units) => !units.is_empty(),
            Self::List(_) | Self::Object(_) => true,
        }
    }

    /// Returns the text that `JSON.stringify` makes of it.
    pub(crate) fn json(&self) -> String {
        match self {
            Self::Bool(bool) => bool.to_string(),
            Self::Number(number) if number.is_finite() => ryu_js::Buffer::new().format(*number).to_owned(),
            Self::Null | Self::Number(_) => "null".to_owned(),
            Self::Text(units) => quoted(units),
            Self::List(items) => format!("[{}]", items.iter().map(Self::json).collect::<Vec<_>>().join(",")),
            Self::Object(members) => {
                let member = |(key, value): &(Vec<u16>, Self)| format!("{}:{}", quoted(key), value.json());
                format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(","))
            }
        }
    }
}

fn quoted(units: &[u16]) -> String {
    let char = |char: Result<char, std::char::DecodeUtf16Error>| match char {
        Ok('"') => "\\\"".to_owned(),
        Ok('\\') => "\\\\".to_owned(),
        Ok('\n') => "\\n".to_owned(),
        Ok('\r') => "\\r".to_owned(),
        Ok('\t') => "\\t".to_owned(),
        Ok('\u{8}') => "\\b".to_owned(),
        Ok('\u{c}') => "\\f".to_owned(),
        Ok(low @ '\0'..' ') => format!("\\u{:04x}", low as u32),
        Ok(char) => char.to_string(),
        Err(lone) => format!("\\u{:04x}", lone.unpaired_surrogate()),
    };
    format!("\"{}\"", char::decode_utf16(units.iter().copied()).map(char).collect::<String>())
}
