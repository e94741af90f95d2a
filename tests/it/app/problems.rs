//! The problems of the whole store.

use clawscope::app::effect::Effect;
use clawscope::app::event::Event;
use clawscope::app::screens::Overlay;
use clawscope::app::screens::problems::ProblemsUpdate;
use clawscope::diagnostic::{Diagnostic, Severity};
use clawscope::ids::SessionKey;
use clawscope::session::store_problems::SessionProblems;

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
    assert!(text.contains("in 13 transcripts"), "{text}");
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
fn the_list_is_the_same_whichever_session_is_open() {
    let mut driver = Driver::demo(130, 36);
    driver.press("v !");
    let listed =
        |driver: &Driver| driver.app.problems().map(|(found, _)| found.to_string()).collect::<Vec<_>>();
    let mut first = listed(&driver);
    driver.press("esc 1 j j j j j enter v !");
    let mut second = listed(&driver);
    first.sort();
    second.sort();
    assert_eq!(first, second);
    second.dedup();
    assert_eq!(first.len(), second.len(), "each problem once");
}

#[test]
fn a_problem_is_an_alert_and_not_a_refusal() {
    let mut driver = Driver::demo(130, 36);
    driver.press("v !");
    let text = text_of(&drawn(&driver.app, &dark()));
    assert!(!text.contains('✗'), "{text}");
}

#[test]
fn the_cursor_stays_on_its_problem_while_transcripts_are_read() {
    let mut driver = Driver::demo(130, 20);
    let effects = driver.key_effects("v !");
    let [Effect::FindProblems { request_id }] = effects[..] else { panic!("{effects:?}") };
    let found = |severity, names: std::ops::Range<usize>| {
        let problem =
            |at| Diagnostic::new(format!("/store/{at}.jsonl"), severity, format!("problem {at}"), "look");
        let diagnostics = names.map(problem).collect();
        let sessions = vec![SessionProblems {
            key: SessionKey("agent:x".to_owned()),
            diagnostics,
            has_transcript: true,
        }];
        Event::Problems { request_id, update: ProblemsUpdate::Found(sessions) }
    };
    driver.event(found(Severity::Warning, 0..30));
    driver.press("G k k");
    let place = |driver: &Driver| {
        let Some(Overlay::Problems(screen)) = driver.app.overlay() else { panic!("no problems") };
        let (problem, _) = driver.app.problems().nth(screen.scroll.cursor).expect("a row");
        (problem.to_string(), screen.scroll.cursor - screen.scroll.top)
    };
    let before = place(&driver);
    driver.event(found(Severity::Error, 30..40));
    assert_eq!(place(&driver), before, "worse problems are listed above");
}
