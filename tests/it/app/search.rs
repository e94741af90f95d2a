//! The search over every session: typing, moving, opening a hit and coming back.

use clawscope::app::effect::Effect;
use clawscope::app::event::Event;
use clawscope::app::screens::Overlay;
use clawscope::app::screens::search::StoreSearchUpdate;
use clawscope::app::state::InputPurpose;
use clawscope::session::search::SearchTotals;

use crate::frames::{dark, drawn, text_of};
use crate::support::driver::Driver;

fn is_searching(driver: &Driver) -> bool {
    matches!(driver.app.overlay(), Some(Overlay::Search))
}

fn searched(words: &str) -> Driver {
    let mut driver = Driver::demo(140, 40);
    driver.press(&format!("ctrl-f {words}"));
    driver
}

#[test]
fn hits_appear_while_typing() {
    let mut driver = Driver::demo(140, 40);
    driver.press("ctrl-f");
    assert_eq!(driver.app.input.as_ref().map(|input| input.purpose), Some(InputPurpose::StoreSearch));
    driver.press("l");
    assert!(driver.app.search_screen.sessions.is_empty());
    driver.press("text:ibatomic");
    let screen = &driver.app.search_screen;
    assert_eq!(screen.sessions[0].key.0, "agent:main:telegram:direct:8812");
    assert!(screen.hit_count() > screen.sessions[0].count && !screen.is_running);
    driver.press("text:zzz");
    assert!(driver.app.search_screen.sessions.is_empty());
}

#[test]
fn the_search_opens_from_every_screen() {
    let mut driver = Driver::demo(140, 40);
    driver.pause_sweeps();
    for screen in ["1", "2", "3", "4", "t", "w", "?"] {
        driver.press(&format!("2 {screen} ctrl-f"));
        assert!(is_searching(&driver), "{screen}");
        driver.press("esc esc esc");
    }
}

#[test]
fn enter_opens_the_session_at_the_hit_and_esc_returns_to_it() {
    let mut driver = searched("text:libatomic enter j");
    assert!(driver.app.input.is_none() && is_searching(&driver));
    let (session, hit) = driver.app.search_screen.selected_hit().expect("a hit");
    let (key, id, count) = (session.key.clone(), hit.id.clone(), session.count);
    driver.press("enter");
    let pane = driver.app.transcript.as_ref().expect("a session");
    assert!(driver.app.overlay().is_none());
    assert_eq!(pane.session.item.key, key);
    let entry = driver.app.selected_entry().expect("a row");
    assert_eq!(pane.session.index.display_id(entry), id);
    assert!(driver.app.message.current_match.is_some());
    assert_eq!(pane.matches.len(), count, "the search inside the session counts the same");
    driver.press("esc");
    assert!(is_searching(&driver));
    assert_eq!(driver.app.search_screen.selected_hit().expect("a hit").1.id, id);
    driver.press("esc");
    assert!(!is_searching(&driver));
}

#[test]
fn a_hit_in_another_session_opens_that_one() {
    let mut driver = searched("text:libatomic enter");
    driver.go_to("slack:channel:c07infra");
    driver.press("ctrl-f enter G enter");
    let open = driver.app.displayed_session().expect("a session");
    assert_eq!(open.item.key.0, driver.app.search_screen.sessions.last().expect("a session").key.0);
    driver.press("n esc");
    assert!(is_searching(&driver));
}

#[test]
fn space_shows_the_other_hits_of_a_session() {
    let mut driver = searched("text:libatomic enter");
    let before = driver.app.search_screen.rows.len();
    driver.press("space");
    assert!(driver.app.search_screen.rows.len() > before);
    driver.press("space");
    assert_eq!(driver.app.search_screen.rows.len(), before);
}

#[test]
fn hits_of_an_older_query_are_dropped() {
    let mut driver = searched("text:libatomic");
    let old = driver.app.search_screen.request_id;
    let effects = driver.key_effects("x");
    let Some(Effect::SearchStore { request_id, query }) = effects.first() else { panic!("{effects:?}") };
    assert_eq!((*request_id, query.as_str()), (old + 1, "libatomicx"));
    let totals = SearchTotals::default();
    driver.event(Event::StoreSearch { request_id: old, update: StoreSearchUpdate::Finished(totals.clone()) });
    assert!(driver.app.search_screen.is_running);
    driver.event(Event::StoreSearch { request_id: old + 1, update: StoreSearchUpdate::Finished(totals) });
    assert!(!driver.app.search_screen.is_running);
}

#[test]
fn closing_the_screen_stops_the_search() {
    let mut driver = searched("text:libatomic");
    let running = driver.key_effects("x");
    assert!(matches!(running[0], Effect::SearchStore { .. }));
    assert!(driver.key_effects("esc").is_empty());
    let effects = driver.key_effects("esc");
    assert!(matches!(effects[..], [Effect::StopStoreSearch]), "{effects:?}");
    let effects = driver.key_effects("ctrl-f");
    assert!(
        matches!(effects[..], [Effect::SearchStore { .. }]),
        "it goes on when the screen returns: {effects:?}"
    );
}

#[test]
fn the_same_words_are_searched_again_after_a_file_changed() {
    let mut driver = searched("text:libatomic enter");
    assert!(driver.key_effects("ctrl-f").is_empty() && driver.key_effects("enter").is_empty());
    driver.effects(Event::FilesChanged(vec![driver.path()]));
    assert!(driver.key_effects("ctrl-f").is_empty());
    let effects = driver.key_effects("enter");
    assert!(matches!(effects[..], [Effect::SearchStore { .. }]), "{effects:?}");
}

#[test]
fn a_hit_whose_session_did_not_open_is_forgotten() {
    let mut driver = searched("text:libatomic enter G");
    let key = driver.app.search_screen.selected_hit().expect("a hit").0.key.clone();
    let effects = driver.key_effects("enter");
    assert!(effects.iter().any(|effect| matches!(effect, Effect::OpenSession { .. })), "{effects:?}");
    driver.effects(Event::OpenFailed { key: key.clone(), error: "gone".into() });
    driver.go_to("slack:channel:c07infra");
    driver.go_to(&key.0);
    assert!(driver.app.message.current_match.is_none());
}

#[test]
fn esc_leaves_an_empty_line_at_once() {
    let mut driver = Driver::demo(80, 24);
    driver.press("ctrl-f esc");
    assert!(driver.app.input.is_none() && !is_searching(&driver));
}

#[test]
fn unread_transcripts_are_counted() {
    let mut driver = searched("text:libatomic enter");
    let path = driver.path();
    let session = driver.app.displayed_session().expect("a session").item.key.clone();
    driver.press("ctrl-f");
    driver.key_effects("x");
    let unread = clawscope::session::search::UnreadTranscript { key: session, path, error: "gone".into() };
    let totals = SearchTotals { unread: vec![unread], ..SearchTotals::default() };
    let request_id = driver.app.search_screen.request_id;
    driver.event(Event::StoreSearch { request_id, update: StoreSearchUpdate::Finished(totals) });
    assert_eq!(driver.app.search_screen.unread_count(), 1);
}

#[test]
fn leaving_the_screen_stops_a_running_search_once() {
    let stops = |effects: &[Effect]| effects.iter().any(|effect| matches!(effect, Effect::StopStoreSearch));
    let mut driver = Driver::demo(140, 40);
    assert!(!stops(&driver.key_effects("j")), "nothing runs");
    driver.press("ctrl-f");
    driver.app.search_screen.is_running = true;
    assert!(!stops(&driver.key_effects("l")), "the screen is open");
    driver.press("esc");
    driver.app.search_screen.is_running = true;
    let left = driver.key_effects("esc");
    assert!(stops(&left) || stops(&driver.key_effects("j")), "the screen was left");
    assert!(!stops(&driver.key_effects("k")), "it was stopped already");
}

#[test]
fn a_narrow_screen_has_the_message_below_the_hits_and_short_ages() {
    for (width, height) in [(80, 24), (60, 20)] {
        let mut driver = Driver::demo(width, height);
        driver.press("ctrl-f text:libatomic enter j");
        let text = text_of(&drawn(&driver.app, &dark()));
        assert!(text.contains("─ Message ─") && text.contains('#'), "{text}");
        assert!(text.contains(" 58m  assistant"), "{text}");
        // The cursor stays above the message.
        driver.press("G");
        let text = text_of(&drawn(&driver.app, &dark()));
        let row = |found: &str| text.lines().position(|line| line.contains(found)).expect("a line");
        assert!(row("▌") < row("─ Message ─"), "{text}");
    }
}
