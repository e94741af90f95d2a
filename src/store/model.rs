//! The model of a session, from its record and the configuration.

use super::discovery::Store;
use super::session::Session;

/// Provider of a model reference without one.
const DEFAULT_PROVIDER: &str = "anthropic";
/// Model that the gateway runs when nothing names one (compaction 7.3).
pub const DEFAULT_MODEL: &str = "anthropic/claude-opus-4-6";

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ModelRef {
    /// `anthropic`, `openrouter`, …
    pub provider: String,
    /// Id at that provider; may contain `/`.
    pub model: String,
}

impl ModelRef {
    /// Parses `provider/model`; without a provider it is Anthropic's.
    pub fn parse(text: &str) -> Self {
        let (provider, model) = text.trim().split_once('/').unwrap_or((DEFAULT_PROVIDER, text.trim()));
        Self { provider: provider.trim().to_lowercase(), model: model.trim().to_owned() }
    }
}

/// Returns the model of a session with a record: the record's, else the configured one, else the gateway's default
/// (store C9). `None` without a record: only the transcript names the model.
pub fn session_model(store: &Store, session: &Session) -> Option<ModelRef> {
    let row = session.record.as_ref()?;
    let configured = ModelRef::parse(store.config.default_model(&session.agent).unwrap_or(DEFAULT_MODEL));
    let Some(model) = row.model.clone() else { return Some(configured) };
    let provider = row.provider.clone().unwrap_or(configured.provider);
    Some(ModelRef { provider, model })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::env::Environment;
    use crate::store::discovery::discover;
    use std::io::Write;

    #[test]
    fn the_row_comes_before_the_configuration_and_that_before_the_default() {
        let dir = tempfile::tempdir().unwrap();
        let sessions = dir.path().join("agents/main/sessions");
        std::fs::create_dir_all(&sessions).unwrap();
        let write = |path: &str, text: &str| {
            std::fs::File::create(dir.path().join(path)).unwrap().write_all(text.as_bytes()).unwrap();
        };
        write("openclaw.json", "{ agents: { list: [{ id: 'main', model: 'openai/gpt-5.2' }] } }");
        write(
            "agents/main/sessions/sessions.json",
            r#"{"a":{"sessionId":"a","model":"m","modelProvider":"x"},"b":{"sessionId":"b"},"c":{"sessionId":"c","model":"z"},
            "agent:ops:d":{"sessionId":"d"}}"#,
        );
        write("agents/main/sessions/o.jsonl", "");
        let store = discover(Some(dir.path()), &Environment::default());
        let seen: Vec<_> = store
            .sessions
            .iter()
            .map(|session| {
                session_model(&store, session)
                    .map_or_else(String::new, |model| format!("{}/{}", model.provider, model.model))
            })
            .collect();
        assert_eq!(seen, ["x/m", "openai/gpt-5.2", "openai/z", DEFAULT_MODEL, ""]);
    }

    #[test]
    fn a_reference_without_a_provider_is_anthropics() {
        let model = |text: &str| (ModelRef::parse(text).provider, ModelRef::parse(text).model);
        assert_eq!(model(" claude-x "), ("anthropic".into(), "claude-x".into()));
        assert_eq!(model("OpenRouter/anthropic/x"), ("openrouter".into(), "anthropic/x".into()));
    }
}
