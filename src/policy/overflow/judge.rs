//! Judges from an answer's text whether its prompt was larger than the context, independent of how any program
//! classified it (overflow-texts 2).

use crate::policy::overflow::normalized::NormalizedText;
use crate::policy::overflow::signs::{self, Sign, Signs};
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
pub struct Judgement {
    pub verdict: Verdict,
    /// The deciding rule of overflow-texts.md, such as "T06", "C1", "C2", "L1", "B"; "" for no rule.
    pub rule: &'static str,
    /// Tokens requested and allowed, as far as the text names them.
    pub numbers: RefusalNumbers,
    /// The gateway refused by its own estimate (precheck, mid-turn precheck, tool-loop guard) without calling a
    /// provider.
    pub by_gateway: bool,
}

impl Judgement {
    fn new(verdict: Verdict, rule: &'static str) -> Self {
        Self { verdict, rule, numbers: RefusalNumbers::default(), by_gateway: false }
    }

    fn tokens(rule: &'static str, numbers: RefusalNumbers) -> Self {
        Self { numbers, ..Self::new(Verdict::Tokens, rule) }
    }

    /// Whether the stated limit covers the input alone: the window minus the tokens reserved for the reply. The window
    /// itself is then larger (overflow-texts 3.4: Qwen).
    pub fn is_input_limit(&self) -> bool {
        self.rule == "T22"
    }

    /// Whether the prompt alone would have fit and only the tokens reserved for the reply did not (overflow-texts 3.5).
    /// A smaller `max_tokens` would have helped too.
    pub fn is_output_reservation(&self) -> bool {
        let RefusalNumbers { input, output, limit, .. } = self.numbers;
        let parts = input.zip(output).zip(limit);
        self.verdict == Verdict::Tokens
            && parts.is_some_and(|((input, output), limit)| output > 0 && input <= limit)
    }
}

/// Judges an answer. An aborted answer is never an overflow.
pub fn judge(details: &StopDetails) -> Judgement {
    if details.stop_reason.trim().eq_ignore_ascii_case("aborted") {
        return Judgement::new(Verdict::NoOverflow, "");
    }
    if signs::is_overflow_stop_reason(&details.stop_reason) {
        return Judgement::tokens("C2", RefusalNumbers::default());
    }
    let plain = NormalizedText::new(details);
    if plain.with_codes.is_empty() {
        return Judgement::new(Verdict::NoOverflow, "");
    }
    let signs = Signs::find(&plain.with_codes);
    let judged = judge_text(&plain, &signs).unwrap_or_else(|| judge_size(details, &plain, &signs));
    Judgement { by_gateway: judged.verdict == Verdict::Tokens && signs.has(Sign::GatewayEstimate), ..judged }
}

/// Takes steps 1 to 4: stop reasons, quotas, texts and codes.
fn judge_text(plain: &NormalizedText, signs: &Signs) -> Option<Judgement> {
    let code = signs.has(Sign::MachineCode);
    if signs.has(Sign::StopReason) {
        return Some(Judgement::tokens("C2", RefusalNumbers::default()));
    }
    if !code && signs.has(Sign::RateLimit) {
        return Some(Judgement::new(Verdict::NoOverflow, "L1"));
    }
    let found = text_match::find_text(&plain.with_codes)
        .filter(|found| !found.text.is_weak || code || signs.first_rule(&LOOKALIKES_BEFORE_WEAK).is_none());
    match found {
        Some(found) if found.is_output_alone_too_large() => Some(Judgement::new(Verdict::NoOverflow, "L2")),
        Some(found) => Some(Judgement::tokens(found.text.rule, found.numbers)),
        None => code.then(|| Judgement::tokens("C1", text_match::find_loose_numbers(&plain.with_codes))),
    }
}

/// Takes steps 5 to 8, for texts that do not name the context.
fn judge_size(details: &StopDetails, plain: &NormalizedText, signs: &Signs) -> Judgement {
    if let Some(rule) = signs.first_rule(&LOOKALIKES_BEFORE_BYTES) {
        return Judgement::new(Verdict::NoOverflow, rule);
    }
    if details.provider.to_ascii_lowercase().contains("cerebras") && is_bodyless(&plain.message) {
        return Judgement::tokens("T43", RefusalNumbers::default());
    }
    if signs.has(Sign::ByteLimit) {
        let counts_tokens = signs.has(Sign::CountsTokens);
        let in_tokens = || Judgement::tokens("T32", text_match::find_loose_numbers(&plain.with_codes));
        return if counts_tokens { in_tokens() } else { Judgement::new(Verdict::Bytes, "B") };
    }
    Judgement::new(Verdict::NoOverflow, if signs.has(Sign::OutputLimit) { "L2" } else { "" })
}

/// Whether the text is a status 400 or 413 and nothing else.
fn is_bodyless(plain: &str) -> bool {
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

    fn failed(provider: &str, message: &str, codes: &[&str]) -> Judgement {
        let codes = codes.iter().map(|code| (*code).to_owned()).collect();
        judge(&StopDetails { provider: provider.to_owned(), codes, ..StopDetails::from_text(message) })
    }

    fn stopped(reason: &str, message: &str) -> Judgement {
        judge(&StopDetails { stop_reason: reason.to_owned(), ..StopDetails::from_text(message) })
    }

    #[test]
    fn a_code_alone_is_an_overflow_in_any_field() {
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
    fn a_code_outweighs_a_quota_and_a_look_alike() {
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
    fn a_stop_reason_can_say_it_all_and_an_aborted_answer_says_nothing() {
        assert_eq!(stopped("model_length", "").rule, "C2");
        assert_eq!(stopped("model_context_window_exceeded", "").verdict, Verdict::Tokens);
        for reason in ["stop", "length", "toolUse", ""] {
            assert_eq!(stopped(reason, ""), Judgement::new(Verdict::NoOverflow, ""), "{reason}");
        }
        assert_eq!(
            stopped("aborted", "prompt is too long: 5 tokens > 4 maximum").verdict,
            Verdict::NoOverflow
        );
    }

    #[test]
    fn a_status_without_a_body_says_it_at_one_provider_only() {
        for text in ["400 status code (no body)", "413 (no body)", "413"] {
            assert_eq!(failed("cerebras", text, &[]).rule, "T43", "{text}");
        }
        assert_eq!(failed("cerebras", "429 status code (no body)", &[]).verdict, Verdict::NoOverflow);
        assert_eq!(failed("openai", "400 status code (no body)", &[]).verdict, Verdict::NoOverflow);
        assert_eq!(failed("openai", "413 status code (no body)", &[]).verdict, Verdict::Bytes);
    }

    #[test]
    fn a_413_that_counts_tokens_is_no_limit_in_bytes() {
        let judged = failed("custom", "413 Payload Too Large: maximum 128000 tokens", &[]);
        assert_eq!((judged.verdict, judged.numbers.limit), (Verdict::Tokens, Some(128_000)));
        assert_eq!(failed("custom", "413 too large for the context window", &[]).verdict, Verdict::Tokens);
    }

    #[test]
    fn the_gateways_own_refusals_are_marked() {
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
    fn an_output_reservation_is_known_where_the_prompt_alone_would_fit() {
        let judged = |input: u64| {
            let text =
                format!("input length and `max_tokens` exceed context limit: {input} + 21333 > 200000");
            failed("anthropic", &text, &[])
        };
        assert!(judged(188_240).is_output_reservation() && !judged(200_001).is_output_reservation());
        assert!(
            !failed("anthropic", "prompt is too long: 5000 tokens > 4000 maximum", &[])
                .is_output_reservation()
        );
    }

    #[test]
    fn a_bound_of_the_input_length_is_not_the_window() {
        let judged = failed("alibaba", "Range of input length should be [1, 258048]", &[]);
        assert!(judged.is_input_limit() && judged.numbers.limit == Some(258_048));
        assert!(!failed("xai", "maximum prompt length is 131072", &[]).is_input_limit());
    }

    #[test]
    fn numbers_that_are_no_counts_of_tokens_are_left_out() {
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
