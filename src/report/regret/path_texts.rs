//! The messages of a path as regret compares them: their identifiers and tool calls, without their texts.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rayon::prelude::*;

use super::identifiers::identifiers;
use crate::context::bodies::into_message;
use crate::context::tokens::chars4::{estimate_chars, estimate_or_zero};
use crate::ids::EntryIx;
use crate::js::{self, Value};
use crate::session::LoadedSession;
use crate::store::body::{BodyError, read_entry};
use crate::store::entry::Role;

/// Arguments that name the file of a tool call.
const PATH_KEYS: [&str; 4] = ["path", "file_path", "filePath", "file"];
/// Parts of the names of tools that change files.
const WRITING_TOOLS: [&str; 4] = ["write", "edit", "patch", "replace"];

/// One message of the path.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PathMessage {
    pub(super) entry: EntryIx,
    /// Position on the path.
    pub(super) position: usize,
    pub(super) role: Role,
    /// The tool of a result.
    pub(super) tool: Option<String>,
    /// The call that a result answers.
    pub(super) answers: Option<String>,
    pub(super) tokens: f64,
    pub(super) identifiers: BTreeSet<String>,
    pub(super) uses: Vec<ToolUse>,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ToolUse {
    pub(super) id: String,
    pub(super) tool: String,
    /// With sorted keys, without blanks around values and without nulls.
    pub(super) arguments: String,
    /// The file that it names.
    pub(super) path: Option<String>,
    /// It runs a command, which may read any file.
    pub(super) runs_command: bool,
    /// Estimated tokens of name and arguments.
    pub(super) tokens: f64,
}

impl ToolUse {
    /// Whether it changes a file.
    pub(super) fn writes(&self) -> bool {
        let tool = self.tool.to_ascii_lowercase();
        self.path.is_some() && WRITING_TOOLS.iter().any(|part| tool.contains(part))
    }
}

/// Reads the messages of a path. `weights` are tokens on the provider's scale.
pub(super) fn read_path(
    session: &LoadedSession,
    path: &[EntryIx],
    weights: &HashMap<EntryIx, f64>,
) -> Result<Vec<PathMessage>, BodyError> {
    let read = |(position, ix): (usize, &EntryIx)| {
        let entry = session.index.entry(*ix);
        let Some(size) = entry.message else { return Ok(None) };
        let body = read_entry(&session.source, &session.index, *ix)?;
        let message = into_message(body, entry.kind);
        let text_of = |key: &str| Some(js::to_text(Some(message.get(key)?)).to_string_lossy());
        Ok(Some(PathMessage {
            entry: *ix,
            position,
            role: size.role,
            tool: text_of("toolName").filter(|_| size.role == Role::ToolResult),
            answers: text_of("toolCallId").filter(|_| size.role == Role::ToolResult),
            tokens: weights.get(ix).copied().unwrap_or_else(|| estimate_or_zero(&size) as f64),
            identifiers: identifiers(&text_of_message(&message)),
            uses: tool_uses(&message),
        }))
    };
    let messages: Result<Vec<_>, BodyError> = path.par_iter().enumerate().map(read).collect();
    Ok(messages?.into_iter().flatten().collect())
}

/// Joins the texts of a message and the arguments of its calls. Thinking is left out: the model does not get it back.
fn text_of_message(message: &Value) -> String {
    let mut text = String::new();
    let content = message.get("content").or_else(|| message.get("summary"));
    match content {
        Some(Value::Array(blocks)) => {
            for block in blocks {
                let part = block.get("text").or_else(|| block.get("arguments"));
                push_texts(part, &mut text);
            }
        }
        other => push_texts(other, &mut text),
    }
    text
}

fn push_texts(value: Option<&Value>, text: &mut String) {
    match value {
        Some(Value::String(own)) => {
            text.push_str(&own.to_string_lossy());
            text.push('\n');
        }
        Some(Value::Array(items)) => items.iter().for_each(|item| push_texts(Some(item), text)),
        Some(Value::Object(object)) => object.iter().for_each(|(_, item)| push_texts(Some(item), text)),
        _ => {}
    }
}

fn tool_uses(message: &Value) -> Vec<ToolUse> {
    let blocks = message.get("content").and_then(Value::as_array).unwrap_or_default();
    let calls = blocks.iter().filter(|block| block.get("type").is_some_and(|kind| kind.str_is("toolCall")));
    let text = |value: Option<&Value>| value.map(|value| js::to_text(Some(value)).to_string_lossy());
    calls
        .map(|block| {
            let arguments = block.get("arguments").unwrap_or(&Value::Null);
            let normal = normalised(arguments);
            let tool = text(block.get("name")).unwrap_or_default();
            ToolUse {
                id: text(block.get("id")).unwrap_or_default(),
                path: PATH_KEYS.iter().find_map(|key| text(arguments.get(key))).map(|path| file_name(&path)),
                runs_command: arguments.get("command").is_some(),
                tokens: estimate_chars((tool.len() + normal.len()) as u64) as f64,
                tool,
                arguments: normal,
            }
        })
        .collect()
}

/// Writes arguments with sorted keys, without nulls and without blanks around texts.
fn normalised(value: &Value) -> String {
    match value {
        Value::Object(object) => {
            let members: BTreeMap<String, String> = object
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| (key.to_string_lossy(), normalised(value)))
                .collect();
            let members: Vec<String> = members.iter().map(|(key, value)| format!("{key}:{value}")).collect();
            format!("{{{}}}", members.join(","))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(normalised).collect::<Vec<_>>().join(","))
        }
        Value::String(text) => js::stringify_str(&file_name(text.to_string_lossy().trim()).as_str().into()),
        other => js::stringify(other),
    }
}

/// Removes `./` from the start of a path.
fn file_name(path: &str) -> String {
    path.strip_prefix("./").unwrap_or(path).to_owned()
}
