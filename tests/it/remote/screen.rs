//! The screen of another machine.

use std::fs::OpenOptions;
use std::io::Write as _;

use super::{Programs, demo};
use crate::support::store::{Store, message};
use crate::support::terminal::Started;

fn open(programs: &Programs, place: &str) -> Started {
    Started::new(&[place], &[("PATH", &programs.search_path())])
}

#[test]
fn the_remote_screen_receives_keys_and_sends_cells() {
    let programs = Programs::new();
    let (_dir, store) = demo();
    let mut program = open(&programs, &format!("ssh://gateway{}", store.display()));
    program.until_shown("⚠ overflow");
    program.keys("e");
    program.until_shown("Overflowed:");
    program.keys("\u{1b}");
    program.until("the panes", |screen| !screen.contents().contains("Overflowed:"));
    program.resize(100, 30);
    program.until("the new size", |screen| {
        screen.contents().lines().count() <= 30 && screen.contents().contains("q quit")
    });
    program.until_quiet();
    program.keys("q");
    let ended = program.ended();
    assert_eq!(ended.code, 0);
    assert!(!ended.alternate_screen && !ended.cursor_hidden && !ended.mouse && ended.cooked);
}

#[test]
fn the_remote_screen_follows_its_store() {
    let programs = Programs::new();
    let store = Store::new();
    let mut program = open(&programs, &format!("ssh://gateway{}", store.path().display()));
    program.until_shown("the linker");
    let text = serde_json::json!({ "role": "user", "content": "one more thing", "timestamp": 2 });
    store.append(&message("late-0", Some("touch-0"), &text));
    program.until_shown("one more thing");
    program.keys("q");
    assert_eq!(program.ended().code, 0);
}

#[test]
fn a_copied_id_reaches_the_clipboard_of_the_person() {
    let programs = Programs::new();
    let store = Store::new();
    let mut program = open(&programs, &format!("ssh://gateway{}", store.path().display()));
    program.until_shown("the linker");
    program.keys("I");
    assert!(!program.until_copied().is_empty());
    program.until_shown("Copied");
    program.keys("q");
    assert_eq!(program.ended().code, 0);
}

#[test]
fn a_broken_link_restores_the_terminal_with_a_message() {
    let programs = Programs::new();
    let (dir, store) = demo();
    let pid = dir.path().join("pid");
    let script = format!(
        "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift 2\nexec setsid --wait sh -c 'echo $$ > {}; sh -c \"$*\"' sh \"$@\"\n",
        pid.display()
    );
    programs.write("ssh", &script);
    let mut program = open(&programs, &format!("ssh://gateway{}", store.display()));
    program.until_shown("⚠ overflow");
    let pid = crate::support::process::written_in(&pid);
    rustix::process::kill_process_group(pid, rustix::process::Signal::KILL).unwrap();
    let ended = program.ended();
    assert_eq!(ended.code, 3);
    assert!(!ended.alternate_screen && ended.cooked);
    assert!(
        ended.text.contains("the link ended") && ended.text.contains("Nothing is lost"),
        "{}",
        ended.text
    );
}

#[test]
fn nothing_can_be_written_from_the_screen() {
    let programs = Programs::new();
    let (_dir, store) = demo();
    let before = super::contents(&store);
    let mut program = open(&programs, &format!("ssh://gateway{}", store.display()));
    program.until_shown("⚠ overflow");
    program.keys("u");
    program.until_shown("only reads stores on other machines");
    program.keys("\u{1b}");
    program.until("the panes", |screen| !screen.contents().contains("only reads"));
    program.keys("q");
    assert_eq!(program.ended().code, 0);
    assert_eq!(super::contents(&store), before);
}

#[test]
fn a_machine_without_clawscope_shows_a_copy() {
    let programs = Programs::without_clawscope();
    let store = Store::new();
    let mut program = open(&programs, &format!("ssh://gateway{}", store.path().display()));
    program.until_shown("the linker");
    let mut file = OpenOptions::new().append(true).open(store.transcript()).unwrap();
    writeln!(file).unwrap();
    program.keys("q");
    assert_eq!(program.ended().code, 0);
}
