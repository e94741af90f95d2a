//! The gateway's detectors after a run for every release (overflow-texts 7, releases R90–R93). [`gateway`] reproduces
//! 2026.3.2 exactly; this module derives the other releases from it.

use crate::policy::overflow::gateway::contains_in_order;
use crate::policy::overflow::pi_releases::Release;
use crate::policy::overflow::{gateway, pi_releases};

/// Lower-case texts that all occur in an overflow, and the first release that detects them.
const TEXT_COMBINATIONS: &[(Release, &[&str])] = &[
    (OLDEST, &["request_too_large"]),
    (OLDEST, &["request exceeds the maximum size"]),
    (OLDEST, &["context length exceeded"]),
    (OLDEST, &["maximum context length"]),
    (OLDEST, &["prompt is too long"]),
    (OLDEST, &["exceeds model context window"]),
    (OLDEST, &["context overflow:"]),
    (OLDEST, &["request size exceeds", "context window"]),
    (OLDEST, &["request size exceeds", "context length"]),
    (OLDEST, &["413", "too large"]),
    (WIDER_TEXTS_SINCE, &["model token limit"]),
    (WIDER_TEXTS_SINCE, &["exceed context limit"]),
    (WIDER_TEXTS_SINCE, &["exceeds the model's maximum context"]),
    (WIDER_TEXTS_SINCE, &["max_tokens", "exceed", "context"]),
    (WIDER_TEXTS_SINCE, &["input length", "exceed", "context"]),
    (WIDER_TEXTS_SINCE, &["上下文过长"]),
    (WIDER_TEXTS_SINCE, &["上下文超出"]),
    (WIDER_TEXTS_SINCE, &["上下文长度超"]),
    (WIDER_TEXTS_SINCE, &["超出最大上下文"]),
    (WIDER_TEXTS_SINCE, &["请压缩上下文"]),
    ([2026, 3, 7], &["context_window_exceeded"]),
    ([2026, 3, 22], &["prompt too long"]),
    (PROVIDER_TEXTS_SINCE, &["input is too long for model"]),
    (PROVIDER_TEXTS_SINCE, &["input is too long for the model"]),
    (PROVIDER_TEXTS_SINCE, &["input too long for model"]),
    (PROVIDER_TEXTS_SINCE, &["input too long for the model"]),
    (FEWER_PROVIDER_TEXTS_SINCE, &["input is too long for this model"]),
    (FEWER_PROVIDER_TEXTS_SINCE, &["invalid_argument", "maximum number of tokens"]),
    (FEWER_PROVIDER_TEXTS_SINCE, &["input exceeds", "maximum number of tokens"]),
    ([2026, 5, 26], &["context window", "ran out of room"]),
    ([2026, 5, 26], &["context window", "ran out of space"]),
    ([2026, 5, 26], &["context length", "ran out of room"]),
    ([2026, 5, 26], &["context length", "ran out of space"]),
    ([2026, 7, 1], &["prompt has ", " tokens, but the configured context size is "]),
    (OWN_RUNTIME_SINCE, &["context size has been exceeded"]),
];

/// Parts that occur in this order on one line (each any of its alternatives), the first release that detects them,
/// and the first that no longer does.
const ORDERED_PARTS: &[(Release, Release, &[&[&str]])] = &[
    (PROVIDER_TEXTS_SINCE, NEVER, &[&["total token"], TOTAL_EXCEEDS_MAXIMUM]),
    (FEWER_PROVIDER_TEXTS_SINCE, NEVER, &[&["input token count exceeds the maximum number of input tokens"]]),
    (
        [2026, 4, 10],
        NEVER,
        &[
            &["request (", "prompt ("],
            &[" token"],
            &["exceeds available context size", "exceeds the available context size"],
        ],
    ),
    (
        PROVIDER_TEXTS_SINCE,
        FEWER_PROVIDER_TEXTS_SINCE,
        &[&["validationexception"], &["input is too long", "max input token"]],
    ),
    (
        PROVIDER_TEXTS_SINCE,
        FEWER_PROVIDER_TEXTS_SINCE,
        &[&["validationexception"], &["input token"], &["exceed"]],
    ),
    (
        PROVIDER_TEXTS_SINCE,
        FEWER_PROVIDER_TEXTS_SINCE,
        &[&["validationexception"], &["exceeds the max"], &["tokens"]],
    ),
    (
        PROVIDER_TEXTS_SINCE,
        FEWER_PROVIDER_TEXTS_SINCE,
        &[&["modelstreamerrorexception"], &["input is too long", "too many input tokens"]],
    ),
    (
        PROVIDER_TEXTS_SINCE,
        FEWER_PROVIDER_TEXTS_SINCE,
        &[&["content_filter"], &["prompt", "input"], &["too long", "exceed"]],
    ),
    (
        PROVIDER_TEXTS_SINCE,
        FEWER_PROVIDER_TEXTS_SINCE,
        &[&["ollama"], &["context length", "too many tokens", "context window"]],
    ),
    (PROVIDER_TEXTS_SINCE, FEWER_PROVIDER_TEXTS_SINCE, &[&["truncating input"], &["too long"]]),
    (PROVIDER_TEXTS_SINCE, FEWER_PROVIDER_TEXTS_SINCE, &[&["mistral"], &["input"], &["too long"]]),
    (PROVIDER_TEXTS_SINCE, FEWER_PROVIDER_TEXTS_SINCE, &[&["mistral"], &["token limit"], &["exceeded"]]),
    (PROVIDER_TEXTS_SINCE, FEWER_PROVIDER_TEXTS_SINCE, &[&["deepseek"], &["input"], &["too long"]]),
    (PROVIDER_TEXTS_SINCE, FEWER_PROVIDER_TEXTS_SINCE, &[&["deepseek"], &["context"], &["exceed"]]),
    (
        PROVIDER_TEXTS_SINCE,
        FEWER_PROVIDER_TEXTS_SINCE,
        &[&["invalid_argument"], &["exceeds the max", "exceed the max", "exceeds max"]],
    ),
    (
        PROVIDER_TEXTS_SINCE,
        FEWER_PROVIDER_TEXTS_SINCE,
        &[&["invalid_argument"], &["input"], &["too long", "too large"]],
    ),
];
/// A total that exceeds a maximum.
const TOTAL_EXCEEDS_MAXIMUM: &[&str] = &[
    "exceed max",
    "exceeds max",
    "exceed limit",
    "exceeds limit",
    "exceed the max",
    "exceeds the max",
    "exceed the limit",
    "exceeds the limit",
    "exceed model max",
    "exceeds model max",
    "exceed the model's max",
    "exceeds the model's max",
    "exceed the model's limit",
    "exceeds the model's limit",
];

/// Lower-case texts of a rate limit, and the first release in which they rule an overflow out.
const RATE_LIMIT_EXCLUSIONS: &[(Release, &str)] = &[
    (NARROW_HINTS_SINCE, "rate_limit"),
    (NARROW_HINTS_SINCE, "rate limit"),
    (NARROW_HINTS_SINCE, "too many requests"),
    (NARROW_HINTS_SINCE, "429"),
    (NARROW_HINTS_SINCE, "exceeded your current quota"),
    (NARROW_HINTS_SINCE, "resource has been exhausted"),
    (NARROW_HINTS_SINCE, "quota exceeded"),
    (NARROW_HINTS_SINCE, "resource_exhausted"),
    (NARROW_HINTS_SINCE, "usage limit"),
    (WIDER_TEXTS_SINCE, "model_cooldown"),
    (WIDER_TEXTS_SINCE, "tokens per minute"),
    ([2026, 3, 8], "tokens per day"),
    ([2026, 3, 11], "insufficient credits"),
    ([2026, 3, 11], "insufficient balance"),
    ([2026, 3, 11], "credit balance"),
    ([2026, 3, 11], "payment required"),
    ([2026, 4, 5], "throttling"),
    ([2026, 4, 5], "throttled"),
    ([2026, 4, 5], "too many concurrent requests"),
];

/// Lower-case texts of a rate limit, and the first release that detects them.
const RATE_LIMIT_TEXTS: &[(Release, &str)] = &[
    (OLDEST, "rate_limit"),
    (OLDEST, "rate limit"),
    (OLDEST, "too many requests"),
    (OLDEST, "429"),
    (OLDEST, "exceeded your current quota"),
    (OLDEST, "resource has been exhausted"),
    (OLDEST, "quota exceeded"),
    (OLDEST, "resource_exhausted"),
    (OLDEST, "usage limit"),
    (WIDER_TEXTS_SINCE, "model_cooldown"),
    (WIDER_TEXTS_SINCE, "tokens per minute"),
    ([2026, 3, 8], "tokens per day"),
    ([2026, 4, 5], "throttling"),
    ([2026, 4, 5], "throttled"),
    ([2026, 4, 5], "too many concurrent requests"),
    (CHINESE_RATE_LIMITS_SINCE, "请求过于频繁"),
    (CHINESE_RATE_LIMITS_SINCE, "调用频率"),
    (CHINESE_RATE_LIMITS_SINCE, "频率限制"),
    (CHINESE_RATE_LIMITS_SINCE, "配额不足"),
    (CHINESE_RATE_LIMITS_SINCE, "配额已用尽"),
    (CHINESE_RATE_LIMITS_SINCE, "额度不足"),
    (CHINESE_RATE_LIMITS_SINCE, "额度已用尽"),
];
/// First release with Chinese texts of rate limits.
const CHINESE_RATE_LIMITS_SINCE: Release = [2026, 4, 27];

/// The releases that also match "cooling down": from the first, before the second.
const COOLING_DOWN_RELEASES: (Release, Release) = ([2026, 2, 25], [2026, 3, 7]);

/// Older than every known release.
const OLDEST: Release = [0, 0, 0];
/// Newer than every release.
const NEVER: Release = [u32::MAX; 3];
/// First release with the texts of single providers; most of them end with [`FEWER_PROVIDER_TEXTS_SINCE`].
const PROVIDER_TEXTS_SINCE: Release = [2026, 4, 1];
const FEWER_PROVIDER_TEXTS_SINCE: Release = [2026, 4, 5];
/// First release that checks rate limits first and guesses less.
const NARROW_HINTS_SINCE: Release = [2026, 2, 12];
/// First release in which any text with `context overflow` no longer counts.
const CONTEXT_OVERFLOW_NEEDS_COLON_SINCE: Release = [2026, 2, 9];
/// First release with the texts and exclusions of 2026.3.2, which [`gateway`] reproduces.
const WIDER_TEXTS_SINCE: Release = [2026, 2, 23];
/// First release that adds its own runtime's patterns: those of [`OWN_RUNTIME_PI`] except a bare 400.
const OWN_RUNTIME_SINCE: Release = [2026, 8, 1];
const OWN_RUNTIME_PI: Release = [0, 80, 2];

/// Words of excess in the guess of older releases.
const EXCESS_WORDS: &[&str] = &["too large", "too long", "exceed", "over", "limit", "max"];

/// Whether this release detects an overflow after a run.
pub(super) fn is_overflow(text: &str, release: Release) -> bool {
    let (lower, folded) = (text.to_lowercase(), text.to_ascii_lowercase());
    let too_small = contains_in_order(&folded, &[&["context window"], &["too small", "minimum is"]]);
    if release >= WIDER_TEXTS_SINCE && gateway::is_excluded(&lower) || too_small {
        return false;
    }
    matches_own_runtime(&folded, release)
        || !is_rate_limit(&lower, release)
            && (names_overflow(&lower, &folded, release) || hints_at_overflow(&folded, release))
}

/// Whether this release's strict detector matches (releases R90).
pub(super) fn is_strict_overflow(text: &str, release: Release) -> bool {
    let (lower, folded) = (text.to_lowercase(), text.to_ascii_lowercase());
    let loose = release < CONTEXT_OVERFLOW_NEEDS_COLON_SINCE && lower.contains("context overflow");
    !(release >= WIDER_TEXTS_SINCE && gateway::is_excluded(&lower))
        && (loose || names_overflow(&lower, &folded, release))
}

/// Whether a lower-case text is a rate limit in this release (releases R93).
pub(super) fn is_rate_limited(lower: &str, release: Release) -> bool {
    RATE_LIMIT_TEXTS.iter().any(|(since, part)| *since <= release && lower.contains(part))
        || release >= WIDER_TEXTS_SINCE && gateway::has_word(lower, "tpm")
        || (COOLING_DOWN_RELEASES.0..COOLING_DOWN_RELEASES.1).contains(&release)
            && lower.contains("cooling down")
}

/// Whether a text names an overflow in words that this release detects.
fn names_overflow(lower: &str, folded: &str, release: Release) -> bool {
    TEXT_COMBINATIONS
        .iter()
        .any(|(since, parts)| *since <= release && parts.iter().all(|part| lower.contains(part)))
        || ORDERED_PARTS.iter().any(|(since, until, parts)| {
            (*since..*until).contains(&release) && contains_in_order(folded, parts)
        })
}

/// Whether a text hints at an overflow.
fn hints_at_overflow(folded: &str, release: Release) -> bool {
    if release >= NARROW_HINTS_SINCE {
        return gateway::is_hint(folded);
    }
    let wide: [&[&[&str]]; 2] =
        [&[&["context"], &["overflow"]], &[&["prompt", "request", "input"], EXCESS_WORDS]];
    gateway::is_window_hint(folded) || wide.iter().any(|hint| contains_in_order(folded, hint))
}

fn is_rate_limit(lower: &str, release: Release) -> bool {
    RATE_LIMIT_EXCLUSIONS.iter().any(|(since, part)| *since <= release && lower.contains(part))
        || (COOLING_DOWN_RELEASES.0..COOLING_DOWN_RELEASES.1).contains(&release)
            && lower.contains("cooling down")
}

/// Whether the patterns of the gateway's own runtime match, in releases that have one.
fn matches_own_runtime(folded: &str, release: Release) -> bool {
    let bare_413 = || folded.starts_with("413") && folded.contains("(no body)");
    release >= OWN_RUNTIME_SINCE
        && !pi_releases::is_rate_limit(folded)
        && (pi_releases::matches(folded, OWN_RUNTIME_PI) || bare_413())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Pieces of the patterns and of the exclusions.
    const PIECES: [&str; 34] = [
        "context",
        " window",
        " length",
        " overflow",
        ": ",
        "too large",
        "prompt",
        " is too long",
        "exceed",
        "s the model's ",
        "maximum",
        " limit",
        "request",
        "_too_large",
        "input",
        " token",
        "tokens per minute",
        "TPM",
        " 429",
        "rate limit",
        "quota",
        "reasoning is mandatory",
        "too small",
        "413",
        "上下文过长",
        "cooling down",
        "usage limit",
        "\n",
        "max_tokens",
        "sent",
        "model token limit",
        "throttl",
        " ",
        "请压缩上下文",
    ];

    proptest! {
        #[test]
        fn the_reference_release_matches_its_exact_detector(picks in proptest::collection::vec(0..PIECES.len(), 0..9)) {
            let text: String = picks.into_iter().map(|at| PIECES[at]).collect();
            prop_assert_eq!(is_overflow(&text, [2026, 3, 2]), gateway::is_likely_overflow(&text), "{}", text);
        }
    }
}
