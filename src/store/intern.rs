//! Repeated words kept once: entry ids, and words such as tool names, models and custom types.
//! Both may be any JSON value in a damaged file, and the rules look at that value.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::js::{self, Json, Value};

/// An id or a word of a line, before it is interned.
#[derive(Debug, Clone, PartialEq)]
pub enum ScannedValue {
    /// Not there.
    Absent,
    /// A text that stands in the line as it is: its bytes, quotes included.
    Span(Range<u32>),
    /// Any other value.
    Other(Value),
}

impl ScannedValue {
    /// The name in a field of a line.
    pub fn from_json<'a>(value: Option<impl Json<'a>>) -> Self {
        value.map_or(Self::Absent, |value| {
            value.span().map_or_else(|| Self::Other(value.to_value()), Self::Span)
        })
    }

    /// Whether it is there and `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Other(Value::Null))
    }
}

/// An entry id or call id of one index; equal numbers mean strictly equal ids (compaction 4.1a).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IdIx(NonZeroU32);

impl IdIx {
    /// The id of a number, counted from 0. Absence takes no room beside it: an entry has four of these.
    fn new(at: u32) -> Self {
        Self(NonZeroU32::MIN.saturating_add(at))
    }

    /// Its number, counted from 0.
    pub(crate) fn index(self) -> usize {
        (self.0.get() - 1) as usize
    }
}

/// A word of one index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueIx(pub u32);

impl ValueIx {
    /// The absent word.
    pub const ABSENT: Self = Self(0);
}

/// Ids as texts: strings as they are; others as their JSON behind this mark, which no string id of a
/// runtime starts with.
const NON_STRING_MARK: char = '\u{1}';

/// All ids of one transcript. Those of an earlier reading are shared with it: an index that grew holds them and its own.
#[derive(Debug, Clone, Default)]
pub struct IdTable {
    /// Those that were there before.
    shared: Arc<StringTable>,
    /// Those that came since.
    added: StringTable,
    hasher: RandomState,
}

/// Texts one after the other, and where each ends. There is one for nearly every entry and every tool call, so they share
/// one piece of memory.
#[derive(Debug, Clone, Default)]
struct StringTable {
    buffer: String,
    ends: Vec<usize>,
    /// The number of each with its hash: where the table grows, no text is looked at again.
    by_text: HashTable<(u32, ShortHash)>,
}

/// What a text is looked up by. Half of what a hasher makes: there are never so many texts that the other half tells them
/// apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ShortHash(u32);

impl ShortHash {
    fn of_text(text: &str, hasher: &RandomState) -> Self {
        Self(hasher.hash_one(text) as u32)
    }

    /// Spread over all bits: a table goes by the low and the high ones.
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

/// What came since is taken among the known ones where it is more than this share of them: so each is moved a few times at
/// most, however often a transcript grows.
const MERGE_RATIO: usize = 8;

impl IdTable {
    /// The id of a value; none when absent or null. Objects and arrays are equal to nothing, not even
    /// to their like, so each gets an id of its own.
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

    /// The id of a name of a line.
    pub(crate) fn intern_scanned(&mut self, name: &ScannedValue, line: &[u8]) -> Option<IdIx> {
        match name {
            ScannedValue::Absent => None,
            // A mark is a control character: it cannot stand there as it is.
            ScannedValue::Span(span) => {
                Some(self.intern_text(&span_text(line, span.start + 1..span.end - 1)))
            }
            ScannedValue::Other(value) => self.intern_value(Some(value)),
        }
    }

    /// The id of a plain text.
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

    /// Looks a plain text up, without adding it.
    pub fn find(&self, text: &str) -> Option<IdIx> {
        self.find_hashed(text, ShortHash::of_text(text, &self.hasher))
    }

    /// The id for people. Ids that are no strings show as their JSON.
    pub fn text(&self, id: IdIx) -> &str {
        let text = self.get(id.index());
        text.strip_prefix(NON_STRING_MARK).unwrap_or(text)
    }

    /// Whether the id is a string of the file.
    pub fn is_string(&self, id: IdIx) -> bool {
        let text = self.get(id.index());
        !text.starts_with(NON_STRING_MARK) || text[1..].starts_with('"')
    }

    /// The id as the value it is; objects and arrays come back as an empty object.
    pub fn value(&self, id: IdIx) -> Value {
        let text = self.get(id.index());
        match text.strip_prefix(NON_STRING_MARK) {
            None => Value::from(text),
            Some(json) => js::parse(json).unwrap_or(Value::Object(js::Object::default())),
        }
    }

    /// Whether a condition on the id holds, as [`js::is_truthy`] tells of its value.
    pub fn is_truthy(&self, id: IdIx) -> bool {
        let text = self.get(id.index());
        if text.starts_with(NON_STRING_MARK) {
            js::is_truthy(Some(&self.value(id)))
        } else {
            !text.is_empty()
        }
    }

    /// Number of ids.
    pub fn len(&self) -> usize {
        self.shared.ends.len() + self.added.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every text, in the order in which they were met.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|at| self.get(at))
    }

    /// Makes what is there ready to be shared with the next reading.
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

/// A text that stands in a line; the line is UTF-8.
fn span_text(line: &[u8], span: Range<u32>) -> Cow<'_, str> {
    let bytes = line.get(span.start as usize..span.end as usize).unwrap_or_default();
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// A text among others, by its number.
fn nth_text<'a>(texts: &'a str, ends: &[usize], ix: u32) -> &'a str {
    let at = ix as usize;
    let start = at.checked_sub(1).map_or(0, |before| ends[before]);
    &texts[start..ends[at]]
}

/// All words of one transcript: any JSON value, or absent.
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
    /// The word of a value.
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

    /// The word of a name of a line.
    pub(crate) fn intern_scanned(&mut self, name: &ScannedValue, line: &[u8]) -> ValueIx {
        match name {
            ScannedValue::Absent => ValueIx::ABSENT,
            ScannedValue::Span(span) => {
                // Written as it is, it is its own JSON.
                let json = span_text(line, span.clone());
                let known = self.by_json.get(&*json).copied();
                known.unwrap_or_else(|| self.intern_value(Some(&Value::from(&json[1..json.len() - 1]))))
            }
            ScannedValue::Other(value) => self.intern_value(Some(value)),
        }
    }

    /// The value of a word.
    pub fn value(&self, word: ValueIx) -> Option<&Value> {
        self.values.get(word.0 as usize)?.as_ref()
    }

    /// The word as text, where it is a string.
    pub fn text(&self, word: ValueIx) -> Option<String> {
        self.value(word)?.as_str().map(js::JsString::to_string_lossy)
    }

    /// Every word with its number, the absent one first.
    pub fn iter(&self) -> impl Iterator<Item = (ValueIx, Option<&Value>)> {
        self.values.iter().enumerate().map(|(at, value)| (ValueIx(at as u32), value.as_ref()))
    }
}
