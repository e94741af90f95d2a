//! The two protocols: encodes requests and decodes answers as JSON.

use serde_json::{Value, json};

use super::Address;
use crate::config::Api;
use crate::policy::compact::request::SYSTEM_PROMPT;
use crate::summarize::{Answer, CallTokens};
use crate::units::{Millis, Tokens};

/// The supported version of Anthropic's messages.
pub(super) const ANTHROPIC_VERSION: &str = "2023-06-01";

/// `OpenAI`'s newer models accept only the newer name of the limit; most other servers accept only the older one.
const NEW_LIMIT_HOST: &str = "api.openai.com";

/// A reason that an answer holds no summary.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ResponseError {
    /// The answer does not follow the protocol.
    Malformed(String),
    /// The model refused to write a summary.
    Refused(String),
}

/// Encodes a request; `max_tokens` is raised to at least 1.
pub(super) fn request_body(
    api: Api,
    address: &Address,
    model: &str,
    prompt: &str,
    max_tokens: Tokens,
) -> String {
    let max = max_tokens.max(Tokens(1.0)).whole();
    let user = json!({"role": "user", "content": prompt});
    let body = match api {
        Api::Anthropic => {
            json!({"model": model, "max_tokens": max, "system": SYSTEM_PROMPT, "messages": [user]})
        }
        Api::OpenAi => {
            let limit = if address.host() == NEW_LIMIT_HOST { "max_completion_tokens" } else { "max_tokens" };
            json!({"model": model, "messages": [{"role": "system", "content": SYSTEM_PROMPT}, user], (limit): max})
        }
    };
    body.to_string()
}

/// Decodes an answer.
pub(super) fn parse_answer(api: Api, text: &str) -> Result<Answer, ResponseError> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| ResponseError::Malformed(format!("the answer is not JSON: {error}")))?;
    let (message, why, cut_word) = match api {
        Api::OpenAi => {
            let choice = &value["choices"][0];
            (openai_text(&choice["message"]["content"]), &choice["finish_reason"], "length")
        }
        Api::Anthropic => (blocks_text(&value["content"]), &value["stop_reason"], "max_tokens"),
    };
    let why = why.as_str().unwrap_or_default();
    let no_text = || "the answer has no text where the protocol expects it".to_owned();
    let message =
        message.ok_or_else(|| ResponseError::Malformed(error_message(&value).unwrap_or_else(no_text)))?;
    if matches!(why, "refusal" | "content_filter") {
        return Err(ResponseError::Refused(format!("the model refused to write a summary ({why})")));
    }
    let cut = why == cut_word;
    match message.trim() {
        "" if cut => Err(ResponseError::Refused(
            "the answer reached the token limit before the first word of a summary".to_owned(),
        )),
        "" => Err(ResponseError::Malformed("the summary is empty".to_owned())),
        text => Ok(Answer { text: text.to_owned(), measured: usage_tokens(&value["usage"]), truncated: cut }),
    }
}

/// Returns a text, or the text blocks that some servers send.
fn openai_text(content: &Value) -> Option<String> {
    content.as_str().map(str::to_owned).or_else(|| blocks_text(content))
}

/// Joins the text blocks with line ends.
fn blocks_text(content: &Value) -> Option<String> {
    let texts = content.as_array()?.iter().filter(|block| block["type"] == "text");
    Some(texts.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n"))
}

/// Reads the token counts of either API; cache reads and writes count as input.
fn usage_tokens(usage: &Value) -> Option<CallTokens> {
    let number = |key: &str| usage[key].as_u64();
    let input = number("prompt_tokens").or_else(|| {
        let cached =
            ["cache_read_input_tokens", "cache_creation_input_tokens"].map(|key| number(key).unwrap_or(0));
        Some(number("input_tokens")? + cached.iter().sum::<u64>())
    })?;
    Some(CallTokens { input, output: number("completion_tokens").or_else(|| number("output_tokens"))? })
}

/// Returns the message of an error's body, or the whole body, on one line.
pub(super) fn error_text(body: &str) -> String {
    let reported = serde_json::from_str::<Value>(body).ok().and_then(|value| error_message(&value));
    reported.unwrap_or_else(|| body.to_owned()).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns an error's message from any of the forms that servers use.
fn error_message(value: &Value) -> Option<String> {
    let error = &value["error"];
    [&error["message"], error, &value["message"]].iter().find_map(|text| text.as_str().map(str::to_owned))
}

/// Converts a `Retry-After` in seconds. Model servers do not use its other form, a date.
pub(super) fn retry_after_ms(text: &str) -> Option<Millis> {
    let seconds: f64 =
        text.trim().parse().ok().filter(|seconds: &f64| seconds.is_finite() && *seconds >= 0.0)?;
    // Nobody waits for longer, and the number stays readable.
    Some(Millis((seconds * 1000.0).ceil().min(u64::MAX as f64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(host: &str, api: Api) -> Value {
        let address = Address::new(&format!("https://{host}/v1"), false).unwrap();
        serde_json::from_str(&request_body(api, &address, "m", "p", Tokens(16_000.0))).unwrap()
    }

    #[test]
    fn requests_have_the_shape_of_their_api() {
        let body = of("x", Api::OpenAi);
        assert_eq!((&body["max_tokens"], &body["messages"][1]["content"]), (&json!(16_000), &json!("p")));
        assert_eq!(of("api.openai.com", Api::OpenAi)["max_completion_tokens"], 16_000);
        let body = of("x", Api::Anthropic);
        assert_eq!((&body["system"], &body["messages"][0]["role"]), (&json!(SYSTEM_PROMPT), &json!("user")));
    }

    #[test]
    fn answers_of_both_are_read_with_their_counts() {
        let text = r#"{"choices":[{"message":{"content":" a "},"finish_reason":"length"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}"#;
        let expected =
            Answer { text: "a".into(), measured: Some(CallTokens { input: 5, output: 2 }), truncated: true };
        assert_eq!(parse_answer(Api::OpenAi, text), Ok(expected));
        let text = r#"{"content":[{"type":"thinking"},{"type":"text","text":"a"},{"type":"text","text":"b"}],"stop_reason":"end_turn","usage":{"input_tokens":5,"cache_read_input_tokens":3,"output_tokens":2}}"#;
        let expected = Answer {
            text: "a\nb".into(),
            measured: Some(CallTokens { input: 8, output: 2 }),
            truncated: false,
        };
        assert_eq!(parse_answer(Api::Anthropic, text), Ok(expected));
    }

    #[test]
    fn answers_without_a_summary_are_errors() {
        for (text, words) in [
            ("<html>", "not JSON"),
            ("{}", "no text"),
            (r#"{"error":{"message":"overloaded"}}"#, "overloaded"),
            (r#"{"choices":[{"message":{"content":" "}}]}"#, "empty"),
        ] {
            let Err(ResponseError::Malformed(what)) = parse_answer(Api::OpenAi, text) else {
                panic!("{text}")
            };
            assert!(what.contains(words), "{what}");
        }
        for (api, text) in [
            (Api::Anthropic, r#"{"content":[{"type":"text","text":"no"}],"stop_reason":"refusal"}"#),
            (Api::Anthropic, r#"{"content":[],"stop_reason":"max_tokens"}"#),
            (Api::OpenAi, r#"{"choices":[{"message":{"content":""},"finish_reason":"content_filter"}]}"#),
        ] {
            assert!(matches!(parse_answer(api, text), Err(ResponseError::Refused(_))), "{text}");
        }
    }

    #[test]
    fn errors_and_waits_are_read_in_the_forms_servers_use() {
        assert_eq!(error_text(r#"{"error":{"message":"no\n more"}}"#), "no more");
        assert_eq!(error_text(r#"{"error":"no"}"#), "no");
        assert_eq!(error_text("<b>\n502</b>"), "<b> 502</b>");
        assert_eq!(retry_after_ms(" 1.5 "), Some(Millis(1500.0)));
        assert_eq!(retry_after_ms("1e300"), Some(Millis(u64::MAX as f64)));
        for odd in ["", "-1", "NaN", "Wed, 21 Oct 2026 07:28:00 GMT"] {
            assert_eq!(retry_after_ms(odd), None, "{odd}");
        }
    }
}
