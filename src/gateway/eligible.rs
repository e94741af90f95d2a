//! For which models the gateway prunes at all: those whose provider caches prompts (pruning 3.6).

/// Whether pruning can be installed for a run on this provider and model. Both are lower-cased, but neither trimmed
/// nor expanded: `z.ai` is not `zai`.
pub fn cache_ttl_eligible(provider: &str, model: &str) -> bool {
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
    use super::cache_ttl_eligible;

    #[test]
    fn providers_that_cache_are_eligible_whatever_the_model() {
        for provider in ["anthropic", "Anthropic", "moonshot", "zai", "ZAI"] {
            assert!(cache_ttl_eligible(provider, "anything"), "{provider}");
            assert!(cache_ttl_eligible(provider, ""), "{provider}");
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
            assert_eq!(cache_ttl_eligible(provider, model), expected, "{provider} {model}");
        }
    }

    #[test]
    fn aliases_and_other_providers_are_not_eligible() {
        for provider in ["amazon-bedrock", "z.ai", " anthropic", "openai", "google", ""] {
            assert!(!cache_ttl_eligible(provider, "anthropic/claude"), "{provider}");
        }
    }
}
