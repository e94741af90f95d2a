//! Changed settings as a patch for `openclaw.json` (JSON5) and as the commands that make the same change. Neither is ever
//! run by us.

use std::path::PathBuf;

use crate::js::{Object, Value, parse, stringify, stringify_str};

use super::setting_value::insert_dotted;

/// A path goes through the list of a provider's models: `models.providers.vllm.models[ID].contextWindow`.
const MODEL_LIST_MARKER: &str = ".models[";
/// A path goes to what one model has of its own in pi's settings: `compaction.modelOverrides[p/m].reserveTokens`.
const MODEL_OVERRIDE_MARKER: &str = ".modelOverrides[";
/// A path goes to a person's own settings: the id may hold dots itself.
const PERSON_MARKER: &str = ".dms.";
/// The one key that stands under a person's id.
const PERSON_LIMIT_KEY: &str = "historyLimit";

/// Where a value stands, as far as its path can be taken apart.
enum PatchPath<'a> {
    Plain(&'a str),
    /// Path of the list, id of the model, key in it.
    Model(&'a str, &'a str, &'a str),
    /// Path of the people, id of the person.
    Person(&'a str, &'a str),
    /// Path above the models, name of the model, key of its own.
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

/// Paths and values as one object with two spaces a level, as the gateway writes its configuration; `{}` of nothing.
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

/// Puts a value below keys that may hold dots themselves.
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

/// The patches of settings that several files hold, each behind a comment that names its file; the gateway's own stands
/// first and without one. With it the commands that make the gateway's part.
pub fn patches(settings: &[WrittenSetting]) -> (String, Vec<String>) {
    let mut files: Vec<Option<PathBuf>> = settings.iter().map(|written| written.file.clone()).collect();
    files.sort();
    files.dedup();
    let text = |file: &Option<PathBuf>| {
        let object = patch(settings_in_file(settings, file.as_ref()));
        match file {
            Some(file) => format!("// {}\n{object}", file.display()),
            None => object,
        }
    };
    let texts: Vec<String> = files.iter().map(text).collect();
    (texts.join("\n"), commands(settings_in_file(settings, None)))
}

/// What one file holds of the settings.
fn settings_in_file<'a>(
    settings: &'a [WrittenSetting],
    file: Option<&'a PathBuf>,
) -> impl Iterator<Item = (&'a str, Value)> {
    let own = settings.iter().filter(move |written| written.file.as_ref() == file);
    own.map(|written| (written.path.as_str(), written.value.clone()))
}

/// A value and where it is to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenSetting {
    /// The file; none for the gateway's `openclaw.json`.
    pub file: Option<PathBuf>,
    /// The path in it.
    pub path: String,
    /// As the file holds it.
    pub value: Value,
}

/// One `openclaw config set` line for each value; none where a path has a part that is no plain name.
pub fn commands<'a>(settings: impl IntoIterator<Item = (&'a str, Value)>) -> Vec<String> {
    let plain = |(path, value): (&'a str, Value)| match parse_path(path) {
        PatchPath::Plain(path) => Some(format!("openclaw config set {path} {}", shell_word(&value))),
        PatchPath::Model(..) | PatchPath::Person(..) | PatchPath::Override(..) => None,
    };
    settings.into_iter().filter_map(plain).collect()
}

/// A value as a word of the shell. The command reads JSON where it can, else a text.
fn shell_word(value: &Value) -> String {
    let text = match value.as_str().map(crate::js::JsString::to_string_lossy) {
        Some(text) if parse(&text).is_err() => text,
        _ => stringify(value),
    };
    let plain = |char: char| char.is_ascii_alphanumeric() || "_-./:@%+=,".contains(char);
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
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
    fn a_persons_own_limit_stands_under_the_whole_id() {
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
