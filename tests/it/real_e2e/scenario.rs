//! A scenario's world: the model that a program is configured with, and what the program left behind.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::checks::Outcome;
use super::mock::Request;

/// A model as a program is configured with it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Model {
    pub(super) provider: &'static str,
    pub(super) name: &'static str,
    pub(super) api: &'static str,
    /// Tokens that the program believes in.
    pub(super) window: u64,
    /// Tokens of an answer.
    pub(super) max_tokens: u64,
    pub(super) reasons: bool,
}

/// Dollars for a million tokens of input, output, cached input and cache writes.
const PRICES: [f64; 4] = [1.0, 4.0, 0.1, 1.25];

impl Model {
    /// A model behind the API that most servers speak.
    pub(super) const fn of_window(window: u64) -> Self {
        let (provider, name, api) = ("mock", "mock-1", "openai-completions");
        Self { provider, name, api, window, max_tokens: 2_000, reasons: false }
    }

    /// A model behind Anthropic's API.
    pub(super) const fn anthropic(window: u64) -> Self {
        let (provider, name, api) = ("anthropic", "claude-mock-1", "anthropic-messages");
        Self { provider, name, api, ..Self::of_window(window) }
    }

    fn described(&self) -> Value {
        let [input, output, cached, written] = PRICES;
        json!({ "id": self.name, "name": self.name, "reasoning": self.reasons, "input": ["text", "image"],
            "contextWindow": self.window, "maxTokens": self.max_tokens,
            "cost": { "input": input, "output": output, "cacheRead": cached, "cacheWrite": written } })
    }

    /// The provider of a gateway's configuration.
    pub(super) fn gateway_provider(&self, url: &str) -> Value {
        let base = if self.api.starts_with("openai") { format!("{url}/v1") } else { url.to_owned() };
        json!({ "baseUrl": base, "apiKey": "none", "api": self.api, "models": [self.described()] })
    }

    /// Pi's `models.json`.
    pub(super) fn pi_config(&self, url: &str) -> Value {
        json!({ "providers": { self.provider: self.gateway_provider(url) } })
    }
}

/// What answered requests cost, in dollars.
pub(super) fn cost<'a>(requests: impl Iterator<Item = &'a Request>) -> f64 {
    let [input, output, cached, _] = PRICES;
    let of = |request: &Request| {
        let usage = request.usage?;
        Some(usage.input as f64 * input + usage.output as f64 * output + usage.cached as f64 * cached)
    };
    requests.filter_map(of).sum::<f64>() / 1e6
}

/// A session of a program.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Session {
    pub(super) place: Place,
    /// Names it; `None` where its path does.
    pub(super) key: Option<String>,
}

/// Where a session is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Place {
    /// A transcript.
    File(PathBuf),
    /// A session of an agent's database, by its id.
    Database(PathBuf, String),
}

/// A program's store after a scenario, with everything that the model was asked.
pub(super) struct Finished {
    /// Name and release of the program.
    pub(super) program: String,
    pub(super) scenario: String,
    /// Holds the store; it is deleted with this value.
    pub(super) folder: tempfile::TempDir,
    /// The folder that clawscope opens.
    pub(super) store: PathBuf,
    /// The session of the scenario, and others that belong to it.
    pub(super) sessions: Vec<Session>,
    pub(super) requests: Vec<Request>,
    /// Whether each compaction after a run was the program's own decision.
    pub(super) has_triggers: bool,
    /// What was compared while the program ran.
    pub(super) outcome: Outcome,
}

impl Finished {
    /// The session of the scenario.
    pub(super) fn main(&self) -> &Session {
        &self.sessions[0]
    }
}
