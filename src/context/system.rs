//! Replays the system messages of a context to the system prompt and tools in force (store-pi-1.5 D6).

use crate::context::build::{ContentSource, ContextMessage};
use crate::context::tokens::estimate_message;
use crate::js::{self, JsException, JsString, Object, Value};
use crate::store::entry::{ReadMode, Role};
use crate::store::index::Index;
use crate::store::prompt_report::SystemPromptReport;
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

// Reports system prompt and tools of a pi transcript in the form of a gateway's run report, so that the budget and the
// breakdown treat both alike (store-pi-1.5 B9, D6).

pub fn report_from_state(state: &SystemState) -> Option<SystemPromptReport> {
    SystemPromptReport::from_value(&report_value(state))
}

fn report_value(state: &SystemState) -> Value {
    let section = |name: &str| {
        let text = state.sections().find(|(key, _)| key.eq_str(name)).map(|(_, text)| text)?;
        text.as_str().cloned()
    };
    let chars = |text: &Option<JsString>| number(text.as_ref().map_or(0, JsString::len));
    let (project, skills, list) = (section("project_context"), section("skills"), section("tools"));
    let prompt = state.prompt().len();
    let project_chars = project.as_ref().map_or(0, JsString::len);
    let declared = Value::Array(state.tools().cloned().collect());
    let schema_chars = if state.tools().count() == 0 { 0 } else { js::stringify_len(&declared) };
    object([
        ("source", Value::from("transcript")),
        ("generatedAt", state.timestamp().cloned().unwrap_or(Value::Null)),
        (
            "systemPrompt",
            object([
                ("chars", number(prompt)),
                ("projectContextChars", number(project_chars)),
                ("nonProjectContextChars", number(prompt.saturating_sub(project_chars))),
            ]),
        ),
        ("injectedWorkspaceFiles", file_values(project.as_ref())),
        ("skills", object([("promptChars", chars(&skills)), ("entries", skill_values(skills.as_ref()))])),
        (
            "tools",
            object([
                ("listChars", chars(&list)),
                ("schemaChars", number(schema_chars)),
                ("entries", Value::Array(state.tools().map(tool_value).collect())),
            ]),
        ),
    ])
}

/// Reports a tool by the chars of its whole declaration, which is sent and estimated.
fn tool_value(tool: &Value) -> Value {
    let properties = tool.get("parameters").and_then(|schema| schema.get("properties")?.as_object());
    object([
        ("name", Value::String(js::to_text(tool.get("name")))),
        ("summaryChars", number(0)),
        ("schemaChars", number(js::stringify_len(tool))),
        ("propertiesCount", properties.map_or(Value::Null, |it| number(it.iter().len()))),
    ])
}

/// Finds the project files: each is in a tag that names its path.
fn file_values(section: Option<&JsString>) -> Value {
    let text = section.map(JsString::to_string_lossy).unwrap_or_default();
    let each = texts_between(&text, "<project_instructions path=\"", "</project_instructions>");
    let file = |block: &str| {
        let path = block.split('"').next().unwrap_or_default();
        let chars = number(JsString::from(block).len());
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        object([
            ("name", Value::from(name)),
            ("path", Value::from(path)),
            ("rawChars", chars.clone()),
            ("injectedChars", chars),
        ])
    };
    Value::Array(each.into_iter().map(file).collect())
}

/// Finds the offered skills, each with the size of its block.
fn skill_values(section: Option<&JsString>) -> Value {
    let text = section.map(JsString::to_string_lossy).unwrap_or_default();
    let skill = |block: &str| {
        let name = texts_between(block, "<name>", "</name>").first().copied().unwrap_or_default();
        object([("name", Value::from(name.trim())), ("blockChars", number(JsString::from(block).len()))])
    };
    Value::Array(texts_between(&text, "<skill>", "</skill>").into_iter().map(skill).collect())
}

/// Returns the texts between each pair of marks.
fn texts_between<'a>(text: &'a str, open: &str, close: &str) -> Vec<&'a str> {
    let blocks = text.split(open).skip(1);
    blocks.filter_map(|rest| rest.split_once(close).map(|(block, _)| block)).collect()
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Object(Object::from(members))
}

fn number(count: usize) -> Value {
    Value::Number(count as f64)
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

#[cfg(test)]
mod system_report_tests {
    use super::*;
    use crate::context::{budget::FixedChars, system::replay_system_messages};
    use crate::context::{build_context, tokens::estimate_message};
    use crate::ids::LineIds;
    use crate::store::entry::ReadMode;
    use crate::store::load::load_for_release;
    use crate::store::source::Source;
    use crate::transcript::{Leaf, Tree};
    use crate::units::{Chars, Tokens};

    const SYSTEM: &str = r#"{"type":"message","id":"a","parentId":null,"message":{"role":"system","content":"","sections":{
        "preamble":"You help.","tools":"<tools>\nread\n</tools>","project_context":"<project_context>\n<project_instructions path=\"/w/AGENTS.md\">\nbe brief\n</project_instructions>\n</project_context>",
        "skills":"<skills>\n  <skill>\n    <name>tmux</name>\n  </skill>\n</skills>"},"toolsAdded":[{"name":"read","description":"reads","parameters":{"properties":{"path":{}}}}],"timestamp":5}}"#;

    #[test]
    fn prompt_sections_are_reported_as_by_a_run() {
        let line = SYSTEM.replace('\n', "");
        let text = format!("{{\"type\":\"session\",\"version\":3,\"id\":\"s\"}}\n{line}\n");
        let source = Source::from_memory("t.jsonl", text.into_bytes());
        let index =
            load_for_release(&source, ReadMode::Projected, &mut LineIds, &mut |_, _| true).expect("loads");
        let context = build_context(&index, &Tree::new(&index), &Leaf::Own).expect("builds");
        let state = replay_system_messages(&index, &context.messages).expect("replays").expect("a prompt");
        let report = report_from_state(&state).expect("a report");
        let file = (report.files[0].name.as_str(), report.files[0].path.as_deref());
        assert_eq!(file, ("AGENTS.md", Some("/w/AGENTS.md")));
        assert_eq!((report.skills[0].name.as_str(), report.tools[0].name.as_str()), ("tmux", "read"));
        assert_eq!(report.tools[0].property_count, Some(1));
        let fixed = FixedChars::new(&report);
        assert!(fixed.files > Chars(0.0) && fixed.files < fixed.system && fixed.tools > Chars(40.0));
        // The parts add up to the runtime's estimate, except for the blank lines between sections.
        let tokens = estimate_message(&context.messages[0].size).expect("measurable");
        assert!((tokens - (fixed.system + fixed.tools).to_tokens(4.0)).abs() < Tokens(4.0));
    }
}
