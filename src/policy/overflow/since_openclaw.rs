//! The gateway's own test after a run, release by release (overflow-texts 7, releases R90–R93). [`gateway`] is the test of
//! 2026.3.2 to the letter; this one places the other releases around it.

use crate::policy::overflow::release::Release;
use crate::policy::overflow::{gateway, in_order, since_pi};

/// Parts of a text in lower case that mean an overflow together, and the first release with them.
const TOGETHER: &[(Release, &[&str])] = &[
    (FIRST, &["request_too_large"]),
    (FIRST, &["request exceeds the maximum size"]),
    (FIRST, &["context length exceeded"]),
    (FIRST, &["maximum context length"]),
    (FIRST, &["prompt is too long"]),
    (FIRST, &["exceeds model context window"]),
    (FIRST, &["context overflow:"]),
    (FIRST, &["request size exceeds", "context window"]),
    (FIRST, &["request size exceeds", "context length"]),
    (FIRST, &["413", "too large"]),
    (REFERENCE, &["model token limit"]),
    (REFERENCE, &["exceed context limit"]),
    (REFERENCE, &["exceeds the model's maximum context"]),
    (REFERENCE, &["max_tokens", "exceed", "context"]),
    (REFERENCE, &["input length", "exceed", "context"]),
    (REFERENCE, &["上下文过长"]),
    (REFERENCE, &["上下文超出"]),
    (REFERENCE, &["上下文长度超"]),
    (REFERENCE, &["超出最大上下文"]),
    (REFERENCE, &["请压缩上下文"]),
    ([2026, 3, 7], &["context_window_exceeded"]),
    ([2026, 3, 22], &["prompt too long"]),
    (TABLE, &["input is too long for model"]),
    (TABLE, &["input is too long for the model"]),
    (TABLE, &["input too long for model"]),
    (TABLE, &["input too long for the model"]),
    (TABLE_SHRINKS, &["input is too long for this model"]),
    (TABLE_SHRINKS, &["invalid_argument", "maximum number of tokens"]),
    (TABLE_SHRINKS, &["input exceeds", "maximum number of tokens"]),
    ([2026, 5, 28], &["context window", "ran out of room"]),
    ([2026, 5, 28], &["context window", "ran out of space"]),
    ([2026, 5, 28], &["context length", "ran out of room"]),
    ([2026, 5, 28], &["context length", "ran out of space"]),
    ([2026, 7, 1], &["prompt has ", " tokens, but the configured context size is "]),
    (OWN_RUNTIME, &["context size has been exceeded"]),
];

/// Parts in this order on one line, each any of its alternatives, and the releases that look for them.
const IN_ORDER: &[(Release, Release, &[&[&str]])] = &[
    (TABLE, NEVER, &[&["total token"], TOTAL_ABOVE]),
    (TABLE_SHRINKS, NEVER, &[&["input token count exceeds the maximum number of input tokens"]]),
    (
        [2026, 4, 9],
        NEVER,
        &[
            &["request (", "prompt ("],
            &[" token"],
            &["exceeds available context size", "exceeds the available context size"],
        ],
    ),
    (TABLE, TABLE_SHRINKS, &[&["validationexception"], &["input is too long", "max input token"]]),
    (TABLE, TABLE_SHRINKS, &[&["validationexception"], &["input token"], &["exceed"]]),
    (TABLE, TABLE_SHRINKS, &[&["validationexception"], &["exceeds the max"], &["tokens"]]),
    (
        TABLE,
        TABLE_SHRINKS,
        &[&["modelstreamerrorexception"], &["input is too long", "too many input tokens"]],
    ),
    (TABLE, TABLE_SHRINKS, &[&["content_filter"], &["prompt", "input"], &["too long", "exceed"]]),
    (TABLE, TABLE_SHRINKS, &[&["ollama"], &["context length", "too many tokens", "context window"]]),
    (TABLE, TABLE_SHRINKS, &[&["truncating input"], &["too long"]]),
    (TABLE, TABLE_SHRINKS, &[&["mistral"], &["input"], &["too long"]]),
    (TABLE, TABLE_SHRINKS, &[&["mistral"], &["token limit"], &["exceeded"]]),
    (TABLE, TABLE_SHRINKS, &[&["deepseek"], &["input"], &["too long"]]),
    (TABLE, TABLE_SHRINKS, &[&["deepseek"], &["context"], &["exceed"]]),
    (TABLE, TABLE_SHRINKS, &[&["invalid_argument"], &["exceeds the max", "exceed the max", "exceeds max"]]),
    (TABLE, TABLE_SHRINKS, &[&["invalid_argument"], &["input"], &["too long", "too large"]]),
];
/// A maximum that a total exceeds.
const TOTAL_ABOVE: &[&str] = &[
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

/// Texts of a rate limit in lower case, and the first release that lets them rule an overflow out.
const RATE: &[(Release, &str)] = &[
    (NARROW, "rate_limit"),
    (NARROW, "rate limit"),
    (NARROW, "too many requests"),
    (NARROW, "429"),
    (NARROW, "exceeded your current quota"),
    (NARROW, "resource has been exhausted"),
    (NARROW, "quota exceeded"),
    (NARROW, "resource_exhausted"),
    (NARROW, "usage limit"),
    (REFERENCE, "model_cooldown"),
    (REFERENCE, "tokens per minute"),
    ([2026, 3, 8], "tokens per day"),
    ([2026, 3, 11], "insufficient credits"),
    ([2026, 3, 11], "insufficient balance"),
    ([2026, 3, 11], "credit balance"),
    ([2026, 3, 11], "payment required"),
    ([2026, 4, 5], "throttling"),
    ([2026, 4, 5], "throttled"),
    ([2026, 4, 5], "too many concurrent requests"),
];

/// Texts of a rate limit in lower case, and the first release that takes them for one.
const RATE_LIMIT: &[(Release, &str)] = &[
    (FIRST, "rate_limit"),
    (FIRST, "rate limit"),
    (FIRST, "too many requests"),
    (FIRST, "429"),
    (FIRST, "exceeded your current quota"),
    (FIRST, "resource has been exhausted"),
    (FIRST, "quota exceeded"),
    (FIRST, "resource_exhausted"),
    (FIRST, "usage limit"),
    (REFERENCE, "model_cooldown"),
    (REFERENCE, "tokens per minute"),
    ([2026, 3, 8], "tokens per day"),
    ([2026, 4, 5], "throttling"),
    ([2026, 4, 5], "throttled"),
    ([2026, 4, 5], "too many concurrent requests"),
    (CHINESE_LIMITS, "请求过于频繁"),
    (CHINESE_LIMITS, "调用频率"),
    (CHINESE_LIMITS, "频率限制"),
    (CHINESE_LIMITS, "配额不足"),
    (CHINESE_LIMITS, "配额已用尽"),
    (CHINESE_LIMITS, "额度不足"),
    (CHINESE_LIMITS, "额度已用尽"),
];
/// Knows Chinese texts of rate limits from here on.
const CHINESE_LIMITS: Release = [2026, 5, 2];

/// The releases that also look for this text of a rate limit.
const COOLING_DOWN: (Release, Release) = (REFERENCE, [2026, 3, 7]);

/// Older than every release that was read.
const FIRST: Release = [0, 0, 0];
/// Newer than every release.
const NEVER: Release = [u32::MAX; 3];
/// Looks for the words of single providers from here on, and for most of them only until the second.
const TABLE: Release = [2026, 4, 1];
const TABLE_SHRINKS: Release = [2026, 4, 5];
/// Asks for rate limits first and guesses less from here on.
const NARROW: Release = [2026, 2, 12];
/// The release that [`gateway`] is.
const REFERENCE: Release = [2026, 3, 2];
/// Adds its own runtime's patterns, which are those of this pi but for a bare 400.
const OWN_RUNTIME: Release = [2026, 9, 6];
const OWN_RUNTIME_PI: Release = [0, 80, 2];

/// Words for too much, of the guess that older releases make.
const TOO_MUCH: &[&str] = &["too large", "too long", "exceed", "over", "limit", "max"];

/// Whether that release of the gateway takes an error text for an overflow after the run.
pub(super) fn is_overflow(text: &str, release: Release) -> bool {
    let (lower, folded) = (text.to_lowercase(), text.to_ascii_lowercase());
    let too_small = in_order(&folded, &[&["context window"], &["too small", "minimum is"]]);
    if release >= REFERENCE && gateway::is_excluded(&lower) || too_small {
        return false;
    }
    by_own_runtime(&folded, release)
        || !is_rate_limit(&lower, release)
            && (is_said(&lower, &folded, release) || is_guessed(&folded, release))
}

/// Whether that release takes an error text for an overflow by its strict test (releases R90).
pub(super) fn is_strict(text: &str, release: Release) -> bool {
    let (lower, folded) = (text.to_lowercase(), text.to_ascii_lowercase());
    let loose = release < NARROW && lower.contains("context overflow");
    !(release >= REFERENCE && gateway::is_excluded(&lower)) && (loose || is_said(&lower, &folded, release))
}

/// Whether a text in lower case is a rate limit to that release (releases R93).
pub(super) fn is_rate_limited(lower: &str, release: Release) -> bool {
    RATE_LIMIT.iter().any(|(since, part)| *since <= release && lower.contains(part))
        || release >= REFERENCE && gateway::has_word(lower, "tpm")
        || (COOLING_DOWN.0..COOLING_DOWN.1).contains(&release) && lower.contains("cooling down")
}

/// Whether a text names an overflow in words that the release looks for.
fn is_said(lower: &str, folded: &str, release: Release) -> bool {
    TOGETHER.iter().any(|(since, parts)| *since <= release && parts.iter().all(|part| lower.contains(part)))
        || IN_ORDER
            .iter()
            .any(|(since, until, parts)| (*since..*until).contains(&release) && in_order(folded, parts))
}

/// Whether a text sounds like an overflow.
fn is_guessed(folded: &str, release: Release) -> bool {
    if release >= NARROW {
        return gateway::is_hint(folded);
    }
    let wide: [&[&[&str]]; 2] =
        [&[&["context"], &["overflow"]], &[&["prompt", "request", "input"], TOO_MUCH]];
    gateway::is_window_hint(folded) || wide.iter().any(|hint| in_order(folded, hint))
}

fn is_rate_limit(lower: &str, release: Release) -> bool {
    RATE.iter().any(|(since, part)| *since <= release && lower.contains(part))
        || (COOLING_DOWN.0..COOLING_DOWN.1).contains(&release) && lower.contains("cooling down")
}

/// Whether the patterns of its own runtime match, which the releases that have one ask too.
fn by_own_runtime(folded: &str, release: Release) -> bool {
    let bare_413 = || folded.starts_with("413") && folded.contains("(no body)");
    release >= OWN_RUNTIME
        && !since_pi::is_rate_limit(folded)
        && (since_pi::matches(folded, OWN_RUNTIME_PI) || bare_413())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Words of the patterns and of what rules them out.
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
        fn the_reference_release_is_the_one_known_to_the_letter(picks in proptest::collection::vec(0..PIECES.len(), 0..9)) {
            let text: String = picks.into_iter().map(|at| PIECES[at]).collect();
            prop_assert_eq!(is_overflow(&text, REFERENCE), gateway::is_likely_overflow(&text), "{}", text);
        }
    }
}
