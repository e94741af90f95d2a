//! Refusals in the words of several providers.

use serde_json::{Value, json};

use super::{AboveLimit, Behaviour, Kind, Reply};

/// Whose error texts a server uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    OpenAi,
    OpenRouter,
    Anthropic,
    LlamaCpp,
    Vllm,
    /// A text that no program recognises as an overflow.
    Unknown,
    /// HTTP 413 without a body.
    NoBody,
}

/// A refusal on the way to the client.
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) is_for_size: bool,
    body: Option<Value>,
}

impl Refusal {
    /// The reply: an HTTP status, or `late` an event of a stream that has begun.
    pub(super) fn reply(self, late: bool) -> Reply {
        match self.body {
            Some(body) if late => Reply::Events(vec![format!("data: {body}\n\n")]),
            Some(body) => Reply::Json(self.status, body),
            None => Reply::Empty(self.status),
        }
    }
}

/// Decides whether a request of `tokens` is refused.
pub(super) fn of(behaviour: &mut Behaviour, body: &Value, kind: Kind, tokens: u64) -> Option<Refusal> {
    if let Some(fails) = behaviour.fails.as_mut().filter(|fails| fails.count > 0) {
        fails.count -= 1;
        return Some(failed(fails.status, fails.text));
    }
    if behaviour.failing_model.is_some_and(|model| body["model"] == model) {
        return Some(failed(402, "insufficient credits"));
    }
    if let (Kind::Summary, Some(text)) = (kind, behaviour.summary_error) {
        return Some(failed(400, text));
    }
    let requested =
        body["max_tokens"].as_u64().or_else(|| body["max_completion_tokens"].as_u64()).unwrap_or(0);
    let reply = if behaviour.counts_reply { requested } else { 0 };
    let is_above = behaviour.limit > 0 && tokens + reply > behaviour.limit;
    (is_above && behaviour.above != AboveLimit::Cut)
        .then(|| in_style(behaviour.style, tokens, behaviour.limit, requested))
}

fn failed(status: u16, text: &str) -> Refusal {
    Refusal { status, is_for_size: false, body: Some(json!({ "error": { "message": text } })) }
}

fn in_style(style: Style, prompt: u64, limit: u64, reply: u64) -> Refusal {
    let total = prompt + reply;
    let body = match style {
        Style::OpenAi => json!({ "error": {
            "message": "Your input exceeds the context window of this model. Please adjust your input and try again.",
            "type": "invalid_request_error", "param": "input", "code": "context_length_exceeded" } }),
        Style::OpenRouter => json!({ "error": { "code": 400, "message": format!(
            "This endpoint's maximum context length is {limit} tokens. However, you requested about {total} tokens \
             ({prompt} of text input, {reply} in the output). Please reduce the length of either one, or use the \
             \"middle-out\" transform to compress your prompt automatically.") } }),
        Style::Anthropic => json!({ "type": "error", "error": { "type": "invalid_request_error",
            "message": format!("prompt is too long: {prompt} tokens > {limit} maximum") } }),
        Style::LlamaCpp => json!({ "error": { "code": 400, "type": "exceed_context_size_error",
            "message": format!("the request exceeds the available context size ({prompt} > {limit} tokens), try increasing it"),
            "n_prompt_tokens": prompt, "n_ctx": limit } }),
        Style::Vllm => {
            json!({ "error": { "type": "BadRequestError", "param": null, "code": 400, "message": format!(
            "This model's maximum context length is {limit} tokens. However, you requested {total} tokens ({prompt} in \
             the messages, {reply} in the completion). Please reduce the length of the messages or completion.") } })
        }
        Style::Unknown => json!({ "error": { "type": "bad_request",
            "message": format!("Input payload of {prompt} units is above the plan's ceiling ({limit}).") } }),
        Style::NoBody => return Refusal { status: 413, is_for_size: true, body: None },
    };
    Refusal { status: 400, is_for_size: true, body: Some(body) }
}
