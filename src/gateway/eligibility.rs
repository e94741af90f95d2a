//! The models for which the gateway prunes: those whose provider caches prompts (pruning 3.6).

use super::ruleset::{Eligibility, Rules};
use crate::js::Value;

/// The API and address through which a run reaches its model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelRoute {
    /// The name of the API in the configuration, such as `anthropic-messages`.
    pub api: Option<String>,
    /// The address of requests; `None` for the provider's default.
    pub base_url: Option<String>,
}

/// APIs that are forms of the Responses API.
const RESPONSES_APIS: [&str; 4] =
    ["openai-responses", "openai-chatgpt-responses", "openai-codex-responses", "azure-openai-responses"];
/// Providers that are called through it unless their configuration names an API.
const RESPONSES_PROVIDERS: [&str; 3] = ["openai", "openai-codex", "azure-openai-responses"];

impl ModelRoute {
    /// Whether a provider's model is called through the Responses API (compaction 6.8).
    pub fn is_responses_api(&self, provider: &str) -> bool {
        match &self.api {
            Some(api) => RESPONSES_APIS.contains(&api.as_str()),
            None => RESPONSES_PROVIDERS.contains(&provider),
        }
    }

    /// Whether a provider's model is called through Anthropic's API.
    pub fn is_anthropic_messages(&self, provider: &str) -> bool {
        match &self.api {
            Some(api) => api == "anthropic-messages",
            None => provider == "anthropic",
        }
    }

    /// Reads the route of a listed model; the model's own keys override the provider's.
    pub fn from_config(config: &Value, provider: &str, model: &str) -> Self {
        let provider = config.get("models").and_then(|models| models.get("providers")?.get(provider));
        let listed = provider.and_then(|provider| {
            let models = provider.get("models")?.as_array()?;
            models.iter().find(|entry| entry.get("id").is_some_and(|id| id.str_is(model)))
        });
        let text = |key: &str| {
            let value = listed.and_then(|entry| entry.get(key)).or_else(|| provider?.get(key))?;
            Some(value.as_str()?.to_string_lossy())
        };
        Self { api: text("api"), base_url: text("baseUrl") }
    }
}

/// Whether pruning can run for a model under a ruleset (pruning 8, row "Eligibility").
pub fn is_eligible_under(rules: &Rules, provider: &str, model: &str, route: &ModelRoute) -> bool {
    match rules.eligibility {
        Eligibility::Caching => is_cache_ttl_eligible(provider, model),
        Eligibility::Anthropic => {
            let (provider, model) = (provider.to_lowercase(), model.to_lowercase());
            provider == "anthropic" || provider == "openrouter" && model.starts_with("anthropic/")
        }
        Eligibility::Plugins => {
            shipped_plugins(&provider.to_lowercase(), &model.to_lowercase()).unwrap_or(false)
        }
        Eligibility::PluginsOrApi => {
            let (provider, model) = (provider.to_lowercase(), model.to_lowercase());
            shipped_plugins(&provider, &model).unwrap_or_else(|| is_eligible_by_api(&provider, &model, route))
        }
        Eligibility::NewestPlugins => plugins_allow(&provider.to_lowercase(), &model.to_lowercase(), route),
    }
}

/// Returns the decision of the plugins that shipped with 2026.3.22 to 7.35; `None` without a plugin or a decision
/// (releases R17). The plugin of Moonshot was not checked.
fn shipped_plugins(provider: &str, model: &str) -> Option<bool> {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| model.starts_with(prefix));
    match provider {
        "anthropic" | "zai" => Some(true),
        "openrouter" => Some(starts(&["anthropic/", "moonshot/", "moonshotai/", "zai/"])),
        "kilocode" => Some(starts(&["anthropic/"])),
        _ => None,
    }
}

/// The list by provider and API, which decides if no plugin does (releases R17).
fn is_eligible_by_api(provider: &str, model: &str, route: &ModelRoute) -> bool {
    match (provider, route.api.as_deref()) {
        ("anthropic" | "anthropic-vertex", _) | (_, Some("anthropic-messages"))
            if provider != "amazon-bedrock" =>
        {
            true
        }
        ("amazon-bedrock", _) => {
            let profile = model.rsplit_once("application-inference-profile/").map(|(_, name)| name);
            model.contains("anthropic.claude")
                || model.contains("anthropic/claude")
                || profile.is_some_and(|name| name.contains("claude"))
        }
        ("kilocode", _) => model.starts_with("anthropic/"),
        (_, Some("google-generative-ai")) => {
            ["gemini-2.5", "gemini-3"].iter().any(|start| model.starts_with(start))
        }
        _ => false,
    }
}

/// The decision of a plugin, and for providers without one the list.
fn plugins_allow(provider: &str, model: &str, route: &ModelRoute) -> bool {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| model.starts_with(prefix));
    let host = route.base_url.as_deref().map(host);
    let api = route.api.as_deref().or((provider == "google").then_some("google-generative-ai"));
    match provider {
        "anthropic" | "anthropic-vertex" => true,
        "openai" | "openai-codex" => {
            host.is_none_or(|host| host == "api.openai.com" || host == "chatgpt.com")
        }
        "openrouter" => starts(&["anthropic/", "deepseek/", "moonshot/", "moonshotai/", "zai/"]),
        "amazon-bedrock" => model.contains("claude"),
        "kilocode" if starts(&["anthropic/"]) => true,
        _ => match api {
            Some("anthropic-messages") => true,
            Some("google-generative-ai") => starts(&["gemini-2.5", "gemini-3"]),
            _ => false,
        },
    }
}

/// The host of an address, without scheme, port and path.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', ':', '?']).next().unwrap_or(rest)
}

/// Whether pruning can run for this provider and model under the reference rules. Both are lower-cased, but neither
/// trimmed nor expanded: `z.ai` is not `zai`.
pub fn is_cache_ttl_eligible(provider: &str, model: &str) -> bool {
    let starts_with_one_of = |prefixes: &[&str]| {
        let model = model.to_lowercase();
        prefixes.iter().any(|prefix| model.starts_with(prefix))
    };
    match provider.to_lowercase().as_str() {
        "anthropic" | "moonshot" | "zai" => true,
        "openrouter" => starts_with_one_of(&["anthropic/", "moonshot/", "moonshotai/", "zai/"]),
        "kilocode" => starts_with_one_of(&["anthropic/"]),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;
    use crate::js;

    #[test]
    fn a_configured_api_decides_before_the_name_of_the_provider() {
        let calls = |api: Option<&str>, provider: &str| {
            ModelRoute { api: api.map(str::to_owned), base_url: None }.is_responses_api(provider)
        };
        assert!(calls(None, "openai") && calls(Some("azure-openai-responses"), "mine"));
        assert!(!calls(Some("openai-completions"), "openai") && !calls(None, "anthropic"));
    }

    #[test]
    fn caching_providers_are_eligible_for_any_model() {
        for provider in ["anthropic", "Anthropic", "moonshot", "zai", "ZAI"] {
            assert!(is_cache_ttl_eligible(provider, "anything"), "{provider}");
            assert!(is_cache_ttl_eligible(provider, ""), "{provider}");
        }
    }

    #[test]
    fn resellers_are_eligible_for_some_models() {
        for (provider, model, expected) in [
            ("openrouter", "anthropic/claude-opus-4.6", true),
            ("OpenRouter", "Anthropic/claude", true),
            ("openrouter", "moonshot/x", true),
            ("openrouter", "moonshotai/kimi-k2.5", true),
            ("openrouter", "zai/glm-5", true),
            ("openrouter", "z-ai/glm-5", false),
            ("openrouter", "openrouter/anthropic/claude", false),
            ("openrouter", " anthropic/claude", false),
            ("openrouter", "google/gemini", false),
            ("kilocode", "anthropic/x", true),
            ("kilocode", "zai/x", false),
        ] {
            assert_eq!(is_cache_ttl_eligible(provider, model), expected, "{provider} {model}");
        }
    }

    #[test]
    fn the_previous_version_prunes_only_for_anthropic() {
        let eligible = |provider, model| {
            is_eligible_under(Ruleset::V2026_2_17.rules(), provider, model, &ModelRoute::default())
        };
        assert!(eligible("anthropic", "x") && eligible("openrouter", "anthropic/x"));
        assert!(!eligible("zai", "glm-5") && !eligible("openrouter", "zai/glm-5"));
    }

    #[test]
    fn the_newest_version_checks_plugins_and_then_interfaces() {
        let config = r#"{"models":{"providers":{
            "own":{"api":"anthropic-messages","models":[{"id":"b","api":"openai-completions"}]},
            "openai":{"baseUrl":"https://proxy.example/v1"}}}}"#;
        let config = js::parse(config).unwrap();
        let eligible = |provider: &str, model: &str, config: &Value| {
            is_eligible_under(
                Ruleset::V2026_9_6.rules(),
                provider,
                model,
                &ModelRoute::from_config(config, provider, model),
            )
        };
        let none = js::parse("{}").unwrap();
        for (provider, model, expected) in [
            ("Anthropic", "x", true),
            ("anthropic-vertex", "x", true),
            ("openai", "gpt-5.2", true),
            ("openrouter", "deepseek/v3", true),
            ("openrouter", "google/gemini", false),
            ("amazon-bedrock", "eu.anthropic.claude-opus", true),
            ("amazon-bedrock", "amazon.nova", false),
            ("google", "gemini-3-pro", true),
            ("google", "gemini-1.5", false),
            ("kilocode", "anthropic/x", true),
            ("moonshot", "kimi", false),
            ("zai", "glm-5", false),
        ] {
            assert_eq!(eligible(provider, model, &none), expected, "{provider} {model}");
        }
        assert!(eligible("own", "a", &config) && !eligible("own", "b", &config));
        assert!(!eligible("openai", "gpt-5.2", &config));
    }

    #[test]
    fn aliases_and_other_providers_are_not_eligible() {
        for provider in ["amazon-bedrock", "z.ai", " anthropic", "openai", "google", ""] {
            assert!(!is_cache_ttl_eligible(provider, "anthropic/claude"), "{provider}");
        }
    }
}
