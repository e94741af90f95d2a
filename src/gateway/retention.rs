//! The time for which a provider caches the prefix of a prompt, according to the configuration (compaction 10.7).

use super::eligibility::ModelRoute;
use crate::js::Value;
use crate::units::Millis;

const SHORT: Millis = Millis(300_000.0);
/// `long` at Anthropic.
const LONG: Millis = Millis(3_600_000.0);
/// `long` at `OpenAI`.
const DAY: Millis = Millis(86_400_000.0);

/// The lifetime of a cached prefix after its last use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Retention {
    None,
    /// Five minutes.
    #[default]
    Short,
    /// An hour.
    Long,
    /// A day; only `OpenAI` offers it.
    Day,
}

impl Retention {
    /// The time itself; 0 without caching.
    pub fn duration(self) -> Millis {
        match self {
            Self::None => Millis::ZERO,
            Self::Short => SHORT,
            Self::Long => LONG,
            Self::Day => DAY,
        }
    }

    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Short => "5m",
            Self::Long => "1h",
            Self::Day => "24h",
        }
    }

    /// Returns the retention for a model of an agent; the agent's parameters override the model's. Only the
    /// providers' own addresses receive a long retention; Bedrock caches only Claude, and only if configured.
    pub fn for_model(config: &Value, agent: &str, provider: &str, model: &str, route: &ModelRoute) -> Self {
        let requested = requested(config, agent, provider, model);
        let is_bedrock = provider == "amazon-bedrock";
        if is_bedrock && (requested.is_none() || !model.contains("claude")) {
            return Self::None;
        }
        let at = |host: &str| route.base_url.as_deref().is_none_or(|url| url.contains(host));
        match requested {
            Some(Self::Long) if provider == "openai" && at("api.openai.com") => Self::Day,
            Some(Self::Long) if provider == "anthropic" && at("api.anthropic.com") => Self::Long,
            Some(Self::None) => Self::None,
            _ => Self::Short,
        }
    }
}

fn requested(config: &Value, agent: &str, provider: &str, model: &str) -> Option<Retention> {
    let agents = config.get("agents")?;
    let of_model = || {
        let models = agents.get("defaults")?.get("models")?;
        read(models.get(&format!("{provider}/{model}"))?.get("params")?)
    };
    let of_agent = || {
        let list = agents.get("list")?.as_array()?;
        read(list.iter().find(|entry| entry.get("id").is_some_and(|id| id.str_is(agent)))?.get("params")?)
    };
    of_agent().or_else(of_model)
}

fn read(params: &Value) -> Option<Retention> {
    let is = |key: &str, word: &str| params.get(key).is_some_and(|value| value.str_is(word));
    let words = [("none", Retention::None), ("short", Retention::Short), ("long", Retention::Long)];
    let legacy = [("5m", Retention::Short), ("1h", Retention::Long)];
    let found = words.into_iter().find(|(word, _)| is("cacheRetention", word));
    let found = found.or_else(|| legacy.into_iter().find(|(word, _)| is("cacheControlTtl", word)));
    found.map(|(_, retention)| retention)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js::parse;

    fn of(config: &str, provider: &str, model: &str, url: Option<&str>) -> Retention {
        let config = parse(config).expect("test JSON");
        let route = ModelRoute { api: None, base_url: url.map(str::to_owned) };
        Retention::for_model(&config, "main", provider, model, &route)
    }

    const LONG: &str = r#"{"agents":{"defaults":{"models":{"anthropic/opus":{"params":{"cacheRetention":"long"}},
        "openai/gpt":{"params":{"cacheControlTtl":"1h"}},"amazon-bedrock/claude":{"params":{"cacheRetention":"short"}}}}}}"#;

    #[test]
    fn long_retention_needs_the_providers_address() {
        assert_eq!(of("{}", "anthropic", "opus", None), Retention::Short);
        assert_eq!(of(LONG, "anthropic", "opus", None), Retention::Long);
        assert_eq!(of(LONG, "anthropic", "opus", Some("https://proxy.local")), Retention::Short);
        assert_eq!(of(LONG, "openai", "gpt", Some("https://api.openai.com/v1")), Retention::Day);
    }

    #[test]
    fn bedrock_caches_only_claude_and_only_with_configured_retention() {
        assert_eq!(of("{}", "amazon-bedrock", "claude", None), Retention::None);
        assert_eq!(of(LONG, "amazon-bedrock", "claude", None), Retention::Short);
        assert_eq!(of(LONG, "amazon-bedrock", "nova", None), Retention::None);
    }

    #[test]
    fn an_agents_retention_overrides_the_models() {
        let config = r#"{"agents":{"defaults":{"models":{"anthropic/opus":{"params":{"cacheRetention":"long"}}}},
            "list":[{"id":"main","params":{"cacheRetention":"none"}}]}}"#;
        assert_eq!(of(config, "anthropic", "opus", None), Retention::None);
    }
}
