//! The detector of pi 1.5: more providers' texts, and no rate limits (store-pi-1.5 G).

use crate::js::{self, JsException, Value};
use crate::policy::overflow::release::Release;
use crate::policy::overflow::{pi, pi_releases};

const RELEASE: Release = [1, 5, 2];

/// Whether an error text means an overflow; `provider` is the model's (store-pi-1.5 G1).
pub fn is_overflow(text: &str, provider: Option<&str>) -> bool {
    pi_releases::is_overflow(text, provider.unwrap_or_default(), RELEASE)
}

/// Whether an answer reports an overflow: by its error, or silently, by its usage or an empty answer (store-pi-1.5 G1,
/// G2). Errors when the usage is needed and missing.
pub fn is_overflow_message(message: &Value, window: Option<f64>) -> Result<bool, JsException> {
    let provider = message.get("provider").and_then(Value::as_str).map(js::JsString::to_string_lossy);
    pi::is_error_or_silent_overflow(message, window, true, |text| is_overflow(text, provider.as_deref()))
}

/// Whether an answer hit a length limit below the model's own, so that it may be requested again (store-pi-1.5 F3.3).
/// Errors when the model's limit is known and the answer has no usage.
pub fn is_recoverable_length(message: &Value, max_tokens: f64) -> Result<bool, JsException> {
    if max_tokens <= 0.0 || !message.get("stopReason").is_some_and(|stop| stop.str_is("length")) {
        return Ok(false);
    }
    let usage = message.get("usage").filter(|usage| !usage.is_null()).ok_or(JsException)?;
    Ok(js::to_number(usage.get("output")) < max_tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_that_were_added_are_overflows() {
        for text in [
            "prompt too long",
            "too large for model with 4000 maximum context length",
            "exceeds the model's maximum context length of 4,000 tokens",
            "exceeds maximum context length (4,000)",
            "input (5 tokens) is longer than the model's context length (4 tokens)",
            "prompt has 1,000 tokens, but the configured context size is 900 tokens",
            "413",
            "413\u{a0}x",
            "github copilot chat API error (413): {}",
            "429 prompt is too long",
        ] {
            assert!(is_overflow(text, None), "{text}");
        }
    }

    #[test]
    fn a_number_has_commas_only_where_the_pattern_takes_them_and_a_limit_of_rate_is_none() {
        for text in [
            "too large for model with 4,000 maximum context length",
            "input (5,000 tokens) is longer than the model's context length (4,000 tokens)",
            "413x",
            "x: API error (413): y",
            "x\nAPI error (413): y",
            "Throttling error: prompt is too long",
            "rate limit: prompt is too long",
            "400 (no body)",
        ] {
            assert!(!is_overflow(text, None), "{text}");
        }
        assert!(is_overflow(" Throttling error: prompt is too long", None));
        assert!(is_overflow("400 (no body)", Some("cerebras")));
    }

    #[track_caller]
    fn silent(json: &str, expected: Result<bool, JsException>) {
        assert_eq!(is_overflow_message(&js::parse(json).unwrap(), Some(1000.0)), expected, "{json}");
    }

    #[test]
    fn an_answer_that_had_no_room_left_overflowed_silently() {
        silent(r#"{"stopReason":"length","usage":{"input":500,"cacheRead":490,"output":0}}"#, Ok(true));
        silent(r#"{"stopReason":"length","usage":{"input":500,"cacheRead":490,"output":1}}"#, Ok(false));
        silent(r#"{"stopReason":"stop","usage":{"input":500,"cacheRead":501,"output":9}}"#, Ok(true));
        silent(r#"{"stopReason":"length"}"#, Err(JsException));
    }
}
