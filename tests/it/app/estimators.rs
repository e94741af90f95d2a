//! The block of the estimators in the explanation.

use std::sync::Arc;

use clawscope::app::effect::Effect;
use clawscope::app::event::Event;
use clawscope::app::layout::Pane;
use clawscope::app::screens::explain::{ExplainBlock, ExplainRow, ExplainScreen, FoldedReport};
use clawscope::doc::{Doc, Row};
use clawscope::ids::Epoch;
use clawscope::report::estimators::Estimator;
use clawscope::report::explain::Question;

use crate::support::driver::Driver;

fn explanation(driver: &Driver) -> &ExplainScreen {
    driver.app.explain_screen().expect("open")
}

/// The rows of the counted calls; none while the block is folded.
fn calls(driver: &Driver) -> Vec<Row> {
    let doc = explanation(driver).estimators.shown();
    doc.into_iter().flat_map(Doc::rows).filter(|row| row.entry.is_some()).cloned().collect()
}

/// The number of estimators, whose rows are above those of the calls.
const ESTIMATORS: usize = 5;

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
    assert_eq!(explanation(&driver).selected(), Some(ExplainRow::Headline(FoldedReport::Estimators)));
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
    assert!(explanation(&driver).estimators.shown().is_none());
    assert!(computes(&driver.key_effects("enter")));
    assert!(stops(&driver.key_effects("enter")), "folded again");
    assert!(computes(&driver.key_effects("enter")));
    assert!(stops(&driver.key_effects("esc")), "closed");
}

#[test]
fn enter_on_a_counted_call_opens_its_answer() {
    let mut driver = estimators();
    let calls = calls(&driver);
    assert!(calls.len() > 20, "{} calls", calls.len());
    let last = ExplainRow::Line(ExplainBlock::Folded(FoldedReport::Estimators), ESTIMATORS + calls.len() - 1);
    assert_eq!(explanation(&driver).selected(), Some(last));
    driver.press("k k");
    let entry = calls[calls.len() - 3].entry;
    driver.press("enter");
    assert!(driver.app.overlay().is_none());
    assert_eq!(driver.app.focus, Pane::Transcript);
    let row = driver.app.transcript.as_ref().and_then(|pane| pane.selected().copied()).expect("a row");
    assert_eq!(Some(row.entry), entry);
}

#[test]
fn a_copied_call_names_its_count_and_the_error_of_each_estimator() {
    let mut driver = estimators();
    driver.press("y");
    let line = driver.copied.last().expect("a line");
    assert_eq!((line.matches('%').count(), line.split("  ").count()), (ESTIMATORS, ESTIMATORS + 2), "{line}");
}

#[test]
fn estimates_of_another_reading_are_dropped() {
    let mut driver = estimators();
    let doc = explanation(&driver).estimators.shown().expect("estimates").clone();
    driver.press("esc");
    driver.go_to("slack:channel:c07infra");
    driver.press("e G");
    assert!(computes(&driver.key_effects("enter")));
    let report = FoldedReport::Estimators;
    driver.effects(Event::FoldedReport { epoch: Epoch::default(), report, doc: Ok(Arc::new(doc)) });
    assert!(calls(&driver).is_empty(), "an older reading");
}

#[test]
fn a_growing_session_is_estimated_again() {
    let mut driver = estimators();
    let before = calls(&driver).len();
    let session = driver.app.displayed_session().expect("a session");
    let leaf = session.index.display_id(session.context.leaf.expect("a leaf"));
    driver.append(&format!(
        r#"{{"type":"message","id":"new1","parentId":"{leaf}","timestamp":"2026-03-05T15:00:00Z","message":{{"role":"assistant","content":[{{"type":"text","text":"好"}}],"stopReason":"stop","usage":{{"input":110000,"output":3,"cacheRead":0,"cacheWrite":0,"totalTokens":110003}}}}}}"#
    ));
    let path = driver.path();
    driver.event(Event::FilesChanged(vec![path]));
    assert_eq!(calls(&driver).len(), before + 1);
    assert!(calls(&driver).last().is_some_and(|call| call.text().contains("110,000")));
}

#[test]
fn an_estimate_has_the_same_name_and_size_in_explain_and_in_the_table_of_estimators() {
    let mut driver = Driver::demo(130, 60);
    driver.go_to("telegram:direct:8812");
    driver.press("e");
    let screen = explanation(&driver);
    let count = |name: &str| {
        let counts = screen.doc(ExplainBlock::Answer(Question::Counts)).expect("counts");
        let row = counts.rows().find(|row| row.title() == name).map(Row::text);
        row.unwrap_or_else(|| panic!("no {name}"))
    };
    let chars4 = count(Estimator::Pi.label());
    count(Estimator::Calibrated.label());
    driver.press("G enter");
    let table = explanation(&driver).estimators.shown().expect("estimates");
    let row = table.rows().find(|row| row.title() == Estimator::Pi.label()).map(Row::text).expect("chars/4");
    assert!(row.contains("~169,359") && chars4.contains("~169,359"), "{row} and {chars4}");
    let guide = clawscope::guide::TOPICS.iter().find(|topic| topic.name == "context").expect("a page").text;
    for estimator in Estimator::ALL {
        assert!(guide.contains(&format!("\n| {} |", estimator.label())), "{}", estimator.label());
    }
}
