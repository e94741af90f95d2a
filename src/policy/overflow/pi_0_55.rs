//! The detector of pi 0.55 to the letter, an oracle for the patterns of every release (compaction 8.1).

use crate::policy::overflow::gateway::contains_in_order;
use crate::policy::overflow::pi_releases::is_bodyless_refusal;

/// Lower-case texts of an overflow (compaction 8.1: 1–3, 6, 9–12, 14, 15).
const OVERFLOW_TEXTS: [&str; 10] = [
    "prompt is too long",
    "input is too long for requested model",
    "exceeds the context window",
    "reduce the length of the messages",
    "exceeds the available context size",
    "greater than the context length",
    "context window exceeds limit",
    "exceeded model token limit",
    "too many tokens",
    "token limit exceeded",
];

/// Whether an error text means an overflow (compaction 8.1 i).
pub(super) fn is_overflow(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    names_overflow(&text) || is_bodyless_refusal(&text)
}

/// Whether a lower-case text names an overflow in words (compaction 8.1 i, all but 16).
fn names_overflow(text: &str) -> bool {
    OVERFLOW_TEXTS.iter().any(|part| text.contains(part))
        || contains_in_order(text, &[&["input token count"], &["exceeds the maximum"]])
        || followed_by_number(text, "maximum prompt length is ", "")
        || followed_by_number(text, "maximum context length is ", " tokens")
        || followed_by_number(text, "exceeds the limit of ", "")
        || text.replace('_', " ").contains("context length exceeded")
}

/// Whether `before`, digits and `after` follow each other.
fn followed_by_number(text: &str, before: &str, after: &str) -> bool {
    text.match_indices(before).any(|(at, _)| {
        let rest = &text[at + before.len()..];
        let behind = rest.trim_start_matches(|char: char| char.is_ascii_digit());
        behind.len() < rest.len() && behind.starts_with(after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_of_8_1_are_overflows() {
        for text in [
            "prompt is too long: 213462 tokens > 200000 maximum",
            "Your input exceeds the context window of this model",
            "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)",
            "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
            "Please reduce the length of the messages or completion",
            "prompt token count of 90000 exceeds the limit of 64000",
            "context_length exceeded",
            "400 status code (no body)",
            "413\u{feff}(No Body)",
            "429 prompt is too long",
        ] {
            assert!(is_overflow(text), "{text}");
        }
    }

    #[test]
    fn a_number_must_follow_where_the_pattern_needs_one() {
        assert!(is_overflow("this model's maximum context length is 8192 tokens"));
        assert!(!is_overflow("maximum context length is unknown"));
        assert!(!is_overflow("exceeds the limit of ten"));
    }

    #[test]
    fn only_ascii_case_is_folded_and_white_space_is_javascripts() {
        assert!(!is_overflow("too many to\u{212a}ens") && !is_overflow("prompt i\u{17f} too long"));
        assert!(!is_overflow("400\u{85}(no body)") && !is_overflow(" 400 (no body)"));
    }
}
