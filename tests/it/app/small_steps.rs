//! Single keys: a step back, a step forward, a jump, a fold.

use clawscope::app::event::Event;
use clawscope::app::layout::Pane;
use clawscope::app::message::MessageView;
use clawscope::app::screens::compare::CompareFocus;
use clawscope::app::state::{InputPurpose, Overlay, UpdateMode};
use clawscope::app::target::Target;
use clawscope::policy::Policy;
use clawscope::store::entry::{Role, StopReason};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

use super::{rows, tuned};
use crate::frames::{dark, drawn, text_of};
use crate::support::driver::Driver;

fn demo() -> Driver {
    let mut driver = Driver::demo(130, 24);
    driver.go_to("telegram:direct:8812");
    driver
}

/// Presses a digit with alt, which begins a number for any binding of the digit.
fn number(driver: &mut Driver, digit: char) {
    driver.event(Event::Key(KeyEvent::new(KeyCode::Char(digit), KeyModifiers::ALT)));
}

fn row(driver: &Driver) -> usize {
    driver.app.transcript.as_ref().expect("a session").scroll.cursor
}

fn toast(driver: &Driver) -> String {
    driver.app.toast.as_ref().map(|toast| toast.text.clone()).unwrap_or_default()
}

#[test]
fn tab_cycles_through_the_panes_in_both_directions() {
    let mut driver = demo();
    driver.press("1");
    let mut round = |code: KeyCode| -> Vec<Pane> {
        let key = Event::Key(KeyEvent::new(code, KeyModifiers::NONE));
        (0..4)
            .map(|_| {
                driver.event(key.clone());
                driver.app.focus
            })
            .collect()
    };
    assert_eq!(round(KeyCode::Tab), [Pane::Transcript, Pane::Message, Pane::Tuning, Pane::Sessions]);
    assert_eq!(round(KeyCode::BackTab), [Pane::Tuning, Pane::Message, Pane::Transcript, Pane::Sessions]);
}

#[test]
fn esc_takes_back_the_zoom_with_its_view_then_the_view_then_the_pane() {
    let mut driver = demo();
    let state = |driver: &Driver| (driver.app.zoom, driver.app.message.view, driver.app.focus);
    driver.press("3 z r");
    assert_eq!(state(&driver), (true, MessageView::Raw, Pane::Message));
    driver.press("esc");
    assert_eq!(state(&driver), (false, MessageView::Text, Pane::Message));
    driver.press("r esc");
    assert_eq!(state(&driver), (false, MessageView::Text, Pane::Message));
    driver.press("esc");
    assert_eq!(driver.app.focus, Pane::Transcript);
    driver.press("esc");
    assert_eq!(driver.app.focus, Pane::Sessions);
    driver.press("esc");
    assert!(driver.app.focus == Pane::Sessions && !driver.quit);
}

#[test]
fn a_number_before_a_page_is_that_many_pages() {
    let mut driver = demo();
    driver.press("2 +");
    assert!(rows(&driver) > 60, "{} rows are too few to see", rows(&driver));
    let moved = |driver: &mut Driver, keys: &str| {
        driver.press("g");
        for key in keys.split(' ') {
            match key.strip_prefix("alt-") {
                Some(digit) => number(driver, digit.chars().next().expect("a digit")),
                None => driver.press(key),
            }
        }
        row(driver)
    };
    let half = moved(&mut driver, "ctrl-d");
    assert!(half > 2);
    assert_eq!(moved(&mut driver, "ctrl-d ctrl-d"), 2 * half);
    assert_eq!(moved(&mut driver, "alt-2 ctrl-d"), 2 * half);
    let page = moved(&mut driver, "pgdn");
    assert!(page > half);
    assert_eq!(moved(&mut driver, "alt-2 pgdn"), 2 * page);
    assert_eq!(moved(&mut driver, "alt-2 pgdn pgup"), page);
    assert_eq!(moved(&mut driver, "alt-3 ctrl-d alt-2 ctrl-u"), half);
    assert_eq!(moved(&mut driver, "alt-7 j alt-2 k"), 5);
    assert_eq!(moved(&mut driver, "alt-9 G"), 8, "the ninth row");
}

#[test]
fn the_diff_of_the_first_change_fills_the_screen_from_the_commit_dialog() {
    let mut driver = tuned();
    driver.press("2 G c d");
    assert!(driver.app.overlay().is_none() && driver.app.zoom);
    assert_eq!((driver.app.message.view, driver.app.focus), (MessageView::Diff, Pane::Message));
    let plan = driver.app.preview.plan.clone().expect("a plan");
    let first = plan.fates().iter().position(|fate| fate.fate.is_change()).expect("a change");
    let session = driver.app.displayed_session().cloned().expect("a session");
    assert_eq!(driver.app.selected_entry(), Some(session.context.messages[first].entry));
}

#[test]
fn a_list_setting_can_be_typed_undone_and_redone() {
    let mut driver = demo();
    driver.press("4");
    let key = |driver: &Driver| {
        let at = driver.app.tuning.focused_row().expect("a row");
        (driver.app.tuning.rows[at].key().to_owned(), at)
    };
    while key(&driver).0 != "contextPruning.tools.deny" {
        let before = key(&driver);
        driver.press("j");
        assert_ne!(key(&driver), before, "the list is one of the settings");
    }
    let (_, list) = key(&driver);
    driver.press("l");
    assert_eq!(driver.app.input.as_ref().map(|input| input.purpose), Some(InputPurpose::Setting));
    let before = driver.app.tuning.values[list].clone();
    driver.press("ctrl-u text:exec enter");
    let after = driver.app.tuning.values[list].clone();
    assert_ne!(before, after);
    driver.press("k k");
    assert_ne!(key(&driver).1, list);
    driver.press("alt-z");
    assert_eq!((driver.app.tuning.values[list].clone(), key(&driver).1), (before, list));
    driver.press("k alt-Z");
    assert_eq!((driver.app.tuning.values[list].clone(), key(&driver).1), (after, list));
}

#[test]
fn the_id_that_is_copied_is_that_of_the_focused_pane() {
    let mut driver = demo();
    driver.press("2 G y i");
    let session = driver.app.displayed_session().cloned().expect("a session");
    let entry = driver.app.selected_entry().expect("a row");
    assert_eq!(driver.copied.last(), Some(&session.index.display_id(entry)));
    driver.press("1 y s");
    assert_eq!(driver.copied.last(), Some(&session.item.id));
    driver.press("1 y y");
    assert_eq!(driver.copied.last(), Some(&session.item.key.0));
}

#[test]
fn the_targets_cycle_and_a_session_without_an_overflow_has_no_failed_call() {
    let mut driver = demo();
    let round = |driver: &mut Driver| -> Vec<Target> {
        (0..3)
            .map(|_| {
                driver.press("a");
                driver.app.target
            })
            .collect()
    };
    driver.press("2");
    assert_eq!(round(&mut driver), [Target::WholeSession, Target::FailedCall, Target::NextCall]);
    let keys: Vec<String> = driver.app.sessions.items.iter().map(|item| item.key.0.clone()).collect();
    let fits = keys.iter().any(|key| {
        driver.go_to(key);
        let shown = driver.app.displayed_session().filter(|session| session.item.key.0 == *key);
        shown.is_some_and(|session| session.overflows.is_empty() && session.context.messages.len() > 2)
    });
    assert!(fits, "one of the sessions fits");
    driver.press("2");
    assert_eq!(round(&mut driver), [Target::WholeSession, Target::NextCall, Target::WholeSession]);
}

#[test]
fn folding_everything_leaves_a_row_for_each_turn() {
    let mut driver = demo();
    driver.press("2 +");
    let all = rows(&driver);
    driver.press("-");
    let pane = driver.app.transcript.as_ref().expect("a session");
    let session = &pane.session;
    let turns = session.context.path.iter().filter(|ix| session.index.entry(**ix).role() == Some(Role::User));
    assert_eq!(pane.folds.turns.len(), turns.count());
    assert!(rows(&driver) < all);
    driver.press("+");
    assert_eq!(rows(&driver), all);
}

#[test]
fn n_finds_the_overflowed_call_from_both_sides() {
    let mut driver = demo();
    driver.press("t");
    let timeline = driver.app.timeline().expect("a replay").clone();
    let over: Vec<usize> = (0..timeline.len()).filter(|call| timeline.overflows_at(*call)).collect();
    let [call] = over[..] else { panic!("one call overflowed: {over:?}") };
    let cursor = |driver: &Driver| driver.app.timeline_screen.cursor;
    driver.press("g n");
    assert_eq!(cursor(&driver), call);
    driver.press("n");
    assert_eq!((cursor(&driver), toast(&driver).as_str()), (call, "no other call overflowed"));
    driver.press("G N");
    assert_eq!(cursor(&driver), call);
    driver.press("g N");
    assert_eq!(cursor(&driver), call, "the search goes on at the other end");
    driver.press("h n");
    assert_eq!(cursor(&driver), call);
    driver.press("l N");
    assert_eq!(cursor(&driver), call);
    driver.press("enter");
    let session = driver.app.displayed_session().expect("a session");
    let entry = driver.app.selected_entry().expect("a row");
    assert_eq!(session.index.entry(entry).message.map(|size| size.stop_reason), Some(StopReason::Error));
}

#[test]
fn one_esc_leaves_an_empty_store_search_and_two_leave_a_typed_one() {
    let mut driver = demo();
    let open = |driver: &Driver| matches!(driver.app.overlay(), Some(Overlay::Search));
    driver.press("ctrl-f esc");
    assert!(!open(&driver) && driver.app.input.is_none());
    driver.press("ctrl-f text:the esc");
    assert!(open(&driver) && driver.app.input.is_none());
    driver.press("esc");
    assert!(!open(&driver));
}

#[test]
fn the_tuning_pane_at_full_height_shows_the_policies_and_leads_back() {
    let mut driver = demo();
    let unmeasured = |driver: &Driver| driver.app.policy_effects.alone(Policy::Prune).is_none();
    assert!(unmeasured(&driver), "only the full height measures every policy");
    driver.press("2 v s");
    assert!(driver.app.shows_policies() && driver.app.overlay().is_none() && !unmeasured(&driver));
    driver.press("<");
    assert!(driver.app.focus == Pane::Transcript && !driver.app.zoom, "back to the row");
    driver.press("4 z");
    assert!(driver.app.shows_policies(), "z is the same");
    driver.press("z");
    assert!(driver.app.focus == Pane::Tuning && !driver.app.shows_policies());
    driver.press("e :policies");
    assert!(driver.app.shows_policies() && driver.app.overlay().is_none());
    driver.press("v s");
    assert!(!driver.app.zoom, "the same keys end it");
}

#[test]
fn a_paused_screen_counts_changes_and_reads_them_on_resume() {
    let mut driver = demo();
    driver.press("v p");
    assert!(matches!(driver.app.update_mode, UpdateMode::Paused { changes: 0 }));
    assert!(driver.key_effects("v p").is_empty(), "nothing changed meanwhile");
    assert!(matches!(driver.app.update_mode, UpdateMode::Live));
    driver.app.update_mode = UpdateMode::Paused { changes: 2 };
    let effects = driver.key_effects("v p");
    assert!(matches!(driver.app.update_mode, UpdateMode::Live) && !effects.is_empty(), "{effects:?}");
    driver.perform(effects);
    assert!(!driver.app.opening.is_refreshing, "everything was read again");
}

#[test]
fn the_map_is_left_for_the_list_and_moved_over_by_lines_and_pages() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("w v a ctrl-u text:contextPruning.ttl=30m,45m,1h,2h space");
    driver.press("text:contextPruning.keepLastAssistants=1,3,5 enter");
    let point = |driver: &Driver| driver.app.compare_screen.point.clone();
    driver.press("g");
    let first = point(&driver);
    driver.press("j");
    assert_eq!((point(&driver)[0], point(&driver)[1]), (first[0] + 1, first[1]));
    driver.press("k");
    assert_eq!(point(&driver), first);
    driver.press("G");
    let count = driver.app.compare_screen.sweep_state.axes[0].points.len();
    assert_eq!(point(&driver)[0], count - 1);
    driver.press("tab");
    assert_eq!(driver.app.compare_screen.focus, CompareFocus::List);
    let cells = driver.app.compare_screen.trade_offs();
    assert!(cells.len() > 1, "{cells:?}");
    driver.press("g");
    assert_eq!(driver.app.compare_screen.selected(), cells.first().copied());
    driver.press("j");
    assert_eq!(driver.app.compare_screen.selected(), cells.get(1).copied());
    driver.press("tab");
    assert_eq!(driver.app.compare_screen.focus, CompareFocus::Map);
    // The axes rotate: the second one becomes the first.
    let keys = |driver: &Driver| -> Vec<&str> {
        driver.app.compare_screen.sweep_state.axes.iter().map(clawscope::report::sweep::Axis::key).collect()
    };
    let before = keys(&driver);
    driver.press("v x");
    assert_eq!(keys(&driver), [before[1], before[0]]);
}

#[test]
fn the_palette_moves_by_rows_and_runs_the_one_under_the_cursor() {
    let mut driver = demo();
    let chosen = |driver: &Driver| -> Option<usize> {
        let Some(Overlay::Palette(palette)) = driver.app.overlay() else { return None };
        Some(palette.selected)
    };
    driver.press(": text:toggle");
    assert_eq!(chosen(&driver), Some(0));
    driver.press("down down");
    assert_eq!(chosen(&driver), Some(2));
    driver.press("up");
    assert_eq!(chosen(&driver), Some(1));
    driver.press("esc");
    assert!(driver.app.overlay().is_none());
}

#[test]
fn the_pause_before_a_call_and_the_time_that_the_ttl_counts_have_different_names() {
    let mut driver = Driver::demo(160, 45);
    driver.go_to("telegram:direct:8812");
    driver.press("p t end");
    let screen = text_of(&drawn(&driver.app, &dark()));
    assert!(screen.contains("idle 41m") && screen.contains("last run 54m ago"), "{screen}");
}

#[test]
fn without_presets_no_key_of_a_preset_is_offered() {
    let mut driver = Driver::demo(160, 45);
    driver.press(":presets");
    let screen = text_of(&drawn(&driver.app, &dark()));
    assert!(screen.contains("No presets yet") && !screen.contains("compare with it"), "{screen}");
}

#[test]
fn a_framed_cell_rounds_its_cost_instead_of_losing_a_digit() {
    let mut driver = Driver::demo(120, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("w o");
    let whole = text_of(&drawn(&driver.app, &dark()));
    assert!(whole.contains("~$24.89"), "{whole}");
    driver.press("left left");
    let screen = text_of(&drawn(&driver.app, &dark()));
    assert!(screen.contains("│~$24.9│"), "{screen}");
}

#[test]
fn a_record_has_names_beside_values_and_takes_clicks() {
    let mut driver = Driver::demo(80, 24);
    driver.go_to("telegram:direct:8812");
    driver.press(":record");
    let shown = text_of(&drawn(&driver.app, &dark()));
    let row = shown.lines().position(|line| line.contains("key ")).expect("the key");
    let line = shown.lines().nth(row).expect("a line");
    assert!(line.contains("key") && line.contains("agent:main:telegram:direct:8812"), "{shown}");
    let row = shown.lines().position(|line| line.contains("  kind ")).expect("the kind") as u16;
    let click = MouseEvent {
        kind: MouseEventKind::Down(MouseButton::Left),
        column: 20,
        row,
        modifiers: KeyModifiers::NONE,
    };
    driver.event(Event::Mouse(click));
    driver.press("y");
    assert_eq!(driver.copied, ["direct"]);
}

#[test]
fn the_palette_uses_the_width_for_whole_descriptions() {
    let mut driver = Driver::demo(130, 36);
    driver.press(": text:left");
    let shown = text_of(&drawn(&driver.app, &dark()));
    assert!(shown.contains("fold, scroll, previous call or cell, decrease"), "{shown}");
}
