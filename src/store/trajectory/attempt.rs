//! One attempt of a run: its start, its usage and its end.

use std::collections::HashMap;

use super::recording::{RecordedEvent, Recording};
use super::{ARRAY_CUT, cut_reason, owned_text, whole_number};
use crate::js;
use crate::js::Value;
use crate::store::prompt_report::SystemPromptReport;
use crate::units::{Bytes, Chars};

/// One attempt; its events are indices into the recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunAttempt {
    pub run_id: String,
    pub session_id: String,
    pub provider: Option<String>,
    pub model: Option<String>,
    /// Indices into [`Recording::events`].
    pub event_indices: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AttemptDetails {
    /// `user`, `cron`, `heartbeat`, …
    pub trigger: Option<String>,
    pub gateway_version: Option<String>,
    /// Configuration of the run, with defaults and without secrets (trajectory 6.2).
    pub config: Option<Value>,
    /// Messages at the start, before the trimming of each call.
    pub compiled: CompiledContext,
    /// Whether the prompt went to the model.
    pub is_submitted: bool,
    /// `success`, `error`, `interrupted`, `cleanup`; `None` when the end was not recorded.
    pub status: Option<String>,
}

impl RunAttempt {
    fn new(event: &RecordedEvent) -> Self {
        Self {
            run_id: event.run_id.clone(),
            session_id: event.session_id.clone(),
            provider: event.provider.clone(),
            model: event.model.clone(),
            event_indices: Vec::new(),
        }
    }

    /// Whether the attempt belongs to this session: a recording is named after a file, which several sessions may have
    /// used (trajectory 2.4).
    pub fn belongs_to(&self, session: &str) -> bool {
        session.is_empty() || self.session_id.is_empty() || self.session_id == session
    }
}

impl Recording {
    /// Groups the events by attempt, in order of their starts: a run may have several attempts, and two runs may
    /// interleave (trajectory 1.2, 8.2).
    pub fn attempts(&self) -> Vec<RunAttempt> {
        let mut attempts: Vec<RunAttempt> = Vec::new();
        let mut open: HashMap<&str, usize> = HashMap::new();
        for (at, event) in self.events.iter().enumerate().filter(|(_, event)| !event.run_id.is_empty()) {
            let known = open.get(event.run_id.as_str()).copied().filter(|_| event.kind != "session.started");
            let attempt = known.unwrap_or_else(|| {
                attempts.push(RunAttempt::new(event));
                open.insert(&event.run_id, attempts.len() - 1);
                attempts.len() - 1
            });
            attempts[attempt].event_indices.push(at);
        }
        attempts
    }

    /// Returns the data of an attempt's last event of this kind.
    fn last_event_data(&self, attempt: &RunAttempt, kind: &str) -> Option<Value> {
        let events = attempt.event_indices.iter().rev().filter_map(|at| self.events.get(*at));
        self.data(events.into_iter().find(|event| event.kind == kind)?)
    }

    /// Returns the sizes of an attempt's system prompt (trajectory 6.4).
    pub fn prompt_report(&self, attempt: &RunAttempt) -> Option<SystemPromptReport> {
        let metadata = self.last_event_data(attempt, "trace.metadata")?;
        SystemPromptReport::from_value(metadata.get("prompting")?.get("systemPromptReport")?)
    }

    /// Reads what the attempt recorded of its context.
    pub fn read_details(&self, attempt: &RunAttempt) -> AttemptDetails {
        let of = |kind: &str| self.last_event_data(attempt, kind);
        let (metadata, submitted) = (of("trace.metadata"), of("prompt.submitted"));
        let within = |path: [&str; 2]| metadata.as_ref()?.get(path[0])?.get(path[1]);
        AttemptDetails {
            trigger: owned_text(of("session.started").and_then(|data| data.get("trigger").cloned()).as_ref()),
            gateway_version: owned_text(within(["harness", "version"])),
            config: within(["config", "redacted"]).filter(|value| value.as_object().is_some()).cloned(),
            compiled: CompiledContext::from_data(of("context.compiled").as_ref(), submitted.as_ref()),
            is_submitted: submitted.is_some(),
            status: owned_text(of("session.ended").and_then(|data| data.get("status").cloned()).as_ref()),
        }
    }
}

// `context.compiled`: the messages at the start of an attempt, before the trimming of each call (trajectory 4, 5). The
// recorder cuts long values, so every part may be incomplete.

#[derive(Debug, Clone, PartialEq)]
pub enum CompiledContext {
    /// Recorded, with possible cuts inside.
    Present(ContextSnapshot),
    /// The recorder cut the whole line.
    Cut(CutContext),
    /// The attempt ended before this event.
    Missing,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ContextSnapshot {
    /// Leaf of the transcript when the prompt was built; `None` in an empty session.
    pub leaf_id: Option<String>,
    /// `None` when the recorder dropped the list, or when the Codex harness ran.
    pub messages: Option<RecordedList>,
    /// Length of the system prompt in UTF-16 units.
    pub system_chars: Option<Chars>,
    /// `None` when the recorder cut it.
    pub system_prompt: Option<String>,
    pub tools: Vec<RecordedTool>,
}

/// A list whose end the recorder may have cut.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecordedList {
    pub items: Vec<Value>,
    /// Length of the original list, with the items that the recorder left out.
    pub total: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedTool {
    pub name: String,
    /// UTF-8 bytes of its schema as recorded; fewer than were sent when it was cut.
    pub schema_bytes: Bytes,
    /// Whether the recorder left out parts of the schema.
    pub is_cut: bool,
}

/// Remaining facts about a context that was too long for its line.
#[derive(Debug, Clone, PartialEq)]
pub struct CutContext {
    pub reason: String,
    /// Original bytes of the line.
    pub bytes: Option<Bytes>,
    /// Maximum bytes of a line.
    pub limit: Option<Bytes>,
    /// Messages of `prompt.submitted`, which are the same.
    pub recovered_messages: Option<RecordedList>,
}

impl CompiledContext {
    pub(super) fn from_data(data: Option<&Value>, submitted: Option<&Value>) -> Self {
        let Some(data) = data else { return Self::Missing };
        // The list at the call equals the list at the start (trajectory 3.3); later releases drop it from one of the
        // two lines.
        let submitted = submitted.and_then(|data| RecordedList::from_value(data.get("messages")));
        if let Some(reason) = cut_reason(data) {
            return Self::Cut(CutContext {
                reason,
                bytes: whole_number(data.get("originalBytes")).map(Bytes),
                limit: whole_number(data.get("limitBytes")).map(Bytes),
                recovered_messages: submitted,
            });
        }
        let system = data.get("systemPrompt");
        let tools = RecordedList::from_value(data.get("tools")).unwrap_or_default();
        let own = system.and_then(Value::as_str);
        Self::Present(ContextSnapshot {
            leaf_id: owned_text(data.get("transcriptLeafId")),
            messages: RecordedList::from_value(data.get("messages")).or(submitted),
            system_chars: own
                .map(|text| Chars::from_len(text.len()))
                .or_else(|| whole_number(system?.get("originalChars")).map(|chars| Chars(chars as f64))),
            system_prompt: owned_text(system),
            tools: tools.items.iter().filter_map(RecordedTool::from_value).collect(),
        })
    }
}

impl RecordedList {
    /// Reads an array: the recorder keeps the first items and a mark for the rest (trajectory 4.1).
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
        let schema_bytes = Bytes::from_len(js::stringify(schema).len());
        Some(Self { name: owned_text(value.get("name"))?, schema_bytes, is_cut: has_cut_mark(schema) })
    }
}

/// Whether the recorder cut anything inside; a recorded value nests at most six levels.
fn has_cut_mark(value: &Value) -> bool {
    cut_reason(value).is_some()
        || match value {
            Value::Array(items) => items.iter().any(has_cut_mark),
            Value::Object(object) => object.iter().any(|(_, value)| has_cut_mark(value)),
            _ => false,
        }
}
