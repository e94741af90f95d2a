//! Reads the numbers in a refusal: the size of the prompt and the limit (compaction 8.1–8.7). Providers word refusals
//! differently, so the words beside a number decide its meaning, never its position. For example, `prompt is too long:
//! 203412 tokens > 200000 maximum` requests 203,412 of 200,000.

/// Lower-case words that precede a limit.
const WORDS_BEFORE_LIMIT: [&str; 19] = [
    "maximum context length is",
    "maximum context length of",
    "maximum prompt length is",
    "maximum number of tokens allowed (",
    "maximum number of input tokens (",
    "maximum allowed is",
    "available context size (",
    "context window of",
    "context window is",
    "token limit:",
    "token limit of",
    "limit of",
    "limit is",
    "n_ctx\":",
    "n_ctx:",
    "model with",
    "最大",
    "上限",
    "限制",
];
/// Words that follow a limit.
const WORDS_AFTER_LIMIT: [&str; 3] = [" maximum", " token limit", " tokens maximum"];
/// Lower-case words that precede the size of the prompt.
const WORDS_BEFORE_PROMPT: [&str; 18] = [
    "prompt is too long:",
    "you requested",
    "requested:",
    "requested about",
    "resulted in",
    "request contains",
    "request has",
    "request (",
    "prompt contains",
    "input contains",
    "token count (",
    "token count of",
    "n_prompt_tokens\":",
    "n_keep:",
    "输入",
    "当前",
    "请求",
    "实际",
];
/// Smaller numbers are a status, a code or a count of messages.
const MIN_TOKENS: u64 = 256;

/// The numbers of a refusal, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RefusalNumbers {
    /// The prompt, plus the requested reply if the provider adds it.
    pub requested: Option<u64>,
    pub limit: Option<u64>,
    /// The prompt's part of a sum that the text splits.
    pub input: Option<u64>,
    /// The reply's part of that sum: the tokens reserved for the answer.
    pub output: Option<u64>,
}

/// Reads the numbers of a text; `None` where the text names none.
pub fn parse_numbers(text: &str) -> RefusalNumbers {
    let text = text.to_lowercase();
    let found = find_numbers(&text);
    if let Some(sum) = parse_sum_over_limit(&text, &found) {
        return sum;
    }
    let mut numbers = RefusalNumbers::default();
    for (at, number) in found.iter().enumerate().filter(|(_, number)| number.value >= MIN_TOKENS) {
        let from = at.checked_sub(1).map_or(0, |before| found[before].end);
        let to = found.get(at + 1).map_or(text.len(), |next| next.start);
        match classify_number(&text[from..number.start], &text[number.end..to]) {
            Some(NumberMeaning::Prompt) => numbers.requested = numbers.requested.or(Some(number.value)),
            Some(NumberMeaning::Limit) => numbers.limit = numbers.limit.or(Some(number.value)),
            None => {}
        }
    }
    numbers
}

#[derive(Clone, Copy)]
enum NumberMeaning {
    Prompt,
    Limit,
}

/// A number and its byte range.
struct FoundNumber {
    start: usize,
    end: usize,
    value: u64,
}

/// Classifies a number by the words beside it. Of two matches before it, the nearer one wins.
fn classify_number(before: &str, after: &str) -> Option<NumberMeaning> {
    if before.trim_end().ends_with(['>', '=']) && before.contains('>') {
        return Some(NumberMeaning::Limit);
    }
    if after.trim_start_matches(|char: char| char.is_alphabetic() || char == ' ').starts_with('>') {
        return Some(NumberMeaning::Prompt);
    }
    if WORDS_AFTER_LIMIT.iter().any(|words| after.starts_with(words)) {
        return Some(NumberMeaning::Limit);
    }
    let last = |words: &[&str]| words.iter().filter_map(|word| Some(before.rfind(word)? + word.len())).max();
    match (last(&WORDS_BEFORE_PROMPT), last(&WORDS_BEFORE_LIMIT)) {
        (Some(prompt), Some(limit)) if limit > prompt => Some(NumberMeaning::Limit),
        (Some(_), _) => Some(NumberMeaning::Prompt),
        (None, Some(_)) => Some(NumberMeaning::Limit),
        (None, None) => None,
    }
}

/// Parses `188240 + 21333 > 200000`: prompt plus reply against the limit.
fn parse_sum_over_limit(text: &str, found: &[FoundNumber]) -> Option<RefusalNumbers> {
    let three = found.windows(3).find(|three| {
        text[three[0].end..three[1].start].trim() == "+" && text[three[1].end..three[2].start].trim() == ">"
    })?;
    let (input, output, limit) = (three[0].value, three[1].value, three[2].value);
    Some(RefusalNumbers {
        requested: input.checked_add(output),
        limit: Some(limit),
        input: Some(input),
        output: Some(output),
    })
}

/// Finds every whole number; drops `,`, `.`, `_` or a space between groups of three digits.
fn find_numbers(text: &str) -> Vec<FoundNumber> {
    let mut found: Vec<FoundNumber> = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let start = at;
        let mut digits = String::new();
        while at < bytes.len() {
            if bytes[at].is_ascii_digit() {
                digits.push(char::from(bytes[at]));
                at += 1;
            } else if matches!(bytes[at], b',' | b'_') && starts_with_digit_group(&bytes[at + 1..]) {
                at += 1;
            } else {
                break;
            }
        }
        if let Ok(value) = digits.parse() {
            found.push(FoundNumber { start, end: at, value });
        }
    }
    found
}

/// Whether a text begins with exactly three digits.
fn starts_with_digit_group(bytes: &[u8]) -> bool {
    bytes.len() >= 3
        && bytes[..3].iter().all(u8::is_ascii_digit)
        && !bytes.get(3).is_some_and(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn providers_name_prompt_and_limit_in_their_own_words() {
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
            ("{\"n_prompt_tokens\":10234,\"n_ctx\":8192}", 10_234, 8_192),
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
            let found = parse_numbers(text);
            assert_eq!((found.requested, found.limit), (Some(requested), Some(limit)), "{text}");
        }
    }

    #[test]
    fn a_number_that_no_word_explains_is_left_alone() {
        for text in [
            "prompt is too long",
            "context window exceeds limit (2013)",
            "413 Payload too large",
            "400 status code (no body)",
            "context_length_exceeded",
            "request_too_large: 1 of 3",
            "",
        ] {
            assert_eq!(parse_numbers(text), RefusalNumbers::default(), "{text}");
        }
        let only = parse_numbers(
            "This model's maximum context length is 131072 tokens. Please shorten the messages.",
        );
        assert_eq!(only, RefusalNumbers { limit: Some(131_072), ..RefusalNumbers::default() });
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in ".{0,200}") {
            let _ = parse_numbers(&text);
        }

        #[test]
        fn both_numbers_are_found_whatever_they_are(prompt in 1_000_u64..9_999_999, limit in 1_000_u64..9_999_999) {
            let expected = RefusalNumbers { requested: Some(prompt), limit: Some(limit), ..RefusalNumbers::default() };
            prop_assert_eq!(parse_numbers(&format!("prompt is too long: {prompt} tokens > {limit} maximum")), expected);
            let other = format!("maximum context length is {limit} tokens, however you requested {prompt} tokens");
            prop_assert_eq!(parse_numbers(&other), expected);
        }
    }
}
