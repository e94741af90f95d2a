//! Settings that newer releases move before they validate: the list of agents becomes `agents.entries`, and context
//! budgets of agents and providers leave (releases R77).

use serde_json::{Map, Value};

use super::state_dir::normalise_agent_id;

/// A key that a release moved or dropped, and the sentence with which it says so.
pub(super) struct Moved {
    pub(super) trail: Vec<String>,
    pub(super) message: String,
}

const BUDGET: &str = "contextTokens";
const REPLACEMENT: &str = "models.providers.<provider>.models[].contextTokens";

/// Moves what these releases move; returns what is lost by it.
pub(super) fn migrate(root: &mut Value) -> Vec<Moved> {
    let mut lost = Vec::new();
    provider_budgets(root, &mut lost);
    for trail in agent_trails(root) {
        let path: Vec<&str> = trail.iter().map(String::as_str).collect();
        if let Some(Value::Object(agent)) = value_at(root, &path)
            && agent.shift_remove(BUDGET).is_some()
        {
            let trail: Vec<String> = trail.into_iter().chain([BUDGET.to_owned()]).collect();
            let message =
                format!("{} cannot be represented per model; use {REPLACEMENT} instead.", trail.join("."));
            lost.push(Moved { trail, message });
        }
    }
    list_to_entries(root);
    lost
}

/// The places of agents' settings.
fn agent_trails(root: &Value) -> Vec<Vec<String>> {
    let trail = |steps: &[&str]| steps.iter().map(|&step| step.to_owned()).collect::<Vec<_>>();
    let keyed = root.pointer("/agents/entries").and_then(Value::as_object).into_iter().flatten();
    let listed = root.pointer("/agents/list").and_then(Value::as_array).into_iter().flatten().enumerate();
    let mut all = vec![trail(&["agents", "defaults"])];
    all.extend(keyed.map(|(id, _)| trail(&["agents", "entries", id])));
    all.extend(listed.map(|(at, _)| trail(&["agents", "list", &at.to_string()])));
    all
}

/// A provider's own budget becomes that of each of its models that has none.
fn provider_budgets(root: &mut Value, lost: &mut Vec<Moved>) {
    let providers = root.pointer_mut("/models/providers").and_then(Value::as_object_mut);
    for (id, provider) in providers.into_iter().flatten() {
        for key in [BUDGET, "contextWindow"] {
            let Some(budget) = provider.as_object_mut().and_then(|provider| provider.shift_remove(key))
            else {
                continue;
            };
            let models =
                provider.get_mut("models").and_then(Value::as_array_mut).filter(|list| !list.is_empty());
            match models {
                Some(models) => models.iter_mut().filter_map(Value::as_object_mut).for_each(|model| {
                    model.entry(key).or_insert_with(|| budget.clone());
                }),
                None => lost.push(Moved {
                    trail: ["models", "providers", id, key].map(str::to_owned).to_vec(),
                    message: format!(
                        "models.providers.{id}.{key} had no explicit model entries to receive its value; use {REPLACEMENT} instead."
                    ),
                }),
            }
        }
    }
}

/// Keys the list of agents by id; a list that has no valid ids stays, and the schema refuses it.
fn list_to_entries(root: &mut Value) {
    let Some(agents) = root.get_mut("agents").and_then(Value::as_object_mut) else { return };
    let Some(list) = agents.get("list").and_then(Value::as_array).filter(|_| !agents.contains_key("entries"))
    else {
        return;
    };
    let mut entries = Map::new();
    for agent in list {
        let id = agent.get("id").and_then(Value::as_str).unwrap_or_default();
        let marked = agent.get("default").is_none_or(Value::is_boolean);
        if !marked || id.is_empty() || normalise_agent_id(id) != id || entries.contains_key(id) {
            return;
        }
        let own = agent.as_object().into_iter().flatten().filter(|(key, _)| *key != "id");
        entries.insert(
            id.to_owned(),
            own.map(|(key, value)| (key.clone(), value.clone())).collect::<Map<_, _>>().into(),
        );
    }
    agents.shift_remove("list");
    agents.insert("entries".to_owned(), Value::Object(entries));
}

/// Lists the agents of `agents.entries` again, as every reader here expects them; returns their ids in order.
pub(super) fn entries_to_list(root: &mut Value) -> Vec<String> {
    let Some(agents) = root.get_mut("agents").and_then(Value::as_object_mut) else { return Vec::new() };
    let Some(Value::Object(entries)) = agents.shift_remove("entries") else { return Vec::new() };
    let mut ids = Vec::new();
    let mut list = Vec::new();
    for (id, entry) in entries {
        let mut agent = Map::from_iter([("id".to_owned(), Value::String(id.clone()))]);
        agent.extend(entry.as_object().cloned().unwrap_or_default());
        ids.push(id);
        list.push(Value::Object(agent));
    }
    agents.insert("list".to_owned(), Value::Array(list));
    ids
}

/// Returns the other place of an agent's setting: in `agents.entries` for one in `agents.list`, and the reverse.
pub(super) fn other_place(trail: &[&str], ids: &[String]) -> Option<Vec<String>> {
    let (place, step) = match trail {
        ["agents", "list", at, ..] => ("entries", ids.get(at.parse::<usize>().ok()?)?.clone()),
        ["agents", "entries", id, ..] => ("list", ids.iter().position(|known| known == id)?.to_string()),
        _ => return None,
    };
    let rest = trail.get(3..)?.iter().map(|&step| step.to_owned());
    Some(["agents".to_owned(), place.to_owned(), step].into_iter().chain(rest).collect())
}

fn value_at<'a>(root: &'a mut Value, path: &[&str]) -> Option<&'a mut Value> {
    path.iter().try_fold(root, |value, key| match value {
        Value::Array(items) => items.get_mut(key.parse::<usize>().ok()?),
        other => other.get_mut(*key),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_list_of_agents_is_keyed_and_listed_again() {
        let mut root = json!({ "agents": { "list": [{ "id": "main", "model": "a/b" }, { "id": "dev" }] } });
        assert!(migrate(&mut root).is_empty());
        assert_eq!(root, json!({ "agents": { "entries": { "main": { "model": "a/b" }, "dev": {} } } }));
        assert_eq!(entries_to_list(&mut root), ["main", "dev"]);
        assert_eq!(
            root,
            json!({ "agents": { "list": [{ "id": "main", "model": "a/b" }, { "id": "dev" }] } })
        );
    }

    #[test]
    fn a_list_without_valid_ids_stays_for_the_schema_to_refuse() {
        for list in [json!([{ "id": "A b" }]), json!([{}]), json!([{ "id": "a" }, { "id": "a" }]), json!([5])]
        {
            let mut root = json!({ "agents": { "list": list } });
            let before = root.clone();
            migrate(&mut root);
            assert_eq!(root, before);
        }
    }

    #[test]
    fn budgets_of_agents_are_dropped_and_those_of_providers_go_to_their_models() {
        let mut root = json!({
            "agents": { "defaults": { "contextTokens": 5 }, "entries": { "x": { "contextTokens": 6 } } },
            "models": { "providers": {
                "a": { "contextWindow": 9, "models": [{ "id": "m" }, { "id": "n", "contextWindow": 1 }] },
                "b": { "contextTokens": 9 } } } });
        let lost: Vec<String> = migrate(&mut root).into_iter().map(|moved| moved.trail.join(".")).collect();
        assert_eq!(
            lost,
            [
                "models.providers.b.contextTokens",
                "agents.defaults.contextTokens",
                "agents.entries.x.contextTokens"
            ]
        );
        assert_eq!(
            root["models"]["providers"]["a"]["models"],
            json!([{ "id": "m", "contextWindow": 9 }, { "id": "n", "contextWindow": 1 }])
        );
        assert_eq!(root["agents"], json!({ "defaults": {}, "entries": { "x": {} } }));
    }

    #[test]
    fn an_agents_setting_is_found_at_its_other_place() {
        let ids = ["main".to_owned(), "dev".to_owned()];
        assert_eq!(
            other_place(&["agents", "list", "1", "model"], &ids).unwrap().join("."),
            "agents.entries.dev.model"
        );
        assert_eq!(other_place(&["agents", "entries", "main"], &ids).unwrap().join("."), "agents.list.0");
        assert_eq!(other_place(&["agents", "defaults"], &ids), None);
    }
}
