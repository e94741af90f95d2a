//! The comparison of settings.

use clawscope::app::effect::Effect;
use clawscope::app::event::Event;
use clawscope::app::layout::Pane;
use clawscope::app::screens::compare::SweepUpdate;
use clawscope::app::state::Overlay;
use clawscope::units::Tokens;

use crate::frames::{dark, drawn, text_of};
use crate::support::driver::Driver;

/// The session that overflowed once, its settings side by side.
fn compared() -> Driver {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("w v a ctrl-u text:contextPruning.ttl=30m,45m,1h,2h space");
    driver.press("text:contextPruning.keepLastAssistants=1,3,5 enter");
    driver
}

#[test]
fn a_cell_of_the_comparison_is_taken_into_tuning_and_copied_as_a_patch() {
    let mut driver = compared();
    let sweep = driver.app.compare_screen.sweep_state.sweep.clone().expect("every cell is known");
    assert_eq!(sweep.cells.len(), 12);
    // The cursor begins at the smallest change.
    assert_eq!(
        (driver.app.compare_screen.selected(), sweep.smallest_fitting),
        (sweep.smallest_fitting, Some(4))
    );
    driver.press("k h");
    let cell = driver.app.compare_screen.selected().expect("a cell");
    let words: Vec<&str> = sweep
        .axes
        .iter()
        .zip(&sweep.cells[cell].points)
        .map(|(axis, at)| axis.points[*at].text.as_str())
        .collect();
    assert_eq!(words, ["30m", "1"]);
    driver.press("y");
    let patch = driver.copied.last().expect("a patch");
    assert!(patch.contains("\"ttl\": \"30m\"") && patch.contains("\"keepLastAssistants\": 1"), "{patch}");
    driver.press(":save-plan");
    let (name, text) = driver.saved.last().expect("a file");
    let json: serde_json::Value = serde_json::from_str(text).expect("JSON");
    assert_eq!((name.as_str(), json["cells"].as_array().map(Vec::len)), ("clawscope-sweep.json", Some(12)));
    driver.press("enter");
    assert!(driver.app.overlay().is_none() && driver.app.tuning.preview && driver.app.preview.plan.is_some());
    assert_eq!(driver.app.focus, Pane::Tuning);
    assert_eq!(
        driver.app.target,
        clawscope::app::target::Target::FailedCall,
        "the call that the cell is about"
    );
    let tuning = &driver.app.tuning;
    let value = |key: &str| {
        let at = tuning.rows.iter().position(|row| row.key() == key).expect("a row");
        (tuning.values[at].as_f64(), tuning.is_changed(at))
    };
    assert_eq!(value("contextPruning.ttl"), (Some(1_800_000.0), true));
    assert_eq!(value("contextPruning.keepLastAssistants"), (Some(1.0), true));
    assert!(!value("contextPruning.softTrimRatio").1);
    // The timeline replays the taken cell: the call that overflowed fits.
    driver.press("esc t");
    let timeline = driver.app.timeline().expect("a replay");
    assert_eq!(timeline.totals.map(|totals| totals.overflows), [1, 0]);
    assert_eq!(timeline.totals[1], sweep.cells[cell].totals);
    // The map and its cursor are unchanged.
    driver.press("esc w");
    assert_eq!(
        driver.app.compare_screen.sweep_state.sweep.as_ref().map(|again| &again.cells),
        Some(&sweep.cells)
    );
    assert_eq!(driver.app.compare_screen.selected(), Some(cell));
}

#[test]
fn keys_change_the_axes_and_tuned_settings_hold_in_every_cell() {
    let mut driver = compared();
    let keys = |driver: &Driver| -> Vec<String> {
        driver.app.compare_screen.sweep_state.axes.iter().map(|axis| axis.key().to_owned()).collect()
    };
    driver.press("v x");
    assert_eq!(keys(&driver), ["contextPruning.keepLastAssistants", "contextPruning.ttl"]);
    driver.press("] o o");
    assert_eq!(keys(&driver)[0], "contextPruning.keepLastAssistants");
    assert_ne!(keys(&driver)[1], "contextPruning.ttl");
    assert_eq!(driver.app.compare_screen.metric, clawscope::app::screens::compare::MapMetric::Overflows);
    // Errors are reported where the text is typed.
    driver.press("v a ctrl-u text:contextPruning.ttl=soon enter");
    assert!(driver.app.input.as_ref().and_then(|prompt| prompt.error.as_ref()).is_some());
    driver.press("ctrl-u text:contextPruning.keepLastAssistants=1,3 enter");
    assert_eq!(keys(&driver), ["contextPruning.keepLastAssistants"]);
    let before = driver.app.compare_screen.sweep_state.sweep.clone().expect("known");
    assert!(before.base.is_empty() && before.smallest_fitting.is_none());
    driver.press("esc 4");
    let ttl = driver.app.tuning.rows.iter().position(|row| row.key() == "contextPruning.ttl").expect("a row");
    driver.app.tuning.values[ttl] = 1_800_000.0.into();
    driver.app.tuning.preview = true;
    driver.press("w");
    let held = driver.app.compare_screen.sweep_state.sweep.clone().expect("known");
    assert_eq!(
        held.base.iter().map(clawscope::session::setting_change::SettingChange::key).collect::<Vec<_>>(),
        ["contextPruning.ttl"]
    );
    assert_eq!(held.smallest_fitting, Some(held.current), "with the shorter ttl every call fits");
    // The trade-offs lead to their cells.
    driver.press("tab G");
    assert_eq!(driver.app.compare_screen.selected(), held.trade_offs().last().copied());
}

#[test]
fn leaving_the_comparison_stops_the_sweep_and_drops_late_cells() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.pause_sweeps();
    driver.press("w");
    let request = driver.last_sweep();
    let effects = driver.key_effects("esc");
    assert!(effects.iter().any(|effect| matches!(effect, Effect::StopSweep)), "{effects:?}");
    driver.event(Event::Sweep { request_id: request, update: SweepUpdate::Failed("late".into()) });
    assert_eq!(driver.app.compare_screen.sweep_state.error, None);
    driver.press("w");
    assert!(driver.last_sweep() > request);
    driver.event(Event::Sweep { request_id: driver.last_sweep(), update: SweepUpdate::Failed("why".into()) });
    assert_eq!(driver.app.compare_screen.sweep_state.error.as_deref(), Some("why"));
}

#[test]
fn a_cell_with_settings_outside_the_tuning_pane_can_only_be_copied() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("w v a ctrl-u text:contextTokens=120000,160000 enter g enter");
    assert!(matches!(driver.app.overlay(), Some(Overlay::Compare)), "it is not taken in part");
    let toast = driver.app.toast.as_ref().expect("a toast").text.clone();
    assert!(toast.starts_with("contextTokens: not in the tuning pane; press y to copy"), "{toast}");
    driver.press("y");
    assert!(driver.copied.last().is_some_and(|patch| patch.contains("\"contextTokens\": 120000")));
}

#[test]
fn the_frame_of_a_cell_hides_no_digit_of_its_number() {
    let mut driver = Driver::demo(80, 24);
    driver.go_to("telegram:direct:8812");
    driver.press("w v h text:40k enter j");
    let screen = text_of(&drawn(&driver.app, &dark()));
    assert!(screen.contains("[⚠~181k]") || screen.contains("[⚠ ~181k]"), "{screen}");
}

#[test]
fn headroom_makes_the_smallest_change_larger() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("w");
    let smallest = |driver: &Driver| {
        let sweep = driver.app.compare_screen.sweep_state.sweep.clone().expect("known");
        sweep.smallest_fitting.map(|cell| sweep.cells[cell].peak())
    };
    let peak = smallest(&driver).expect("one helps");
    assert!(peak > Tokens(170_000.0));
    driver.press("v h text:40k enter");
    let spared = smallest(&driver).expect("another helps");
    assert!(spared <= Tokens(160_000.0), "{spared:?}");
    driver.press("v h ctrl-u text:99% enter");
    assert_eq!(smallest(&driver), None, "nothing leaves so much free");
    driver.press("v h ctrl-u text:200% enter");
    let complaint = driver.app.input.as_ref().and_then(|prompt| prompt.error.clone());
    assert_eq!(complaint.as_deref(), Some("expected less than the window of 200,000"));
    driver.press("esc v h ctrl-u enter");
    assert_eq!(smallest(&driver), Some(peak));
}

#[test]
fn the_saved_map_equals_the_output_of_sweep() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("w :save-plan");
    let (name, text) = driver.saved.last().expect("saved");
    assert_eq!(name, "clawscope-sweep.json");
    let session = driver.app.displayed_session().expect("a session");
    let sweep = driver.app.compare_screen.sweep_state.sweep.clone().expect("known");
    let answer =
        clawscope::export::json::to_line(&clawscope::report::sweep::json::sweep_json(session, &sweep));
    assert_eq!(text.trim_end(), answer.expect("JSON"));
    for member in ["schemaVersion", "\"path\"", "\"ruleset\"", "\"headroom\"", "\"smallestChange\""] {
        assert!(text.contains(member), "{member}");
    }
}
