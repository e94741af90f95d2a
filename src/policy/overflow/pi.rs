//! The detector of pi 0.55, which starts the overflow compaction inside a run (compaction 8.1).

use crate::js::{self, JsException, Value};
use crate::policy::overflow::word_order::contains_in_order;

/// Lower-case texts of an overflow (compaction 8.1: 1–3, 6, 9–12, 14, 15).
const OVERFLOW_TEXTS: [&str; 10] = [
    "prompt is too long",
    "input is too long for requested model",
    "exceeds the context window",
    "reduce the length of the messages",
    "exceeds the available context size",
    "greater than the context length",
    "context window exceeds limit",
    "exceeded model token limit",
    "too many tokens",
    "token limit exceeded",
];

/// Share of the window above which a prompt leaves no room for an answer.
const FULL_WINDOW_SHARE: f64 = 0.99;

/// Whether an error text means an overflow (compaction 8.1 i).
pub fn is_overflow(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    names_overflow(&text) || is_bodyless_refusal(&text)
}

/// Whether a lower-case text names an overflow in words (compaction 8.1 i, all but 16).
pub(super) fn names_overflow(text: &str) -> bool {
    OVERFLOW_TEXTS.iter().any(|part| text.contains(part))
        || contains_in_order(text, &[&["input token count"], &["exceeds the maximum"]])
        || followed_by_number(text, "maximum prompt length is ", "")
        || followed_by_number(text, "maximum context length is ", " tokens")
        || followed_by_number(text, "exceeds the limit of ", "")
        || text.replace('_', " ").contains("context length exceeded")
}

/// Whether an assistant message reports an overflow: by its error, or silently, with a usage above the window in tokens
/// (compaction 8.1 i, ii). Errors when the usage is needed and missing.
pub fn is_overflow_message(message: &Value, window: Option<f64>) -> Result<bool, JsException> {
    is_error_or_silent_overflow(message, window, false, is_overflow)
}

/// Whether an assistant message reports an overflow in another release. `says_so` matches its error text. With
/// `length_too` an empty answer that hit its length limit also counts if the prompt filled the window (store-pi-1.5
/// G2).
pub(super) fn is_error_or_silent_overflow(
    message: &Value,
    window: Option<f64>,
    length_too: bool,
    says_so: impl FnOnce(&str) -> bool,
) -> Result<bool, JsException> {
    let stopped_by = |reason| message.get("stopReason").is_some_and(|stop| stop.str_is(reason));
    let error = message.get("errorMessage").filter(|error| js::is_truthy(Some(error)));
    if let Some(error) = error.filter(|_| stopped_by("error"))
        && says_so(&js::to_text(Some(error)).to_string_lossy())
    {
        return Ok(true);
    }
    let Some(window) = window.filter(|window| *window != 0.0 && !window.is_nan()) else { return Ok(false) };
    let usage = || message.get("usage").filter(|usage| !usage.is_null()).ok_or(JsException);
    let taken = |usage: &Value| js_sum(usage.get("input"), usage.get("cacheRead"));
    if stopped_by("stop") {
        return Ok(taken(usage()?) > window);
    }
    if length_too && stopped_by("length") {
        let usage = usage()?;
        return Ok(
            usage.get("output") == Some(&Value::Number(0.0)) && taken(usage) >= window * FULL_WINDOW_SHARE
        );
    }
    Ok(false)
}

/// Adds two values as JavaScript's `+` does, read as a number: texts, lists and objects are concatenated instead.
fn js_sum(a: Option<&Value>, b: Option<&Value>) -> f64 {
    let is_text =
        |value: Option<&Value>| matches!(value, Some(Value::String(_) | Value::Array(_) | Value::Object(_)));
    if !is_text(a) && !is_text(b) {
        return js::to_number(a) + js::to_number(b);
    }
    let mut text = js::to_text(a);
    text.push(&js::to_text(b));
    js::to_number(Some(&Value::String(text)))
}

/// Whether `before`, digits and `after` follow each other.
fn followed_by_number(text: &str, before: &str, after: &str) -> bool {
    text.match_indices(before).any(|(at, _)| {
        let rest = &text[at + before.len()..];
        let behind = rest.trim_start_matches(|char: char| char.is_ascii_digit());
        behind.len() < rest.len() && behind.starts_with(after)
    })
}

/// Whether a text begins with `400 (no body)` or `413 status code (no body)` (compaction 8.1: 16).
pub(super) fn is_bodyless_refusal(text: &str) -> bool {
    let rest = text.strip_prefix("400").or_else(|| text.strip_prefix("413"));
    rest.is_some_and(|rest| {
        let rest = rest.trim_start_matches(js::is_trimmed);
        let rest = rest.strip_prefix("status code").unwrap_or(rest);
        rest.trim_start_matches(js::is_trimmed).starts_with("(no body)")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_of_8_1_are_overflows() {
        for text in [
            "prompt is too long: 213462 tokens > 200000 maximum",
            "Your input exceeds the context window of this model",
            "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)",
            "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
            "Please reduce the length of the messages or completion",
            "prompt token count of 90000 exceeds the limit of 64000",
            "context_length exceeded",
            "400 status code (no body)",
            "413\u{feff}(No Body)",
            "429 prompt is too long",
        ] {
            assert!(is_overflow(text), "{text}");
        }
    }

    #[test]
    fn a_number_must_follow_where_the_pattern_needs_one() {
        assert!(is_overflow("this model's maximum context length is 8192 tokens"));
        assert!(!is_overflow("maximum context length is unknown"));
        assert!(!is_overflow("exceeds the limit of ten"));
    }

    #[test]
    fn case_is_folded_for_ascii_alone_and_white_space_is_javascripts() {
        assert!(!is_overflow("too many to\u{212a}ens") && !is_overflow("prompt i\u{17f} too long"));
        assert!(!is_overflow("400\u{85}(no body)") && !is_overflow(" 400 (no body)"));
    }

    #[track_caller]
    fn check(json: &str, window: Option<f64>, expected: Result<bool, JsException>) {
        assert_eq!(is_overflow_message(&js::parse(json).unwrap(), window), expected, "{json}");
    }

    #[test]
    fn a_reply_that_took_in_more_than_the_window_overflowed_silently() {
        let reply = r#"{"stopReason":"stop","usage":{"input":600,"cacheRead":401,"cacheWrite":9}}"#;
        check(reply, Some(1000.0), Ok(true));
        check(reply, Some(1001.0), Ok(false));
        check(reply, Some(0.0), Ok(false));
        check(reply, None, Ok(false));
        check(r#"{"stopReason":"stop","usage":{"input":600}}"#, Some(5.0), Ok(false));
        check(r#"{"stopReason":"stop","usage":{"input":"6","cacheRead":5}}"#, Some(60.0), Ok(true));
        check(r#"{"stopReason":"stop"}"#, Some(1000.0), Err(JsException));
        check(r#"{"stopReason":"length","usage":{"input":6000,"cacheRead":1}}"#, Some(5.0), Ok(false));
    }

    #[test]
    fn an_error_counts_only_where_the_reply_stopped_with_it() {
        check(r#"{"stopReason":"error","errorMessage":"Too many tokens"}"#, None, Ok(true));
        check(r#"{"stopReason":"error","errorMessage":["too many tokens"]}"#, None, Ok(true));
        check(r#"{"stopReason":"aborted","errorMessage":"too many tokens"}"#, None, Ok(false));
        check(r#"{"stopReason":"error","errorMessage":""}"#, None, Ok(false));
    }
}
