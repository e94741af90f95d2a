//! Joins what lines broke: drops the prefixes that lines share, and puts words and strings together that go on in the next
//! line.

use std::sync::LazyLock;

use regex::Regex;

use super::view::View;

/// Chars of a word at a line's end that may continue on the next line.
const MIN_WRAPPED: usize = 6;
/// Chars of the two words that are joined.
const MIN_JOINED: usize = 12;

/// Whether a character may be part of a token or of base64.
fn is_token(char: char) -> bool {
    char.is_ascii_alphanumeric() || "-_+/=.:~".contains(char)
}

/// Drops the prefix that each line shares with one beside it, as `grep -n`, logs, quotes and diffs write it.
pub(super) fn strip_prefixes(text: &str, parent: Option<usize>) -> Option<View> {
    let mut view: Option<View> = None;
    let (mut done, mut from, mut above) = (0, 0, "");
    while from < text.len() {
        let end = memchr::memchr(b'\n', &text.as_bytes()[from..]).map_or(text.len(), |end| from + end);
        let (line, rest) = (&text[from..end], text.get(end + 1..).unwrap_or_default());
        let next = &rest[..memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len())];
        let prefix = match shared_prefix(line, above) {
            0 => shared_prefix(line, next),
            prefix => prefix,
        };
        if prefix > 0 {
            let view = view.get_or_insert_with(|| View::new(parent, text.len()));
            view.copy(&text[done..from], done);
            done = from + prefix;
        }
        (above, from) = (line, end + 1);
    }
    let mut view = view?;
    view.copy(&text[done..], done);
    Some(view)
}

/// Bytes of the prefix that a line shares with another, but for digits and the number of blanks. It ends with a sign: a word
/// with which both lines begin is part of them.
fn shared_prefix(line: &str, other: &str) -> usize {
    let (mut same, mut prefix, mut other) = (0, 0, other.as_bytes());
    for run in line.as_bytes().chunk_by(|one, next| class(*one) != 0 && class(*one) == class(*next)) {
        let kind = class(run[0]);
        let taken = match kind {
            0 => usize::from(other.first() == run.first()),
            _ => other.iter().take_while(|byte| class(**byte) == kind).count(),
        };
        // A run of blanks before a number is shorter before a longer number.
        if taken == 0 && (kind != BLANK || same > 0) {
            break;
        }
        other = &other[taken..];
        same += run.len();
        let before = line.as_bytes()[..same - run.len()].last();
        let ends = match run[0] {
            b':' => before.is_some_and(u8::is_ascii_digit),
            b'-' => before.is_none_or(u8::is_ascii_digit),
            b'+' => before.is_none(),
            sign => !is_token(char::from(sign)) && sign.is_ascii() || !line.is_char_boundary(same - 1),
        };
        prefix = if ends && line.is_char_boundary(same) { same } else { prefix };
    }
    if line[..prefix].trim().is_empty() { 0 } else { prefix }
}

const BLANK: u8 = 2;

/// Bytes that stand for each other in a prefix: digits, and blanks; 0 for any other.
fn class(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => 1,
        b' ' | b'\t' => BLANK,
        _ => 0,
    }
}

/// Joins a word at the end of a line with the start of the next line. Keeps only the lines that are joined, with the line
/// before them, where a name may stand.
pub(super) fn join_lines(text: &str, parent: Option<usize>) -> Option<View> {
    let mut view: Option<View> = None;
    // First bytes of the line before, of this line, and of what is not yet copied of a line that was joined.
    let (mut above, mut from, mut open) = (0, 0, None);
    while let Some(end) = memchr::memchr(b'\n', &text.as_bytes()[from..]).map(|end| from + end) {
        let start = open.unwrap_or(from);
        let line =
            text[start..end].trim_end_matches([' ', '\t', '\r', '\\', '"', '\'', '`', '+', '|', ',', '=']);
        let next = &text[end + 1..];
        let next = &next[..memchr::memchr(b'\n', next.as_bytes()).unwrap_or(next.len())];
        let blank = next.len() - next.trim_start().len();
        let is_joined = is_wrapped(line, &next[blank..]);
        if is_joined || open.is_some() {
            let view = view.get_or_insert_with(|| View::joined(parent, 256));
            if open.is_none() {
                view.copy(&text[above..from], above);
            }
            if is_joined {
                view.copy(line, start);
                if text[start + line.len()..end].contains(['"', '\'', '`', '+', '|', ',']) {
                    view.closed.push(view.text.len());
                }
            } else {
                view.copy(&text[start..end], start);
                view.push('\n', end, 1);
            }
        }
        open = is_joined.then_some(end + 1 + blank);
        (above, from) = (from, end + 1);
    }
    let mut view = view?;
    if let Some(start) = open {
        view.copy(&text[start..], start);
    }
    Some(view)
}

/// Whether the last word of a line may continue with the first of the next.
fn is_wrapped(line: &str, next: &str) -> bool {
    let tail = line.len() - line.trim_end_matches(is_token).len();
    let head = next.len() - next.trim_start_matches(is_token).len();
    let word = &line[line.len() - tail..];
    let random = |text: &str| {
        text.len() >= MIN_WRAPPED && text.contains(|char: char| char.is_ascii_digit())
            || super::proof::is_random(text)
    };
    head > 0 && tail > 0 && tail + head >= MIN_JOINED && (random(word) || random(&next[..head]))
}

#[expect(clippy::unwrap_used, reason = "a pattern that a test compiles")]
static SEAM: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"["'`][ \t]*(?:[+.&]|\|\||\.\.|\+\+)?[ \t]*\\?(?:\r?\n[ \t]*(?:[+.&][ \t]*)?)?["'`]|\\\r?\n[ \t]*"#,
    )
    .unwrap()
});

/// Joins the strings of a concatenation.
pub(super) fn join_strings(text: &str, parent: Option<usize>) -> Option<View> {
    let mut view: Option<View> = None;
    let mut done = 0;
    for seam in SEAM.find_iter(text) {
        let (before, behind) = (text[..seam.start()].chars().next_back(), text[seam.end()..].chars().next());
        if !before.is_some_and(is_token) || !behind.is_some_and(is_token) {
            continue;
        }
        let view = view.get_or_insert_with(|| View::joined(parent, text.len()));
        view.copy(&text[done..seam.start()], done);
        done = seam.end();
    }
    let mut view = view?;
    view.copy(&text[done..], done);
    Some(view)
}
