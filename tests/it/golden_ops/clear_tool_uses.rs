//! Op `clear_tool_uses`: `LangChain`'s edit on the messages as they are sent to a model.

use clawscope::context::llm::to_llm;
use clawscope::js::{JsException, JsString, Object, Value};
use clawscope::policy::clear_tool_uses::{
    Block, ClearSettings, ClearableCall, Content, Message, clear, message_tokens, parse_message,
};

use super::{Session, number, object};

pub(crate) fn answer(session: &Session) -> Result<Value, JsException> {
    let sent: Result<Vec<Option<Value>>, JsException> = session.messages().iter().map(to_llm).collect();
    let messages: Vec<Message> =
        sent?.iter().flatten().map(parse_message).collect::<Result<_, JsException>>()?;
    let per_message = messages.iter().map(|message| number(message_tokens(message) as f64)).collect();
    let clearing = clear(messages, &settings(session))?;
    let cleared = clearing.messages.iter().enumerate();
    let cleared = cleared.filter(|(_, message)| matches!(message, Message::Tool { cleared: true, .. }));
    let shown: Vec<Value> = clearing.messages.iter().map(shown).collect();
    Ok(object([
        ("tokensBefore", number(clearing.tokens_before as f64)),
        ("tokensAfter", number(clearing.tokens_after as f64)),
        ("perMessage", Value::Array(per_message)),
        ("triggered", Value::Bool(clearing.triggered)),
        ("clearedIndexes", Value::Array(cleared.map(|(at, _)| number(at as f64)).collect())),
        ("messages", session.list(&shown)),
    ]))
}

fn settings(session: &Session) -> ClearSettings {
    let default = ClearSettings::default();
    let number = |name, default| session.setting(name).and_then(Value::as_f64).unwrap_or(default);
    let excluded = session.setting("exclude_tools").and_then(Value::as_array).unwrap_or_default();
    let placeholder = session.setting("placeholder").and_then(Value::as_str).cloned();
    ClearSettings {
        trigger: number("trigger", default.trigger),
        clear_at_least: number("clear_at_least", default.clear_at_least),
        keep: number("keep", default.keep),
        clear_tool_inputs: session.setting("clear_tool_inputs").and_then(Value::as_bool).unwrap_or(false),
        exclude_tools: excluded.iter().filter_map(Value::as_str).cloned().collect(),
        placeholder: placeholder.unwrap_or(default.placeholder),
        counting: default.counting,
        model_scale: default.model_scale,
        cleared_by: default.cleared_by,
    }
}

fn shown(message: &Message) -> Value {
    match message {
        Message::Human { content } => {
            object([("type", Value::from("human")), ("content", shown_content(content))])
        }
        Message::Ai { text, calls, cleared } => {
            let mut shown = Object::default();
            shown.set("type", Value::from("ai"));
            shown.set("content", Value::String(text.clone()));
            shown.set("tool_calls", Value::Array(calls.iter().map(shown_call).collect()));
            if !cleared.is_empty() {
                shown.set(
                    "cleared_tool_inputs",
                    Value::Array(cleared.iter().cloned().map(Value::String).collect()),
                );
            }
            Value::Object(shown)
        }
        Message::Tool { content, call, name, is_error, cleared } => {
            let mut shown = Object::default();
            shown.set("type", Value::from("tool"));
            shown.set("content", shown_content(content));
            shown.set("tool_call_id", Value::String(call.clone()));
            shown.set("name", Value::from(name.clone()));
            shown.set("status", Value::from(if *is_error { "error" } else { "success" }));
            if *cleared {
                shown.set("cleared", Value::Bool(true));
            }
            Value::Object(shown)
        }
    }
}

fn shown_call(call: &ClearableCall) -> Value {
    let text = |text: &JsString| Value::String(text.clone());
    object([
        ("id", text(&call.id)),
        ("name", text(&call.name)),
        ("args", Value::Object(call.arguments.clone())),
    ])
}

fn shown_content(content: &Content) -> Value {
    match content {
        Content::Text(text) => Value::String(text.clone()),
        Content::Blocks(blocks) => Value::Array(blocks.iter().map(shown_block).collect()),
    }
}

fn shown_block(block: &Block) -> Value {
    match block {
        Block::Text(text) => object([("type", Value::from("text")), ("text", Value::String(text.clone()))]),
        Block::Image { data, mime } => {
            object([("type", Value::from("image")), ("base64", data.clone()), ("mime_type", mime.clone())])
        }
    }
}
