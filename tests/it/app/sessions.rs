//! The list of sessions, its filter, and quitting.

use clawscope::app::layout::Pane;
use clawscope::session::Mark;

use crate::support::driver::Driver;

#[test]
fn the_newest_session_is_open_at_its_last_row() {
    let driver = Driver::demo(130, 36);
    let live =
        driver.app.sessions.items.iter().filter(|item| !item.has(Mark::Missing) && !item.has(Mark::Orphan));
    let newest = live
        .filter(|item| !item.marks.iter().any(|mark| mark.is_archive()))
        .filter_map(|item| item.updated_ms)
        .max();
    let session = driver.app.displayed_session().expect("a session");
    assert_eq!(session.item.updated_ms, newest);
    let pane = driver.app.transcript.as_ref().expect("a transcript");
    assert_eq!(pane.scroll.cursor + 1, pane.rows.len());
    assert!(pane.follow);
    assert!(pane.rows.iter().skip(pane.scroll.top).all(|row| pane.excerpts.contains_key(&row.entry)));
}

#[test]
fn a_configuration_that_the_gateway_refuses_is_reported_on_the_screen_with_line_and_column() {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::create_dir_all(dir.path().join("agents/main/sessions")).expect("folders");
    let mut file = std::fs::File::create(dir.path().join("openclaw.json")).expect("a file");
    std::io::Write::write_all(&mut file, b"{\n session: { scope: 'all' } }").expect("written");
    let driver = Driver::on(dir, 130, 36);
    let toast = driver.app.toast.as_ref().expect("a word");
    assert!(
        toast.is_error && toast.text.contains("openclaw.json:2:13: session.scope: expected"),
        "{}",
        toast.text
    );
    let listing = driver.app.listing.as_ref().expect("a list");
    assert!(listing.config_error.is_some() && !listing.findings.is_empty());
}

#[test]
fn typing_a_filter_narrows_the_sessions_and_enter_opens_the_match() {
    let mut driver = Driver::demo(130, 36);
    let all = driver.app.sessions.session_count();
    driver.press("1 / text:slack");
    assert!(driver.app.sessions.session_count() < all);
    driver.press("enter");
    assert!(driver.app.displayed_session().expect("a session").item.key.0.contains("slack"));
    assert_eq!(driver.app.focus, Pane::Transcript);
}

#[test]
fn the_first_esc_clears_the_filter_and_the_second_leaves_it() {
    let mut driver = Driver::demo(130, 36);
    let all = driver.app.sessions.session_count();
    driver.press("1 / text:zzzzqq");
    assert_eq!(driver.app.sessions.session_count(), 0);
    driver.press("esc");
    assert_eq!((driver.app.sessions.session_count(), driver.app.input.is_some()), (all, true));
    driver.press("esc");
    assert!(driver.app.input.is_none());
}

#[test]
fn moving_over_the_sessions_opens_each() {
    let mut driver = Driver::demo(130, 36);
    let shown = |driver: &Driver| driver.app.displayed_session().map(|session| session.item.key.clone());
    driver.press("1 G");
    let last = shown(&driver).expect("a session");
    driver.press("k");
    assert_ne!(shown(&driver).expect("a session"), last);
}

#[test]
fn a_session_that_is_not_written_yet_says_so() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:9020");
    assert!(driver.app.transcript.is_none());
    let (_, error) = driver.app.open_error.as_ref().expect("a reason");
    assert!(error.contains("does not exist yet"), "{error}");
}

#[test]
fn overflowed_sessions_are_marked() {
    let driver = Driver::demo(130, 36);
    driver.app.displayed_session().expect("a session");
    let mut driver = driver;
    driver.go_to("telegram:direct:8812");
    let item = &driver.app.displayed_session().expect("a session").item;
    assert!(item.has(Mark::Overflow), "{:?}", item.marks);
}

#[test]
fn q_quits_and_esc_at_the_top_does_not() {
    let mut driver = Driver::demo(80, 24);
    driver.press("esc esc esc esc");
    assert!(!driver.quit);
    driver.press("q");
    assert!(driver.quit);
}

#[test]
fn no_sequence_of_keys_panics_at_any_size() {
    let keys = "j k l h enter d r w T esc 1 j / a esc esc 4 j j l L h H 0 c e esc y 3 j G g d space esc 2 space - + f ctrl-n ctrl-n } { ] [ J K n N ! j esc ? j esc : esc p i m B j G + - h l space g enter B y esc F F R z tab tab tab";
    for (width, height) in [(1, 1), (10, 3), (60, 20), (80, 24), (130, 36), (300, 100)] {
        let mut driver = Driver::demo(width, height);
        driver.press(keys);
    }
}
