//! `--messages`: prints the messages as the runtime builds them, as JSON for scripts and as text for people.

use std::io::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::failure::Failure;
use super::output::{Output, Tone};
use crate::context::bodies;
use crate::format::{format_count, format_estimate};
use crate::js::{self, JsString, Value};
use crate::plan::{CompactionSummary, Plan, messages_after, summary_message};
use crate::session::{AddedText, LoadedSession};
use crate::text::visible;
use crate::units::{Moment, Tokens};

pub(super) fn read(session: &LoadedSession) -> Result<Vec<Value>, Failure> {
    bodies::read_messages(&session.source, &session.index, &session.context)
        .map_err(|error| Failure::unreadable(error.to_string()))
}

/// Reads the messages as a plan would send them.
pub(super) fn read_planned(
    session: &LoadedSession,
    plan: &Plan,
    made: Option<&CompactionSummary>,
    now_ms: Moment,
) -> Result<Vec<Value>, Failure> {
    let summary = summary_message(plan, made, now_ms);
    let LoadedSession { source, index, context, .. } = session;
    messages_after(source, index, context, plan, &summary, now_ms)
        .map_err(|error| Failure::unreadable(error.to_string()))
}

/// A text that the gateway adds to a message when it sends it.
#[derive(Serialize, JsonSchema)]
pub(super) struct AddedTextJson {
    /// Position of the message in `messages`, from 0; their number for a message of its own.
    message: usize,
    /// What stands before its first text, or the message of its own.
    before: String,
    /// Estimated tokens.
    tokens: Tokens,
}

pub(super) fn added_texts(session: &LoadedSession) -> Result<Vec<AddedTextJson>, Failure> {
    let added = session.added_texts().map_err(|error| Failure::unreadable(error.to_string()))?;
    Ok(added_json(added))
}

/// Returns what is added to the messages of a plan.
pub(super) fn added_to(session: &LoadedSession, messages: &[Value]) -> Vec<AddedTextJson> {
    added_json(session.added_to(messages.iter().enumerate(), messages.len()))
}

fn added_json(added: Vec<AddedText>) -> Vec<AddedTextJson> {
    let json = |added: AddedText| AddedTextJson {
        message: added.message,
        tokens: added.tokens(),
        before: added.before,
    };
    added.into_iter().map(json).collect()
}

/// Prints what is added on sending, in one line.
pub(super) fn print_added(added: &[AddedTextJson], output: &mut Output) -> Result<(), Failure> {
    let Some(first) = added.first() else { return Ok(()) };
    let tokens: Tokens = added.iter().map(|added| added.tokens).sum();
    let line = format!(
        "on sending the gateway adds {}: {} tokens, such as {:?}",
        format_count(added.len() as u64, "text", "texts"),
        format_estimate(tokens.whole()),
        first.before
    );
    Ok(output.line(Tone::Dim, &line)?)
}

/// Prints a message as text: `head`, then its blocks.
pub(super) fn print(output: &mut Output, head: &str, message: &Value) -> Result<(), Failure> {
    output.line(Tone::Strong, head)?;
    for part in message_parts(message) {
        for line in part.lines() {
            output.line(Tone::Plain, &format!("  {}", visible(line)))?;
        }
    }
    Ok(writeln!(output)?)
}

/// Returns the text of each block, or of the message's other members.
fn message_parts(message: &Value) -> Vec<String> {
    let mut parts: Vec<String> = match message.get("content") {
        Some(Value::Array(blocks)) => blocks.iter().map(format_block).collect(),
        Some(Value::String(text)) => vec![text.to_string_lossy()],
        _ => Vec::new(),
    };
    for key in ["summary", "command", "output", "errorMessage"] {
        if let Some(text) = string_member(message, key) {
            parts.push(text);
        }
    }
    if parts.is_empty() {
        parts.push(js::stringify(message));
    }
    parts
}

fn string_member(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).map(JsString::to_string_lossy)
}

fn format_block(block: &Value) -> String {
    let kind = string_member(block, "type").unwrap_or_default();
    match kind.as_str() {
        "text" => string_member(block, "text").unwrap_or_default(),
        "thinking" => format!("[thinking] {}", string_member(block, "thinking").unwrap_or_default()),
        "toolCall" => {
            let arguments = block.get("arguments").map(js::stringify).unwrap_or_default();
            format!("[call] {} {arguments}", string_member(block, "name").unwrap_or_default())
        }
        "image" => {
            let chars = block.get("data").and_then(Value::as_str).map_or(0, JsString::len);
            format!("[image] {} {chars} chars", string_member(block, "mimeType").unwrap_or_default())
        }
        _ => js::stringify(block),
    }
}
