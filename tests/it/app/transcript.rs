//! Folds, diffs, search and the palette.

use clawscope::app::event::Event;
use clawscope::app::message::MessageView;
use clawscope::context::rows::RowKind;

use super::{rows, tuned};
use crate::support::driver::Driver;

#[test]
fn space_folds_the_turn_and_unfolds_it_again() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    let before = rows(&driver);
    driver.press("2 k k space");
    assert!(rows(&driver) < before);
    let row = *driver.app.transcript.as_ref().and_then(|pane| pane.selected()).expect("a row");
    assert!(matches!(row.kind, RowKind::Turn { entries } if entries > 1));
    driver.press("space");
    assert_eq!(rows(&driver), before);
}

#[test]
fn a_folded_branch_opens_to_its_entries() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    let before = rows(&driver);
    let pane = driver.app.transcript.as_ref().expect("a transcript");
    let branch =
        pane.rows.iter().position(|row| matches!(row.kind, RowKind::Branch { .. })).expect("a branch");
    let up = pane.scroll.cursor - branch;
    driver.press("2");
    driver.press(&"k ".repeat(up));
    driver.press("l");
    assert!(rows(&driver) > before);
    driver.press("h");
    assert_eq!(rows(&driver), before);
}

#[test]
fn the_diff_shows_a_changed_message_before_and_after() {
    let mut driver = tuned();
    driver.press("2 { d");
    assert_eq!(driver.app.message.view, MessageView::Diff);
    assert!(driver.app.zoom);
    let text = driver.app.message.text.as_ref().expect("a message");
    let after = text.planned_text.as_ref().expect("a text under the plan");
    assert!(after.contains("[Tool result trimmed") || after.contains("cleared"), "{after}");
    driver.press("esc");
    assert!(!driver.app.zoom);
}

#[test]
fn a_search_opens_the_folds_around_its_matches() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("2 - / text:libatomic enter");
    let pane = driver.app.transcript.as_ref().expect("a transcript");
    assert!(pane.matches.len() > 1);
    let first = pane.selected().expect("a row").entry;
    assert!(pane.matches.contains(&first));
    driver.press("n");
    let pane = driver.app.transcript.as_ref().expect("a transcript");
    let second = pane.selected().expect("a row").entry;
    assert!(second != first && pane.matches.contains(&second));
    driver.press("N");
    let pane = driver.app.transcript.as_ref().expect("a transcript");
    assert_eq!(pane.selected().expect("a row").entry, first);
}

#[test]
fn a_search_goes_on_from_the_cursor_and_counts_its_matches() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    let cursor = |driver: &Driver| driver.app.transcript.as_ref().expect("a transcript").scroll.cursor;
    driver.press("2 end k k k k k k k k k k");
    let before = driver.app.selected_entry();
    driver.press("/ text:exec enter");
    let (first, note) = (driver.app.selected_entry(), toast(&driver));
    let session = driver.app.displayed_session().expect("a session").clone();
    assert!(first >= before && session.context.position(first.expect("a row")).is_some());
    assert!(note.starts_with("match ") && !note.ends_with("wrapped"), "{note}");
    driver.press("end / ctrl-u text:read enter");
    let entry = driver.app.selected_entry().expect("a row");
    assert!(session.context.position(entry).is_some(), "what is sent comes before what was compacted");
    assert!(toast(&driver).ends_with("wrapped") && cursor(&driver) > 0, "{}", toast(&driver));
}

#[test]
fn d_says_why_a_message_has_no_diff() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("2 end d");
    assert_eq!(toast(&driver), "no diff: no plan to compare with; p previews one");
    let mut driver = tuned();
    driver.press("2 end d");
    assert_eq!(toast(&driver), "no diff: the plan keeps this message");
    let mut driver = tuned();
    driver.press("2 { d");
    assert!(!toast(&driver).contains("no diff"));
}

fn toast(driver: &Driver) -> String {
    driver.app.toast.as_ref().map(|toast| toast.text.clone()).unwrap_or_default()
}

#[test]
fn pasting_an_entry_id_selects_the_entry() {
    let mut driver = Driver::demo(130, 36);
    let session = driver.app.displayed_session().expect("a session");
    let entry = session.context.messages[3].entry;
    let name = session.index.display_id(entry);
    driver.event(Event::Paste(name));
    assert_eq!(driver.app.selected_entry(), Some(entry));
}

#[test]
fn the_palette_runs_an_action_by_name() {
    let mut driver = Driver::demo(130, 36);
    driver.press(": text:prune enter");
    assert!(driver.app.preview.plan.is_some());
}
