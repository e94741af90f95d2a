//! Changes of a program's configuration, as a patch of clawscope's describes them.

use serde_json::{Value, json};

/// Objects to put into configuration files, each with the name of its file.
#[derive(Debug, Clone, Default)]
pub(super) struct Changes(Vec<(String, Value)>);

impl Changes {
    /// Reads a patch: one object for each file, which a comment names; without one it is the gateway's own file.
    pub(super) fn of_patch(patch: &str) -> Self {
        let mut files: Vec<(String, String)> = vec![("openclaw.json".to_owned(), String::new())];
        for line in patch.lines() {
            match line.strip_prefix("// ") {
                Some(path) => {
                    let name = path.rsplit('/').next().unwrap_or(path);
                    files.push((name.to_owned(), String::new()));
                }
                None => files.last_mut().expect("a file").1.push_str(line),
            }
        }
        let written = files.into_iter().filter(|(_, text)| !text.trim().is_empty());
        let parsed = written.map(|(name, text)| {
            let value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            (name, value)
        });
        Self(parsed.collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The content of a file with the changes in it.
    pub(super) fn applied(&self, name: &str, mut own: Value) -> Value {
        for (_, change) in self.0.iter().filter(|(file, _)| file == name) {
            put(&mut own, change);
        }
        own
    }
}

/// Puts a change into a value; elements of a list are found by their ids.
fn put(into: &mut Value, change: &Value) {
    match change {
        Value::Object(fields) => {
            if !into.is_object() {
                *into = json!({});
            }
            for (key, field) in fields {
                put(&mut into[key], field);
            }
        }
        Value::Array(items) if items.iter().all(|item| item["id"].is_string()) && into.is_array() => {
            for item in items {
                let known = into.as_array_mut().into_iter().flatten();
                let known = known.into_iter().find(|other| other["id"] == item["id"]);
                put(known.expect("the patch names an id that the file has"), item);
            }
        }
        _ => *into = change.clone(),
    }
}

#[test]
fn a_patch_changes_the_model_that_it_names_and_leaves_the_rest() {
    let patch =
        "{\"a\":{\"b\":1}}\n// /home/x/models.json\n{\"p\":{\"models\":[{\"id\":\"m\",\"maxTokens\":5}]}}";
    let changes = Changes::of_patch(patch);
    let own = json!({ "p": { "models": [{ "id": "n" }, { "id": "m", "maxTokens": 9, "name": "M" }] } });
    let expected = json!({ "p": { "models": [{ "id": "n" }, { "id": "m", "maxTokens": 5, "name": "M" }] } });
    assert_eq!(changes.applied("models.json", own), expected);
    assert_eq!(
        changes.applied("openclaw.json", json!({ "a": 2, "c": 3 })),
        json!({ "a": { "b": 1 }, "c": 3 })
    );
    assert!(Changes::of_patch("").is_empty());
}
