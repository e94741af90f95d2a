//! Interned strings: entry ids, and values such as tool names, models and custom types.
//!
//! In a damaged file both may be any JSON value, and the rules compare that value: the id `"1"` is not the id `1`. So
//! tables hold values other than strings as JSON after a mark.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::js::{self, Json, Value};

#[derive(Debug, Clone, PartialEq)]
pub enum ScannedValue {
    Absent,
    /// Byte range in the line of a string without escapes, quotes included.
    Span(Range<u32>),
    Other(Value),
}

impl ScannedValue {
    pub fn from_json<'a>(value: Option<impl Json<'a>>) -> Self {
        value.map_or(Self::Absent, |value| {
            value.span().map_or_else(|| Self::Other(value.to_value()), Self::Span)
        })
    }

    /// Whether the value is present and `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Other(Value::Null))
    }
}

/// Entry id or call id of one index; equal numbers mean strictly equal ids (compaction 4.1a).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IdIx(NonZeroU32);

impl IdIx {
    /// Builds the id for a position counted from 0. Non-zero, so that the four `Option<IdIx>` of an entry take no extra
    /// space.
    fn new(at: u32) -> Self {
        Self(NonZeroU32::MIN.saturating_add(at))
    }

    /// Returns the position, counted from 0.
    pub(crate) fn index(self) -> usize {
        (self.0.get() - 1) as usize
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueIx(pub u32);

impl ValueIx {
    pub const ABSENT: Self = Self(0);
}

/// Prefix of table texts that hold JSON instead of a plain string; no string id of a runtime starts with it.
const NON_STRING_MARK: char = '\u{1}';

/// All ids of one transcript. An index that grew shares the ids of the earlier read and owns only the new ones.
#[derive(Debug, Clone, Default)]
pub struct IdTable {
    shared: Arc<StringTable>,
    added: StringTable,
    hasher: RandomState,
}

/// Texts in one buffer, with the end offset of each. Nearly every entry and tool call adds a text, so they share one
/// allocation.
#[derive(Debug, Clone, Default)]
struct StringTable {
    buffer: String,
    ends: Vec<usize>,
    /// Position and hash of each text; the stored hash lets the table grow without reading the texts.
    by_text: HashTable<(u32, ShortHash)>,
}

/// Half of a text's 64-bit hash; a transcript has too few texts to need the other half.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ShortHash(u32);

impl ShortHash {
    fn of_text(text: &str, hasher: &RandomState) -> Self {
        Self(hasher.hash_one(text) as u32)
    }

    /// Spreads the hash over 64 bits, since the table uses both the low and the high bits.
    fn spread(self) -> u64 {
        u64::from(self.0).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
}

impl StringTable {
    fn get(&self, at: usize) -> &str {
        nth_text(&self.buffer, &self.ends, at as u32)
    }

    fn find(&self, text: &str, hash: ShortHash) -> Option<usize> {
        let is = |(at, known): &(u32, ShortHash)| *known == hash && self.get(*at as usize) == text;
        self.by_text.find(hash.spread(), is).map(|(at, _)| *at as usize)
    }

    fn add(&mut self, text: &str, hash: ShortHash) {
        let at = self.ends.len() as u32;
        self.buffer.push_str(text);
        self.ends.push(self.buffer.len());
        self.by_text.insert_unique(hash.spread(), (at, hash), |(_, hash)| hash.spread());
    }
}

/// Merge threshold: `freeze` merges new texts when they exceed 1/8 of the shared ones, so that each text moves only a
/// few times for any number of growths.
const MERGE_RATIO: usize = 8;

impl IdTable {
    /// Interns a value; `None` when absent or null. Objects and arrays equal nothing in JavaScript, not even their
    /// copies, so each gets a new id.
    pub fn intern_value(&mut self, value: Option<&Value>) -> Option<IdIx> {
        match value? {
            Value::Null => None,
            Value::String(text) => match String::from_utf16(text.units()) {
                Ok(plain) if !plain.starts_with(NON_STRING_MARK) => Some(self.intern_text(&plain)),
                _ => Some(self.intern_text(&format!("{NON_STRING_MARK}{}", js::stringify_str(text)))),
            },
            Value::Array(_) | Value::Object(_) => {
                let unlike = format!("{NON_STRING_MARK}#{}", self.len());
                Some(self.intern_text(&unlike))
            }
            simple => Some(self.intern_text(&format!("{NON_STRING_MARK}{}", js::stringify(simple)))),
        }
    }

    pub(crate) fn intern_scanned(&mut self, name: &ScannedValue, line: &[u8]) -> Option<IdIx> {
        match name {
            ScannedValue::Absent => None,
            // The mark is a control character, which JSON strings must escape, so a span never starts with it.
            ScannedValue::Span(span) => {
                Some(self.intern_text(&span_text(line, span.start + 1..span.end - 1)))
            }
            ScannedValue::Other(value) => self.intern_value(Some(value)),
        }
    }

    pub fn intern_text(&mut self, text: &str) -> IdIx {
        let hash = ShortHash::of_text(text, &self.hasher);
        if let Some(known) = self.find_hashed(text, hash) {
            return known;
        }
        let at = self.len() as u32;
        self.added.add(text, hash);
        IdIx::new(at)
    }

    fn find_hashed(&self, text: &str, hash: ShortHash) -> Option<IdIx> {
        let before = self.shared.ends.len();
        let known = if before > 0 { self.shared.find(text, hash) } else { None };
        let at = known.or_else(|| self.added.find(text, hash).map(|at| before + at))?;
        Some(IdIx::new(at as u32))
    }

    fn get(&self, at: usize) -> &str {
        match at.checked_sub(self.shared.ends.len()) {
            Some(at) => self.added.get(at),
            None => self.shared.get(at),
        }
    }

    /// Finds a plain text without adding it.
    pub fn find(&self, text: &str) -> Option<IdIx> {
        self.find_hashed(text, ShortHash::of_text(text, &self.hasher))
    }

    /// Returns the id for display; ids that are not strings show as JSON.
    pub fn text(&self, id: IdIx) -> &str {
        let text = self.get(id.index());
        text.strip_prefix(NON_STRING_MARK).unwrap_or(text)
    }

    /// Whether the id is a string in the file.
    pub fn is_string(&self, id: IdIx) -> bool {
        let text = self.get(id.index());
        !text.starts_with(NON_STRING_MARK) || text[1..].starts_with('"')
    }

    /// Returns the id's value; objects and arrays come back as an empty object.
    pub fn value(&self, id: IdIx) -> Value {
        let text = self.get(id.index());
        match text.strip_prefix(NON_STRING_MARK) {
            None => Value::from(text),
            Some(json) => js::parse(json).unwrap_or(Value::Object(js::Object::default())),
        }
    }

    /// Whether the id is truthy, as [`js::is_truthy`] decides for its value.
    pub fn is_truthy(&self, id: IdIx) -> bool {
        let text = self.get(id.index());
        if text.starts_with(NON_STRING_MARK) {
            js::is_truthy(Some(&self.value(id)))
        } else {
            !text.is_empty()
        }
    }

    pub fn len(&self) -> usize {
        self.shared.ends.len() + self.added.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Iterates over every text in order of first use.
    #[cfg(test)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|at| self.get(at))
    }

    /// Moves new ids to the shared table, for the next read to share.
    pub(crate) fn freeze(&mut self) {
        if self.shared.ends.is_empty() {
            self.shared = Arc::new(std::mem::take(&mut self.added));
        } else if self.added.ends.len() > self.shared.ends.len() / MERGE_RATIO {
            let added = std::mem::take(&mut self.added);
            let known = Arc::make_mut(&mut self.shared);
            (0..added.ends.len()).map(|at| added.get(at)).for_each(|text| {
                known.add(text, ShortHash::of_text(text, &self.hasher));
            });
        }
    }
}

/// Returns the text of a span; the line is UTF-8.
fn span_text(line: &[u8], span: Range<u32>) -> Cow<'_, str> {
    let bytes = line.get(span.start as usize..span.end as usize).unwrap_or_default();
    js::utf8_lossy(bytes)
}

fn nth_text<'a>(texts: &'a str, ends: &[usize], ix: u32) -> &'a str {
    let at = ix as usize;
    let start = at.checked_sub(1).map_or(0, |before| ends[before]);
    &texts[start..ends[at]]
}

/// All values of one transcript: any JSON value, or absent.
#[derive(Debug, Clone)]
pub struct ValueTable {
    by_json: HashMap<Box<str>, ValueIx>,
    values: Vec<Option<Value>>,
}

impl Default for ValueTable {
    fn default() -> Self {
        Self { by_json: HashMap::new(), values: vec![None] }
    }
}

impl ValueTable {
    pub fn intern_value(&mut self, value: Option<&Value>) -> ValueIx {
        let Some(value) = value else { return ValueIx::ABSENT };
        let json = js::stringify(value);
        if let Some(&ix) = self.by_json.get(json.as_str()) {
            return ix;
        }
        let ix = ValueIx(self.values.len() as u32);
        self.values.push(Some(value.clone()));
        self.by_json.insert(json.into(), ix);
        ix
    }

    pub(crate) fn intern_scanned(&mut self, name: &ScannedValue, line: &[u8]) -> ValueIx {
        match name {
            ScannedValue::Absent => ValueIx::ABSENT,
            ScannedValue::Span(span) => {
                // A string without escapes is its own JSON.
                let json = span_text(line, span.clone());
                let known = self.by_json.get(&*json).copied();
                known.unwrap_or_else(|| self.intern_value(Some(&Value::from(&json[1..json.len() - 1]))))
            }
            ScannedValue::Other(value) => self.intern_value(Some(value)),
        }
    }

    pub fn value(&self, word: ValueIx) -> Option<&Value> {
        self.values.get(word.0 as usize)?.as_ref()
    }

    /// Returns the value as text; `None` when it is not a string.
    pub fn text(&self, word: ValueIx) -> Option<String> {
        self.value(word)?.as_str().map(js::JsString::to_string_lossy)
    }
}
