//! The gateway's other lookups of a model's window: for the status line, for the stored `contextTokens` and for the
//! memory flush. They deliberately differ from the window of a run (compaction 7.5–7.7, 9.3).
//!
//! For example, `contextTokens` 100000 caps a run on a known model with 200000, but not its memory flush.

use crate::gateway::config::GatewayConfig;
use crate::gateway::window::{DEFAULT_WINDOW, context_tokens_cap, whole_positive};
use crate::js::{self, Value};
use crate::units::Tokens;

/// The window of a Claude model with the parameter `context1m`, in tokens (compaction 7.6).
const LONG_WINDOW: Tokens = Tokens(1_048_576.0);
/// The starts of the ids that support it, after the last `/`.
const LONG_MODELS: [&str; 2] = ["claude-opus-4", "claude-sonnet-4"];

/// Returns the window of a model id under any provider: the configured one, from the last of several providers; else
/// the smallest known (compaction 7.5). A row, `recorded`, holds what the gateway discovered; without one, the
/// release's list replaces it.
pub fn window_of_id(config: &GatewayConfig, model: &str, recorded: Option<Tokens>) -> Option<Tokens> {
    configured_of_id(&config.js_root, model).or(recorded).or_else(|| config.models.smallest_window(model))
}

fn configured_of_id(config: &Value, model: &str) -> Option<Tokens> {
    let providers = config.get("models").and_then(|models| models.get("providers"));
    let providers = providers.and_then(Value::as_object).into_iter().flat_map(js::Object::iter);
    let configured = providers.filter_map(|(_, provider)| {
        let models = provider.get("models")?.as_array()?;
        let of_id = models.iter().filter(|entry| entry.get("id").is_some_and(|id| id.str_is(model)));
        of_id.filter_map(|entry| whole_positive(Tokens(entry.get("contextWindow")?.as_f64()?))).next_back()
    });
    configured.last()
}

/// Returns the window in the status line: the long one if the model's parameters request it, else [`window_of_id`],
/// else the default (compaction 7.6).
pub fn window_for_status(
    config: &GatewayConfig,
    provider: &str,
    model: &str,
    recorded: Option<Tokens>,
) -> Tokens {
    if wants_long(&config.js_root, provider, model) {
        return LONG_WINDOW;
    }
    window_of_id(config, model, recorded).unwrap_or(DEFAULT_WINDOW)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusWindowSource {
    /// The parameter `context1m` of the model.
    Long,
    /// `contextWindow` of a listed model with this id, under any provider.
    SameId,
    /// The release's list has the id.
    Known,
    Default,
}

/// Returns the source of [`window_for_status`].
pub fn status_window_from(config: &GatewayConfig, provider: &str, model: &str) -> StatusWindowSource {
    if wants_long(&config.js_root, provider, model) {
        return StatusWindowSource::Long;
    }
    match (configured_of_id(&config.js_root, model), window_of_id(config, model, None)) {
        (Some(_), _) => StatusWindowSource::SameId,
        (None, Some(_)) => StatusWindowSource::Known,
        (None, None) => StatusWindowSource::Default,
    }
}

/// Whether the parameters of a Claude 4 model at Anthropic set `context1m`.
fn wants_long(config: &Value, provider: &str, model: &str) -> bool {
    let own = format!("{provider}/{model}");
    let models = config.get("agents").and_then(|agents| agents.get("defaults")?.get("models"));
    let requested = models.and_then(|models| models.get(&own)?.get("params")?.get("context1m"));
    let id = model.rsplit('/').next().unwrap_or_default();
    let has_long = provider == "anthropic" && LONG_MODELS.iter().any(|start| id.starts_with(start));
    has_long && requested == Some(&Value::Bool(true))
}

/// Returns the `contextTokens` that a chat run stores: the configured cap, else [`window_of_id`], else the earlier
/// value; the first that exists, not the minimum (compaction 7.7).
pub fn stored_window(config: &GatewayConfig, model: &str, before: Option<Tokens>) -> Tokens {
    context_tokens_cap(&config.js_root)
        .or_else(|| window_of_id(config, model, None))
        .or(before)
        .unwrap_or(DEFAULT_WINDOW)
}

/// Returns the window of the memory flush: [`window_of_id`], else the configured cap, which does not lower a known
/// window (compaction 9.3).
pub fn flush_window(config: &GatewayConfig, model: &str, recorded: Option<Tokens>) -> Tokens {
    window_of_id(config, model, recorded)
        .or_else(|| context_tokens_cap(&config.js_root))
        .unwrap_or(DEFAULT_WINDOW)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = r#"{"models":{"providers":{
        "a":{"models":[{"id":"m","contextWindow":100000},{"id":"n","contextWindow":0}]},
        "b":{"models":[{"id":"m","contextWindow":300000}]},"c":null}},
        "agents":{"defaults":{"contextTokens":150000,"models":{
            "anthropic/claude-opus-4-6":{"params":{"context1m":true}},
            "anthropic/claude-haiku-4-5":{"params":{"context1m":true}},
            "anthropic/x/claude-sonnet-4-6":{"params":{"context1m":1}}}}}}"#;

    fn of_text(text: &str) -> GatewayConfig {
        let mut config = GatewayConfig::empty();
        config.js_root = js::parse(text).unwrap();
        config
    }

    fn config() -> GatewayConfig {
        of_text(CONFIG)
    }

    #[test]
    fn of_several_configured_windows_the_last_providers_counts() {
        assert_eq!(window_of_id(&config(), "m", None), Some(Tokens(300_000.0)));
        assert_eq!(window_of_id(&config(), "n", None), None);
        assert_eq!(window_of_id(&config(), "gpt-5.2", None), Some(Tokens(400_000.0)));
        assert_eq!(window_of_id(&config(), "nothing", None), None);
    }

    #[test]
    fn the_status_line_shows_a_million_for_anthropics_large_models() {
        let of = |provider, model| window_for_status(&config(), provider, model, None);
        assert_eq!(of("anthropic", "claude-opus-4-6"), Tokens(1_048_576.0));
        assert_eq!(of("openrouter", "claude-opus-4-5"), Tokens(200_000.0));
        assert_eq!(of("anthropic", "claude-haiku-4-5"), Tokens(200_000.0));
        assert_eq!(of("anthropic", "x/claude-sonnet-4-6"), Tokens(200_000.0));
    }

    #[test]
    fn the_stored_window_follows_precedence_not_the_minimum() {
        assert_eq!(stored_window(&config(), "m", Some(Tokens(9.0))), Tokens(150_000.0));
        let empty = of_text("{}");
        assert_eq!(stored_window(&empty, "gpt-5.2", Some(Tokens(9.0))), Tokens(400_000.0));
        assert_eq!(stored_window(&empty, "nothing", Some(Tokens(9.0))), Tokens(9.0));
        assert_eq!(stored_window(&empty, "nothing", None), Tokens(200_000.0));
    }

    #[test]
    fn the_flush_does_not_lower_a_known_window() {
        assert_eq!(flush_window(&config(), "m", None), Tokens(300_000.0));
        assert_eq!(flush_window(&config(), "nothing", None), Tokens(150_000.0));
    }
}
