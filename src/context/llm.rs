//! Converts messages to the form in which a model receives them (compaction 4.6–4.9): summaries, custom messages and
//! shell commands become user messages, unknown roles are dropped.

use crate::js::{self, JsException, JsString, Object, Value};
use crate::store::entry::Role;
use crate::store::measure::role_of;

/// Text before a compaction's summary (store K7).
const COMPACTION_OPENING: &str =
    "The conversation history before this point was compacted into the following summary:\n\n<summary>\n";
/// Text after a compaction's summary.
const COMPACTION_CLOSING: &str = "\n</summary>";
/// Text before a branch summary.
const BRANCH_OPENING: &str =
    "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n";
/// Text after a branch summary.
const BRANCH_CLOSING: &str = "</summary>";

/// Converts one message; `None` when it is not sent. Errors on a null message.
pub fn to_llm(message: &Value) -> Result<Option<Value>, JsException> {
    if message.is_null() {
        return Err(JsException);
    }
    Ok(match role_of(message) {
        Role::User | Role::Assistant | Role::ToolResult => Some(message.clone()),
        Role::Custom => Some(custom_message(message)),
        Role::BashExecution if js::is_truthy(message.get("excludeFromContext")) => None,
        Role::BashExecution => Some(user_message(message, Some(text_blocks(bash_text(message))))),
        Role::CompactionSummary => Some(summary_message(message, COMPACTION_OPENING, COMPACTION_CLOSING)),
        Role::BranchSummary => Some(summary_message(message, BRANCH_OPENING, BRANCH_CLOSING)),
        Role::System | Role::Other => None,
    })
}

/// Builds a user message with these keys only; absent ones are left out (compaction 4.7a).
fn user_message(message: &Value, content: Option<Value>) -> Value {
    let mut object = Object::default();
    object.set("role", Value::from("user"));
    if let Some(content) = content {
        object.set("content", content);
    }
    if let Some(timestamp) = message.get("timestamp") {
        object.set("timestamp", timestamp.clone());
    }
    Value::Object(object)
}

fn text_blocks(text: JsString) -> Value {
    let mut block = Object::default();
    block.set("type", Value::from("text"));
    block.set("text", Value::String(text));
    Value::Array(vec![Value::Object(block)])
}

fn custom_message(message: &Value) -> Value {
    let content = message.get("content").map(|content| match content {
        Value::String(text) => text_blocks(text.clone()),
        other => other.clone(),
    });
    user_message(message, content)
}

fn summary_message(message: &Value, opening: &str, closing: &str) -> Value {
    let mut text = JsString::from(opening);
    text.push(&js::to_text(message.get("summary")));
    text.push_str(closing);
    user_message(message, Some(text_blocks(text)))
}

/// Formats a shell command as text (compaction 4.8).
fn bash_text(message: &Value) -> JsString {
    let mut text = JsString::from("Ran `");
    text.push(&js::to_text(message.get("command")));
    text.push_str("`\n");
    if js::is_truthy(message.get("output")) {
        text.push_str("```\n");
        text.push(&js::to_text(message.get("output")));
        text.push_str("\n```");
    } else {
        text.push_str("(no output)");
    }
    let code = message.get("exitCode").filter(|code| !code.is_null() && **code != Value::Number(0.0));
    if js::is_truthy(message.get("cancelled")) {
        text.push_str("\n\n(command cancelled)");
    } else if let Some(code) = code {
        text.push_str("\n\nCommand exited with code ");
        text.push(&js::to_text(Some(code)));
    }
    if js::is_truthy(message.get("truncated")) && js::is_truthy(message.get("fullOutputPath")) {
        text.push_str("\n\n[Output truncated. Full output: ");
        text.push(&js::to_text(message.get("fullOutputPath")));
        text.push_str("]");
    }
    text
}
