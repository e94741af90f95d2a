//! Finds secrets in a text and in its other readings, and maps them to the text.

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::compiled::{COMPILED, Hit};
use super::keys::find_keys;
use super::known::{KnownSecrets, SecretSpan};
use super::lines::{original_ranges, views};
use super::proof::{is_ordinary, is_random, is_random_token};
use super::spans::Spans;
use super::tables::find_columns;
use super::view::View;

/// Levels of base64 in base64.
const MAX_ENCODINGS: usize = 3;

/// Bytes of neighbouring texts that are read as one even where none ends within a word.
const MAX_BLOCKS: usize = 64 << 10;

/// Chars from which a word with several digits at the start of a line is the rest of a secret.
const MIN_REST: usize = 7;

/// A detected secret: its bytes in the text, its kind, and its text without escapes.
#[derive(Debug)]
pub(super) struct DetectedSecret {
    pub from: usize,
    pub to: usize,
    pub kind: &'static str,
    pub secret: String,
}

/// Detects every secret in a text, also behind escapes, over broken lines and encoded; the results do not overlap.
pub(super) fn detect(text: &str, views: &[View]) -> Vec<DetectedSecret> {
    detect_at(text, views, 0)
}

fn detect_at(text: &str, views: &[View], level: usize) -> Vec<DetectedSecret> {
    let mut found: Spans<Meant> = Spans::default();
    for hit in find_all(text, &[(0, text.len())]) {
        found.add_merged(hit.from, hit.to, meant(&hit, text));
    }
    for (at, view) in views.iter().enumerate() {
        let lines = view.new_lines();
        let hits = if view.is_joined {
            COMPILED.find_hits_near(&view.text, &lines, true)
        } else {
            find_all(&view.text, &lines)
        };
        for hit in hits {
            if view.is_joined {
                let to = joined_end(view, &hit);
                let hit = Hit { to, ..hit };
                let ranges =
                    if to > hit.from { original_ranges(views, at, hit.from, to) } else { Vec::new() };
                for (from, to) in ranges {
                    found.add_uncovered(from, to, &meant(&hit, &view.text));
                }
            } else {
                for (from, to) in original_ranges(views, at, hit.from, hit.to) {
                    found.add_merged(from, to, meant(&hit, &view.text));
                }
            }
        }
    }
    if level < MAX_ENCODINGS {
        for_encoded(text, views, |inner, ranges| {
            if let Some(hit) = detect_at(inner, &super::lines::views(inner), level + 1).into_iter().next() {
                for (from, to) in ranges {
                    found.add_merged(from, to, (hit.kind, hit.secret.clone()));
                }
            }
        });
    }
    let detected = |(from, to, (kind, secret))| DetectedSecret { from, to, kind, secret };
    found.into_ranges().map(detected).collect()
}

/// Finds private keys, columns of tables, and what the rules match near some lines of a text.
fn find_all(text: &str, lines: &[(usize, usize)]) -> Vec<Hit> {
    [find_keys(text), find_columns(text), COMPILED.find_hits_near(text, lines, false)].concat()
}

/// A piece of a secret in one of several texts: first byte, end byte, kind, and the whole secret.
pub(super) type Piece = (usize, usize, &'static str, String);

/// Neighbouring texts as one, where one may continue in the next.
pub(super) fn joined(texts: &[String]) -> Option<String> {
    let is_torn = |pair: &[String]| {
        let solid = |char: Option<char>| char.is_some_and(|char| !char.is_whitespace());
        solid(pair[0].chars().next_back()) && solid(pair[1].chars().next())
    };
    let len: usize = texts.iter().map(String::len).sum();
    (texts.len() > 1 && (len <= MAX_BLOCKS || texts.windows(2).any(is_torn))).then(|| texts.concat())
}

/// Divides the secrets of texts that were joined among the texts.
pub(super) fn pieces(texts: &[String], detected: &[DetectedSecret]) -> Vec<Vec<Piece>> {
    let mut start = 0;
    let mut own = |text: &String| {
        let (from, to) = (start, start + text.len());
        start = to;
        let first = detected.partition_point(|one| one.to <= from);
        let touching = detected[first..].iter().take_while(|one| one.from < to);
        touching
            .map(|one| (one.from.max(from) - from, one.to.min(to) - from, one.kind, one.secret.clone()))
            .collect()
    };
    texts.iter().map(&mut own).collect()
}

/// Kind and text of a secret.
type Meant = (&'static str, String);

fn meant(hit: &Hit, text: &str) -> Meant {
    (hit.kind, text[hit.from..hit.to].to_owned())
}

/// Calls a function with every text that is encoded in a text or in a reading of it, and its ranges in the text.
fn for_encoded(text: &str, views: &[View], mut visit: impl FnMut(&str, Vec<(usize, usize)>)) {
    for (from, to, inner) in encoded_texts(text) {
        visit(&inner, vec![(from, to)]);
    }
    for (at, view) in views.iter().enumerate() {
        let lines = view.new_lines().into_iter();
        let found = lines.flat_map(|(start, end)| {
            let found = encoded_texts(&view.text[start..end]);
            found.into_iter().map(move |(from, to, inner)| (start + from, start + to, inner))
        });
        for (from, to, inner) in found {
            let spans_seam = !view.is_joined || view.seams(from, to).next().is_some();
            if spans_seam {
                // A word before or after the lines belongs to them.
                let ranges = original_ranges(views, at, from, to);
                let is_part = |range: &(usize, usize)| !view.is_joined || is_random(&text[range.0..range.1]);
                visit(&inner, ranges.into_iter().filter(is_part).collect());
            }
        }
    }
}

/// The end of a secret that was joined, or its first byte if nothing was; a word that only happens to begin the next line is
/// not part of it.
fn joined_end(view: &View, hit: &Hit) -> usize {
    let seams: Vec<usize> = view.seams(hit.from, hit.to).collect();
    let Some(last) = seams.last() else { return hit.from };
    let next = view.text[hit.to..].chars().next();
    let is_closed = |end: usize| end < hit.to || next.is_none_or(|next| "\n\r\"'`,;|<)@&}]".contains(next));
    if hit.is_shape {
        let piece = &view.text[*last..hit.to];
        let is_word = piece.chars().all(|char| char.is_ascii_lowercase());
        let belongs = is_closed(hit.to) && !is_word || is_random(piece) && piece.len() >= 4;
        return if belongs { hit.to } else { *last };
    }
    let before = view.text[..hit.from].chars().next_back();
    let is_quoted = before == next && matches!(next, Some('"' | '\'' | '`'));
    if is_quoted && !seams.iter().any(|seam| view.is_closed(*seam)) {
        return hit.to;
    }
    let pieces = seams.iter().copied().zip(seams.iter().skip(1).copied().chain([hit.to]));
    let rest = pieces
        .take_while(|(from, to)| !view.is_closed(*from) && is_rest(&view.text[*from..*to], is_closed(*to)));
    rest.last().map_or(hit.from, |(_, end)| end)
}

/// Whether the start of a line is the rest of a value that only a name reveals: no time, no name of another value, and no
/// word, which may be a command.
fn is_rest(piece: &str, is_closed: bool) -> bool {
    let piece =
        piece.split(|char: char| char.is_whitespace() || ";,&".contains(char)).next().unwrap_or_default();
    let class = |byte: &u8| (byte.is_ascii_alphabetic(), byte.is_ascii_digit());
    let changes = piece.as_bytes().windows(2).filter(|pair| class(&pair[0]) != class(&pair[1])).count();
    let digits = piece.bytes().filter(u8::is_ascii_digit).count();
    let date = piece.len()
        - piece.trim_start_matches(|char: char| char.is_ascii_digit() || "-:/.".contains(char)).len();
    let is_time = date >= 5 && piece[..date].contains(['-', ':', '/', '.']);
    let is_name = piece.contains([':', '=']) && !is_random_token(piece);
    !is_time
        && !is_name
        && !is_ordinary(piece)
        && (is_closed || changes >= 2 || digits >= 3 && piece.len() >= MIN_REST)
}

/// Finds the known secrets in a text, also behind escapes, over broken lines and encoded: first byte, end byte, kind and
/// number of each, in order and without overlap.
pub(super) fn find_known(known: &KnownSecrets, text: &str, views: &[View]) -> Vec<SecretSpan> {
    if known.is_empty() {
        return Vec::new();
    }
    let mut all: Spans<(&'static str, usize)> = Spans::default();
    for (from, to, kind, number) in known.find(text) {
        all.add_if_free(from, to, (kind, number));
    }
    for (at, view) in views.iter().enumerate() {
        for (start, end) in view.new_lines() {
            for (from, to, kind, number) in known.find(&view.text[start..end]) {
                for (from, to) in original_ranges(views, at, start + from, start + to) {
                    all.add_if_free(from, to, (kind, number));
                }
            }
        }
    }
    find_known_encoded(known, text, views, 0, &mut |ranges, kind, number| {
        for (from, to) in ranges {
            all.add_if_free(from, to, (kind, number));
        }
    });
    all.into_ranges().map(|(from, to, (kind, number))| (from, to, kind, number)).collect()
}

fn find_known_encoded(
    known: &KnownSecrets,
    text: &str,
    with: &[View],
    level: usize,
    add: &mut dyn FnMut(Vec<(usize, usize)>, &'static str, usize),
) {
    for_encoded(text, with, |inner, ranges| {
        let mut first = known.find(inner).first().map(|(.., kind, number)| (*kind, *number));
        if first.is_none() && level < MAX_ENCODINGS {
            find_known_encoded(known, inner, &views(inner), level + 1, &mut |_, kind, number| {
                first = Some((kind, number));
            });
        }
        if let Some((kind, number)) = first {
            add(ranges, kind, number);
        }
    });
}

// Texts in base64 or hex inside a text: headers, `-EncodedCommand`, secrets of Kubernetes.

/// The engines of the two alphabets.
static ENGINES: [GeneralPurpose; 2] = {
    const CONFIG: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    [GeneralPurpose::new(&STANDARD, CONFIG), GeneralPurpose::new(&URL_SAFE, CONFIG)]
};

/// Chars that are decoded first to see whether they encode text.
const SNIFF_CHARS: usize = 32;

/// Chars of the shortest word that is decoded.
const MIN_CHARS: usize = 20;

/// Finds encoded texts: first byte, end byte, and the decoded text.
pub(super) fn encoded_texts(text: &str) -> Vec<(usize, usize, String)> {
    let mut found = Vec::new();
    let (bytes, mut at) = (text.as_bytes(), 0);
    // A run of MIN_CHARS or more covers one of the places probed here, which are that far apart.
    while let Some(probe) = bytes.get(at + MIN_CHARS - 1) {
        if !is_encoded(*probe) {
            at += MIN_CHARS;
            continue;
        }
        let middle = at + MIN_CHARS - 1;
        let from = middle - bytes[at..middle].iter().rev().take_while(|byte| is_encoded(**byte)).count();
        let end = middle + bytes[middle..].iter().take_while(|byte| is_encoded(**byte)).count();
        if end - from >= MIN_CHARS {
            let padding = bytes[end..].iter().take(2).take_while(|byte| **byte == b'=').count();
            let decoded = decode(&text[from..end]);
            found.extend(decoded.map(|decoded| (from, end + padding, decoded)));
        }
        at = end + 1;
    }
    found
}

fn is_encoded(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'_' | b'-')
}

fn decode(text: &str) -> Option<String> {
    if text.len() >= 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return decode_hex(text);
    }
    // Letters that stick to the front shift the groups of four.
    (0..4).find_map(|skip| decode_base64(text.get(skip..)?))
}

fn decode_hex(text: &str) -> Option<String> {
    let byte = |at: usize| u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok();
    as_text(&(0..text.len() / 2).map_while(byte).collect::<Vec<u8>>())
}

fn decode_base64(text: &str) -> Option<String> {
    let engine = &ENGINES[usize::from(text.contains(['-', '_']))];
    // The head is enough to exclude most long words and every picture.
    let head = engine.decode(text.get(..SNIFF_CHARS.min(text.len() / 4 * 4))?).ok()?;
    as_text(&head)?;
    let whole = if text.len() % 4 == 1 { &text[..text.len() - 1] } else { text };
    let bytes = engine.decode(whole).ok()?;
    as_text(&bytes).or_else(|| as_text(&head))
}

/// Reads bytes as UTF-8 or UTF-16, unless they hold control characters. A word that sticks to the end decodes to noise,
/// so only the start must be text.
fn as_text(bytes: &[u8]) -> Option<String> {
    // Text in two bytes a character: most of every second byte is 0, even if a few letters are of another script.
    let head = &bytes[..bytes.len().min(64)];
    let zeros = |first: usize| head.iter().skip(first).step_by(2).filter(|byte| **byte == 0).count();
    let is_most = |count: usize| head.len() >= 8 && count * 3 > head.len();
    let (wide, wide_be) = (is_most(zeros(1)), is_most(zeros(0)));
    if wide || wide_be {
        let unit = |pair: &[u8]| {
            if wide { u16::from_le_bytes([pair[0], pair[1]]) } else { u16::from_be_bytes([pair[0], pair[1]]) }
        };
        let units: Vec<u16> = bytes.chunks_exact(2).map(unit).collect();
        return Some(String::from_utf16_lossy(&units));
    }
    let is_text = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x1b | b' '..=b'~' | 0x80..);
    let whole = bytes.len().saturating_sub(8);
    let valid = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() >= whole.max(12) => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    let cut = valid.bytes().position(|byte| !is_text(&byte)).unwrap_or(valid.len());
    (cut >= whole.min(valid.len()) && cut >= 8).then(|| valid[..cut].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::STANDARD as ENGINE;

    #[test]
    fn base64_of_text_is_distinguished_from_words_and_pictures() {
        let text = "x dXNlcjpwYXNzd29yZC1vZi11c2Vy y iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB src/export/redact/tests/some_file";
        let found: Vec<String> = encoded_texts(text).into_iter().map(|(.., text)| text).collect();
        assert_eq!(found, ["user:password-of-user"]);
    }

    #[test]
    fn wide_characters_hex_and_a_letter_in_front_are_read() {
        let said = "password of the user";
        let wide: Vec<u8> = said.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let hex = said.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        for text in [ENGINE.encode(wide), hex, format!("a{}", ENGINE.encode(said))] {
            assert_eq!(encoded_texts(&text)[0].2, said, "{text}");
        }
    }
}
