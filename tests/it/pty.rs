//! The real binary in a terminal: the first frame, changes on disk that appear by themselves, and the terminal restored
//! at every end.
#![cfg(unix)]

use std::io::Write;
use std::path::{Path, PathBuf};

use base64::Engine as _;

use crate::support::terminal::{Ended, FIRST_RUN, Started};
use crate::support::{process, skipped};

/// A store with two sessions in a folder that is removed when the test ends.
struct Store {
    dir: tempfile::TempDir,
}

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-03-05T10:00:00.000Z","cwd":"/w"}"#;

impl Store {
    fn new() -> Self {
        let store = Self { dir: tempfile::tempdir().unwrap() };
        store.write(
            "sessions.json",
            r#"{"agent:main:telegram:direct:42":{"sessionId":"s1","updatedAt":2},"agent:main:main":{"sessionId":"s2","updatedAt":1}}"#,
        );
        store.write("s1.jsonl", &format!("{HEADER}\n{}", line("a1", "null", "hello there")));
        store.write("s2.jsonl", &format!("{HEADER}\n{}", line("b1", "null", "something else")));
        store
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("agents/main/sessions").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn append(&self, name: &str, text: &str) {
        let mut file = std::fs::OpenOptions::new().append(true).open(self.path(name)).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }
}

fn line(id: &str, parent: &str, text: &str) -> String {
    let parent = if parent == "null" { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(
        "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"2026-03-05T10:00:01.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\",\"timestamp\":1772704801000}}}}\n"
    )
}

fn start(path: &Path) -> Started {
    Started::new(&[path.to_str().unwrap()], &[])
}

#[track_caller]
fn assert_restored(ended: &Ended) {
    assert!(!ended.alternate_screen, "the alternate screen was left");
    assert!(!ended.cursor_hidden, "the cursor is shown");
    assert!(!ended.mouse && !ended.bracketed_paste, "mouse and pastes are the terminal's again");
    assert!(ended.cooked, "lines are edited and echoed by the terminal again");
}

#[test]
fn the_screen_uses_the_persons_keymap_and_glyphs() {
    let store = Store::new();
    let folder = store.dir.path().join("config/clawscope");
    std::fs::create_dir_all(&folder).unwrap();
    let keys = "[global]\n\"q\" = \"\"\n\"ctrl-q\" = \"quit\"\n";
    std::fs::File::create(folder.join("keymap.toml")).unwrap().write_all(keys.as_bytes()).unwrap();
    let config = store.dir.path().join("config");
    let given = [store.dir.path().to_str().unwrap(), "--ascii"];
    let mut program = Started::new(&given, &[("XDG_CONFIG_HOME", config.to_str().unwrap())]);
    program.until_shown("hello there");
    program.until_shown("* Live");
    program.keys("q?");
    program.until_shown("half a page down");
    program.keys("\u{1b}");
    program.until("the help is closed", |screen| !screen.contents().contains("half a page down"));
    program.keys("\u{11}");
    assert_eq!(program.ended().code, 0);
}

#[test]
fn the_first_frame_lists_the_sessions_and_q_restores_the_terminal() {
    let store = Store::new();
    let mut program = start(store.dir.path());
    program.until_shown("telegram");
    program.until_shown("hello there");
    assert!(program.alternate_screen());
    program.keys("q");
    let ended = program.ended();
    assert_eq!(ended.code, 0);
    assert_restored(&ended);
}

#[test]
fn without_a_store_the_demo_is_shown_with_a_notice() {
    let home = tempfile::tempdir().unwrap();
    let mut program = Started::new(&[], &[("HOME", home.path().to_str().unwrap())]);
    program.until_shown("demo store");
    program.until_shown("8812");
    program.keys("\x03");
    let ended = program.ended();
    assert_eq!(ended.code, 0);
    assert_restored(&ended);
}

#[test]
fn the_first_run_has_a_card_and_no_later_one() {
    let home = tempfile::tempdir().unwrap();
    let variables = [("HOME", home.path().to_str().unwrap()), FIRST_RUN];
    let mut program = Started::new(&[], &variables);
    program.until_shown("This is the demo store: there is no store at ~/.openclaw.");
    program.until_shown("Any key closes this");
    program.keys("q");
    program.until("the card is closed", |screen| !screen.contents().contains("Any key closes this"));
    program.until_shown("demo store (no store at ~/.openclaw)");
    program.keys("q");
    assert_eq!(program.ended().code, 0);
    let mut program = Started::new(&[], &variables);
    program.until_shown("⚠ overflow");
    program.until("no card", |screen| !screen.contents().contains("Any key closes this"));
    program.keys("q");
    assert_eq!(program.ended().code, 0);
}

#[test]
fn screens_stack_and_one_key_returns_to_the_evidence() {
    let home = tempfile::tempdir().unwrap();
    let mut program = Started::new(&["--demo"], &[("HOME", home.path().to_str().unwrap())]);
    program.until_shown("⚠ overflow");
    program.keys("e");
    program.until_shown("Overflowed:");
    program.keys("?");
    program.until_shown("Here: Explain");
    program.keys("\u{1b}");
    program.until("the help is closed", |screen| !screen.contents().contains("Here: Explain"));
    program.keys("Gkk\r");
    program.until_shown("back to explain");
    program.keys("\u{f}");
    program.until_shown("Overflowed:");
    program.keys("\u{1b}");
    program.until("the panes", |screen| !screen.contents().contains("Overflowed:"));
    program.keys("q");
    assert_eq!(program.ended().code, 0);
}

/// Requests a commit until the summary is offered: while a session is read again, its texts are not there yet, and the
/// answer says so.
fn until_offered(program: &mut Started) {
    let offered = std::cell::Cell::new(false);
    while !offered.get() {
        program.keys("c");
        program.until("an answer to c", |screen| {
            let text = screen.contents();
            offered.set(text.contains("Create a summary?"));
            offered.get() || text.contains("not yet:")
        });
        program.let_pass_ms(if offered.get() { 0 } else { 50 });
    }
}

/// The program on the demo, a compaction of its long session offered to a program that never ends. That one writes the
/// id of its child to `file`.
fn offered_to_a_program_that_hangs(folder: &Path, file: &Path) -> Started {
    let script = format!("sleep 300 & echo $! > {0}.new; mv {0}.new {0}; wait", file.display());
    let table = format!("[summarizer]\nkind = \"command\"\ncommand = [\"sh\", \"-c\", {script:?}]\n");
    std::fs::create_dir_all(folder.join("clawscope")).unwrap();
    std::fs::File::create(folder.join("clawscope/config.toml")).unwrap().write_all(table.as_bytes()).unwrap();
    let mut program = Started::new(&["--demo"], &[("XDG_CONFIG_HOME", folder.to_str().unwrap())]);
    program.until_shown("telegram 8812");
    program.keys("/8812");
    program.keys("\r");
    program.until_shown("overflow");
    program.keys("4,,,,,xa2");
    program.until_shown(" added ~");
    until_offered(&mut program);
    assert!(!file.exists(), "nobody has confirmed yet");
    program.keys("y");
    program.until("the program to start", |_| file.exists());
    program
}

#[test]
fn esc_and_quitting_stop_the_summary_program_and_its_children() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("id");
    let mut program = offered_to_a_program_that_hangs(folder.path(), &file);
    program.until_shown("call 1 of");
    let started = process::written_in(&file);
    program.keys("\u{1b}");
    program.until_shown("The summary was cancelled.");
    program.until("what it started to end", |_| process::is_gone(started));
    std::fs::remove_file(&file).unwrap();
    program.keys("\u{1b}");
    program.until("the dialog is closed", |screen| !screen.contents().contains("The summary was cancelled."));
    until_offered(&mut program);
    program.keys("y");
    program.until("the program to start again", |_| file.exists());
    let started = process::written_in(&file);
    program.keys("\x03");
    let ended = program.ended();
    assert_eq!(ended.code, 0);
    assert_restored(&ended);
    let begun = std::time::Instant::now();
    while !process::is_gone(started) {
        assert!(begun.elapsed() < std::time::Duration::from_secs(10), "it goes on without us");
        std::thread::park_timeout(std::time::Duration::from_millis(20));
    }
}

/// A home with this keymap in it.
fn home_with_keymap(text: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".config/clawscope");
    std::fs::create_dir_all(&folder).unwrap();
    std::io::Write::write_all(
        &mut std::fs::File::create(folder.join("keymap.toml")).unwrap(),
        text.as_bytes(),
    )
    .unwrap();
    home
}

#[test]
fn a_custom_keymap_changes_keys() {
    let home = home_with_keymap("[global]\n\"q\" = \"\"\n\"x\" = \"quit\"\n\"f2\" = \"help\"\n");
    let mut program = Started::new(&["--demo"], &[("HOME", home.path().to_str().unwrap())]);
    program.until_shown("8812");
    program.keys("q\x1bOQ");
    program.until_shown("Here: Transcript");
    program.keys("\x1b");
    program.until("help closed", |screen| !screen.contents().contains("Here: Transcript"));
    program.keys("x");
    let ended = program.ended();
    assert_eq!(ended.code, 0);
    assert_restored(&ended);
}

#[test]
fn a_mistake_in_the_keymap_is_reported_before_the_screen_opens() {
    let home = home_with_keymap("[global]\n\"x\" = \"qiut\"\n");
    let ended = Started::new(&["--demo"], &[("HOME", home.path().to_str().unwrap())]).ended();
    assert_eq!(ended.code, 2);
    let text = ended.text.replace('\n', "");
    assert!(text.contains("keymap.toml: [global] \"x\" = \"qiut\": unknown action"), "{text}");
}

#[test]
fn a_line_appended_to_the_transcript_appears_by_itself() {
    let store = Store::new();
    let mut program = start(store.dir.path());
    program.until_shown("hello there");
    // The folder is watched once the list is shown; a second line appears where the first came too early.
    store.append("s1.jsonl", &line("a2", "a1", "a new line"));
    program.until_shown("a new line");
    store.append("s1.jsonl", &line("a3", "a2", "and one more"));
    program.until_shown("and one more");
    program.keys("q");
    assert_eq!(program.ended().code, 0);
}

#[test]
fn a_session_that_is_new_on_disk_appears_by_itself() {
    let store = Store::new();
    let mut program = start(store.dir.path());
    program.until_shown("hello there");
    store.write("fresh-orphan.jsonl", &format!("{HEADER}\n"));
    program.until_shown("fresh-orph");
    program.keys("q");
    assert_eq!(program.ended().code, 0);
}

/// The variable that requests the panic works only in a debug build: it cannot crash a release.
#[test]
fn a_panic_restores_the_terminal_and_writes_a_report_without_text() {
    if !cfg!(debug_assertions) {
        return skipped::note("a debug build", "a release has no panic that a test can ask for");
    }
    let store = Store::new();
    let state = tempfile::tempdir().unwrap();
    let variables = [
        ("CLAWSCOPE_TEST_PANIC", "1"),
        ("CLAWSCOPE_LOG", "debug"),
        ("XDG_STATE_HOME", state.path().to_str().unwrap()),
    ];
    let ended = Started::new(&[store.dir.path().to_str().unwrap()], &variables).ended();
    assert_ne!(ended.code, 0);
    assert_restored(&ended);
    assert!(ended.text.contains("a test requested this panic"), "{}", ended.text);
    assert!(ended.text.contains("wrote a crash report"), "{}", ended.text);
    let folder = state.path().join("clawscope");
    let names: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let name = names.iter().find(|name| name.to_string_lossy().starts_with("crash-")).unwrap();
    let report = std::fs::read_to_string(folder.join(name)).unwrap();
    for part in [env!("CARGO_PKG_VERSION"), "event_loop.rs", "store opened sessions=2", "backtrace:"] {
        assert!(report.contains(part), "{part}: {report}");
    }
    assert!(!report.contains("hello there"), "{report}");
    let log = std::fs::read_to_string(folder.join("log")).unwrap();
    assert!(log.contains("store opened"), "{log}");
    for file in [Path::new("log"), name.as_ref()] {
        let mode = std::os::unix::fs::MetadataExt::mode(&folder.join(file).metadata().unwrap());
        assert_eq!(mode & 0o777, 0o600, "nobody else reads the paths in {}", file.display());
    }
}

#[test]
fn a_termination_signal_restores_the_terminal() {
    use rustix::process::Signal;
    let signals =
        [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT, Signal::ABORT, Signal::USR1, Signal::USR2];
    for signal in signals {
        let store = Store::new();
        let mut program = start(store.dir.path());
        program.until_shown("hello there");
        program.signal(signal);
        let ended = program.ended();
        assert_eq!(ended.code, 0, "{signal:?}");
        assert_restored(&ended);
    }
}

#[test]
fn a_terminal_that_hangs_up_ends_the_program_without_a_crash() {
    let store = Store::new();
    let state = tempfile::tempdir().unwrap();
    let variables = [("XDG_STATE_HOME", state.path().to_str().unwrap())];
    let mut program = Started::new(&[store.dir.path().to_str().unwrap()], &variables);
    program.until_shown("hello there");
    // A frame that cannot be drawn is an error; 101 is a crash.
    assert_ne!(program.hang_up(), 101);
    let files = std::fs::read_dir(state.path().join("clawscope")).into_iter().flatten();
    let names: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.iter().all(|name| !name.starts_with("crash-")), "{names:?}");
}

/// A process that is killed or aborts no longer runs its own code.
#[cfg(target_os = "linux")]
#[test]
fn an_aborted_process_restores_the_terminal_and_writes_a_report() {
    use rustix::process::Signal;
    for signal in [Signal::KILL, Signal::ILL, Signal::ALARM] {
        let store = Store::new();
        let state = tempfile::tempdir().unwrap();
        let variables = [("XDG_STATE_HOME", state.path().to_str().unwrap())];
        let mut program = Started::in_shell(&[store.dir.path().to_str().unwrap()], &variables);
        program.until_shown("hello there");
        program.signal_child(signal);
        let ended = program.ended_with("wrote a crash report");
        assert_ne!(ended.code, 0, "{signal:?}");
        assert_restored(&ended);
        let report = only_report(&state.path().join("clawscope"));
        for part in [env!("CARGO_PKG_VERSION"), "store opened sessions=2", "killed or aborted", "backtrace:"]
        {
            assert!(report.contains(part), "{part}: {report}");
        }
        assert!(!report.contains("hello there"), "{report}");
    }
}

/// An allocation that fails aborts the process.
#[cfg(target_os = "linux")]
#[test]
fn a_failed_allocation_restores_the_terminal() {
    if !cfg!(debug_assertions) {
        return skipped::note("a debug build", "a release has no failure that a test can ask for");
    }
    let store = Store::new();
    let state = tempfile::tempdir().unwrap();
    let variables =
        [("CLAWSCOPE_TEST_PANIC", "allocation"), ("XDG_STATE_HOME", state.path().to_str().unwrap())];
    let program = Started::in_shell(&[store.dir.path().to_str().unwrap()], &variables);
    let ended = program.ended_with("wrote a crash report");
    assert_ne!(ended.code, 0);
    assert_restored(&ended);
    assert!(only_report(&state.path().join("clawscope")).contains("killed or aborted"));
}

/// The process would otherwise continue without a terminal.
#[test]
fn a_panic_in_another_thread_ends_the_program() {
    if !cfg!(debug_assertions) {
        return skipped::note("a debug build", "a release has no panic that a test can ask for");
    }
    let store = Store::new();
    let state = tempfile::tempdir().unwrap();
    let variables = [("CLAWSCOPE_TEST_PANIC", "thread"), ("XDG_STATE_HOME", state.path().to_str().unwrap())];
    let ended = Started::new(&[store.dir.path().to_str().unwrap()], &variables).ended();
    assert_ne!(ended.code, 0);
    assert_restored(&ended);
    assert!(ended.text.contains("clawscope crashed"), "{}", ended.text);
}

/// The terminal then belongs to the pager or the shell.
#[cfg(target_os = "linux")]
#[test]
fn a_process_that_dies_without_the_terminal_does_not_restore_it() {
    let store = Store::new();
    let state = tempfile::tempdir().unwrap();
    let variables = [("XDG_STATE_HOME", state.path().to_str().unwrap())];
    let mut program = Started::new(&[store.dir.path().to_str().unwrap()], &variables);
    program.until_shown("hello there");
    program.keys("\x1a");
    program.until("the terminal is given back", |screen| !screen.alternate_screen());
    program.until_stopped();
    assert_eq!(program.children(), [0; 0], "nothing stopped is left behind");
    program.signal(rustix::process::Signal::KILL);
    let ended = program.ended();
    assert_restored(&ended);
    assert!(!ended.text.contains("crash report"), "{}", ended.text);
    assert!(!state.path().join("clawscope").exists());
}

fn only_report(folder: &Path) -> String {
    let items = std::fs::read_dir(folder).unwrap().map(|item| item.unwrap().path());
    let reports: Vec<_> =
        items.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("crash-")).collect();
    let [report] = reports.as_slice() else { panic!("{reports:?}") };
    std::fs::read_to_string(report).unwrap()
}

/// A package manager replaces the running program.
#[cfg(target_os = "linux")]
#[test]
fn an_update_while_the_program_runs_starts_no_other_program() {
    use std::os::unix::fs::PermissionsExt as _;
    let built = Path::new(env!("CARGO_BIN_EXE_clawscope"));
    let folder = tempfile::tempdir_in(built.parent().unwrap()).unwrap();
    let (own, mark) = (folder.path().join("clawscope"), folder.path().join("started"));
    std::fs::hard_link(built, &own).unwrap();
    let store = Store::new();
    let mut program = Started::at(&own, &[store.dir.path().to_str().unwrap()], &[]);
    program.until_shown("hello there");
    std::fs::remove_file(&own).unwrap();
    let script = format!("#!/bin/sh\ntouch {}\n", mark.display());
    std::fs::File::create(&own).unwrap().write_all(script.as_bytes()).unwrap();
    std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o755)).unwrap();
    program.keys("\x1a");
    program.until_stopped();
    program.signal(rustix::process::Signal::CONT);
    program.until_shown("hello there");
    assert_eq!(program.children().len(), 1, "the terminal is watched again");
    program.keys("q");
    assert_restored(&program.ended());
    assert!(!mark.exists());
}

#[test]
fn ctrl_z_releases_the_terminal_and_fg_takes_it_again() {
    let store = Store::new();
    let mut program = start(store.dir.path());
    program.until_shown("hello there");
    program.keys("\x1a");
    program.until("the terminal is given back", |screen| !screen.alternate_screen());
    program.until_stopped();
    program.signal(rustix::process::Signal::CONT);
    program.until("the terminal is taken again", vt100::Screen::alternate_screen);
    program.until_shown("hello there");
    program.keys("q");
    let ended = program.ended();
    assert_eq!(ended.code, 0);
    assert_restored(&ended);
}

#[test]
fn custom_commands_run_in_the_background_or_in_the_terminal() {
    let store = Store::new();
    let folder = store.dir.path().join("config/clawscope");
    std::fs::create_dir_all(&folder).unwrap();
    let done = store.dir.path().join("done");
    let config = format!(
        r#"
[[command]]
key = "F"
name = "Count"
command = 'echo counted $(wc -l < "$CLAWSCOPE_FILE") lines'

[[command]]
key = "T"
name = "Take"
command = 'echo line "$CLAWSCOPE_LINE" in the terminal; until [ -e "{done}" ]; do sleep 0.02; done; exit 4'
on = "entry"
terminal = true
"#,
        done = done.display()
    );
    std::fs::File::create(folder.join("config.toml")).unwrap().write_all(config.as_bytes()).unwrap();
    let config = store.dir.path().join("config");
    let variables = [("XDG_CONFIG_HOME", config.to_str().unwrap())];
    let mut program = Started::new(&[store.dir.path().to_str().unwrap()], &variables);
    program.until_shown("hello there");
    program.keys("1F");
    program.until_shown("Count: counted 2 lines");
    program.keys("2T");
    program.until("the command has the terminal", |screen| {
        !screen.alternate_screen() && screen.contents().contains("line 2 in the terminal")
    });
    std::fs::File::create(&done).unwrap();
    program.until_shown("Take ended with exit code 4");
    program.keys("q");
    let ended = program.ended();
    assert_eq!(ended.code, 0);
    assert_restored(&ended);
}

#[test]
fn the_pager_gets_the_terminal_and_gives_it_back() {
    let store = Store::new();
    let seen = store.dir.path().join("seen");
    let leave = store.dir.path().join("leave");
    let pager = format!(
        "cat > {}; echo in the pager; until [ -e {} ]; do sleep 0.02; done",
        seen.display(),
        leave.display()
    );
    let path = store.dir.path().to_str().unwrap().to_owned();
    let mut program = Started::new(&[&path], &[("PAGER", &pager)]);
    program.until_shown("hello there");
    program.keys("vo");
    program.until("the pager has the terminal", |screen| {
        !screen.alternate_screen() && screen.contents().contains("in the pager")
    });
    std::fs::File::create(leave).unwrap();
    program.until("the terminal is taken again", vt100::Screen::alternate_screen);
    program.until_shown("telegram");
    assert!(std::fs::read_to_string(seen).unwrap().contains("hello there"));
    program.keys("q");
    let ended = program.ended();
    assert_eq!(ended.code, 0);
    assert_restored(&ended);
}

#[test]
fn copying_uses_the_terminals_clipboard() {
    let store = Store::new();
    let mut program = start(store.dir.path());
    program.until_shown("hello there");
    program.keys("yy");
    program.until_shown("Sent message");
    assert_eq!(program.until_copied(), "aGVsbG8gdGhlcmU=", "hello there");
    program.keys("q");
    assert_eq!(program.ended().code, 0);
}

#[test]
fn a_plan_is_previewed_written_and_taken_back_from_the_keyboard() {
    let dir = tempfile::tempdir().unwrap();
    clawscope::store::demo::write_to(dir.path()).unwrap();
    let sessions = dir.path().join("agents/main/sessions");
    let bytes = || -> u64 {
        let entries = std::fs::read_dir(&sessions).unwrap().flatten();
        entries.map(|entry| entry.metadata().unwrap().len()).sum()
    };
    let before = bytes();
    let mut program = start(dir.path());
    program.until_shown("8812");
    // The session with the newest change opens automatically; a filter finds the one that overflowed.
    program.keys("1/8812\r");
    program.until_shown("direct:8812");
    program.until_shown("prompt is too long");
    program.keys("p4i2");
    program.until_shown("plan");
    program.keys("c");
    program.until_shown("Write this plan");
    program.until_shown("lock available");
    assert_eq!(bytes(), before, "nothing is written before yes");
    program.keys("y");
    program.until_shown("Branch written");
    let written = bytes();
    assert!(written > before);
    // The branch is read back before it can be undone.
    program.until_shown("prune frees nothing");
    program.keys("u");
    program.until_shown("lock available");
    program.keys("y");
    // The notice disappears by itself, on a busy machine before the test reads the screen; the plan's saving stays.
    program.until_shown("prune frees ~104k");
    assert!(bytes() > written);
    program.keys("q");
    let ended = program.ended();
    assert_eq!(ended.code, 0);
    assert_restored(&ended);
}

#[test]
fn an_overflow_is_read_followed_to_its_entry_and_prevented_by_a_patch() {
    let mut program = Started::new(&["--demo"], &[]);
    program.until_shown("telegram 8812");
    program.keys("1/8812\r");
    program.until_shown("direct:8812");
    program.until_shown("prompt is too long");
    // The verdict, with its evidence.
    program.keys("e");
    program.until_shown("Overflowed: pruning did nothing");
    program.until_shown("pruning-inert");
    program.keys("\u{1b}");
    program.until("the panes", |screen| !screen.contents().contains("Overflowed:"));
    // The map begins at the smallest change; its cell is taken.
    program.keys("w");
    program.until_shown("smallest change ttl 30m");
    program.until_shown("1 setting differs from config");
    program.keys("\r");
    program.until("the cell in the tuning pane", |screen| {
        let text = screen.contents();
        text.contains("Would prune now") && text.contains("was 1h") && text.contains("plan")
    });
    // Every call fits under the plan now.
    program.keys("t");
    program.until("the simulated curve beside the recorded one", |screen| {
        let text = screen.contents();
        text.contains("1 overflow") && text.contains("simulated   peak 176k   no overflow")
    });
    program.keys(":copy-patch\r");
    program.until_shown("Sent config patch to");
    let copied = base64::engine::general_purpose::STANDARD.decode(program.until_copied()).unwrap();
    let patch = clawscope::js::parse(&String::from_utf8(copied).unwrap()).unwrap();
    let pruning = r#"{"agents":{"defaults":{"contextPruning":{"ttl":"30m"}}}}"#;
    assert_eq!(clawscope::js::stringify(&patch), pruning);
    // Returns the same way.
    program.keys("\u{1b}");
    program.until_shown("Would prune now");
    program.keys("q");
    let ended = program.ended();
    assert_eq!(ended.code, 0);
    assert_restored(&ended);
}

#[test]
fn another_size_is_drawn_in_full() {
    let store = Store::new();
    let mut program = start(store.dir.path());
    program.until_shown("hello there");
    program.resize(60, 20);
    program.until_shown("hello there");
    program.resize(140, 50);
    program.until_shown("hello there");
    program.keys("q");
    assert_eq!(program.ended().code, 0);
}

#[test]
fn a_path_that_does_not_exist_is_reported_on_the_screen() {
    let mut program = Started::new(&["/nonexistent/store"], &[]);
    program.until_shown("does not exist");
    program.keys("q");
    assert_eq!(program.ended().code, 0);
}

#[test]
fn an_idle_program_sleeps() {
    let store = Store::new();
    let mut program = start(store.dir.path());
    program.until_shown("hello there");
    program.until_quiet();
    // Threads that only start the program end sooner or later; what wakes again and again wakes in each of these times.
    let mut woken = Vec::new();
    let sleeps = (0..20).any(|_| {
        let before = program.switches();
        program.let_pass_ms(1500);
        woken.push(program.switches().abs_diff(before));
        woken.last() <= Some(&2)
    });
    assert!(sleeps, "woken without any reason, in times of 1.5 s: {woken:?}");
    program.keys("q");
    assert_eq!(program.ended().code, 0);
}
