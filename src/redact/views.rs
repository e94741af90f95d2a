//! Other readings of a text, each mapped to its place in the original: secrets are found in them and masked in the
//! original. Transcripts contain JSON in JSON, encoded parameters, colours, and lines that `grep -n` or a quote broke.
//!
//! For example, the view `a/b` of `a%2Fb` maps its byte 1 to byte 1 and its byte 2 to byte 4.

use std::sync::LazyLock;

use memchr::memmem;
use regex::Regex;

/// Maximum levels of escapes: JSON in JSON in JSON, as a parameter.
const MAX_LEVELS: usize = 5;
/// Chars of a word at a line's end that may continue on the next line.
const MIN_WRAPPED: usize = 6;

/// Chars of the two words that are joined.
const MIN_JOINED: usize = 12;

/// A run of bytes of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    /// First byte here.
    at: usize,
    /// First byte in the text that it was made from.
    from: usize,
    /// Bytes there, of a decoded character; `None` for a copy of as many bytes.
    decoded: Option<usize>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct View {
    pub text: String,
    runs: Vec<Run>,
    /// The view that it was made from; `None` for the original.
    parent: Option<usize>,
    /// Whether its runs were apart, as lines are; then only a secret that is in two of them is new.
    pub is_joined: bool,
    /// The offsets at which lines were joined though a quote or a comma ends the line above, in order.
    closed: Vec<usize>,
}

impl View {
    fn new(parent: Option<usize>, capacity: usize) -> Self {
        Self {
            text: String::with_capacity(capacity),
            runs: Vec::new(),
            parent,
            is_joined: false,
            closed: Vec::new(),
        }
    }

    fn copy(&mut self, text: &str, from: usize) {
        if !text.is_empty() {
            self.runs.push(Run { at: self.text.len(), from, decoded: None });
            self.text.push_str(text);
        }
    }

    fn push(&mut self, char: char, from: usize, bytes: usize) {
        self.runs.push(Run { at: self.text.len(), from, decoded: Some(bytes) });
        self.text.push(char);
    }

    /// The ranges in the parent that a range here was made from: one, or one for each joined run.
    fn parent_ranges(&self, from: usize, to: usize) -> Vec<(usize, usize)> {
        let first = self.runs.partition_point(|run| run.at <= from).saturating_sub(1);
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for (at, run) in self.runs.iter().enumerate().skip(first).take_while(|(_, run)| run.at < to) {
            let end = self.runs.get(at + 1).map_or(self.text.len(), |next| next.at).min(to);
            let start = from.max(run.at);
            let range = match run.decoded {
                Some(bytes) => (run.from, run.from + bytes),
                None => (run.from + start - run.at, run.from + end - run.at),
            };
            match ranges.last_mut() {
                Some(last) if !self.is_joined || last.1 == range.0 => last.1 = range.1,
                _ => ranges.push(range),
            }
        }
        ranges
    }

    /// Whether a sign ends the line above a seam.
    pub(super) fn is_closed(&self, seam: usize) -> bool {
        self.closed.binary_search(&seam).is_ok()
    }

    /// The offsets within a range at which lines or strings were joined: two copies meet that are apart in the parent.
    pub(super) fn seams(&self, from: usize, to: usize) -> impl Iterator<Item = usize> {
        let first = self.runs.partition_point(|run| run.at <= from).max(1);
        let pairs = self.runs[first - 1..].windows(2).take_while(move |pair| pair[1].at < to);
        let is_seam = |pair: &&[Run]| {
            let is_copy = pair.iter().all(|run| run.decoded.is_none());
            is_copy && pair[0].from + (pair[1].at - pair[0].at) != pair[1].from
        };
        pairs.filter(is_seam).map(|pair| pair[1].at)
    }
}

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

/// Decodes one level of every escape, and drops colours and characters without a width.
fn decode(text: &str, parent: Option<usize>) -> Option<View> {
    let mut view: Option<View> = None;
    let (mut done, mut at) = (0, 0);
    let bytes = text.as_bytes();
    let is_mail = is_quoted_printable(text);
    while at < bytes.len() {
        if !is_special(bytes[at]) {
            at += 1;
            continue;
        }
        let rest = &text[at..];
        let decoded = match bytes[at] {
            b'+' => is_form_encoded(text, at).then_some((Some(' '), 1)),
            b'=' if is_mail => quoted_printable(rest),
            _ => decoded_char(rest),
        };
        let Some((char, used)) = decoded else {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        };
        let view = view.get_or_insert_with(|| View::new(parent, text.len()));
        view.copy(&text[done..at], done);
        if let Some(char) = char {
            view.push(char, at, used);
        }
        at += used;
        done = at;
    }
    let mut view = view?;
    view.copy(&text[done..], done);
    Some(view)
}

/// Whether a byte may begin something that is decoded.
fn is_special(byte: u8) -> bool {
    matches!(
        byte,
        b'\\'
            | b'%'
            | b'&'
            | b'+'
            | b'='
            | b'\''
            | 0x1b
            | 0x08
            | 0xc2
            | 0xc5
            | 0xcd
            | 0xd8
            | 0xe1
            | 0xe2
            | 0xef
            | 0xf3
    )
}

/// Decodes the start of a text: the character meant, if any, and the bytes that it takes.
fn decoded_char(text: &str) -> Option<(Option<char>, usize)> {
    let some = |(char, used)| (Some(char), used);
    match text.as_bytes()[0] {
        b'\\' => backslash(text).map(some),
        b'%' => percent(text).map(some),
        b'&' => entity(text).map(some),
        // A quote within quotes, as shells write it.
        b'\'' => {
            let quote = [r"'\''", r#"'"'"'"#].into_iter().find(|quote| text.starts_with(quote))?;
            Some((Some('\''), quote.len()))
        }
        0x1b => Some((None, escape_sequence(text))),
        0x08 => Some((None, 1)),
        _ => lookalike(text.chars().next()?),
    }
}

/// Bytes on each side of a `+` that are looked at.
const FORM_BYTES: usize = 200;

/// Whether the `+` at a position is a blank of an encoded form: its word has escapes, or several `+` between options.
fn is_form_encoded(text: &str, at: usize) -> bool {
    let bounds = |char: char| char.is_whitespace() || "\"'`<>\\".contains(char);
    let from = text.floor_char_boundary(at.saturating_sub(FORM_BYTES));
    let to = text.ceil_char_boundary((at + FORM_BYTES).min(text.len()));
    let before = text[from..at].rsplit(bounds).next().unwrap_or_default();
    // The letter of an escape, as in `\\n+`, belongs to no word.
    let is_escape = text[from..at - before.len()].ends_with('\\');
    let before = if is_escape { before.get(1..).unwrap_or_default() } else { before };
    let after = text[at + 1..to].split(bounds).next().unwrap_or_default();
    if before.is_empty() || after.is_empty() {
        return false;
    }
    let escapes = |part: &str| part.match_indices('%').any(|(at, _)| percent(&part[at..]).is_some());
    let pluses = 1 + before.matches('+').count() + after.matches('+').count();
    escapes(before)
        || escapes(after)
        || pluses >= 3
        || before.starts_with("--")
        || pluses >= 2 && (before.contains(['-', ':', '&']) || after.contains(['-', ':', '&']))
}

/// Whether a text is a mail whose signs are escaped: `=` always is.
fn is_quoted_printable(text: &str) -> bool {
    ["=3D", "quoted-printable", "=C3=", "=E2=80="]
        .iter()
        .any(|sign| memmem::find(text.as_bytes(), sign.as_bytes()).is_some())
}

/// Decodes what mails escape: a byte as two digits, and the end of a line that goes on.
fn quoted_printable(text: &str) -> Option<(Option<char>, usize)> {
    let line_end = ["=\r\n", "=\n"].into_iter().find(|end| text.starts_with(*end));
    if let Some(line_end) = line_end {
        return Some((None, line_end.len()));
    }
    let hex =
        text.get(1..3).filter(|hex| hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'A'..=b'F')))?;
    let byte = u8::from_str_radix(hex, 16).ok().filter(u8::is_ascii)?;
    Some((Some(char::from(byte)), 3))
}

/// Drops a character without a width, and replaces one that looks like ASCII.
fn lookalike(char: char) -> Option<(Option<char>, usize)> {
    let plain = match char {
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2064}'
        | '\u{2066}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{e0000}'..='\u{e01ef}' => None,
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(char) - 0xfee0),
        '\u{17f}' => Some('s'),
        '\u{212a}' => Some('K'),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => Some('-'),
        '\u{2018}'..='\u{201b}' => Some('\''),
        '\u{201c}'..='\u{201f}' => Some('"'),
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' => Some(' '),
        _ => return None,
    };
    Some((plain, char.len_utf8()))
}

/// Bytes of a terminal's escape sequence.
fn escape_sequence(text: &str) -> usize {
    let bytes = text.as_bytes();
    match bytes.get(1) {
        Some(b'[') => {
            bytes[2..].iter().position(|byte| (0x40..=0x7e).contains(byte)).map_or(2, |end| end + 3)
        }
        Some(b']') => {
            bytes[2..].iter().take(4096).position(|byte| matches!(byte, 7 | 0x1b)).map_or(2, |end| end + 3)
        }
        Some(b'(' | b')') if bytes.get(2).is_some_and(u8::is_ascii) => 3,
        Some(byte) if byte.is_ascii() => 2,
        _ => 1,
    }
}

fn backslash(text: &str) -> Option<(char, usize)> {
    let hex = |from: usize, digits: usize| {
        let code =
            text.get(from..from + digits).filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        Some((char::from_u32(u32::from_str_radix(code, 16).ok()?)?, from + digits))
    };
    let next = *text.as_bytes().get(1)?;
    match next {
        b'"' | b'\\' | b'/' | b'\'' | b'`' => Some((char::from(next), 2)),
        b'n' => Some(('\n', 2)),
        b'r' => Some(('\r', 2)),
        b't' => Some(('\t', 2)),
        b'e' if text[2..].starts_with('[') => Some(('\u{1b}', 2)),
        b'x' => hex(2, 2),
        b'u' if text[2..].starts_with('{') => {
            let end = text[3..].find('}').filter(|end| (1..=6).contains(end))?;
            let (char, used) = hex(3, end)?;
            Some((char, used + 1))
        }
        b'u' => hex(2, 4),
        b'U' => hex(2, 8),
        b'0'..=b'3' => {
            let octal =
                text.get(1..4).filter(|octal| octal.bytes().all(|byte| (b'0'..=b'7').contains(&byte)))?;
            Some((char::from_u32(u32::from_str_radix(octal, 8).ok()?)?, 4))
        }
        _ => None,
    }
}

/// Decodes the bytes of one character.
fn percent(text: &str) -> Option<(char, usize)> {
    let byte = |at: usize| {
        let hex = text.get(3 * at..3 * at + 3)?.strip_prefix('%')?;
        hex.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u8::from_str_radix(hex, 16).ok())?
    };
    let count = match byte(0)? {
        0..=0x7f => 1,
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        _ => 4,
    };
    let run: Vec<u8> = (0..count).map_while(byte).collect();
    let char = std::str::from_utf8(&run).ok()?.chars().next()?;
    Some((char, 3 * count))
}

/// Digits of a number of a character.
const MAX_DIGITS: usize = 8;

/// Decodes an entity of HTML; browsers read a number without its `;` too.
fn entity(text: &str) -> Option<(char, usize)> {
    if let Some(rest) = text.strip_prefix("&#") {
        let hex = usize::from(rest.starts_with(['x', 'X']));
        let digits = &rest[hex..];
        let is_digit = |byte: &u8| if hex == 1 { byte.is_ascii_hexdigit() } else { byte.is_ascii_digit() };
        let count = digits.bytes().take(MAX_DIGITS).take_while(is_digit).count();
        let code = u32::from_str_radix(&digits[..count], if hex == 1 { 16 } else { 10 }).ok()?;
        let end = 2 + hex + count;
        return Some((char::from_u32(code)?, end + usize::from(text[end..].starts_with(';'))));
    }
    let end = text.bytes().take(12).position(|byte| byte == b';')?;
    let (_, char) = ENTITIES.iter().find(|(name, _)| *name == &text[1..end])?;
    Some((*char, end + 1))
}

/// The entities of the signs that secrets and the texts around them have.
const ENTITIES: [(&str, char); 56] = [
    ("Hat", '^'),
    ("NewLine", '\n'),
    ("Tab", '\t'),
    ("UnderBar", '_'),
    ("amp", '&'),
    ("AMP", '&'),
    ("apos", '\''),
    ("ast", '*'),
    ("midast", '*'),
    ("bsol", '\\'),
    ("colon", ':'),
    ("comma", ','),
    ("commat", '@'),
    ("dash", '-'),
    ("dollar", '$'),
    ("emsp", ' '),
    ("ensp", ' '),
    ("equals", '='),
    ("excl", '!'),
    ("grave", '`'),
    ("gt", '>'),
    ("GT", '>'),
    ("hyphen", '-'),
    ("lbrace", '{'),
    ("lbrack", '['),
    ("lcub", '{'),
    ("lowbar", '_'),
    ("lpar", '('),
    ("lsqb", '['),
    ("lt", '<'),
    ("LT", '<'),
    ("minus", '-'),
    ("nbsp", ' '),
    ("num", '#'),
    ("percnt", '%'),
    ("period", '.'),
    ("plus", '+'),
    ("quest", '?'),
    ("quot", '"'),
    ("QUOT", '"'),
    ("rbrace", '}'),
    ("rbrack", ']'),
    ("rcub", '}'),
    ("rpar", ')'),
    ("rsqb", ']'),
    ("semi", ';'),
    ("sol", '/'),
    ("thinsp", ' '),
    ("tilde", '~'),
    ("verbar", '|'),
    ("vert", '|'),
    ("VerticalLine", '|'),
    ("DiacriticalGrave", '`'),
    ("zwj", '\u{200b}'),
    ("zwnj", '\u{200b}'),
    ("shy", '\u{200b}'),
];

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
            let view = view.get_or_insert_with(|| View { is_joined: true, ..View::new(parent, 256) });
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
        let view = view.get_or_insert_with(|| View { is_joined: true, ..View::new(parent, text.len()) });
        view.copy(&text[done..seam.start()], done);
        done = seam.end();
    }
    let mut view = view?;
    view.copy(&text[done..], done);
    Some(view)
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
