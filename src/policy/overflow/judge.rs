//! Judges from an answer's text whether its prompt was larger than the context, independent of how any program
//! classified it (overflow-texts 2).

use crate::policy::overflow::error_class::{ErrorClass, class_of};
use crate::policy::overflow::normalized::NormalizedText;
use crate::policy::overflow::signs::{self, Sign, Signs};
use crate::policy::overflow::text_match::TextMatch;
use crate::policy::overflow::{RefusalNumbers, StopDetails, text_match};

/// Lookalikes that overrule a weak text.
const LOOKALIKES_BEFORE_WEAK: [(Sign, &str); 4] =
    [(Sign::OtherMeaning, "L5"), (Sign::Media, "L3"), (Sign::FieldLimit, "L4"), (Sign::OutputLimit, "L2")];
/// Lookalikes that rule out a byte limit.
const LOOKALIKES_BEFORE_BYTES: [(Sign, &str); 3] =
    [(Sign::Media, "L3"), (Sign::FieldLimit, "L4"), (Sign::OtherMeaning, "L5")];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The prompt was larger than the context.
    Tokens,
    /// The request exceeded a byte limit; no token limit was hit.
    Bytes,
    /// No overflow of either kind.
    NoOverflow,
}

/// A verdict and its evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Classification {
    pub verdict: Verdict,
    /// The deciding rule of overflow-texts.md, such as "T06", "C1", "C2", "L1", "B"; "" for no rule.
    pub rule: &'static str,
    /// Tokens requested and allowed, if the text names them.
    pub numbers: RefusalNumbers,
    /// The gateway refused by its own estimate (precheck, mid-turn precheck, tool-loop guard) without calling a
    /// provider.
    pub by_gateway: bool,
}

impl Classification {
    fn new(verdict: Verdict, rule: &'static str) -> Self {
        Self { verdict, rule, numbers: RefusalNumbers::default(), by_gateway: false }
    }

    fn tokens(rule: &'static str, numbers: RefusalNumbers) -> Self {
        Self { numbers, ..Self::new(Verdict::Tokens, rule) }
    }
}

/// Judges an answer. An aborted answer is never an overflow.
pub fn judge(details: &StopDetails) -> Classification {
    if details.stop_reason.trim().eq_ignore_ascii_case("aborted") {
        return Classification::new(Verdict::NoOverflow, "");
    }
    if signs::is_overflow_stop_reason(&details.stop_reason) {
        return Classification::tokens("C2", RefusalNumbers::default());
    }
    let plain = NormalizedText::new(details);
    if plain.with_codes.is_empty() {
        return Classification::new(Verdict::NoOverflow, "");
    }
    let signs = Signs::find(&plain.with_codes);
    let judged = judge_text(&plain, &signs).unwrap_or_else(|| judge_size(details, &plain, &signs));
    Classification {
        by_gateway: judged.verdict == Verdict::Tokens && signs.has(Sign::GatewayEstimate),
        ..judged
    }
}

/// Names the kind of an error that [`judge()`] found to be no overflow, and the numbers that its text states.
pub fn classify_error(details: &StopDetails, judged: &Classification) -> (ErrorClass, RefusalNumbers) {
    let plain = NormalizedText::new(details).with_codes;
    let numbers = text_match::find_error_numbers(&plain);
    (class_of(&plain, judged.rule, numbers), numbers)
}

/// Takes steps 1 to 4: stop reasons, quotas, texts and codes.
fn judge_text(plain: &NormalizedText, signs: &Signs) -> Option<Classification> {
    let code = signs.has(Sign::MachineCode);
    if signs.has(Sign::StopReason) {
        return Some(Classification::tokens("C2", RefusalNumbers::default()));
    }
    let text = text_match::find_text(&plain.with_codes);
    if !code && signs.has(Sign::RateLimit) && !text.as_ref().is_some_and(|text| outweighs_rate(text, plain)) {
        return Some(Classification::new(Verdict::NoOverflow, "L1"));
    }
    let found = text
        .filter(|found| !found.text.is_weak || code || signs.first_rule(&LOOKALIKES_BEFORE_WEAK).is_none());
    match found {
        Some(found) if found.is_output_alone_too_large() => {
            Some(Classification::new(Verdict::NoOverflow, "L2"))
        }
        Some(found) => Some(Classification::tokens(found.text.rule, found.numbers)),
        None => code.then(|| Classification::tokens("C1", text_match::find_loose_numbers(&plain.with_codes))),
    }
}

/// Whether one sentence of a text proves an overflow. Several errors are joined in one text, and a later
/// "throttled" does not make the prompt smaller.
fn outweighs_rate(found: &TextMatch, plain: &NormalizedText) -> bool {
    found.is_proof() && !Signs::find(found.sentence(&plain.with_codes)).has(Sign::RateLimit)
}

/// Takes steps 5 to 8, for texts that do not name the context.
fn judge_size(details: &StopDetails, plain: &NormalizedText, signs: &Signs) -> Classification {
    if let Some(rule) = signs.first_rule(&LOOKALIKES_BEFORE_BYTES) {
        return Classification::new(Verdict::NoOverflow, rule);
    }
    if details.provider.to_ascii_lowercase().contains("cerebras") && is_bodyless_status(&plain.message) {
        return Classification::tokens("T43", RefusalNumbers::default());
    }
    if signs.has(Sign::ByteLimit) {
        let counts_tokens = signs.has(Sign::CountsTokens);
        let in_tokens = || Classification::tokens("T32", text_match::find_loose_numbers(&plain.with_codes));
        return if counts_tokens { in_tokens() } else { Classification::new(Verdict::Bytes, "B") };
    }
    Classification::new(Verdict::NoOverflow, if signs.has(Sign::OutputLimit) { "L2" } else { "" })
}

/// Whether a text is a status 400 or 413 and nothing else.
pub fn is_bodyless_status(text: &str) -> bool {
    let plain = text.trim().to_lowercase();
    let text = plain.trim_start_matches("error:").trim_start();
    let behind = text.strip_prefix("400").or_else(|| text.strip_prefix("413"));
    behind.is_some_and(|behind| {
        let behind = behind.trim_start();
        let behind = behind.strip_prefix("status code").unwrap_or(behind).trim();
        behind.is_empty() || behind == "(no body)"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(provider: &str, message: &str, codes: &[&str]) -> Classification {
        let codes = codes.iter().map(|code| (*code).to_owned()).collect();
        judge(&StopDetails { provider: provider.to_owned(), codes, ..StopDetails::from_text(message) })
    }

    fn stopped(reason: &str, message: &str) -> Classification {
        judge(&StopDetails { stop_reason: reason.to_owned(), ..StopDetails::from_text(message) })
    }

    #[test]
    fn an_error_code_in_any_field_is_an_overflow() {
        for codes in [
            &["context_length_exceeded", "invalid_request_error"][..],
            &["1261"],
            &["336103"],
            &["400", "exceed_context_size_error"],
            &["400", "error", r#"{"error":{"code":"tokens_limit_reached"}}"#],
        ] {
            assert_eq!(failed("custom", "400 The request was refused.", codes).rule, "C1", "{codes:?}");
            assert_eq!(failed("custom", "", codes).verdict, Verdict::Tokens, "{codes:?}");
        }
        for codes in [&["2013"][..], &["3051"], &["string_above_max_length"], &["12610"], &["400", "tokens"]]
        {
            assert_eq!(
                failed("custom", "400 The request was refused.", codes).verdict,
                Verdict::NoOverflow,
                "{codes:?}"
            );
        }
    }

    #[test]
    fn an_error_code_outweighs_the_text_of_a_rate_limit() {
        let quota = "Please reduce the length of the messages. See your rate limit for max_tokens, which must be small.";
        assert_eq!(failed("groq", quota, &[]).rule, "L1");
        assert_eq!(failed("groq", quota, &["context_length_exceeded"]).rule, "T38");
    }

    #[test]
    fn numbers_are_read_from_the_body_too() {
        let body = r#"{"error":{"type":"exceed_context_size_error","n_prompt_tokens":13392,"n_ctx":8192}}"#;
        for message in ["500 no", "the request exceeds the available context size, try increasing it"] {
            let numbers = failed("llama-cpp", message, &[body]).numbers;
            assert_eq!((numbers.requested, numbers.limit), (Some(13_392), Some(8_192)), "{message}");
        }
    }

    #[test]
    fn a_stop_reason_can_be_an_overflow_and_an_aborted_answer_never_is() {
        assert_eq!(stopped("model_length", "").rule, "C2");
        assert_eq!(stopped("model_context_window_exceeded", "").verdict, Verdict::Tokens);
        for reason in ["stop", "length", "toolUse", ""] {
            assert_eq!(stopped(reason, ""), Classification::new(Verdict::NoOverflow, ""), "{reason}");
        }
        assert_eq!(
            stopped("aborted", "prompt is too long: 5 tokens > 4 maximum").verdict,
            Verdict::NoOverflow
        );
    }

    #[test]
    fn a_status_without_a_body_is_an_overflow_at_one_provider_only() {
        for text in ["400 status code (no body)", "413 (no body)", "413"] {
            assert_eq!(failed("cerebras", text, &[]).rule, "T43", "{text}");
        }
        assert_eq!(failed("cerebras", "429 status code (no body)", &[]).verdict, Verdict::NoOverflow);
        assert_eq!(failed("openai", "400 status code (no body)", &[]).verdict, Verdict::NoOverflow);
        assert_eq!(failed("openai", "413 status code (no body)", &[]).verdict, Verdict::Bytes);
    }

    #[test]
    fn a_413_that_counts_tokens_is_a_token_limit() {
        let judged = failed("custom", "413 Payload Too Large: maximum 128000 tokens", &[]);
        assert_eq!((judged.verdict, judged.numbers.limit), (Verdict::Tokens, Some(128_000)));
        assert_eq!(failed("custom", "413 too large for the context window", &[]).verdict, Verdict::Tokens);
    }

    #[test]
    fn refusals_by_the_gateway_are_marked() {
        for text in [
            "Context overflow: prompt too large for the model (precheck).",
            "Context overflow: prompt too large for the model (mid-turn precheck).",
            "Preemptive context overflow: estimated context size exceeds safe threshold during tool loop",
        ] {
            let judged = failed("", text, &[]);
            assert!(judged.by_gateway && judged.verdict == Verdict::Tokens, "{text}");
        }
        let reply =
            failed("", "Context overflow: prompt too large for the model. Try /reset (or /new).", &[]);
        assert!(!reply.by_gateway && reply.verdict == Verdict::Tokens);
    }

    #[test]
    fn a_bound_of_the_input_length_is_not_the_window() {
        let judged = failed("alibaba", "Range of input length should be [1, 258048]", &[]);
        assert_eq!((judged.rule, judged.numbers.limit), ("T22", Some(258_048)));
    }

    #[test]
    fn prompt_and_limit_are_read_from_every_providers_text() {
        let both = [
            ("prompt is too long: 213462 tokens > 200000 maximum", 213_462, 200_000),
            ("400 {\"message\":\"prompt is too long: 390607 tokens > 200000 maximum\"}", 390_607, 200_000),
            (
                "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)",
                1_196_265,
                1_048_575,
            ),
            (
                "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
                537_812,
                131_072,
            ),
            (
                "This endpoint's maximum context length is 131072 tokens. However, you requested about 200000 tokens (190000 of text input, 10000 in the output)",
                200_000,
                131_072,
            ),
            (
                "This model's maximum context length is 128,000 tokens. However, your messages resulted in 150,233 tokens.",
                150_233,
                128_000,
            ),
            ("prompt token count of 90000 exceeds the limit of 64000", 90_000, 64_000),
            ("input length and max_tokens exceed context limit: 188240 + 21333 > 200000", 209_573, 200_000),
            ("Your request exceeded model token limit: 262144 (requested: 275010)", 275_010, 262_144),
            (
                "request (10234 tokens) exceeds the available context size (8192 tokens), try increasing it",
                10_234,
                8_192,
            ),
            (
                "tokens to keep from the initial prompt is greater than the context length (n_keep: 5012 >= n_ctx: 4096)",
                5_012,
                4_096,
            ),
            (
                "Prompt contains 150000 tokens, too large for model with 131072 maximum context length",
                150_000,
                131_072,
            ),
            ("上下文长度超出限制：最大 131072，当前 150233", 150_233, 131_072),
            ("上下文超出：输入 150233 tokens，上限 131072", 150_233, 131_072),
        ];
        for (text, requested, limit) in both {
            let found = failed("", text, &[]).numbers;
            assert_eq!((found.requested, found.limit), (Some(requested), Some(limit)), "{text}");
        }
    }

    #[test]
    fn numbers_that_are_not_token_counts_are_ignored() {
        for text in [
            "invalid params, context window exceeds limit (2013)",
            "prompt too long; exceeded max context length by 2113 tokens",
            "maximum context length is 128k",
            "maximum context length is 128000.5",
            "context_length_exceeded: see request (413) in 3 of 200",
            "maximum context length is 99999999999999999999999 tokens",
        ] {
            let judged = failed("minimax", text, &[]);
            assert_eq!(
                (judged.verdict, judged.numbers),
                (Verdict::Tokens, RefusalNumbers::default()),
                "{text}"
            );
        }
    }
}
