//! Links that break, talk too much, or lead to machines that refuse.

use std::io::Write as _;
use std::path::Path;

use super::{Programs, contents, demo};
use crate::support::large::{Recipe, file};

#[test]
fn a_broken_link_is_reported_without_half_an_object() {
    let (_dir, store) = demo();
    let place = format!("ssh://gateway{}", store.display());
    for bytes in [0, 40, 200, 3_000] {
        let programs = Programs::with_ssh(&format!("timeout 1 sh -c \"$*\" | head -c {bytes}; exit 255"));
        let (code, out, err) = programs.run(&["sessions", &place, "--json"]);
        assert_eq!((code, out.as_str()), (3, ""), "{bytes}: {err}");
        assert!(err.contains("gateway") && err.contains("ended with exit code 255"), "{bytes}: {err}");
    }
    let programs =
        Programs::with_ssh("timeout 1 sh -c \"$*\" | head -c 3000; echo 'Connection reset' >&2; exit 255");
    let (code, _, err) = programs.run(&["tree", "agent:main:telegram:direct:8812", "--store", &place]);
    assert_eq!(code, 3, "{err}");
    for part in
        ["before the answer was complete", "Connection reset", "Nothing is lost", "Run the command again"]
    {
        assert!(err.contains(part), "{part}: {err}");
    }
}

#[test]
fn login_messages_are_ignored() {
    let (_dir, store) = demo();
    let programs = Programs::with_ssh("echo 'Welcome!'; echo '{\"a\":1}'; exec sh -c \"$*\"");
    let own = programs.run(&["sessions", store.to_str().unwrap(), "--json"]);
    assert_eq!(programs.run(&["sessions", &format!("ssh://gateway{}", store.display()), "--json"]), own);
}

#[test]
fn an_unreachable_machine_is_reported_with_the_error_of_ssh() {
    let programs = Programs::with_ssh("echo 'ssh: Could not resolve hostname' >&2; exit 255");
    let (code, out, err) = programs.run(&["sessions", "ssh://nowhere"]);
    assert_eq!((code, out.as_str()), (3, ""));
    assert!(err.contains("nowhere") && err.contains("Could not resolve hostname"), "{err}");
    let (code, _, err) = programs.run(&["sessions", "--via", "/nonexistent/program -x"]);
    assert!(code == 3 && err.contains("cannot run /nonexistent/program"), "{err}");
    let (code, _, err) = programs.run(&["sessions", "--via", "docker 'x"]);
    assert!(code == 2 && err.contains("--via"), "{err}");
}

#[test]
fn a_write_is_refused_before_a_program_starts() {
    let programs = Programs::with_ssh("touch started; exit 1");
    let (code, _, err) =
        programs.run(&["commit", "agent:main:main", "--apply", "--store", "ssh://gateway/srv/x"]);
    assert_eq!(code, 4, "{err}");
    assert!(err.contains("only reads") && err.contains("ssh -t gateway "), "{err}");
    assert!(!Path::new("started").exists());
    let (code, _, err) = programs.run(&["doctor", "--repair", "--via", "docker exec -i gateway"]);
    assert!(code == 4 && err.contains("docker exec -i gateway clawscope doctor --repair"), "{err}");
}

/// A greeting, then a request for a command line.
fn request(words: &str) -> String {
    let words = words.split(' ').map(|word| format!("{word:?}")).collect::<Vec<_>>().join(",");
    format!(
        "{{\"clawscope_protocol\":1,\"version\":\"0\"}}\n{{\"run\":{{\"words\":[{words}],\"typed\":[],\"columns\":null,\
         \"colour\":false,\"toFile\":false,\"zone\":null,\"variables\":[],\"settingsFolder\":null,\"files\":[],\
         \"screen\":null}}}}\n"
    )
}

/// Returns the answers of the serving side; its input stays open until it ends.
fn served(input: &str) -> String {
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("clawscope"))
        .args(["serve", "--stdio"])
        .env_clear()
        .env("HOME", "/nonexistent")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // The serving side may end before it reads everything.
    drop(stdin.write_all(input.as_bytes()));
    let mut out = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut out).unwrap();
    drop(stdin);
    child.wait().unwrap();
    out
}

#[test]
fn the_serving_side_refuses_every_writing_command() {
    let (_dir, store) = demo();
    let before = contents(&store);
    let place = store.to_str().unwrap();
    for line in [
        &format!("commit agent:research:main --apply --policy prune --store {place}"),
        &format!("undo agent:research:main --apply --store {place}"),
        &format!("doctor --repair {place}"),
        &format!("dataset {place} --out {place}/d"),
        &format!("demo --out {place}/d"),
        &format!("sweep agent:main:main --store {place} --patch {place}/p"),
        &format!("summarize agent:main:main --store {place} --with command"),
    ] {
        let answer = served(&request(line));
        assert!(answer.contains("{\"end\":4}") && answer.contains("only reads"), "{line}: {answer}");
    }
    assert!(served(&request(&format!("sessions {place}"))).ends_with("{\"end\":0}\n"));
    assert_eq!(contents(&store), before);
}

#[test]
fn the_serving_side_ends_on_an_invalid_greeting() {
    for input in ["hello\n", "{}\n", "{\"clawscope_protocol\":99,\"version\":\"9\"}\n", &"x".repeat(1 << 20)]
    {
        let answer = served(input);
        assert!(answer.starts_with("{\"clawscope_protocol\":1,") && answer.lines().count() == 1, "{answer}");
    }
}

#[test]
fn another_protocol_is_named_with_both_versions() {
    let programs =
        Programs::with_ssh("echo '{\"clawscope_protocol\":99,\"version\":\"9.9.9\"}'; cat >/dev/null");
    let (code, _, err) = programs.run(&["sessions", "ssh://gateway"]);
    assert_eq!(code, 3);
    assert!(err.contains("9.9.9") && err.contains("protocols 99 and 1"), "{err}");
}

#[test]
fn a_large_transcript_is_not_transferred() {
    let dir = tempfile::tempdir().unwrap();
    let transcript = dir.path().join("large.jsonl");
    let bytes = file(Recipe::of(20 << 20, 7), &transcript).unwrap();
    let moved = dir.path().join("moved");
    let programs =
        Programs::with_ssh(&format!("cat | tee {0}.in | sh -c \"$*\" | tee {0}.out", moved.display()));
    let place = format!("ssh://gateway{}", transcript.display());
    let size = |name: &str| std::fs::metadata(moved.with_extension(name)).unwrap().len();
    for command in ["context", "explain", "replay", "tree"] {
        let own = programs.run(&[command, transcript.to_str().unwrap()]);
        assert_eq!(programs.run(&[command, &place]), own, "{command}");
        let share = (size("in") + size("out")) as f64 / bytes as f64;
        assert!(share <= 0.05, "{command} moved {:.2}%", share * 100.0);
    }
}
