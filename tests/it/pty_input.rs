//! Bytes that a terminal leaves unfinished, in the real program in a terminal: nothing may swallow ctrl-c.
#![cfg(unix)]

use crate::support::fixture::put;
use crate::support::terminal::Started;

const CTRL_C: &str = "\u{3}";

fn demo(variables: &[(&str, &str)]) -> Started {
    let mut program = Started::new(&["--demo"], variables);
    program.until_shown("telegram 8812");
    program
}

#[test]
fn ctrl_c_ends_the_program_inside_a_sequence_without_an_end() {
    let paste = format!("\u{1b}[200~{}", "pasted text ".repeat(2_000));
    let starts = [
        &paste,
        "\u{1b}[<0;1",
        "\u{1b}[M!",
        "\u{1b}]11;rgb:ff",
        "\u{1b}P1$r",
        "\u{1b}[1;2;3",
        "\u{1b}O",
        "\u{1b}",
        "\u{f0}\u{9f}",
    ];
    for start in starts {
        let mut program = demo(&[]);
        program.keys(start);
        program.keys("q");
        program.keys(CTRL_C);
        let ended = program.ended();
        assert_eq!(ended.code, 0, "after {start:?}");
        assert!(ended.cooked && !ended.alternate_screen, "after {start:?}");
    }
}

#[test]
fn ctrl_c_ends_the_program_inside_a_paste_while_a_line_is_typed() {
    let mut program = demo(&[]);
    program.keys("1/");
    program.until_shown("enter");
    program.keys("\u{1b}[200~never ends");
    program.keys(CTRL_C);
    assert_eq!(program.ended().code, 0);
}

#[test]
fn ctrl_c_respects_the_keymap() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".config/clawscope");
    put(&folder.join("keymap.toml"), "[global]\n\"ctrl-c\" = \"help\"\n");
    let mut program = demo(&[("HOME", home.path().to_str().unwrap())]);
    program.keys(CTRL_C);
    program.until_shown("Here: ");
    program.keys("\u{1b}");
    program.until("help closed", |screen| !screen.contents().contains("Here: "));
    program.keys("q");
    assert_eq!(program.ended().code, 0);
}
