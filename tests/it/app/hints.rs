//! Hints of the status line: a click on one has the effect of its key.

use clawscope::app::App;
use clawscope::app::event::Event;
use clawscope::ui;
use clawscope::ui::theme::{ColourDepth, Theme};
use clawscope::units::{Millis, Moment};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::support::driver::Driver;

fn drawn(app: &App) -> Buffer {
    let theme = Theme::load("dark", ColourDepth::True).expect("a theme");
    let mut buf = Buffer::empty(Rect::new(0, 0, app.size.0, app.size.1));
    ui::render(app, &theme, &mut buf);
    buf
}

/// The symbols of the status line, cell by cell.
fn status_line(app: &App) -> Vec<String> {
    let buf = drawn(app);
    (0..app.size.0).map(|x| buf[(x, app.size.1 - 1)].symbol().to_owned()).collect()
}

/// The column where a text begins in a line.
fn column_of(line: &[String], text: &str) -> Option<u16> {
    (0..line.len()).find(|at| line[*at..].concat().starts_with(text)).map(|at| at as u16)
}

/// The keys of a hint: `j/k`, `←→`, `enter`, `ctrl-r`, `/`.
fn keys(hint: &str) -> Vec<KeyEvent> {
    let names: Vec<String> = match hint {
        "/" => vec!["/".into()],
        _ if hint.contains('/') => hint.split('/').map(str::to_owned).collect(),
        _ if hint.chars().all(|char| "←→↑↓".contains(char)) => {
            hint.chars().map(String::from).collect()
        }
        _ => vec![hint.to_owned()],
    };
    names.iter().filter_map(|name| key(name)).collect()
}

fn key(name: &str) -> Option<KeyEvent> {
    let (modifiers, name) = match (name.strip_prefix("ctrl-"), name.strip_prefix("alt-")) {
        (Some(rest), _) => (KeyModifiers::CONTROL, rest),
        (_, Some(rest)) => (KeyModifiers::ALT, rest),
        _ => (KeyModifiers::NONE, name),
    };
    let code = match name {
        "enter" => KeyCode::Enter,
        "esc" => KeyCode::Esc,
        "tab" => KeyCode::Tab,
        "space" => KeyCode::Char(' '),
        "←" => KeyCode::Left,
        "→" => KeyCode::Right,
        "↑" => KeyCode::Up,
        "↓" => KeyCode::Down,
        one if one.chars().count() == 1 => KeyCode::Char(one.chars().next()?),
        _ => return None,
    };
    Some(KeyEvent::new(code, modifiers))
}

/// Returns the frame and the requests after an event.
fn after(app: &App, event: Event, now_ms: Moment) -> (Buffer, String) {
    let mut app = app.clone();
    let effects = app.update(event, now_ms);
    let kinds: Vec<_> = effects.iter().map(std::mem::discriminant).collect();
    (drawn(&app), format!("{kinds:?}"))
}

#[test]
fn a_click_on_a_hint_has_the_effect_of_its_key() {
    let mut clicked = 0;
    for state in ["2", "1", "3", "4", "p", "?", "t", "v w", ":policies", "v !", "v d", "/ text:ninja enter"] {
        for (width, height) in [(130, 36), (60, 20)] {
            let mut driver = Driver::demo(width, height);
            driver.go_to("telegram:direct:8812");
            driver.press(state);
            driver.now_ms += Millis(10_000.0);
            driver.event(Event::Timer);
            let (app, now_ms) = (&driver.app, driver.now_ms);
            let line = status_line(app);
            for hint in app.left_hints().iter().chain(&app.right_hints()) {
                let text = format!("{} {}", hint.keys, hint.words);
                let Some(start) = column_of(&line, &text) else { continue };
                let last = start + clawscope::text::width(&text) as u16 - 1;
                let keys = keys(&hint.keys);
                let spots = [(start, keys.first()), (last, keys.last())];
                for (column, key) in spots.into_iter().filter_map(|(column, key)| Some((column, *key?))) {
                    let kind = MouseEventKind::Down(MouseButton::Left);
                    let mouse = MouseEvent { kind, column, row: height - 1, modifiers: KeyModifiers::NONE };
                    let by_mouse = after(app, Event::Mouse(mouse), now_ms);
                    let by_key = after(app, Event::Key(key), now_ms);
                    assert_eq!(by_mouse.1, by_key.1, "{state}, {width}x{height}: {text}");
                    assert_eq!(by_mouse.0, by_key.0, "{state}, {width}x{height}: {text}");
                    clicked += 1;
                }
            }
        }
    }
    assert!(clicked > 100, "{clicked}");
}

#[test]
fn a_click_between_two_hints_has_no_effect() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("2");
    driver.now_ms += Millis(10_000.0);
    driver.event(Event::Timer);
    let line = status_line(&driver.app);
    let hint = &driver.app.left_hints()[0];
    let text = format!("{} {}", hint.keys, hint.words);
    let gap = column_of(&line, &text).expect("the hint") + clawscope::text::width(&text) as u16 + 1;
    let kind = MouseEventKind::Down(MouseButton::Left);
    let before = drawn(&driver.app);
    driver.event(Event::Mouse(MouseEvent { kind, column: gap, row: 35, modifiers: KeyModifiers::NONE }));
    assert_eq!(drawn(&driver.app), before);
}

#[test]
fn the_message_pane_names_the_view_menu_at_every_width() {
    let mut driver = Driver::demo(160, 45);
    driver.go_to("telegram:direct:8812");
    for keys in ["3", "z", "p"] {
        driver.press(keys);
        driver.now_ms += Millis(10_000.0);
        for (width, height) in [(160, 45), (120, 36), (80, 24), (60, 20)] {
            driver.event(Event::Resize { width, height });
            let line = status_line(&driver.app);
            assert!(column_of(&line, "v view").is_some(), "{width}x{height} {keys}: {line:?}");
        }
    }
}
