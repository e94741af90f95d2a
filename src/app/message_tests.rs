//! Scrolling, searching and the views of the pane.

use super::*;
use crate::app::message_body::BodyLine;
use crate::app::message_testing::{open, select_entry};
use crate::units::Moment;

fn page(app: &App) -> (usize, usize) {
    let screen = app.message_screen().expect("a message");
    (screen.body_rows, screen.layout.rows())
}

/// Returns the rows of the message at `width` columns.
fn line_count(app: &App, width: u16) -> usize {
    let room = MessageArea { columns: usize::from(width), ..app.message_area() };
    app.message.layout(room).map_or(0, |shown| shown.rows())
}

fn place(app: &App) -> Option<(usize, usize)> {
    app.message.current_match.map(|found| (found.index, found.count))
}

#[test]
fn scrolling_ends_at_the_last_row_and_at_the_first() {
    let mut app = open((130, 36), 2, false);
    let (height, rows) = page(&app);
    assert_eq!(rows, 427, "a row a line, as long lines are cut");
    app.scroll_message(isize::MAX / 2);
    assert_eq!(app.message.top, rows - height);
    app.scroll_message(-3);
    assert_eq!(app.message.top, rows - height - 3);
    app.scroll_message(isize::MIN / 2);
    assert_eq!(app.message.top, 0);
}

#[test]
fn the_number_of_rows_follows_width_and_wrapping() {
    let mut app = open((130, 36), 2, false);
    let cut = line_count(&app, 35);
    app.change_message_view(MessagePane::toggle_wrap);
    assert!(line_count(&app, 35) > cut);
    assert!(line_count(&app, 20) > line_count(&app, 35));
    assert_eq!(line_count(&app, 100), cut, "everything fits");
}

#[test]
fn wrapping_and_unfolding_keep_the_line_at_the_top() {
    let mut app = open((130, 36), 2, false);
    app.scroll_message(100);
    app.change_message_view(MessagePane::toggle_wrap);
    let screen = app.message_screen().expect("a message");
    let (line, sub) = screen.layout.line_at(app.message.top).expect("a line");
    assert_eq!((screen.layout.body.lines[line].number(), sub), (Some(101), 0));
    app.change_message_view(MessagePane::toggle_wrap);
    assert_eq!(app.message.top, 100);
}

#[test]
fn selecting_another_entry_resets_the_scroll_and_the_same_one_keeps_it() {
    let mut app = open((130, 36), 2, false);
    app.scroll_message(50);
    select_entry(&mut app, 2);
    assert_eq!(app.message.top, 50);
    select_entry(&mut app, 4);
    assert_eq!(app.message.top, 0);
}

#[test]
fn a_shorter_text_under_a_plan_pulls_the_view_back() {
    let mut app = open((130, 36), 2, false);
    app.scroll_message(isize::MAX / 2);
    app.dispatch(crate::app::action::Action::TogglePrune);
    let effects = app.update(crate::app::event::Event::Timer, Moment::ZERO);
    crate::app::message_testing::perform_effects(&mut app, effects);
    let (height, rows) = page(&app);
    assert!(rows < 100, "the cut is folded: {rows}");
    assert!(app.message.top + height <= rows.max(height));
}

#[test]
fn a_search_steps_through_matches_and_wraps_around() {
    let mut app = open((130, 36), 2, false);
    assert_eq!(app.find_in_message("warning"), 10);
    let first = app.message.top;
    app.go_to_message_match(true);
    assert!(app.message.top > first);
    app.go_to_message_match(false);
    app.go_to_message_match(false);
    assert_eq!(place(&app), Some((9, 10)), "around the start");
    app.go_to_message_match(true);
    assert_eq!(place(&app), Some((0, 10)), "around the end");
    assert_eq!(app.find_in_message("no such words"), 0);
    assert_eq!(app.message.current_match, None);
}

#[test]
fn only_the_line_of_a_match_far_to_the_right_moves() {
    let mut app = open((130, 36), 2, false);
    let shown = app.message_screen().expect("a message").layout;
    let wide = (0..shown.rows()).max_by_key(|row| shown.columns_beyond(*row..*row + 1, 0)).expect("a row");
    let BodyLine::Single(piece) = &shown.body.lines[wide] else { panic!("a line of the text") };
    let words = shown.body.visible(piece).into_owned().split_off(shown.text_columns(false));
    assert!(app.find_in_message(&words) > 0);
    let row = app.message.current_match.expect("a match").row;
    assert!(app.message.left_of(row) > 0, "the words are on the screen");
    assert_eq!((app.message.left, app.message.left_of(row + 1)), (0, 0), "the others stay");
    app.scroll_message_sideways(-1);
    assert_eq!(app.message.left_of(row), 0, "the start of the line");
    assert_eq!(app.focus, Pane::Message);
}

#[test]
fn a_search_unfolds_the_text_that_contains_the_only_match() {
    let mut app = open((130, 36), 2, true);
    assert!(!app.message.unfold);
    assert_eq!(app.find_in_message("ring_200.cpp"), 1);
    assert!(app.message.unfold);
}

#[test]
fn the_full_screen_shows_a_diff_if_the_plan_changes_the_message() {
    let mut app = open((130, 36), 2, true);
    assert_eq!(app.message.effective_view(false), MessageView::Text);
    assert_eq!(app.message.effective_view(true), MessageView::Diff);
    app.message.toggle_diff(true);
    assert_eq!(app.message.effective_view(true), MessageView::Text);
    app.message.toggle_diff(true);
    assert_eq!(app.message.effective_view(true), MessageView::Diff);
    app.message.toggle_raw();
    assert_eq!(app.message.effective_view(true), MessageView::Raw);
    app.message.toggle_raw();
    select_entry(&mut app, 4);
    assert_eq!(app.message.effective_view(true), MessageView::Text, "nothing changes there");
}

#[test]
fn a_layout_is_cached_for_its_size() {
    let mut app = open((130, 36), 2, true);
    app.update_message_layout();
    let room = app.message_area();
    let one = app.message.layout(room).expect("a message");
    assert!(Arc::ptr_eq(&one, &app.message.layout(room).expect("a message")));
    app.change_message_view(MessagePane::toggle_wrap);
    assert!(!Arc::ptr_eq(&one, &app.message.layout(room).expect("a message")));
}

#[test]
fn keys_scroll_search_and_change_the_view() {
    use crate::app::event::Event;
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    let mut app = open((130, 36), 2, true);
    let press = |app: &mut App, text: &str| {
        for letter in text.chars() {
            let code = if letter == '\n' { KeyCode::Enter } else { KeyCode::Char(letter) };
            app.update(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)), Moment::ZERO);
        }
    };
    press(&mut app, "jj");
    assert_eq!(app.message.top, 2);
    press(&mut app, "d");
    assert!(app.zoom && app.message_screen().expect("a message").layout.body.side_by_side);
    press(&mut app, " ");
    assert!(app.message.unfold);
    press(&mut app, "vl");
    assert!(app.message.wrap);
    press(&mut app, "/ring_300.cpp\n");
    assert_eq!(place(&app), Some((0, 1)));
    press(&mut app, "r");
    assert_eq!(app.message.effective_view(true), MessageView::Raw);
    press(&mut app, "rd");
    assert_eq!(app.message.effective_view(true), MessageView::Text);
}
