//! `--messages`: prints the messages as the runtime builds them, as JSON for scripts and as text for people.

use std::io::Write as _;

use super::failure::Failure;
use super::output::Output;
use crate::context::bodies;
use crate::doc::Tone;
use crate::format::{format_count, format_estimate};
use crate::js::{self, JsString, Value};
use crate::plan::{CompactionSummary, Plan, messages_after, summary_message};
use crate::session::{LoadedSession, SendingChanges};
use crate::store::body::BodyError;
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

/// Returns how messages are changed when they are sent, if they could be read.
pub(super) fn sending(changes: Result<SendingChanges, BodyError>) -> Result<SendingChanges, Failure> {
    changes.map_err(|error| Failure::unreadable(error.to_string()))
}

/// Prints what sending changes, in a line each.
pub(super) fn print_sending(changes: &SendingChanges, output: &mut Output) -> Result<(), Failure> {
    if let Some(first) = changes.added.first() {
        let line = format!(
            "on sending the gateway adds {}: {} tokens, such as {:?}",
            format_count(changes.added.len() as u64, "text", "texts"),
            format_estimate(changes.added.iter().map(|text| text.tokens).sum::<Tokens>().whole()),
            [&*first.before, &*first.after].concat().trim()
        );
        output.line(Tone::Dim, &line)?;
    }
    if !changes.withheld.is_empty() {
        let line = format!(
            "on sending the gateway leaves out the thinking of {}: {} tokens",
            format_count(changes.withheld.len() as u64, "answer", "answers"),
            format_estimate(changes.withheld.iter().map(|own| own.tokens).sum::<Tokens>().whole()),
        );
        output.line(Tone::Dim, &line)?;
    }
    Ok(())
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
