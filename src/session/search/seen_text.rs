//! The text of an entry that a search reads: that of the message pane, without ids, image data, settings of
//! the provider and JSON of unknown kinds.

use crate::js::Value;
use crate::session::message::{PartKind, TextPart, parts_of_entry};
use crate::store::entry::{EntryKind, Role};

/// The kind of an entry and its role, only from its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EntryLabel {
    pub(super) kind: EntryKind,
    pub(super) role: Option<Role>,
}

impl EntryLabel {
    /// Returns `None` for the header of a file and for lines that are not entries.
    pub(super) fn of(entry: &Value) -> Option<Self> {
        let kind = entry.get("type")?.as_str()?.to_string_lossy();
        if kind == "session" {
            return None;
        }
        let kind = EntryKind::from_type(&kind);
        let role = entry.get("message").and_then(|message| message.get("role")).and_then(Value::as_str);
        let role = role.map(|role| Role::from_text(&role.to_string_lossy()));
        Some(Self { kind, role: role.filter(|_| kind == EntryKind::Message) })
    }

    /// Returns the word for JSON: the role of a message, the type of any other entry.
    pub(super) fn as_str(self) -> &'static str {
        self.role.map_or(self.kind.as_str(), Role::as_str)
    }
}

/// Returns the parts of an entry that are text, each with the name of its tool.
pub(super) fn seen_parts(entry: &Value, label: EntryLabel) -> Vec<SeenPart> {
    // A leaf row holds an id and nothing else.
    if label.kind == EntryKind::Leaf {
        return Vec::new();
    }
    let tool = (label.role == Some(Role::ToolResult)).then(|| tool_name(entry)).flatten();
    let parts = parts_of_entry(entry, label.kind, label.role).into_iter();
    let mut seen: Vec<SeenPart> = parts.filter_map(|part| SeenPart::new(part, tool.as_ref())).collect();
    if seen.is_empty() && tool.is_some() {
        seen.push(SeenPart { kind: "text", tool, text: String::new() });
    }
    seen
}

fn tool_name(entry: &Value) -> Option<String> {
    Some(entry.get("message")?.get("toolName")?.as_str()?.to_string_lossy())
}

/// One part of an entry as a search sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SeenPart {
    /// The word for JSON: `text`, `thinking`, `call` or `error`.
    pub(super) kind: &'static str,
    /// The tool that is called or has answered.
    pub(super) tool: Option<String>,
    pub(super) text: String,
}

impl SeenPart {
    fn new(part: TextPart, answered: Option<&String>) -> Option<Self> {
        let (kind, tool) = match part.kind {
            PartKind::Text => ("text", answered.cloned()),
            PartKind::Thinking => ("thinking", None),
            PartKind::Call { name, .. } => ("call", Some(name)),
            PartKind::Error => ("error", None),
            PartKind::Image { .. } | PartKind::Other => return None,
        };
        Some(Self { kind, tool, text: part.text })
    }
}

/// Joins the parts, with the tools' names, into the text that must hold every word.
pub(super) fn joined(parts: &[SeenPart]) -> String {
    let lines = parts.iter().flat_map(|part| part.tool.as_deref().into_iter().chain([part.text.as_str()]));
    lines.collect::<Vec<_>>().join("\n")
}
