//! Op `prune`: effective settings, the gate, and the messages after pruning.

use clawscope::gateway::eligibility::{ModelRoute, is_eligible_under};
use clawscope::gateway::pruning::{PruneSettings, effective_settings};
use clawscope::gateway::ruleset::Ruleset;
use clawscope::gateway::window::{DEFAULT_WINDOW, resolve_window};
use clawscope::js::{self, JsException, Object, Value};
use clawscope::plan::{Plan, PlanInput, message_after};
use clawscope::policy::PolicySettings;
use clawscope::policy::preflight::FixedPressure;
use clawscope::policy::prune::{Gate, gate_under, last_touch_under};
use clawscope::store::body;
use clawscope::store::entry::Role;
use clawscope::units::{Chars, Millis, Tokens};

use super::{Session, number, object, or_throws, throws};

pub(crate) fn answer(session: &Session) -> Value {
    let settings = effective_settings(session.setting("contextPruning"));
    let gate = session.setting("gate");
    let mut result = Object::default();
    result.set("effective", settings.as_ref().map_or(Value::Null, effective));
    let before = session
        .context
        .messages
        .iter()
        .try_fold(Chars::ZERO, |sum, message| Ok(sum + message.size.prune_chars.value()?));
    result.set("before", or_throws(before.map(|chars| number(chars.get()))));
    let opened = match (gate, &settings) {
        (Some(gate), settings) => decide(session, gate, settings.as_ref(), &mut result),
        (None, Some(_)) => Gate::Open { idle_ms: Millis::ZERO },
        (None, None) => Gate::Off,
    };
    if let Some(settings) = settings.as_ref().filter(|_| gate.is_none()) {
        result.set("prunable", prunable(session, settings));
    }
    let active = result.get("active").is_some_and(|active| active.as_bool() == Some(true));
    let messages = session.messages();
    let settings = settings.unwrap_or_default();
    let plan = Plan::new(&PlanInput {
        index: &session.index,
        context: &session.context,
        branch: None,
        features: None,
        remembered: None,
        settings: &PolicySettings::pruning_only(settings),
        window: Tokens(window(session)),
        guard_window: Tokens(window(session)),
        gate: opened,
        drops_thinking: false,
        is_responses_api: false,
        fixed_pressure: FixedPressure::default(),
    });
    if let Ok(plan) = plan {
        planned(session, &plan, &messages, before, &mut result);
    } else {
        result.set("changed", throws());
        result.set("messages", throws());
    }
    if active {
        result.set("fired", result.get("changed").cloned().unwrap_or_else(throws));
    }
    Value::Object(result)
}

fn planned(
    session: &Session,
    plan: &Plan,
    messages: &[Value],
    before: Result<Chars, JsException>,
    result: &mut Object,
) {
    let changed: Vec<Value> = (0..messages.len())
        .filter(|at| plan.fates()[*at].fate.is_change())
        .map(|at| number(at as f64))
        .collect();
    let new: Vec<Value> =
        messages.iter().enumerate().map(|(at, message)| message_after(message, at, plan)).collect();
    // A total that cannot be measured before cannot be measured after if no result was replaced.
    let total = before.and_then(|_| plan.total_chars()).map(|(_, after)| number(after.get()));
    result.set("after", or_throws(total));
    result.set("changed", Value::Bool(!plan.is_empty()));
    result.set("changedIndexes", Value::Array(changed));
    result.set("messages", session.list(&new));
}

/// Fills `active` and returns the gate.
fn decide(session: &Session, gate_of: &Value, settings: Option<&PruneSettings>, result: &mut Object) -> Gate {
    let (provider, model) = route(gate_of);
    let rules = Ruleset::V2026_3_2.rules();
    let eligible = is_eligible_under(rules, &provider, &model, &ModelRoute::default());
    let read = |ix| body::read_entry(&session.source, &session.index, ix);
    let touch = last_touch_under(rules, &session.index, (&provider, &model), read);
    let gate = gate_under(rules, settings, eligible, touch, session.now_ms());
    result.set("active", Value::Bool(!matches!(gate, Gate::Off | Gate::NotEligible)));
    gate
}

fn route(gate: &Value) -> (String, String) {
    let text =
        |key| gate.get(key).and_then(Value::as_str).map(js::JsString::to_string_lossy).unwrap_or_default();
    (text("provider"), text("modelId"))
}

/// Tokens: the override where it counts, else the model's window; behind a gate the resolved one.
fn window(session: &Session) -> f64 {
    let number = |name| session.setting(name).and_then(Value::as_f64);
    if let Some(gate) = session.setting("gate") {
        let (provider, model) = route(gate);
        let cfg = session.setting("cfg");
        return resolve_window(cfg, &provider, &model, number("contextWindow").map(Tokens), DEFAULT_WINDOW)
            .tokens
            .get();
    }
    let usable = |tokens: &f64| tokens.is_finite() && *tokens > 0.0;
    number("contextWindowOverride").filter(usable).or_else(|| number("contextWindow")).unwrap_or(f64::NAN)
}

fn prunable(session: &Session, settings: &PruneSettings) -> Value {
    let filter = settings.tool_filter();
    let mut names = Object::default();
    for message in session.context.messages.iter().filter(|message| message.size.role == Role::ToolResult) {
        let name = session.index.values.value(message.size.tool_name);
        names.insert(js::to_text(name), Value::Bool(filter.is_prunable(name)));
    }
    Value::Object(names)
}

pub(super) fn effective(settings: &PruneSettings) -> Value {
    object([
        ("mode", Value::from("cache-ttl")),
        ("ttlMs", number(settings.ttl_ms.get())),
        ("keepLastAssistants", number(settings.keep_last_assistants)),
        ("softTrimRatio", number(settings.soft_trim_ratio)),
        ("hardClearRatio", number(settings.hard_clear_ratio)),
        ("minPrunableToolChars", number(settings.min_prunable_tool_chars.get())),
        ("tools", settings.tools.clone()),
        (
            "softTrim",
            object([
                ("maxChars", number(settings.soft_trim.max_chars.get())),
                ("headChars", number(settings.soft_trim.head_chars.get())),
                ("tailChars", number(settings.soft_trim.tail_chars.get())),
            ]),
        ),
        (
            "hardClear",
            object([
                ("enabled", Value::Bool(settings.hard_clear.enabled)),
                ("placeholder", Value::String(settings.hard_clear.placeholder.clone())),
            ]),
        ),
    ])
}
