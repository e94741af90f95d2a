//! The problems of the whole store.

use clawscope::app::screens::Overlay;

use crate::frames::{dark, drawn, text_of};
use crate::support::driver::Driver;

#[test]
fn problems_of_every_session_are_listed_and_enter_opens_the_session_at_the_entry() {
    let mut driver = Driver::demo(130, 36);
    driver.press("v !");
    let open = driver.app.displayed_session().expect("a session").item.key.clone();
    let problems = driver.app.problems().map(|(found, key)| (found.clone(), key.cloned()));
    let problems: Vec<_> = problems.collect();
    let is_elsewhere = |(found, key): &(clawscope::diagnostic::Diagnostic, Option<_>)| {
        key.as_ref().is_some_and(|key| *key != open) && found.line.is_some() && found.subject.is_some()
    };
    let at = problems.iter().position(is_elsewhere).expect("a problem of another session");
    let (found, key) = &problems[at];
    let text = text_of(&drawn(&driver.app, &dark()));
    assert!(text.contains("in 13 transcripts") || text.contains("in 14 transcripts"), "{text}");
    for _ in 0..at {
        driver.press("j");
    }
    driver.press("enter");
    assert!(driver.app.overlay().is_none());
    let pane = driver.app.transcript.as_ref().expect("a transcript");
    assert_eq!(Some(&pane.session.item.key), key.as_ref());
    let entry = driver.app.selected_entry().expect("a row");
    assert_eq!(Some(pane.session.index.display_id(entry)), found.subject);
    driver.press("<");
    assert!(matches!(driver.app.overlay(), Some(Overlay::Problems(_))), "back to the problems");
}

#[test]
fn a_problem_is_an_alert_and_not_a_refusal() {
    let mut driver = Driver::demo(130, 36);
    driver.press("v !");
    let text = text_of(&drawn(&driver.app, &dark()));
    assert!(!text.contains('✗'), "{text}");
}
