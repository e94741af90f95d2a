//! Titles, rows and lines show a person's text, without the envelope of the gateway and without secrets unless
//! requested.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use clawscope::ui;
use clawscope::ui::theme::{ColourDepth, Role, Theme};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde_json::{Value, json};

use crate::support::driver::Driver;
use crate::support::secrets::random;
use crate::support::store::{self, Store, lines, message};

const WORD: &str = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz23456789";
/// A debug build on a busy machine takes its time.
const DEADLINE: Duration = Duration::from_mins(2);

/// Secrets as people paste them, each with the words around it. Put together at run time.
fn pasted() -> Vec<(String, String)> {
    let key = |at, start: &str, chars| format!("{start}{}", random(at, chars, WORD));
    let password = random(5, 14, WORD);
    let bearer = random(6, 40, WORD);
    let mut pasted: Vec<(String, String)> = [
        key(1, "sk-ant-api03-", 90),
        key(2, "ghp_", 36),
        format!("AKIA{}", random(3, 16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")),
    ]
    .into_iter()
    .map(|key| (key.clone(), format!("use {key} please")))
    .collect();
    pasted.push((bearer.clone(), format!("call it with Authorization: Bearer {bearer}")));
    pasted.push((password.clone(), format!("password:{password}")));
    let password = random(7, 14, WORD);
    pasted.push((password.clone(), format!("log in with password={password} first")));
    pasted
}

/// A session without a row, so that its title is the first message.
fn orphan(store: &Store, at: usize, text: &str) {
    let header = json!({ "type": "session", "version": 3, "id": format!("orphan-{at}"), "timestamp": "2026-03-05T08:00:00.000Z", "cwd": "/w" });
    let user = message(
        "user-0",
        None,
        &json!({ "role": "user", "content": [{ "type": "text", "text": text }], "timestamp": 1 }),
    );
    store.write(&format!("agents/main/sessions/orphan-{at}.jsonl"), &lines(&[header, user]));
}

fn store_of_secrets() -> Store {
    let store = Store::new();
    for (at, (_, text)) in pasted().iter().enumerate() {
        orphan(&store, at, text);
    }
    store
}

/// Whether a text holds a usable part of a secret.
fn holds(text: &str, secret: &str) -> bool {
    text.contains(&secret[..secret.len().min(14)])
}

#[test]
fn commands_show_secrets_only_on_request() {
    let store = store_of_secrets();
    for (at, (secret, _)) in pasted().iter().enumerate() {
        let session = format!("orphan-{at}");
        let commands: [&[&str]; 6] = [
            &["sessions"],
            &["sessions", "--json"],
            &["tree", &session],
            &["tree", &session, "--json"],
            &["context", &session],
            &["context", &session, "--json"],
        ];
        for words in commands {
            let (code, text, _) = store.run(words);
            assert_eq!(code, 0, "{words:?}");
            assert!(!holds(&text, secret), "{words:?}: {text}");
        }
        for words in [&commands[0], &commands[1], &commands[2], &commands[3], &commands[4]] {
            let mut words = words.to_vec();
            words.push("--no-redact");
            let (code, text, _) = store.run(&words);
            assert_eq!(code, 0, "{words:?}");
            assert!(holds(&text, secret), "{words:?}: {text}");
        }
    }
}

#[test]
fn the_title_is_the_persons_text() {
    let store = Store::new();
    let sender = "Sender (untrusted metadata):\n```json\n{\"label\": \"Mei\"}\n```\n\n";
    let cases = [
        (format!("{sender}[Mon 2026-03-09 06:40 UTC] find the leak"), "find the leak"),
        ("[Telegram Mei id:7 +2m 2026-03-09 06:40 UTC] find the leak".to_owned(), "⟨telegram⟩ find the leak"),
        ("[cron:5490-34fb nightly-report]\nCurrent time: Friday".to_owned(), "⟨cron nightly-report⟩"),
        (
            "System: [2026-03-12 06:36:00 UTC] Lark[main] message in group oc_1: 找出泄漏\n\n找出泄漏"
                .to_owned(),
            "⟨lark group⟩ 找出泄漏",
        ),
        ("plain words".to_owned(), "plain words"),
    ];
    for (at, (text, _)) in cases.iter().enumerate() {
        orphan(&store, at, text);
    }
    let answer = store.json(&["sessions"]);
    for (at, (_, title)) in cases.iter().enumerate() {
        let id = format!("orphan-{at}");
        let sessions = answer["sessions"].as_array().unwrap();
        let session = sessions.iter().find(|session| session["id"] == id.as_str()).unwrap();
        assert_eq!(session["title"], *title);
        let (_, tree, _) = store.run(&["tree", &id]);
        assert!(tree.contains(title), "{tree}");
    }
}

/// Returns the lines that `watch` prints once an entry with a text is added.
fn watched(store: &Store, options: &[&str], text: &str) -> String {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("clawscope"));
    command
        .arg("watch")
        .arg(store.path())
        .args(options)
        .env_clear()
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.env("HOME", "/nonexistent/clawscope-test").spawn().unwrap();
    let output = child.stdout.take().unwrap();
    let (sender, heard) = channel();
    let reader = std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    let mut said = String::new();
    let parent = store::long_session().last().unwrap()["id"].clone();
    for at in 0.. {
        let id = format!("new-{at}");
        store.append(&message(
            &id,
            parent.as_str(),
            &json!({ "role": "user", "content": text, "timestamp": 1 }),
        ));
        // Earlier entries are not reported: write until a line appears.
        if let Ok(line) = heard.recv_timeout(Duration::from_secs(2)) {
            said.push_str(&line);
            if line.contains("user") {
                break;
            }
        }
        assert!(Duration::from_secs(2) * at < DEADLINE, "nothing was reported");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    drop(heard);
    reader.join().unwrap();
    said
}

#[test]
fn lines_that_are_followed_hold_no_secret() {
    let (secret, text) = &pasted()[0];
    for options in [&[][..], &["--json"][..]] {
        let said = watched(&Store::new(), options, text);
        assert!(!holds(&said, secret), "{said}");
    }
    assert!(holds(&watched(&Store::new(), &["--no-redact"], text), secret));
}

fn drawn(driver: &Driver) -> Buffer {
    let mut buffer = Buffer::empty(Rect::new(0, 0, driver.app.size.0, driver.app.size.1));
    ui::render(&driver.app, &dark(), &mut buffer);
    buffer
}

fn dark() -> Theme {
    Theme::load("dark", ColourDepth::True).unwrap()
}

/// Opens a session in which a person said this by Telegram, and then a short message, which is selected.
fn session_by_telegram(text: &str) -> Driver {
    let dir = tempfile::tempdir().unwrap();
    let header = json!({ "type": "session", "version": 3, "id": "s", "timestamp": "2026-03-05T08:00:00.000Z", "cwd": "/w" });
    let sender =
        "Sender (untrusted metadata):\n```json\n{}\n```\n\n[Telegram Mei id:7 2026-03-09 06:40 UTC] ";
    let said = |id: &str, parent: Option<&str>, text: &str| {
        message(id, parent, &json!({ "role": "user", "content": text, "timestamp": 1 }))
    };
    let entries: [Value; 3] =
        [header, said("a", None, &format!("{sender}{text}")), said("b", Some("a"), "and then?")];
    File::create(dir.path().join("s.jsonl")).unwrap().write_all(lines(&entries).as_bytes()).unwrap();
    let mut driver = Driver::on(dir, 160, 40);
    driver.press("G");
    driver
}

fn screen(driver: &Driver) -> String {
    let buffer = drawn(driver);
    let cells = buffer.content().chunks(usize::from(driver.app.size.0));
    cells.map(|row| row.iter().map(ratatui::buffer::Cell::symbol).collect::<String>() + "\n").collect()
}

#[test]
fn the_screen_hides_secrets_until_the_key_shows_them() {
    for (secret, text) in pasted() {
        let mut driver = session_by_telegram(&text);
        let hidden = screen(&driver);
        assert!(!holds(&hidden, &secret), "{hidden}");
        assert!(hidden.contains("⟨telegram⟩") && hidden.contains("[redacted:"), "{hidden}");
        driver.press("v *");
        let shown = screen(&driver);
        assert!(holds(&shown, &secret), "{shown}");
        driver.press("v *");
        assert!(!holds(&screen(&driver), &secret));
    }
}

#[test]
fn the_mark_of_a_row_is_quieter_than_its_words() {
    let driver = session_by_telegram("find the leak");
    let buffer = drawn(&driver);
    let (mark, words) = (dark().style(Role::Muted).fg, dark().style(Role::Bright).fg);
    let width = usize::from(driver.app.size.0);
    let rows = buffer.content().chunks(width).map(|row| {
        let text: String = row.iter().map(ratatui::buffer::Cell::symbol).collect();
        (text.contains("⟨telegram⟩ find the leak"), row)
    });
    // The row of the transcript; that of the list is selected.
    let is_drawn = rows.filter(|(has, _)| *has).any(|(_, row)| {
        let at = row.windows(2).position(|two| two[0].symbol() == "⟨" && two[1].symbol() == "t");
        at.is_some_and(|at| {
            Some(row[at].fg) == mark && Some(row[at + "⟨telegram⟩ ".chars().count()].fg) == words
        })
    });
    assert!(is_drawn, "{}", screen(&driver));
}
