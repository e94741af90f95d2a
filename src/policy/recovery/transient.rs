//! Recognises transient errors, after which the runtime waits and retries (compaction 2.16).

/// Substrings of transient errors, matched without case.
const TRANSIENT_TEXTS: [&str; 14] = [
    "overloaded",
    "too many requests",
    "429",
    "500",
    "502",
    "503",
    "504",
    "server error",
    "internal error",
    "other side closed",
    "fetch failed",
    "reset before headers",
    "terminated",
    "retry delay",
];

/// Word pairs that match with at most one character between them.
const WORD_PAIRS: [(&str, &str); 5] = [
    ("rate", "limit"),
    ("service", "unavailable"),
    ("connection", "error"),
    ("connection", "refused"),
    ("upstream", "connect"),
];

/// Whether an error text is transient. The caller has to rule out an overflow first (compaction 2.16).
pub fn is_transient(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    TRANSIENT_TEXTS.iter().any(|part| text.contains(part))
        || WORD_PAIRS.iter().any(|(first, second)| contains_near(&text, first, second))
}

fn contains_near(text: &str, first: &str, second: &str) -> bool {
    let line_end = ['\n', '\r', '\u{2028}', '\u{2029}'];
    text.match_indices(first).any(|(at, _)| {
        let rest = &text[at + first.len()..];
        let mut chars = rest.chars();
        let one_on = chars.next().filter(|char| !line_end.contains(char)).map(|_| chars.as_str());
        rest.starts_with(second) || one_on.is_some_and(|rest| rest.starts_with(second))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transient_errors_are_recognised_by_their_text() {
        for text in [
            "Overloaded",
            "rate_limit_error",
            "ratelimit",
            "HTTP 503",
            "Connection refused",
            "upstream connect",
        ] {
            assert!(is_transient(text), "{text}");
        }
        for text in ["prompt is too long", "rate--limit", "rate\nlimit", "connection was refused"] {
            assert!(!is_transient(text), "{text}");
        }
    }
}
