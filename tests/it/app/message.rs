//! The message pane: whose message it shows, scrolling to the side, and numbers before movements.

use clawscope::app::event::Event;
use clawscope::app::layout::Pane;
use clawscope::units::{Bytes, Millis};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::support::driver::Driver;

fn demo() -> Driver {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver
}

fn cursor(driver: &Driver) -> usize {
    driver.app.transcript.as_ref().expect("a session").scroll.cursor
}

fn alt(driver: &mut Driver, digit: char) {
    driver.event(Event::Key(KeyEvent::new(KeyCode::Char(digit), KeyModifiers::ALT)));
}

/// The key of a session that is not open.
fn another(driver: &Driver) -> String {
    let items = &driver.app.sessions.items;
    items.iter().find(|item| item.key.0.ends_with("research:main")).expect("another").key.0.clone()
}

#[test]
fn a_message_that_arrives_late_is_not_shown_in_another_session() {
    let mut driver = demo();
    driver.press("2 g");
    let read = driver.key_effects("j");
    let key = another(&driver);
    driver.event(Event::Paste(key.clone()));
    assert_eq!(driver.app.displayed_session().expect("a session").item.key.0, key);
    let shown = driver.app.message.text.clone().expect("its own message");
    driver.perform(read);
    let now = driver.app.message.text.as_ref().expect("still its own");
    assert!(std::sync::Arc::ptr_eq(now, &shown));
}

#[test]
fn the_last_message_disappears_while_the_next_one_loads() {
    let mut driver = demo();
    driver.press("2 g");
    assert!(driver.app.message_screen().is_some());
    let mut reads = driver.key_effects("j");
    reads.extend(driver.key_effects("j"));
    assert!(driver.app.message_screen().is_some(), "a short read does not flicker");
    driver.press("y y");
    assert_eq!(driver.copied, Vec::<String>::new(), "the message on its way out is not copied");
    driver.now_ms += Millis(200.0);
    driver.event(Event::Timer);
    assert!(driver.app.message_screen().is_none());
    driver.perform(reads);
    assert!(driver.app.message.text.is_some() && driver.app.message_screen().is_some());
}

#[test]
fn a_session_that_opens_slowly_or_not_at_all_hides_the_last_message() {
    let mut driver = demo();
    driver.press("2 g");
    let key = another(&driver);
    driver.effects(Event::Paste(key.clone()));
    let key = clawscope::ids::SessionKey(key);
    driver.now_ms += Millis(500.0);
    driver.effects(Event::OpenProgress { key: key.clone(), done: Bytes(1), total: Bytes(2) });
    assert!(driver.app.message_screen().is_none());
    driver.effects(Event::OpenFailed { key, error: "gone".into() });
    assert!(driver.app.message.text.is_none() && driver.app.message_screen().is_none());
}

#[test]
fn long_lines_scroll_to_the_side_and_back_to_the_transcript() {
    let mut driver = demo();
    driver.press("2 g");
    for _ in 0..200 {
        driver.press("2 J 3 l");
        if driver.app.message.left > 0 {
            break;
        }
    }
    assert_eq!(driver.app.message.left, 8, "one of the messages has a long line");
    driver.press("l l l l l l l l l l l l l l l l l l l l l l l l l l l l l l l l l l l l l l");
    let end = driver.app.message.left;
    driver.press("l");
    assert_eq!(driver.app.message.left, end, "the end of the longest line stops it");
    driver.press("h");
    assert_eq!(driver.app.message.left, end - 8);
    driver.press("J");
    assert_eq!(driver.app.message.left, 0, "the next message starts at its own start");
    assert_eq!(driver.app.focus, Pane::Message);
    driver.press("h");
    assert_eq!(driver.app.focus, Pane::Transcript);
}

#[test]
fn a_number_repeats_a_movement_and_pane_keys_still_work() {
    let mut driver = demo();
    driver.press("2 g 5 j");
    assert_eq!(cursor(&driver), 5);
    alt(&mut driver, '1');
    driver.press("0 G");
    assert_eq!(cursor(&driver), 9, "row ten");
    driver.press("g 6 esc j");
    assert_eq!(cursor(&driver), 1, "esc forgets the number");
    driver.press("3");
    assert_eq!((driver.app.focus, driver.app.count), (Pane::Message, None));
    driver.press("2 g 9 9 9 9 9 9 9 j");
    assert_eq!(cursor(&driver) + 1, driver.app.transcript.as_ref().expect("a session").rows.len());
    driver.press("1 g");
    let at = driver.app.sessions.scroll.cursor;
    alt(&mut driver, '2');
    driver.press("j");
    assert!(driver.app.sessions.scroll.cursor > at + 1);
}

#[test]
fn numbers_work_in_lists_over_the_panes() {
    let mut driver = demo();
    driver.press("t g 4 l");
    assert_eq!(driver.app.timeline_screen.cursor, 4);
    driver.press("1 0 G");
    assert_eq!(driver.app.timeline_screen.cursor, 9);
}
