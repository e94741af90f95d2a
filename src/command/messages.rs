//! `--messages`: the messages of a context as the runtime builds them, for scripts as JSON and for people as text.

use std::io::Write as _;

use super::failure::Failure;
use super::output::{Output, Tone};
use crate::context::bodies;
use crate::inspect::Inspection;
use crate::js::{self, JsString, Value};
use crate::plan::{MadeSummary, Plan, messages_after, summary_message};
use crate::text::visible;

/// The messages, read again from the transcript.
pub(super) fn read(inspection: &Inspection) -> Result<Vec<Value>, Failure> {
    bodies::messages(&inspection.source, &inspection.index, &inspection.context)
        .map_err(|error| Failure::unreadable(error.to_string()))
}

/// The messages as they would be sent under a plan.
pub(super) fn read_after(
    inspection: &Inspection,
    plan: &Plan,
    made: Option<&MadeSummary>,
    now_ms: f64,
) -> Result<Vec<Value>, Failure> {
    let summary = summary_message(plan, made, now_ms);
    let Inspection { source, index, context, .. } = inspection;
    messages_after(source, index, context, plan, &summary, now_ms)
        .map_err(|error| Failure::unreadable(error.to_string()))
}

/// One message for people: `head`, then its blocks.
pub(super) fn print(output: &mut Output, head: &str, message: &Value) -> Result<(), Failure> {
    output.line(Tone::Strong, head)?;
    for part in parts(message) {
        for line in part.lines() {
            writeln!(output, "  {}", visible(line))?;
        }
    }
    Ok(writeln!(output)?)
}

/// The texts of a message: its blocks, or whatever else it says.
fn parts(message: &Value) -> Vec<String> {
    let mut parts: Vec<String> = match message.get("content") {
        Some(Value::Array(blocks)) => blocks.iter().map(block).collect(),
        Some(Value::String(text)) => vec![text.to_string_lossy()],
        _ => Vec::new(),
    };
    for key in ["summary", "command", "output", "errorMessage"] {
        if let Some(text) = text(message, key) {
            parts.push(text);
        }
    }
    if parts.is_empty() {
        parts.push(js::stringify(message));
    }
    parts
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).map(JsString::to_string_lossy)
}

fn block(block: &Value) -> String {
    let kind = text(block, "type").unwrap_or_default();
    match kind.as_str() {
        "text" => text(block, "text").unwrap_or_default(),
        "thinking" => format!("[thinking] {}", text(block, "thinking").unwrap_or_default()),
        "toolCall" => {
            let arguments = block.get("arguments").map(js::stringify).unwrap_or_default();
            format!("[call] {} {arguments}", text(block, "name").unwrap_or_default())
        }
        "image" => {
            let chars = block.get("data").and_then(Value::as_str).map_or(0, JsString::len);
            format!("[image] {} {chars} chars", text(block, "mimeType").unwrap_or_default())
        }
        _ => js::stringify(block),
    }
}
