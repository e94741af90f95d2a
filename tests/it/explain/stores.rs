//! `explain --all` on a store of many sessions.

use std::process::Command;

use assert_cmd::cargo::CommandCargoExt as _;
use serde_json::{Value, json};

use super::made::Made;

const SESSIONS: usize = 200;
/// Sessions that a fallback model of 131,072 tokens would refuse.
const OVER: usize = 34;

fn program(words: &[&str]) -> (String, std::time::Duration) {
    let started = std::time::Instant::now();
    let mut command = Command::cargo_bin("clawscope").expect("the program");
    let output =
        command.env_clear().env("HOME", "/nonexistent/clawscope-test").args(words).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (String::from_utf8(output.stdout).expect("UTF-8"), started.elapsed())
}

#[test]
fn a_store_of_two_hundred_is_ranked_with_a_column_for_each_window() {
    let counted = |tokens: u64| {
        let mut made = Made::new();
        made.user("hello");
        made.settle(tokens);
        made.answer(40);
        made
    };
    let mut failed = Made::new();
    failed.grow_to(60_000, 9_000);
    failed.user("go on");
    failed.failed("prompt is too long: 1012000 tokens > 1000000 maximum");
    let mut store = failed.on(1_000_000);
    for number in 1..SESSIONS {
        let tokens =
            if number <= OVER { 131_073 + number as u64 * 1_000 } else { 9_000 + number as u64 * 300 };
        store = store.beside(&format!("agent:main:telegram:direct:{number:04}"), &counted(tokens), json!({}));
    }
    let folder = store.write();
    let path = folder.path().to_str().expect("text");
    let (answer, took) =
        program(&["explain", "--all", path, "--window", "131072", "--window", "65536", "--json"]);
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    let sessions = answer["sessions"].as_array().expect("a list");
    assert_eq!((sessions.len(), answer["unread"].as_array().map(Vec::len)), (SESSIONS, Some(0)));
    assert_eq!(sessions[0]["overflow"], true, "what overflowed is first");
    assert!(sessions[1..].iter().all(|session| session["overflow"] == false));
    let over =
        |at: usize| sessions.iter().filter(|session| session["windows"][at]["overflows"] == true).count();
    assert!((OVER..=OVER + 1).contains(&over(0)) && over(1) > over(0), "{} {}", over(0), over(1));
    let full: Vec<u64> =
        sessions[1..].iter().map(|session| session["tokens"]["value"].as_u64().expect("tokens")).collect();
    assert!(
        full.windows(2)
            .all(|pair| pair[0] * 100 / 1_000_000 >= (pair[1] * 100 / 1_000_000).saturating_sub(1)),
        "the fuller first"
    );
    let (table, _) = program(&["explain", "--all", path, "--window", "131072"]);
    assert!(table.starts_with("200 sessions, 1 overflowed"), "{}", &table[..80]);
    assert_eq!(table.matches("over by ").count(), over(0));
    assert!(took.as_secs() < 60, "{took:?}");
}
