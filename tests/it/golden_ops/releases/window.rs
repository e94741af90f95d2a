//! Op `window`: the tokens a model takes, a release's verdict on them, and the limit of one tool result.

use clawscope::gateway::ruleset::{ResultLimit, Rules};
use clawscope::gateway::window::DEFAULT_WINDOW;
use clawscope::gateway::window_rules::{ModelWindow, WindowLimits, judge_with_limits, resolve_window_under};
use clawscope::js::{JsString, Object, Value};
use clawscope::policy::truncate::max_result_chars_under;
use clawscope::units::Tokens;

use super::{number, object};

pub(super) fn answer(rules: &Rules, case: &Value) -> Value {
    let setting = |name: &str| case.get("settings").and_then(|settings| settings.get(name));
    let number_of = |name| setting(name).and_then(Value::as_f64);
    let text =
        |name| setting(name).and_then(Value::as_str).map(JsString::to_string_lossy).unwrap_or_default();
    let default = number_of("defaultTokens").unwrap_or(DEFAULT_WINDOW.get());
    let own = ModelWindow {
        tokens: number_of("modelContextTokens").map(Tokens),
        window: number_of("modelContextWindow").map(Tokens),
    };
    let (provider, model) = (text("provider"), text("modelId"));
    let info = resolve_window_under(rules, setting("cfg"), (&provider, &model), own, Tokens(default));
    let given = WindowLimits { warn: number_of("warnBelowTokens"), block: number_of("hardMinTokens") };
    let tokens = info.tokens.floor().max(Tokens::ZERO);
    let verdict = judge_with_limits(rules, tokens, info.model_tokens, given);
    let limit = match rules.result_limit {
        ResultLimit::None => Value::Null,
        _ => number(max_result_chars_under(rules, info.tokens).get()),
    };
    let mut reported =
        Object::from([("tokens", number(info.tokens.get())), ("source", Value::from(info.source.name()))]);
    let mut guard = Object::from([
        ("tokens", number(tokens.get())),
        ("source", Value::from(info.source.name())),
        ("shouldWarn", Value::Bool(verdict.should_warn)),
        ("shouldBlock", Value::Bool(verdict.should_block)),
    ]);
    if rules.window_guard.block_share > 0.0 {
        guard.set("hardMinTokens", number(verdict.minimum));
        guard.set("warnBelowTokens", number(verdict.warn_below));
        if info.model_tokens != info.tokens {
            reported.set("referenceTokens", number(info.model_tokens.get()));
            guard.set("referenceTokens", number(info.model_tokens.get()));
        }
    }
    object([
        ("info", Value::Object(reported)),
        ("guard", Value::Object(guard)),
        ("maxToolResultChars", limit),
    ])
}
