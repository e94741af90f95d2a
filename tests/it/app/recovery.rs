//! The block of the recovery in the explanation.

use clawscope::app::layout::Pane;
use clawscope::app::screens::explain::{ExplainBlock, ExplainRow, ExplainScreen, FoldedReport};
use clawscope::app::state::Overlay;
use clawscope::ids::EntryIx;

use crate::support::driver::Driver;

fn explanation(driver: &Driver) -> &ExplainScreen {
    driver.app.explain_screen().expect("open")
}

/// The rows on the page.
fn rows(driver: &Driver) -> usize {
    explanation(driver).recovery.shown().map_or(0, |doc| doc.rows().count())
}

/// Opens the block in a session that overflowed.
fn recovery(width: u16, height: u16) -> Driver {
    let mut driver = Driver::demo(width, height);
    driver.go_to("slack:channel:c07infra");
    driver.press("g e G k");
    assert_eq!(explanation(&driver).selected(), Some(ExplainRow::Headline(FoldedReport::Recovery)));
    assert_eq!(rows(&driver), 0, "folded");
    driver.press("enter");
    driver
}

#[test]
fn the_recovery_is_one_headline_that_opens_with_enter() {
    let mut driver = recovery(130, 36);
    assert_eq!(rows(&driver), 5);
    let headline = explanation(&driver).row_text(ExplainRow::Headline(FoldedReport::Recovery));
    assert!(headline.starts_with("expected: ") && headline.contains("recorded: "), "{headline}");
    driver.press("j h");
    assert_eq!(
        explanation(&driver).selected(),
        Some(ExplainRow::Headline(FoldedReport::Recovery)),
        "h folds from inside"
    );
    assert_eq!(rows(&driver), 0);
    driver.press("l j j enter");
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
        Some(Overlay::Problems { .. }) => "v !",
        Some(Overlay::Breakdown(_)) => "v w",
        Some(Overlay::Explain(_)) => "e",
        Some(Overlay::Branches(_)) => "b",
        Some(_) => "another",
    };
    let screens = ["?", "v !", "v w", "e", "b"];
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
    let mut driver = recovery(80, 24);
    driver.press("G k enter");
    assert_eq!(
        explanation(&driver).selected(),
        Some(ExplainRow::Line(ExplainBlock::Folded(FoldedReport::Recovery), 4))
    );
    assert!(driver.app.toast.as_ref().is_some_and(|toast| toast.text.contains("no entry for this line")));
    driver.press("esc");
    assert!(driver.app.overlay().is_none());
}

#[test]
fn a_recovery_follows_the_file_and_one_of_an_older_reading_is_dropped() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("slack:channel:c07infra");
    let requested = driver.key_effects("e");
    let compaction = r#"{"type":"compaction","id":"c0ffee00","parentId":null,"timestamp":"2026-03-05T13:10:00.000Z","summary":"s","firstKeptEntryId":"x","tokensBefore":5}"#;
    driver.append(&format!("{compaction}\n"));
    driver.press("G k enter");
    let compacted = driver.app.displayed_session().expect("a session").index.entries.len() as u32 - 1;
    let text = |driver: &Driver| explanation(driver).recovery.shown().expect("read").text();
    let doc = text(&driver);
    let leads = |row: &clawscope::doc::Row| row.entry == Some(EntryIx(compacted));
    let recovery = &explanation(&driver).recovery;
    assert!(recovery.shown().expect("read").rows().any(leads), "{doc}");
    driver.perform(requested);
    assert_eq!(text(&driver), doc);
}
