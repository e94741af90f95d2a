//! Links that break, talk too much, or lead to machines that refuse.

use std::process::Stdio;

use rustix::process::Signal;

use super::{Programs, demo, signal_when};
use crate::support::process::{is_gone, written_in};

#[test]
fn a_broken_link_is_told_apart_from_every_answer() {
    let (_dir, store) = demo();
    let place = format!("ssh://gateway{}", store.display());
    for commands in ["exit 255", "timeout 9 sh -c \"$*\" | head -c 200; exit 255", "kill -9 $$"] {
        let programs = Programs::with_ssh(&format!("echo 'Connection reset' >&2; {commands}"));
        let (code, _, err) = programs.run(&["tree", "agent:main:telegram:direct:8812", "--store", &place]);
        assert_eq!(code, 3, "{commands}: {err}");
        for part in ["gateway: ssh ", "Connection reset", "may be incomplete", "run the command again"] {
            assert!(err.contains(part), "{commands}: {part}: {err}");
        }
    }
    let programs = Programs::with_ssh("exit 255");
    let (code, out, err) = programs.run(&["sessions", &place, "--json"]);
    assert_eq!((code, out.as_str()), (3, ""));
    let error: serde_json::Value = serde_json::from_str(&err).unwrap();
    assert_eq!(error["error"]["code"], 3);
}

#[test]
fn the_exit_code_and_both_streams_are_those_of_the_other_side() {
    for code in [0, 1, 2, 3, 4, 42] {
        let programs = Programs::with_ssh(&format!("printf 'a\\377b'; printf 'e\\033' >&2; exit {code}"));
        let output = programs.program(&["sessions", "ssh://gateway"]).output().unwrap();
        assert_eq!(output.status.code(), Some(code));
        assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"a\xffb"[..], &b"e\x1b"[..]));
    }
}

#[test]
fn the_input_reaches_the_other_side() {
    let programs = Programs::with_ssh("cat");
    let output =
        programs.program(&["sessions", "ssh://gateway"]).write_stdin(&b"a\0\xff\n"[..]).output().unwrap();
    assert_eq!(output.stdout, b"a\0\xff\n");
}

#[test]
fn the_command_line_has_every_word_and_no_terminal_for_a_pipe() {
    let programs = Programs::new();
    programs.write("ssh", "#!/bin/sh\nprintf '%s\\n' \"$@\"\n");
    let (_, out, _) = programs.run(&["search", "it's $(id)", "ssh://me@gateway:22/srv/x", "--json"]);
    let words: Vec<&str> = out.lines().collect();
    assert_eq!(words[..5], ["-T", "-p", "22", "--", "me@gateway"]);
    assert!(words[5].starts_with("exec sh -c ") && words.len() == 6, "{out}");
    assert!(words[5].ends_with(r"clawscope search 'it'\''s $(id)' /srv/x --json"), "{out}");
    programs.write("docker", "#!/bin/sh\nprintf '%s\\n' \"$@\"\n");
    let (_, out, _) = programs.run(&["sessions", "--via", "docker exec -it gateway"]);
    let words: Vec<&str> = out.lines().collect();
    assert_eq!(words[..5], ["exec", "-i", "gateway", "sh", "-c"]);
    assert_eq!(words[6..], ["clawscope", "sessions"]);
}

#[test]
fn hostile_words_arrive_as_they_were_typed() {
    let programs = Programs::with_ssh("exec sh -c \"$*\"");
    let mark = programs.path().join("touched");
    programs.write("far", "#!/bin/sh\nprintf '%s\\0' \"$@\"\n");
    std::fs::remove_file(programs.path().join("clawscope")).unwrap();
    std::fs::rename(programs.path().join("far"), programs.path().join("clawscope")).unwrap();
    let touch = format!("$(touch {0})`touch {0}`;touch {0}|touch {0}&", mark.display());
    for word in
        [&touch, "it's", "a\nb", "é 漢", "*", "~", "!!", "\\", "\"", "\u{1b}[2J", "", "#", "%s", "a\tb\n"]
    {
        let (code, out, err) = programs.run(&["search", word, "ssh://gateway"]);
        assert_eq!((code, out), (0, format!("search\0{word}\0")), "{word:?}: {err}");
    }
    assert!(!mark.exists());
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
fn a_container_that_is_not_there_is_no_answer() {
    let programs = Programs::new();
    programs.write("docker", "#!/bin/sh\necho 'No such container: nope' >&2; exit 1\n");
    let (code, out, err) = programs.run(&["sessions", "--via", "docker exec -i nope"]);
    assert_eq!((code, out.as_str()), (3, ""));
    assert!(err.contains("docker ended with exit code 1, so there was no connection"), "{err}");
    assert_eq!(err.matches("No such container").count(), 1, "{err}");
    // The answer of a program that was started is its own.
    programs.write("docker", "#!/bin/sh\nshift 3; exec \"$@\"\n");
    let (_dir, store) = demo();
    let (code, _, err) =
        programs.run(&["search", "zzzq", &store.to_string_lossy(), "--via", "docker exec -i gw"]);
    assert_eq!(code, 1, "{err}");
}

#[test]
fn a_faulty_address_starts_no_program() {
    let programs = Programs::new();
    let mark = programs.path().join("started");
    programs.write("ssh", &format!("#!/bin/sh\ntouch {}\n", mark.display()));
    for (address, part) in [
        ("ssh://me:hunter2@gateway", "a password"),
        ("ssh://-oProxyCommand=id", "invalid host"),
        ("ssh://-oProxyCommand=id@gateway", "invalid user"),
        ("ssh://gateway:99999", "invalid port"),
    ] {
        let (code, out, err) = programs.run(&["sessions", address]);
        assert_eq!((code, out.as_str()), (2, ""), "{address}");
        assert!(err.contains(part) && !err.contains("hunter2"), "{address}: {err}");
    }
    assert!(!mark.exists());
}

#[test]
fn a_signal_ends_the_command_there_too() {
    let programs = Programs::new();
    let pid = programs.path().join("pid");
    programs.write(
        "ssh",
        &format!("#!/bin/sh\necho $$ > {0}.new; mv {0}.new {0}; exec sleep 60\n", pid.display()),
    );
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let mut command = programs.std_program(&["watch", "ssh://gateway"]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let status = signal_when(child, signal, || pid.exists());
        assert_eq!(status.code(), Some(130), "{signal:?}");
        assert!(is_gone(written_in(&pid)), "{signal:?}");
        std::fs::remove_file(&pid).unwrap();
    }
}
