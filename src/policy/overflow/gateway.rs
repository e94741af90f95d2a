//! The detectors of OpenClaw 2026.3.2: the strict one resets a chat, the wide one starts its recovery, the others
//! separate rate limits and failed compactions from overflows (compaction 8.2–8.6).

/// Lower-case texts, any of which means an overflow (compaction 8.3).
const STRICT_TEXTS: [&str; 10] = [
    "request_too_large",
    "request exceeds the maximum size",
    "context length exceeded",
    "maximum context length",
    "prompt is too long",
    "exceeds model context window",
    "model token limit",
    "context overflow:",
    "exceed context limit",
    "exceeds the model's maximum context",
];

/// Lower-case texts that mean an overflow when all of a row occur.
const STRICT_COMBINATIONS: [&[&str]; 5] = [
    &["request size exceeds", "context window"],
    &["request size exceeds", "context length"],
    &["max_tokens", "exceed", "context"],
    &["input length", "exceed", "context"],
    &["413", "too large"],
];

/// Chinese texts of an overflow, matched as they are.
const CHINESE_TEXTS: [&str; 5] =
    ["上下文过长", "上下文超出", "上下文长度超", "超出最大上下文", "请压缩上下文"];

/// Lower-case texts of a rate limit (compaction 8.4).
const RATE_LIMIT_TEXTS: [&str; 12] = [
    "rate_limit",
    "rate limit",
    "too many requests",
    "429",
    "model_cooldown",
    "cooling down",
    "exceeded your current quota",
    "resource has been exhausted",
    "quota exceeded",
    "resource_exhausted",
    "usage limit",
    "tokens per minute",
];

/// Texts that stop the wide detector from guessing (compaction 8.5: R).
const HINT_EXCLUSIONS: [&str; 7] = [
    "rate limit",
    "too many requests",
    "requests per minute",
    "requests per hour",
    "requests per day",
    "quota",
    "throttl",
];

/// Words of excess after "context window" (compaction 8.5: H).
const WINDOW_EXCESS_WORDS: &[&str] =
    &["too large", "too long", "exceed", "over", "limit", "max", "requested", "sent", "tokens"];

/// Words of excess in the other hints.
const OTHER_EXCESS_WORDS: &[&str] = &["too large", "too long", "exceed", "over", "limit", "max"];

/// Hints of an overflow: the groups of a row must occur in order on one line (compaction 8.5: H).
const HINTS: [&[&[&str]]; 4] = [
    &[&["context"], &["overflow"]],
    &[&["context window"], WINDOW_EXCESS_WORDS],
    &[&["prompt"], OTHER_EXCESS_WORDS],
    &[&["request", "input"], &["context", "window", "length", "token"], OTHER_EXCESS_WORDS],
];

/// Whether a text states that the prompt was too large, which resets a chat (compaction 8.3). Never for a limit per
/// minute or a refused reasoning mode (compaction 8.2).
pub(super) fn is_overflow(text: &str) -> bool {
    let lower = text.to_lowercase();
    let holds = |part: &&str| lower.contains(*part);
    !is_excluded(&lower)
        && (STRICT_TEXTS.iter().any(holds)
            || STRICT_COMBINATIONS.iter().any(|parts| parts.iter().all(holds))
            || CHINESE_TEXTS.iter().any(|part| text.contains(part)))
}

/// Whether a text probably means an overflow, which starts the recovery after a run (compaction 8.5).
pub(super) fn is_likely_overflow(text: &str) -> bool {
    let folded = text.to_ascii_lowercase();
    let too_small = contains_in_order(&folded, &[&["context window"], &["too small", "minimum is"]]);
    if is_excluded(&text.to_lowercase()) || too_small || is_rate_limit(text) {
        return false;
    }
    is_overflow(text) || is_hint(&folded)
}

/// Whether a text, its ASCII letters in lower case, hints at an overflow and not at a quota (compaction 8.5: H, R).
pub(super) fn is_hint(folded: &str) -> bool {
    let no_guess = HINT_EXCLUSIONS.iter().any(|part| folded.contains(part)) || ends_word(folded, "429");
    !no_guess && HINTS.iter().any(|hint| contains_in_order(folded, hint))
}

/// Whether a text hints at an overflow with words about the window.
pub(super) fn is_window_hint(folded: &str) -> bool {
    contains_in_order(folded, HINTS[1])
}

/// Whether a text is about a rate limit (compaction 8.4).
pub(super) fn is_rate_limit(text: &str) -> bool {
    let lower = text.to_lowercase();
    RATE_LIMIT_TEXTS.iter().any(|part| lower.contains(part)) || has_word(&lower, "tpm")
}

/// Whether a text states that a compaction failed because its prompt was too large (compaction 8.6).
pub fn is_compaction_failure(text: &str) -> bool {
    let lower = text.to_lowercase();
    (lower.contains("compaction") || lower.contains("summarization failed"))
        && (is_likely_overflow(text) || lower.contains("context overflow"))
}

/// Whether a text is about a limit per minute or a refused reasoning mode (compaction 8.2).
pub(super) fn is_excluded(lower: &str) -> bool {
    let reasoning = ["reasoning is mandatory", "reasoning is required", "requires reasoning"];
    has_word(lower, "tpm")
        || lower.contains("tokens per minute")
        || reasoning.iter().any(|part| lower.contains(part))
        || (lower.contains("reasoning") && lower.contains("cannot be disabled"))
}

/// Whether a word occurs with no ASCII letter, digit or `_` next to it.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(is_word_char) && !text[at + word.len()..].starts_with(is_word_char)
    })
}

/// Whether a word occurs with no ASCII letter, digit or `_` after it.
fn ends_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| !text[at + word.len()..].starts_with(is_word_char))
}

fn is_word_char(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_'
}

/// Whether the parts occur in this order on one line; each part is any of its alternatives. Equals a regex with `.*`
/// between the parts, which never crosses a line end.
pub(super) fn contains_in_order(text: &str, parts: &[&[&str]]) -> bool {
    text.split(['\n', '\r', '\u{2028}', '\u{2029}']).any(|line| {
        let mut rest = Some(line);
        for alternatives in parts {
            rest = rest.and_then(|rest| after_any(rest, alternatives));
        }
        rest.is_some()
    })
}

/// Returns the text after the alternative that ends first.
fn after_any<'a>(text: &'a str, alternatives: &[&str]) -> Option<&'a str> {
    let ends = alternatives.iter().filter_map(|part| text.find(part).map(|at| at + part.len()));
    ends.min().map(|end| &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::overflow::pi_0_55;

    /// Runs the detectors: strict, wide, failed compaction, pi.
    fn judged(text: &str) -> [bool; 4] {
        [is_overflow(text), is_likely_overflow(text), is_compaction_failure(text), pi_0_55::is_overflow(text)]
    }

    #[test]
    fn the_detectors_disagree_as_the_vectors_of_8_7_say() {
        for (text, expected) in [
            ("prompt is too long: 213462 tokens > 200000 maximum", [1, 1, 0, 1]),
            ("Your input exceeds the context window of this model", [0, 0, 0, 1]),
            ("The input token count (11) exceeds the maximum number of tokens allowed (10)", [0, 1, 0, 1]),
            ("maximum prompt length is 131072 but the request contains 537812 tokens", [0, 0, 0, 1]),
            ("Please reduce the length of the messages or completion", [0, 0, 0, 1]),
            ("maximum context length is 131072 tokens. However, you requested 200000", [1, 1, 0, 1]),
            ("the request exceeds the available context size, try increasing it", [0, 0, 0, 1]),
            ("prompt token count of 90000 exceeds the limit of 64000", [0, 1, 0, 1]),
            ("context_length_exceeded", [0, 0, 0, 1]),
            ("request_too_large", [1, 1, 0, 0]),
            ("413 Payload too large", [1, 1, 0, 0]),
            ("上下文过长", [1, 1, 0, 0]),
            ("input length and max_tokens exceed context limit: 188240 + 21333 > 200000", [1, 1, 0, 0]),
            ("429 prompt is too long", [1, 0, 0, 1]),
            ("Request too large for x on tokens per minute (TPM): Limit 30000, Requested 40000", [0; 4]),
            ("Model context window too small (8000 tokens). Minimum is 16000.", [0; 4]),
            ("Reasoning is mandatory and cannot be disabled; prompt is too long", [0, 0, 0, 1]),
            ("Summarization failed: prompt is too long", [1; 4]),
            ("compaction: context overflow tpm", [0, 0, 1, 0]),
            ("compaction timed out", [0; 4]),
            ("", [0; 4]),
        ] {
            assert_eq!(judged(text).map(u8::from), expected, "{text}");
        }
    }

    #[test]
    fn lower_casing_may_match_where_folding_does_not() {
        assert!(is_overflow("re\u{51}uest_too_large") && is_rate_limit("to\u{212a}ens per minute"));
        assert!(!is_likely_overflow("prompt too\u{2028}long"));
    }

    #[test]
    fn a_rate_limit_is_never_guessed_to_be_an_overflow() {
        assert!(is_rate_limit("Error 4290") && !is_rate_limit("nothing"));
        assert!(!is_likely_overflow("prompt over the daily quota") && is_likely_overflow("prompt over it"));
    }
}

#[cfg(test)]
mod word_order_tests {
    use super::*;

    #[test]
    fn parts_are_in_order_on_one_line() {
        let parts: &[&[&str]] = &[&["input", "in"], &["token"], &["over", "limit"]];
        assert!(contains_in_order("in token limit", parts));
        assert!(!contains_in_order("limit token in", parts));
        assert!(
            !contains_in_order("in token\u{2028}limit", parts)
                && !contains_in_order("in\rtoken limit", parts)
        );
        assert!(contains_in_order("x\nin token over", parts));
    }
}
