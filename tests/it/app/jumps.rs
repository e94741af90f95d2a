//! Jumps: one key returns to the place that a jump started from, and one goes forward again.

use clawscope::app::effect::Effect;
use clawscope::app::screens::Overlay;
use clawscope::app::state::Loading;
use clawscope::units::Bytes;

use crate::support::driver::Driver;

/// A place as a person sees it: the session, the entry, and the screens over it.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    session: String,
    entry: Option<String>,
    screens: Vec<String>,
}

fn seen(driver: &Driver) -> Seen {
    let pane = driver.app.transcript.as_ref().expect("a session");
    let screens = driver.app.views.iter().map(|view| match view {
        Overlay::Explain(screen) => format!("explain at {}", screen.scroll.cursor),
        Overlay::Timeline => format!("timeline at {:?}", driver.app.timeline_screen.cursor),
        Overlay::Search => {
            let hit = driver.app.search_screen.selected_hit();
            format!("search at {:?}", hit.map(|(session, hit)| (session.key.0.clone(), hit.id.clone())))
        }
        other => format!("{:?}", other.kind()),
    });
    Seen {
        session: pane.session.item.key.0.clone(),
        entry: pane.selected().map(|row| pane.session.index.display_id(row.entry)),
        screens: screens.collect(),
    }
}

fn demo() -> Driver {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver
}

#[test]
fn one_key_returns_from_a_hit_in_any_session_to_the_hits() {
    for steps in ["", "G"] {
        let mut driver = demo();
        driver.press("2 g");
        driver.press(&format!("ctrl-f text:libatomic enter {steps}"));
        let hits = seen(&driver);
        driver.press("enter");
        let found = seen(&driver);
        assert!(found.screens.is_empty(), "{found:?}");
        driver.press("<");
        assert_eq!(seen(&driver), hits, "back with one key");
        driver.press(">");
        assert_eq!(seen(&driver), found);
        driver.press("< esc");
        assert!(driver.app.overlay().is_none());
    }
}

#[test]
fn one_key_returns_to_hits_that_were_there_before_the_first_session() {
    let mut driver = Driver::demo(130, 36);
    driver.press("ctrl-f text:libatomic enter");
    let first = driver.app.transcript.take().expect("a session");
    driver.app.opening.loading = Some(Loading {
        key: first.session.item.key.clone(),
        bytes_read: Bytes::ZERO,
        bytes_total: Bytes::ZERO,
        started_ms: driver.app.now_ms,
    });
    driver.press("enter");
    assert!(seen(&driver).screens.is_empty());
    driver.press("<");
    assert!(matches!(driver.app.overlay(), Some(Overlay::Search)), "{:?}", seen(&driver));
}

#[test]
fn a_jump_back_restores_the_query_of_its_place() {
    let mut driver = demo();
    driver.press("ctrl-f text:libatomic enter enter ctrl-f ctrl-f text:ninja enter");
    assert_eq!(driver.app.search_screen.query.text(), "ninja");
    driver.press("esc <");
    assert_eq!(driver.app.search_screen.query.text(), "libatomic");
    assert!(matches!(driver.app.overlay(), Some(Overlay::Search)));
    assert!(driver.app.search_screen.selected_hit().is_some());
}

#[test]
fn keys_pressed_faster_than_a_session_loads_walk_the_same_places() {
    let mut driver = demo();
    let first = seen(&driver);
    driver.go_to("slack:channel:c07infra");
    driver.press("2");
    let second = seen(&driver);
    driver.go_to("research:main");
    driver.press("2");
    let third = seen(&driver);
    assert_ne!(first.session, second.session);
    let waiting: Vec<Effect> = driver.key_effects("<");
    assert!(waiting.iter().any(|effect| matches!(effect, Effect::OpenSession { .. })), "{waiting:?}");
    driver.press("<");
    assert_eq!(seen(&driver).session, first.session);
    driver.press(">");
    assert_eq!(seen(&driver).session, second.session, "the session that was still loading");
    driver.press(">");
    assert_eq!(seen(&driver).session, third.session);
}

#[test]
fn the_same_place_is_recorded_once() {
    let mut driver = demo();
    driver.press("2 g");
    let start = seen(&driver);
    driver.press("/ text:ninja enter");
    let first = seen(&driver);
    driver.press("/ enter / enter / enter");
    assert_eq!(seen(&driver), first, "the cursor is on a match");
    driver.press("<");
    assert_eq!(seen(&driver), start, "no key is pressed in vain");
}

#[test]
fn a_place_is_found_again_after_the_file_grew() {
    let mut driver = demo();
    driver.press("e j j");
    let evidence = seen(&driver);
    driver.press("enter");
    let leaf = driver.app.displayed_session().expect("a session").index.entries.len();
    driver.append(
        "{\"type\":\"message\",\"id\":\"a11ce000\",\"parentId\":\"38012ce2\",\"timestamp\":\"2026-03-05T14:07:00.000Z\",\
         \"message\":{\"role\":\"user\",\"content\":\"and now?\",\"timestamp\":1772719620000}}\n",
    );
    assert!(driver.app.displayed_session().expect("a session").index.entries.len() > leaf);
    driver.press("<");
    let back = seen(&driver);
    assert_eq!((&back.session, &back.entry), (&evidence.session, &evidence.entry));
    assert_eq!(back.screens.len(), evidence.screens.len());
}

/// Makes random jumps of every kind, then goes all the way back and forward: every place is passed again in order.
#[test]
fn a_walk_passes_the_same_places_back_and_forward() {
    let jumps = [
        "e G k k enter",
        "t h h enter",
        "/ text:ninja enter",
        "/ text:error enter",
        "ctrl-f ctrl-u text:libatomic enter enter",
        "ctrl-f ctrl-u text:libatomic enter G enter",
        "B j j enter",
    ];
    let mut state: u64 = 7;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for walk in 0..3 {
        let mut driver = demo();
        driver.press("2");
        let mut places = vec![seen(&driver)];
        for _ in 0..8 {
            driver.press(jumps[next(jumps.len() as u64) as usize]);
            driver.press(["", "2 k", "2 k k"][next(3) as usize]);
            driver.press("esc esc 2");
            places.push(seen(&driver));
        }
        let end = seen(&driver);
        let mut passed = vec![end.clone()];
        for _ in 0..200 {
            driver.press("<");
            if driver.app.toast.as_ref().is_some_and(|toast| toast.text == "no earlier place") {
                break;
            }
            let here = seen(&driver);
            assert_ne!(passed.last(), Some(&here), "walk {walk}: a key in vain");
            passed.push(here);
        }
        assert!(passed.len() > 4, "walk {walk}: {passed:?}");
        for expected in passed.iter().rev().skip(1) {
            driver.press(">");
            assert_eq!(seen(&driver), *expected, "walk {walk}");
        }
        assert_eq!(seen(&driver), end);
    }
}
