//! What differs between versions about the window: which settings lower it, and when it is too small
//! (compaction 12, rows "Window source" and "Window guard").

use super::ruleset::Rules;
use super::window;
use super::window::{WindowInfo, WindowSource, resolve_window};
use crate::js::{self, Value, number_text};

/// The window for a run on this model by the rules of a version. Where `agents.defaults.contextTokens` is no longer
/// read, `contextTokens` of the listed model is, before its `contextWindow`. `known` is what the model itself takes, in
/// tokens, where a registry or the catalogue tells.
pub fn window_under(
    rules: &Rules,
    config: &Value,
    provider: &str,
    model: &str,
    known: Option<f64>,
) -> WindowInfo {
    if rules.context_tokens {
        return resolve_window(Some(config), provider, model, known, window::DEFAULT_WINDOW);
    }
    if let Some(tokens) = listed_tokens(config, provider, model) {
        return WindowInfo { tokens, source: WindowSource::ModelsConfig, own: tokens };
    }
    let uncapped = without_cap(config);
    resolve_window(Some(&uncapped), provider, model, known, window::DEFAULT_WINDOW)
}

fn listed_tokens(config: &Value, provider: &str, model: &str) -> Option<f64> {
    let models = config.get("models")?.get("providers")?.get(provider)?.get("models")?.as_array()?;
    let listed = models.iter().find(|entry| entry.get("id").is_some_and(|id| id.str_is(model)))?;
    let tokens = listed.get("contextTokens")?.as_f64()?.floor();
    (tokens.is_finite() && tokens > 0.0).then_some(tokens)
}

/// The part of a configuration that tells windows, without the cap for all of them.
fn without_cap(config: &Value) -> Value {
    let mut rest = js::Object::default();
    if let Some(models) = config.get("models") {
        rest.set("models", models.clone());
    }
    Value::Object(rest)
}

/// How a version judges a window.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowVerdict {
    /// A line in the gateway's log.
    pub should_warn: bool,
    /// The run fails.
    pub should_block: bool,
    /// Tokens below which it fails.
    pub minimum: f64,
}

/// Judges a window in tokens by the rules of a version. `reference` is the window that shares are taken of: the model's
/// own. A window of 0 or less, or NaN, is unknown.
pub fn judge_window(rules: &Rules, tokens: f64, reference: f64) -> WindowVerdict {
    let guard = &rules.window_guard;
    let limit = |least: f64, share: f64| {
        let part = if reference > 0.0 { (reference * share).floor() } else { 0.0 };
        least.max(part)
    };
    let (block, warn) =
        (limit(guard.block_below, guard.block_share), limit(guard.warn_below, guard.warn_share));
    let known = tokens > 0.0;
    WindowVerdict {
        should_warn: if known { tokens < warn } else { guard.block_unknown },
        should_block: if known { tokens < block } else { guard.block_unknown },
        minimum: block,
    }
}

/// The error of a run that the newest version refuses.
pub fn too_small_text(info: WindowInfo, verdict: &WindowVerdict) -> String {
    format!(
        "Model context window too small ({} tokens; source={}). Minimum is {}.",
        number_text(info.tokens),
        info.source.name(),
        number_text(verdict.minimum)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;

    fn judged(ruleset: Ruleset, tokens: f64, reference: f64) -> (bool, bool) {
        let verdict = judge_window(ruleset.rules(), tokens, reference);
        (verdict.should_warn, verdict.should_block)
    }

    #[test]
    fn the_reference_warns_below_32000_and_refuses_below_16000_but_never_the_unknown() {
        let reference = |tokens| judged(Ruleset::V2026_3_2, tokens, 1e6);
        assert_eq!(
            [32_000.0, 31_999.0, 15_999.0, 0.0].map(reference),
            [(false, false), (true, false), (true, true), (false, false)]
        );
    }

    #[test]
    fn the_newest_takes_a_tenth_and_a_fifth_of_the_models_own_window() {
        let newest = |tokens, reference| judged(Ruleset::V2026_9, tokens, reference);
        assert_eq!(newest(8000.0, 8000.0), (false, false));
        assert_eq!(newest(7999.0, 8000.0), (true, false));
        assert_eq!(newest(3999.0, 8000.0), (true, true));
        assert_eq!(newest(39_999.0, 200_000.0), (true, false));
        assert_eq!(newest(19_999.0, 200_000.0), (true, true));
        assert_eq!(newest(0.0, 200_000.0), (true, true));
        assert_eq!(newest(f64::NAN, 200_000.0), (true, true));
    }

    #[test]
    fn the_refusal_names_tokens_source_and_minimum() {
        let info = WindowInfo { tokens: 3000.0, source: WindowSource::Model, own: 3000.0 };
        let verdict = judge_window(Ruleset::V2026_9.rules(), info.tokens, info.tokens);
        let text = "Model context window too small (3000 tokens; source=model). Minimum is 4000.";
        assert_eq!(too_small_text(info, &verdict), text);
    }

    #[test]
    fn the_cap_for_all_models_is_gone_and_that_of_one_model_is_new() {
        let config = js::parse(
            r#"{"agents":{"defaults":{"contextTokens":5000}},"models":{"providers":{"p":{"models":[
                {"id":"m","contextWindow":90000,"contextTokens":60000},{"id":"n","contextWindow":90000}]}}}}"#,
        )
        .unwrap();
        let tokens =
            |ruleset: Ruleset, model| window_under(ruleset.rules(), &config, "p", model, None).tokens;
        assert_eq!([tokens(Ruleset::V2026_3_2, "m"), tokens(Ruleset::V2026_3_2, "n")], [5000.0; 2]);
        assert_eq!([tokens(Ruleset::V2026_9, "m"), tokens(Ruleset::V2026_9, "n")], [60_000.0, 90_000.0]);
        assert_eq!(tokens(Ruleset::V2026_9, "x"), window::DEFAULT_WINDOW);
    }
}
