//! The tuning pane, its preview and exports from it.

use std::sync::Arc;

use clawscope::app::effect::Effect;
use clawscope::app::target::Target;
use clawscope::policy::settings::SettingId;
use clawscope::policy::{Fate, Policy};
use clawscope::units::Millis;

use super::tuned;
use crate::frames::{dark, drawn, text_of};
use crate::support::driver::Driver;

#[test]
fn a_session_is_exported_from_the_screen_with_the_plan_that_is_shown() {
    let mut driver = tuned();
    driver.press("4 j j j H H H :export-html");
    let (name, page) = driver.saved.last().cloned().expect("a page");
    assert_eq!(name, "agent-main-telegram-direct-8812.html");
    assert!(page.starts_with("<!doctype html>") && page.contains("id=\"plan\""));
    driver.press("plan : text:export-json enter");
    let (name, text) = driver.saved.last().cloned().expect("JSON");
    assert!(name == "agent-main-telegram-direct-8812.json" && text.contains("\"plan\":null"), "{name}");
    driver.press(": text:export-pi enter");
    let (name, text) = driver.saved.last().cloned().expect("a transcript");
    assert!(
        name == "agent-main-telegram-direct-8812.jsonl"
            && text.starts_with("{\"type\":\"session\",\"version\":3"),
        "{name}"
    );
    let loaded = driver.app.displayed_session().cloned();
    match driver.key_effects(":save-screen").as_slice() {
        [Effect::SaveScreen { session: Some(shown) }] => {
            assert!(Arc::ptr_eq(shown, &loaded.expect("one")));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn choosing_another_version_fixes_settings_and_plans_again() {
    use clawscope::gateway::ruleset::Ruleset;
    let mut driver = tuned();
    let ruleset = |driver: &Driver| {
        let open = driver.app.displayed_session().expect("a session").ruleset.clone();
        let listed = driver.app.store.listing.as_ref().expect("a list").ruleset.clone();
        assert_eq!(open, listed);
        open
    };
    assert_eq!(ruleset(&driver).id, Ruleset::V2026_3_2);
    driver.press("4 j j");
    assert_eq!(
        driver.app.tuning.focused_setting().map(clawscope::policy::settings::SettingRow::name),
        Some("softTrimRatio")
    );
    driver.press("l l");
    assert!(driver.app.tuning.has_changes());
    driver.press(": text:release space text:2026.9.6 enter");
    assert_eq!(
        (ruleset(&driver).id, ruleset(&driver).provenance_text().as_str()),
        (Ruleset::V2026_9_6, "chosen on the screen")
    );
    assert!(!driver.app.tuning.has_changes());
    driver.press("l L enter 0");
    assert!(!driver.app.tuning.has_changes() && driver.app.input.is_none());
    let words = driver.app.toast.as_ref().map(|toast| toast.text.clone());
    assert_eq!(words.as_deref(), Some("softTrimRatio is built in since 2026.8.1"));
    driver.press("k k l");
    assert!(driver.app.tuning.has_changes(), "the ttl is a setting still");
    let settings = driver.app.preview.plan.as_ref().expect("a plan").settings.prune.clone();
    assert_eq!(settings.soft_trim_ratio, 0.3);
    driver.press(": text:release space text:nonsense enter esc");
    assert_eq!(ruleset(&driver).id, Ruleset::V2026_9_6, "no such release");
    driver.press(": text:release space text:2026.2.17 enter");
    assert_eq!(ruleset(&driver).id, Ruleset::V2026_2_17);
    driver.press("4 i");
    assert!(
        driver.app.preview.plan.as_ref().is_some_and(|plan| plan.is_empty()),
        "that version never prunes"
    );
}

#[test]
fn the_preview_gives_every_message_a_fate_and_the_total_falls() {
    let driver = tuned();
    let plan = driver.app.preview.plan.as_ref().expect("a plan");
    assert_eq!(plan.fates().len(), driver.app.displayed_session().expect("a session").context.messages.len());
    assert!(plan.count(Fate::SoftTrimmed) + plan.count(Fate::Cleared) > 5);
    assert!(plan.total_after() < plan.total_before() / 2);
}

#[test]
fn a_closed_gate_prevents_pruning_until_a_person_ignores_it() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("llvm-notes");
    driver.press("p");
    let plan = driver.app.preview.plan.clone().expect("a plan");
    assert!(!plan.gate.is_open(), "{:?}", plan.gate);
    assert!(plan.is_empty());
    driver.press("4 i");
    assert!(driver.app.preview.plan.as_ref().expect("a plan").gate.is_open());
}

#[test]
fn every_key_that_turns_the_preview_on_starts_it_on_the_failed_call() {
    for (keys, back) in [("p", "p"), ("4 -", "p"), ("4 x", "x"), ("4 enter ctrl-u text:45m enter", "p")] {
        let mut driver = Driver::demo(130, 36);
        driver.go_to("telegram:direct:8812");
        driver.press(keys);
        assert_eq!((driver.app.tuning.preview, driver.app.target), (true, Target::FailedCall), "{keys}");
        driver.press("a");
        assert_eq!(driver.app.target, Target::NextCall, "{keys}");
        let screen = text_of(&drawn(&driver.app, &dark()));
        assert!(screen.contains("Won't prune yet: ttl not over (4m of "), "{keys}\n{screen}");
        driver.press(back);
        assert!(!driver.app.tuning.preview, "{keys}");
    }
}

#[test]
fn the_rows_beside_the_bars_of_the_session_are_named_as_those_of_the_next_call() {
    let mut driver = Driver::demo(120, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("p a");
    assert!(text_of(&drawn(&driver.app, &dark())).contains("Transcript"));
    driver.press("a");
    let screen = text_of(&drawn(&driver.app, &dark()));
    assert!(screen.contains("Next call") && !screen.contains("Transcript"), "{screen}");
    assert!(screen.contains("w replays the session under other values"), "{screen}");
}

#[test]
fn the_narrowest_screens_say_why_the_next_call_is_not_pruned() {
    for (width, height) in [(60, 20), (80, 24)] {
        let mut driver = Driver::demo(width, height);
        driver.go_to("telegram:direct:8812");
        driver.press("4 - a");
        let screen = text_of(&drawn(&driver.app, &dark()));
        assert!(screen.contains("Won't prune yet: ttl not over (4m of 45m)"), "{screen}");
        assert!(screen.contains("next call"), "{screen}");
    }
}

#[test]
fn moving_a_threshold_changes_the_rows_at_once_and_zero_takes_it_back() {
    let mut driver = tuned();
    driver.press("4");
    let at = driver
        .app
        .tuning
        .rows
        .iter()
        .position(|row| row.setting.name() == "hardClearRatio")
        .expect("the row");
    driver.press(&"j ".repeat(at - driver.app.tuning.policy_rows().start));
    let before = driver.app.preview.plan.as_ref().expect("a plan").total_after();
    driver.press("H H H");
    let after = driver.app.preview.plan.as_ref().expect("a plan").total_after();
    assert!(after < before, "{after} < {before}");
    let pane = driver.app.transcript.as_ref().expect("a transcript");
    let plan = driver.app.preview.plan.as_ref().expect("a plan");
    assert_eq!(pane.running_totals.last().copied(), Some(pane.session.prompt_tokens_after(plan)));
    assert!(driver.app.flash.total);
    assert!(driver.app.tuning.has_changes());
    driver.press("backspace");
    assert_eq!(driver.app.preview.plan.as_ref().expect("a plan").total_after(), before);
    assert!(!driver.app.tuning.has_changes());
}

#[test]
fn pruning_leaves_the_parts_before_the_messages_as_they_are() {
    let mut driver = tuned();
    driver.press("4 h h j l l");
    let totals = driver.app.preview.totals;
    let after = totals.after.expect("a plan");
    assert!(after.message_tokens() < totals.current.message_tokens(), "{totals:?}");
    assert_eq!(after.fixed_tokens(), totals.current.fixed_tokens());
}

#[test]
fn a_value_can_be_typed_and_a_wrong_one_shows_an_error() {
    let mut driver = tuned();
    driver.press("4 enter");
    assert!(driver.app.input.is_some());
    driver.press("ctrl-u text:soon enter");
    assert!(driver.app.input.as_ref().is_some_and(|prompt| prompt.error.is_some()));
    driver.press("ctrl-u text:2h enter");
    assert!(driver.app.input.is_none());
    assert_eq!(driver.app.tuning.prune_settings().ttl_ms, Millis(7_200_000.0));
}

#[test]
fn the_copied_patch_names_the_moved_setting() {
    let mut driver = tuned();
    driver.press("4 j j j h y p");
    let patch = driver.copied.last().expect("copied");
    assert!(patch.contains("hardClearRatio"), "{patch}");
    assert!(patch.contains("contextPruning"), "{patch}");
}

#[test]
fn a_curve_belongs_to_the_slider_that_it_was_computed_for() {
    let mut driver = tuned();
    driver.press("4");
    let of_ttl = driver.app.tuning.profile().to_vec();
    assert!(!of_ttl.is_empty() && driver.app.tuning.preview);
    // Without the preview nothing is computed, so the other policy's slider has no curve.
    driver.press("4 plan .");
    assert!(!driver.app.tuning.preview && driver.app.tuning.profile().is_empty());
    driver.press(",");
    assert_eq!(driver.app.tuning.profile(), of_ttl, "back on its own slider");
}

fn toast(driver: &Driver) -> String {
    driver.app.toast.as_ref().map(|toast| toast.text.clone()).unwrap_or_default()
}

fn tuned_values(driver: &Driver) -> Vec<clawscope::js::Value> {
    driver.app.tuning.values.clone()
}

#[test]
fn changes_of_settings_are_undone_one_by_one_and_redone() {
    let mut driver = tuned();
    driver.press("4 j j");
    let start = tuned_values(&driver);
    driver.press("l l l");
    let ratio = tuned_values(&driver);
    driver.press("j l l . x :all-to-config");
    driver.press("alt-z");
    assert_eq!(toast(&driver), "Undid: softTrimRatio is 0.33, hardClearRatio is 0.52 again");
    driver.press("alt-z");
    assert_eq!(toast(&driver), "Undid: guard is off again");
    driver.press("alt-z");
    assert_eq!(toast(&driver), "Undid: hardClearRatio is 0.5 again");
    assert_eq!(tuned_values(&driver), ratio);
    driver.press("alt-z");
    assert_eq!(toast(&driver), "Undid: softTrimRatio is 0.3 again");
    assert_eq!(tuned_values(&driver), start);
    driver.press("alt-z");
    assert_eq!(toast(&driver), "no changed setting to undo");
    driver.press("alt-Z");
    assert_eq!((toast(&driver).as_str(), tuned_values(&driver)), ("Redid: softTrimRatio is 0.33", ratio));
    driver.press("j l alt-Z");
    assert_eq!(toast(&driver), "nothing to redo");
}

#[test]
fn undo_and_redo_restore_the_version_with_its_values() {
    let mut driver = tuned();
    let ruleset = |driver: &Driver| driver.app.displayed_session().expect("a session").ruleset.id;
    let before = ruleset(&driver);
    driver.press("4 j j l : text:release space text:2026.5.2 enter");
    let (after, values) = (ruleset(&driver), tuned_values(&driver));
    assert_ne!(after, before);
    driver.press("alt-z");
    assert!(toast(&driver).starts_with("Undid: the rules are openclaw 2026.3.2 again"), "{}", toast(&driver));
    assert_eq!(ruleset(&driver), before);
    driver.press("alt-Z");
    assert_eq!((ruleset(&driver), tuned_values(&driver)), (after, values));
}

#[test]
fn each_session_has_a_separate_undo_history() {
    let mut driver = tuned();
    driver.press("4 j j l");
    driver.go_to("research:main");
    driver.press("alt-z");
    assert_eq!(toast(&driver), "no changed setting to undo");
    driver.go_to("telegram:direct:8812");
    driver.press("alt-z");
    assert!(toast(&driver).starts_with("Undid: softTrimRatio"));
}

#[test]
fn a_setting_of_0_shows_what_0_means() {
    for (width, height) in [(80, 24), (120, 40), (160, 45)] {
        let mut driver = Driver::demo(width, height);
        driver.go_to("telegram:direct:8812");
        driver.press("plan 4");
        for (policy, id, word) in [
            (Policy::History, SettingId::HistoryLimit, "no limit"),
            (Policy::Prune, SettingId::PruneTtl, "never"),
        ] {
            while driver.app.tuning.policy != policy {
                driver.press(",");
            }
            driver.press("g");
            while driver.app.tuning.focused_setting().map(|row| row.id) != Some(id) {
                driver.press("j");
            }
            driver.press("enter ctrl-u text:0 enter");
            let (screen, name) = (text_of(&drawn(&driver.app, &dark())), id.spec().name());
            let row = screen.lines().find(|row| row.contains(&format!("{name} ")) && row.contains(word));
            let row = row.unwrap_or_else(|| panic!("no {word} for {name} in\n{screen}"));
            assert!(!row.contains(" 0 "), "{row}");
        }
    }
}
