//! A runtime's verdict on a whole answer, an oracle of these cases (compaction 8.1, store-pi-1.5 G). The program applies
//! the same detectors to the error text, but has its own rules for the usage, which doubt the window as well.

use clawscope::js::{self, JsException, Value};
use clawscope::policy::overflow::{Runtime, detect};

/// Share of the window above which a prompt leaves no room for an answer.
const FULL_WINDOW_SHARE: f64 = 0.99;

/// The runtime that judges, and the window of its model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnswerJudge<'a> {
    pub(crate) runtime: Runtime<'a>,
    /// Tokens; `None` where it is unknown.
    pub(crate) window: Option<f64>,
    /// An empty answer that hit its length limit also counts when the prompt filled the window (store-pi-1.5 G2).
    pub(crate) counts_length: bool,
}

impl AnswerJudge<'_> {
    /// Whether an answer reports an overflow: by its error, or silently, by its usage. Errors when the usage is needed and
    /// missing.
    pub(crate) fn overflowed(self, message: &Value) -> Result<bool, JsException> {
        let stopped_by = |reason| message.get("stopReason").is_some_and(|stop| stop.str_is(reason));
        if stopped_by("error") && self.names_overflow(message) {
            return Ok(true);
        }
        let Some(window) = self.window.filter(|window| *window != 0.0 && !window.is_nan()) else {
            return Ok(false);
        };
        let usage = || message.get("usage").filter(|usage| !usage.is_null()).ok_or(JsException);
        let taken = |usage: &Value| js_sum(usage.get("input"), usage.get("cacheRead"));
        if stopped_by("stop") {
            return Ok(taken(usage()?) > window);
        }
        if self.counts_length && stopped_by("length") {
            let usage = usage()?;
            let is_empty = usage.get("output") == Some(&Value::Number(0.0));
            return Ok(is_empty && taken(usage) >= window * FULL_WINDOW_SHARE);
        }
        Ok(false)
    }

    fn names_overflow(self, message: &Value) -> bool {
        let text = |key| {
            let value = message.get(key).filter(|value| js::is_truthy(Some(value)))?;
            Some(js::to_text(Some(value)).to_string_lossy())
        };
        let provider = text("provider").unwrap_or_default();
        text("errorMessage").is_some_and(|error| detect(&error, &provider, self.runtime).in_run)
    }
}

/// Whether an answer hit a length limit below the model's own, so that it may be requested again (store-pi-1.5 F3.3).
/// Errors when the model's limit is known and the answer has no usage.
pub(crate) fn is_recoverable_length(message: &Value, max_tokens: f64) -> Result<bool, JsException> {
    if max_tokens <= 0.0 || !message.get("stopReason").is_some_and(|stop| stop.str_is("length")) {
        return Ok(false);
    }
    let usage = message.get("usage").filter(|usage| !usage.is_null()).ok_or(JsException)?;
    Ok(js::to_number(usage.get("output")) < max_tokens)
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
