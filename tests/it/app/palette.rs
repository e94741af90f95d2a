//! The palette and the lines that a person types.

use clawscope::app::action::{Action, ScreenKind};
use clawscope::app::layout::Pane;
use clawscope::app::screens::palette::PaletteCommand;
use clawscope::app::state::Overlay;

use crate::support::driver::Driver;

fn demo() -> Driver {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver
}

fn listed(driver: &Driver) -> Vec<Action> {
    match driver.app.overlay() {
        Some(Overlay::Palette(screen)) => {
            let action = |found: clawscope::app::screens::palette::PaletteRow| match found.command {
                PaletteCommand::Action(action) => Some(action),
                _ => None,
            };
            screen.rows().into_iter().filter_map(action).collect()
        }
        other => panic!("no palette but {other:?}"),
    }
}

#[test]
fn suggested_and_recent_actions_come_first() {
    let mut driver = demo();
    driver.press(":");
    assert_eq!(listed(&driver)[0], Action::Show(ScreenKind::Explain), "it overflowed");
    driver.press("esc plan :");
    assert_eq!(listed(&driver)[0], Action::Commit, "the plan changes something");
    driver.press("text:zoom enter : ");
    let recent = listed(&driver).iter().position(|action| *action == Action::Zoom);
    let down = listed(&driver).iter().position(|action| *action == Action::Down);
    assert!(recent < down, "{recent:?} {down:?}");
}

#[test]
fn the_palette_edits_like_a_shell_line() {
    let mut driver = demo();
    driver.press(": text:nonsense ctrl-u text:focus ctrl-a ctrl-k text:focus-tuningx ctrl-h enter");
    assert_eq!(driver.app.focus, Pane::Tuning);
    driver.press("2 : text:tgprn enter");
    assert!(driver.app.tuning.preview, "letters in order find toggle-prune");
}

#[test]
fn a_number_in_the_palette_selects_the_row() {
    let mut driver = demo();
    driver.press("2 g : text:12 enter");
    assert_eq!(driver.app.transcript.as_ref().expect("a session").scroll.cursor, 11);
}

#[test]
fn every_text_input_has_the_same_editing_keys() {
    let mut driver = demo();
    driver.press("1 / text:tele space text:gram ctrl-w ctrl-a ctrl-e");
    assert_eq!(driver.app.sessions.filter, "tele ");
    driver.press("ctrl-u");
    assert_eq!(driver.app.sessions.filter, "");
    driver.press("esc esc 2 / text:xninja ctrl-a right ctrl-h enter");
    assert_eq!(driver.app.transcript.as_ref().expect("a session").query, "ninja");
}

#[test]
fn a_text_that_matches_nothing_stays_and_says_what_was_expected() {
    let mut driver = demo();
    for (typed, expected) in [
        ("preset space text:save space text:shorter space text:ttl", "a preset's name has no spaces"),
        ("preset space text:load space text:nope", "no preset is saved"),
        ("release space text:1999", "no release matches 1999"),
        ("zzzq", "no action matches"),
    ] {
        driver.press(&format!(": text:{typed} enter"));
        let Some(Overlay::Palette(screen)) = driver.app.overlay() else {
            panic!("{typed}: the palette closed")
        };
        assert!(screen.expected().starts_with(expected), "{typed}: {}", screen.expected());
        driver.press("esc");
    }
}
