//! Settings of the memory flush, which saves notes before a compaction, each with its origin (compaction 9.1, 9.3).

use crate::gateway::compaction::RESERVE_FLOOR;
use crate::gateway::config::GatewayConfig;
use crate::gateway::registry::{Provenance, Setting};
use crate::gateway::ruleset::{MemoryFlush, Rules};
use crate::js::Value;
use crate::units::{Bytes, Tokens};

/// Tokens before the reserve at which a flush is due (compaction 9.1).
pub const SOFT_THRESHOLD: f64 = 4_000.0;
/// Bytes of a transcript above which a flush is due regardless of tokens (compaction 9.1).
pub const FORCE_BYTES: Bytes = Bytes(2_097_152);

const COMPACTION_PATH: [&str; 3] = ["agents", "defaults", "compaction"];

#[derive(Debug, Clone, PartialEq)]
pub struct FlushSettings {
    /// `memoryFlush.enabled`; only `false` disables it.
    pub enabled: Setting<bool>,
    /// `memoryFlush.softThresholdTokens`, in tokens.
    pub soft_tokens: Setting<Tokens>,
    /// `memoryFlush.forceFlushTranscriptBytes`, in bytes; 0 disables the size trigger.
    pub force_bytes: Setting<Bytes>,
    /// `reserveTokensFloor`, in tokens; not the effective reserve.
    pub floor_tokens: Setting<Tokens>,
}

/// Reads the settings; ignores values of a wrong type.
pub fn flush_settings(config: &GatewayConfig) -> FlushSettings {
    let path =
        |key: &'static [&'static str]| -> Vec<&str> { COMPACTION_PATH.iter().chain(key).copied().collect() };
    let number = |key: &'static [&'static str], default: f64, read: fn(&Value) -> Option<f64>| {
        let own = config.value(&path(key)).and_then(read);
        Setting {
            value: own.unwrap_or(default),
            default,
            provenance: setting_provenance(config, &path(key), own.is_some()),
        }
    };
    let switch = path(&["memoryFlush", "enabled"]);
    let off = config.value(&switch) == Some(&Value::Bool(false));
    let set = config.value(&switch).and_then(Value::as_bool).is_some();
    FlushSettings {
        enabled: Setting { value: !off, default: true, provenance: setting_provenance(config, &switch, set) },
        soft_tokens: number(&["memoryFlush", "softThresholdTokens"], SOFT_THRESHOLD, whole_number)
            .map(Tokens),
        force_bytes: number(
            &["memoryFlush", "forceFlushTranscriptBytes"],
            FORCE_BYTES.get() as f64,
            byte_size,
        )
        .map(|bytes| Bytes(bytes as u64)),
        floor_tokens: number(&["reserveTokensFloor"], RESERVE_FLOOR, whole_number).map(Tokens),
    }
}

/// [`flush_settings`] under a ruleset, for a window in tokens (compaction 12, row "Memory flush"): the older versions
/// have no size trigger; the newest limits the floor to a quarter of the window and the threshold to half of the
/// rest.
pub fn flush_settings_under(rules: &Rules, config: &GatewayConfig, window: Tokens) -> FlushSettings {
    let mut settings = flush_settings(config);
    match rules.memory_flush {
        MemoryFlush::TotalsAndSize => {}
        MemoryFlush::None => settings.enabled.value = false,
        MemoryFlush::StoredTotal { .. } => settings.force_bytes.value = Bytes::ZERO,
        MemoryFlush::Plugin => {
            let floor = settings.floor_tokens.value.min((window / 4.0).floor());
            settings.floor_tokens.value = floor;
            let half = ((window - floor) / 2.0).floor().max(Tokens::ZERO);
            settings.soft_tokens.value = settings.soft_tokens.value.min(half);
        }
    }
    settings
}

/// Returns the configured `compaction.maxActiveTranscriptBytes`; `None` if it is off.
pub fn max_active_transcript_bytes(config: &GatewayConfig) -> Option<Bytes> {
    let path = COMPACTION_PATH.iter().copied().chain(["maxActiveTranscriptBytes"]).collect::<Vec<_>>();
    let bytes = config.value(&path).and_then(byte_size).filter(|bytes| *bytes >= 1.0)?;
    Some(Bytes(bytes as u64))
}

/// Returns the size in bytes at which the gateway compacts a transcript, whatever its tokens. The gateway needs both keys:
/// without a truncated successor the file would never shrink (compaction 12, row "Who triggers").
pub fn transcript_byte_guard(config: &GatewayConfig) -> Option<Bytes> {
    let path = COMPACTION_PATH.iter().copied().chain(["truncateAfterCompaction"]).collect::<Vec<_>>();
    let truncates = config.value(&path) == Some(&Value::Bool(true));
    max_active_transcript_bytes(config).filter(|_| truncates)
}

fn setting_provenance(config: &GatewayConfig, path: &[&str], used: bool) -> Provenance {
    if used { config.provenance(path) } else { Provenance::Default }
}

/// Accepts a finite number that is not negative, and floors it.
fn whole_number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| number.is_finite() && *number >= 0.0).map(f64::floor)
}

/// Parses a number of bytes, or a text such as `2mb`; 1 kb is 1024 bytes.
fn byte_size(value: &Value) -> Option<f64> {
    let Some(text) = value.as_str() else { return whole_number(value) };
    let text = text.trim().to_lowercase().to_string_lossy();
    let digits = text.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let plain = !number.starts_with('.') && !number.ends_with('.');
    let power = match unit {
        "" | "b" => 0,
        "k" | "kb" => 1,
        "m" | "mb" => 2,
        "g" | "gb" => 3,
        "t" | "tb" => 4,
        _ => return None,
    };
    let bytes = number.parse::<f64>().ok().filter(|_| plain)? * 1024_f64.powi(power);
    Some(bytes.round())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::gateway::env::Environment;
    use crate::gateway::ruleset::Ruleset;

    fn settings(compaction: &str) -> FlushSettings {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("openclaw.json");
        let text = format!("{{agents: {{defaults: {{\ncompaction: {compaction} }} }} }}");
        std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
        flush_settings(&GatewayConfig::load(Some(&path), &Environment::default(), dir.path()))
    }

    fn values(compaction: &str) -> (bool, f64, u64, f64) {
        let s = settings(compaction);
        (s.enabled.value, s.soft_tokens.value.get(), s.force_bytes.value.get(), s.floor_tokens.value.get())
    }

    #[test]
    fn the_flush_is_on_with_the_gateways_defaults_without_configuration() {
        assert_eq!(values("{}"), (true, 4_000.0, 2_097_152, 20_000.0));
        let plain = flush_settings(&GatewayConfig::empty());
        assert_eq!((plain.enabled.value, plain.soft_tokens.provenance), (true, Provenance::Default));
    }

    #[test]
    fn each_configured_value_names_its_line_and_the_floor_is_not_the_reserve() {
        let s = settings(
            "{ reserveTokens: 60000,\n reserveTokensFloor: 30000,\n memoryFlush: { enabled: false,\n softThresholdTokens: 8000 } }",
        );
        assert_eq!(
            (s.enabled.value, s.soft_tokens.value, s.floor_tokens.value),
            (false, Tokens(8000.0), Tokens(30_000.0))
        );
        let line = |provenance: &Provenance| match provenance {
            Provenance::File { line, .. } => *line,
            _ => None,
        };
        assert_eq!((line(&s.floor_tokens.provenance), line(&s.soft_tokens.provenance)), (Some(3), Some(5)));
        assert_eq!(s.force_bytes.provenance, Provenance::Default);
    }

    #[test]
    fn versions_differ_in_the_size_trigger_and_in_the_floor_of_a_small_window() {
        let under = |ruleset: Ruleset, window| {
            let s = flush_settings_under(ruleset.rules(), &GatewayConfig::empty(), window);
            (s.enabled.value, s.floor_tokens.value, s.soft_tokens.value, s.force_bytes.value)
        };
        assert_eq!(
            under(Ruleset::V2026_3_2, Tokens(8_000.0)),
            (true, Tokens(20_000.0), Tokens(4_000.0), FORCE_BYTES)
        );
        assert_eq!(
            under(Ruleset::V2026_2_17, Tokens(8_000.0)),
            (true, Tokens(20_000.0), Tokens(4_000.0), Bytes::ZERO)
        );
        assert_eq!(
            under(Ruleset::V2026_9_6, Tokens(8_000.0)),
            (true, Tokens(2_000.0), Tokens(3_000.0), FORCE_BYTES)
        );
        assert_eq!(
            under(Ruleset::V2026_9_6, Tokens(200_000.0)),
            (true, Tokens(20_000.0), Tokens(4_000.0), FORCE_BYTES)
        );
        assert!(!under(Ruleset::Pi0_55, Tokens(200_000.0)).0);
    }

    #[test]
    fn a_size_may_be_a_text_with_a_unit() {
        let size = |text: &str| byte_size(&Value::from(text));
        assert_eq!([size("2mb"), size(" 2 MB")], [Some(2_097_152.0), None]);
        assert_eq!([size("1.5k"), size("512"), size("0")], [Some(1536.0), Some(512.0), Some(0.0)]);
        assert_eq!([size("mb"), size("2 furlongs"), size(".5k"), size("")], [None; 4]);
        assert_eq!(byte_size(&Value::from(-1)), None);
    }
}
