//! The command line of each screen, which the program accepts.

use clap::Parser as _;
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

/// Presses keys and returns the command line of the screen after each.
fn commands(driver: &mut Driver, keys: &str) -> Vec<String> {
    let press = |key| {
        driver.press(key);
        driver.app.command_line()
    };
    keys.split(' ').filter_map(press).collect()
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
fn the_command_for_a_message_shows_the_context_that_ends_with_it() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("2 G K 3");
    let line = driver.app.command_line().expect("a command");
    let entry = driver.app.selected_entry().expect("an entry");
    let id = driver.app.transcript.as_ref().expect("a session").session.index.display_id(entry);
    assert!(line.contains(&format!(" --leaf {id} ")) && run(&line, &[]).status.success(), "{line}");
    driver.press("2");
    assert!(!driver.app.command_line().expect("a command").contains("--leaf"));
}

#[test]
fn every_screen_has_a_command_that_the_program_runs() {
    let mut driver = tuned();
    let mut lines = commands(&mut driver, "4 j l i 2 e esc t esc w esc :breakdown esc");
    lines.extend(commands(
        &mut driver,
        ":problems esc :policies esc plan :toggle-history b esc 1 :session-record esc",
    ));
    lines.extend(commands(&mut driver, "ctrl-f text:overflow enter esc esc"));
    lines.dedup();
    let mut seen = Vec::new();
    for line in &lines {
        let out = run(line, &[]);
        // 1 is an answer: an overflow was found.
        assert!(matches!(out.status.code(), Some(0 | 1)), "{line}: {}", String::from_utf8_lossy(&out.stderr));
        let line = words(line);
        let option = line.get(2).filter(|word| ["--list"].contains(&word.as_str()));
        seen.push(option.map_or_else(|| line[0].clone(), |option| format!("{} {option}", line[0])));
    }
    let expected = [
        "simulate",
        "explain",
        "replay",
        "sweep",
        "context",
        "sessions",
        "doctor",
        "tree",
        "undo --list",
        "search",
    ];
    for command in expected {
        assert!(seen.iter().any(|word| word == command), "{command}: {lines:#?}");
    }
}

#[test]
fn a_command_answers_for_the_session_on_the_screen() {
    let mut driver = tuned();
    driver.press("plan 2 e");
    let explained = answer(&driver.app.command_line().expect("a line"));
    driver.press("esc");
    let shown = driver.app.displayed_session().expect("a session");
    assert_eq!(explained["session"]["key"], json!(shown.item.key.0));
    driver.press("1 v d");
    let line = driver.app.command_line().expect("a line");
    let Some(Overlay::Record(record)) = driver.app.overlay() else { panic!("no record") };
    assert_eq!(answer(&line)["session"]["key"], json!(record.key.0));
}

#[test]
fn a_moved_setting_is_in_a_command_of_the_same_effect() {
    let mut driver = tuned();
    let lines = commands(&mut driver, "4 j j l l l");
    let line = lines.last().filter(|line| line.contains(" --set ")).expect("a setting");
    let plan = driver.app.preview.plan.as_ref().expect("a plan");
    assert_eq!(answer(line)["after"]["tokens"].as_u64(), Some(plan.total_after()), "{line}");
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
fn the_copy_menu_has_the_command_line_and_a_session_key_is_one_word() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("2 y c");
    let line = driver.copied.last().expect("a line");
    assert!(line.contains("agent:main:telegram:direct:8812"), "{line}");
    assert_eq!(driver.app.command_line().as_ref(), Some(line));
}
