//! Borders between panes, and hints that are clicked.

use clawscope::app::event::Event;
use clawscope::app::layout::Pane;
use clawscope::app::state::Overlay;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

use crate::support::driver::Driver;

fn demo() -> Driver {
    let mut driver = Driver::demo(140, 40);
    driver.go_to("telegram:direct:8812");
    driver
}

fn mouse(driver: &mut Driver, kind: MouseEventKind, column: u16, row: u16) {
    driver.event(Event::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }));
}

const DOWN: MouseEventKind = MouseEventKind::Down(MouseButton::Left);
const DRAG: MouseEventKind = MouseEventKind::Drag(MouseButton::Left);
const UP: MouseEventKind = MouseEventKind::Up(MouseButton::Left);

#[test]
fn a_dragged_border_follows_the_pointer_and_is_kept() {
    let mut driver = demo();
    let x = driver.app.layout().transcript.x;
    let row = driver.app.layout().transcript.y + 5;
    let focused = (driver.app.focus, driver.app.selected_entry());
    mouse(&mut driver, DOWN, x, row);
    assert_eq!((driver.app.focus, driver.app.selected_entry()), focused, "a border is no row");
    mouse(&mut driver, DRAG, x + 9, row);
    assert_eq!(driver.app.layout().transcript.x, x + 9);
    mouse(&mut driver, DRAG, 0, row);
    mouse(&mut driver, DRAG, x + 4, row);
    assert_eq!(driver.app.layout().transcript.x, x + 4, "the end of its way is not counted");
    mouse(&mut driver, UP, x + 4, row);
    mouse(&mut driver, DRAG, x + 20, row);
    assert_eq!(driver.app.layout().transcript.x, x + 4);
    let x = driver.app.layout().message.x;
    mouse(&mut driver, DOWN, x, row);
    mouse(&mut driver, DRAG, x - 10, row);
    assert_eq!(driver.app.layout().message.x, x - 10);
    driver.press("plan");
    let y = driver.app.layout().tuning.y;
    mouse(&mut driver, DOWN, 130, y);
    mouse(&mut driver, DRAG, 130, y - 3);
    assert_eq!(driver.app.layout().tuning.y, y - 3);
    driver.event(Event::Resize { width: 80, height: 24 });
    driver.event(Event::Resize { width: 60, height: 20 });
    driver.event(Event::Resize { width: 140, height: 40 });
    assert_eq!(driver.app.layout().message.x, x - 10);
}

#[test]
fn keys_move_the_border_of_the_focused_pane() {
    let mut driver = demo();
    let press = |driver: &mut Driver, code| {
        driver.event(Event::Key(KeyEvent::new(code, KeyModifiers::CONTROL)));
    };
    driver.press("1");
    let x = driver.app.layout().transcript.x;
    press(&mut driver, KeyCode::Right);
    assert_eq!(driver.app.layout().transcript.x, x + 2);
    driver.press("3");
    let x = driver.app.layout().message.x;
    press(&mut driver, KeyCode::Left);
    assert_eq!((driver.app.layout().message.x, driver.app.focus), (x - 2, Pane::Message));
}

#[test]
fn a_click_on_a_hint_runs_it() {
    let mut driver = demo();
    let hints = driver.app.left_hints();
    assert_eq!((hints[1].keys.as_str(), hints[1].words), ("e", "why"));
    let line = driver.app.layout().status.y;
    // "j/k move" and three blanks are before it.
    mouse(&mut driver, DOWN, 12, line);
    assert!(matches!(driver.app.overlay(), Some(Overlay::Explain(_))));
    driver.press("esc G");
    let at = driver.app.transcript.as_ref().expect("a session").scroll.cursor;
    mouse(&mut driver, DOWN, 8, line);
    assert_eq!(driver.app.transcript.as_ref().expect("a session").scroll.cursor, at - 1, "the second key");
    mouse(&mut driver, DOWN, 137, line);
    assert!(driver.quit);
}
