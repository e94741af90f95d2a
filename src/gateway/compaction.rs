//! What compaction holds back and keeps: reserve and keep of a run, for the compaction mark and the preview
//! (compaction 2.1, 2.2, 2.7).

use crate::js;

/// pi's own reserve, in tokens (compaction 2.1).
const PI_RESERVE_TOKENS: f64 = 16_384.0;
/// pi's own keep, in tokens (compaction 2.1).
const PI_KEEP_RECENT_TOKENS: f64 = 20_000.0;
/// Least reserve of a gateway run unless `reserveTokensFloor` says otherwise, in tokens.
pub const RESERVE_FLOOR: f64 = 20_000.0;

/// Who writes the summary of a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CompactionMode {
    /// The runtime's own summariser, in one call.
    #[default]
    Default,
    /// The gateway's, in chunks, which refuses a history without a real message (compaction 5).
    Safeguard,
}

impl CompactionMode {
    /// Its name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Safeguard => "safeguard",
        }
    }
}

/// The mode that a loaded configuration says; loading fills in `safeguard` wherever there is an `agents.defaults`
/// (compaction 2.5).
pub fn compaction_mode(config: &js::Value) -> CompactionMode {
    let raw = config.get("agents").and_then(|a| a.get("defaults")).and_then(|d| d.get("compaction"));
    let safeguard = raw.and_then(|raw| raw.get("mode")).is_some_and(|mode| mode.str_is("safeguard"));
    if safeguard { CompactionMode::Safeguard } else { CompactionMode::Default }
}

/// Effective compaction settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompactionSettings {
    /// Whether sessions are compacted on their own.
    pub enabled: bool,
    /// Tokens of the window kept free.
    pub reserve_tokens: f64,
    /// Tokens of the newest messages that are not summarised.
    pub keep_recent_tokens: f64,
}

impl Default for CompactionSettings {
    /// pi's own, without a gateway.
    fn default() -> Self {
        Self { enabled: true, reserve_tokens: PI_RESERVE_TOKENS, keep_recent_tokens: PI_KEEP_RECENT_TOKENS }
    }
}

impl CompactionSettings {
    /// Above this many context tokens a session is compacted; negative when the reserve exceeds the window.
    pub fn threshold(&self, window: f64) -> f64 {
        window - self.reserve_tokens
    }

    /// Whether a context of this many tokens is compacted (compaction 2.7: strictly above).
    pub fn should_compact(&self, context_tokens: f64, window: f64) -> bool {
        self.enabled && context_tokens > self.threshold(window)
    }
}

/// pi's defaults, overridden by the `compaction` object of a pi settings file (compaction 2.1). Values of a wrong type
/// are ignored.
pub fn pi_compaction(settings: Option<&js::Value>) -> CompactionSettings {
    let raw = settings.and_then(|settings| settings.get("compaction"));
    let number = |key| raw.and_then(|raw| raw.get(key)).and_then(js::Value::as_f64);
    let defaults = CompactionSettings::default();
    CompactionSettings {
        enabled: raw
            .and_then(|raw| raw.get("enabled"))
            .and_then(js::Value::as_bool)
            .unwrap_or(defaults.enabled),
        reserve_tokens: number("reserveTokens").unwrap_or(defaults.reserve_tokens),
        keep_recent_tokens: number("keepRecentTokens").unwrap_or(defaults.keep_recent_tokens),
    }
}

/// The settings of a gateway run: `agents.defaults.compaction` of `config` over pi's (compaction 2.2). The reserve is
/// not capped by the window (compaction 2.3).
pub fn gateway_compaction(config: &js::Value, pi: CompactionSettings) -> CompactionSettings {
    let raw = config.get("agents").and_then(|a| a.get("defaults")).and_then(|d| d.get("compaction"));
    let number = |key: &str| raw?.get(key)?.as_f64().filter(|n| n.is_finite());
    let not_negative = |key: &str| number(key).filter(|n| *n >= 0.0).map(|n| n.floor() + 0.0);
    let floor = not_negative("reserveTokensFloor").unwrap_or(RESERVE_FLOOR);
    CompactionSettings {
        enabled: pi.enabled,
        reserve_tokens: not_negative("reserveTokens").unwrap_or(pi.reserve_tokens).max(floor),
        keep_recent_tokens: number("keepRecentTokens")
            .filter(|n| *n > 0.0)
            .map_or(pi.keep_recent_tokens, f64::floor),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reserve(compaction: &str, pi: CompactionSettings) -> f64 {
        let config =
            js::parse(&format!(r#"{{"agents":{{"defaults":{{"compaction":{compaction}}}}}}}"#)).unwrap();
        gateway_compaction(&config, pi).reserve_tokens
    }

    #[test]
    fn the_reserve_is_the_configured_or_pis_value_but_not_below_the_floor() {
        let pi = CompactionSettings::default();
        assert_eq!(reserve("{}", pi), 20_000.0);
        assert_eq!(reserve(r#"{"reserveTokens":100}"#, pi), 20_000.0);
        assert_eq!(reserve(r#"{"reserveTokens":30000.7}"#, pi), 30_000.0);
        assert_eq!(reserve(r#"{"reserveTokensFloor":0}"#, pi), 16_384.0);
        assert_eq!(reserve(r#"{"reserveTokensFloor":0,"reserveTokens":0}"#, pi), 0.0);
        assert_eq!(reserve(r#"{"reserveTokensFloor":-1,"reserveTokens":"5"}"#, pi), 20_000.0);
        assert_eq!(reserve("{}", CompactionSettings { reserve_tokens: 60_000.0, ..pi }), 60_000.0);
    }

    #[test]
    fn keep_must_be_positive() {
        for (raw, expected) in [("0", 20_000.0), ("-5", 20_000.0), ("1234.9", 1234.0), ("\"9\"", 20_000.0)] {
            let text =
                format!(r#"{{"agents":{{"defaults":{{"compaction":{{"keepRecentTokens":{raw}}}}}}}}}"#);
            let config = js::parse(&text).unwrap();
            let settings = gateway_compaction(&config, CompactionSettings::default());
            assert_eq!(settings.keep_recent_tokens, expected, "{raw}");
        }
    }

    #[test]
    fn compaction_starts_strictly_above_the_threshold_and_a_small_window_always_compacts() {
        let settings = CompactionSettings { reserve_tokens: 20_000.0, ..CompactionSettings::default() };
        assert!(!settings.should_compact(180_000.0, 200_000.0));
        assert!(settings.should_compact(180_001.0, 200_000.0));
        assert!(settings.should_compact(0.0, 16_000.0));
        assert!(!CompactionSettings { enabled: false, ..settings }.should_compact(1e9, 16_000.0));
    }

    #[test]
    fn only_the_word_itself_is_the_safeguard() {
        let mode = |compaction: &str| {
            let text = format!(r#"{{"agents":{{"defaults":{{"compaction":{compaction}}}}}}}"#);
            compaction_mode(&js::parse(&text).unwrap())
        };
        assert_eq!(mode(r#"{"mode":"safeguard"}"#), CompactionMode::Safeguard);
        assert_eq!([mode("{}"), mode(r#"{"mode":"default"}"#)], [CompactionMode::Default; 2]);
    }

    #[test]
    fn a_pi_settings_file_overrides_pis_defaults() {
        let file = js::parse(r#"{"compaction":{"enabled":false,"reserveTokens":5,"keepRecentTokens":"x"}}"#)
            .unwrap();
        let expected =
            CompactionSettings { enabled: false, reserve_tokens: 5.0, keep_recent_tokens: 20_000.0 };
        assert_eq!(pi_compaction(Some(&file)), expected);
        assert_eq!(pi_compaction(None), CompactionSettings::default());
    }
}
