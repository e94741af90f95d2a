//! The version-dependent rules of the window: the settings that lower it, and the limits below which it is too small
//! (compaction 12, rows "Window source" and "Window guard").

use super::ruleset::{NameMatching, Rules, WindowRule};
use super::window::{self, WindowInfo, WindowSource, context_tokens_cap, whole_positive};
use crate::js::{JsString, Value, number_text};
use crate::units::Tokens;

/// The limits of a model itself, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ModelWindow {
    /// The part that a run should use, the model's `contextTokens`.
    pub tokens: Option<Tokens>,
    /// The whole window.
    pub window: Option<Tokens>,
}

/// Returns the window of a run on this model under a ruleset (releases R72). `known` is the model's own window in
/// tokens, from a registry or the list of models.
pub fn window_under(
    rules: &Rules,
    config: &Value,
    provider: &str,
    model: &str,
    known: Option<ModelWindow>,
) -> WindowInfo {
    let own = known.unwrap_or_default();
    resolve_window_under(rules, Some(config), (provider, model), own, window::DEFAULT_WINDOW)
}

/// Like [`window_under`], but with everything that may be known. `of` is provider and model. The default is only floored,
/// not tested (compaction 7.1a), unless shares judge the window (releases R71).
pub fn resolve_window_under(
    rules: &Rules,
    config: Option<&Value>,
    of: (&str, &str),
    own: ModelWindow,
    default_tokens: Tokens,
) -> WindowInfo {
    let rule = rules.window_source;
    let lookup = ProviderLookup::from_rule(rule);
    let configured = config
        .and_then(|config| lookup.configured(config, of))
        .map(|tokens| (tokens, WindowSource::ModelsConfig));
    let known = own.tokens.filter(|_| lookup.model_tokens).and_then(whole_positive);
    let known =
        known.or_else(|| own.window.and_then(whole_positive)).map(|tokens| (tokens, WindowSource::Model));
    let cap = config.and_then(context_tokens_cap);
    // Where shares judge a window, an unusable default becomes the smallest window without a warning (releases R71).
    let shares = rules.window_guard.block_share > 0.0;
    let usable = whole_positive(default_tokens).or(shares.then_some(Tokens(rules.window_guard.warn_below)));
    let default = (usable.unwrap_or(default_tokens.floor()), WindowSource::Default);
    let info = |(tokens, source)| WindowInfo::of_model(tokens, source);
    match rule {
        WindowRule::First => {
            let cap = cap.map(|tokens| (tokens, WindowSource::AgentContextTokens));
            info(known.or(configured).or(cap).unwrap_or(default))
        }
        WindowRule::OfModel { .. } => info(configured.or(known).unwrap_or(default)),
        WindowRule::Lowest { .. } => info(configured.or(known).unwrap_or(default)).capped(cap),
    }
}

/// The way to find a model in `models.providers`.
struct ProviderLookup {
    names: NameMatching,
    model_tokens: bool,
    prefixed: bool,
    lower: bool,
}

impl ProviderLookup {
    fn from_rule(rule: WindowRule) -> Self {
        match rule {
            WindowRule::First => {
                Self { names: NameMatching::Exact, model_tokens: false, prefixed: false, lower: false }
            }
            WindowRule::Lowest { names, model_tokens, prefixed } => {
                Self { names, model_tokens, prefixed, lower: false }
            }
            WindowRule::OfModel { lower } => {
                Self { names: NameMatching::AnyCase, model_tokens: true, prefixed: true, lower }
            }
        }
    }

    /// The first configured model with this id decides, even if its window is invalid and a later one's is not.
    fn configured(&self, config: &Value, (provider, model): (&str, &str)) -> Option<Tokens> {
        let providers = config.get("models")?.get("providers")?;
        let listed = providers.get(provider).or_else(|| self.find_provider(providers, provider))?;
        let models = listed.get("models")?.as_array()?;
        let with_provider = format!("{provider}/{model}");
        let is_it = |entry: &&Value| {
            let id = entry.get("id").and_then(Value::as_str);
            let id = id.map(JsString::to_string_lossy).unwrap_or_default();
            id == model
                || self.prefixed
                    && (id == with_provider || model.strip_prefix(&format!("{provider}/")) == Some(&id))
        };
        let entry = models.iter().find(is_it)?;
        let tokens = |key: &str| whole_positive(Tokens(entry.get(key)?.as_f64()?));
        let (own, window) = (tokens("contextTokens").filter(|_| self.model_tokens), tokens("contextWindow"));
        let lower = own.zip(window).filter(|_| self.lower).map(|(own, window)| own.min(window));
        lower.or(own).or(window)
    }

    fn find_provider<'a>(&self, providers: &'a Value, provider: &str) -> Option<&'a Value> {
        let wanted = self.normalise_name(provider);
        let mut members = providers.as_object()?.iter().filter(|_| self.names != NameMatching::Exact);
        members
            .find(|(name, _)| self.normalise_name(&name.to_string_lossy()) == wanted)
            .map(|(_, value)| value)
    }

    /// Normalises a provider name as the gateway does (releases R72, checked for 3.31 to 7.1).
    fn normalise_name(&self, name: &str) -> String {
        let name = name.trim().to_lowercase();
        let is_later = LATER_ALIASES.iter().any(|(alias, _)| *alias == name);
        let reads = self.names == NameMatching::Aliases && (self.model_tokens || !is_later);
        let alias = reads.then(|| provider_alias(&name)).flatten();
        alias.map_or(name, str::to_owned)
    }
}

const ALIASES: [(&str, &str); 9] = [
    ("z.ai", "zai"),
    ("z-ai", "zai"),
    ("bedrock", "amazon-bedrock"),
    ("aws-bedrock", "amazon-bedrock"),
    ("opencode-zen", "opencode"),
    ("kimi-code", "kimi"),
    ("kimi-coding", "kimi"),
    ("bytedance", "volcengine"),
    ("doubao", "volcengine"),
];
/// The aliases introduced together with `contextTokens` of a model.
const LATER_ALIASES: [(&str, &str); 1] = [("modelstudio", "qwen")];

/// Returns the provider that the gateway means by another name, given in lower case.
pub(super) fn provider_alias(name: &str) -> Option<&'static str> {
    let mut aliases = ALIASES.iter().chain(&LATER_ALIASES);
    aliases.find(|(alias, _)| *alias == name).map(|(_, known)| *known)
}

/// The judgement of a version about a window.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowVerdict {
    /// Whether the gateway logs a warning.
    pub should_warn: bool,
    /// Whether the run fails.
    pub should_block: bool,
    /// Tokens below which the run fails.
    pub minimum: f64,
    /// Tokens below which the gateway warns.
    pub warn_below: f64,
}

/// Judges a window in tokens under a ruleset. `reference` is the model's own window, the base of the shares. A window
/// of 0 or less, or NaN, is unknown.
pub fn judge_window(rules: &Rules, tokens: Tokens, reference: Tokens) -> WindowVerdict {
    judge_with_limits(rules, tokens, reference, WindowLimits::default())
}

/// Limits in tokens that override those of the version; each counts as at least 1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct WindowLimits {
    pub warn: Option<f64>,
    pub block: Option<f64>,
}

/// [`judge_window`] with explicit limits (releases R70, R71).
pub fn judge_with_limits(
    rules: &Rules,
    tokens: Tokens,
    reference: Tokens,
    given: WindowLimits,
) -> WindowVerdict {
    let guard = &rules.window_guard;
    let limit = |least: f64, share: f64| {
        let part = if reference > Tokens::ZERO { (reference * share).floor() } else { Tokens::ZERO };
        least.max(part.get())
    };
    // Where shares decide, they refuse no window of `block_below` tokens or more.
    let most =
        if guard.block_share > 0.0 { tokens.max(Tokens(guard.block_below)) } else { Tokens(f64::INFINITY) };
    let own = |given: Option<f64>| given.map(|limit| limit.floor().max(1.0));
    let block =
        own(given.block).unwrap_or_else(|| limit(guard.block_below, guard.block_share).min(most.get()));
    let warn = own(given.warn).unwrap_or_else(|| limit(guard.warn_below, guard.warn_share));
    let known = tokens > Tokens::ZERO;
    WindowVerdict {
        should_warn: if known { tokens < Tokens(warn) } else { guard.block_unknown },
        should_block: if known { tokens < Tokens(block) } else { guard.block_unknown },
        minimum: block,
        warn_below: warn,
    }
}

/// The error message of a run that the newest version refuses.
pub fn too_small_text(info: WindowInfo, verdict: &WindowVerdict) -> String {
    format!(
        "Model context window too small ({} tokens; source={}). Minimum is {}.",
        number_text(info.tokens.get()),
        info.source.name(),
        number_text(verdict.minimum)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;

    fn judged(ruleset: Ruleset, tokens: Tokens, reference: Tokens) -> (bool, bool) {
        let verdict = judge_window(ruleset.rules(), tokens, reference);
        (verdict.should_warn, verdict.should_block)
    }

    #[test]
    fn the_reference_warns_below_32000_and_refuses_below_16000_but_never_the_unknown() {
        let reference = |tokens| judged(Ruleset::V2026_3_2, Tokens(tokens), Tokens(1e6));
        assert_eq!(
            [32_000.0, 31_999.0, 15_999.0, 0.0].map(reference),
            [(false, false), (true, false), (true, true), (false, false)]
        );
    }

    #[test]
    fn the_newest_guard_uses_a_tenth_and_a_fifth_of_the_models_window() {
        let newest = |tokens, reference| judged(Ruleset::V2026_9_6, tokens, reference);
        assert_eq!(newest(Tokens(8000.0), Tokens(8000.0)), (false, false));
        assert_eq!(newest(Tokens(7999.0), Tokens(8000.0)), (true, false));
        assert_eq!(newest(Tokens(3999.0), Tokens(8000.0)), (true, true));
        assert_eq!(newest(Tokens(39_999.0), Tokens(200_000.0)), (true, false));
        // The share refuses only windows below the fixed limit.
        assert_eq!(newest(Tokens(19_999.0), Tokens(200_000.0)), (true, false));
        assert_eq!(newest(Tokens::ZERO, Tokens(200_000.0)), (true, true));
        assert_eq!(newest(Tokens(f64::NAN), Tokens(200_000.0)), (true, true));
    }

    #[test]
    fn the_refusal_names_tokens_source_and_minimum() {
        let info = WindowInfo::of_model(Tokens(3000.0), WindowSource::Model);
        let verdict = judge_window(Ruleset::V2026_9_6.rules(), info.tokens, info.tokens);
        let text = "Model context window too small (3000 tokens; source=model). Minimum is 4000.";
        assert_eq!(too_small_text(info, &verdict), text);
    }

    #[test]
    fn the_newest_release_replaces_the_global_cap_with_one_per_model() {
        let config = crate::js::parse(
            r#"{"agents":{"defaults":{"contextTokens":5000}},"models":{"providers":{"p":{"models":[
                {"id":"m","contextWindow":90000,"contextTokens":60000},{"id":"n","contextWindow":90000}]}}}}"#,
        )
        .unwrap();
        let tokens =
            |ruleset: Ruleset, model| window_under(ruleset.rules(), &config, "p", model, None).tokens;
        assert_eq!([tokens(Ruleset::V2026_3_2, "m"), tokens(Ruleset::V2026_3_2, "n")], [Tokens(5000.0); 2]);
        assert_eq!(
            [tokens(Ruleset::V2026_9_6, "m"), tokens(Ruleset::V2026_9_6, "n")],
            [60_000.0, 90_000.0].map(Tokens)
        );
        assert_eq!(tokens(Ruleset::V2026_9_6, "x"), window::DEFAULT_WINDOW);
    }
}
