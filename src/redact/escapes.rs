//! Undoes the escapes of a text, level by level: of JSON and code, addresses, pages, mails and terminals, and characters
//! that only look like others.

use memchr::memmem;

use super::view::View;

/// Decodes one level of every escape, and drops colours and characters without a width.
pub(super) fn decode(text: &str, parent: Option<usize>) -> Option<View> {
    let mut view: Option<View> = None;
    let (mut done, mut at) = (0, 0);
    let bytes = text.as_bytes();
    let is_mail = is_quoted_printable(text);
    while at < bytes.len() {
        let Some(next) = bytes[at..].iter().position(|byte| SPECIAL[usize::from(*byte)]) else { break };
        at += next;
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

/// The bytes that may begin something that is decoded.
static SPECIAL: [bool; 256] = {
    let (mut special, mut byte) = ([false; 256], 0);
    while byte < 256 {
        special[byte] = is_special(byte as u8);
        byte += 1;
    }
    special
};

const fn is_special(byte: u8) -> bool {
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
