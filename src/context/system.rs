//! Replays the system messages of a context to the system prompt and tools in force (store-pi-1.5 D6).

use crate::context::build::{ContentSource, ContextMessage};
use crate::context::tokens::estimate_message;
use crate::js::{self, JsException, JsString, Object, Value};
use crate::store::entry::{ReadMode, Role};
use crate::store::index::Index;
use crate::store::scan::{measure_message, with_empty_content};
use crate::units::{Moment, Tokens};

/// The replayed system messages.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SystemState {
    texts: Vec<JsString>,
    sections: Object,
    /// Tools by name, in order of first declaration; a name may be any JSON value, or absent.
    tools: Vec<(Option<Value>, Value)>,
    timestamp: Option<Value>,
}

/// Replays the system messages of a context; `None` without any, or if none has a timestamp. Errors at a tool that is
/// `null`.
pub fn replay_system_messages(
    index: &Index,
    messages: &[ContextMessage],
) -> Result<Option<SystemState>, JsException> {
    let system = messages.iter().filter(|message| message.size.role == Role::System);
    let mut state = SystemState::default();
    for message in system {
        let Some(own) = index.system_message(message.entry) else { continue };
        // A compaction's checkpoint is used unrepaired (store-pi-1.5 C7).
        let repaired =
            if message.content_source == ContentSource::Checkpoint { None } else { with_empty_content(own) };
        let message = repaired.as_ref().unwrap_or(own);
        state.apply_message(message)?;
    }
    Ok(Some(state).filter(|state| state.timestamp.is_some()))
}

impl SystemState {
    fn apply_message(&mut self, message: &Value) -> Result<(), JsException> {
        self.timestamp = self.timestamp.take().or_else(|| message.get("timestamp").cloned());
        self.texts.extend(Some(text_of(message)?).filter(|text| !text.is_empty()));
        match message.get("sections") {
            Some(Value::Object(sections)) => {
                sections.iter().for_each(|(name, text)| self.set_section(name, text));
            }
            Some(Value::Array(sections)) => {
                for (at, text) in sections.iter().enumerate() {
                    self.set_section(&JsString::from(at.to_string()), text);
                }
            }
            _ => {}
        }
        for removed in list_items(message, "toolsRemoved") {
            let name = tool_name(removed)?;
            self.tools.retain(|(known, _)| *known != name);
        }
        for added in list_items(message, "toolsAdded") {
            let name = tool_name(added)?;
            match self.tools.iter_mut().find(|(known, _)| *known == name) {
                Some((_, tool)) => *tool = added.clone(),
                None => self.tools.push((name, added.clone())),
            }
        }
        Ok(())
    }

    fn set_section(&mut self, name: &JsString, text: &Value) {
        if text.is_null() {
            self.sections.remove(&name.to_string_lossy());
        } else {
            self.sections.insert(name.clone(), text.clone());
        }
    }

    /// Joins the texts that belong to no section with blank lines.
    pub fn content(&self) -> JsString {
        join_paragraphs(self.texts.iter().cloned())
    }

    /// Returns name and text of each section, in order.
    pub fn sections(&self) -> impl Iterator<Item = (&JsString, &Value)> {
        self.sections.iter()
    }

    pub fn tools(&self) -> impl Iterator<Item = &Value> {
        self.tools.iter().map(|(_, tool)| tool)
    }

    /// Returns the recorded timestamp of the first message.
    pub fn timestamp(&self) -> Option<&Value> {
        self.timestamp.as_ref()
    }

    /// Builds the prompt that a provider receives.
    pub fn prompt(&self) -> JsString {
        let sections = self.sections.iter().filter_map(|(_, text)| text.as_str().cloned());
        let texts = std::iter::once(self.content()).chain(sections);
        join_paragraphs(texts.filter(|text| !text.is_empty()))
    }

    /// Builds the one equivalent system message, as a compaction stores it (store-pi-1.5 I4).
    pub fn message(&self) -> Value {
        let mut message =
            Object::from([("role", Value::from("system")), ("content", Value::String(self.content()))]);
        if self.sections.iter().len() > 0 {
            message.set("sections", Value::Object(self.sections.clone()));
        }
        if !self.tools.is_empty() {
            message.set("toolsAdded", Value::Array(self.tools().cloned().collect()));
        }
        if let Some(timestamp) = &self.timestamp {
            message.set("timestamp", timestamp.clone());
        }
        Value::Object(message)
    }

    /// Builds the message of [`Self::message`] with the timestamp `now_ms`.
    pub fn message_at(&self, now_ms: Moment) -> Value {
        Self { timestamp: Some(Value::Number(now_ms.get())), ..self.clone() }.message()
    }

    /// Estimates the tokens of that message (store-pi-1.5 E1).
    pub fn tokens(&self) -> Result<Tokens, JsException> {
        estimate_message(&measure_message(&self.message()).size.for_release(ReadMode::Projected))
    }
}

/// Returns the text of a system message: its content, or its text blocks joined by line feeds.
fn text_of(message: &Value) -> Result<JsString, JsException> {
    let blocks = match message.get("content") {
        Some(Value::String(text)) => return Ok(text.clone()),
        Some(Value::Array(blocks)) => blocks,
        _ => return Err(JsException),
    };
    let mut text = JsString::new();
    let mut first = true;
    for block in blocks {
        if !crate::store::measure::is_block_type(block, "text")? {
            continue;
        }
        if !std::mem::take(&mut first) {
            text.push_str("\n");
        }
        if let Some(own) = block.get("text").filter(|own| !own.is_null()) {
            text.push(&js::to_text(Some(own)));
        }
    }
    Ok(text)
}

fn list_items<'a>(message: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    message.get(key).and_then(Value::as_array).unwrap_or_default().iter()
}

fn tool_name(tool: &Value) -> Result<Option<Value>, JsException> {
    if tool.is_null() { Err(JsException) } else { Ok(tool.get("name").cloned()) }
}

fn join_paragraphs(texts: impl Iterator<Item = JsString>) -> JsString {
    let mut whole = JsString::new();
    for (at, text) in texts.enumerate() {
        if at > 0 {
            whole.push_str("\n\n");
        }
        whole.push(&text);
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(messages: &[&str]) -> Result<SystemState, JsException> {
        let mut state = SystemState::default();
        messages.iter().try_for_each(|json| state.apply_message(&js::parse(json).expect("test JSON")))?;
        Ok(state)
    }

    #[test]
    fn later_system_messages_change_earlier_ones() {
        let state = state(&[
            r#"{"content":"a","sections":{"rules":"r","cwd":"c"},"toolsAdded":[{"name":"read"},{"name":"bash"}]}"#,
            r#"{"content":"b","sections":{"rules":null,"1":"one"},"toolsRemoved":[{"name":"read"}],"toolsAdded":[{"name":"read","v":2}]}"#,
            r#"{"content":"","sections":{"rules":"again"}}"#,
        ])
        .expect("replays");
        assert_eq!(state.prompt().to_string_lossy(), "a\n\nb\n\none\n\nc\n\nagain");
        let names: Vec<String> =
            state.tools().map(|tool| js::to_text(tool.get("name")).to_string_lossy()).collect();
        assert_eq!(names, ["bash", "read"]);
        assert_eq!(
            js::stringify(&state.message()),
            r#"{"role":"system","content":"a\n\nb","sections":{"1":"one","cwd":"c","rules":"again"},"toolsAdded":[{"name":"bash"},{"name":"read","v":2}]}"#
        );
    }

    #[test]
    fn a_null_tool_fails_and_nameless_tools_count_as_one() {
        assert!(state(&[r#"{"content":"","toolsAdded":[null]}"#]).is_err());
        let nameless = state(&[r#"{"content":"","toolsAdded":[{},{"a":1}]}"#]).expect("replays");
        assert_eq!(nameless.tools().count(), 1);
    }

    #[test]
    fn blocks_become_lines_and_empty_sections_are_omitted() {
        let state =
            state(&[r#"{"content":[{"type":"text"},{"type":"text","text":"t"}],"sections":{"x":""}}"#]);
        assert_eq!(state.expect("replays").prompt().to_string_lossy(), "\nt");
    }
}
