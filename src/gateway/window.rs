//! The window of a model in tokens and its origin, under the reference rules (pruning 4.5, compaction 7.1).

use schemars::JsonSchema;
use serde::Serialize;

use crate::format::format_number;
use crate::js::{self, number_text};
use crate::units::{Tokens, schema_of};

/// The window without any other source, in tokens (compaction 7.3).
pub const DEFAULT_WINDOW: Tokens = Tokens(200_000.0);
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowSource {
    /// A change that a person tries, in place of what the configuration says.
    Tried,
    /// `models.providers.<provider>.models[].contextWindow`.
    ModelsConfig,
    /// The model's entry in the agent's `models.json`.
    Model,
    /// `contextTokens` of a row, which the gateway wrote after a run on this model (compaction 7.7).
    Row,
    /// An answer to a prompt larger than any list or default says.
    Answered,
    /// A refusal that names a larger limit than any list or default says.
    Stated,
    /// The list of models that the release ships, or that of another release which has the model.
    Listed,
    /// The program's own guess for a model that it does not list.
    Assumed,
    /// Nothing names the window; this is the gateway's assumption.
    Default,
    /// `agents.defaults.contextTokens`, which is below the model's window.
    AgentContextTokens,
}

impl WindowSource {
    /// The gateway's name for the source, as in its log lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tried | Self::ModelsConfig => "modelsConfig",
            Self::Model | Self::Row | Self::Answered | Self::Stated | Self::Listed | Self::Assumed => "model",
            Self::Default => "default",
            Self::AgentContextTokens => "agentContextTokens",
        }
    }

    /// Whether the store itself names the window, so that a verdict may rely on it.
    pub fn is_evidence(self) -> bool {
        !matches!(self, Self::Listed | Self::Assumed | Self::Default)
    }

    /// Whether nothing names the window of this very model, so that the program guesses it.
    pub fn is_assumed(self) -> bool {
        matches!(self, Self::Assumed | Self::Default)
    }

    /// Whether someone set the window for this model.
    pub fn is_configured(self) -> bool {
        matches!(self, Self::Tried | Self::ModelsConfig | Self::Model | Self::AgentContextTokens)
    }

    /// The source in words for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Tried => "your change",
            Self::ModelsConfig => "config",
            Self::Model => "models.json",
            Self::Row => "session row",
            Self::Answered => "at least: a prompt of this size was answered",
            Self::Stated => "stated by a refusal",
            Self::Listed => "model list",
            Self::Assumed => "assumed: no list has this model",
            Self::Default => "assumed: nothing names it",
            Self::AgentContextTokens => "contextTokens",
        }
    }
}

/// A model's own window, and where it is written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KnownWindow {
    /// The whole window.
    pub tokens: Tokens,
    /// The part that a run should use, where the list of models names one.
    pub context_tokens: Option<Tokens>,
    pub source: WindowSource,
}

impl KnownWindow {
    pub const fn new(tokens: Tokens, source: WindowSource) -> Self {
        Self { tokens, context_tokens: None, source }
    }
}

/// The window of a model, and of a run on it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(into = "WindowJson")]
pub struct WindowInfo {
    /// Whole; positive unless the default argument was not.
    pub tokens: Tokens,
    pub source: WindowSource,
    /// The model's window in tokens without the cap of `contextTokens`; the guard of every call uses it
    /// (pruning 6.30).
    pub model_tokens: Tokens,
    /// The source of the model's window; never the cap of a known one.
    pub model_source: WindowSource,
}

schema_of!(WindowInfo, WindowJson);

/// The context window of the model.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct WindowJson {
    #[schemars(with = "Option<f64>")]
    tokens: Tokens,
    /// The origin of the number.
    source: &'static str,
    /// `agents.defaults.contextTokens`, where it is less and limits a run.
    context_tokens: Option<Tokens>,
}

impl From<WindowInfo> for WindowJson {
    fn from(window: WindowInfo) -> Self {
        let source = window.model_source.name();
        Self { tokens: window.model_tokens, source, context_tokens: window.cap() }
    }
}

impl WindowInfo {
    pub const fn of_model(tokens: Tokens, source: WindowSource) -> Self {
        Self { tokens, source, model_tokens: tokens, model_source: source }
    }

    /// Lowers the window of a run to `contextTokens`, if that is less than the model's.
    #[must_use]
    pub fn capped(self, cap: Option<Tokens>) -> Self {
        match cap.filter(|cap| *cap < self.model_tokens) {
            Some(tokens) => Self { tokens, source: WindowSource::AgentContextTokens, ..self },
            None => self,
        }
    }

    /// Returns the cap of `contextTokens`, if it lowers the window of a run.
    pub fn cap(&self) -> Option<Tokens> {
        (self.tokens < self.model_tokens).then_some(self.tokens)
    }

    /// Describes where the model's window comes from, and the cap: `model list; contextTokens 90,000`.
    pub fn origin(&self) -> String {
        let source = self.model_source.label();
        match self.cap() {
            Some(cap) => format!("{source}; contextTokens {}", format_number(cap)),
            None => source.to_owned(),
        }
    }
}

/// Returns the window of a run. `model_window` is the model's own, if known; `default_tokens` is only floored, not
/// tested (compaction 7.1a).
pub fn resolve_window(
    config: Option<&js::Value>,
    provider: &str,
    model: &str,
    model_window: Option<Tokens>,
    default_tokens: Tokens,
) -> WindowInfo {
    let configured = config.and_then(|config| configured_window(config, provider, model));
    let (own, source) = match (configured, model_window.and_then(whole_positive)) {
        (Some(tokens), _) => (tokens, WindowSource::ModelsConfig),
        (None, Some(tokens)) => (tokens, WindowSource::Model),
        (None, None) => (default_tokens.floor(), WindowSource::Default),
    };
    WindowInfo::of_model(own, source).capped(config.and_then(context_tokens_cap))
}

/// Returns the window that the runtime compares with: without the cap of `agents.defaults.contextTokens`
/// (compaction 2.8). `known` is the model's own window in tokens.
pub fn runtime_window(config: &js::Value, provider: &str, model: &str, known: Option<Tokens>) -> Tokens {
    configured_window(config, provider, model).or(known).unwrap_or(DEFAULT_WINDOW)
}

/// Returns the tokens that calls of a model reserve for the reply, `models[].maxTokens`, if they are configured.
pub fn configured_max_tokens(config: &js::Value, provider: &str, model: &str) -> Option<Tokens> {
    configured_tokens(config, provider, model, "maxTokens")
}

fn configured_window(config: &js::Value, provider: &str, model: &str) -> Option<Tokens> {
    configured_tokens(config, provider, model, "contextWindow")
}

/// The first configured model with exactly this id decides, even if its value is invalid and a later one's is not.
fn configured_tokens(config: &js::Value, provider: &str, model: &str, key: &str) -> Option<Tokens> {
    let models = config.get("models")?.get("providers")?.get(provider)?.get("models")?.as_array()?;
    let entry = models.iter().find(|entry| entry.get("id").is_some_and(|id| id.str_is(model)))?;
    whole_positive(Tokens(entry.get(key)?.as_f64()?))
}

/// `agents.defaults.contextTokens`, if it is a positive number.
pub(crate) fn context_tokens_cap(config: &js::Value) -> Option<Tokens> {
    whole_positive(Tokens(config.get("agents")?.get("defaults")?.get("contextTokens")?.as_f64()?))
}

pub(crate) fn whole_positive(tokens: Tokens) -> Option<Tokens> {
    let whole = tokens.floor();
    (tokens.is_finite() && whole > Tokens::ZERO).then_some(whole)
}

/// Tokens below which the gateway warns (compaction 7.2).
pub const WARN_BELOW: f64 = 32_000.0;
/// Tokens below which the gateway refuses a model (compaction 7.2).
pub const BLOCK_BELOW: f64 = 16_000.0;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowGuard {
    /// The window in tokens, at least 0.
    pub tokens: Tokens,
    pub source: WindowSource,
    /// Whether the gateway logs a warning.
    pub should_warn: bool,
    /// Whether the run fails.
    pub should_block: bool,
}

/// Judges a window. The limits default to [`WARN_BELOW`] and [`BLOCK_BELOW`]; each counts as at least 1. An unknown
/// window of 0 passes.
pub fn guard_window(info: WindowInfo, warn_below: Option<f64>, block_below: Option<f64>) -> WindowGuard {
    let limit = |given: Option<f64>, default: f64| given.unwrap_or(default).floor().max(1.0);
    let tokens = info.tokens.floor().max(Tokens::ZERO);
    let below = |limit: f64| tokens > Tokens::ZERO && tokens < Tokens(limit);
    WindowGuard {
        tokens,
        source: info.source,
        should_warn: below(limit(warn_below, WARN_BELOW)),
        should_block: below(limit(block_below, BLOCK_BELOW)),
    }
}

impl WindowGuard {
    /// Returns the gateway's log line, the refusal if both apply; `None` for a window that is large enough.
    pub fn log_line(&self, provider: &str, model: &str) -> Option<String> {
        let (tokens, source) = (number_text(self.tokens.get()), self.source.name());
        if self.should_block {
            return Some(format!(
                "blocked model (context window too small): {provider}/{model} ctx={tokens} (min=16000) source={source}"
            ));
        }
        let warning =
            format!("low context window: {provider}/{model} ctx={tokens} (warn<32000) source={source}");
        self.should_warn.then_some(warning)
    }

    pub fn error(&self) -> Option<String> {
        let tokens = number_text(self.tokens.get());
        let error = format!("Model context window too small ({tokens} tokens). Minimum is 16000.");
        self.should_block.then_some(error)
    }

    /// Describes the window: `too small`, `small`, or nothing.
    pub fn label(&self) -> Option<&'static str> {
        match (self.should_block, self.should_warn) {
            (true, _) => Some("too small"),
            (false, true) => Some("small"),
            (false, false) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODELS: &str = r#"{"models":{"providers":{
        "anthropic":{"models":[null,{"id":"m1","contextWindow":100000},{"id":"m2","contextWindow":0},
            {"id":"m2","contextWindow":7},{"id":"m3","contextWindow":15999.9},{"id":"m4","contextWindow":"5"}]},
        "weird":{"models":"x"},"none":null}},
        "agents":{"defaults":{"contextTokens":90000}}}"#;

    #[track_caller]
    fn check(
        config: &str,
        provider: &str,
        model: &str,
        own: Option<Tokens>,
        tokens: Tokens,
        source: WindowSource,
    ) {
        let config = js::parse(config).unwrap();
        let info = resolve_window(Some(&config), provider, model, own, DEFAULT_WINDOW);
        assert_eq!((info.tokens, info.source), (tokens, source));
    }

    #[test]
    fn the_configured_window_comes_before_the_models_and_the_default() {
        use WindowSource::{AgentContextTokens, Default, Model, ModelsConfig};
        check(MODELS, "anthropic", "m3", Some(Tokens(5e5)), Tokens(15_999.0), ModelsConfig);
        check(MODELS, "anthropic", "m2", Some(Tokens(50_000.0)), Tokens(50_000.0), Model);
        check(MODELS, "anthropic", "m4", Some(Tokens(50_000.5)), Tokens(50_000.0), Model);
        check(MODELS, "weird", "m1", Some(Tokens(8.0)), Tokens(8.0), Model);
        check(MODELS, "none", "m1", Some(Tokens(-100.0)), Tokens(90_000.0), AgentContextTokens);
        check(MODELS, "Anthropic", "m1", None, Tokens(90_000.0), AgentContextTokens);
        check("{}", "x", "y", Some(Tokens(f64::NAN)), Tokens(200_000.0), Default);
    }

    #[test]
    fn the_cap_only_lowers_the_window() {
        use WindowSource::{AgentContextTokens, Default};
        let capped = |cap: &str| format!(r#"{{"agents":{{"defaults":{{"contextTokens":{cap}}}}}}}"#);
        check(&capped("1000.99"), "x", "y", None, Tokens(1000.0), AgentContextTokens);
        for cap in ["200000", "300000", "0", "-1", "0.5", "\"5\"", "null"] {
            check(&capped(cap), "x", "y", None, Tokens(200_000.0), Default);
        }
    }

    #[test]
    fn the_models_window_is_known_besides_the_cap() {
        let config = js::parse(MODELS).unwrap();
        let own = |model| {
            resolve_window(Some(&config), "anthropic", model, Some(Tokens(1e6)), Tokens(5.0)).model_tokens
        };
        assert_eq!((own("m1"), own("m2"), own("none")), (Tokens(100_000.0), Tokens(1e6), Tokens(1e6)));
    }

    #[test]
    fn the_default_is_floored_but_not_tested() {
        for (given, tokens) in [(12_345.9, 12_345.0), (-0.5, -1.0), (0.0, 0.0)] {
            assert_eq!(resolve_window(None, "x", "y", None, Tokens(given)).tokens, Tokens(tokens));
        }
    }

    #[test]
    fn the_runtime_compares_with_the_window_without_the_cap() {
        let config = js::parse(MODELS).unwrap();
        assert_eq!(runtime_window(&config, "anthropic", "m1", Some(Tokens(5.0))), Tokens(100_000.0));
        assert_eq!(runtime_window(&config, "openai", "gpt-5.2", Some(Tokens(400_000.0))), Tokens(400_000.0));
        assert_eq!(runtime_window(&config, "nobody", "nothing", None), DEFAULT_WINDOW);
    }
}

#[cfg(test)]
mod window_guard_tests {
    use super::*;

    fn judged(tokens: Tokens) -> WindowGuard {
        guard_window(WindowInfo::of_model(tokens, WindowSource::Model), None, None)
    }

    #[test]
    fn the_guard_warns_below_32000_and_blocks_below_16000() {
        let judge = |tokens| {
            let guard = judged(tokens);
            (guard.tokens, guard.should_warn, guard.should_block, guard.label())
        };
        assert_eq!(judge(Tokens(32_000.0)), (Tokens(32_000.0), false, false, None));
        assert_eq!(judge(Tokens(31_999.0)), (Tokens(31_999.0), true, false, Some("small")));
        assert_eq!(judge(Tokens(16_000.0)), (Tokens(16_000.0), true, false, Some("small")));
        assert_eq!(judge(Tokens(15_999.0)), (Tokens(15_999.0), true, true, Some("too small")));
        assert_eq!(judge(Tokens(-1.0)), (Tokens::ZERO, false, false, None));
    }

    #[test]
    fn limits_count_as_at_least_one() {
        let info = WindowInfo::of_model(Tokens(1.0), WindowSource::Model);
        let guard = guard_window(info, Some(0.0), Some(-5.0));
        assert!(!guard.should_warn && !guard.should_block);
    }

    #[test]
    fn messages_use_the_gateways_wording() {
        assert_eq!(
            judged(Tokens(20_000.0)).log_line("p", "m").as_deref(),
            Some("low context window: p/m ctx=20000 (warn<32000) source=model")
        );
        let small = judged(Tokens(8000.0));
        assert_eq!(
            small.log_line("p", "m").as_deref(),
            Some("blocked model (context window too small): p/m ctx=8000 (min=16000) source=model")
        );
        let error = "Model context window too small (8000 tokens). Minimum is 16000.";
        assert_eq!(small.error().as_deref(), Some(error));
        assert_eq!(
            (judged(Tokens(32_000.0)).log_line("p", "m"), judged(Tokens(16_000.0)).error()),
            (None, None)
        );
    }
}
