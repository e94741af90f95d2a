//! Decides whether a model receives the thinking of earlier answers again (releases R18). The pruner counts only the
//! parts that are sent.

use super::eligibility::ModelRoute;
use super::ruleset::Rules;
use crate::units::Tokens;

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

/// Claude models that decide themselves how much to think, and those that always do.
const ADAPTIVE: [&str; 9] = [
    "opus-5",
    "fable-5",
    "mythos-5",
    "mythos-preview",
    "opus-4-6",
    "opus-4-7",
    "opus-4-8",
    "sonnet-5",
    "sonnet-4-6",
];
const ALWAYS: [&str; 4] = ["opus-5-5", "fable-5", "mythos-5", "mythos-preview"];
/// Claude models that think where no level is set.
const BY_DEFAULT: [&str; 2] = ["opus-5", "sonnet-5"];
/// The smallest budget for thinking that Anthropic's API takes.
const LEAST_BUDGET: Tokens = Tokens(1_024.0);

/// Whether a request to Anthropic's API asks the model to think (releases R74): the budget of a level must leave room for
/// an answer below the model's `maxTokens`.
pub fn request_thinks(model: &str, level: Option<&str>, max_tokens: Option<Tokens>) -> bool {
    let model = model.to_lowercase().replace('.', "-");
    let is = |names: &[&str]| names.iter().any(|name| model.contains(&format!("claude-{name}")));
    if is(&ALWAYS) {
        return true;
    }
    let leaves_room = |least: Tokens| max_tokens.is_none_or(|most| most >= least);
    match level {
        None => is(&BY_DEFAULT),
        Some("off") => false,
        Some(_) if is(&ADAPTIVE) => true,
        Some("minimal") => leaves_room(LEAST_BUDGET + Tokens(1.0)),
        Some(_) => leaves_room(LEAST_BUDGET + LEAST_BUDGET),
    }
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
    fn a_request_thinks_where_its_level_leaves_room_for_an_answer() {
        let thinks = |level: &str, most: f64| request_thinks("claude-3-7", Some(level), Some(Tokens(most)));
        assert!(!thinks("off", 64_000.0) && !thinks("medium", 2_000.0) && !thinks("minimal", 1_024.0));
        assert!(thinks("medium", 2_048.0) && thinks("high", 64_000.0) && thinks("minimal", 1_025.0));
        assert!(!request_thinks("claude-3-7", None, None));
        assert!(request_thinks("claude-sonnet-4.6", Some("low"), Some(Tokens(500.0))), "adaptive");
        assert!(request_thinks("claude-opus-5-5", Some("off"), None), "always");
    }

    #[test]
    fn only_older_claude_models_lose_it_and_only_since_4_1() {
        let drops = |ruleset: Ruleset, provider: &str, model: &str| {
            drops_thinking(ruleset.rules(), provider, model, &ModelRoute::default())
        };
        assert!(drops(Ruleset::V2026_4_7, "anthropic", "claude-3-7-sonnet-20250219"));
        assert!(!drops(Ruleset::V2026_3_31, "anthropic", "claude-3-7-sonnet-20250219"));
        for model in ["claude-opus-4-6", "claude-sonnet-4-5", "claude-5-opus", "claude-12", "gpt-5"] {
            assert!(!drops(Ruleset::V2026_7_1, "anthropic", model), "{model}");
        }
        assert!(drops(Ruleset::V2026_7_1, "github-copilot", "claude-opus-4.6"));
        assert!(!drops(Ruleset::V2026_7_1, "openai", "claude-3"));
    }
}
