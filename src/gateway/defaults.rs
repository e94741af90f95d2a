//! The defaults that the gateway fills in while loading its configuration: the "smart" pruning defaults and their
//! neighbours (pruning 3.2, compaction 2.5, 7.4).
//!
//! They depend on the environment: next to any configuration file, an Anthropic key in the environment is enough to
//! switch pruning on, with a ttl of 1 h.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::env::Environment;

/// A value that no file contains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AppliedDefault {
    pub key: String,
    pub rule: &'static str,
    /// The reason, in one sentence.
    #[serde(rename = "why")]
    pub reason: String,
}

/// The gateway's credential for Anthropic, and the evidence for it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct AnthropicAuth {
    api_key: bool,
    source: String,
}

/// Completes a validated configuration in place, as the gateway does for a file that exists.
pub(super) fn apply_defaults(root: &mut Value, env: &Environment) -> Vec<AppliedDefault> {
    let mut applied = Vec::new();
    let auth = anthropic_auth(root, env);
    let defaults = object_at(object_at(root, "agents"), "defaults");
    if let Some(auth) = auth {
        pruning_defaults(defaults, &auth, &mut applied);
    }
    let compaction = object_at(defaults, "compaction");
    if compaction.is_object() && compaction.get("mode").is_none() {
        compaction["mode"] = json!("safeguard");
        applied.push(AppliedDefault {
            key: "agents.defaults.compaction.mode".to_owned(),
            rule: "compaction default",
            reason: "the configuration sets no compaction mode".to_owned(),
        });
    }
    model_defaults(root, &mut applied);
    applied
}

/// Returns the value of a key; replaces an absent or null one with an empty object.
fn object_at<'a>(parent: &'a mut Value, key: &str) -> &'a mut Value {
    if !parent.is_object() {
        return parent;
    }
    let slot = &mut parent[key];
    if slot.is_null() {
        *slot = Value::Object(Map::new());
    }
    slot
}

fn pruning_defaults(defaults: &mut Value, auth: &AnthropicAuth, applied: &mut Vec<AppliedDefault>) {
    const RULE: &str = "smart default";
    let mut push = |key: &str| {
        let key = format!("agents.defaults.{key}");
        applied.push(AppliedDefault { key, rule: RULE, reason: auth.source.clone() });
    };
    let pruning = object_at(defaults, "contextPruning");
    if pruning.is_object() && pruning.get("mode").is_none() {
        pruning["mode"] = json!("cache-ttl");
        push("contextPruning.mode");
        if pruning.get("ttl").is_none() {
            pruning["ttl"] = json!("1h");
            push("contextPruning.ttl");
        }
    }
    let heartbeat = object_at(defaults, "heartbeat");
    if heartbeat.is_object() && heartbeat.get("every").is_none() {
        heartbeat["every"] = json!(if auth.api_key { "30m" } else { "1h" });
        push("heartbeat.every");
    }
}

/// Rule 3.2 step 2: the order of profiles, then all profiles if they agree, then the environment.
fn anthropic_auth(root: &Value, env: &Environment) -> Option<AnthropicAuth> {
    let auth = root.get("auth");
    let profiles = auth.and_then(|a| a.get("profiles")).and_then(Value::as_object);
    let profile = |id: &str| profiles?.get(id).and_then(anthropic_profile);
    let order = auth.and_then(|a| a.get("order")).and_then(|o| o.get("anthropic")).and_then(Value::as_array);
    let ordered =
        order.into_iter().flatten().filter_map(Value::as_str).find_map(|id| Some((id, profile(id)?)));
    if let Some((id, api_key)) = ordered {
        return Some(AnthropicAuth { api_key, source: format!("auth.order.anthropic names {id}") });
    }
    let kinds: Vec<bool> = profiles.into_iter().flatten().filter_map(|(_, p)| anthropic_profile(p)).collect();
    if let Some(&api_key) = kinds.first().filter(|first| kinds.iter().all(|kind| kind == *first)) {
        let kind = if api_key { "an API key" } else { "a subscription token" };
        return Some(AnthropicAuth { api_key, source: format!("auth.profiles has {kind} for anthropic") });
    }
    [("ANTHROPIC_OAUTH_TOKEN", false), ("ANTHROPIC_API_KEY", true)].into_iter().find_map(|(name, api_key)| {
        env.get(name)?;
        Some(AnthropicAuth { api_key, source: format!("the environment sets {name}") })
    })
}

/// Returns whether a profile of Anthropic holds an API key (true) or a token (false); `None` for any other profile.
fn anthropic_profile(profile: &Value) -> Option<bool> {
    if profile.get("provider")?.as_str()? != "anthropic" {
        return None;
    }
    match profile.get("mode")?.as_str()? {
        "api_key" => Some(true),
        "oauth" | "token" => Some(false),
        _ => None,
    }
}

/// Gives a configured model without a positive window the default one (compaction 7.4), so that a listed model always
/// decides.
fn model_defaults(root: &mut Value, applied: &mut Vec<AppliedDefault>) {
    let Some(providers) = root.pointer_mut("/models/providers").and_then(Value::as_object_mut) else {
        return;
    };
    for (provider, value) in providers {
        let models = value.get_mut("models").and_then(Value::as_array_mut).into_iter().flatten();
        for (index, model) in models.enumerate().filter(|(_, model)| model.is_object()) {
            let positive = |value: Option<&Value>| value.and_then(Value::as_f64).filter(|n| *n > 0.0);
            let window = positive(model.get("contextWindow")).unwrap_or_else(|| {
                let key = format!("models.providers.{provider}.models.{index}.contextWindow");
                let why = "the listed model has no window".to_owned();
                applied.push(AppliedDefault { key, rule: "model default", reason: why });
                model["contextWindow"] = json!(200_000);
                200_000.0
            });
            let reported = positive(model.get("maxTokens"));
            let most = reported.unwrap_or(8192.0).min(window);
            if reported != Some(most) {
                let key = format!("models.providers.{provider}.models.{index}.maxTokens");
                let why = match reported {
                    None => "the listed model has no maxTokens",
                    Some(_) => "an answer cannot exceed the window",
                };
                applied.push(AppliedDefault { key, rule: "model default", reason: why.to_owned() });
            }
            model["maxTokens"] = json!(most);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(vars: &[(&str, &str)]) -> Environment {
        Environment::new(vars.iter().copied(), None, "/".into())
    }

    #[track_caller]
    fn pruning(mut root: Value, vars: &[(&str, &str)], expected: &Value) {
        apply_defaults(&mut root, &env(vars));
        assert_eq!(root.pointer("/agents/defaults/contextPruning"), Some(expected).filter(|e| !e.is_null()));
    }

    fn profiles(modes: &[(&str, &str, &str)], order: &[&str]) -> Value {
        let profiles: Map<String, Value> = modes
            .iter()
            .map(|(id, provider, mode)| ((*id).to_owned(), json!({ "provider": provider, "mode": mode })))
            .collect();
        json!({ "auth": { "profiles": profiles, "order": { "anthropic": order } } })
    }

    #[test]
    fn pruning_is_on_by_default_for_anthropic_users_and_off_for_others() {
        let on = json!({ "mode": "cache-ttl", "ttl": "1h" });
        let key = [("ANTHROPIC_API_KEY", "k")];
        pruning(json!({}), &[], &Value::Null);
        pruning(json!({}), &[("OPENAI_API_KEY", "k")], &Value::Null);
        pruning(json!({}), &key, &on);
        pruning(profiles(&[("a", "anthropic", "oauth")], &[]), &[], &on);
        pruning(profiles(&[("a", "openai", "oauth")], &["a"]), &[], &Value::Null);
        pruning(profiles(&[("a", "anthropic", "other")], &["a"]), &[], &Value::Null);
        let with = |raw: Value| json!({ "agents": { "defaults": { "contextPruning": raw } } });
        pruning(
            with(json!({ "softTrimRatio": 0.2 })),
            &key,
            &json!({ "softTrimRatio": 0.2, "mode": "cache-ttl", "ttl": "1h" }),
        );
        pruning(with(json!({ "ttl": "9m" })), &key, &json!({ "ttl": "9m", "mode": "cache-ttl" }));
        pruning(with(json!({ "mode": "cache-ttl" })), &key, &json!({ "mode": "cache-ttl" }));
        pruning(with(json!({ "mode": "off" })), &key, &json!({ "mode": "off" }));
    }

    #[test]
    fn the_kind_of_credential_is_found_in_order() {
        let mixed = [("a", "anthropic", "api_key"), ("b", "anthropic", "token")];
        let api_key =
            |root: &Value, vars: &[(&str, &str)]| anthropic_auth(root, &env(vars)).map(|auth| auth.api_key);
        assert_eq!(api_key(&profiles(&mixed, &["x", "b", "a"]), &[]), Some(false));
        assert_eq!(api_key(&profiles(&mixed, &["a"]), &[]), Some(true));
        assert_eq!(api_key(&profiles(&mixed, &[]), &[]), None);
        assert_eq!(api_key(&profiles(&mixed, &[]), &[("ANTHROPIC_API_KEY", "k")]), Some(true));
        let both = [("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_OAUTH_TOKEN", "t")];
        assert_eq!(api_key(&json!({}), &both), Some(false));
        assert_eq!(api_key(&json!({}), &[("ANTHROPIC_OAUTH_TOKEN", " ")]), None);
    }

    #[test]
    fn every_filled_value_says_why() {
        let mut root = json!({});
        let applied = apply_defaults(&mut root, &env(&[("ANTHROPIC_API_KEY", "k")]));
        let keys: Vec<_> = applied.iter().map(|a| a.key.as_str()).collect();
        let defaults = "agents.defaults.";
        let expected = ["contextPruning.mode", "contextPruning.ttl", "heartbeat.every", "compaction.mode"];
        assert_eq!(keys, expected.map(|key| format!("{defaults}{key}")));
        assert_eq!(applied[0].reason, "the environment sets ANTHROPIC_API_KEY");
        assert_eq!(root.pointer("/agents/defaults/heartbeat/every"), Some(&json!("30m")));
    }

    #[test]
    fn listed_models_get_a_window_and_an_output_within_it() {
        let mut root = json!({ "models": { "providers": { "x": { "models": [
            { "id": "a" }, { "id": "b", "contextWindow": -1, "maxTokens": 9e9 }, null, { "id": "c", "contextWindow": 5000 } ] } } } });
        apply_defaults(&mut root, &env(&[]));
        let models = root.pointer("/models/providers/x/models").unwrap();
        assert_eq!(models[0]["contextWindow"], json!(200_000));
        assert_eq!(models[1]["maxTokens"].as_f64(), Some(200_000.0));
        assert_eq!(models[2], Value::Null);
        assert_eq!(
            (models[3]["contextWindow"].as_f64(), models[3]["maxTokens"].as_f64()),
            (Some(5000.0), Some(5000.0))
        );
    }

    #[test]
    fn values_of_a_wrong_type_are_unchanged() {
        let mut root = json!({ "agents": [], "models": { "providers": [] } });
        assert_eq!(apply_defaults(&mut root, &env(&[("ANTHROPIC_API_KEY", "k")])), []);
        assert_eq!(root, json!({ "agents": [], "models": { "providers": [] } }));
    }
}
