//! The recovery screen.

use clawscope::app::layout::Pane;
use clawscope::app::state::Overlay;

use crate::support::driver::Driver;

/// Returns the rows of the open recovery.
fn recovery_rows(driver: &Driver) -> usize {
    match driver.app.overlay() {
        Some(Overlay::Recovery(screen)) => screen.rows().len(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn v_shows_the_recovery_and_enter_opens_the_entry_of_a_row() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("slack:channel:c07infra");
    driver.press("g v");
    assert_eq!(recovery_rows(&driver), 5);
    driver.press("enter");
    assert!(driver.app.overlay().is_none() && driver.app.focus == Pane::Transcript);
    let session = driver.app.displayed_session().expect("a session");
    let entry = driver.app.selected_entry().expect("a row");
    let message = session.index.entry(entry).message.expect("a message");
    assert_eq!(message.stop_reason, clawscope::store::entry::StopReason::Error);
}

#[test]
fn a_screens_key_opens_it_from_any_other_and_closes_it() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("slack:channel:c07infra");
    let name = |driver: &Driver| match driver.app.overlay() {
        None => "none",
        Some(Overlay::Help { .. }) => "?",
        Some(Overlay::Problems { .. }) => "!",
        Some(Overlay::Policies(_)) => "s",
        Some(Overlay::Estimators(_)) => "E",
        Some(Overlay::Breakdown(_)) => "B",
        Some(Overlay::Recovery(_)) => "v",
        Some(Overlay::Explain(_)) => "e",
        Some(Overlay::Commits(_)) => "U",
        Some(Overlay::Branches(_)) => "C",
        Some(_) => "another",
    };
    let screens = ["?", "!", "s", "E", "B", "v", "e", "U", "C"];
    for from in screens {
        for to in screens.into_iter().filter(|to| *to != from) {
            driver.press(from);
            driver.press(to);
            assert_eq!(name(&driver), to, "from {from}");
            driver.press(to);
            assert_eq!(name(&driver), from, "{to} closes its own");
            driver.press(from);
            assert_eq!(name(&driver), "none", "{from} closes its own");
        }
    }
}

#[test]
fn enter_on_an_expected_row_keeps_the_screen_open() {
    let mut driver = Driver::demo(80, 24);
    driver.go_to("slack:channel:c07infra");
    driver.press("v G enter");
    assert!(driver.app.toast.as_ref().is_some_and(|toast| toast.text.contains("no entry for this row")));
    assert_eq!(recovery_rows(&driver), 5);
    driver.press("esc");
    assert!(driver.app.overlay().is_none());
}

#[test]
fn a_recovery_follows_the_file_and_one_of_an_older_reading_is_dropped() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("slack:channel:c07infra");
    let requested = driver.key_effects("v");
    let compaction = r#"{"type":"compaction","id":"c0ffee00","parentId":null,"timestamp":"2026-03-05T13:10:00.000Z","summary":"s","firstKeptEntryId":"x","tokensBefore":5}"#;
    driver.append(&format!("{compaction}\n"));
    let recorded = |driver: &Driver| match driver.app.overlay() {
        Some(Overlay::Recovery(screen)) => match &screen.result {
            Some(Ok(view)) => view.events.len(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    assert_eq!(recorded(&driver), 2);
    driver.perform(requested);
    assert_eq!(recorded(&driver), 2);
}
