//! Compaction settings of a run: the reserve that stays free and the tail that is kept (compaction 2.1, 2.2, 2.7).
//!
//! A session is compacted when its context exceeds the window minus the reserve. For example, a window of 200,000
//! tokens and a reserve of 20,000 make the threshold 180,000.

use super::ruleset::{Reserve, Rules};
use crate::gateway::config::GatewayConfig;
use crate::js;
use crate::units::Tokens;

/// pi's default reserve in tokens (compaction 2.1).
const PI_RESERVE_TOKENS: f64 = 16_384.0;
/// pi's default for the kept tail in tokens (compaction 2.1).
const PI_KEEP_RECENT_TOKENS: f64 = 20_000.0;
/// Minimum reserve of a gateway run in tokens; `reserveTokensFloor` overrides it.
pub const RESERVE_FLOOR: f64 = 20_000.0;

/// Room that a capped reserve leaves for a prompt: tokens, and the share of a small window (releases R61).
const MIN_PROMPT_TOKENS: f64 = 8000.0;
const MIN_PROMPT_SHARE: f64 = 0.5;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CompactionMode {
    /// The runtime's own, in a single call.
    #[default]
    Default,
    /// The gateway's, in chunks; it refuses a history without a real message (compaction 5).
    Safeguard,
}

impl CompactionMode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Safeguard => "safeguard",
        }
    }
}

/// Returns the configured mode, or `Default` where the version's safeguard does not work. Loading fills in
/// `safeguard` wherever `agents.defaults` exists (compaction 2.5; 12, row "Safeguard active?").
pub fn compaction_mode(rules: &Rules, config: &js::Value) -> CompactionMode {
    let raw = config.get("agents").and_then(|a| a.get("defaults")).and_then(|d| d.get("compaction"));
    let safeguard = raw.and_then(|raw| raw.get("mode")).is_some_and(|mode| mode.str_is("safeguard"));
    if safeguard && rules.safeguard { CompactionMode::Safeguard } else { CompactionMode::Default }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompactionSettings {
    /// Whether sessions are compacted automatically.
    pub enabled: bool,
    /// Tokens of the window that stay free.
    pub reserve_tokens: Tokens,
    /// Tokens of the newest messages that are not summarised.
    pub keep_recent_tokens: Tokens,
    /// `None` for a session without a check before its chat turns.
    pub chat_room: Option<ChatRoom>,
}

/// The room that the check before a chat turn leaves (releases R67).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChatRoom {
    /// Tokens of the window that stay free.
    pub free: Tokens,
    /// The window, where it is not that of a run.
    pub window: Option<Tokens>,
    /// Tokens below which the provider compacts by itself.
    pub min_threshold: Tokens,
}

impl Default for CompactionSettings {
    /// The defaults of pi without a gateway.
    fn default() -> Self {
        Self {
            enabled: true,
            reserve_tokens: Tokens(PI_RESERVE_TOKENS),
            keep_recent_tokens: Tokens(PI_KEEP_RECENT_TOKENS),
            chat_room: None,
        }
    }
}

impl CompactionSettings {
    /// Context tokens above which a session is compacted; negative if the reserve exceeds the window.
    pub fn threshold(&self, window: Tokens) -> Tokens {
        window - self.reserve_tokens
    }

    /// Returns the window of the check before a chat turn, for the window of a run.
    pub fn chat_window(&self, window: Tokens) -> Tokens {
        self.chat_room.and_then(|room| room.window).unwrap_or(window).floor()
    }

    /// Returns the tokens from which the gateway compacts before a chat turn; `None` where it does not.
    pub fn chat_threshold(&self, window: Tokens) -> Option<Tokens> {
        let room = self.chat_room?;
        let threshold = (self.chat_window(window) - room.free).max(room.min_threshold);
        Some(threshold).filter(|tokens| self.enabled && *tokens > Tokens::ZERO)
    }

    /// Whether a context of this many tokens is compacted: strictly above the threshold (compaction 2.7).
    pub fn should_compact(&self, context_tokens: Tokens, window: Tokens) -> bool {
        self.enabled && context_tokens > self.threshold(window)
    }

    /// [`Self::should_compact`] under a ruleset: the newest never compacts for an unknown window or one of 0 or less
    /// (compaction 12, row "shouldCompact").
    pub fn should_compact_under(&self, rules: &Rules, context_tokens: Tokens, window: Tokens) -> bool {
        (rules.unknown_window_compacts || window > Tokens::ZERO)
            && self.should_compact(context_tokens, window)
    }
}

/// Applies the `compaction` object of a pi settings file to pi's defaults (compaction 2.1); ignores values of a wrong
/// type.
pub fn pi_compaction(settings: Option<&js::Value>) -> CompactionSettings {
    let raw = settings.and_then(|settings| settings.get("compaction"));
    let number = |key| raw.and_then(|raw| raw.get(key)).and_then(js::Value::as_f64);
    let defaults = CompactionSettings::default();
    CompactionSettings {
        enabled: raw
            .and_then(|raw| raw.get("enabled"))
            .and_then(js::Value::as_bool)
            .unwrap_or(defaults.enabled),
        reserve_tokens: Tokens(number("reserveTokens").unwrap_or(defaults.reserve_tokens.get())),
        keep_recent_tokens: Tokens(number("keepRecentTokens").unwrap_or(defaults.keep_recent_tokens.get())),
        chat_room: None,
    }
}

/// Like [`pi_compaction`], for the newest pi: each value of `modelOverrides` for `provider/modelId` overrides the plain
/// one. pi fails on a value that is not a whole number of tokens; here the default replaces it (store-pi-1.5 A8).
pub fn pi_compaction_for_model(settings: &js::Value, model: &str) -> CompactionSettings {
    let plain = settings.get("compaction");
    let own = plain.and_then(|raw| raw.get("modelOverrides")?.get(model));
    let tokens = |key: &str| [own, plain].into_iter().flatten().find_map(|raw| whole_tokens(raw.get(key)?));
    let defaults = CompactionSettings::default();
    CompactionSettings {
        reserve_tokens: tokens("reserveTokens").unwrap_or(defaults.reserve_tokens),
        keep_recent_tokens: tokens("keepRecentTokens").unwrap_or(defaults.keep_recent_tokens),
        ..pi_compaction(Some(settings))
    }
}

/// Accepts a token count as the newest pi does: a whole number up to `Number.MAX_SAFE_INTEGER`.
pub(super) fn whole_tokens(value: &js::Value) -> Option<Tokens> {
    value.as_f64().filter(|n| *n >= 0.0 && n.fract() == 0.0 && *n <= 9_007_199_254_740_991.0).map(Tokens)
}

/// Merges project settings over global ones: objects key by key, anything else entirely.
pub fn merge_settings(global: Option<&js::Value>, project: Option<&js::Value>) -> js::Value {
    match (global, project) {
        (Some(js::Value::Object(global)), Some(js::Value::Object(project))) => {
            let mut merged = global.clone();
            for (key, value) in project.iter() {
                let below = global.get(&key.to_string_lossy());
                merged.insert(key.clone(), merge_settings(below, Some(value)));
            }
            js::Value::Object(merged)
        }
        (global, project) => project.or(global).cloned().unwrap_or(js::Value::Null),
    }
}

/// Returns the maximum reserve in tokens that leaves room for a prompt; infinite for an unknown window
/// (releases R61).
pub fn max_reserve(window: Tokens) -> Tokens {
    if window.is_nan() || window <= Tokens::ZERO {
        return Tokens(f64::INFINITY);
    }
    let prompt = (window * MIN_PROMPT_SHARE).floor().clamp(Tokens(1.0), Tokens(MIN_PROMPT_TOKENS));
    (window - prompt).max(Tokens::ZERO)
}

/// [`max_reserve`] under a ruleset; [`Reserve::Quarter`] limits it to a quarter of the window.
pub fn max_reserve_under(rules: &Rules, window: Tokens) -> Tokens {
    if rules.reserve == Reserve::Quarter && window > Tokens::ZERO {
        (window / 4.0).floor()
    } else {
        max_reserve(window)
    }
}

/// Applies `agents.defaults.compaction` of `config` to pi's settings, limited to the keys that the version reads
/// (compaction 2.2; 12, row "Reserve"). `window` is the model's in tokens; up to the reference it does not cap the
/// reserve (compaction 2.3).
pub fn gateway_compaction_under(
    rules: &Rules,
    config: &js::Value,
    pi: CompactionSettings,
    window: Tokens,
) -> CompactionSettings {
    let raw = config.get("agents").and_then(|a| a.get("defaults")).and_then(|d| d.get("compaction"));
    let raw = |key: &str| raw?.get(key).filter(|_| rules.reserve.reads(key));
    let number = |key: &str| raw(key)?.as_f64().filter(|n| n.is_finite());
    let not_negative = |key: &str| number(key).filter(|n| *n >= 0.0).map(|n| n.floor() + 0.0);
    let floor = match rules.reserve {
        Reserve::Runtime => return pi,
        _ => not_negative("reserveTokensFloor").unwrap_or(RESERVE_FLOOR),
    };
    let most = max_reserve(window);
    let floor = if rules.reserve == Reserve::CappedFloor { floor.min(most.get()) } else { floor };
    let reserve = not_negative("reserveTokens").unwrap_or(pi.reserve_tokens.get()).max(floor);
    let most = match rules.reserve {
        Reserve::Capped | Reserve::CappedAlone | Reserve::Quarter => max_reserve_under(rules, window),
        _ => Tokens(f64::INFINITY),
    };
    let enabled = raw("enabled").and_then(js::Value::as_bool);
    CompactionSettings {
        enabled: enabled.unwrap_or(pi.enabled),
        reserve_tokens: Tokens(reserve.min(most.get())),
        keep_recent_tokens: number("keepRecentTokens")
            .filter(|n| *n > 0.0)
            .map_or(pi.keep_recent_tokens, |tokens| Tokens(tokens.floor())),
        chat_room: None,
    }
}

/// The configuration slot that names the engine.
const SLOT: [&str; 3] = ["plugins", "slots", "contextEngine"];
/// Values of the slot that select no plugin.
const BUILT_IN: [&str; 3] = ["legacy", "none", ""];

/// Returns the plugin, if one is configured.
pub fn engine_plugin(config: &GatewayConfig) -> Option<String> {
    let slot = config.value(&SLOT)?.as_str()?.to_string_lossy();
    let name = slot.trim();
    (!BUILT_IN.contains(&name.to_lowercase().as_str())).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;

    /// Uses the reference rules, which ignore the window.
    fn gateway_compaction(config: &js::Value, pi: CompactionSettings) -> CompactionSettings {
        gateway_compaction_under(Ruleset::default().rules(), config, pi, Tokens(f64::NAN))
    }

    fn reserve(compaction: &str, pi: CompactionSettings) -> Tokens {
        let config =
            js::parse(&format!(r#"{{"agents":{{"defaults":{{"compaction":{compaction}}}}}}}"#)).unwrap();
        gateway_compaction(&config, pi).reserve_tokens
    }

    #[test]
    fn the_reserve_is_the_configured_or_pis_value_but_not_below_the_floor() {
        let pi = CompactionSettings::default();
        assert_eq!(reserve("{}", pi), Tokens(20_000.0));
        assert_eq!(reserve(r#"{"reserveTokens":100}"#, pi), Tokens(20_000.0));
        assert_eq!(reserve(r#"{"reserveTokens":30000.7}"#, pi), Tokens(30_000.0));
        assert_eq!(reserve(r#"{"reserveTokensFloor":0}"#, pi), Tokens(16_384.0));
        assert_eq!(reserve(r#"{"reserveTokensFloor":0,"reserveTokens":0}"#, pi), Tokens::ZERO);
        assert_eq!(reserve(r#"{"reserveTokensFloor":-1,"reserveTokens":"5"}"#, pi), Tokens(20_000.0));
        assert_eq!(
            reserve("{}", CompactionSettings { reserve_tokens: Tokens(60_000.0), ..pi }),
            Tokens(60_000.0)
        );
    }

    #[test]
    fn keep_must_be_positive() {
        for (raw, expected) in [("0", 20_000.0), ("-5", 20_000.0), ("1234.9", 1234.0), ("\"9\"", 20_000.0)] {
            let text =
                format!(r#"{{"agents":{{"defaults":{{"compaction":{{"keepRecentTokens":{raw}}}}}}}}}"#);
            let config = js::parse(&text).unwrap();
            let settings = gateway_compaction(&config, CompactionSettings::default());
            assert_eq!(settings.keep_recent_tokens, Tokens(expected), "{raw}");
        }
    }

    #[test]
    fn compaction_starts_strictly_above_the_threshold_and_a_small_window_always_compacts() {
        let settings =
            CompactionSettings { reserve_tokens: Tokens(20_000.0), ..CompactionSettings::default() };
        assert!(!settings.should_compact(Tokens(180_000.0), Tokens(200_000.0)));
        assert!(settings.should_compact(Tokens(180_001.0), Tokens(200_000.0)));
        assert!(settings.should_compact(Tokens::ZERO, Tokens(16_000.0)));
        assert!(
            !CompactionSettings { enabled: false, ..settings }.should_compact(Tokens(1e9), Tokens(16_000.0))
        );
    }

    #[test]
    fn only_the_exact_word_selects_the_safeguard() {
        let mode = |compaction: &str| {
            let text = format!(r#"{{"agents":{{"defaults":{{"compaction":{compaction}}}}}}}"#);
            let config = js::parse(&text).unwrap();
            [Ruleset::V2026_3_2, Ruleset::V2026_2_17].map(|ruleset| compaction_mode(ruleset.rules(), &config))
        };
        // The older gateway accepts `safeguard` and never runs it.
        let named = mode(r#"{"mode":"safeguard"}"#);
        assert_eq!(named, [CompactionMode::Safeguard, CompactionMode::Default]);
        assert_eq!([mode("{}"), mode(r#"{"mode":"default"}"#)], [[CompactionMode::Default; 2]; 2]);
    }

    #[test]
    fn the_newest_version_caps_the_reserve_at_a_quarter_of_the_window_and_reads_no_reserve() {
        let raw = r#"{"agents":{"defaults":{"compaction":{"reserveTokens":90000,"reserveTokensFloor":1,
            "keepRecentTokens":30000,"enabled":false}}}}"#;
        let config = js::parse(raw).unwrap();
        let under = |ruleset: Ruleset, window: f64| {
            let settings = gateway_compaction_under(
                ruleset.rules(),
                &config,
                CompactionSettings::default(),
                Tokens(window),
            );
            (settings.enabled, settings.reserve_tokens, settings.keep_recent_tokens)
        };
        assert_eq!(under(Ruleset::V2026_9_6, 200_000.0), (false, Tokens(20_000.0), Tokens(30_000.0)));
        assert_eq!(under(Ruleset::V2026_9_6, 32_001.0), (false, Tokens(8_000.0), Tokens(30_000.0)));
        assert_eq!(under(Ruleset::V2026_9_6, f64::NAN), (false, Tokens(20_000.0), Tokens(30_000.0)));
        assert_eq!(under(Ruleset::V2026_3_2, 32_001.0), (true, Tokens(90_000.0), Tokens(30_000.0)));
        assert_eq!(under(Ruleset::V2026_2_17, 32_001.0), (true, Tokens(16_384.0), Tokens(20_000.0)));
        assert_eq!(under(Ruleset::Pi0_55, 32_001.0), (true, Tokens(16_384.0), Tokens(20_000.0)));
    }

    #[test]
    fn only_earlier_versions_compact_for_a_window_that_is_not_known() {
        let settings =
            CompactionSettings { reserve_tokens: Tokens(20_000.0), ..CompactionSettings::default() };
        let compacts =
            |ruleset: Ruleset, window| settings.should_compact_under(ruleset.rules(), Tokens(1.0), window);
        assert!(compacts(Ruleset::V2026_3_2, Tokens::ZERO) && compacts(Ruleset::V2026_3_2, Tokens(-5.0)));
        assert!(
            !compacts(Ruleset::V2026_9_6, Tokens::ZERO) && !compacts(Ruleset::V2026_9_6, Tokens(f64::NAN))
        );
        assert!(compacts(Ruleset::V2026_9_6, Tokens(16_000.0)));
    }

    #[test]
    fn a_model_may_have_its_own_reserve_and_the_project_comes_before_the_global_settings() {
        let parse = |text: &str| js::parse(text).unwrap();
        let global = parse(
            r#"{"compaction":{"reserveTokens":1000,"keepRecentTokens":-5,"modelOverrides":{"p/m":{"reserveTokens":7}}}}"#,
        );
        let project =
            parse(r#"{"compaction":{"enabled":false,"modelOverrides":{"p/n":{"keepRecentTokens":9}}}}"#);
        let merged = merge_settings(Some(&global), Some(&project));
        let of = |model: &str| {
            let settings = pi_compaction_for_model(&merged, model);
            (settings.enabled, settings.reserve_tokens, settings.keep_recent_tokens)
        };
        assert_eq!(of("p/m"), (false, Tokens(7.0), Tokens(20_000.0)));
        assert_eq!(of("p/n"), (false, Tokens(1000.0), Tokens(9.0)));
        assert_eq!(of("x/y"), (false, Tokens(1000.0), Tokens(20_000.0)));
    }

    #[test]
    fn a_pi_settings_file_overrides_pis_defaults() {
        let file = js::parse(r#"{"compaction":{"enabled":false,"reserveTokens":5,"keepRecentTokens":"x"}}"#)
            .unwrap();
        let expected = CompactionSettings {
            enabled: false,
            reserve_tokens: Tokens(5.0),
            ..CompactionSettings::default()
        };
        assert_eq!(pi_compaction(Some(&file)), expected);
        assert_eq!(pi_compaction(None), CompactionSettings::default());
    }
}
