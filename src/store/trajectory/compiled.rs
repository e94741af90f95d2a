//! `context.compiled`: the list at the start of an attempt, before the trimming per call, with what the recorder cut of it
//! (trajectory 4, 5).

use super::{ARRAY_CUT, cut_reason, text, whole};
use crate::js::{self, Value};

/// The recorded context.
#[derive(Debug, Clone, PartialEq)]
pub enum Compiled {
    /// It is there, as far as it was not cut.
    Held(Held),
    /// The whole line was cut.
    Cut(CutContext),
    /// The attempt ended before it.
    Missing,
}

/// A recorded context.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// The leaf of the transcript when the prompt was built; none in an empty session.
    pub leaf: Option<String>,
    /// The oldest messages and how many there were; none where the recorder dropped the list, or the Codex harness ran.
    pub list: Option<RecordedList>,
    /// The user's words that follow the list.
    pub prompt: Option<String>,
    /// UTF-16 units of the system prompt.
    pub system_chars: Option<u64>,
    /// The system prompt, where it was not cut.
    pub system: Option<String>,
    /// Tools, by name.
    pub tools: Vec<RecordedTool>,
}

/// The first items of a list.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecordedList {
    /// The recorded items.
    pub items: Vec<Value>,
    /// Items there were, those that the recorder left out included.
    pub total: u64,
}

/// A tool as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedTool {
    /// Its name.
    pub name: String,
    /// Chars of its schema as recorded: fewer than were sent where it was cut.
    pub schema_chars: usize,
    /// The recorder left parts of the schema out.
    pub is_cut: bool,
}

/// What is known of a context that was too long for its line.
#[derive(Debug, Clone, PartialEq)]
pub struct CutContext {
    /// Why.
    pub reason: String,
    /// Bytes of the line.
    pub bytes: Option<u64>,
    /// Bytes a line may have.
    pub limit: Option<u64>,
    /// Messages of `prompt.submitted`, which are the same.
    pub recovered: Option<RecordedList>,
}

impl Compiled {
    pub(super) fn of(data: Option<&Value>, submitted: Option<&Value>) -> Self {
        let Some(data) = data else { return Self::Missing };
        // The list at the call is that at the start (trajectory 3.3); later releases drop it from one line alone.
        let submitted = submitted.and_then(|data| RecordedList::of(data.get("messages")));
        if let Some(reason) = cut_reason(data) {
            return Self::Cut(CutContext {
                reason,
                bytes: whole(data.get("originalBytes")),
                limit: whole(data.get("limitBytes")),
                recovered: submitted,
            });
        }
        let system = data.get("systemPrompt");
        let tools = RecordedList::of(data.get("tools")).unwrap_or_default();
        let own = system.and_then(Value::as_str);
        Self::Held(Held {
            leaf: text(data.get("transcriptLeafId")),
            list: RecordedList::of(data.get("messages")).or(submitted),
            prompt: text(data.get("prompt")),
            system_chars: own.map(|text| text.len() as u64).or_else(|| whole(system?.get("originalChars"))),
            system: text(system),
            tools: tools.items.iter().filter_map(RecordedTool::of).collect(),
        })
    }
}

impl RecordedList {
    /// The items of an array: the recorder keeps the first and a mark (trajectory 4.1).
    fn of(value: Option<&Value>) -> Option<Self> {
        let mut items = value?.as_array()?.to_vec();
        let cut = items.last().filter(|item| cut_reason(item).as_deref() == Some(ARRAY_CUT));
        let original = cut.map(|mark| whole(mark.get("originalLength")));
        if original.is_some() {
            items.pop();
        }
        let total = original.flatten().unwrap_or(items.len() as u64);
        Some(Self { items, total })
    }
}

impl RecordedTool {
    fn of(value: &Value) -> Option<Self> {
        let schema = value.get("parameters").unwrap_or(&Value::Null);
        let schema_chars = js::stringify(schema).len();
        Some(Self { name: text(value.get("name"))?, schema_chars, is_cut: holds_mark(schema) })
    }
}

/// Whether the recorder cut anything within; it nests at most six levels.
fn holds_mark(value: &Value) -> bool {
    cut_reason(value).is_some()
        || match value {
            Value::Array(items) => items.iter().any(holds_mark),
            Value::Object(object) => object.iter().any(|(_, value)| holds_mark(value)),
            _ => false,
        }
}
