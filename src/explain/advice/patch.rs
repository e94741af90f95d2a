//! Changes as a patch for `openclaw.json` and as the commands that make the same change. Neither is ever run by us.

use crate::explain::advice::Change;
use crate::gateway::setting_value::insert;
use crate::js::{Object, Value, stringify, stringify_str};

/// A path goes through the list of a provider's models.
const IN_MODEL: &str = ".models[";

/// The changes as one object with two spaces a level.
pub(super) fn patch(changes: &[Change]) -> String {
    let mut root = Object::default();
    for change in changes {
        match change.path.split_once(IN_MODEL) {
            None => insert(&mut root, &change.path, change.value.clone()),
            Some((provider, rest)) => {
                let (id, key) = rest.split_once("].").unwrap_or((rest, "contextWindow"));
                let model = Object::from([("id", Value::from(id)), (key, change.value.clone())]);
                let models = Value::Array(vec![Value::Object(model)]);
                insert(&mut root, &format!("{provider}.models"), models);
            }
        }
    }
    pretty(&Value::Object(root), 0)
}

/// One `openclaw config set` line for each change.
pub(super) fn commands(changes: &[Change]) -> Vec<String> {
    let plain = |change: &&Change| !change.path.contains(IN_MODEL);
    let line = |change: &Change| format!("openclaw config set {} {}", change.path, shell(&change.value));
    changes.iter().filter(plain).map(line).collect()
}

/// A value as a word of the shell.
fn shell(value: &Value) -> String {
    match value.as_str() {
        Some(text) => text.to_string_lossy(),
        None => stringify(value),
    }
}

fn pretty(value: &Value, level: usize) -> String {
    let indent = "  ".repeat(level + 1);
    let end = "  ".repeat(level);
    match value {
        Value::Object(object) if !object.is_empty() => {
            let members = object
                .iter()
                .map(|(key, value)| format!("{indent}{}: {}", stringify_str(key), pretty(value, level + 1)));
            format!("{{\n{}\n{end}}}", members.collect::<Vec<_>>().join(",\n"))
        }
        other => stringify(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str, value: Value) -> Change {
        let tuned = value.clone();
        Change { key: path.into(), path: path.into(), was: String::new(), now: String::new(), value, tuned }
    }

    #[test]
    fn a_patch_nests_by_the_path_and_a_command_names_it() {
        let changes = [
            change("agents.defaults.contextPruning.ttl", Value::from("30m")),
            change("agents.defaults.compaction.reserveTokens", Value::from(34_000.0)),
        ];
        let expected = "{\n  \"agents\": {\n    \"defaults\": {\n      \"contextPruning\": {\n        \"ttl\": \"30m\"\n      },\n      \"compaction\": {\n        \"reserveTokens\": 34000\n      }\n    }\n  }\n}";
        assert_eq!(patch(&changes), expected);
        assert_eq!(commands(&changes)[0], "openclaw config set agents.defaults.contextPruning.ttl 30m");
    }

    #[test]
    fn a_model_is_patched_in_its_list_and_has_no_command() {
        let changes = [change("models.providers.vllm.models[qwen3.5].contextWindow", Value::from(131_072.0))];
        assert!(
            patch(&changes).contains(r#"[{"id":"qwen3.5","contextWindow":131072}]"#),
            "{}",
            patch(&changes)
        );
        assert_eq!(commands(&changes), Vec::<String>::new());
    }
}
