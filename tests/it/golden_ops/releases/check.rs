//! Ops `guard`, `preflight` and `reserve`: a release's checks of one call, and its reserve.

use clawscope::context::tokens::estimate_under;
use clawscope::gateway::compaction::{CompactionSettings, gateway_compaction_under};
use clawscope::gateway::ruleset::{Aggregate, Guard, Preflight, Rules};
use clawscope::js::{self, JsException, Object, Value};
use clawscope::policy::preflight::{PreflightInput, Pressure, check, sum_pressure};
use clawscope::policy::prune::{Gate, weighted_chars};
use clawscope::policy::truncate::{reduce_to_budget, result_budget};
use clawscope::policy::{Policy, PolicySettings};
use clawscope::units::{Chars, Tokens};

use super::{Released, number, object};

/// Oracle of releases R41 and R43: a version's text for a call that its guard stops. The product only needs whether it
/// stops.
fn stop_text(rules: &Rules) -> Value {
    match rules.guard {
        Guard::Placeholders { stops: true } | Guard::NewestFirst => Value::from(
            "Preemptive context overflow: estimated context size exceeds safe threshold during tool loop",
        ),
        Guard::SingleThenStop => {
            Value::from("Context overflow: estimated context size exceeds safe threshold during tool loop.")
        }
        Guard::None | Guard::Placeholders { stops: false } | Guard::Single => Value::Null,
    }
}

pub(super) fn guard(session: &Released) -> Result<Value, JsException> {
    let window = session.number("contextWindow").unwrap_or(f64::NAN);
    let settings = PolicySettings::built_in(session.ruleset, Tokens(window));
    let plan = session.plan(Policy::Guard, &settings, window, Gate::Off).map_err(|_| JsException)?;
    if plan.guarded.is_some_and(|guarded| guarded.stopped) {
        return Ok(object([("overflow", Value::Bool(true)), ("text", stop_text(session.rules()))]));
    }
    let (messages, changed) = session.after(&plan);
    Ok(object([
        ("overflow", Value::Bool(false)),
        ("changedIndexes", changed),
        ("messages", session.session.list(&messages)),
    ]))
}

pub(super) fn preflight(session: &Released) -> Result<Value, JsException> {
    let rules = session.rules();
    let window = session.number("contextWindow").unwrap_or(f64::NAN);
    let text = |name: &str| {
        session
            .session
            .setting(name)
            .and_then(Value::as_str)
            .map(js::JsString::to_string_lossy)
            .unwrap_or_default()
    };
    let estimate = |message: &Value| estimate_under(rules, message);
    let (counted, sum) =
        prompt_tokens(rules, &session.messages, &text("systemPrompt"), &text("prompt"), estimate)?;
    let single = session.number("maxChars").map(Chars);
    // From 2026.8.1 on nothing is configured, but the check may get another limit.
    let single =
        single.filter(|_| rules.result_limit.is_configured() || rules.aggregate == Aggregate::Weighted);
    let budget = result_budget(rules, Tokens(window), single, false).ok_or(JsException)?;
    let reducible_chars =
        reduce_to_budget(&mut session.list(), &budget).iter().map(|done| done.freed_chars).sum();
    let reserve = session.number("reserveTokens").unwrap_or(f64::NAN);
    let checked = check(
        rules,
        &PreflightInput {
            window: Tokens(window),
            reserve: Tokens(reserve),
            counted_tokens: Tokens(counted),
            estimated_tokens: Tokens(sum),
            reducible_chars,
        },
    )
    .ok_or(JsException)?;
    Ok(object([
        ("route", Value::from(checked.route.as_str())),
        ("estimatedPromptTokens", number(checked.estimate.get())),
        ("promptBudgetBeforeReserve", number(checked.prompt_limit.get())),
        ("overflowTokens", number(checked.overflow.get())),
        ("toolResultReducibleChars", number(checked.reducible_chars.get())),
        ("effectiveReserveTokens", checked.reserve.map_or(Value::Null, |tokens| number(tokens.get()))),
    ]))
}

pub(super) fn reserve(rules: &Rules, case: &Value) -> Value {
    let setting = |name: &str| case.get("settings").and_then(|settings| settings.get(name));
    let runtime = |key: &str| setting("runtime").and_then(|runtime| runtime.get(key)?.as_f64());
    let defaults = CompactionSettings::default();
    let pi = CompactionSettings {
        reserve_tokens: Tokens(runtime("reserveTokens").unwrap_or(defaults.reserve_tokens.get())),
        keep_recent_tokens: Tokens(runtime("keepRecentTokens").unwrap_or(defaults.keep_recent_tokens.get())),
        ..defaults
    };
    let config = wrapped(
        "agents",
        wrapped("defaults", wrapped("compaction", setting("compaction").cloned().unwrap_or(Value::Null))),
    );
    let window = setting("contextWindow").and_then(Value::as_f64).unwrap_or(f64::NAN);
    let settings = gateway_compaction_under(rules, &config, pi, Tokens(window));
    object([
        ("reserveTokens", number(settings.reserve_tokens.get())),
        ("keepRecentTokens", number(settings.keep_recent_tokens.get())),
    ])
}

fn wrapped(key: &str, value: Value) -> Value {
    let mut object = Object::default();
    object.set(key, value);
    Value::Object(object)
}

/// Oracle of the check of a prompt that was not sent yet, without the margin: the tokens that a provider counted, and
/// the rest. `estimate` counts one message under the runtime's rule. The older check ignores the system prompt. The
/// product checks contexts, from the measured sizes of each message, and takes the tokens of a prompt from its settings.
fn prompt_tokens(
    rules: &Rules,
    messages: &[Value],
    system: &str,
    prompt: &str,
    estimate: impl Fn(&Value) -> Result<Tokens, JsException>,
) -> Result<(f64, f64), JsException> {
    if let Preflight::Pressure(_) = rules.preflight {
        let (counted, messages) =
            sum_pressure(messages.iter().map(|message| Pressure::from_message(rules, message)));
        let system = if system.trim().is_empty() { 0.0 } else { text_tokens(rules, system) };
        return Ok((counted, messages + system + text_tokens(rules, prompt)));
    }
    let messages = messages.iter().try_fold(0.0, |sum, message| Ok(sum + estimate(message)?.get()))?;
    Ok((0.0, messages + (prompt.encode_utf16().count() as f64 / 4.0).ceil()))
}

/// The system prompt or the prompt, as a separate message.
fn text_tokens(rules: &Rules, text: &str) -> f64 {
    12.0 + weighted_chars(rules.prune_size.weight, &text.into()).to_tokens(4.0).ceil().get()
}
