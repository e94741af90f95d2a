//! The estimators and their table.

use clawscope::app::effect::Effect;
use clawscope::app::event::Event;
use clawscope::app::layout::Pane;
use clawscope::app::screens::estimators::EstimatesState;
use clawscope::ids::Epoch;

use crate::support::driver::Driver;

/// The estimators over the Chinese session.
fn estimators() -> Driver {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("feishu:direct:ou_3f7c21ab");
    driver.press("E");
    driver
}

#[test]
fn estimators_open_at_the_last_call_and_enter_opens_its_answer() {
    let mut driver = estimators();
    let calls = driver.app.estimators().expect("open").calls().len();
    assert!(calls > 20, "{calls} calls");
    assert_eq!(driver.app.estimators().expect("open").scroll.cursor, calls - 1);
    driver.press("g j j");
    let entry = driver.app.estimators().and_then(|view| view.selected()).expect("a call").entry;
    driver.press("enter");
    assert!(driver.app.overlay().is_none());
    assert_eq!(driver.app.focus, Pane::Transcript);
    let row = driver.app.transcript.as_ref().and_then(|pane| pane.selected().copied()).expect("a row");
    assert_eq!(row.entry, entry);
}

#[test]
fn a_page_of_the_estimators_is_a_page_of_their_table() {
    let mut driver = estimators();
    driver.press("g pgdn");
    let page = driver.app.estimators().expect("open").scroll.cursor;
    assert!((5..30).contains(&page), "{page} rows");
    driver.press("pgup");
    assert_eq!(driver.app.estimators().expect("open").scroll.cursor, 0);
}

#[test]
fn a_copied_call_includes_every_estimate() {
    let mut driver = estimators();
    driver.press("y");
    let line = driver.copied.last().expect("a line");
    assert!(line.contains("counted") && line.contains("pi ~") && line.contains("calibrated ~"), "{line}");
    driver.press("E");
    assert!(driver.app.overlay().is_none());
}

#[test]
fn estimates_of_another_session_are_dropped_and_closing_stops_them() {
    let mut driver = estimators();
    let Some(EstimatesState::Done(estimates)) = driver.app.estimators().map(|view| view.state.clone()) else {
        panic!("estimates")
    };
    driver.press("esc");
    driver.go_to("slack:channel:c07infra");
    let requested = driver.key_effects("E");
    assert!(requested.iter().any(|effect| matches!(effect, Effect::ComputeEstimates { .. })));
    let old = Epoch::default();
    driver.effects(Event::Estimates { epoch: old, estimates: Ok(estimates) });
    assert!(driver.app.estimators().expect("open").calls().is_empty(), "an older reading");
    let closed = driver.key_effects("esc");
    assert!(closed.iter().any(|effect| matches!(effect, Effect::StopEstimates)));
}

#[test]
fn a_growing_session_is_estimated_again_and_the_cursor_follows() {
    let mut driver = estimators();
    let before = driver.app.estimators().expect("open").calls().len();
    let session = driver.app.displayed_session().expect("a session");
    let leaf = session.index.display_id(session.context.leaf.expect("a leaf"));
    driver.append(&format!(
        r#"{{"type":"message","id":"new1","parentId":"{leaf}","timestamp":"2026-03-05T15:00:00Z","message":{{"role":"assistant","content":[{{"type":"text","text":"好"}}],"stopReason":"stop","usage":{{"input":110000,"output":3,"cacheRead":0,"cacheWrite":0,"totalTokens":110003}}}}}}"#
    ));
    let path = driver.path();
    driver.event(Event::FilesChanged(vec![path]));
    let view = driver.app.estimators().expect("open");
    assert_eq!((view.calls().len(), view.scroll.cursor), (before + 1, before));
    assert_eq!(view.selected().expect("the new call").measured, 110_000);
}
