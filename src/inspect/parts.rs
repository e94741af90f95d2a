//! The parts of a message, and what each says as text.

use crate::inspect::indent;
use crate::inspect::message::{PartKind, TextPart};
use crate::js::{self, JsString, Value};
use crate::store::entry::{EntryKind, Role};

/// Keys that tell most of a call, the most telling first.
const TELLING: [&str; 9] =
    ["command", "cmd", "path", "file_path", "url", "query", "pattern", "text", "action"];

/// The parts of an entry, in the order of the file.
pub fn of_entry(entry: &Value, kind: EntryKind, role: Option<Role>) -> Vec<TextPart> {
    match kind {
        EntryKind::Message => {
            entry.get("message").map(|message| of_message(message, role)).unwrap_or_default()
        }
        EntryKind::Compaction | EntryKind::BranchSummary => field(entry, "summary"),
        EntryKind::CustomMessage => content(entry.get("content")),
        EntryKind::Custom => content(entry.get("data")),
        EntryKind::SessionInfo => field(entry, "name"),
        EntryKind::Label => field(entry, "label"),
        EntryKind::ThinkingLevelChange => field(entry, "thinkingLevel"),
        EntryKind::ModelChange => field(entry, "modelId"),
        EntryKind::Reset => field(entry, "reason"),
        EntryKind::Leaf => field(entry, "targetId"),
        EntryKind::ContextEdit => match entry.get("replacement").and_then(|new| new.get("content")) {
            Some(new) => content(Some(new)),
            None => vec![json(entry)],
        },
        EntryKind::Usage | EntryKind::Unknown | EntryKind::Scalar => vec![json(entry)],
    }
}

/// The parts of a message.
pub fn of_message(message: &Value, role: Option<Role>) -> Vec<TextPart> {
    match role {
        Some(Role::BashExecution) => {
            let call = PartKind::Call { name: "!".into(), id: String::new() };
            let command = message.get("command").map(|command| part(call, plain(command)));
            command.into_iter().chain(field(message, "output")).collect()
        }
        Some(Role::BranchSummary | Role::CompactionSummary) => field(message, "summary"),
        Some(Role::Other) | None if message.get("content").is_none() => vec![json(message)],
        _ => {
            let mut parts = content(message.get("content"));
            let error = message.get("errorMessage").filter(|error| js::truthy(Some(error)));
            parts.extend(error.map(|error| part(PartKind::Error, plain(error))));
            parts
        }
    }
}

/// A content: text, blocks, or anything else as JSON. Absent and null ones have no parts.
fn content(content: Option<&Value>) -> Vec<TextPart> {
    match content {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(text)) => vec![part(PartKind::Text, text.to_string_lossy())],
        Some(Value::Array(blocks)) => blocks.iter().map(block).collect(),
        Some(other) => vec![json(other)],
    }
}

/// One block (store I6); the names other programs give to calls are taken too.
fn block(block: &Value) -> TextPart {
    let kind = block.get("type").and_then(Value::as_str).map(JsString::to_string_lossy).unwrap_or_default();
    let text = |key: &str| block.get(key).and_then(Value::as_str).map(JsString::to_string_lossy);
    match kind.as_str() {
        "text" => text("text").map_or_else(|| json(block), |text| part(PartKind::Text, text)),
        "thinking" => part(PartKind::Thinking, thinking(block)),
        "image" => {
            let chars = block.get("data").and_then(Value::as_str).map_or(0, JsString::len);
            part(PartKind::Image { mime: text("mimeType").unwrap_or_default(), chars }, String::new())
        }
        "toolCall" | "toolUse" | "tool_use" | "functionCall" => {
            let arguments = block.get("arguments").or_else(|| block.get("input"));
            let kind =
                PartKind::Call { name: text("name").unwrap_or_default(), id: text("id").unwrap_or_default() };
            part(kind, arguments.map(arguments_text).unwrap_or_default())
        }
        _ => json(block),
    }
}

fn thinking(block: &Value) -> String {
    let text = block.get("thinking").map(plain).unwrap_or_default();
    if text.is_empty() && js::truthy(block.get("redacted")) {
        return "redacted: only the provider can read it".into();
    }
    text
}

/// Arguments a line each, with real line breaks in their texts.
fn arguments_text(arguments: &Value) -> String {
    match arguments {
        Value::Object(object) => object
            .iter()
            .map(|(key, value)| argument(&key.to_string_lossy(), value))
            .collect::<Vec<_>>()
            .join("\n"),
        other => plain(other),
    }
}

fn argument(key: &str, value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.to_string_lossy(),
        Value::Array(_) | Value::Object(_) => indent::value(value),
        other => js::stringify(other),
    };
    if text.contains('\n') {
        let lines: Vec<String> = text.split('\n').map(|line| format!("  {line}")).collect();
        return format!("{key}:\n{}", lines.join("\n"));
    }
    format!("{key}: {text}")
}

/// Arguments as a person would say them, on one line: the command, path, query or url, else the JSON.
pub(super) fn arguments_line(arguments: &Value) -> String {
    let first = TELLING.iter().find_map(|key| arguments.get(key)?.as_str());
    let text = first.map_or_else(|| plain(arguments), JsString::to_string_lossy);
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
}

/// A text as it is, anything else as compact JSON.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string_lossy(),
        other => js::stringify(other),
    }
}

fn field(object: &Value, key: &str) -> Vec<TextPart> {
    object.get(key).map(|value| part(PartKind::Text, plain(value))).into_iter().collect()
}

fn json(value: &Value) -> TextPart {
    part(PartKind::Other, indent::value(value))
}

fn part(kind: PartKind, text: String) -> TextPart {
    TextPart { kind, text }
}
