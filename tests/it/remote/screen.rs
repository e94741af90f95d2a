//! The screen of another machine.

use super::{Programs, demo};
use crate::support::store::{Store, message};
use crate::support::terminal::Started;

fn open(programs: &Programs, place: &str) -> Started {
    Started::new(&[place], &[("PATH", &programs.search_path())])
}

#[test]
fn the_remote_screen_has_the_terminal() {
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
    program.keys("\x1a");
    program.until_shown("ctrl-z does nothing here");
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
    program.keys("yi");
    assert!(!program.until_copied().is_empty());
    program.until_shown("to the terminal's clipboard");
    program.keys("q");
    assert_eq!(program.ended().code, 0);
}

#[test]
fn a_broken_link_restores_the_terminal_with_a_message() {
    let programs = Programs::new();
    let (dir, store) = demo();
    let pid = dir.path().join("pid");
    let script = format!(
        "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift 2\nsetsid --wait sh -c 'echo $$ > {}; sh -c \"$*\"' sh \"$@\"\n\
         exit 255\n",
        pid.display()
    );
    programs.write("ssh", &script);
    let mut program = open(&programs, &format!("ssh://gateway{}", store.display()));
    program.until_shown("⚠ overflow");
    let pid = crate::support::process::written_in(&pid);
    rustix::process::kill_process_group(pid, rustix::process::Signal::KILL).unwrap();
    let ended = program.ended();
    assert_eq!(ended.code, 3);
    assert!(!ended.alternate_screen && !ended.cursor_hidden && !ended.mouse && ended.cooked, "{ended:?}");
    assert!(ended.text.contains("ssh ended with exit code 255"), "{}", ended.text);
}

#[test]
fn a_machine_that_is_never_reached_leaves_the_words_of_ssh_on_the_screen() {
    let programs = Programs::with_ssh("echo 'Could not resolve hostname' >&2; exit 255");
    let ended = open(&programs, "ssh://gateway").ended();
    assert_eq!(ended.code, 3);
    let (own, after) = ended.text.split_once("Could not resolve hostname").expect("the words of ssh");
    assert!(own.trim().is_empty() && after.contains("ssh ended with exit code 255"), "{}", ended.text);
}

#[test]
fn the_screen_needs_a_terminal_here() {
    let programs = Programs::with_ssh("touch started");
    let (code, out, err) = programs.run(&["ssh://gateway"]);
    assert_eq!((code, out.as_str()), (3, ""));
    assert!(err.contains("standard output is not a terminal"), "{err}");
}

#[test]
fn nothing_can_be_written_to_a_copy() {
    let programs = Programs::without_clawscope();
    let (_dir, store) = demo();
    let before = super::contents(&store);
    let mut program = open(&programs, &format!("ssh://gateway{}", store.display()));
    program.until_shown("⚠ overflow");
    program.keys("u");
    program.until_shown("so it only reads");
    program.keys("\u{1b}");
    program.until("the panes", |screen| !screen.contents().contains("so it only reads"));
    program.keys("q");
    assert_eq!(program.ended().code, 0);
    assert_eq!(super::contents(&store), before);
}

#[test]
fn a_machine_without_clawscope_shows_a_copy_that_is_removed_at_the_end() {
    use rustix::process::Signal;
    let programs = Programs::without_clawscope();
    let store = Store::new();
    for signal in [None, Some(Signal::TERM), Some(Signal::HUP)] {
        let folder = tempfile::tempdir().unwrap();
        let variables = [("PATH", programs.search_path()), ("TMPDIR", folder.path().display().to_string())];
        let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
        let mut program = Started::new(&[&format!("ssh://gateway{}", store.path().display())], &variables);
        program.until_shown("copy of gateway:");
        program.until_shown("the linker");
        assert_eq!(super::leftovers(folder.path()).len(), 1);
        match signal {
            None => program.keys("q"),
            Some(signal) => program.signal(signal),
        }
        let ended = program.ended();
        assert!(!ended.alternate_screen && ended.cooked, "{signal:?}");
        assert_eq!(super::leftovers(folder.path()), [""; 0], "{signal:?}");
    }
}
