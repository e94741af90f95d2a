//! A machine that lies: its output cannot control the terminal, its messages have limits, its copies stay in their folder.

use super::Programs;
use crate::support::terminal::Started;

const GREETING: &str = r#"{"clawscope_protocol":1,"version":"0.1.0"}"#;

/// An `ssh` that prints these lines.
fn answering(lines: &str) -> Programs {
    let programs = Programs::new();
    programs.write("answer", lines);
    programs.write("ssh", &format!("#!/bin/sh\ncat {}/answer\ncat >/dev/null\n", programs.path().display()));
    programs
}

#[test]
fn invalid_messages_and_endless_lines_are_refused() {
    for answer in [
        "garbage".to_owned(),
        "{\"exec\":\"touch x\"}".to_owned(),
        "{\"end\":0,\"out\":\"x\"}".to_owned(),
        format!("{{\"out\":\"{}\"}}", "x".repeat(5 << 20)),
        "{\"screen\":{\"piece\":\"x\"}}".to_owned(),
        "[".repeat(100_000),
    ] {
        let programs = answering(&format!("{GREETING}\n{answer}\n{{\"end\":0}}\n"));
        let (code, out, err) = programs.run(&["sessions", "ssh://gateway", "--json"]);
        assert_eq!((code, out.as_str()), (3, ""), "{}", answer.chars().take(20).collect::<String>());
        assert!(err.contains("gateway"), "{err}");
    }
}

#[test]
fn endless_noise_is_refused_as_a_greeting() {
    let programs = Programs::with_ssh("while :; do echo noise noise noise noise noise; done");
    let (code, _, err) = programs.run(&["sessions", "ssh://gateway"]);
    assert!(code == 3 && err.contains("something else"), "{err}");
    let programs = Programs::with_ssh("exec cat /dev/zero");
    let (code, _, err) = programs.run(&["sessions", "ssh://gateway"]);
    assert!(code == 3 && err.contains("gateway"), "{err}");
}

#[test]
fn the_error_stream_of_the_other_machine_is_text() {
    let programs =
        answering(&format!("{GREETING}\n{{\"err\":\"a\\u001b]0;t\\u0007b\\n\"}}\n{{\"end\":3}}\n"));
    let (code, _, err) = programs.run(&["sessions", "ssh://gateway"]);
    assert_eq!((code, err.as_str()), (3, "a␛]0;t␇b\n"));
}

/// A frame with a text in its corner.
fn frame(text: &str) -> String {
    format!(
        "{{\"screen\":{{\"frame\":{{\"clear\":true,\"styles\":[[\"Reset\",\"Reset\",\"Reset\",0]],\"runs\":[[0,0,0,\"{text}\"]]}}}}}}"
    )
}

fn screen(programs: &Programs) -> Started {
    Started::new(&["ssh://gateway"], &[("PATH", &programs.search_path())])
}

#[test]
fn a_remote_screen_cannot_copy_or_save_unasked() {
    let programs = answering(&format!(
        "{GREETING}\n{{\"screen\":{{\"copy\":{{\"text\":\"rm -rf\",\"label\":\"x\"}}}}}}\n\
         {{\"screen\":{{\"save\":{{\"name\":\"../../x\",\"text\":\"x\"}}}}}}\n{}\n",
        frame("one\\u001b[2Jtwo")
    ));
    let mut program = screen(&programs);
    program.until_shown("one␛[2Jtwo");
    assert!(program.copied().is_empty());
}

#[test]
fn a_screen_that_breaks_the_protocol_restores_the_terminal() {
    for bad in [
        "{\"screen\":{\"frame\":{\"styles\":[],\"runs\":[[0,0,7,\"x\"]]}}}",
        "{\"screen\":{\"frame\":{\"styles\":[[\"\\u001b[31m\",\"Reset\",\"Reset\",0]],\"runs\":[]}}}",
        "{\"exec\":1}",
    ] {
        let programs = answering(&format!("{GREETING}\n{}\n{bad}\n", frame("shown")));
        let ended = screen(&programs).ended();
        assert_eq!(ended.code, 3, "{bad}: {}", ended.text);
        assert!(
            !ended.alternate_screen && ended.cooked && ended.text.contains("gateway"),
            "{bad}: {}",
            ended.text
        );
    }
}
