//! Decodes the escapes of a text and maps each decoded part to its place in the original. Transcripts contain JSON in
//! JSON, URLs with encoded parameters, and headers in base64.
//!
//! For example, the view `a/b` of `a%2Fb` maps its byte 1 to byte 1 and its byte 2 to byte 4.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use regex::Regex;

/// Maximum levels of one kind of escape: JSON in JSON in JSON.
const MAX_LEVELS: usize = 3;
/// Chars of base64 that are decoded first to see whether it encodes text.
const SNIFF_CHARS: usize = 32;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct DecodedView {
    pub text: String,
    /// For each byte, and for the end, the original byte that it comes from.
    offsets: Vec<usize>,
}

impl DecodedView {
    fn of(text: &str) -> Self {
        Self { text: text.to_owned(), offsets: (0..=text.len()).collect() }
    }

    /// Maps a byte range of this text to the original, including escapes.
    pub(super) fn original_range(&self, from: usize, to: usize) -> (usize, usize) {
        let at = |byte: usize| self.offsets.get(byte).or(self.offsets.last()).copied().unwrap_or(0);
        (at(from), at(to))
    }
}

/// Decodes a text step by step: each level of JSON backslashes, then each level of percent signs. Returns every step;
/// none for a text without such escapes.
pub(super) fn views(text: &str) -> Vec<DecodedView> {
    let mut views: Vec<DecodedView> = Vec::new();
    if !text.contains(['\\', '%']) {
        return views;
    }
    for undo in [unescaped, decoded] {
        for _ in 0..MAX_LEVELS {
            let next = undo(views.last().unwrap_or(&DecodedView::of(text)));
            let Some(next) = next else { break };
            views.push(next);
        }
    }
    views
}

/// Decodes one level of backslashes.
fn unescaped(view: &DecodedView) -> Option<DecodedView> {
    let mut out = DecodedView {
        text: String::with_capacity(view.text.len()),
        offsets: Vec::with_capacity(view.offsets.len()),
    };
    let mut chars = view.text.char_indices().peekable();
    let mut changed = false;
    while let Some((from, char)) = chars.next() {
        let meant = match (char, chars.peek().map(|(_, next)| *next)) {
            ('\\', Some(next)) => escape(next, &view.text[from..]),
            _ => None,
        };
        if let Some((_, skipped)) = meant {
            changed = true;
            for _ in 0..skipped {
                chars.next();
            }
        }
        push(&mut out, meant.map_or(char, |(char, _)| char), view.offsets[from]);
    }
    out.offsets.push(*view.offsets.last()?);
    changed.then_some(out)
}

/// Decodes the char after a backslash; returns it and the number of chars to skip.
fn escape(next: char, text: &str) -> Option<(char, usize)> {
    let plain = |char| Some((char, 1));
    match next {
        '"' | '\\' | '/' | '\'' => plain(next),
        'n' => plain('\n'),
        'r' => plain('\r'),
        't' => plain('\t'),
        'u' => {
            let code = u32::from_str_radix(text.get(2..6)?, 16).ok()?;
            Some((char::from_u32(code)?, 5))
        }
        _ => None,
    }
}

fn push(out: &mut DecodedView, char: char, at: usize) {
    out.text.push(char);
    (0..char.len_utf8()).for_each(|_| out.offsets.push(at));
}

/// Decodes one level of percent signs; keeps bytes that are not UTF-8.
fn decoded(view: &DecodedView) -> Option<DecodedView> {
    let bytes = view.text.as_bytes();
    let byte = |at: usize| {
        let hex = view.text.get(at..at + 3)?.strip_prefix('%')?;
        hex.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u8::from_str_radix(hex, 16).ok())?
    };
    let mut out = DecodedView {
        text: String::with_capacity(bytes.len()),
        offsets: Vec::with_capacity(view.offsets.len()),
    };
    let (mut from, mut changed) = (0, false);
    while from < bytes.len() {
        let run: Vec<u8> = (from..).step_by(3).map_while(byte).collect();
        let end = from + 3 * run.len();
        match String::from_utf8(run) {
            Ok(text) if !text.is_empty() => {
                changed = true;
                out.text.push_str(&text);
                out.offsets.extend((from..end).step_by(3).map(|at| view.offsets[at]));
                from = end;
            }
            _ => {
                let char = view.text[from..].chars().next()?;
                push(&mut out, char, view.offsets[from]);
                from += char.len_utf8();
            }
        }
    }
    out.offsets.push(*view.offsets.last()?);
    changed.then_some(out)
}

#[expect(clippy::unwrap_used, reason = "a pattern that a test compiles")]
static BASE64: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[A-Za-z0-9+/_-]{20,}={0,2}").unwrap());

/// Finds base64 that encodes text: first byte, end byte, and the decoded text.
pub(super) fn base64_texts(text: &str) -> Vec<(usize, usize, String)> {
    let of = |found: regex::Match<'_>| Some((found.start(), found.end(), decode_base64(found.as_str())?));
    BASE64.find_iter(text).filter_map(of).collect()
}

fn decode_base64(text: &str) -> Option<String> {
    let text = text.trim_end_matches('=');
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let alphabet = if text.contains(['-', '_']) { &URL_SAFE } else { &STANDARD };
    let engine = GeneralPurpose::new(alphabet, config);
    let is_text =
        |bytes: &[u8]| bytes.iter().all(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0x80..));
    // The head alone excludes most long words and every picture.
    let head = engine.decode(text.get(..SNIFF_CHARS.min(text.len() / 4 * 4))?).ok()?;
    is_text(&head).then_some(())?;
    let bytes = engine.decode(text).ok()?;
    is_text(&bytes).then(|| String::from_utf8(bytes).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone_level_by_level_and_every_byte_knows_its_place() {
        let text = r#"a \\\"b\\\" \"c\" é%20d%C3%A9 %zz \u0041"#;
        let views = views(text);
        let texts: Vec<&str> = views.iter().map(|view| view.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "a \\\"b\\\" \"c\" é%20d%C3%A9 %zz A",
                "a \"b\" \"c\" é%20d%C3%A9 %zz A",
                "a \"b\" \"c\" é dé %zz A"
            ]
        );
        for view in &views {
            let from = view.text.find('b').unwrap();
            let (start, end) = view.original_range(from, from + 1);
            assert!(text[start..end].starts_with('b'), "{:?}", &text[start..end]);
        }
        let last = views.last().unwrap();
        let from = last.text.find('A').unwrap();
        let (start, end) = last.original_range(from, last.text.len());
        assert_eq!(&text[start..end], r"\u0041");
    }

    #[test]
    fn a_text_without_escapes_has_no_other_view() {
        assert_eq!(views("100 % of C:/x, é"), []);
        assert_eq!(views(r"\d+\s"), []);
    }

    #[test]
    fn base64_of_text_is_distinguished_from_words_and_pictures() {
        let text = "x dXNlcjpwYXNzd29yZC1vZi11c2Vy y iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB src/export/redact/tests/some_file";
        let found: Vec<String> = base64_texts(text).into_iter().map(|(.., text)| text).collect();
        assert_eq!(found, ["user:password-of-user"]);
    }
}
