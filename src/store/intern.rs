//! Repeated words kept once: entry ids, and words such as tool names, models and custom types.
//! Both may be any JSON value in a damaged file, and the rules look at that value.

use std::collections::HashMap;

use crate::js::{self, Value};

/// An entry id or call id of one index; equal numbers mean strictly equal ids (compaction 4.1a).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IdIx(pub u32);

/// A word of one index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WordIx(pub u32);

impl WordIx {
    /// The absent word.
    pub const ABSENT: Self = Self(0);
}

/// Ids as texts: strings as they are; others as their JSON behind this mark, which no string id of a
/// runtime starts with.
const NO_STRING: char = '\u{1}';

/// All ids of one transcript.
#[derive(Debug, Clone, Default)]
pub struct Ids {
    by_text: HashMap<Box<str>, IdIx>,
    texts: Vec<Box<str>>,
}

impl Ids {
    /// The id of a value; none when absent or null. Objects and arrays are equal to nothing, not even
    /// to their like, so each gets an id of its own.
    pub fn of_value(&mut self, value: Option<&Value>) -> Option<IdIx> {
        match value? {
            Value::Null => None,
            Value::String(text) => match String::from_utf16(text.units()) {
                Ok(plain) if !plain.starts_with(NO_STRING) => Some(self.of_text(&plain)),
                _ => Some(self.of_text(&format!("{NO_STRING}{}", js::stringify_str(text)))),
            },
            Value::Array(_) | Value::Object(_) => {
                let unlike = format!("{NO_STRING}#{}", self.texts.len());
                Some(self.of_text(&unlike))
            }
            simple => Some(self.of_text(&format!("{NO_STRING}{}", js::stringify(simple)))),
        }
    }

    /// The id of a plain text.
    pub fn of_text(&mut self, text: &str) -> IdIx {
        if let Some(&ix) = self.by_text.get(text) {
            return ix;
        }
        let ix = IdIx(self.texts.len() as u32);
        self.texts.push(text.into());
        self.by_text.insert(text.into(), ix);
        ix
    }

    /// Looks a plain text up, without adding it.
    pub fn find(&self, text: &str) -> Option<IdIx> {
        self.by_text.get(text).copied()
    }

    /// The id for people. Ids that are no strings show as their JSON.
    pub fn text(&self, id: IdIx) -> &str {
        let text = &self.texts[id.0 as usize];
        text.strip_prefix(NO_STRING).unwrap_or(text)
    }

    /// Whether the id is a string of the file.
    pub fn is_string(&self, id: IdIx) -> bool {
        let text = &self.texts[id.0 as usize];
        !text.starts_with(NO_STRING) || text[1..].starts_with('"')
    }

    /// The id as the value it is; objects and arrays come back as an empty object.
    pub fn value(&self, id: IdIx) -> Value {
        let text = &self.texts[id.0 as usize];
        match text.strip_prefix(NO_STRING) {
            None => Value::from(&**text),
            Some(json) => js::parse(json).unwrap_or(Value::Object(js::Object::default())),
        }
    }

    /// Number of ids.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
}

/// All words of one transcript: any JSON value, or absent.
#[derive(Debug, Clone)]
pub struct Words {
    by_json: HashMap<Box<str>, WordIx>,
    values: Vec<Option<Value>>,
}

impl Default for Words {
    fn default() -> Self {
        Self { by_json: HashMap::new(), values: vec![None] }
    }
}

impl Words {
    /// The word of a value.
    pub fn of_value(&mut self, value: Option<&Value>) -> WordIx {
        let Some(value) = value else { return WordIx::ABSENT };
        let json = js::stringify(value);
        if let Some(&ix) = self.by_json.get(json.as_str()) {
            return ix;
        }
        let ix = WordIx(self.values.len() as u32);
        self.values.push(Some(value.clone()));
        self.by_json.insert(json.into(), ix);
        ix
    }

    /// The value of a word.
    pub fn value(&self, word: WordIx) -> Option<&Value> {
        self.values.get(word.0 as usize)?.as_ref()
    }

    /// The word as text, where it is a string.
    pub fn text(&self, word: WordIx) -> Option<String> {
        self.value(word)?.as_str().map(js::JsString::to_string_lossy)
    }

    /// Every word with its number, the absent one first.
    pub fn iter(&self) -> impl Iterator<Item = (WordIx, Option<&Value>)> {
        self.values.iter().enumerate().map(|(at, value)| (WordIx(at as u32), value.as_ref()))
    }
}
