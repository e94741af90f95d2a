//! The pruner's settings as the gateway uses them: the raw `contextPruning` object, with its default for every bad
//! value (pruning 3.3).
//!
//! For example, `{"mode": "cache-ttl", "ttl": "soon"}` prunes with the default ttl of 5 minutes, because the gateway
//! never reports a bad value here.

use super::ruleset::{ImageResults, PruneKeys, Rules, Ruleset};
use super::setting_value::{parse_duration, parse_single_duration};
use super::tools::ToolFilter;
use crate::js::{self, JsString};
use crate::units::{Chars, Millis};

const DEFAULT_PLACEHOLDER: &str = "[Old tool result content cleared]";

/// Effective settings. Counts are whole and not negative, ratios are within 0..=1. All are doubles, because the
/// gateway computes with doubles (pruning 0.2).
#[derive(Debug, Clone, PartialEq)]
pub struct PruneSettings {
    /// Minimum age of the last touch; 0 never prunes (pruning 4.2).
    pub ttl_ms: Millis,
    /// Protects the tool results after the start of this many last assistant messages.
    pub keep_last_assistants: f64,
    /// Share of the window from which results are soft-trimmed.
    pub soft_trim_ratio: f64,
    /// Share of the window from which results are cleared.
    pub hard_clear_ratio: f64,
    /// Minimum chars in prunable results for clearing.
    pub min_prunable_tool_chars: Chars,
    /// `tools` exactly as configured: any truthy value, see [`PruneSettings::tool_filter`].
    pub tools: js::Value,
    pub soft_trim: SoftTrim,
    pub hard_clear: HardClear,
}

/// Sizes of the soft trim in chars.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SoftTrim {
    /// Results up to this size stay whole.
    pub max_chars: Chars,
    /// Chars kept from the start.
    pub head_chars: Chars,
    /// Chars kept from the end.
    pub tail_chars: Chars,
    /// The handling of results that contain images; the version decides it, not a setting.
    pub images: ImageResults,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HardClear {
    /// Whether results are cleared; otherwise they are only soft-trimmed.
    pub enabled: bool,
    /// The text that replaces the content; never blank.
    pub placeholder: JsString,
}

impl Default for PruneSettings {
    fn default() -> Self {
        Self {
            ttl_ms: Millis(300_000.0),
            keep_last_assistants: 3.0,
            soft_trim_ratio: 0.3,
            hard_clear_ratio: 0.5,
            min_prunable_tool_chars: Chars(50_000.0),
            tools: js::Value::Object(js::Object::default()),
            soft_trim: SoftTrim {
                max_chars: Chars(4000.0),
                head_chars: Chars(1500.0),
                tail_chars: Chars(1500.0),
                images: ImageResults::Skipped,
            },
            hard_clear: HardClear { enabled: true, placeholder: DEFAULT_PLACEHOLDER.into() },
        }
    }
}

impl PruneSettings {
    /// Returns the settings of a version without any configuration.
    pub fn built_in(rules: &Rules) -> Self {
        let mut settings = Self::default();
        settings.soft_trim.images = rules.image_results;
        settings
    }

    /// Returns the settings under their configuration names; the ttl is `ttlMs`, in ms.
    pub fn to_object(&self) -> js::Object {
        let soft = js::Object::from([
            ("maxChars", self.soft_trim.max_chars),
            ("headChars", self.soft_trim.head_chars),
            ("tailChars", self.soft_trim.tail_chars),
        ]);
        let hard = js::Object::from([
            ("enabled", js::Value::Bool(self.hard_clear.enabled)),
            ("placeholder", js::Value::String(self.hard_clear.placeholder.clone())),
        ]);
        js::Object::from([
            ("ttlMs", js::Value::Number(self.ttl_ms.get())),
            ("keepLastAssistants", js::Value::Number(self.keep_last_assistants)),
            ("softTrimRatio", js::Value::Number(self.soft_trim_ratio)),
            ("hardClearRatio", js::Value::Number(self.hard_clear_ratio)),
            ("minPrunableToolChars", js::Value::from(self.min_prunable_tool_chars)),
            ("softTrim", js::Value::Object(soft)),
            ("hardClear", js::Value::Object(hard)),
            ("tools", self.tools.clone()),
        ])
    }

    /// Compiles the allow and deny lists (pruning 3.5).
    pub fn tool_filter(&self) -> ToolFilter {
        ToolFilter::compile(Some(&self.tools))
    }
}

/// [`effective_settings_under`] the rules of the reference.
pub fn effective_settings(raw: Option<&js::Value>) -> Option<PruneSettings> {
    effective_settings_under(Ruleset::default().rules(), raw)
}

/// Returns the settings in force; `None` if pruning is off, that is unless `raw` is an object whose `mode` is
/// `cache-ttl`. Never fails: the default replaces a value that is not finite or of a wrong type, and a key that the
/// version does not read (pruning 8, row "Config keys").
pub fn effective_settings_under(rules: &Rules, raw: Option<&js::Value>) -> Option<PruneSettings> {
    let raw = raw?;
    if !raw.get("mode")?.str_is("cache-ttl") {
        return None;
    }
    let mut settings = PruneSettings::built_in(rules);
    let read = if rules.duration.composite { parse_duration } else { parse_single_duration };
    let ttl = raw.get("ttl").and_then(js::Value::as_str).and_then(read);
    set_if_some(&mut settings.ttl_ms, ttl.filter(|ms| *ms <= rules.duration.longest_ms));
    if let Some(tools) = raw.get("tools").filter(|tools| js::is_truthy(Some(tools))) {
        settings.tools = tools.clone();
    }
    if let Some(hard) = raw.get("hardClear") {
        override_hard_clear(&mut settings.hard_clear, hard);
    }
    if rules.prune_keys == PruneKeys::All {
        override_sizes(&mut settings, raw);
    }
    Some(settings)
}

/// Applies the keys that later versions ignore.
fn override_sizes(settings: &mut PruneSettings, raw: &js::Value) {
    set_if_some(&mut settings.keep_last_assistants, whole_count(raw, "keepLastAssistants"));
    set_if_some(&mut settings.soft_trim_ratio, ratio(raw, "softTrimRatio"));
    set_if_some(&mut settings.hard_clear_ratio, ratio(raw, "hardClearRatio"));
    set_if_some(&mut settings.min_prunable_tool_chars, whole_count(raw, "minPrunableToolChars").map(Chars));
    if let Some(soft) = raw.get("softTrim") {
        set_if_some(&mut settings.soft_trim.max_chars, whole_count(soft, "maxChars").map(Chars));
        set_if_some(&mut settings.soft_trim.head_chars, whole_count(soft, "headChars").map(Chars));
        set_if_some(&mut settings.soft_trim.tail_chars, whole_count(soft, "tailChars").map(Chars));
    }
}

fn override_hard_clear(settings: &mut HardClear, raw: &js::Value) {
    if let Some(enabled) = raw.get("enabled").and_then(js::Value::as_bool) {
        settings.enabled = enabled;
    }
    let placeholder = raw.get("placeholder").and_then(js::Value::as_str).map(JsString::trim);
    if let Some(placeholder) = placeholder.filter(|text| !text.is_empty()) {
        settings.placeholder = placeholder;
    }
}

fn set_if_some<T>(slot: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *slot = value;
    }
}

fn finite_number(object: &js::Value, key: &str) -> Option<f64> {
    object.get(key).and_then(js::Value::as_f64).filter(|number| number.is_finite())
}

/// max(0, floor(x)); the sum turns -0 into 0.
fn whole_count(object: &js::Value, key: &str) -> Option<f64> {
    finite_number(object, key).map(|number| number.floor().max(0.0) + 0.0)
}

fn ratio(object: &js::Value, key: &str) -> Option<f64> {
    finite_number(object, key).map(|number| number.clamp(0.0, 1.0) + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effective(json: &str) -> Option<PruneSettings> {
        effective_settings(Some(&js::parse(json).unwrap()))
    }

    #[test]
    fn pruning_is_off_unless_the_mode_is_exactly_cache_ttl() {
        assert_eq!(effective_settings(None), None);
        for raw in [
            "null",
            "[]",
            "5",
            "\"cache-ttl\"",
            "{}",
            r#"{"mode":"off"}"#,
            r#"{"mode":"Cache-TTL"}"#,
            r#"{"mode":null}"#,
        ] {
            assert_eq!(effective(raw), None, "{raw}");
        }
        assert_eq!(effective(r#"{"mode":"cache-ttl"}"#), Some(PruneSettings::default()));
    }

    #[test]
    fn wrong_types_and_infinities_leave_the_defaults() {
        let odd = r#"{"mode":"cache-ttl","ttl":5,"keepLastAssistants":"2","softTrimRatio":null,"hardClearRatio":"0.1",
            "minPrunableToolChars":1e400,"softTrim":{"maxChars":"1","headChars":-1e400},
            "hardClear":{"enabled":"no","placeholder":4},"tools":0}"#;
        assert_eq!(effective(odd), Some(PruneSettings::default()));
        let not_objects = r#"{"mode":"cache-ttl","softTrim":"x","hardClear":[1],"tools":null}"#;
        assert_eq!(effective(not_objects), Some(PruneSettings::default()));
    }

    #[test]
    fn counts_are_floored_at_zero_and_ratios_clamped() {
        let settings = effective(
            r#"{"mode":"cache-ttl","keepLastAssistants":1.9,"minPrunableToolChars":-1,"softTrimRatio":-3,"hardClearRatio":7,
                "softTrim":{"maxChars":99.99,"headChars":10.9,"tailChars":-5}}"#,
        )
        .unwrap();
        assert_eq!(settings.keep_last_assistants, 1.0);
        assert_eq!(settings.min_prunable_tool_chars, Chars(0.0));
        assert_eq!((settings.soft_trim_ratio, settings.hard_clear_ratio), (0.0, 1.0));
        let images = ImageResults::Skipped;
        let expected =
            SoftTrim { max_chars: Chars(99.0), head_chars: Chars(10.0), tail_chars: Chars(0.0), images };
        assert_eq!(settings.soft_trim, expected);
    }

    #[test]
    fn zero_is_never_negative_because_it_is_printed() {
        let settings =
            effective(r#"{"mode":"cache-ttl","keepLastAssistants":-0,"softTrimRatio":-0}"#).unwrap();
        assert!(settings.keep_last_assistants.is_sign_positive());
        assert!(settings.soft_trim_ratio.is_sign_positive());
    }

    #[test]
    fn a_ttl_that_does_not_parse_is_five_minutes_and_zero_is_zero() {
        for (ttl, ms) in
            [("bad", 300_000.0), ("", 300_000.0), ("0", 0.0), ("90", 5_400_000.0), (" 10 S ", 300_000.0)]
        {
            let raw = format!(r#"{{"mode":"cache-ttl","ttl":"{ttl}"}}"#);
            assert_eq!(effective(&raw).unwrap().ttl_ms, Millis(ms), "{ttl}");
        }
    }

    #[test]
    fn the_placeholder_is_trimmed_and_a_blank_one_ignored() {
        let placeholder = |text: &str| {
            let raw =
                format!(r#"{{"mode":"cache-ttl","hardClear":{{"enabled":false,"placeholder":"{text}"}}}}"#);
            let hard = effective(&raw).unwrap().hard_clear;
            assert!(!hard.enabled);
            hard.placeholder
        };
        assert!(placeholder("  gone 😀 ").eq_str("gone 😀"));
        assert!(placeholder(r" \n\t").eq_str(DEFAULT_PLACEHOLDER));
    }

    #[test]
    fn a_version_without_a_key_has_its_built_in_value() {
        let raw = r#"{"mode":"cache-ttl","ttl":"1h","keepLastAssistants":9,"softTrimRatio":0.1,"hardClearRatio":0.2,
            "minPrunableToolChars":1,"softTrim":{"maxChars":1,"headChars":2,"tailChars":3},
            "hardClear":{"enabled":false},"tools":{"deny":["x"]}}"#;
        let raw = js::parse(raw).unwrap();
        let newest = effective_settings_under(Ruleset::V2026_9_6.rules(), Some(&raw)).unwrap();
        let read = PruneSettings {
            ttl_ms: Millis(3_600_000.0),
            tools: raw.get("tools").unwrap().clone(),
            hard_clear: HardClear { enabled: false, ..PruneSettings::default().hard_clear },
            ..PruneSettings::built_in(Ruleset::V2026_9_6.rules())
        };
        assert_eq!(newest, read);
        assert_eq!(effective_settings(Some(&raw)).unwrap().keep_last_assistants, 9.0);
    }

    #[test]
    fn the_newest_version_ignores_a_duration_beyond_exact_integers() {
        let raw = js::parse(r#"{"mode":"cache-ttl","ttl":"999999999999d"}"#).unwrap();
        let ttl = |ruleset: Ruleset| effective_settings_under(ruleset.rules(), Some(&raw)).unwrap().ttl_ms;
        assert_eq!(ttl(Ruleset::V2026_9_6), Millis(300_000.0));
        assert!(ttl(Ruleset::V2026_3_2) > Millis(1e19));
    }

    #[test]
    fn truthy_tools_replace_the_empty_object_as_they_are() {
        for tools in [r#""read""#, "5", "[1]", r#"{"allow":["a"]}"#, "true"] {
            let settings = effective(&format!(r#"{{"mode":"cache-ttl","tools":{tools}}}"#)).unwrap();
            assert_eq!(settings.tools, js::parse(tools).unwrap());
        }
    }
}
