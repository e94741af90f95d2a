//! The block of the estimators in the explanation.

use clawscope::app::effect::Effect;
use clawscope::app::event::Event;
use clawscope::app::layout::Pane;
use clawscope::app::screens::explain::estimators::{EstimatesState, EstimatorsBlock};
use clawscope::app::screens::explain::{ExplainRow, ExplainScreen};
use clawscope::ids::Epoch;

use crate::support::driver::Driver;

fn explanation(driver: &Driver) -> &ExplainScreen {
    driver.app.explain_screen().expect("open")
}

fn block(driver: &Driver) -> &EstimatorsBlock {
    &explanation(driver).estimators
}

fn computes(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| matches!(effect, Effect::ComputeEstimates { .. }))
}

fn stops(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| matches!(effect, Effect::StopEstimates))
}

/// The folded estimators of the Chinese session.
fn folded() -> Driver {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("feishu:direct:ou_3f7c21ab");
    driver.press("e G");
    assert_eq!(explanation(&driver).selected(), Some(ExplainRow::Estimators));
    driver
}

/// The estimators, with the cursor on the last call.
fn estimators() -> Driver {
    let mut driver = folded();
    driver.press("enter G");
    driver
}

#[test]
fn messages_are_read_only_while_the_block_is_open() {
    let mut driver = folded();
    assert!(block(&driver).estimates().is_none());
    assert!(computes(&driver.key_effects("enter")));
    assert!(stops(&driver.key_effects("enter")), "folded again");
    assert!(computes(&driver.key_effects("enter")));
    assert!(stops(&driver.key_effects("esc")), "closed");
}

#[test]
fn enter_on_a_counted_call_opens_its_answer() {
    let mut driver = estimators();
    let calls = block(&driver).calls().len();
    assert!(calls > 20, "{calls} calls");
    assert_eq!(explanation(&driver).selected(), Some(ExplainRow::CountedCall(calls - 1)));
    driver.press("k k");
    let entry = block(&driver).calls()[calls - 3].entry;
    driver.press("enter");
    assert!(driver.app.overlay().is_none());
    assert_eq!(driver.app.focus, Pane::Transcript);
    let row = driver.app.transcript.as_ref().and_then(|pane| pane.selected().copied()).expect("a row");
    assert_eq!(row.entry, entry);
}

#[test]
fn a_copied_call_includes_every_estimate() {
    let mut driver = estimators();
    driver.press("y");
    let line = driver.copied.last().expect("a line");
    assert!(line.contains("counted") && line.contains("pi ~") && line.contains("calibrated ~"), "{line}");
}

#[test]
fn estimates_of_another_reading_are_dropped() {
    let mut driver = estimators();
    let EstimatesState::Done(estimates) = block(&driver).state.clone() else { panic!("estimates") };
    driver.press("esc");
    driver.go_to("slack:channel:c07infra");
    driver.press("e G");
    assert!(computes(&driver.key_effects("enter")));
    driver.effects(Event::Estimates { epoch: Epoch::default(), estimates: Ok(estimates) });
    assert!(block(&driver).calls().is_empty(), "an older reading");
}

#[test]
fn a_growing_session_is_estimated_again() {
    let mut driver = estimators();
    let before = block(&driver).calls().len();
    let session = driver.app.displayed_session().expect("a session");
    let leaf = session.index.display_id(session.context.leaf.expect("a leaf"));
    driver.append(&format!(
        r#"{{"type":"message","id":"new1","parentId":"{leaf}","timestamp":"2026-03-05T15:00:00Z","message":{{"role":"assistant","content":[{{"type":"text","text":"好"}}],"stopReason":"stop","usage":{{"input":110000,"output":3,"cacheRead":0,"cacheWrite":0,"totalTokens":110003}}}}}}"#
    ));
    let path = driver.path();
    driver.event(Event::FilesChanged(vec![path]));
    assert_eq!(block(&driver).calls().len(), before + 1);
    assert_eq!(block(&driver).calls().last().map(|call| call.measured), Some(110_000));
}
