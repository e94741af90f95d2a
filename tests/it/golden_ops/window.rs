//! Op `window`: the tokens a model takes, the gateway's verdict on them, and the limit of one tool result.

use clawscope::gateway::window::{DEFAULT_WINDOW, guard_window, resolve_window};
use clawscope::js::{JsString, Value};
use clawscope::policy::truncate::max_result_chars;
use clawscope::units::Tokens;

use super::{number, object};

pub(crate) fn answer(case: &Value) -> Value {
    let setting = |name: &str| case.get("settings").and_then(|settings| settings.get(name));
    let number_of = |name| setting(name).and_then(Value::as_f64);
    let text =
        |name| setting(name).and_then(Value::as_str).map(JsString::to_string_lossy).unwrap_or_default();
    let default = number_of("defaultTokens").unwrap_or(DEFAULT_WINDOW.get());
    let model_window = number_of("modelContextWindow");
    let info = resolve_window(
        setting("cfg"),
        &text("provider"),
        &text("modelId"),
        model_window.map(Tokens),
        Tokens(default),
    );
    let guard = guard_window(info, number_of("warnBelowTokens"), number_of("hardMinTokens"));
    object([
        (
            "info",
            object([("tokens", number(info.tokens.get())), ("source", Value::from(info.source.name()))]),
        ),
        (
            "guard",
            object([
                ("tokens", number(guard.tokens.get())),
                ("source", Value::from(guard.source.name())),
                ("shouldWarn", Value::Bool(guard.should_warn)),
                ("shouldBlock", Value::Bool(guard.should_block)),
            ]),
        ),
        ("maxToolResultChars", number(max_result_chars(info.tokens).get())),
    ])
}
