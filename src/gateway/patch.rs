//! Renders changed settings as a patch for `openclaw.json` (JSON5), and as the commands that make the same change.
//! clawscope applies neither: the person does.

use std::path::PathBuf;

use crate::js::{Object, Value, parse, stringify, stringify_str};
use crate::text::{shell, visible};

use super::setting_value::insert_dotted;

/// Marks a path into the list of a provider's models: `models.providers.vllm.models[ID].contextWindow`.
const MODEL_LIST_MARKER: &str = ".models[";
/// Marks a path into one model's settings of pi: `compaction.modelOverrides[p/m].reserveTokens`.
const MODEL_OVERRIDE_MARKER: &str = ".modelOverrides[";
/// Marks a path into one person's settings; the person's id may contain dots.
const PERSON_MARKER: &str = ".dms.";
/// The only key below a person's id.
const PERSON_LIMIT_KEY: &str = "historyLimit";

enum PatchPath<'a> {
    Plain(&'a str),
    /// The path of the list, the model's id, the key in it.
    Model(&'a str, &'a str, &'a str),
    /// The path of the channel, the person's id.
    Person(&'a str, &'a str),
    /// The path above `modelOverrides`, the model's name, the key in it.
    Override(&'a str, &'a str, &'a str),
}

fn parse_path(path: &str) -> PatchPath<'_> {
    if let Some((provider, rest)) = path.split_once(MODEL_LIST_MARKER) {
        let (id, key) = rest.split_once("].").unwrap_or((rest, "contextWindow"));
        return PatchPath::Model(provider, id, key);
    }
    if let Some((above, rest)) = path.split_once(MODEL_OVERRIDE_MARKER) {
        let (model, key) = rest.split_once("].").unwrap_or((rest, "reserveTokens"));
        return PatchPath::Override(above, model, key);
    }
    let person = path
        .split_once(PERSON_MARKER)
        .and_then(|(channel, rest)| Some((channel, rest.strip_suffix(PERSON_LIMIT_KEY)?.strip_suffix('.')?)));
    person.map_or(PatchPath::Plain(path), |(channel, id)| PatchPath::Person(channel, id))
}

/// Renders paths and values as one object, indented by two spaces like the gateway's own file; `{}` for none.
pub fn patch<'a>(settings: impl IntoIterator<Item = (&'a str, Value)>) -> String {
    let mut root = Object::default();
    for (path, value) in settings {
        match parse_path(path) {
            PatchPath::Plain(path) => insert_dotted(&mut root, path, value),
            PatchPath::Model(provider, id, key) => {
                let model = Object::from([("id", Value::from(id)), (key, value)]);
                let models = Value::Array(vec![Value::Object(model)]);
                insert_dotted(&mut root, &format!("{provider}.models"), models);
            }
            PatchPath::Override(above, model, key) => {
                let path: Vec<&str> = above.split('.').chain(["modelOverrides", model, key]).collect();
                insert_at(&mut root, &path, value);
            }
            PatchPath::Person(channel, id) => {
                let limit = Value::Object(Object::from([(PERSON_LIMIT_KEY, value)]));
                insert_dotted(
                    &mut root,
                    &format!("{channel}.dms"),
                    Value::Object(Object::from([(id, limit)])),
                );
            }
        }
    }
    pretty(&Value::Object(root), 0)
}

/// Inserts a value below keys that may contain dots.
fn insert_at(object: &mut Object, path: &[&str], value: Value) {
    match path {
        [] => {}
        [key] => object.set(key, value),
        [key, rest @ ..] => {
            let mut nested = object.get(key).and_then(Value::as_object).cloned().unwrap_or_default();
            insert_at(&mut nested, rest, value);
            object.set(key, Value::Object(nested));
        }
    }
}

/// Renders one patch for each file, preceded by a comment that names the file; the gateway's own patch comes first,
/// without one. Also returns the commands for the gateway's part.
pub fn patches(settings: &[WrittenSetting]) -> (String, Vec<String>) {
    let mut files: Vec<Option<PathBuf>> = settings.iter().map(|written| written.file.clone()).collect();
    files.sort();
    files.dedup();
    let text = |file: &Option<PathBuf>| {
        let object = patch(settings_in_file(settings, file.as_ref()));
        match file {
            // A line end in the path would end the comment.
            Some(file) => format!("// {}\n{object}", visible(&file.to_string_lossy())),
            None => object,
        }
    };
    let texts: Vec<String> = files.iter().map(text).collect();
    (texts.join("\n"), commands(settings_in_file(settings, None)))
}

fn settings_in_file<'a>(
    settings: &'a [WrittenSetting],
    file: Option<&'a PathBuf>,
) -> impl Iterator<Item = (&'a str, Value)> {
    let own = settings.iter().filter(move |written| written.file.as_ref() == file);
    own.map(|written| (written.path.as_str(), written.value.clone()))
}

/// A value and the place to write it.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenSetting {
    /// The file; `None` for the gateway's `openclaw.json`.
    pub file: Option<PathBuf>,
    pub path: String,
    pub value: Value,
}

/// Builds an `openclaw config set` line for each value; omits paths that are not plain dotted keys.
pub fn commands<'a>(settings: impl IntoIterator<Item = (&'a str, Value)>) -> Vec<String> {
    let plain = |(path, value): (&'a str, Value)| match parse_path(path) {
        PatchPath::Plain(path) => {
            Some(format!("openclaw config set {} {}", shell::word(path), shell_word(&value)))
        }
        PatchPath::Model(..) | PatchPath::Person(..) | PatchPath::Override(..) => None,
    };
    settings.into_iter().filter_map(plain).collect()
}

/// Quotes a value for the shell. The command parses JSON if it can, else takes the text.
fn shell_word(value: &Value) -> String {
    let text = match value.as_str().map(crate::js::JsString::to_string_lossy) {
        Some(text) if parse(&text).is_err() => text,
        _ => stringify(value),
    };
    shell::word(&text)
}

fn pretty(value: &Value, level: usize) -> String {
    match value {
        Value::Object(object) if !object.is_empty() => {
            let indent = "  ".repeat(level + 1);
            let members = object
                .iter()
                .map(|(key, value)| format!("{indent}{}: {}", stringify_str(key), pretty(value, level + 1)));
            format!("{{\n{}\n{}}}", members.collect::<Vec<_>>().join(",\n"), "  ".repeat(level))
        }
        other => stringify(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_nests_by_the_path_and_a_command_names_it() {
        let changes = [
            ("agents.defaults.contextPruning.ttl", Value::from("30m")),
            ("agents.defaults.compaction.reserveTokens", Value::from(34_000.0)),
        ];
        let expected = "{\n  \"agents\": {\n    \"defaults\": {\n      \"contextPruning\": {\n        \"ttl\": \"30m\"\n      },\n      \"compaction\": {\n        \"reserveTokens\": 34000\n      }\n    }\n  }\n}";
        assert_eq!(patch(changes.clone()), expected);
        assert_eq!(commands(changes)[0], "openclaw config set agents.defaults.contextPruning.ttl 30m");
    }

    #[test]
    fn a_model_is_patched_in_its_list_and_has_no_command() {
        let changes = [("models.providers.vllm.models[qwen3.5].contextWindow", Value::from(131_072.0))];
        let text = patch(changes.clone());
        assert!(text.contains(r#"[{"id":"qwen3.5","contextWindow":131072}]"#), "{text}");
        assert_eq!(commands(changes), Vec::<String>::new());
    }

    #[test]
    fn the_patch_nests_a_persons_limit_under_the_whole_id() {
        let changes = [("channels.matrix.dms.@a:b.example.historyLimit", Value::from(5))];
        let compact = crate::js::stringify(&parse(&patch(changes.clone())).expect("JSON"));
        assert_eq!(compact, r#"{"channels":{"matrix":{"dms":{"@a:b.example":{"historyLimit":5}}}}}"#);
        assert_eq!(commands(changes), Vec::<String>::new());
    }

    #[test]
    fn settings_of_two_programs_are_two_patches_each_named() {
        let written = |file: Option<&str>, path: &str, value: f64| WrittenSetting {
            file: file.map(PathBuf::from),
            path: path.to_owned(),
            value: value.into(),
        };
        let (text, commands) = patches(&[
            written(
                Some("/h/.pi/agent/settings.json"),
                "compaction.modelOverrides[p/m.1].reserveTokens",
                9.0,
            ),
            written(
                Some("/h/.pi/agent/settings.json"),
                "compaction.modelOverrides[p/m.1].keepRecentTokens",
                8.0,
            ),
            written(None, "agents.defaults.contextTokens", 1.0),
        ]);
        let (own, pi) =
            text.split_once("// /h/.pi/agent/settings.json\n").expect("the file of the second is named");
        assert_eq!(
            crate::js::stringify(&parse(own).unwrap()),
            r#"{"agents":{"defaults":{"contextTokens":1}}}"#
        );
        let expected =
            r#"{"compaction":{"modelOverrides":{"p/m.1":{"reserveTokens":9,"keepRecentTokens":8}}}}"#;
        assert_eq!(crate::js::stringify(&parse(pi).unwrap()), expected);
        assert_eq!(commands, ["openclaw config set agents.defaults.contextTokens 1"]);
    }

    #[test]
    fn a_value_is_one_word_of_the_shell_and_keeps_its_type() {
        let word = |value: Value| shell_word(&value);
        assert_eq!(word(Value::from("cache-ttl")), "cache-ttl");
        assert_eq!(word(Value::from("10")), "'\"10\"'");
        assert_eq!(word(Value::from("it's $HOME")), r"'it'\''s $HOME'");
        assert_eq!(word(Value::Array(vec!["a b".into()])), "'[\"a b\"]'");
        assert_eq!(word(Value::from(0.3)), "0.3");
    }
}
