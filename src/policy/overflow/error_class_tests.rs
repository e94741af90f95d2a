use super::ErrorClass;
use crate::policy::overflow::{StopDetails, Verdict, classify_error, judge};

#[track_caller]
fn class(text: &str) -> ErrorClass {
    let details = StopDetails::from_text(text);
    let judged = judge(&details);
    assert_eq!(judged.verdict, Verdict::NoOverflow, "{text}");
    classify_error(&details, &judged).0
}

#[test]
fn every_table_compiles() {
    for table in [&*super::PARTICULAR_TABLE, &*super::ALLOWANCE_TABLE, &*super::GENERAL_TABLE] {
        assert_eq!(table.set.len(), table.classes.len());
    }
}

/// Texts as providers, routers and gateways write them.
const TEXTS: &[(ErrorClass, &str)] = &[
    (
        ErrorClass::Lock,
        "session file locked (timeout 60000ms): pid=13681 /srv/oc/agents/x/sessions/9a4b.lock",
    ),
    (
        ErrorClass::Lock,
        "SessionWriteLockTimeoutError: session file locked (timeout 10000ms): unknown /s/a.jsonl.lock",
    ),
    (ErrorClass::Lock, "could not acquire the session lock after 30 seconds"),
    (
        ErrorClass::ToolPairing,
        "400 messages.14.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_01A",
    ),
    (
        ErrorClass::ToolPairing,
        "`tool_use` ids were found without `tool_result` blocks immediately after: toolu_01",
    ),
    (
        ErrorClass::ToolPairing,
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'",
    ),
    (
        ErrorClass::ToolPairing,
        "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
    ),
    (ErrorClass::ToolPairing, "400 No tool call found for function call output with call_id call_x."),
    (ErrorClass::ToolPairing, "400 No tool output found for function call call_x."),
    (
        ErrorClass::ToolPairing,
        "Invalid 'input[3].call_id': empty string. Expected a string with minimum length 1",
    ),
    (
        ErrorClass::ToolPairing,
        "invalid params, tool result's tool id(call_function_91made_1) not found (2013)",
    ),
    (
        ErrorClass::ToolPairing,
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
    ),
    (
        ErrorClass::ToolPairing,
        "The number of toolResult blocks at messages.2.content exceeds the number of toolUse blocks of previous turn.",
    ),
    (ErrorClass::ToolPairing, "Tool call id was call_abcdef but must be a-z, A-Z, 0-9, with a length of 9."),
    (ErrorClass::Thinking, "messages.3.content.0: Invalid `signature` in `thinking` block"),
    (
        ErrorClass::Thinking,
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`.",
    ),
    (ErrorClass::Thinking, "400 The reasoning_content in the thinking mode must be passed back to the API."),
    (
        ErrorClass::Thinking,
        "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
    ),
    (ErrorClass::MessageForm, "messages: roles must alternate between \"user\" and \"assistant\""),
    (
        ErrorClass::MessageForm,
        "messages.4: all messages must have non-empty content except for the optional final assistant message",
    ),
    (
        ErrorClass::Media,
        "messages.10.content.1.image.source.base64: image exceeds 5 MB maximum: 6990508 bytes > 5242880 bytes",
    ),
    (ErrorClass::Media, "Too much media: 0 document pages + 103 images > 100"),
    (ErrorClass::Media, "error, status code: 400, message: Too many images in request. Max is 10."),
    (ErrorClass::Media, "400 Could not process image"),
    (
        ErrorClass::ReplyReserve,
        "400 max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens for x",
    ),
    (ErrorClass::ReplyReserve, "Range of max_tokens should be [1, 8192]"),
    (
        ErrorClass::RequestCeiling,
        "413 Request too large for model on tokens per minute (TPM): Limit 8000, Requested 10617",
    ),
    (
        ErrorClass::RateLimit,
        "429 Rate limit reached for gpt on tokens per min (TPM): Limit 30000, Used 29000, Requested 4000",
    ),
    (ErrorClass::RateLimit, "429 Rate limit reached for requests. Please try again in 2s."),
    (ErrorClass::RateLimit, "ThrottlingException: Too many requests, please wait before trying again."),
    (ErrorClass::Billing, "402 Insufficient balance, please recharge your account"),
    (ErrorClass::Billing, "400 Your credit balance is too low to access the Anthropic API."),
    (ErrorClass::Billing, "429 余额不足或无可用资源包，请充值。"),
    (
        ErrorClass::Billing,
        "429 You exceeded your current quota, please check your plan and billing details. (insufficient_quota)",
    ),
    (
        ErrorClass::Billing,
        "403 Your team doesn't have any credits or licenses yet. You can purchase those on the console.",
    ),
    (ErrorClass::Billing, "400 Arrearage: Access denied, please make sure your account is in good standing."),
    (ErrorClass::Billing, "403 Sorry, your account balance is insufficient"),
    (ErrorClass::Billing, "429 Your prepayment credits are depleted. Status: RESOURCE_EXHAUSTED"),
    (ErrorClass::Billing, "429 Extra usage is required for long context requests."),
    (ErrorClass::Media, "400 this model does not support image input"),
    (ErrorClass::Media, "400 messages[6]: unknown variant `image_url`, expected `text`"),
    (
        ErrorClass::MessageForm,
        "400 Invalid 'messages[3].content': string too long. Expected a string with maximum length 1048576, but got a string with length 2000000 instead.",
    ),
    (ErrorClass::Model, "500 model requires more system memory (8.4 GiB) than is available (5.1 GiB)"),
    (ErrorClass::Quota, "You have hit your ChatGPT usage limit (plus plan). Try again in ~240 min."),
    (ErrorClass::Quota, "429 Too many tokens per day, please wait before trying again."),
    (
        ErrorClass::Auth,
        "401 {\"type\":\"error\",\"error\":{\"type\":\"authentication_error\",\"message\":\"invalid x-api-key\"}}",
    ),
    (ErrorClass::Auth, "OAuth token refresh failed for anthropic: please log in again"),
    (ErrorClass::Model, "404 The model `gpt-9` does not exist or you do not have access to it."),
    (ErrorClass::Model, "404 No endpoints found for made/nova."),
    (
        ErrorClass::Content,
        "The response was filtered due to the prompt triggering the content management policy.",
    ),
    (
        ErrorClass::Provider,
        "529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}",
    ),
    (ErrorClass::Provider, "LLM request timed out."),
    (ErrorClass::Provider, "Connection error."),
    (ErrorClass::Provider, "503 Service Unavailable"),
    (ErrorClass::Provider, "terminated"),
    (ErrorClass::Gateway, "guard_blocked"),
    (ErrorClass::Compaction, "Compaction failed: Summarization failed: 400 no"),
    (ErrorClass::Other, "400 status code (no body)"),
    (ErrorClass::Other, "An unknown error occurred"),
];

#[test]
fn an_error_gets_the_class_with_its_way_out() {
    let wrong: Vec<String> = TEXTS
        .iter()
        .filter(|(wanted, text)| class(text) != *wanted)
        .map(|(wanted, text)| format!("{} is {}: {text}", class(text).as_str(), wanted.as_str()))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_what_passes_by_itself_is_transient() {
    for (class, _) in TEXTS {
        assert!(!class.is_transient() || class.waiting_helps(), "{class:?}");
    }
    assert!(ErrorClass::Provider.is_transient() && !ErrorClass::Billing.waiting_helps());
}

#[test]
fn numbers_of_other_errors_are_read_by_their_words() {
    let numbers = |text: &str| {
        let details = StopDetails::from_text(text);
        let numbers = classify_error(&details, &judge(&details)).1;
        (numbers.requested, numbers.output, numbers.limit)
    };
    assert_eq!(numbers("max_tokens: 64000 > 32000, which is"), (None, Some(64_000), Some(32_000)));
    assert_eq!(numbers("TPM: Limit 8000, Requested 10617"), (Some(10_617), None, Some(8_000)));
    assert_eq!(numbers("image: 6990508 bytes > 5242880 bytes"), (Some(6_990_508), None, Some(5_242_880)));
    assert_eq!(numbers("Connection error."), (None, None, None));
}
