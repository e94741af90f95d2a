//! Every rule's words with other numbers, prefixes, letters, line ends and quoting than the fixture's.

use clawscope::policy::overflow::{Classification, RefusalNumbers, StopDetails, Verdict, judge};
use proptest::prelude::*;

/// Rule and text; `{r}` is the requested number, `{l}` the limit, `{a}` and `{b}` its input and output parts.
const OVERFLOWS: &[(&str, &str)] = &[
    ("T01", "prompt is too long: {r} tokens > {l} maximum"),
    ("T02", "input length and `max_tokens` exceed context limit: {a} + {b} > {l}, decrease input length"),
    ("T03", "The prompt is too long: {r}, model maximum context length: {l}"),
    (
        "T04",
        "'max_tokens' or 'max_completion_tokens' is too large: {b}. This model's maximum context length is {l} tokens and your request has {a} input tokens ({b} > {l} - {a}).",
    ),
    (
        "T05",
        "This model's maximum context length is {l} tokens. However, you requested {b} output tokens and your prompt contains at least {a} input tokens, for a total of at least {r} tokens.",
    ),
    (
        "T05",
        "You passed {a} input tokens and requested {b} output tokens. However, the model's context length is only {l} tokens, resulting in a maximum input length of 7 tokens.",
    ),
    (
        "T06",
        "This model's maximum context length is {l} tokens. However, your messages resulted in {r} tokens.",
    ),
    (
        "T06",
        "This model's maximum context length is {l} tokens. However, you requested {r} tokens ({a} in the messages, {b} in the completion). Please reduce the length of the messages or completion.",
    ),
    (
        "T06",
        "This model's maximum context length is {l} tokens, however you requested {r} tokens ({a} in your prompt; {b} for the completion).",
    ),
    (
        "T06",
        "This endpoint's maximum context length is {l} tokens. However, you requested about {r} tokens ({a} of text input, {b} in the output).",
    ),
    (
        "T06",
        "This model's maximum context length is {l} tokens. However, your prompt contains {r} input tokens.",
    ),
    (
        "T07",
        "Requested token count exceeds the model's maximum context length of {l} tokens. You requested a total of {r} tokens: {a} tokens from the input messages and {b} tokens for the completion.",
    ),
    ("T07", "The prompt exceeds the model's maximum context length of {l} tokens"),
    ("T08", "Input length ({r}) exceeds model's maximum context length ({l})."),
    ("T08", "The input ({r} tokens) exceeds the maximum allowed length ({l} tokens). Use a shorter input."),
    ("T07", "your prompt is {r} tokens, which exceeds the maximum context length of {l}"),
    ("T09", "Your conversation exceeds the maximum context length ({l})"),
    ("T10", "Input length {r} exceeds the maximum allowed input length of {l} tokens."),
    ("T10", "Input length {r} exceeds the model limit"),
    ("T11", "The input token count ({r}) exceeds the maximum number of tokens allowed ({l})."),
    ("T11", "The input token count of {r} exceeds the maximum number of input tokens allowed {l}."),
    ("T11", "The input token count exceeds the maximum number of tokens allowed {l}."),
    (
        "T12",
        "The input token count is {r} but the model only supports up to {l}. Reduce the input token count.",
    ),
    ("T13", "This model's maximum prompt length is {l} but the request contains {r} tokens."),
    ("T14", "prompt token count of {r} exceeds the limit of {l}"),
    ("T15", "request ({r} tokens) exceeds the available context size ({l} tokens), try increasing it"),
    ("T15", "the request exceeds the available context size. try increasing the context size"),
    (
        "T16",
        "Trying to keep the first {r} tokens when context the overflows. However, the model is loaded with context length of only {l} tokens, which is not enough.",
    ),
    (
        "T17",
        "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: {r} >= n_ctx: {l}).",
    ),
    ("T17", "Reached context length of {l} tokens with model (arch: qwen), but it does not support more."),
    ("T17", "Context size has been exceeded."),
    ("T18", "Invalid request: Your request exceeded model token limit: {l} (requested: {r})"),
    ("T18", "Your request exceeded model token limit: {l}"),
    (
        "T19",
        "Prompt contains {r} tokens and 0 draft tokens, too large for model with {l} maximum context length",
    ),
    ("T20", "Prompt has {r} tokens, but the configured context size is {l} tokens"),
    ("T21", "prompt too long; exceeded max context length by {r} tokens"),
    ("T22", "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, {l}]"),
    (
        "T23",
        "too many tokens: total number of tokens in the prompt cannot exceed {l} - received {r}. Try shorter.",
    ),
    ("T24", "Input validation error: `inputs` must have less than {l} tokens. Given: {r}"),
    (
        "T25",
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= {l}. Given: {a} `inputs` tokens and {b} `max_new_tokens`",
    ),
    ("T26", "The decoder prompt (length {r}) is longer than the maximum model length of {l}."),
    ("T27", "The input ({r} tokens) is longer than the model's context length ({l} tokens)."),
    ("T28", "Too many input tokens. Max input tokens: {l}, request input token count: {r}"),
    ("T29", "Input is too long for requested model."),
    ("T29", "Input Tokens Exceeded: Number of input tokens exceeds maximum length."),
    ("T29", "The number of input tokens ({r}) exceeds the limit of {l}"),
    ("T30", "Input tokens exceed the configured limit of {l} tokens. Your messages resulted in {r} tokens."),
    ("T31", "Please reduce the length of the messages. Current length is {r} while limit is {l}"),
    ("T32", "Request body too large for made-4o-mini model. Max size: {l} tokens."),
    ("T33", "Total tokens of image and text exceed max message tokens. Request id: 0217"),
    ("T34", "Prompt exceeds max length"),
    ("T34", "Prompt tokens too long"),
    ("T35", "Your input exceeds the context window of this model. Please adjust your input."),
    ("T35", "invalid params, context window exceeds limit (2013)"),
    ("T35", "Ollama error: context length exceeded, too many tokens"),
    ("T35", "Requested {r} tokens exceed context window of {l} tokens"),
    ("T35", "Requested tokens ({r}) exceed context window of {l}"),
    ("T36", "Codex ran out of room in the model's context window. Start a new thread."),
    ("T37", "Requests beyond the maximum context length are refused"),
    ("T38", "Please reduce the length of the messages or completion."),
    ("T39", "total tokens in the request exceed the model's max"),
    ("T40", "too many tokens"),
    ("T40", "token limit exceeded"),
    ("T40", "The request ({r} tokens) exceeds the model's token limit of {l}"),
    ("T41", "错误：输入内容超出模型最大上下文长度，请压缩上下文"),
    ("T40", "Prompt exceeds the {l} token limit ({r} tokens)"),
    ("T41", "上下文长度超限"),
    ("T41", "上下文长度超出限制：最大 {l}，当前 {r}"),
    ("T41", "输入超过模型最大上下文"),
    ("T42", "size limit exceeded by {r} tokens. Try using shorter or fewer inputs"),
    ("C1", "litellm.ContextWindowExceededError: the request was too big"),
    ("C1", "refused (model_max_prompt_tokens_exceeded)"),
    ("T17", "Cannot truncate prompt with n_keep ({r}) >= n_ctx ({l})"),
    ("T17", "The number of tokens to keep is too large: n_keep: {r} >= n_ctx: {l}"),
    ("T17", "n_keep={r} >= n_ctx={l}, try to raise the context"),
    (
        "T26",
        "The prompt (total length {r}) is longer than the maximum model length of {l}. Make sure that `max_model_len` is no smaller.",
    ),
    ("T26", "The decoder prompt (length: {r} tokens) is longer than the model's maximum length of {l}"),
    ("T26", "The prompt (total length {r}) is too long to fit into the model (context length {l})"),
    ("T39", "total tokens exceeds the model's max of {l}"),
    ("T39", "Number of tokens ({r}) exceeds the model's maximum of {l}"),
    ("T39", "input tokens exceed the model limit: {l}"),
    ("T40", "ValidationException: The input exceeds the max input token limit of this model"),
    ("T40", "The request exceeds the maximum input tokens of {l}"),
    ("T40", "Your context exceeds the model's max of {l}"),
    (
        "T01",
        "prompt is too long: {r} tokens > {l} maximum\n\nError: Request was throttled. Please try:\n\nWaiting a minute before the next request",
    ),
    (
        "T06",
        "This model's maximum context length is {l} tokens. However, your messages resulted in {r} tokens. | openai: 429 Rate limit reached for requests",
    ),
    (
        "T11",
        "The input token count ({r}) exceeds the maximum number of tokens allowed ({l}). Then: too many requests, please slow down.",
    ),
    ("C2", "Unhandled stop reason: model_context_window_exceeded"),
    ("C2", "Provider finish_reason: context_length"),
];

/// Rules whose texts name these numbers without meaning a request.
const EXCESSES: [&str; 2] = ["T21", "T42"];

/// Rule and text of lookalikes; `{r}` and `{l}` are arbitrary numbers.
const LOOKALIKES: &[(&str, &str)] = &[
    (
        "L1",
        "Rate limit reached for made-4o on tokens per min (TPM): Limit {l}, Used {l}, Requested {r}. Please try again.",
    ),
    (
        "L1",
        "Request too large for made-70b on tokens per minute (TPM): Limit {l}, Requested {r}, please reduce your message size",
    ),
    (
        "L1",
        "would exceed your organization's rate limit of {l} input tokens per minute. Please reduce the prompt length",
    ),
    ("L1", "Throttling error: Too many tokens, please wait before trying again."),
    ("L1", "ThrottlingException: Too many tokens per day, please wait before trying again."),
    ("L1", "Quota exceeded for metric: generate_content_free_tier_input_token_count, limit: {l}"),
    ("L1", "request reached organization TPM rate limit, current: {r}, limit: {l}"),
    ("L1", "Extra usage is required for long context requests."),
    ("L1", "Budget has been exceeded! Current cost: 10.02, Max budget: 10.0"),
    ("L1", "402 Insufficient Balance"),
    ("L1", "余额不足或无可用资源包,请充值。"),
    ("L1", "The input token count ({r}) exceeds the maximum number of tokens allowed ({l}) per minute"),
    ("L1", "Too many tokens: {r} tokens/min are above the limit of {l} a minute"),
    ("L1", "exceeded {l} input tokens per 1 minute, prompt is too long for now"),
    ("L1", "You sent {r} requests/hour; prompt tokens too long to serve"),
    ("L1", "Input is large: {l} per minute are allowed"),
    ("L2", "max_tokens {r} exceeds the model's max of {l}"),
    ("L3", "The prompt has 12 images and exceeds the model's max of 10"),
    ("L3", "number of images in the prompt exceeds the model's max of 16"),
    ("L2", "max_tokens: {r} > {l}, which is the maximum allowed number of output tokens for this model"),
    (
        "L2",
        "max_tokens is too large: {r}. This model supports at most {l} completion tokens, whereas you provided {r}.",
    ),
    ("L2", "Invalid max_tokens value, the valid range of max_tokens is [1, {l}]"),
    ("L2", "Range of max_tokens should be [1, {l}]"),
    ("L2", "`max_tokens` must be greater than `thinking.budget_tokens`."),
    ("L2", "The maximum tokens you requested exceeds the model limit of {l}."),
    ("L2", "Response incomplete: max_output_tokens"),
    ("L3", "messages.4.content.1.image.source.base64: image exceeds 5 MB maximum: {r} bytes > {l} bytes"),
    ("L3", "A maximum of 100 PDF pages may be provided."),
    ("L3", "At most 4 image(s) may be provided in one prompt."),
    (
        "L4",
        "Invalid 'messages[2].content': string too long. Expected a string with maximum length {l}, but got {r}",
    ),
    ("L4", "Invalid 'tools': array too long. Expected an array with maximum length 128, but got 141"),
    (
        "L4",
        "input ({r} tokens) is too large to process. increase the physical batch size (current batch size: 512)",
    ),
    ("L5", "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"),
    ("L5", "Model context window too small (8192 tokens). Minimum is 16000."),
    ("L5", "Cached content is too small. total_token_count=1021, min_total_token_count=4096"),
    ("", "Overloaded"),
    ("", "`tool_use` ids were found without `tool_result` blocks immediately after: toolu_01"),
    ("", "Unterminated string in JSON at position 65536 (line 1 column 65537)"),
];

const BYTES: &[&str] = &[
    "Request exceeds the maximum allowed number of bytes. The maximum request size is 32 MB. (request_too_large)",
    "Request payload size exceeds the limit: 20971520 bytes.",
    "failed to parse request: request body too large",
    "<html><head><title>413 Request Entity Too Large</title></head></html>",
    "Mistral API error (413): request body exceeded",
    "PayloadTooLargeError: request entity too large",
    "Http request length exceeded 10485760 bytes",
    "Request body exceeds the 20 MB limit",
];

/// Words that clients and routers put before a provider's text.
const PREFIXES: &[&str] =
    &["", "400 ", "Error: ", "litellm.BadRequestError: OpenAIException - ", "CAPIError: 400 ", "HTTP 400: "];

/// The carrier of an answer's text.
#[derive(Debug, Clone)]
struct Dress {
    prefix: &'static str,
    upper: bool,
    commas: bool,
    line_end: bool,
    levels: usize,
}

impl Dress {
    fn any() -> impl Strategy<Value = Self> {
        (prop::sample::select(PREFIXES), any::<[bool; 3]>(), 0..4_usize).prop_map(
            |(prefix, [upper, commas, line_end], levels)| Self { prefix, upper, commas, line_end, levels },
        )
    }

    fn number(&self, number: u64) -> String {
        let digits = number.to_string();
        if !self.commas {
            return digits;
        }
        let groups: Vec<&str> =
            digits.as_bytes().rchunks(3).rev().map(|group| str::from_utf8(group).unwrap()).collect();
        groups.join(",")
    }

    /// Returns the text in the form of a provider, a router and a client.
    fn put_on(&self, text: &str) -> String {
        let mut text = text.to_owned();
        if self.upper {
            text = text.to_uppercase();
        }
        if self.line_end {
            text = text.replacen(' ', "\n  ", 1);
        }
        for _ in 0..self.levels {
            text = serde_json::json!({"error": {"message": text, "code": 400}}).to_string();
        }
        format!("{}{text}", self.prefix)
    }
}

fn judged(text: &str) -> Classification {
    judge(&StopDetails::from_text(text))
}

fn filled(text: &str, dress: &Dress, input: u64, output: u64, limit: u64) -> String {
    let numbers = [("{r}", input + output), ("{l}", limit), ("{a}", input), ("{b}", output)];
    numbers.iter().fold(text.to_owned(), |text, (name, number)| text.replace(name, &dress.number(*number)))
}

/// Returns the numbers that a text names.
fn expected(rule: &str, text: &str, input: u64, output: u64, limit: u64) -> RefusalNumbers {
    let split = text.contains("{a}");
    let names = |name| text.contains(name) && !EXCESSES.contains(&rule);
    RefusalNumbers {
        requested: (names("{r}") || split).then_some(input + output),
        limit: names("{l}").then_some(limit),
        input: split.then_some(input),
        output: split.then_some(output),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_overflow_is_found_in_any_carrier(
        dress in Dress::any(),
        limit in 4_096..2_000_000_u64,
        over in 1..900_000_u64,
        output in 1..4_000_u64,
    ) {
        let input = limit + over - output;
        for (rule, text) in OVERFLOWS {
            let details = dress.put_on(&filled(text, &dress, input, output, limit));
            let judgement = judged(&details);
            prop_assert_eq!((judgement.verdict, judgement.rule), (Verdict::Tokens, *rule), "{}", details);
            prop_assert_eq!(judgement.numbers, expected(rule, text, input, output, limit), "{}", details);
            prop_assert!(!judgement.by_gateway, "{}", details);
        }
    }

    #[test]
    fn no_look_alike_is_an_overflow_in_any_carrier(
        dress in Dress::any(),
        limit in 4_096..2_000_000_u64,
        over in 1..900_000_u64,
    ) {
        for (rule, text) in LOOKALIKES {
            let details = dress.put_on(&filled(text, &dress, limit, over, limit));
            let judgement = judged(&details);
            prop_assert_eq!((judgement.verdict, judgement.rule), (Verdict::NoOverflow, *rule), "{}", details);
            prop_assert_eq!(judgement.numbers, RefusalNumbers::default(), "{}", details);
        }
        for text in BYTES {
            let details = dress.put_on(text);
            let judgement = judged(&details);
            prop_assert_eq!((judgement.verdict, judgement.rule), (Verdict::Bytes, "B"), "{}", details);
        }
    }

    #[test]
    fn a_reply_limit_as_large_as_the_window_is_not_an_overflow(dress in Dress::any(), limit in 300..200_000_u64, more in 0..9_000_u64) {
        for (rule, text) in OVERFLOWS.iter().filter(|(_, text)| text.contains("{b}")) {
            let details = dress.put_on(&filled(text, &dress, 30, limit + more, limit));
            let judgement = judged(&details);
            prop_assert_eq!((judgement.verdict, judgement.rule), (Verdict::NoOverflow, "L2"), "{} {}", rule, details);
        }
    }

    #[test]
    fn any_answer_is_judged_without_a_panic(message in r#"(prompt|tokens|context|[0-9]{1,25}|[\\u{}":,.> ]|.){0,80}"#, code in ".{0,20}") {
        judge(&StopDetails { message, codes: vec![code], ..StopDetails::from_text("") });
    }
}
