//! Commits and undos from the screen.

use clawscope::app::effect::Effect;
use clawscope::app::state::{Overlay, WriteStage};
use clawscope::app::target::Target;

use super::tuned;
use crate::frames::{dark, drawn, text_of};
use crate::support::driver::{self, Driver};

#[test]
fn a_commit_is_confirmed_written_and_undone_without_touching_an_old_byte() {
    let mut driver = tuned();
    let old = std::fs::read(driver.path()).expect("the transcript");
    let (before, after) = {
        let (plan, session) = (driver.app.preview.plan.as_ref(), driver.app.displayed_session());
        let (plan, session) = (plan.expect("a plan"), session.expect("a session"));
        (session.next_prompt.total.tokens, session.prompt_tokens_after(plan))
    };
    assert_eq!(last_total(&driver), after, "the rows add up to the bar");
    let planned = driver.app.transcript.as_ref().expect("a transcript").tokens.clone();
    driver.press("2 end c");
    let Some(Overlay::Write(dialog)) = driver.app.overlay() else { panic!("no dialog") };
    let WriteStage::Confirming(shown) = &dialog.stage else { panic!("{:?}", dialog.stage) };
    assert!(shown.entries > 1);
    assert_eq!(std::fs::read(driver.path()).expect("the transcript"), old, "asking writes nothing");
    driver.press("enter");
    assert!(driver.app.overlay().is_some(), "enter decides nothing");
    driver.press("y");
    assert!(driver.app.overlay().is_none(), "{:?}", driver.app.overlay());
    let new = std::fs::read(driver.path()).expect("the transcript");
    assert!(new.starts_with(&old) && new.len() > old.len());
    assert_eq!(last_total(&driver), after);
    let written = &driver.app.transcript.as_ref().expect("a transcript").tokens;
    let same = written.iter().zip(&planned).filter(|(written, planned)| written.abs_diff(**planned) <= 4);
    assert_eq!((written.len(), same.count()), (planned.len(), planned.len()), "{written:?} {planned:?}");
    driver.press("u y");
    assert!(driver.app.overlay().is_none(), "{:?}", driver.app.overlay());
    assert_eq!(last_total(&driver), before);
    let pane = driver.app.transcript.as_ref().expect("a transcript");
    assert_eq!(pane.scroll.cursor + 1, pane.rows.len(), "the cursor stays on the last row");
    assert!(std::fs::read(driver.path()).expect("the transcript").starts_with(&new));
}

#[test]
fn going_back_from_the_diff_of_a_commit_leads_to_its_question() {
    let mut driver = tuned();
    driver.press("2 c d");
    assert!(driver.app.overlay().is_none() && driver.app.zoom);
    driver.press("esc");
    let Some(Overlay::Write(dialog)) = driver.app.overlay() else { panic!("no question") };
    assert!(matches!(dialog.stage, WriteStage::Confirming(_)), "{:?}", dialog.stage);
    driver.press("n 3 z esc");
    assert!(driver.app.overlay().is_none(), "only the way back from that diff");
}

/// The prompt up to the last row.
fn last_total(driver: &Driver) -> u64 {
    *driver.app.transcript.as_ref().expect("a transcript").running_totals.last().expect("rows")
}

#[test]
fn the_list_of_branches_has_the_numbers_of_the_dialog() {
    let mut driver = tuned();
    driver.press("2 c");
    let session = driver.app.displayed_session().expect("a session").clone();
    let plan = driver.app.preview.plan.clone().expect("a plan");
    let shown = (session.next_prompt.total.tokens, session.prompt_tokens_after_commit(&plan, None));
    let numbers = [shown.0, shown.1].map(clawscope::format::format_short);
    let dialog = text_of(&drawn(&driver.app, &dark()));
    assert!(numbers.iter().all(|number| dialog.contains(number)), "{numbers:?} in {dialog}");
    driver.press("y b");
    let Some(Overlay::Branches(screen)) = driver.app.overlay() else { panic!("no list") };
    let newest = screen.rows()[0];
    let listed = [newest.prompt_tokens_before, newest.prompt_tokens_after];
    let [before, after] = listed.map(|tokens| tokens.expect("a number").whole());
    assert_eq!((before, after), shown);
    let list = text_of(&drawn(&driver.app, &dark()));
    let [before, after] = [before, after].map(clawscope::format::format_number);
    assert!(list.contains(&format!("{before} → ~{after}")), "{list}");
    assert!(list.contains("next prompt"), "{list}");
}

#[test]
fn a_commit_from_the_failed_call_says_that_it_is_for_the_next_call() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("p c");
    let screen = text_of(&drawn(&driver.app, &dark()));
    assert!(screen.contains("nothing to write for the next call: ttl not over (4m of 1h)"), "{screen}");
    driver.press("4 i a a");
    assert_eq!(driver.app.target, Target::FailedCall);
    driver.press("c");
    let dialog = text_of(&drawn(&driver.app, &dark()));
    assert!(dialog.contains("the next call, not the failed call"), "{dialog}");
    driver.press("n c");
    let dialog = text_of(&drawn(&driver.app, &dark()));
    assert!(dialog.contains("next prompt") && !dialog.contains("not the failed call"), "{dialog}");
}

#[test]
fn n_closes_the_dialog_without_writing() {
    let mut driver = tuned();
    let old = std::fs::read(driver.path()).expect("the transcript");
    driver.press("2 c n");
    assert!(driver.app.overlay().is_none());
    assert_eq!(std::fs::read(driver.path()).expect("the transcript"), old);
}

#[test]
fn a_file_that_changed_since_it_was_read_is_refused() {
    let mut driver = tuned();
    driver.press("2 c");
    let line = "{\"type\":\"custom\",\"customType\":\"x\",\"data\":{},\"id\":\"ffffffff\",\"parentId\":null,\"timestamp\":\"2026-03-05T14:06:41.000Z\"}\n";
    driver::append_to(&driver.path(), line);
    driver.press("y");
    let Some(Overlay::Write(dialog)) = driver.app.overlay() else { panic!("no dialog") };
    assert!(matches!(&dialog.stage, WriteStage::Refused(_)), "{:?}", dialog.stage);
}

#[test]
fn a_small_dialog_shows_its_last_warning_and_what_was_written_meanwhile() {
    let mut driver = Driver::demo(80, 24);
    driver.go_to("telegram:direct:8812");
    driver.press("2 plan c");
    let Some(Overlay::Write(dialog)) = driver.app.overlay() else { panic!("no dialog") };
    let WriteStage::Confirming(preview) = &dialog.stage else { panic!("{:?}", dialog.stage) };
    let last = preview.checks.last().expect("a check").1.split(' ').next_back().expect("words").to_owned();
    let shown = text_of(&drawn(&driver.app, &dark()));
    let keys = shown.lines().position(|line| line.contains("write branch")).expect("the keys");
    let before = shown.lines().nth(keys - 2).expect("a line");
    assert!(before.contains(&last), "{last}: {shown}");
    assert!(shown.contains("unchanged since"), "{shown}");
    driver
        .append("{\"type\":\"custom\",\"id\":\"aaaa0001\",\"parentId\":\"38012ce2\",\"customType\":\"x\"}\n");
    let shown = text_of(&drawn(&driver.app, &dark()));
    assert!(shown.contains("grew by 1 entry since") && !shown.contains("unchanged since"), "{shown}");
}

#[test]
fn the_verdict_of_a_branch_ends_with_the_write_that_leaves_it() {
    let mut driver = tuned();
    driver.press("2 c y e");
    let screen = |driver: &Driver| text_of(&drawn(&driver.app, &dark()));
    let explained =
        |driver: &Driver| matches!(driver.app.overlay(), Some(Overlay::Explain(it)) if it.result.is_some());
    assert!(explained(&driver));
    let old = driver.app.displayed_session().expect("a session").clone();
    driver.press("u");
    let mut reading = Vec::new();
    for effect in driver.key_effects("y") {
        for event in driver.events_of(effect) {
            reading.extend(driver.effects(event));
        }
    }
    assert!(driver.app.opening.awaits_write && !explained(&driver), "{}", screen(&driver));
    assert!(screen(&driver).contains("Reading…"));
    // An explanation of the old branch that comes late is not shown either.
    let late = driver.events_of(Effect::Explain { session: old });
    for event in late {
        driver.event(event);
    }
    assert!(!explained(&driver), "{}", screen(&driver));
    driver.press("esc");
    assert!(
        screen(&driver).contains("reading…") && !screen(&driver).contains("fits now"),
        "{}",
        screen(&driver)
    );
    driver.press("e");
    driver.perform(reading);
    assert!(!driver.app.opening.awaits_write && explained(&driver));
    driver.press("esc");
    assert!(
        screen(&driver).contains("overflow") && !screen(&driver).contains("fits now"),
        "{}",
        screen(&driver)
    );
}

#[test]
fn the_header_says_that_the_call_fits_after_a_commit_only() {
    let mut driver = tuned();
    let header = |driver: &Driver| text_of(&drawn(&driver.app, &dark()));
    driver.press("2 c y");
    assert!(header(&driver).contains("fits now"), "{}", header(&driver));
    driver.press("u y");
    assert!(!header(&driver).contains("fits now"), "{}", header(&driver));
}
