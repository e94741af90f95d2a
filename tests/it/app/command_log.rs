//! The command line of each screen, which the program accepts.

use clawscope::app::state::Overlay;

use super::tuned;
use crate::support::driver::Driver;
use crate::support::store::program;

/// The words of a line, as a POSIX shell reads them: only values with unusual characters are in quotes.
fn words(line: &str) -> Vec<String> {
    line.split(' ').skip(1).map(|word| word.trim_matches('\'').to_owned()).collect()
}

fn commands(driver: &mut Driver) -> Vec<String> {
    driver.press("@");
    let Some(Overlay::CommandLog(screen)) = driver.app.overlay() else { panic!("no command log") };
    let lines = screen.commands.iter().rev().map(|command| command.line.clone()).collect();
    driver.press("esc");
    lines
}

#[test]
fn every_screen_is_logged_as_a_command_that_the_program_runs() {
    let mut driver = tuned();
    driver.press("4 j l 2 e esc t esc w esc v esc B esc E esc i esc ! esc b esc s esc 1");
    let lines = commands(&mut driver);
    let mut seen = Vec::new();
    for line in &lines {
        let words = words(line);
        let out = program(&words.iter().map(String::as_str).collect::<Vec<_>>()).env("TZ", "UTC").output();
        let out = out.expect("it runs");
        let code = out.status.code();
        // 1 is an answer: an overflow was found.
        assert!(matches!(code, Some(0 | 1)), "{line}: {}", String::from_utf8_lossy(&out.stderr));
        seen.push(words[0].clone());
    }
    for command in ["simulate", "explain", "replay", "sweep", "recovery", "context", "sessions"] {
        assert!(seen.iter().any(|word| word == command), "{command}: {lines:#?}");
    }
}

#[test]
fn moving_a_setting_is_one_line_and_its_command_frees_what_the_screen_shows() {
    let mut driver = tuned();
    driver.press("4 j j l l l");
    let lines = commands(&mut driver);
    let set: Vec<&String> = lines.iter().filter(|line| line.contains(" --set ")).collect();
    assert_eq!(set.len(), 1, "{lines:#?}");
    let words = words(set[0]);
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    words.push("--json");
    let out = program(&words).output().expect("it runs");
    let answer: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let plan = driver.app.plan.as_ref().expect("a plan");
    assert_eq!(answer["after"]["tokens"].as_u64(), Some(plan.total_after()), "{}", set[0]);
}

#[test]
fn the_log_is_copied_line_by_line_and_a_session_key_is_one_word() {
    let mut driver = Driver::demo(130, 36);
    driver.go_to("telegram:direct:8812");
    driver.press("e esc @");
    let line = match driver.app.overlay() {
        Some(Overlay::CommandLog(screen)) => screen.commands[0].line.clone(),
        other => panic!("{other:?}"),
    };
    assert!(line.contains("agent:main:telegram:direct:8812"), "{line}");
    driver.press("y");
    assert_eq!(driver.copied.last(), Some(&line));
}
