use super::*;
use crate::gateway::compaction::CompactionSettings;
use crate::gateway::config::GatewayConfig;
use crate::gateway::ruleset::Ruleset;
use crate::policy::clear_tool_uses::ClearSettings;
use crate::policy::settings::{SettingRow, SettingSources, policy_settings};
use crate::session::testing::{loaded_session, transcript, user};

/// A session of one turn under the default config.
fn session() -> LoadedSession {
    let config = GatewayConfig::empty();
    let source = SettingSources {
        config: &config,
        ruleset: Ruleset::default(),
        session_key: "agent:main:telegram:direct:8812",
        runtime: CompactionSettings::default(),
        window: 200_000.0,
        clear: &ClearSettings::default(),
    };
    LoadedSession {
        setting_rows: policy_settings(&source),
        ..loaded_session(&transcript(&[user("hi")]), 200_000.0)
    }
}

fn pane() -> TuningPane {
    let mut pane = TuningPane::default();
    pane.configure(&session());
    pane
}

fn focus(pane: &mut TuningPane, key: &str) {
    let at = pane.rows.iter().position(|row| row.key() == key).expect("a known key");
    pane.focus_policy(pane.rows[at].policy);
    pane.cursor = at;
}

#[test]
fn untouched_values_are_the_gateways_defaults() {
    assert_eq!(pane().prune_settings().soft_trim, PruneSettings::default().soft_trim);
    assert_eq!(pane().prune_settings().ttl_ms, 300_000.0);
    assert!(!pane().has_changes());
}

#[test]
fn a_step_moves_a_ratio_by_a_hundredth_without_drift() {
    let mut pane = pane();
    focus(&mut pane, "contextPruning.hardClearRatio");
    for _ in 0..15 {
        pane.adjust(-1.0);
    }
    assert_eq!(pane.prune_settings().hard_clear_ratio, 0.35);
    pane.reset_to_config();
    assert!(!pane.has_changes());
}

#[test]
fn typed_values_are_checked_and_say_what_was_expected() {
    let mut pane = pane();
    focus(&mut pane, "contextPruning.ttl");
    assert_eq!(pane.set_text("1h30m", 200_000.0), Ok(()));
    assert_eq!(pane.prune_settings().ttl_ms, 5_400_000.0);
    assert_eq!(pane.edit_text(), "90m");
    assert!(pane.set_text("soon", 200_000.0).is_err());
    focus(&mut pane, "contextPruning.tools.deny");
    assert_eq!(pane.set_text("browser, *image*", 200_000.0), Ok(()));
    assert!(!pane.prune_settings().tool_filter().is_prunable(Some(&Value::from("browser"))));
}

#[test]
fn every_step_shows_its_own_rows_and_keeps_its_cursor() {
    let mut pane = pane();
    let mut seen = 0;
    for step in Policy::ALL {
        pane.focus_policy(step);
        seen += pane.policy_rows().count();
        assert!(pane.policy_rows().all(|at| pane.rows[at].policy == step), "{step:?}");
        assert_eq!(pane.focused_row().is_none(), pane.policy_rows().is_empty(), "{step:?}");
    }
    assert_eq!(seen, pane.rows.len());
    focus(&mut pane, "contextPruning.softTrimRatio");
    pane.focus_policy(Policy::Guard);
    pane.focus_policy(Policy::Prune);
    assert_eq!(pane.focused_setting().map(SettingRow::name), Some("softTrimRatio"));
}

#[test]
fn a_step_without_settings_has_nothing_to_move() {
    let mut pane = pane();
    pane.focus_policy(Policy::Repair);
    let before = pane.values.clone();
    pane.adjust(10.0);
    pane.reset_to_default();
    pane.move_by(3, 5);
    assert_eq!(pane.set_text("7", 200_000.0), Ok(()));
    assert_eq!((pane.values.clone(), pane.edit_text().as_str()), (before, ""));
    assert_eq!(pane.row_at(0), None);
}

#[test]
fn the_cursor_stays_among_the_rows_of_its_policy() {
    let mut pane = pane();
    pane.focus_policy(Policy::Prune);
    let rows = pane.policy_rows();
    pane.move_by(1_000, 5);
    assert_eq!(pane.cursor, rows.end - 1);
    pane.move_by(-1, 5);
    assert_eq!(pane.cursor, rows.end - 2);
    pane.move_by(-1_000, 5);
    assert_eq!(pane.cursor, rows.start);
    assert_eq!(pane.line_count(), rows.len() + 1, "the profile has a line");
    pane.focus_policy(Policy::Repair);
    assert_eq!((pane.policy_rows().len(), pane.line_count()), (0, 0));
}

#[test]
fn while_nothing_is_shown_the_first_step_switched_on_is_alone() {
    let mut pane = pane();
    pane.toggle_policy(Policy::Guard);
    assert!(pane.preview && pane.policies == PolicySet::of(&[Policy::Guard]));
    pane.toggle_policy(Policy::History);
    assert_eq!(pane.policies, PolicySet::of(&[Policy::History, Policy::Guard]));
    pane.toggle_policy(Policy::History);
    pane.toggle_policy(Policy::Guard);
    assert!(!pane.preview && pane.policies.is_empty());
    pane.toggle_preview();
    assert_eq!(pane.policies, PolicySet::of(&[Policy::Prune]), "a preview of nothing would say nothing");
}

#[test]
fn a_configured_limit_takes_part_and_a_persons_choice_of_steps_stays() {
    let mut limited = session();
    limited.configured_settings.history_limit = 20.0;
    let mut pane = pane();
    pane.configure(&limited);
    assert_eq!(pane.policies, PolicySet::of(&[Policy::History, Policy::Prune]));
    pane.toggle_policy(Policy::Clear);
    pane.configure(&session());
    assert_eq!(pane.policies, PolicySet::of(&[Policy::Clear]));
}

#[test]
fn what_was_tuned_stays_where_the_same_place_says_the_same() {
    let mut pane = pane();
    focus(&mut pane, "contextPruning.softTrimRatio");
    pane.adjust(5.0);
    focus(&mut pane, "historyLimit");
    pane.adjust(7.0);
    let tuned = pane.values.clone();
    pane.configure(&session());
    assert_eq!(pane.values, tuned);
    let mut other = session();
    let limit = other.setting_rows.iter_mut().find(|row| row.policy == Policy::History).expect("a row");
    limit.owner = crate::policy::settings::SettingOwner::Gateway("channels.slack.historyLimit".into());
    pane.configure(&other);
    assert!(pane.prune_settings().soft_trim_ratio > 0.3 && pane.count_changed(Policy::History) == 0);
}
