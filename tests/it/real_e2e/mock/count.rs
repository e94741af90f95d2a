//! What the server counts: the chars of everything that a tokenizer would see.

use serde_json::Value;

const CHARS_PER_TOKEN: f64 = 3.6;
/// A picture counts like so many chars.
const IMAGE_CHARS: usize = 4_800;

pub(super) fn of_chars(chars: usize) -> u64 {
    (chars as f64 / CHARS_PER_TOKEN).ceil() as u64
}

/// Tokens of the whole prompt with the descriptions of its tools.
pub(super) fn tokens(body: &Value) -> u64 {
    let messages: usize = all_messages(body).iter().map(chars_of_message).sum();
    let tools = body["tools"].as_array().map_or(0, |tools| tools.iter().map(json_chars).sum());
    of_chars(messages + tools)
}

/// The messages with Anthropic's system prompt as the first of them.
pub(super) fn all_messages(body: &Value) -> Vec<Value> {
    let system = body.get("system").filter(|system| !system.is_null());
    let system = system.map(|content| serde_json::json!({ "role": "system", "content": content }));
    system.into_iter().chain(body["messages"].as_array().cloned().unwrap_or_default()).collect()
}

pub(super) fn chars_of_message(message: &Value) -> usize {
    let calls = message["tool_calls"].as_array().map_or(0, |calls| {
        let chars =
            |call: &Value| text_chars(&call["function"]["name"]) + text_chars(&call["function"]["arguments"]);
        calls.iter().map(chars).sum()
    });
    calls + text_chars(&message["reasoning_content"]) + chars_of_content(&message["content"])
}

fn chars_of_content(content: &Value) -> usize {
    match content {
        Value::String(_) => text_chars(content),
        Value::Array(blocks) => blocks.iter().map(chars_of_block).sum(),
        _ => 0,
    }
}

fn chars_of_block(block: &Value) -> usize {
    match block["type"].as_str().unwrap_or_default() {
        "text" => text_chars(&block["text"]),
        "thinking" => text_chars(&block["thinking"]),
        "tool_use" => text_chars(&block["name"]) + json_chars(&block["input"]),
        "tool_result" => chars_of_content(&block["content"]),
        "image" | "image_url" => IMAGE_CHARS,
        _ => 0,
    }
}

fn text_chars(text: &Value) -> usize {
    text.as_str().map_or(0, |text| text.chars().count())
}

fn json_chars(value: &Value) -> usize {
    value.to_string().chars().count()
}

/// The texts of a content, those of tool results included.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().map(text_of_block).collect(),
        _ => String::new(),
    }
}

fn text_of_block(block: &Value) -> String {
    match block["type"].as_str() {
        Some("text") => block["text"].as_str().unwrap_or_default().to_owned(),
        Some("tool_result") => text_of(&block["content"]),
        _ => String::new(),
    }
}

/// Whether a program asks for the summary of a compaction.
pub(super) fn is_summary(body: &Value) -> bool {
    let messages = all_messages(body);
    let is_system = |message: &&Value| message["role"] == "system" || message["role"] == "developer";
    let system: String =
        messages.iter().filter(is_system).map(|message| text_of(&message["content"])).collect();
    let last = messages.last().map(|message| text_of(&message["content"])).unwrap_or_default();
    system.contains("summarization assistant")
        || system.contains("summarize conversations")
        || (last.contains("<conversation>") && last.to_lowercase().contains("summary"))
}
