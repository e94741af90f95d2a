//! Joins what lines broke: drops the prefixes that lines share, and puts words and strings together that go on in the next
//! line.

use std::sync::LazyLock;

use regex::Regex;

use super::escapes::decode;
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
fn strip_prefixes(text: &str, parent: Option<usize>) -> Option<View> {
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
fn join_lines(text: &str, parent: Option<usize>) -> Option<View> {
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
fn join_strings(text: &str, parent: Option<usize>) -> Option<View> {
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

// Other readings of a text, each mapped to its place in the original: secrets are found in them and masked in the
// original. Transcripts contain JSON in JSON, encoded parameters, colours, and lines that `grep -n` or a quote broke.
//
// For example, the view `a/b` of `a%2Fb` maps its byte 1 to byte 1 and its byte 2 to byte 4.

/// Maximum levels of escapes: JSON in JSON in JSON, as a parameter.
const MAX_LEVELS: usize = 5;

/// The ranges of the original that a range of a view was made from.
pub(super) fn original_ranges(views: &[View], at: usize, from: usize, to: usize) -> Vec<(usize, usize)> {
    let mut ranges = vec![(from, to)];
    let mut view = views.get(at);
    while let Some(current) = view {
        ranges = ranges.into_iter().flat_map(|(from, to)| current.parent_ranges(from, to)).collect();
        view = current.parent.and_then(|parent| views.get(parent));
    }
    ranges
}

/// Reads a text in every other way: decoded level by level, without the prefix of its lines, then with its broken lines and
/// strings joined. Returns nothing for a text that has only one reading.
pub(super) fn views(text: &str) -> Vec<View> {
    let mut views: Vec<View> = Vec::new();
    for _ in 0..MAX_LEVELS {
        if !add_reading(&mut views, text, decode) {
            break;
        }
    }
    add_reading(&mut views, text, strip_prefixes);
    let last = views.len().checked_sub(1);
    let plain = last.map_or(text, |at| views[at].text.as_str());
    let joined: Vec<View> =
        [join_lines(plain, last), join_strings(plain, last)].into_iter().flatten().collect();
    views.extend(joined);
    views
}

/// Adds a reading of the last view; `false` if it is no different.
fn add_reading(views: &mut Vec<View>, text: &str, read: fn(&str, Option<usize>) -> Option<View>) -> bool {
    let parent = views.len().checked_sub(1);
    let next = read(views.last().map_or(text, |view| &view.text), parent);
    views.extend(next);
    views.len() > parent.map_or(0, |parent| parent + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded_level_by_level_with_the_original_position_of_every_byte() {
        let text = r#"a \\\"b\\\" é%20d%C3%A9 %zz \u0041"#;
        let views = views(text);
        let last = views.iter().rposition(|view| !view.is_joined).unwrap();
        assert_eq!(views[last].text, "a \"b\" é dé %zz A");
        for (at, view) in views.iter().enumerate() {
            for (from, char) in view.text.char_indices().filter(|(_, char)| "bé".contains(*char)) {
                let (start, end) = original_ranges(&views, at, from, from + char.len_utf8())[0];
                assert!(
                    text[start..end].contains(char) || &text[start..end] == "%C3%A9",
                    "{:?}",
                    &text[start..end]
                );
            }
        }
        let from = views[last].text.find('A').unwrap();
        let (start, end) = original_ranges(&views, last, from, from + 1)[0];
        assert_eq!(&text[start..end], r"\u0041");
    }

    #[test]
    fn a_plain_text_has_no_other_reading() {
        assert_eq!(views("100 % of C:/x, é\nnext line"), []);
        assert_eq!(views(r"\d+\s"), []);
    }

    #[test]
    fn disguises_are_undone() {
        for text in [
            "k\u{200b}ey-1\u{feff}2",
            "\u{1b}[31mkey\u{1b}[0m-12",
            r"\x1b[1mkey-12",
            "&#107;ey&#x2d;12",
            r"\153ey-12",
            r"\u{6b}ey-12",
            "ｋｅｙ-12",
            "key\u{2011}12",
            "%256bey-12",
        ] {
            assert!(views(text).iter().any(|view| view.text == "key-12"), "{text}: {:?}", views(text));
        }
    }

    #[test]
    fn blanks_of_forms_quotes_of_shells_and_signs_of_mails_are_undone() {
        for (text, plain) in [
            ("a+%3D+b", "a = b"),
            ("curl+-u+me", "curl -u me"),
            (r"sh -c 'a '\''b'\'''", "sh -c 'a 'b''"),
            ("x=3D=22y=22", "x=\"y\""),
        ] {
            assert!(views(text).iter().any(|view| view.text == plain), "{text}: {:?}", views(text));
        }
        for text in ["a + b", "x+y", "dGVz+dDEy/MzQ1+Njc4", "x=30", "it's"] {
            assert_eq!(views(text).iter().filter(|view| !view.is_joined).count(), 0, "{text}");
        }
    }

    #[test]
    fn digits_after_a_line_prefix_are_part_of_a_word() {
        for prefix in ["a/b.rs:12:", "> ", "# ", "| ", "2026-01-01T10:00:00.123Z ", "12-"] {
            let text = format!("{prefix}HRKU-1b0c7c78-4dfa-cd5b-\n{prefix}7099-2025cfe163c5\nend");
            let joined = "HRKU-1b0c7c78-4dfa-cd5b-7099-2025cfe163c5";
            assert!(views(&text).iter().any(|view| view.text.contains(joined)), "{text}: {:?}", views(&text));
        }
    }

    #[test]
    fn broken_words_are_joined_without_the_prefix_of_their_lines() {
        for text in [
            "sk-ant-api03-a1b2C3d4\nE5f6G7h8i9",
            "a.rs:10:sk-ant-api03-a1b2C3d4\na.rs:11:E5f6G7h8i9",
            "> sk-ant-api03-a1b2C3d4\n> E5f6G7h8i9",
            " * sk-ant-api03-a1b2C3d4\n * E5f6G7h8i9",
            "2026-01-01T10:00:00Z sk-ant-api03-a1b2C3d4\n2026-01-01T10:00:00Z E5f6G7h8i9",
            "x = \"sk-ant-api03-a1b2C3d4\" +\n  \"E5f6G7h8i9\"",
            "+sk-ant-api03-a1b2C3d4\n+E5f6G7h8i9",
            "sk-ant-api03-a1b2C3d4\\\nE5f6G7h8i9",
            "a.rs:9:sk-ant-api03-a1b2C\na.rs:10:3d4E5f6G7h8i9",
        ] {
            assert!(
                views(text).iter().any(|view| view.text.contains("sk-ant-api03-a1b2C3d4E5f6G7h8i9")),
                "{text}: {:?}",
                views(text)
            );
        }
    }
}
