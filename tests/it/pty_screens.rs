//! The filter, the search and the undo of tuning, in the real program in a terminal.
#![cfg(unix)]

use crate::support::terminal::Started;

const CTRL_F: &str = "\u{6}";
const CTRL_O: &str = "\u{f}";
const ESC: &str = "\u{1b}";

fn demo() -> Started {
    let mut program = Started::new(&["--demo"], &[("TZ", "UTC")]);
    program.until_shown("telegram 8812");
    program
}

fn ended_well(mut program: Started) {
    program.keys("q");
    assert_eq!(program.ended().code, 0);
}

#[test]
fn a_filter_selects_while_typing_and_enter_opens_the_match() {
    let mut program = demo();
    program.keys("1/>80%");
    program.until("only the full sessions", |screen| {
        let text = screen.contents();
        text.contains("slack #infra") && !text.contains("discord")
    });
    program.keys(" overflow slack");
    program.until("one session", |screen| !screen.contents().contains("telegram 8812 "));
    program.keys("\r");
    program.until_shown("agent:main:slack:channel:c07infra");
    program.keys("1/");
    program.keys(ESC);
    program.until_shown("discord");
    // With the next key at once, the terminal would mean alt.
    program.until_shown("sort");
    program.keys("/c7190160\r");
    program.until_shown("agent:main:telegram:direct:8812");
    ended_well(program);
}

#[test]
fn a_search_opens_a_hit_and_one_key_returns_to_the_hits() {
    let mut program = demo();
    program.keys(CTRL_F);
    program.keys("libatomic");
    // Before the last transcript is read, the hits still move.
    program.until_shown(" MB in ");
    program.keys("\r");
    program.until_shown("enter open");
    program.keys("\r");
    program.until_shown("back to the hits");
    program.keys(CTRL_O);
    program.until_shown("transcripts");
    program.until_shown("libatomic");
    program.keys("G\r");
    program.until_shown("back to the hits");
    program.keys(CTRL_O);
    program.until_shown("transcripts");
    program.keys(ESC);
    program.until("the panes", |screen| !screen.contents().contains("transcripts"));
    ended_well(program);
}

#[test]
fn changes_of_a_setting_are_undone_and_redone_step_by_step() {
    let mut program = demo();
    program.keys("p4");
    program.until_shown("of 1h)");
    program.keys("l");
    program.until_shown("was 1h");
    program.keys("jjjl");
    program.until_shown("was 0.50");
    program.keys("\u{1b}z");
    program.until("the second change is undone", |screen| {
        let text = screen.contents();
        text.contains("was 1h") && !text.contains("was 0.50")
    });
    program.keys("\u{1b}z");
    program.until("the first change is undone", |screen| !screen.contents().contains("was 1h"));
    program.keys("\u{1b}Z\u{1b}Z");
    program.until("both are back", |screen| {
        let text = screen.contents();
        text.contains("was 1h") && text.contains("was 0.50")
    });
    ended_well(program);
}
