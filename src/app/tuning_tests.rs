use super::*;
use crate::gateway::compaction::CompactionSettings;
use crate::gateway::config::GatewayConfig;
use crate::gateway::ruleset::Ruleset;
use crate::inspect::testing::{inspection, transcript, user};
use crate::policy::clear_tool_uses::ClearSettings;
use crate::policy::settings::{RowSource, rows};

/// A session of one turn, configured as nothing says otherwise.
fn session() -> Inspection {
    let config = GatewayConfig::empty();
    let source = RowSource {
        config: &config,
        ruleset: Ruleset::default(),
        session_key: "agent:main:telegram:direct:8812",
        runtime: CompactionSettings::default(),
        window: 200_000.0,
        clear: &ClearSettings::default(),
    };
    Inspection { settings: rows(&source), ..inspection(&transcript(&[user("hi")]), 200_000.0) }
}

fn pane() -> TuningPane {
    let mut pane = TuningPane::default();
    pane.configure(&session());
    pane
}

fn focus(pane: &mut TuningPane, key: &str) {
    let at = pane.rows.iter().position(|row| row.key() == key).expect("a known key");
    pane.focus_step(pane.rows[at].step);
    pane.cursor = at;
}

#[test]
fn untouched_values_are_the_gateways_defaults() {
    assert_eq!(pane().settings().soft_trim, PruneSettings::default().soft_trim);
    assert_eq!(pane().settings().ttl_ms, 300_000.0);
    assert!(!pane().any_changed());
}

#[test]
fn a_step_moves_a_ratio_by_a_hundredth_without_drift() {
    let mut pane = pane();
    focus(&mut pane, "contextPruning.hardClearRatio");
    for _ in 0..15 {
        pane.adjust(-1.0);
    }
    assert_eq!(pane.settings().hard_clear_ratio, 0.35);
    pane.to_config();
    assert!(!pane.any_changed());
}

#[test]
fn typed_values_are_checked_and_say_what_was_expected() {
    let mut pane = pane();
    focus(&mut pane, "contextPruning.ttl");
    assert_eq!(pane.set_text("1h30m"), Ok(()));
    assert_eq!(pane.settings().ttl_ms, 5_400_000.0);
    assert_eq!(pane.edit_text(), "90m");
    assert!(pane.set_text("soon").is_err());
    focus(&mut pane, "contextPruning.tools.deny");
    assert_eq!(pane.set_text("browser, *image*"), Ok(()));
    assert!(!pane.settings().tool_filter().prunable(Some(&Value::from("browser"))));
}

#[test]
fn every_step_shows_its_own_rows_and_keeps_its_cursor() {
    let mut pane = pane();
    for step in Step::ALL {
        pane.focus_step(step);
        assert!(pane.range().all(|at| pane.rows[at].step == step), "{step:?}");
        assert_eq!(pane.focused().is_none(), pane.range().is_empty(), "{step:?}");
    }
    focus(&mut pane, "contextPruning.softTrimRatio");
    pane.focus_step(Step::Guard);
    pane.focus_step(Step::Prune);
    assert_eq!(pane.current().map(|row| row.key), Some("softTrimRatio"));
}

#[test]
fn a_step_without_settings_has_nothing_to_move() {
    let mut pane = pane();
    pane.focus_step(Step::Repair);
    let before = pane.values.clone();
    pane.adjust(10.0);
    pane.to_default();
    pane.move_by(3, 5);
    assert_eq!(pane.set_text("7"), Ok(()));
    assert_eq!((pane.values.clone(), pane.edit_text().as_str()), (before, ""));
    assert_eq!(pane.row_at(0), None);
}

#[test]
fn while_nothing_is_shown_the_first_step_switched_on_stands_alone() {
    let mut pane = pane();
    pane.toggle(Step::Guard);
    assert!(pane.preview && pane.steps == StepSet::of(&[Step::Guard]));
    pane.toggle(Step::History);
    assert_eq!(pane.steps, StepSet::of(&[Step::History, Step::Guard]));
    pane.toggle(Step::History);
    pane.toggle(Step::Guard);
    assert!(!pane.preview && pane.steps.is_empty());
    pane.toggle_preview();
    assert_eq!(pane.steps, StepSet::of(&[Step::Prune]), "a preview of nothing would say nothing");
}

#[test]
fn a_configured_limit_takes_part_and_a_persons_choice_of_steps_stays() {
    let mut limited = session();
    limited.configured.history_limit = 20.0;
    let mut pane = pane();
    pane.configure(&limited);
    assert_eq!(pane.steps, StepSet::of(&[Step::History, Step::Prune]));
    pane.toggle(Step::Clear);
    pane.configure(&session());
    assert_eq!(pane.steps, StepSet::of(&[Step::Clear]));
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
    let limit = other.settings.iter_mut().find(|row| row.step == Step::History).expect("a row");
    limit.reader = crate::policy::settings::Reader::Gateway("channels.slack.historyLimit".into());
    pane.configure(&other);
    assert!(pane.settings().soft_trim_ratio > 0.3 && pane.changed(Step::History) == 0);
}
