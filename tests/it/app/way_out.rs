//! Changes of the branch that a person chooses: one message less, or another branch.

use clawscope::app::screens::explain::{ExplainRow, ExplainScreen};
use clawscope::app::state::{Overlay, WriteStage};
use clawscope::report::explain::Question;
use clawscope::session::overflow::CallState;
use clawscope::write::request::WritePreview;

use crate::support::driver::Driver;
use crate::support::store::{Store, refused_for_two_images};

/// A session that images stopped.
fn stuck() -> (Store, Driver) {
    let store = refused_for_two_images(2);
    let driver = Driver::at_path(store.path(), 130, 36);
    (store, driver)
}

fn bytes(store: &Store) -> Vec<u8> {
    std::fs::read(store.transcript()).expect("the transcript")
}

fn explained(driver: &Driver) -> &ExplainScreen {
    match driver.app.overlay() {
        Some(Overlay::Explain(screen)) => screen,
        other => panic!("{other:?}"),
    }
}

fn state(driver: &Driver) -> CallState {
    explained(driver).explanation().expect("read").state
}

/// The confirmed preview of the dialog.
fn preview(driver: &Driver) -> &WritePreview {
    let Some(Overlay::Write(dialog)) = driver.app.overlay() else { panic!("{:?}", driver.app.overlay()) };
    let WriteStage::Confirming(preview) = &dialog.stage else { panic!("{:?}", dialog.stage) };
    preview
}

fn promised(driver: &Driver) -> (String, u64) {
    let effect = preview(driver).effect.clone().expect("a change by hand");
    (effect.description, effect.prompt_tokens.1)
}

fn next_prompt(driver: &Driver) -> u64 {
    driver.app.displayed_session().expect("a session").next_prompt.total.tokens
}

fn leaf(driver: &Driver) -> String {
    let session = driver.app.displayed_session().expect("a session");
    session.index.display_id(session.context.messages.last().expect("a message").entry)
}

/// Moves the cursor of the transcript up to an entry.
fn go_to(driver: &mut Driver, name: &str) {
    driver.press("2 G");
    for _ in 0..100 {
        let session = driver.app.displayed_session().expect("a session");
        if driver.app.selected_entry().is_some_and(|ix| session.index.display_id(ix) == name) {
            return;
        }
        driver.press("k");
    }
    panic!("no row for {name}");
}

#[test]
fn enter_on_a_way_out_drops_the_message_and_u_takes_it_back() {
    let (store, mut driver) = stuck();
    let old = bytes(&store);
    driver.press("e");
    assert_eq!(
        (state(&driver), explained(&driver).selected()),
        (CallState::Refused, Some(ExplainRow::of(Question::WaysOut, 0)))
    );
    driver.press("y");
    let place = format!("--store {}", store.path().display());
    assert_eq!(driver.copied, [format!("clawscope commit agent:main:main --drop image-0 {place}")]);
    driver.press("enter");
    let (description, tokens) = promised(&driver);
    assert!(description.starts_with("image-0: removes the images of 1 message"), "{description}");
    assert!(tokens < next_prompt(&driver));
    driver.press("enter n");
    assert_eq!(bytes(&store), old, "only y writes");
    driver.press("enter y");
    let new = bytes(&store);
    assert!(new.starts_with(&old) && new.len() > old.len(), "nothing is rewritten");
    assert_eq!((state(&driver), next_prompt(&driver)), (CallState::Healthy, tokens), "the promise holds");
    driver.press("u y");
    assert_eq!(state(&driver), CallState::Refused);
    assert!(bytes(&store).starts_with(&new));
}

#[test]
fn the_second_way_out_makes_the_branch_before_the_message_active() {
    let (store, mut driver) = stuck();
    let old = bytes(&store);
    driver.press("e j enter");
    let (description, tokens) = promised(&driver);
    assert!(description.starts_with("answer-2:") && preview(&driver).is_switch(), "{description}");
    driver.press("y");
    assert!(bytes(&store).starts_with(&old), "nothing is rewritten");
    assert_eq!((state(&driver), next_prompt(&driver)), (CallState::Healthy, tokens), "the promise holds");
    assert_eq!(leaf(&driver), "answer-2");
    driver.press("u y");
    assert_eq!(state(&driver), CallState::Refused);
}

#[test]
fn the_message_under_the_cursor_is_dropped_or_becomes_the_last_one() {
    let (store, mut driver) = stuck();
    let (old, last) = (bytes(&store), leaf(&driver));
    for (keys, wanted) in [("alt-c", "answer-1: "), ("delete", "answer-1: leaves out 1 message")] {
        go_to(&mut driver, "answer-1");
        driver.press(keys);
        assert!(promised(&driver).0.starts_with(wanted), "{:?}", promised(&driver));
        driver.press("y");
        assert!(driver.app.overlay().is_none(), "{:?}", driver.app.overlay());
        let session = driver.app.displayed_session().expect("a session");
        let names: Vec<String> =
            session.context.messages.iter().map(|it| session.index.display_id(it.entry)).collect();
        assert_eq!(names.last().is_some_and(|name| name == "answer-1"), keys == "alt-c", "{names:?}");
        assert_eq!(names.iter().any(|name| name == "answer-1"), keys == "alt-c", "{names:?}");
        driver.press("u y");
        assert_eq!(leaf(&driver), last);
    }
    assert!(bytes(&store).starts_with(&old), "nothing is rewritten");
}

#[test]
fn the_palette_offers_both_changes() {
    let (_store, mut driver) = stuck();
    go_to(&mut driver, "image-0");
    driver.press(": text:drop-message enter y");
    driver.press("u y");
    go_to(&mut driver, "answer-0");
    driver.press(": text:branch-here enter y");
    assert_eq!(leaf(&driver), "answer-0");
}

#[test]
fn a_change_that_changes_nothing_is_refused_with_the_reason() {
    let (store, mut driver) = stuck();
    let old = bytes(&store);
    driver.press("2 G alt-c");
    let Some(Overlay::Write(dialog)) = driver.app.overlay() else { panic!("no dialog") };
    assert!(
        matches!(&dialog.stage, WriteStage::Refused(why) if why.contains("nothing")),
        "{:?}",
        dialog.stage
    );
    driver.press("n e alt-c");
    assert!(
        matches!(driver.app.overlay(), Some(Overlay::Explain(_))),
        "the cursor of the transcript is hidden"
    );
    assert_eq!(bytes(&store), old);
}
