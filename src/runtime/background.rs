//! Detects whether the terminal is light or dark: from the environment, otherwise by asking the terminal, with a
//! timeout of 100 ms.

use std::io;

use crate::gateway::env::Environment;

/// The background of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Background {
    Dark,
    Light,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DetectedBackground {
    /// `None` when neither the environment nor the terminal says it.
    pub(super) background: Option<Background>,
    /// Whether the terminal got the query and may still answer.
    pub(super) awaits_response: bool,
}

/// Detects the background. The terminal must be in raw mode, and no other reader may exist.
pub(super) fn detect(env: &Environment) -> DetectedBackground {
    let reported = reported_background(env);
    let can_answer = !matches!(env.get("TERM"), None | Some("dumb" | "linux"));
    if reported.is_some() || !can_answer {
        return DetectedBackground { background: reported, awaits_response: false };
    }
    // An I/O error counts as no answer.
    let answer = query_terminal().unwrap_or_default();
    let text = String::from_utf8_lossy(&answer);
    DetectedBackground { background: parse_response(&text), awaits_response: !is_complete(&text) }
}

/// Returns the background that the environment names.
pub(super) fn reported_background(env: &Environment) -> Option<Background> {
    env.get("COLORFGBG").and_then(parse_colorfgbg)
}

/// Parses `15;0` or `15;default;0`: the last number is the background colour; 7 and 9–15 are light.
fn parse_colorfgbg(text: &str) -> Option<Background> {
    let colour: u8 = text.rsplit(';').next()?.parse().ok()?;
    let light = colour == 7 || (9..=15).contains(&colour);
    (colour <= 15).then_some(if light { Background::Light } else { Background::Dark })
}

/// The background query (OSC 11), followed by a query that every terminal answers, so that a terminal without OSC 11
/// causes no wait.
const QUERY: &[u8] = b"\x1b]11;?\x1b\\\x1b[c";

/// Whether the answer to the second query arrived.
fn is_complete(answer: &str) -> bool {
    answer.rsplit_once("\x1b[?").is_some_and(|(_, rest)| rest.contains('c'))
}

/// Parses `rgb:RRRR/GGGG/BBBB` with one to four digits per colour.
fn parse_response(answer: &str) -> Option<Background> {
    let rest = answer.split_once("]11;")?.1;
    let colours = rest.split_once("rgb:").or_else(|| rest.split_once("rgba:"))?.1;
    let part = |text: &str| {
        let digits: String = text.chars().take_while(char::is_ascii_hexdigit).take(4).collect();
        let value = u32::from_str_radix(&digits, 16).ok()?;
        Some(f64::from(value) / (f64::from(16_u32.pow(digits.len() as u32)) - 1.0))
    };
    let mut parts = colours.split('/').map(part);
    let (red, green, blue) = (parts.next()??, parts.next()??, parts.next()??);
    let light = 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5;
    Some(if light { Background::Light } else { Background::Dark })
}

#[cfg(unix)]
fn query_terminal() -> io::Result<Vec<u8>> {
    use std::fs::File;
    use std::io::{IsTerminal, Read, Write};
    use std::os::fd::AsFd;
    use std::time::{Duration, Instant};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    if !io::stdin().is_terminal() {
        return Ok(Vec::new());
    }
    super::terminal::tty()?.write_all(QUERY)?;
    let mut input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let deadline = Instant::now() + Duration::from_millis(100);
    let mut answer = Vec::new();
    while !is_complete(&String::from_utf8_lossy(&answer)) {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: 0, tv_nsec: i64::from(left.subsec_nanos()) };
        let mut waiting = [PollFd::new(&input, PollFlags::IN)];
        if poll(&mut waiting, Some(&left))? == 0 {
            break;
        }
        let mut bytes = [0; 256];
        let count = input.read(&mut bytes)?;
        if count == 0 {
            break;
        }
        answer.extend_from_slice(&bytes[..count]);
    }
    Ok(answer)
}

#[cfg(not(unix))]
fn query_terminal() -> io::Result<Vec<u8>> {
    let _ = QUERY;
    Ok(b"\x1b[?c".to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_comes_before_the_terminals_answer() {
        for (text, expected) in [
            ("15;0", Some(Background::Dark)),
            ("0;15", Some(Background::Light)),
            ("0;default;7", Some(Background::Light)),
            ("15;8", Some(Background::Dark)),
            ("15;default", None),
            ("", None),
            ("0;99", None),
        ] {
            assert_eq!(parse_colorfgbg(text), expected, "{text}");
        }
        let env = Environment::new([("COLORFGBG", "0;15"), ("TERM", "xterm")], None, "/".into());
        assert_eq!(
            detect(&env),
            DetectedBackground { background: Some(Background::Light), awaits_response: false }
        );
    }

    #[test]
    fn answers_of_any_precision_are_read_and_nonsense_is_not() {
        for (text, expected) in [
            ("\x1b]11;rgb:1e1e/1e1e/2e2e\x07\x1b[?62c", Some(Background::Dark)),
            ("\x1b]11;rgb:fd/f6/e3\x1b\\", Some(Background::Light)),
            ("\x1b]11;rgba:ffff/ffff/ffff/ffff\x1b\\", Some(Background::Light)),
            ("\x1b]11;rgb:0/0/0\x1b\\", Some(Background::Dark)),
            ("\x1b]11;rgb:/0/0\x1b\\", None),
            ("\x1b[?62c", None),
            ("", None),
        ] {
            assert_eq!(parse_response(text), expected, "{text:?}");
        }
    }

    #[test]
    fn the_second_answer_ends_the_waiting() {
        assert!(is_complete("\x1b]11;rgb:0/0/0\x1b\\\x1b[?62;4c"));
        assert!(!is_complete("\x1b]11;rgb:0c/0c/0c\x1b\\"));
        assert!(!is_complete(""));
    }
}
