//! Finds codes, stop reasons and lookalikes that confirm or rule out an overflow (overflow-texts 2 and 5). The
//! patterns expect [`NormalizedText`](super::normalized::NormalizedText): lower case, no quotation marks, single
//! spaces.

use std::sync::LazyLock;

use regex::{RegexSet, RegexSetBuilder};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// A machine code of an overflow (C1).
    MachineCode,
    /// A stop reason that a runtime wrote into the text (C2).
    StopReason,
    /// Rate, quota and billing (L1).
    RateLimit,
    /// The limit of the reply (L2).
    OutputLimit,
    /// Images, files and their sizes (L3).
    Media,
    /// Counts and lengths of single fields (L4).
    FieldLimit,
    /// Texts with another meaning (L5).
    OtherMeaning,
    /// Too many bytes for the request (B).
    ByteLimit,
    /// The text counts tokens or names the context, so it is not a byte limit.
    CountsTokens,
    /// The gateway refused by its own estimate.
    GatewayEstimate,
}

use Sign::{
    ByteLimit, CountsTokens, FieldLimit, GatewayEstimate, MachineCode, Media, OtherMeaning, OutputLimit,
    RateLimit, StopReason,
};

/// Stop reasons that mean an overflow (C2).
const STOP_REASONS: [&str; 5] = [
    "model_context_window_exceeded",
    "context_length",
    "context_length_exceeded",
    "context_window_exceeded",
    "model_length",
];

const SIGNS: &[(Sign, &str)] = &[
    (MachineCode, r"\b(?:model[_-]?)?context[_-]?(?:length|window)[_-]?exceeded(?:[_-]?error)?\b"),
    (
        MachineCode,
        r"\bexceed_context_size_error\b|\bmodel_max_prompt_tokens_exceeded\b|\btokens_limit_reached\b",
    ),
    (MachineCode, r"\btokens_too_long\b|\bcontext_overflow\b|\bcontext_length_exceeded_error\b"),
    (MachineCode, r"\bcode[:=] ?(?:1261|336103)\b"),
    (
        StopReason,
        r"\b(?:stop|finish)[ _]?reason[:=]? ?(?:model_context_window_exceeded|context_length_exceeded|context_window_exceeded|context_length|model_length)\b",
    ),
    (RateLimit, r"\b(?:tokens?|requests?)(?: used)? ?(?:per |a |/ ?)(?:sec|min|hour|day|month)"),
    (
        RateLimit,
        r"[0-9]k? ?\)?,? ?(?:(?:input|output|prompt|total|completion) )?(?:tokens?|requests?|messages?|calls?)?\)? ?(?:per[ -]|/ ?|an? )(?:[0-9]+ ?)?(?:sec|second|min|minute|h|hour|day|week|month)s?\b",
    ),
    (RateLimit, r"\b(?:per[ -]minute|per[ -]second|per[ -]hour|per[ -]day|tokens-per|requests-per)"),
    (RateLimit, r"\b(?:tpm|rpm|tpd|rpd)\b|limit_(?:rpm|tpm|rpd|tpd)"),
    (RateLimit, r"\brate[ _-]limit|\bratelimit(?:error|exceeded|reached)|\btoo ?many ?requests|throttl"),
    (RateLimit, r"please wait before trying|usage[ _]limit|quota|\blong context (?:requests|beta)"),
    (RateLimit, r"insufficient[ _](?:balance|funds|credits?)|credit balance|more credits|spending limit"),
    (RateLimit, r"\bbudget(?: has been| is|_)? ?exceeded|exceeded your (?:current )?budget"),
    (RateLimit, r"余额不足|限流|配额|额度|频率(?:限制|过高|超)|并发(?:数)?过高"),
    (
        OutputLimit,
        r"max_?(?:completion_?|new_?|output_?)?tokens\b[^.]{0,60}?(?:too (?:large|high|big|small)|must be)",
    ),
    (OutputLimit, r"max_?(?:completion_?|new_?|output_?)?tokens ?:? [0-9,]+ ?>"),
    (
        OutputLimit,
        r"(?:valid )?range of max_?(?:completion_?|new_?|output_?)?tokens|invalid max_?(?:\w+_?)?tokens",
    ),
    (
        OutputLimit,
        r"max_?(?:completion_?|new_?|output_?)?tokens[^.]{0,40}?(?:supported range|取值范围|参数非法)",
    ),
    (
        OutputLimit,
        r"(?:^|[:.,-] ?|[0-9] |\b(?:parameter|requested|value of|field) )max_?(?:completion_?|new_?|output_?)?tokens ?:? ?\(?[0-9,]* ?\)? exceeds? (?:the )?(?:models? )?(?:max|limit|output)",
    ),
    (OutputLimit, r"supports at most [0-9,]+ (?:completion|output) tokens|incomplete: max_output_tokens"),
    (OutputLimit, r"maximum (?:allowed )?number of output tokens|budget_tokens|maximum tokens you requested"),
    (OutputLimit, r"(?:output|completion) (?:token|length) limit|最大输出|输出(?:长度|token)"),
    (
        Media,
        r"\b(?:images?|pictures?|pdfs?|audio|videos?|documents?|attachments?|files?)\b[^.]{0,120}?[0-9.]+ ?(?:[kmg]i?b|bytes|megabytes|pixels?|px|pages?|seconds|minutes)\b",
    ),
    (
        Media,
        r"[0-9.]+ ?(?:[kmg]i?b|megabytes|pixels?|px|pages?) (?:limit|maximum|max)?[^.]{0,30}?\b(?:images?|pdfs?|audio|videos?|documents?|attachments?)\b",
    ),
    (
        Media,
        r"\b[0-9]+\)? (?:images?|pdfs?|files?|documents?|pages)\b[^.]{0,60}? exceed|number of (?:images?|pages|files|documents|attachments)\b|too much media",
    ),
    (
        Media,
        r"\bimage dimensions?|\bimages?\b[^.]{0,60}?\bdimensions?|\btoo many (?:images?|pages|files|documents|attachments)",
    ),
    (
        Media,
        r"\b(?:maximum of|max(?:imum)?|at most|up to|only|limit of) [0-9]+ (?:images?|image\(s\)|pdfs?|pdf pages?|pages?|documents?|files?|attachments?|audios?|videos?)\b",
    ),
    (Media, r"\bat most [0-9]+ (?:image|audio|video)"),
    (FieldLimit, r"\b(?:array|string) too long|(?:string|array)_above_max_length|\bmaxlength\b"),
    (FieldLimit, r"\btoo many (?:tools|functions|states|messages|items|properties|stop sequences)"),
    (FieldLimit, r"physical batch size|\bschema\b[^.]{0,60}?too (?:complex|large|deep|many)"),
    (OtherMeaning, r"\bcontext cancell?ed|\bcontext deadline exceeded|\bcontext window (?:is )?too small"),
    (OtherMeaning, r"\bcontext window\b.*?\bminimum is\b|cached content is too small"),
    (
        OtherMeaning,
        r"browser context|(?:execution|security|rendering|cancel(?:l?ed)?) context|\btoken (?:has |is )?expired|session token (?:has |is )?(?:expired|invalid)|\bsession length",
    ),
    (
        ByteLimit,
        r"request[ _]too[ _]large|request entity too large|(?:payload|content|entity)[ _]too[ _]large",
    ),
    (ByteLimit, r"payload size exceed|\bbody (?:is )?(?:too large|exceed)|\bbody size (?:limit|exceed)"),
    (
        ByteLimit,
        r"(?:request|body|payload|message)\b[^.]{0,60}?\b(?:exceed(?:s|ed)?|larger than)\b[^.]{0,40}?(?:number of bytes|[0-9] ?(?:bytes|[kmg]i?b)\b)",
    ),
    (ByteLimit, r"request exceeds the maximum size|message larger than max"),
    (
        ByteLimit,
        r"^(?:\w*error:? |http |status )*413\b|\(413\)|\bcode[:=]? ?413\b|\bstatus[:=]? ?413\b|\bhttp(?:/[0-9.]+)?:? 413\b",
    ),
    (CountsTokens, r"[0-9] ?tokens\b|\bcontext (?:window|length|size|limit)\b"),
    (GatewayEstimate, r"context overflow: prompt too large for the model \((?:mid-turn )?precheck"),
    (GatewayEstimate, r"context overflow: estimated context size exceeds safe threshold"),
];

static PATTERN_SET: LazyLock<RegexSet> = LazyLock::new(|| {
    let patterns = SIGNS.iter().map(|(_, pattern)| pattern.replace(r"\b", r"(?-u:\b)"));
    RegexSetBuilder::new(patterns).size_limit(1 << 26).build().unwrap_or_else(|_| RegexSet::empty())
});

/// The signs found in one text.
pub(super) struct Signs(Vec<Sign>);

impl Signs {
    /// Finds every sign in a normalized text.
    pub(super) fn find(plain: &str) -> Self {
        Self(
            PATTERN_SET.matches(plain).iter().filter_map(|at| SIGNS.get(at)).map(|(sign, _)| *sign).collect(),
        )
    }

    pub(super) fn has(&self, sign: Sign) -> bool {
        self.0.contains(&sign)
    }

    /// Returns the rule of the first sign in `order` that was found.
    pub(super) fn first_rule(&self, order: &[(Sign, &'static str)]) -> Option<&'static str> {
        order.iter().find(|(sign, _)| self.has(*sign)).map(|(_, rule)| *rule)
    }
}

/// Whether a recorded stop reason is enough to mean an overflow (C2).
pub(super) fn is_overflow_stop_reason(reason: &str) -> bool {
    STOP_REASONS.iter().any(|known| known.eq_ignore_ascii_case(reason.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(PATTERN_SET.len(), SIGNS.len());
    }

    #[test]
    fn rate_limit_headers_and_other_stop_reasons_are_no_evidence() {
        assert!(
            !Signs::find("x-ratelimit-remaining-tokens: 5").has(RateLimit)
                && Signs::find("litellm.ratelimiterror").has(RateLimit)
        );
        assert!(!Signs::find("finish_reason: length").has(StopReason));
        assert!(Signs::find("unhandled stop reason: model_length").has(StopReason));
        assert!(
            is_overflow_stop_reason("MODEL_LENGTH")
                && !is_overflow_stop_reason("length")
                && !is_overflow_stop_reason("")
        );
    }

    #[test]
    fn a_machine_code_is_a_whole_word() {
        for text in [
            "contextwindowexceedederror",
            "code:1261}",
            "{context_length_exceeded}",
            "context-length-exceeded",
        ] {
            assert!(Signs::find(text).has(MachineCode), "{text}");
        }
        for text in
            ["code: 12611", "context length exceeded", "string_above_max_length", "(2013)", "code:3051"]
        {
            assert!(!Signs::find(text).has(MachineCode), "{text}");
        }
    }
}
