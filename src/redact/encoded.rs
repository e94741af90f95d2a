//! Texts in base64 or hex inside a text: headers, `-EncodedCommand`, secrets of Kubernetes.

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

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
    // Each run of so many chars has one at every such step.
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
