//! A session of the tests as a gateway keeps it: transcript, store row and configuration in a folder, read as the
//! program reads them.

use std::fs::{File, create_dir_all};
use std::io::Write as _;
use std::ops::Deref;
use std::path::PathBuf;

use clawscope::gateway::env::Environment;
use clawscope::ids::SessionKey;
use clawscope::report::explain::{Explanation, explain};
use clawscope::session::LoadedSession;
use clawscope::session::list::list_sessions;
use clawscope::session::loading::open;
use clawscope::session::store_location::{StoreLocation, StoreRequest};
use clawscope::units::{Moment, Tokens};
use serde_json::{Map, Value, json};

use super::made::Made;

/// The key of the session, unless another is given.
pub(crate) const KEY: &str = "agent:main:telegram:direct:1";

/// A session in a store that is not written yet.
#[derive(Debug, Clone)]
pub(crate) struct OnStore {
    made: Made,
    window: u64,
    key: String,
    row: Map<String, Value>,
    has_row: bool,
    config: Value,
    others: Vec<(String, Made, Map<String, Value>)>,
}

/// A loaded session, with its folder.
#[derive(Debug)]
pub(crate) struct Read {
    folder: tempfile::TempDir,
    session: LoadedSession,
}

impl Deref for Read {
    type Target = LoadedSession;

    fn deref(&self) -> &LoadedSession {
        &self.session
    }
}

impl Read {
    /// Returns the folder of its store.
    pub(crate) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// Explains the session.
    pub(crate) fn said(&self) -> Explanation {
        explain(&self.session).expect("it reads")
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("{other}"),
    }
}

fn write(path: PathBuf, text: &str) {
    File::create(path).expect("a file").write_all(text.as_bytes()).expect("written");
}

/// Merges one object into another, deeply.
fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

/// Adds what the gateway requires of each provider and model.
fn complete(mut config: Value) -> Value {
    let providers = config.pointer_mut("/models/providers").and_then(Value::as_object_mut);
    for provider in providers.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut) {
        provider.entry("baseUrl").or_insert_with(|| "https://example.com/v1".into());
        let models = provider.get_mut("models").and_then(Value::as_array_mut).into_iter().flatten();
        for model in models.filter_map(Value::as_object_mut) {
            let id = model.get("id").cloned().unwrap_or_default();
            model.entry("name").or_insert(id);
        }
    }
    config
}

impl OnStore {
    pub(crate) fn new(made: Made, window: u64) -> Self {
        let (provider, model) = made.first_model;
        let config = json!({
            "meta": { "lastTouchedVersion": "2026.3.2" },
            "agents": { "defaults": {
                "model": { "primary": format!("{provider}/{model}") },
                "contextPruning": { "mode": "cache-ttl", "ttl": "1h" }
            } },
            "models": { "providers": { provider: { "models": [{ "id": model, "contextWindow": window }] } } }
        });
        Self { made, window, key: KEY.to_owned(), row: Map::new(), has_row: true, config, others: Vec::new() }
    }

    /// Adds members to the row.
    pub(crate) fn row(mut self, row: Value) -> Self {
        self.row.extend(object(row));
        self
    }

    /// Removes its row.
    pub(crate) fn without_row(mut self) -> Self {
        self.has_row = false;
        self
    }

    /// Adds members to the configuration.
    pub(crate) fn config(mut self, config: Value) -> Self {
        merge(&mut self.config, config);
        self
    }

    /// Adds another session to the store.
    pub(crate) fn beside(mut self, key: &str, made: &Made, row: Value) -> Self {
        self.others.push((key.to_owned(), made.clone(), object(row)));
        self
    }

    /// Writes the store.
    pub(crate) fn write(&self) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let sessions = folder.path().join("agents/main/sessions");
        create_dir_all(&sessions).expect("folders");
        write(folder.path().join("openclaw.json"), &complete(self.config.clone()).to_string());
        let mut rows = Map::new();
        let mut session = |id: &str, key: &str, made: &Made, row: &Map<String, Value>, listed: bool| {
            let text = made.text().replacen("\"id\":\"s\"", &format!("\"id\":\"{id}\""), 1);
            write(sessions.join(format!("{id}.jsonl")), &text);
            if listed {
                let mut own = object(json!({ "sessionId": id, "updatedAt": made.now }));
                own.extend(row.clone());
                rows.insert(key.to_owned(), Value::Object(own));
            }
        };
        session("s", &self.key, &self.made, &self.row, self.has_row);
        for (number, (key, made, row)) in self.others.iter().enumerate() {
            session(&format!("other-{number}"), key, made, row, true);
        }
        write(sessions.join("sessions.json"), &Value::Object(rows).to_string());
        folder
    }

    /// Writes the store and reads the session from it.
    pub(crate) fn read(&self) -> Read {
        let folder = self.write();
        let is_other = |key: &SessionKey| self.others.iter().any(|it| it.0 == key.0);
        let own = |key: &SessionKey| if self.has_row { key.0 == self.key } else { !is_other(key) };
        let session = read_session(folder.path(), Moment(self.made.now), own);
        assert_eq!(session.window.tokens, Tokens(self.window as f64), "the window of the store");
        Read { folder, session }
    }
}

/// Reads a session of a store.
pub(crate) fn read_session(
    folder: &std::path::Path,
    now: Moment,
    is_it: impl Fn(&SessionKey) -> bool,
) -> LoadedSession {
    let place = StoreLocation::new(&StoreRequest::Path(folder.to_path_buf()), Environment::default());
    let listed = list_sessions(&place.expect("a place"), now);
    let item = listed.items.iter().find(|item| is_it(&item.key)).expect("it is listed");
    open(&listed.store, &item.key, None, now, &mut |_, _| true).expect("it opens")
}

/// A row with a report of this many chars of system prompt and tool schemas.
pub(crate) fn report(prompt_chars: u64, schema_chars: u64) -> Value {
    json!({ "systemPromptReport": {
        "source": "run",
        "generatedAt": 1,
        "systemPrompt": { "chars": prompt_chars, "projectContextChars": 0, "nonProjectContextChars": prompt_chars },
        "injectedWorkspaceFiles": [],
        "skills": { "promptChars": 0, "entries": [] },
        "tools": { "listChars": 0, "schemaChars": schema_chars, "entries": [] }
    } })
}
