//! The settings of compaction one by one: key, control, default, value and origin, limited to those of the version
//! (compaction 2.2, 2.6; 12, row "Reserve").

use crate::gateway::compaction::{CompactionSettings, RESERVE_FLOOR, gateway_compaction_under};
use crate::gateway::config::GatewayConfig;
use crate::gateway::provenance::Provenance;
use crate::gateway::prune_setting::Control;
use crate::gateway::ruleset::{Reserve, Ruleset};
use crate::js;
use crate::policy::settings::setting::SettingId;
use crate::policy::settings::setting_row::SettingRow;
use crate::units::Tokens;

/// The path of the settings object in the configuration.
const COMPACTION_PATH: [&str; 3] = ["agents", "defaults", "compaction"];

/// Lists `reserveTokens`, `reserveTokensFloor` and `keepRecentTokens` for a window in tokens. `pi` holds the settings
/// of the runtime itself. A key that the version does not read is fixed at the value that the version uses.
pub fn compaction_settings(
    config: &GatewayConfig,
    ruleset: Ruleset,
    pi: CompactionSettings,
    window: Tokens,
) -> Vec<SettingRow> {
    let rules = ruleset.rules();
    let in_force = gateway_compaction_under(rules, &config.js_root, pi, window);
    let empty = js::Value::Object(js::Object::default());
    let defaults = gateway_compaction_under(rules, &empty, pi, window);
    let floor = config.value(&path_of("reserveTokensFloor")).and_then(js::Value::as_f64);
    let floor = floor.filter(|floor| rules.reserve.reads("reserveTokensFloor") && *floor >= 0.0);
    let row = |id: SettingId, value: f64, default: f64| {
        let setting = id.spec();
        let key = setting.name();
        let own = config.value(&path_of(key)).cloned();
        let read = rules.reserve.reads(key);
        let control = if read {
            setting.control
        } else {
            Control::Fixed { unit: setting.control.unit(), why: unread_reason(ruleset, id) }
        };
        let provenance = match control.fixed_reason() {
            Some(why) => Provenance::Fixed(why),
            None => config.provenance(&path_of(key)),
        };
        SettingRow { id, control, default: default.into(), config: own, value: value.into(), provenance }
    };
    let rows = [
        row(SettingId::ReserveTokens, in_force.reserve_tokens.get(), defaults.reserve_tokens.get()),
        row(SettingId::ReserveTokensFloor, floor.map_or(RESERVE_FLOOR, f64::floor), RESERVE_FLOOR),
        row(
            SettingId::KeepRecentTokens,
            in_force.keep_recent_tokens.get(),
            defaults.keep_recent_tokens.get(),
        ),
    ];
    // pi without a gateway has no floor.
    let knows =
        |row: &SettingRow| rules.reserve != Reserve::Runtime || row.id != SettingId::ReserveTokensFloor;
    rows.into_iter().filter(knows).collect()
}

fn path_of(key: &str) -> [&str; 4] {
    let [agents, defaults, compaction] = COMPACTION_PATH;
    [agents, defaults, compaction, key]
}

/// Returns the reason for which a version does not read a key.
fn unread_reason(ruleset: Ruleset, id: SettingId) -> &'static str {
    match ruleset.rules().reserve {
        Reserve::Quarter | Reserve::CappedAlone => "built in since 2026.8.1",
        Reserve::Floor if id == SettingId::KeepRecentTokens => "a key since 2026.2.21; the runtime's own",
        Reserve::Floor => "a key since 2026.2.21",
        Reserve::Runtime | Reserve::Configured | Reserve::CappedFloor | Reserve::Capped => {
            "the runtime's own"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::env::Environment;
    use std::io::Write as _;

    fn rows(ruleset: Ruleset) -> Vec<(f64, Option<&'static str>, bool)> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("openclaw.json");
        let text = "{ agents: { defaults: { compaction: { reserveTokens: 50000, reserveTokensFloor: 30000, keepRecentTokens: 7000 } } } }";
        std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
        let config = GatewayConfig::load(Some(&path), &Environment::default(), dir.path());
        let rows = compaction_settings(&config, ruleset, CompactionSettings::default(), Tokens(200_000.0));
        let reported = |row: &SettingRow| {
            let from_file = matches!(row.provenance, Provenance::File { .. });
            (row.value.as_f64().unwrap(), row.control.fixed_reason(), from_file)
        };
        rows.iter().map(reported).collect()
    }

    #[test]
    fn the_reference_reads_all_three() {
        assert_eq!(
            rows(Ruleset::V2026_3_2),
            [(50_000.0, None, true), (30_000.0, None, true), (7000.0, None, true)]
        );
    }

    #[test]
    fn the_newest_reads_only_the_kept_tokens() {
        let built_in = Some("built in since 2026.8.1");
        let expected = [(20_000.0, built_in, false), (20_000.0, built_in, false), (7000.0, None, true)];
        assert_eq!(rows(Ruleset::V2026_9_6), expected);
    }

    #[test]
    fn the_version_before_reads_only_the_floor() {
        let rows = rows(Ruleset::V2026_2_17);
        assert_eq!((rows[0].0, rows[0].1.is_some()), (30_000.0, true));
        assert_eq!(rows[1], (30_000.0, None, true));
        assert_eq!((rows[2].0, rows[2].1.is_some()), (20_000.0, true));
    }

    #[test]
    fn pi_has_no_reserve_floor() {
        assert_eq!(rows(Ruleset::Pi0_55).iter().map(|row| row.0).collect::<Vec<_>>(), [16_384.0, 20_000.0]);
    }
}
