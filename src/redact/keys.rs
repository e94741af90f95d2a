//! Private keys in blocks of lines, also with a prefix before each line, without their first line, or cut off.

use std::sync::LazyLock;

use memchr::memmem;
use regex::Regex;

use super::compiled::Hit;

const KIND: &str = "private-key";
/// Bytes of the longest key.
const MAX_KEY: usize = 32 << 10;
/// Chars of a line of a key's body.
const MIN_LINE: usize = 16;
/// Starts of bodies without their first line: keys of OpenSSH, PKCS 1, PKCS 8, elliptic curves and PGP.
const BODY_STARTS: [&str; 9] = [
    "b3BlbnNzaC1rZXktdjE",
    "MIIEv",
    "MIIEp",
    "MIIJK",
    "MIIJQ",
    "MHcCAQEE",
    "MC4CAQAwBQYDK2V",
    "MIGHAgEAMBMGByqGSM49",
    "lQ",
];

/// Every mark contains one of these.
const MARKS: [&[u8]; 2] = [b"PRIVATE KEY", b"OpenVPN Static key"];

#[expect(clippy::unwrap_used, reason = "a pattern that a test compiles")]
static MARK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"-{4,5} ?(BEGIN|END) (?:[A-Z0-9]+ )*(?:PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1) ?-{4,5}")
        .unwrap()
});

/// Finds the private keys of a text.
pub(super) fn find_keys(text: &str) -> Vec<Hit> {
    let mut hits = Vec::new();
    let mut done = 0;
    if MARKS.iter().any(|mark| memmem::find(text.as_bytes(), mark).is_some()) {
        for mark in MARK.captures_iter(text) {
            let (Some(whole), Some(word)) = (mark.get(0), mark.get(1)) else { continue };
            if whole.start() < done {
                continue;
            }
            let range = if word.as_str() == "BEGIN" {
                (whole.start(), key_end(text, whole.end()))
            } else {
                (body_start(text, done, whole.start()), whole.end())
            };
            if word.as_str() == "BEGIN" || range.0 < whole.start() {
                hits.push(Hit { from: range.0, to: range.1, kind: KIND, is_shape: true });
            }
            done = range.1;
        }
    }
    for start in &BODY_STARTS[..8] {
        for at in memmem::find_iter(text.as_bytes(), start.as_bytes()) {
            let free = hits.iter().all(|hit: &Hit| at < hit.from || hit.to <= at);
            let line = text[at..].bytes().take_while(|byte| is_base64(*byte)).count();
            if free && line >= 40 {
                hits.push(Hit { from: at, to: body_end(text, at), kind: KIND, is_shape: true });
            }
        }
    }
    hits
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}

/// The end of a key: its last line, else the end of its body.
fn key_end(text: &str, from: usize) -> usize {
    let window = &text[from..text.floor_char_boundary((from + MAX_KEY).min(text.len()))];
    let next = MARK.captures(window).filter(|mark| mark.get(1).is_some_and(|word| word.as_str() == "END"));
    match next.and_then(|mark| mark.get(0)) {
        Some(end) => from + end.end(),
        None => body_end(text, from),
    }
}

/// The end of the lines of base64 that begin here.
fn body_end(text: &str, from: usize) -> usize {
    let mut end = from;
    for (at, line) in text[from..].split_inclusive('\n').enumerate() {
        let content = line.trim_end_matches(|char: char| char.is_whitespace() || "\"',\\+|".contains(char));
        let tail = content.bytes().rev().take_while(|byte| is_base64(*byte)).count();
        let rest = content.len() - tail;
        let header = content.contains(": ") && content.len() < 80 && !content.ends_with('.');
        let is_body = tail >= MIN_LINE && rest < 60 || (content.trim().is_empty() || header) && at < 6;
        let is_last = tail >= 4 && rest < 60 && at > 1;
        if is_body || is_last || at == 0 {
            end = from + line_start(text, from, line) + content.len();
        }
        // A literal `\n` or a blank joins the lines of a body that is one line of text.
        if !is_body && at > 0 {
            break;
        }
    }
    end
}

fn line_start(text: &str, from: usize, line: &str) -> usize {
    line.as_ptr() as usize - text[from..].as_ptr() as usize
}

/// The start of the lines of base64 that end here.
fn body_start(text: &str, floor: usize, to: usize) -> usize {
    let mut start = to;
    let mut at = to;
    loop {
        let begin = text[floor..at].rfind('\n').map_or(floor, |end| floor + end + 1);
        let content = text[begin..at]
            .trim_end_matches(|char: char| char.is_whitespace() || "\"',\\+|>#*-".contains(char));
        let tail = content.bytes().rev().take_while(|byte| is_base64(*byte)).count();
        let is_last = start == to && tail > 0;
        if tail >= MIN_LINE || is_last && content.len() - tail < 40 {
            start = begin + content.len() - tail;
        } else if start != to || !content.trim().is_empty() && begin < to && text[begin..to].contains('\n') {
            break;
        }
        if begin <= floor || to - begin > MAX_KEY {
            break;
        }
        at = begin - 1;
    }
    start
}
