//! The changed settings as a patch for `openclaw.json`: shown and copied, never applied by clawscope.

use crate::app::tuning::TuningPane;
use crate::write::patch::ConfigPatch;

impl TuningPane {
    /// Returns the changed settings as a patch for `openclaw.json` (JSON5). Turns pruning on when one of its settings
    /// changed while it is off. Comments name the changes that no config key sets.
    pub fn patch(&self, configured_on: bool) -> String {
        let changed = self.rows.iter().zip(&self.values).enumerate().filter(|(at, _)| self.is_changed(*at));
        ConfigPatch::from_rows(configured_on, changed.map(|(_, changed)| changed)).text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::compaction::CompactionSettings;
    use crate::gateway::config::GatewayConfig;
    use crate::gateway::ruleset::Ruleset;
    use crate::js::Value;
    use crate::policy::clear_tool_uses::ClearSettings;
    use crate::policy::settings::{SettingSources, policy_settings};
    use crate::units::Tokens;

    fn pane(session_key: &str) -> TuningPane {
        let config = GatewayConfig::empty();
        let source = SettingSources {
            config: &config,
            ruleset: Ruleset::default(),
            session_key,
            runtime: CompactionSettings::default(),
            window: Tokens(200_000.0),
            clear: &ClearSettings::default(),
        };
        let rows = policy_settings(&source);
        let values = rows.iter().map(|row| row.setting.value.clone()).collect();
        let mut pane = TuningPane::default();
        (pane.rows, pane.values) = (rows, values);
        pane
    }

    fn tune(pane: &mut TuningPane, key: &str, value: impl Into<Value>) {
        let at = pane.rows.iter().position(|row| row.key() == key).expect("a known key");
        pane.values[at] = value.into();
    }

    #[test]
    fn the_patch_has_the_changed_settings_and_enables_pruning_if_it_was_off() {
        let mut pane = pane("agent:main:main");
        tune(&mut pane, "contextPruning.softTrim.maxChars", 3000);
        tune(&mut pane, "contextPruning.ttl", 3_600_000);
        let patch = crate::js::parse(&pane.patch(false)).expect("nothing but JSON");
        let pruning = r#"{"mode":"cache-ttl","ttl":"1h","softTrim":{"maxChars":3000}}"#;
        let expected = format!(r#"{{"agents":{{"defaults":{{"contextPruning":{pruning}}}}}}}"#);
        assert_eq!(crate::js::stringify(&patch), expected);
        assert!(!pane.patch(true).contains("mode"));
    }

    #[test]
    fn the_patch_puts_every_key_where_the_gateway_reads_it() {
        let mut pane = pane("agent:main:slack:channel:c1");
        tune(&mut pane, "compaction.reserveTokens", 34_000);
        tune(&mut pane, "historyLimit", 20);
        let patch = crate::js::stringify(&crate::js::parse(&pane.patch(false)).expect("nothing but JSON"));
        let compaction = r#"{"agents":{"defaults":{"compaction":{"reserveTokens":34000}}}"#;
        assert_eq!(patch, format!(r#"{compaction},"channels":{{"slack":{{"historyLimit":20}}}}}}"#));
    }

    #[test]
    fn the_patch_lists_settings_without_a_key_as_comments() {
        let mut pane = pane("agent:main:main");
        tune(&mut pane, "guard.budgetShare", 0.6);
        tune(&mut pane, "clearToolUses.placeholder", "two\nlines");
        tune(&mut pane, "compaction.summaryTokens", 900);
        let patch = pane.patch(false);
        let lines: Vec<&str> = patch.lines().collect();
        assert_eq!(lines.len(), 3, "{patch}");
        assert!(lines.iter().all(|line| line.starts_with("// ")), "{patch}");
        assert!(lines[1].starts_with("// guard.budgetShare 0.6: built into the gateway"), "{patch}");
        assert!(lines[2].contains("placeholder twolines: set by the client"), "{patch}");
    }
}
