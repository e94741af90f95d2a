//! Alerts of the real program in a terminal: once for each crossing, quickly, and never for a healthy session.
#![cfg(unix)]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::terminal::Started;

/// The longest time from the entry on disk to the bell. The fastest of several counts: the machine may be busy.
const SOON: Duration = Duration::from_secs(1);

/// A store of two sessions, and a home whose configuration alerts at half of the window.
struct Place {
    home: tempfile::TempDir,
}

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"ID","timestamp":"2026-03-05T10:00:00.000Z","cwd":"/w"}"#;

impl Place {
    fn new() -> Self {
        let place = Self { home: tempfile::tempdir().unwrap() };
        place.write(
            "store/agents/main/sessions/sessions.json",
            r#"{"agent:main:telegram:direct:42":{"sessionId":"s1","updatedAt":2},"agent:main:main":{"sessionId":"s2","updatedAt":1}}"#,
        );
        for (id, text) in [("s1", "hello there"), ("s2", "something else")] {
            let header = HEADER.replace("ID", id);
            place.write(
                &format!("store/agents/main/sessions/{id}.jsonl"),
                &format!("{header}\n{}", user("a1", None, text)),
            );
        }
        place.write("store/openclaw.json", r#"{"agents":{"defaults":{"contextTokens":200000}}}"#);
        let heard = place.heard();
        let script = format!("echo \"$1\" >> '{}'", heard.display()).replace('"', "\\\"");
        place.write(
            ".config/clawscope/config.toml",
            &format!(
                "[alerts]\nat = [0.5]\nnotify = true\ncommand = [\"sh\", \"-c\", \"{script}\", \"sh\"]\n"
            ),
        );
        place
    }

    fn store(&self) -> PathBuf {
        self.home.path().join("store")
    }

    /// Returns the file in which the person's program records its input.
    fn heard(&self) -> PathBuf {
        self.home.path().join("heard")
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.home.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn append(&self, id: &str, line: &str) {
        let path = self.store().join(format!("agents/main/sessions/{id}.jsonl"));
        std::fs::OpenOptions::new().append(true).open(path).unwrap().write_all(line.as_bytes()).unwrap();
    }

    fn start(&self, arguments: &[&str]) -> Started {
        let store = self.store();
        let home = self.home.path().to_str().unwrap();
        Started::new(&[arguments, &[store.to_str().unwrap()]].concat(), &[("HOME", home)])
    }
}

fn parent(id: Option<&str>) -> String {
    id.map_or("null".to_owned(), |id| format!("\"{id}\""))
}

fn user(id: &str, before: Option<&str>, text: &str) -> String {
    format!(
        "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":{},\"timestamp\":\"2026-03-05T10:00:01.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\",\"timestamp\":1772704801000}}}}\n",
        parent(before)
    )
}

/// An answer to a prompt of this many tokens.
fn answer(id: &str, before: &str, tokens: u64) -> String {
    format!(
        "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":\"{before}\",\"timestamp\":\"2026-03-05T10:00:02.000Z\",\"message\":{{\"role\":\"assistant\",\"content\":[{{\"type\":\"text\",\"text\":\"answer {id}\"}}],\"api\":\"anthropic-messages\",\"provider\":\"anthropic\",\"model\":\"claude-opus-4-5\",\"usage\":{{\"input\":{tokens},\"output\":10,\"cacheRead\":0,\"cacheWrite\":0,\"totalTokens\":{}}},\"stopReason\":\"stop\",\"timestamp\":1772704802000}}}}\n",
        tokens + 10
    )
}

/// Waits until the program follows the file: an entry that came before the list is not a change.
fn until_followed(program: &mut Started, place: &Place, shown: &str) {
    program.until_shown(shown);
    place.append("s1", &user("a2", Some("a1"), "first addition"));
    program.until_shown("first addition");
    place.append("s1", &user("a3", Some("a2"), "second addition"));
    program.until_shown("second addition");
}

/// Adds answers that cross the level three times, fall below it, and stay above it; returns the fastest bell.
fn cross_three_times(program: &mut Started, place: &Place) -> Duration {
    let mut fastest = Duration::MAX;
    let mut last = "a3".to_owned();
    for round in 0..3 {
        let mut add = |name: &str, tokens| {
            let id = format!("{name}{round}");
            place.append("s1", &answer(&id, &last, tokens));
            last = id;
        };
        add("cross", 120_000);
        fastest = fastest.min(program.until_bells(round + 1));
        add("higher", 130_000);
        program.until_shown(&format!("answer higher{round}"));
        add("low", 20_000);
        program.until_shown(&format!("answer low{round}"));
        assert_eq!(program.bells(), round + 1, "once for each crossing");
    }
    fastest
}

fn heard(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn the_screen_rings_notifies_and_runs_a_program_once_for_each_crossing() {
    let place = Place::new();
    let mut program = place.start(&[]);
    until_followed(&mut program, &place, "hello there");
    assert_eq!((program.bells(), program.notifications().len()), (0, 0));
    let fastest = cross_three_times(&mut program, &place);
    assert!(fastest < SOON, "the fastest bell took {fastest:?}");
    assert_eq!(program.notifications().len(), 3);
    for words in program.notifications() {
        assert!(words.contains("60% full") && words.contains("telegram:direct:42"), "{words}");
    }
    let told = program.notifications().to_vec();
    program.keys("q");
    assert_eq!(program.ended().code, 0);
    assert_eq!(heard(&place.heard()), told, "the person's own program was told the same");
}

#[test]
fn sessions_below_the_level_or_already_full_raise_no_alert() {
    let place = Place::new();
    place.append("s2", &answer("b2", "a1", 150_000));
    let mut program = place.start(&[]);
    until_followed(&mut program, &place, "hello there");
    place.append("s2", &answer("b3", "b2", 155_000));
    place.append("s1", &answer("a4", "a3", 40_000));
    place.append("s1", &answer("a5", "a4", 90_000));
    program.until_shown("answer a5");
    program.until_quiet();
    assert_eq!((program.bells(), program.notifications().len()), (0, 0));
    assert_eq!(heard(&place.heard()), [""; 0]);
    program.keys("q");
    assert_eq!(program.ended().code, 0);
}

#[test]
fn watch_alerts_at_the_level_of_its_option() {
    let place = Place::new();
    let mut program = place.start(&["watch", "--alert", "55%"]);
    // It follows the store once it prints its first line.
    program.until_shown("following 2 sessions");
    place.append("s1", &user("a2", Some("a1"), "an addition"));
    program.until_shown("an addition");
    place.append("s1", &answer("x1", "a2", 104_000));
    program.until_shown("x1");
    assert_eq!(program.bells(), 0, "52% is below 55%");
    place.append("s1", &answer("x2", "x1", 120_000));
    program.until_bells(1);
    program.until_shown("ALERT");
    place.append("s1", &answer("x3", "x2", 125_000));
    program.until_shown("x3");
    assert_eq!(program.bells(), 1);
}

#[test]
fn half_a_line_of_a_session_that_was_full_before_raises_no_alert() {
    let place = Place::new();
    place.append("s2", &answer("b2", "a1", 150_000));
    let mut program = place.start(&["watch", "--alert", "55%"]);
    program.until_shown("following 2 sessions");
    let line = answer("b3", "b2", 151_000);
    let (start, rest) = line.split_at(40);
    place.append("s2", start);
    // The start was read once a later line of the other session appears.
    place.append("s1", &user("a2", Some("a1"), "an addition"));
    program.until_shown("an addition");
    place.append("s2", rest);
    program.until_shown("b3");
    assert_eq!(program.bells(), 0);
}
