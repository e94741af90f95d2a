//! pi's overflow patterns, each with its first release (overflow-texts 7, compaction 8.1, store-pi-1.5 G1, releases
//! R94).

use std::sync::LazyLock;

use regex::RegexSet;

use crate::js;

/// The characters of JavaScript's `\s`; a Unicode regex matches another set.
macro_rules! white_space {
    () => {
        r"\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}"
    };
}

/// Patterns for lower-case texts and the first release known to have each.
const PATTERNS: &[(Release, &str)] = &[
    (OLDEST, "prompt is too long"),
    (OLDEST, "exceeds the context window"),
    (OLDEST, r"input token count[^\n\r\x{2028}\x{2029}]*exceeds the maximum"),
    (OLDEST, "maximum prompt length is [0-9]+"),
    (OLDEST, "reduce the length of the messages"),
    (OLDEST, "maximum context length is [0-9]+ tokens"),
    (OLDEST, "exceeds the available context size"),
    (OLDEST, "greater than the context length"),
    (OLDEST, "context length exceeded"),
    (OLDEST, "too many tokens"),
    (OLDEST, "token limit exceeded"),
    ([0, 27, 9], "exceeds the limit of [0-9]+"),
    ([0, 40, 1], "context[_ ]length[_ ]exceeded"),
    ([0, 45, 7], "input is too long for requested model"),
    ([0, 45, 7], "context window exceeds limit"),
    ([0, 50, 3], "exceeded model token limit"),
    ([0, 57, 0], "too large for model with [0-9]+ maximum context length"),
    ([0, 57, 1], "model_context_window_exceeded"),
    ([0, 63, 1], "prompt too long; exceeded (?:max )?context length"),
    ([0, 65, 0], "request_too_large"),
    ([0, 74, 1], "exceeds (?:the )?(?:model'?s )?maximum context length of [0-9,]+ token"),
    ([0, 74, 1], r"input \([0-9]+ tokens\) is longer than the model'?s context length \([0-9]+ tokens\)"),
    ([0, 76, 0], "exceeds (?:the )?maximum allowed input length of [0-9,]+ token"),
    ([0, 79, 2], PARENTHESISED_LIMIT),
    ([0, 80, 4], "prompt has [0-9,]+ tokens?, but the configured context size is [0-9,]+ token"),
    ([0, 81, 0], "range of input length should be"),
    ([0, 86, 1], "prompt too long"),
    ([1, 0, 3], "prompt exceeds max length"),
    (ANY_413_SINCE, concat!("^413(?:$|:|[", white_space!(), "])")),
    (ANY_413_SINCE, r"^[a-z0-9_ -]+ api error \(413\):"),
    ([1, 5, 0], "context window exceeded"),
];

/// A limit in parentheses.
const PARENTHESISED_LIMIT: &str =
    concat!("exceeds (?:the )?(?:model'?s )?maximum context length[", white_space!(), r"]*\([0-9,]+\)");
/// Older than every known release.
const OLDEST: Release = [0, 0, 0];
/// First release that treats every status 413 as an overflow.
const ANY_413_SINCE: Release = [1, 4, 0];
/// First release in which a rate-limit text is never an overflow.
const EXCLUDES_RATE_LIMITS_SINCE: Release = [0, 65, 0];
/// First release in which a status 429 without a body is not an overflow.
const BODYLESS_WITHOUT_429_SINCE: Release = [0, 50, 0];
/// First release in which a refusal without a body is an overflow only from Cerebras.
const BODYLESS_CEREBRAS_ONLY_SINCE: Release = [0, 86, 0];

static PATTERN_SET: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new(PATTERNS.iter().map(|(_, pattern)| pattern)).unwrap_or_else(|_| RegexSet::empty())
});

/// Whether this release of pi detects an overflow in an error text.
pub(super) fn is_overflow(text: &str, provider: &str, release: Release) -> bool {
    let text = text.to_ascii_lowercase();
    if release >= EXCLUDES_RATE_LIMITS_SINCE && is_rate_limit(&text) {
        return false;
    }
    let bodyless = release < BODYLESS_CEREBRAS_ONLY_SINCE || provider == "cerebras";
    let bare_429 = || text.strip_prefix("429").is_some_and(|rest| is_bodyless_refusal(&format!("400{rest}")));
    matches(&text, release)
        || bodyless && is_bodyless_refusal(&text)
        || release < BODYLESS_WITHOUT_429_SINCE && bare_429()
}

/// Whether a text begins with `400 (no body)` or `413 status code (no body)` (compaction 8.1: 16).
pub(super) fn is_bodyless_refusal(text: &str) -> bool {
    let rest = text.strip_prefix("400").or_else(|| text.strip_prefix("413"));
    rest.is_some_and(|rest| {
        let rest = rest.trim_start_matches(js::is_trimmed);
        let rest = rest.strip_prefix("status code").unwrap_or(rest);
        rest.trim_start_matches(js::is_trimmed).starts_with("(no body)")
    })
}

/// Whether a pattern of this release matches a lower-case text.
pub(super) fn matches(text: &str, release: Release) -> bool {
    PATTERN_SET.matches(text).iter().any(|at| PATTERNS.get(at).is_some_and(|(since, _)| *since <= release))
}

/// Whether a lower-case text is a rate limit, for releases with that exclusion.
pub(super) fn is_rate_limit(text: &str) -> bool {
    ["rate limit", "too many requests"].iter().any(|part| text.contains(part))
        || ["throttling error:", "service unavailable:"].iter().any(|start| text.starts_with(start))
}

/// Year, month, day for OpenClaw; major, minor, patch for pi.
pub(super) type Release = [u32; 3];

/// Separates the two numberings: OpenClaw counts years, pi does not.
const FIRST_YEAR: u32 = 2025;

/// Parses an OpenClaw version: `2026.3.2`, `v2026.3.2-beta.1`, `2026.1.24-3`, `2026.9.x`.
pub(super) fn parse_openclaw(text: &str) -> Option<Release> {
    parse_numbers(text).filter(|release| (FIRST_YEAR..10_000).contains(&release[0]) && release[1] > 0)
}

/// Parses a pi version: `0.55.3`, `v1.5.2`, `pi-1.5`.
pub(super) fn parse_pi(text: &str) -> Option<Release> {
    let text = text.trim();
    parse_numbers(text.strip_prefix("pi-").unwrap_or(text)).filter(|release| release[0] < FIRST_YEAR)
}

/// Parses one to three numbers; a missing part or `x` becomes `u32::MAX`.
fn parse_numbers(text: &str) -> Option<Release> {
    let text = text.trim();
    let text = text.strip_prefix(['v', 'V']).unwrap_or(text).split(['-', '+', ' ']).next()?;
    let mut release = [u32::MAX; 3];
    let mut open = false;
    for (at, word) in text.split('.').enumerate() {
        let slot = release.get_mut(at)?;
        if at > 0 && matches!(word, "x" | "*") {
            open = true;
        } else if open || word.is_empty() || !word.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        } else {
            *slot = word.parse().ok()?;
        }
    }
    Some(release)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::overflow::pi_0_55;
    use proptest::prelude::*;

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(PATTERN_SET.len(), PATTERNS.len());
    }

    /// Pieces of error texts, so that random texts come close to the patterns.
    const PIECES: [&str; 40] = [
        "prompt is too long",
        "prompt too long",
        "; exceeded ",
        "max ",
        "context length",
        " exceeded",
        "_",
        "413",
        "400",
        " ",
        "(no body)",
        "status code",
        "exceeds the ",
        "exceeds ",
        "model's ",
        "maximum context length",
        " of ",
        "1,024",
        "4096",
        " tokens",
        " (",
        ")",
        "input",
        " is longer than the model's context length (",
        "rate limit",
        "Throttling error:",
        "context window",
        "limit",
        "request_too_large",
        "range of input length should be",
        "input token count",
        "\n",
        "exceeds the maximum",
        "mistral API error (413):",
        "prompt has ",
        ", but the configured context size is ",
        "maximum allowed input length of ",
        "too large for model with ",
        " maximum context length",
        "Too many tokens",
    ];

    /// Verified against the packages on both sides of each release.
    #[test]
    fn a_text_is_an_overflow_from_its_release_on() {
        for (before, since, text) in [
            ([0, 37, 8], [0, 40, 1], "context_length_exceeded"),
            ([0, 42, 5], [0, 45, 7], "context window exceeds limit (2013)"),
            ([0, 49, 3], [0, 50, 3], "exceeded model token limit"),
            ([0, 74, 0], [0, 74, 1], "exceeds the models maximum context length of 1 token"),
            ([0, 74, 0], [0, 74, 1], "input (5 tokens) is longer than the models context length (4 tokens)"),
            ([0, 75, 5], [0, 76, 0], "exceeds maximum allowed input length of 4,000 tokens."),
            ([0, 79, 1], [0, 79, 3], "exceeds model's maximum context length\u{a0}(262144)"),
            ([0, 79, 1], [0, 79, 3], "exceeds maximum context length(262144)"),
            ([0, 80, 3], [0, 80, 6], "Prompt has 1 token, but the configured context size is 1 token"),
            ([0, 80, 10], [0, 81, 0], "Range of input length should be [1, 4000]"),
        ] {
            assert!(!is_overflow(text, "", before), "{before:?} {text}");
            assert!(is_overflow(text, "", since), "{since:?} {text}");
        }
    }

    #[test]
    fn the_texts_that_1_5_added_are_overflows() {
        for text in [
            "prompt too long",
            "too large for model with 4000 maximum context length",
            "exceeds the model's maximum context length of 4,000 tokens",
            "exceeds maximum context length (4,000)",
            "input (5 tokens) is longer than the model's context length (4 tokens)",
            "prompt has 1,000 tokens, but the configured context size is 900 tokens",
            "413",
            "413\u{a0}x",
            "github copilot chat API error (413): {}",
            "429 prompt is too long",
        ] {
            assert!(is_overflow(text, "", [1, 5, 2]), "{text}");
        }
    }

    #[test]
    fn commas_match_only_where_the_pattern_allows_them_and_rate_limits_never_match() {
        for text in [
            "too large for model with 4,000 maximum context length",
            "input (5,000 tokens) is longer than the model's context length (4,000 tokens)",
            "413x",
            "x: API error (413): y",
            "x\nAPI error (413): y",
            "Throttling error: prompt is too long",
            "rate limit: prompt is too long",
            "400 (no body)",
        ] {
            assert!(!is_overflow(text, "", [1, 5, 2]), "{text}");
        }
        assert!(is_overflow(" Throttling error: prompt is too long", "", [1, 5, 2]));
        assert!(is_overflow("400 (no body)", "cerebras", [1, 5, 2]));
    }

    proptest! {
        #[test]
        fn the_oldest_release_matches_its_exact_detector(picks in proptest::collection::vec(0..PIECES.len(), 0..9), cerebras: bool) {
            let text: String = picks.into_iter().map(|at| PIECES[at]).collect();
            let provider = if cerebras { "cerebras" } else { "zai" };
            prop_assert_eq!(is_overflow(&text, provider, [0, 55, 3]), pi_0_55::is_overflow(&text));
        }
    }
}

#[cfg(test)]
mod release_tests {
    use super::*;

    #[test]
    fn version_texts_are_read_as_both_programs_write_them() {
        for (text, release) in [
            ("2026.3.2", [2026, 3, 2]),
            (" v2026.3.2-beta.1 ", [2026, 3, 2]),
            ("2026.1.24-3", [2026, 1, 24]),
            ("2026.9.x", [2026, 9, u32::MAX]),
            ("2026.9", [2026, 9, u32::MAX]),
        ] {
            assert_eq!(parse_openclaw(text), Some(release), "{text}");
        }
        assert_eq!((parse_pi("0.55.3"), parse_pi("pi-1.5")), (Some([0, 55, 3]), Some([1, 5, u32::MAX])));
    }

    #[test]
    fn a_text_that_names_no_release_is_not_guessed() {
        for text in [
            "",
            "latest",
            "0.55.3",
            "2026",
            "2026.x.3",
            "2026.3.2.1",
            "2026..2",
            "2026.+3",
            "99999999999.1.1",
        ] {
            assert_eq!(parse_openclaw(text).filter(|release| release[1] < u32::MAX), None, "{text}");
        }
        assert_eq!([parse_pi("2026.3.2"), parse_pi("dev"), parse_pi("")], [None; 3]);
    }
}
