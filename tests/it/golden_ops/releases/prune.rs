//! Op `prune`: effective settings, the gate, and the messages after pruning.

use clawscope::gateway::eligibility::{ModelRoute, is_eligible_under};
use clawscope::gateway::pruning::{PruneSettings, effective_settings_under};
use clawscope::gateway::ruleset::{Eligibility, PruneWeight};
use clawscope::gateway::tools::ToolFilter;
use clawscope::gateway::window::DEFAULT_WINDOW;
use clawscope::gateway::window_rules::{ModelWindow, resolve_window_under};
use clawscope::js::{self, JsException, Object, Value};
use clawscope::policy::prune::{Gate, gate_under, last_touch_under};
use clawscope::policy::{Policy, PolicySettings};
use clawscope::store::body;
use clawscope::store::entry::Role;
use clawscope::units::{Chars, Millis, Tokens};

use super::super::prune::effective;
use super::super::{or_throws, throws};
use super::{Released, number};

pub(super) fn answer(session: &Released) -> Value {
    let rules = session.rules();
    let settings = effective_settings_under(rules, session.session.setting("contextPruning"));
    let requested = session.session.setting("gate");
    let mut result = Object::default();
    result.set("effective", settings.as_ref().map_or(Value::Null, effective));
    let sizes = |messages: &[Value]| {
        messages.iter().try_fold(Chars::ZERO, |sum, message| Ok(sum + rules.prune_size.chars(message)?))
    };
    let before = sizes(&session.messages);
    result.set("before", or_throws(before.map(|chars| number(chars.get()))));
    let gate = match (requested, &settings) {
        (Some(requested), settings) => decided(session, requested, settings.as_ref()),
        (None, Some(_)) => Gate::Open { idle_ms: Millis::ZERO },
        (None, None) => Gate::Off,
    };
    let active = requested.is_some() && !matches!(gate, Gate::Off | Gate::NotEligible | Gate::NoPruner);
    if requested.is_some() {
        result.set("active", Value::Bool(active));
    } else if let Some(settings) = &settings {
        result.set("prunable", prunable(session, settings));
    }
    let settings = PolicySettings {
        prune: settings.unwrap_or_default(),
        ..PolicySettings::built_in(session.ruleset, Tokens(f64::NAN))
    };
    let plan = session.plan(Policy::Prune, &settings, window(session), gate);
    let planned = plan.map(|plan| session.after(&plan));
    let changed = if let Ok((messages, positions)) = planned {
        let total = before.and_then(|_| sizes(&messages));
        let changed = positions.as_array().is_some_and(|positions| !positions.is_empty());
        result.set("after", or_throws(total.map(|chars| number(chars.get()))));
        result.set("changedIndexes", positions);
        result.set("messages", session.session.list(&messages));
        Value::Bool(changed)
    } else {
        result.set("messages", throws());
        throws()
    };
    result.set("changed", changed.clone());
    if active {
        result.set("fired", changed);
    }
    Value::Object(result)
}

fn decided(session: &Released, requested: &Value, settings: Option<&PruneSettings>) -> Gate {
    let (provider, model, api) = route(requested);
    let route = ModelRoute { api, base_url: None };
    let by_plugin = decided_by_plugin(session.rules().eligibility, &provider);
    let eligible = !by_plugin && is_eligible_under(session.rules(), &provider, &model, &route);
    let inner = &session.session;
    let body = |ix| body::read_entry(&inner.source, &inner.index, ix);
    let touch = last_touch_under(session.rules(), &inner.index, (&provider, &model), body);
    gate_under(session.rules(), settings, eligible, touch, inner.now_ms())
}

/// Whether only a provider's plug-in makes the model eligible. The recorded programs ran without any.
fn decided_by_plugin(eligibility: Eligibility, provider: &str) -> bool {
    let provider = provider.to_lowercase();
    match eligibility {
        Eligibility::Anthropic | Eligibility::Caching => false,
        Eligibility::Plugins => true,
        Eligibility::PluginsOrApi | Eligibility::NewestPlugins => {
            ["openrouter", "zai", "moonshot"].contains(&provider.as_str())
        }
    }
}

fn route(requested: &Value) -> (String, String, Option<String>) {
    let text = |key: &str| requested.get(key).and_then(Value::as_str).map(js::JsString::to_string_lossy);
    (text("provider").unwrap_or_default(), text("modelId").unwrap_or_default(), text("modelApi"))
}

/// Tokens: the override where it counts, else the model's window; behind a gate the resolved one.
fn window(session: &Released) -> f64 {
    if let Some(requested) = session.session.setting("gate") {
        let (provider, model, _) = route(requested);
        let own = ModelWindow { tokens: None, window: session.number("contextWindow").map(Tokens) };
        let config = session.session.setting("cfg");
        return resolve_window_under(session.rules(), config, (&provider, &model), own, DEFAULT_WINDOW)
            .tokens
            .get();
    }
    let any = session.rules().prune_size.weight == PruneWeight::Table;
    let usable = |tokens: &f64| any || tokens.is_finite() && *tokens > 0.0;
    session
        .number("contextWindowOverride")
        .filter(usable)
        .or_else(|| session.number("contextWindow"))
        .unwrap_or(f64::NAN)
}

fn prunable(session: &Released, settings: &PruneSettings) -> Value {
    let filter = settings.tool_filter();
    let mut names = Object::default();
    let results = session.context().messages.iter().filter(|message| message.size.role == Role::ToolResult);
    for message in results {
        let name = session.session.index.values.value(message.size.tool_name);
        let reported = if session.rules().filter_needs_name {
            strict(&filter, name)
        } else {
            Ok(filter.is_prunable(name))
        };
        names.insert(js::to_text(name), or_throws(reported.map(Value::Bool)));
    }
    Value::Object(names)
}

/// Oracle of releases R10 for one name: some versions read the name as a string without checking, and throw for any
/// other. The product knows that for whole lists (`filter_needs_name`), which the plan of this op runs.
fn strict(filter: &ToolFilter, name: Option<&Value>) -> Result<bool, JsException> {
    name.and_then(Value::as_str).ok_or(JsException)?;
    Ok(filter.is_prunable(name))
}
