//! The command line of each screen, which the program accepts.

use clap::Parser as _;
use clawscope::app::screens::command_log::CommandLogScreen;
use clawscope::app::state::Overlay;
use clawscope::cli::{Cli, Command};
use serde_json::{Value, json};

use super::tuned;
use crate::support::driver::Driver;
use crate::support::store::program;

/// The words of a line after the program's name, as a POSIX shell reads them.
fn words(line: &str) -> Vec<String> {
    let mut words = shell_words::split(line).expect("a shell's words");
    assert_eq!(words.remove(0), "clawscope");
    words
}

fn screen(driver: &Driver) -> &CommandLogScreen {
    let Some(Overlay::CommandLog(screen)) = driver.app.overlay() else { panic!("no command log") };
    screen
}

/// The log, oldest first.
fn commands(driver: &mut Driver) -> Vec<String> {
    driver.press("@");
    let lines = screen(driver).commands.iter().rev().map(|command| command.line.clone()).collect();
    driver.press("esc");
    lines
}

fn run(line: &str, more: &[&str]) -> std::process::Output {
    let words = words(line);
    let words: Vec<&str> = words.iter().map(String::as_str).chain(more.iter().copied()).collect();
    program(&words).env("TZ", "UTC").output().expect("it runs")
}

#[track_caller]
fn answer(line: &str) -> Value {
    let out = run(line, &["--json"]);
    serde_json::from_slice(&out.stdout)
        .unwrap_or_else(|error| panic!("{line}: {error}: {}", String::from_utf8_lossy(&out.stderr)))
}

#[test]
fn every_screen_is_logged_as_a_command_that_the_program_runs() {
    let mut driver = tuned();
    driver
        .press("4 j l 2 e esc t esc w esc v esc B esc E esc i ! esc s esc p 2 f f s esc U esc C esc d esc 1");
    driver.press("d esc ctrl-f text:overflow enter esc esc");
    let lines = commands(&mut driver);
    let mut seen = Vec::new();
    for line in &lines {
        let out = run(line, &[]);
        // 1 is an answer: an overflow was found.
        assert!(matches!(out.status.code(), Some(0 | 1)), "{line}: {}", String::from_utf8_lossy(&out.stderr));
        let line = words(line);
        let option =
            line.get(2).filter(|word| ["--recovery", "--list", "--compare"].contains(&word.as_str()));
        seen.push(option.map_or_else(|| line[0].clone(), |option| format!("{} {option}", line[0])));
    }
    let expected = [
        "simulate",
        "explain",
        "replay",
        "sweep",
        "explain --recovery",
        "context",
        "sessions",
        "doctor",
        "tree",
        "undo --list",
        "undo --compare",
        "search",
    ];
    for command in expected {
        assert!(seen.iter().any(|word| word == command), "{command}: {lines:#?}");
    }
    assert_eq!(seen.iter().filter(|word| *word == "search").count(), 1, "not once per letter: {lines:#?}");
}

#[test]
fn a_command_answers_for_the_session_on_the_screen() {
    let mut driver = tuned();
    driver.press("p 2 e");
    let explained = answer(&driver.app.command_line().expect("a line"));
    driver.press("esc");
    let shown = driver.app.displayed_session().expect("a session");
    assert_eq!(explained["session"]["key"], json!(shown.item.key.0));
    driver.press("1 d");
    let line = driver.app.command_line().expect("a line");
    let Some(Overlay::Record(record)) = driver.app.overlay() else { panic!("no record") };
    assert_eq!(answer(&line)["session"]["key"], json!(record.key.0));
}

#[test]
fn a_moved_setting_is_logged_once_with_a_command_of_the_same_effect() {
    let mut driver = tuned();
    driver.press("4 j j l l l");
    let lines = commands(&mut driver);
    let set: Vec<&String> = lines.iter().filter(|line| line.contains(" --set ")).collect();
    assert_eq!(set.len(), 1, "{lines:#?}");
    let plan = driver.app.preview.plan.as_ref().expect("a plan");
    assert_eq!(answer(set[0])["after"]["tokens"].as_u64(), Some(plan.total_after()), "{}", set[0]);
}

#[test]
fn the_command_of_an_export_writes_the_file_that_the_screen_wrote() {
    let mut driver = tuned();
    driver.press(": text:export-json enter");
    let (name, text) = driver.saved.last().cloned().expect("a file");
    let line = commands(&mut driver).into_iter().find(|line| line.contains(" export ")).expect("a line");
    let mut words = words(&line);
    assert_eq!(words.iter().filter(|word| **word == name).count(), 1, "{line}");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(&name);
    words.iter_mut().filter(|word| **word == name).for_each(|word| *word = file.display().to_string());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let out = program(&words).output().expect("it runs");
    assert!(out.status.success(), "{line}: {}", String::from_utf8_lossy(&out.stderr));
    let read = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    let written = read(&std::fs::read_to_string(file).expect("the file"));
    let shown = read(&text);
    for part in ["session", "plan"] {
        assert_eq!(written[part], shown[part], "{part}");
    }
}

/// A store whose session has this key.
fn store_with(key: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path().join("agents/main/sessions");
    std::fs::create_dir_all(&folder).expect("a folder");
    let rows = json!({ key: { "sessionId": "s1", "updatedAt": 2 } }).to_string();
    let lines = [
        json!({"type": "session", "version": 3, "id": "s1", "timestamp": "2026-03-05T10:00:00.000Z", "cwd": "/w"}),
        json!({"type": "message", "id": "-n", "parentId": null, "timestamp": "2026-03-05T10:00:01.000Z",
            "message": {"role": "user", "content": "hello", "timestamp": 1_772_704_801_000_u64}}),
    ];
    for (name, text) in
        [("sessions.json", rows), ("s1.jsonl", lines.map(|line| format!("{line}\n")).concat())]
    {
        let mut file = std::fs::File::create(folder.join(name)).expect("a file");
        std::io::Write::write_all(&mut file, text.as_bytes()).expect("written");
    }
    dir
}

#[test]
fn a_session_key_that_looks_like_an_option_or_a_command_is_still_a_key() {
    for key in ["--help", "-x", "--store=/", "a b; touch /tmp/x", "it's $(id)"] {
        let mut driver = Driver::on(store_with(key), 130, 36);
        driver.press("2");
        let line = driver.app.command_line().expect("a line");
        let cli = Cli::try_parse_from(shell_words::split(&line).expect("words"));
        let cli = cli.unwrap_or_else(|error| panic!("{line}: {error}"));
        let Some(Command::Context(args)) = cli.command else { panic!("{line}") };
        assert!(args.context.target.session.ends_with(key), "{line}");
        let store = cli.store.store.expect("a store");
        assert!(driver.path().starts_with(store), "{line}");
        let out = run(&line, &[]);
        assert_eq!(out.status.code(), Some(0), "{line}: {}", String::from_utf8_lossy(&out.stderr));
    }
}

#[test]
fn the_log_is_copied_line_by_line_and_a_session_key_is_one_word() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("e esc @");
    let line = screen(&driver).commands[0].line.clone();
    assert!(line.contains("agent:main:telegram:direct:8812"), "{line}");
    driver.press("y");
    assert_eq!(driver.copied.last(), Some(&line));
}
