//! Splits a message into its parts and turns each into text.

use crate::js::{self, JsString, Value};
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
        Value::Array(_) | Value::Object(_) => indent_value(value),
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
    text_part(PartKind::Other, indent_value(value))
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

/// Deepest level that is indented: deeper nesting would multiply the size of the text.
const MAX_DEPTH: usize = 40;

/// Indents a transcript line by two spaces per level. Returns text that is not JSON unchanged.
pub(super) fn indent_line(text: &str) -> String {
    js::compact(text).map_or_else(|_| text.to_owned(), |compact| indent_json(&compact))
}

/// Serialises a value, indented by two spaces per level.
fn indent_value(value: &Value) -> String {
    indent_json(&js::stringify(value))
}

/// Breaks compact JSON into lines, and keeps empty containers on one line.
fn indent_json(compact: &str) -> String {
    let bytes = compact.as_bytes();
    let mut out = String::with_capacity(compact.len() * 5 / 4);
    let (mut level, mut from, mut at) = (0_usize, 0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = string_end(bytes, at),
            b'{' | b'[' if !matches!(bytes.get(at + 1), Some(b'}' | b']')) => {
                level += 1;
                push_indented(&mut out, &compact[from..=at], level);
                from = at + 1;
            }
            b'{' | b'[' => at += 1,
            b'}' | b']' => {
                level = level.saturating_sub(1);
                push_indented(&mut out, &compact[from..at], level);
                from = at;
            }
            b',' => {
                push_indented(&mut out, &compact[from..=at], level);
                from = at + 1;
            }
            b':' => {
                out.push_str(&compact[from..=at]);
                out.push(' ');
                from = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    out.push_str(&compact[from..]);
    out
}

/// Returns the position of the closing quote of the string that starts here.
fn string_end(bytes: &[u8], from: usize) -> usize {
    let mut at = from + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at
}

fn push_indented(out: &mut String, piece: &str, level: usize) {
    out.push_str(piece);
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', 2 * level.min(MAX_DEPTH)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indenting_puts_members_on_separate_lines_and_keeps_digits() {
        let text = r#" {"a":1.50,"b":[12345678901234567890,-0],"c":{},"d":[],"e":"x,{\"}\\" }"#;
        let expected = "{\n  \"a\": 1.50,\n  \"b\": [\n    12345678901234567890,\n    -0\n  ],\n  \"c\": {},\n  \"d\": [],\n  \"e\": \"x,{\\\"}\\\\\"\n}";
        assert_eq!(indent_line(text), expected);
    }

    #[test]
    fn spread_text_is_the_same_json() {
        for text in [r#"{"a":[[],[{}],{"b":"\u001b[31m"}],"":null}"#, "[]", "5", r#""x\"y""#, "[[[1]]]"] {
            assert_eq!(js::compact(&indent_line(text)).unwrap(), js::compact(text).unwrap(), "{text}");
        }
    }

    #[test]
    fn invalid_json_is_unchanged_and_deep_nesting_has_limited_indentation() {
        assert_eq!(indent_line("{\"a\" 1}"), "{\"a\" 1}");
        let deep = "[".repeat(4_000) + "1" + &"]".repeat(4_000);
        assert!(indent_line(&deep).len() < 8_000 * (2 * MAX_DEPTH + 2));
    }
}
