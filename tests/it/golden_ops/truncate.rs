//! Op `truncate`: every tool result of a context cut to a limit.

use clawscope::js::{JsString, Value};
use clawscope::policy::truncate::{CutOptions, is_oversized, max_result_chars, truncated_message};
use clawscope::units::{Chars, Tokens};

use super::{Session, number, object};

pub(crate) fn answer(session: &Session) -> Value {
    let number_of = |name| session.setting(name).and_then(Value::as_f64);
    let window = number_of("contextWindow");
    let max_chars =
        number_of("maxChars").unwrap_or_else(|| max_result_chars(Tokens(window.unwrap_or(f64::NAN))).get());
    let mut cut = CutOptions::default();
    if let Some(suffix) = session.setting("suffix").and_then(Value::as_str) {
        cut.suffix = JsString::clone(suffix);
    }
    if let Some(chars) = number_of("minKeepChars") {
        cut.min_keep_chars = Chars(chars);
    }
    let mut messages = session.messages();
    let likely = window.map(|window| {
        let limit = max_result_chars(Tokens(window));
        messages.iter().any(|message| is_oversized(message, limit))
    });
    let mut changed = Vec::new();
    for (at, message) in messages.iter_mut().enumerate() {
        let is_result = message.get("role").is_some_and(|role| role.str_is("toolResult"));
        if let Some(new) = is_result.then(|| truncated_message(message, Chars(max_chars), &cut)).flatten() {
            *message = new;
            changed.push(number(at as f64));
        }
    }
    object([
        ("maxChars", number(max_chars)),
        ("likelyOversized", Value::from(likely)),
        ("changedIndexes", Value::Array(changed)),
        ("messages", session.list(&messages)),
    ])
}
