//! Op `chunks`: messages divided for summarising.

use std::ops::Range;

use clawscope::context::tokens::estimate_message;
use clawscope::js::{JsException, Value};
use clawscope::policy::compact::chunks::{
    DEFAULT_PARTS, adaptive_ratio, is_oversized, split_by_max, split_by_share, total_tokens,
};
use clawscope::units::Tokens;

use super::{Session, number, object, or_throws};

pub(crate) fn answer(session: &Session) -> Value {
    let messages = &session.context.messages;
    let tokens: Result<Vec<Tokens>, JsException> =
        messages.iter().map(|message| estimate_message(&message.size)).collect();
    let given =
        |answer: &dyn Fn(&[Tokens]) -> Value| or_throws(tokens.as_deref().map(answer).map_err(|t| *t));
    let with = |setting: &str, answer: &dyn Fn(&[Tokens], f64) -> Value| {
        let setting = session.setting(setting).and_then(Value::as_f64);
        setting.map_or(Value::Null, |setting| given(&|tokens| answer(tokens, setting)))
    };
    let parts = match session.setting("parts") {
        None => DEFAULT_PARTS,
        Some(parts) => parts.as_f64().unwrap_or(f64::NAN),
    };
    object([
        ("messages", number(messages.len() as f64)),
        ("totalTokens", given(&|tokens| number(total_tokens(tokens).get()))),
        ("share", given(&|tokens| spans(tokens, &split_by_share(tokens, parts)))),
        ("byMax", with("maxTokens", &|tokens, max| spans(tokens, &split_by_max(tokens, Tokens(max))))),
        (
            "adaptiveRatio",
            with("contextWindow", &|tokens, window| {
                number(adaptive_ratio(total_tokens(tokens), tokens.len(), Tokens(window)))
            }),
        ),
        ("oversized", with("contextWindow", &oversized)),
    ])
}

fn spans(tokens: &[Tokens], chunks: &[Range<usize>]) -> Value {
    let span = |chunk: &Range<usize>| {
        object([
            ("start", number(chunk.start as f64)),
            ("count", number(chunk.len() as f64)),
            ("tokens", number(total_tokens(&tokens[chunk.clone()]).get())),
        ])
    };
    Value::Array(chunks.iter().map(span).collect())
}

fn oversized(tokens: &[Tokens], window: f64) -> Value {
    let indexes = tokens.iter().enumerate().filter(|(_, tokens)| is_oversized(**tokens, Tokens(window)));
    Value::Array(indexes.map(|(at, _)| number(at as f64)).collect())
}
