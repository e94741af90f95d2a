//! Decides whether a model receives the thinking of earlier answers again (releases R18). The pruner counts only the
//! parts that are sent.

use super::eligibility::ModelRoute;
use super::ruleset::Rules;

/// Parts of the ids of Claude models that receive it again.
const KEEPS_THINKING: [&str; 8] =
    ["opus-4", "sonnet-4", "haiku-4", "claude-5", "claude-6", "claude-7", "claude-8", "claude-9"];

/// Whether only the thinking of the last answer is sent, under a ruleset. The hints of single providers in 2026.4.1
/// are not known; no Claude model of that time had them.
pub fn drops_thinking(rules: &Rules, provider: &str, model: &str, route: &ModelRoute) -> bool {
    if !rules.prune_size.signatures {
        return false;
    }
    let (provider, model) = (provider.trim().to_lowercase(), model.to_lowercase());
    let is_claude = model.contains("claude");
    if provider == "github-copilot" {
        return is_claude;
    }
    let transport = matches!(provider.as_str(), "anthropic" | "anthropic-vertex")
        || route.api.as_deref() == Some("anthropic-messages");
    let is_newer = || KEEPS_THINKING.iter().any(|part| model.contains(part)) || has_two_digits(&model);
    is_claude && transport && !is_newer()
}

/// Whether an id contains `claude-` followed by two digits.
fn has_two_digits(model: &str) -> bool {
    model.match_indices("claude-").any(|(at, found)| {
        let digits = model[at + found.len()..].bytes().take_while(u8::is_ascii_digit).count();
        digits >= 2
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;

    #[test]
    fn only_older_claude_models_lose_it_and_only_since_4_1() {
        let drops = |ruleset: Ruleset, provider: &str, model: &str| {
            drops_thinking(ruleset.rules(), provider, model, &ModelRoute::default())
        };
        assert!(drops(Ruleset::V2026_4_8, "anthropic", "claude-3-7-sonnet-20250219"));
        assert!(!drops(Ruleset::V2026_3_31, "anthropic", "claude-3-7-sonnet-20250219"));
        for model in ["claude-opus-4-6", "claude-sonnet-4-5", "claude-5-opus", "claude-12", "gpt-5"] {
            assert!(!drops(Ruleset::V2026_7_1, "anthropic", model), "{model}");
        }
        assert!(drops(Ruleset::V2026_7_1, "github-copilot", "claude-opus-4.6"));
        assert!(!drops(Ruleset::V2026_7_1, "openai", "claude-3"));
    }
}
