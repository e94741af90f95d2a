//! Op `clear_tool_uses`: `LangChain`'s edit on the messages as they are sent to a model.

use clawscope::context::llm::to_llm;
use clawscope::gateway::ruleset::Ruleset;
use clawscope::js::{JsException, JsString, Object, Value};
use clawscope::policy::clear_tool_uses::{
    Block, ClearSettings, ClearableCall, Content, Message, clear_list, parse_message,
};
use clawscope::policy::edit::{Edit, apply_all};
use clawscope::policy::features::ContentFeatures;
use clawscope::policy::message_list::MessageList;
use clawscope::policy::reason::Reason;

use super::{Session, number, object};

pub(crate) fn answer(session: &Session) -> Result<Value, JsException> {
    let (messages, settings, rules) = (session.messages(), settings(session), Ruleset::V2026_3_2.rules());
    let features: Vec<ContentFeatures> =
        messages.iter().map(|message| ContentFeatures::of_under(rules, message)).collect();
    let mut list = MessageList::from_context(&session.context, Some(&features));
    let (fates, totals) = clear_list(&mut list, &settings)?;
    let tokens =
        features.iter().filter_map(|features| Some(features.digest.as_ref().ok()?.as_ref()?.tokens()));
    let (mut all, mut cleared) = (Vec::new(), Vec::new());
    for (at, message) in messages.iter().enumerate() {
        let Some(sent) = to_llm(&apply_all(list.edits(at), message))? else { continue };
        let is_cleared = fates[at].reason == Reason::ClearedUse;
        if is_cleared {
            cleared.push(number(all.len() as f64));
        }
        all.push(shown(&parse_message(&sent)?, is_cleared, cleared_inputs(list.edits(at))));
    }
    Ok(object([
        ("tokensBefore", number(totals.tokens_before as f64)),
        ("tokensAfter", number(totals.tokens_after as f64)),
        ("perMessage", Value::Array(tokens.map(|tokens| number(tokens as f64)).collect())),
        ("triggered", Value::Bool(totals.tokens_before as f64 > settings.trigger)),
        ("clearedIndexes", Value::Array(cleared)),
        ("messages", session.list(&all)),
    ]))
}

/// The ids of the calls that lost their arguments, sorted by code points.
fn cleared_inputs(edits: &[Edit]) -> Vec<Value> {
    let ids = edits.iter().flat_map(|edit| match edit {
        Edit::ClearToolInputs(ids) => ids.clone(),
        _ => Vec::new(),
    });
    let mut ids: Vec<JsString> = ids.collect();
    ids.sort_by_cached_key(JsString::to_string_lossy);
    ids.dedup();
    ids.into_iter().map(Value::String).collect()
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

fn shown(message: &Message, is_cleared: bool, cleared_inputs: Vec<Value>) -> Value {
    match message {
        Message::Human { content } => {
            object([("type", Value::from("human")), ("content", shown_content(content))])
        }
        Message::Ai { text, calls } => {
            let mut shown = Object::default();
            shown.set("type", Value::from("ai"));
            shown.set("content", Value::String(text.clone()));
            shown.set("tool_calls", Value::Array(calls.iter().map(shown_call).collect()));
            if !cleared_inputs.is_empty() {
                shown.set("cleared_tool_inputs", Value::Array(cleared_inputs));
            }
            Value::Object(shown)
        }
        Message::Tool { content, call, name, is_error } => {
            let mut shown = Object::default();
            shown.set("type", Value::from("tool"));
            shown.set("content", shown_content(content));
            shown.set("tool_call_id", Value::String(call.clone()));
            shown.set("name", Value::from(name.clone()));
            shown.set("status", Value::from(if *is_error { "error" } else { "success" }));
            if is_cleared {
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
