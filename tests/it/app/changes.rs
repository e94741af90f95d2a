//! A transcript that changes while it is open.

use clawscope::app::effect::Effect;
use clawscope::app::event::Event;
use clawscope::app::state::UpdateMode;
use clawscope::store::entry::Role;
use clawscope::units::Millis;
use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

use super::rows;
use crate::support::driver::Driver;

const APPENDED: &str = "{\"type\":\"message\",\"id\":\"feedf00d\",\"parentId\":\"PARENT\",\"timestamp\":\"2026-03-05T14:06:41.000Z\",\"message\":{\"role\":\"user\",\"content\":\"one more thing\",\"timestamp\":1772719601000}}\n";

fn appended(driver: &Driver) -> String {
    let index = &driver.app.displayed_session().expect("a session").index;
    APPENDED.replace("PARENT", &index.display_id(index.last().expect("an entry")))
}

#[test]
fn an_appended_line_appears_and_the_cursor_follows() {
    let mut driver = Driver::demo(130, 36);
    let before = rows(&driver);
    let line = appended(&driver);
    driver.append(&line);
    assert_eq!(rows(&driver), before + 1);
    let pane = driver.app.transcript.as_ref().expect("a transcript");
    assert_eq!(pane.scroll.cursor, before);
    let entry = pane.selected().expect("a row").entry;
    assert_eq!(pane.excerpts[&entry].text, "one more thing");
    assert_eq!(pane.session.index.entry(entry).role(), Some(Role::User));
}

#[test]
fn half_a_line_is_waited_for() {
    let mut driver = Driver::demo(130, 36);
    let before = rows(&driver);
    let line = appended(&driver);
    let (first, second) = line.split_at(60);
    driver.append(first);
    assert_eq!(rows(&driver), before);
    driver.append(second);
    assert_eq!(rows(&driver), before + 1);
}

#[test]
fn appended_lines_do_not_move_a_cursor_that_scrolled_up() {
    let mut driver = Driver::demo(130, 36);
    driver.press("2 pgup");
    let pane = driver.app.transcript.as_ref().expect("a transcript");
    let (entry, top) = (pane.selected().expect("a row").entry, pane.scroll.top);
    let line = appended(&driver);
    driver.append(&line);
    let pane = driver.app.transcript.as_ref().expect("a transcript");
    assert_eq!((pane.selected().expect("a row").entry, pane.scroll.top), (entry, top));
    let mark = |driver: &Driver| driver.app.unseen_mark().unwrap_or_default();
    assert_eq!(mark(&driver), " 1 new ↓ ");
    let line = appended(&driver).replace("\"id\":\"feedf00d", "\"id\":\"feedf00e");
    driver.append(&line);
    assert_eq!(mark(&driver), " 2 new ↓ ");
    let area = driver.app.layout().transcript;
    let (column, row, modifiers) = (area.right() - 3, area.bottom() - 1, KeyModifiers::NONE);
    let kind = MouseEventKind::Down(MouseButton::Left);
    driver.event(Event::Mouse(MouseEvent { kind, column, row, modifiers }));
    assert!(driver.app.transcript.as_ref().expect("a transcript").follow);
    driver.press("2 pgup");
    assert_eq!(mark(&driver), "", "these were seen");
    let line = appended(&driver).replace("\"id\":\"feedf00d", "\"id\":\"feedf00f");
    driver.append(&line);
    assert_eq!(mark(&driver), " 1 new ↓ ");
    driver.press("G");
    assert_eq!(mark(&driver), "");
    assert!(driver.app.transcript.as_ref().expect("a transcript").follow);
}

#[test]
fn paused_changes_are_counted_and_appear_on_resume() {
    let mut driver = Driver::demo(130, 36);
    let before = rows(&driver);
    driver.press("v p");
    let line = appended(&driver);
    driver.append(&line);
    assert_eq!(driver.app.update_mode, UpdateMode::Paused { changes: 1 });
    assert_eq!(rows(&driver), before);
    driver.press("v p");
    assert_eq!((driver.app.update_mode, rows(&driver)), (UpdateMode::Live, before + 1));
    driver.press("v p");
    driver.event(Event::FilesChanged(vec![driver.path()]));
    let effects = driver.key_effects("v p");
    let lists = effects.iter().any(|effect| matches!(effect, Effect::ListSessions { .. }));
    let reads = effects.iter().any(|effect| matches!(effect, Effect::RefreshSession { .. }));
    assert!(lists && reads, "the list may have changed too: {effects:?}");
    driver.press("v p");
    assert!(driver.key_effects("v p").iter().all(|effect| !matches!(effect, Effect::ListSessions { .. })));
}

#[test]
fn a_jump_back_to_the_last_row_resumes_following() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("slack:channel:c07infra");
    let follows = |driver: &Driver| driver.app.transcript.as_ref().expect("a transcript").follow;
    driver.press("2 G t g enter");
    assert!(!follows(&driver), "the first call");
    driver.press("<");
    assert!(follows(&driver));
    driver.press("esc k t g enter <");
    assert!(!follows(&driver));
}

#[test]
fn a_slider_moved_by_mouse_highlights_its_changes() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("slack:channel:c07infra");
    driver.press("plan 4 j");
    driver.now_ms += Millis(60_000.0);
    driver.event(Event::Timer);
    assert!(!driver.app.is_flashing());
    let row = driver.app.layout().tuning.y + 3;
    let track = driver.app.layout().slider_track();
    let kind = MouseEventKind::Down(MouseButton::Left);
    driver.event(Event::Mouse(MouseEvent {
        kind,
        column: track.end - 2,
        row,
        modifiers: KeyModifiers::NONE,
    }));
    assert!(driver.app.is_flashing());
}

#[test]
fn a_rewritten_file_is_read_again() {
    let mut driver = Driver::demo(130, 36);
    let path = driver.path();
    let text = std::fs::read_to_string(&path).expect("the transcript");
    let half: String = text.lines().take(9).flat_map(|line| [line, "\n"]).collect();
    let mut file = std::fs::File::create(&path).expect("the transcript");
    std::io::Write::write_all(&mut file, half.as_bytes()).expect("rewrites");
    driver.event(Event::FilesChanged(vec![path]));
    assert_eq!(driver.app.displayed_session().expect("a session").index.entries.len(), 8);
}
