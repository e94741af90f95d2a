use super::*;
use crate::gateway::compaction::CompactionSettings;
use crate::gateway::config::GatewayConfig;
use crate::gateway::ruleset::Ruleset;
use crate::policy::clear_tool_uses::ClearSettings;
use crate::policy::settings::{SettingRow, SettingSources, policy_settings};
use crate::session::testing::{loaded_session, transcript, user};
use crate::units::Millis;

/// A session of one turn under the default config.
fn session() -> LoadedSession {
    let config = GatewayConfig::empty();
    let source = SettingSources {
        config: &config,
        ruleset: Ruleset::default(),
        session_key: "agent:main:telegram:direct:8812",
        runtime: CompactionSettings::default(),
        window: Tokens(200_000.0),
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
    assert_eq!(pane().prune_settings().ttl_ms, Millis(300_000.0));
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
fn typed_values_are_checked_and_errors_name_the_expected_form() {
    let mut pane = pane();
    focus(&mut pane, "contextPruning.ttl");
    assert_eq!(pane.set_text("1h30m", Tokens(200_000.0)), Ok(()));
    assert_eq!(pane.prune_settings().ttl_ms, Millis(5_400_000.0));
    assert_eq!(pane.edit_text(), "1h 30m");
    assert!(pane.set_text("soon", Tokens(200_000.0)).is_err());
    focus(&mut pane, "contextPruning.tools.deny");
    assert_eq!(pane.set_text("browser, *image*", Tokens(200_000.0)), Ok(()));
    assert!(!pane.prune_settings().tool_filter().is_prunable(Some(&Value::from("browser"))));
}

#[test]
fn every_policy_shows_its_rows_and_keeps_its_cursor() {
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
fn a_policy_without_settings_ignores_editing_keys() {
    let mut pane = pane();
    pane.focus_policy(Policy::Repair);
    let before = pane.values.clone();
    pane.adjust(10.0);
    pane.reset_to_default();
    pane.move_by(3, 5);
    assert_eq!(pane.set_text("7", Tokens(200_000.0)), Ok(()));
    assert_eq!((pane.values.clone(), pane.edit_text().as_str()), (before, ""));
    assert_eq!(pane.row_at(0), None);
}

#[test]
fn the_cursor_cannot_leave_the_rows_of_its_policy() {
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
fn the_first_policy_switched_on_without_a_preview_replaces_the_selection() {
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
fn a_configured_history_limit_is_on_by_default_and_a_persons_choice_is_kept() {
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
fn tuned_values_survive_only_while_their_setting_has_the_same_owner() {
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

#[test]
fn a_line_of_the_pane_is_the_row_on_it_and_the_line_below_the_cursor_is_its_profile() {
    let mut pane = pane();
    pane.focus_policy(Policy::Prune);
    let rows = pane.policy_rows();
    pane.move_by(-1_000, 50);
    pane.move_by(2, 50);
    let on = |pane: &TuningPane, line: usize| pane.row_at(line).map(|row| row - rows.start);
    assert_eq!((0..6).map(|line| on(&pane, line)).collect::<Vec<_>>(), [0, 1, 2, 2, 3, 4].map(Some));
    assert_eq!(on(&pane, rows.len()), Some(rows.len() - 1), "the last row is a line further down");
    assert_eq!(on(&pane, rows.len() + 1), None);
    let most = Policy::ALL.into_iter().map(|policy| {
        pane.focus_policy(policy);
        pane.policy_rows().len() + 1
    });
    let most = most.max();
    assert_eq!(Some(pane.max_line_count()), most);
}

#[test]
fn a_short_pane_scrolls_to_the_cursor_and_its_profile_and_no_further() {
    let mut pane = pane();
    pane.focus_policy(Policy::Prune);
    let rows = pane.policy_rows();
    let height = 4;
    pane.move_by(-1_000, height);
    assert_eq!(pane.top, 0);
    for down in 1..rows.len() {
        pane.move_by(1, height);
        assert_eq!(pane.cursor, rows.start + down);
        // The row and the line below it are in sight, and nothing is scrolled without need.
        assert_eq!(pane.top, (down + 1).saturating_sub(height - 1), "row {down}");
    }
    assert_eq!(pane.top + height, pane.line_count());
    pane.move_by(-1, height);
    assert_eq!(pane.top + height, pane.line_count(), "up within the pane moves the cursor alone");
    pane.move_by(-1_000, height);
    assert_eq!(pane.top, 0);
    pane.move_by(1_000, 50);
    assert_eq!(pane.top, 0, "a high pane shows all");
}

#[test]
fn an_assumption_counts_as_a_change_like_a_moved_setting() {
    let mut pane = pane();
    focus(&mut pane, "contextPruning.softTrimRatio");
    assert!(!pane.has_changes() && pane.count_changed(Policy::Prune) == 0);
    pane.adjust(1.0);
    assert_eq!(
        (pane.has_changes(), pane.count_changed(Policy::Prune), pane.count_changed(Policy::Guard)),
        (true, 1, 0)
    );
    pane.adjust(-1.0);
    assert!(!pane.has_changes());
}

#[test]
fn the_profile_has_one_total_for_each_position_and_falls_as_more_is_pruned() {
    let mut pane = pane();
    let result = crate::session::testing::result("c", "exec", &"x".repeat(40_000), "");
    let entries = [
        user("go on"),
        crate::session::testing::call("c", "exec", "{}"),
        result,
        user("more"),
        crate::session::testing::message(
            r#"{"role":"assistant","content":[{"type":"text","text":"done"}],"stopReason":"stop"}"#,
        ),
        user("more"),
    ];
    let long = LoadedSession {
        setting_rows: session().setting_rows,
        ..loaded_session(&transcript(&entries), 20_000.0)
    };
    pane.toggle_preview();
    focus(&mut pane, "contextPruning.keepLastAssistants");
    pane.adjust(-10.0);
    focus(&mut pane, "contextPruning.softTrimRatio");
    let open = |_: &PruneSettings| Gate::Open { idle_ms: Millis(f64::NAN) };
    pane.compute_profile(&long, open, PolicySet::NONE);
    let profile = pane.profile().to_vec();
    assert_eq!(profile.len(), PROFILE_POSITIONS);
    assert!(profile.is_sorted() && profile[0] < profile[PROFILE_POSITIONS - 1], "{profile:?}");
    assert_eq!(
        *profile.last().unwrap(),
        long.next_budget_after(
            &long
                .plan(
                    &PolicySettings { enabled: PolicySet::NONE, ..PolicySettings::default() },
                    open(&pane.prune_settings())
                )
                .unwrap()
        )
        .total()
    );
    pane.adjust(5.0);
    pane.compute_profile(&long, open, PolicySet::NONE);
    assert_eq!(pane.profile(), profile, "a slider's own value does not move its profile");
    focus(&mut pane, "contextPruning.ttl");
    assert!(pane.profile().is_empty(), "it belongs to the other slider");
}
