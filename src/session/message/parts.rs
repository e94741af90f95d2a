//! Splits a message into its parts and turns each into text.

use crate::js;
use crate::js::{JsString, Value};
use crate::session::message::indent;
use crate::store::entry::{EntryKind, Role};
use crate::units::Chars;

/// Keys that identify a call best, in order of preference.
const MAIN_ARGUMENTS: [&str; 9] =
    ["command", "cmd", "path", "file_path", "url", "query", "pattern", "text", "action"];

/// Returns the parts of an entry, in file order.
pub fn entry_parts(entry: &Value, kind: EntryKind, role: Option<Role>) -> Vec<TextPart> {
    match kind {
        EntryKind::Message => {
            entry.get("message").map(|message| message_parts(message, role)).unwrap_or_default()
        }
        EntryKind::Compaction | EntryKind::BranchSummary => field_parts(entry, "summary"),
        EntryKind::CustomMessage => content_parts(entry.get("content")),
        EntryKind::Custom => content_parts(entry.get("data")),
        EntryKind::SessionInfo => field_parts(entry, "name"),
        EntryKind::Label => field_parts(entry, "label"),
        EntryKind::ThinkingLevelChange => field_parts(entry, "thinkingLevel"),
        EntryKind::ModelChange => field_parts(entry, "modelId"),
        EntryKind::Reset => field_parts(entry, "reason"),
        EntryKind::Leaf => field_parts(entry, "targetId"),
        EntryKind::ContextEdit => match entry.get("replacement").and_then(|new| new.get("content")) {
            Some(new) => content_parts(Some(new)),
            None => vec![json_part(entry)],
        },
        EntryKind::Usage | EntryKind::Unknown | EntryKind::Scalar => vec![json_part(entry)],
    }
}

pub fn message_parts(message: &Value, role: Option<Role>) -> Vec<TextPart> {
    match role {
        Some(Role::BashExecution) => {
            let call = PartKind::Call { name: "!".into(), id: String::new() };
            let command = message.get("command").map(|command| text_part(call, value_text(command)));
            command.into_iter().chain(field_parts(message, "output")).collect()
        }
        Some(Role::BranchSummary | Role::CompactionSummary) => field_parts(message, "summary"),
        Some(Role::Other) | None if message.get("content").is_none() => vec![json_part(message)],
        _ => {
            let mut parts = content_parts(message.get("content"));
            let error = message.get("errorMessage").filter(|error| js::is_truthy(Some(error)));
            parts.extend(error.map(|error| text_part(PartKind::Error, value_text(error))));
            parts
        }
    }
}

/// Splits a content into text, blocks, or anything else as JSON. Absent and null contents have no parts.
fn content_parts(content: Option<&Value>) -> Vec<TextPart> {
    match content {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(text)) => vec![text_part(PartKind::Text, text.to_string_lossy())],
        Some(Value::Array(blocks)) => blocks.iter().map(block_part).collect(),
        Some(other) => vec![json_part(other)],
    }
}

/// Converts one block (store I6). Also accepts the names that other programs give to calls.
fn block_part(block: &Value) -> TextPart {
    let kind = block.get("type").and_then(Value::as_str).map(JsString::to_string_lossy).unwrap_or_default();
    let text = |key: &str| block.get(key).and_then(Value::as_str).map(JsString::to_string_lossy);
    match kind.as_str() {
        "text" => text("text").map_or_else(|| json_part(block), |text| text_part(PartKind::Text, text)),
        "thinking" => text_part(PartKind::Thinking, thinking_text(block)),
        "image" => {
            let chars = block
                .get("data")
                .and_then(Value::as_str)
                .map_or(Chars::ZERO, |data| Chars::from_len(data.len()));
            text_part(PartKind::Image { mime: text("mimeType").unwrap_or_default(), chars }, String::new())
        }
        "toolCall" | "toolUse" | "tool_use" | "functionCall" => {
            let arguments = block.get("arguments").or_else(|| block.get("input"));
            let kind =
                PartKind::Call { name: text("name").unwrap_or_default(), id: text("id").unwrap_or_default() };
            text_part(kind, arguments.map(arguments_text).unwrap_or_default())
        }
        _ => json_part(block),
    }
}

fn thinking_text(block: &Value) -> String {
    let text = block.get("thinking").map(value_text).unwrap_or_default();
    if text.is_empty() && js::is_truthy(block.get("redacted")) {
        return "redacted: only the provider can read it".into();
    }
    text
}

/// Formats arguments one per line, with real line breaks in their texts.
fn arguments_text(arguments: &Value) -> String {
    match arguments {
        Value::Object(object) => object
            .iter()
            .map(|(key, value)| argument_text(&key.to_string_lossy(), value))
            .collect::<Vec<_>>()
            .join("\n"),
        other => value_text(other),
    }
}

fn argument_text(key: &str, value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.to_string_lossy(),
        Value::Array(_) | Value::Object(_) => indent::indent_value(value),
        other => js::stringify(other),
    };
    if text.contains('\n') {
        let lines: Vec<String> = text.split('\n').map(|line| format!("  {line}")).collect();
        return format!("{key}:\n{}", lines.join("\n"));
    }
    format!("{key}: {text}")
}

/// Formats arguments on one line, as a person would say them: the command, path, query or URL, else the JSON.
pub(super) fn arguments_line(arguments: &Value) -> String {
    let first = MAIN_ARGUMENTS.iter().find_map(|key| arguments.get(key)?.as_str());
    let text = first.map_or_else(|| value_text(arguments), JsString::to_string_lossy);
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
}

/// Returns a text unchanged, and anything else as compact JSON.
pub(super) fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string_lossy(),
        other => js::stringify(other),
    }
}

fn field_parts(object: &Value, key: &str) -> Vec<TextPart> {
    object.get(key).map(|value| text_part(PartKind::Text, value_text(value))).into_iter().collect()
}

fn json_part(value: &Value) -> TextPart {
    text_part(PartKind::Other, indent::indent_value(value))
}

fn text_part(kind: PartKind, text: String) -> TextPart {
    TextPart { kind, text }
}

// One part of a message as text.

#[derive(Debug, Clone, PartialEq)]
pub enum PartKind {
    /// Text of any role.
    Text,
    Thinking,
    Call {
        /// Name of the tool.
        name: String,
        /// Id that the tool's result repeats.
        id: String,
    },
    Image {
        /// Media type, as `image/png`.
        mime: String,
        /// Chars of its base64 data.
        chars: Chars,
    },
    /// An error that the provider or the runtime reports.
    Error,
    /// Any other block, as JSON.
    Other,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TextPart {
    pub kind: PartKind,
    /// The text, not yet escaped for the screen.
    pub text: String,
}
