//! `context.compiled`: the list at the start of an attempt, before the trimming per call, with what the recorder cut of it
//! (trajectory 4, 5).

use super::{ARRAY_CUT, cut_reason, owned_text, whole_number};
use crate::js::{self, Value};

/// The recorded context.
#[derive(Debug, Clone, PartialEq)]
pub enum CompiledContext {
    /// It is there, as far as it was not cut.
    Present(ContextSnapshot),
    /// The whole line was cut.
    Cut(CutContext),
    /// The attempt ended before it.
    Missing,
}

/// A recorded context.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextSnapshot {
    /// The leaf of the transcript when the prompt was built; none in an empty session.
    pub leaf_id: Option<String>,
    /// The oldest messages and how many there were; none where the recorder dropped the list, or the Codex harness ran.
    pub messages: Option<RecordedList>,
    /// The user's words that follow the list.
    pub prompt: Option<String>,
    /// UTF-16 units of the system prompt.
    pub system_chars: Option<u64>,
    /// The system prompt, where it was not cut.
    pub system_prompt: Option<String>,
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
    pub recovered_messages: Option<RecordedList>,
}

impl CompiledContext {
    pub(super) fn from_data(data: Option<&Value>, submitted: Option<&Value>) -> Self {
        let Some(data) = data else { return Self::Missing };
        // The list at the call is that at the start (trajectory 3.3); later releases drop it from one line alone.
        let submitted = submitted.and_then(|data| RecordedList::from_value(data.get("messages")));
        if let Some(reason) = cut_reason(data) {
            return Self::Cut(CutContext {
                reason,
                bytes: whole_number(data.get("originalBytes")),
                limit: whole_number(data.get("limitBytes")),
                recovered_messages: submitted,
            });
        }
        let system = data.get("systemPrompt");
        let tools = RecordedList::from_value(data.get("tools")).unwrap_or_default();
        let own = system.and_then(Value::as_str);
        Self::Present(ContextSnapshot {
            leaf_id: owned_text(data.get("transcriptLeafId")),
            messages: RecordedList::from_value(data.get("messages")).or(submitted),
            prompt: owned_text(data.get("prompt")),
            system_chars: own
                .map(|text| text.len() as u64)
                .or_else(|| whole_number(system?.get("originalChars"))),
            system_prompt: owned_text(system),
            tools: tools.items.iter().filter_map(RecordedTool::from_value).collect(),
        })
    }
}

impl RecordedList {
    /// The items of an array: the recorder keeps the first and a mark (trajectory 4.1).
    fn from_value(value: Option<&Value>) -> Option<Self> {
        let mut items = value?.as_array()?.to_vec();
        let cut = items.last().filter(|item| cut_reason(item).as_deref() == Some(ARRAY_CUT));
        let original = cut.map(|mark| whole_number(mark.get("originalLength")));
        if original.is_some() {
            items.pop();
        }
        let total = original.flatten().unwrap_or(items.len() as u64);
        Some(Self { items, total })
    }
}

impl RecordedTool {
    fn from_value(value: &Value) -> Option<Self> {
        let schema = value.get("parameters").unwrap_or(&Value::Null);
        let schema_chars = js::stringify(schema).len();
        Some(Self { name: owned_text(value.get("name"))?, schema_chars, is_cut: has_cut_mark(schema) })
    }
}

/// Whether the recorder cut anything within; it nests at most six levels.
fn has_cut_mark(value: &Value) -> bool {
    cut_reason(value).is_some()
        || match value {
            Value::Array(items) => items.iter().any(has_cut_mark),
            Value::Object(object) => object.iter().any(|(_, value)| has_cut_mark(value)),
            _ => false,
        }
}
