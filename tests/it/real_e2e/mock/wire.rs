//! Answers in the forms of two APIs.

use serde_json::{Value, json};

use super::script::{Answer, Call};
use super::{Reply, Usage};

#[derive(Clone, Copy)]
pub(super) enum Api {
    OpenAi,
    Anthropic,
}

pub(super) fn reply(
    api: Api,
    answer: &Answer,
    usage: Usage,
    streams: bool,
    number: usize,
    model: &Value,
) -> Reply {
    match api {
        Api::OpenAi => openai(answer, usage, streams, number, model),
        Api::Anthropic => anthropic(answer, usage, streams, number, model),
    }
}

fn openai(answer: &Answer, usage: Usage, streams: bool, number: usize, model: &Value) -> Reply {
    let usage = json!({
        "prompt_tokens": usage.prompt(), "completion_tokens": usage.output,
        "total_tokens": usage.prompt() + usage.output,
        "prompt_tokens_details": { "cached_tokens": usage.cached },
    });
    let mut message = json!({ "role": "assistant", "content": answer.text });
    if !answer.thinking.is_empty() {
        message["reasoning_content"] = json!(answer.thinking);
    }
    if !answer.calls.is_empty() {
        message["tool_calls"] = answer.calls.iter().enumerate().map(openai_call).collect();
    }
    let ending = if answer.calls.is_empty() { "stop" } else { "tool_calls" };
    let id = format!("mock-{number:04}");
    if !streams {
        let choices = json!([{ "index": 0, "message": message, "finish_reason": ending }]);
        let whole = json!({ "id": id, "object": "chat.completion", "created": 0, "model": model, "choices": choices, "usage": usage });
        return Reply::Json(200, whole);
    }
    let chunk = |choices: Value, usage: Value| {
        let chunk = json!({ "id": id, "object": "chat.completion.chunk", "created": 0, "model": model, "choices": choices, "usage": usage });
        format!("data: {chunk}\n\n")
    };
    Reply::Events(vec![
        chunk(json!([{ "index": 0, "delta": message, "finish_reason": null }]), Value::Null),
        chunk(json!([{ "index": 0, "delta": {}, "finish_reason": ending }]), Value::Null),
        chunk(json!([]), usage),
        "data: [DONE]\n\n".to_owned(),
    ])
}

fn openai_call((index, call): (usize, &Call)) -> Value {
    let function = json!({ "name": call.name, "arguments": call.arguments.to_string() });
    json!({ "index": index, "id": call.id, "type": "function", "function": function })
}

fn anthropic(answer: &Answer, usage: Usage, streams: bool, number: usize, model: &Value) -> Reply {
    let usage = json!({ "input_tokens": usage.input, "cache_read_input_tokens": usage.cached,
        "cache_creation_input_tokens": 0, "output_tokens": usage.output });
    let ending = if answer.calls.is_empty() { "end_turn" } else { "tool_use" };
    let mut message = json!({ "id": format!("msg_mock{number:04}"), "type": "message", "role": "assistant", "model": model,
        "stop_sequence": null, "stop_reason": null, "content": [], "usage": usage });
    let blocks = anthropic_blocks(answer);
    if !streams {
        message["content"] = json!(blocks);
        message["stop_reason"] = json!(ending);
        return Reply::Json(200, message);
    }
    let mut events = vec![json!({ "type": "message_start", "message": message })];
    for (index, block) in blocks.iter().enumerate() {
        events.extend(block_events(index, block));
    }
    let delta = json!({ "stop_reason": ending, "stop_sequence": null });
    events.push(json!({ "type": "message_delta", "delta": delta, "usage": usage }));
    events.push(json!({ "type": "message_stop" }));
    let line =
        |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default());
    Reply::Events(events.iter().map(line).collect())
}

fn anthropic_blocks(answer: &Answer) -> Vec<Value> {
    let thinking = (!answer.thinking.is_empty())
        .then(|| json!({ "type": "thinking", "thinking": answer.thinking, "signature": "c2lnbmVk" }));
    let call = |call: &Call| json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments });
    let text = json!({ "type": "text", "text": answer.text });
    thinking.into_iter().chain([text]).chain(answer.calls.iter().map(call)).collect()
}

/// The events of a content block: it starts empty and is filled by deltas.
fn block_events(index: usize, block: &Value) -> Vec<Value> {
    let mut empty = block.clone();
    let deltas = match block["type"].as_str() {
        Some("text") => {
            empty["text"] = json!("");
            vec![json!({ "type": "text_delta", "text": block["text"] })]
        }
        Some("thinking") => {
            empty["thinking"] = json!("");
            empty["signature"] = json!("");
            vec![
                json!({ "type": "thinking_delta", "thinking": block["thinking"] }),
                json!({ "type": "signature_delta", "signature": block["signature"] }),
            ]
        }
        _ => {
            empty["input"] = json!({});
            vec![json!({ "type": "input_json_delta", "partial_json": block["input"].to_string() })]
        }
    };
    let start = json!({ "type": "content_block_start", "index": index, "content_block": empty });
    let delta = |delta: Value| json!({ "type": "content_block_delta", "index": index, "delta": delta });
    let stop = json!({ "type": "content_block_stop", "index": index });
    std::iter::once(start).chain(deltas.into_iter().map(delta)).chain([stop]).collect()
}
