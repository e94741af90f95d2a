//! Marks that the recorder's redaction leaves in texts, and names of members that it removes (trajectory 7).

use crate::js::JsString;

pub(super) const REDACTED: &str = "<redacted>";
/// Members that the recorder adds to an image whose data it masks (trajectory 7.3).
pub(super) const IMAGE_EXTRAS: [&str; 2] = ["bytes", "sha256"];

/// Marks within texts (trajectory 7.2, 7.4); a longer mark precedes its parts, so that it matches first.
const REDACTION_MARKS: [&str; 5] = ["<redacted-jwt>", REDACTED, "…redacted…", "***", "…"];
/// Suffixes of secret names, in letters and digits.
const SECRET_SUFFIXES: [&str; 7] =
    ["apikey", "password", "passwd", "passphrase", "secret", "secretkey", "token"];
/// Secret names that match as a whole.
const SECRET_NAMES: [&str; 2] = ["authorization", "proxyauthorization"];
/// Names with such a suffix that hold a count or a path, and are kept.
const HARMLESS_NAMES: [&str; 6] =
    ["passwordfile", "tokenbudget", "tokencount", "tokenfield", "tokenlimit", "tokens"];

/// Whether the recorder removes members with this name (trajectory 7.1).
pub(super) fn is_secret_name(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let plain = plain.to_ascii_lowercase();
    !HARMLESS_NAMES.contains(&plain.as_str())
        && (SECRET_NAMES.contains(&plain.as_str()) || SECRET_SUFFIXES.iter().any(|end| plain.ends_with(end)))
}

/// Whether this text, redacted, can give the recorded one: it contains all parts between the marks, in order.
pub(super) fn matches_redacted(recorded: &JsString, original: &JsString) -> bool {
    let (recorded, original) = (recorded.to_string_lossy(), original.to_string_lossy());
    let pieces = between_marks(&recorded);
    let [first, middle @ .., last] = pieces.as_slice() else { return false };
    let Some(mut rest) = original.strip_prefix(first) else { return false };
    for piece in middle {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

/// Splits a text at its marks; a text without marks is one part.
fn between_marks(text: &str) -> Vec<&str> {
    let (mut pieces, mut from, mut at) = (Vec::new(), 0, 0);
    while let Some(rest) = text.get(at..) {
        if let Some(mark) = REDACTION_MARKS.iter().find(|mark| rest.starts_with(**mark)) {
            pieces.push(&text[from..at]);
            at += mark.len();
            from = at;
        } else {
            let Some(char) = rest.chars().next() else { break };
            at += char.len_utf8();
        }
    }
    pieces.push(&text[from..]);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(recorded: &str, original: &str) -> bool {
        matches_redacted(&recorded.into(), &original.into())
    }

    #[test]
    fn a_mark_replaces_any_text_and_the_rest_must_agree() {
        assert!(matches("DIR=<redacted> du -sh .", "DIR=/srv/orchard/ledger du -sh ."));
        assert!(!matches("DIR=<redacted> du -sh .", "DIR=/srv/orchard/ledger du -sh /"));
        assert!(matches("Bearer <redacted> and <redacted-jwt>!", "Bearer abc and eyJ.x.y!"));
        assert!(matches("key sk-abc…wxyz, pin ***", "key sk-abcdefghijklmnopqrstuvwxyz, pin 1234"));
        assert!(matches("-----BEGIN KEY-----\n…redacted…\n-----END", "-----BEGIN KEY-----\nAAA\n-----END"));
        assert!(!matches("a<redacted>a", "a"), "text before a mark does not match again after it");
        assert!(!matches("plain", "other"), "a text without a mark is compared as it is");
    }

    #[test]
    fn names_of_secrets_are_distinguished_from_names_that_count() {
        for name in ["apiKey", "bot_token", "X-Secret", "Authorization", "userPassword"] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["tokens", "tokenCount", "password_file", "path", "tokenizer"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
