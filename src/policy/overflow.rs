//! Error texts that say that a prompt was too large: pi's detector, which starts the compaction inside a
//! run, and the gateway's, which they disagree with on purpose (compaction 8.1, 8.3, 8.7).

/// Whether a recorded error text is an overflow to either of the two programs.
pub fn is_overflow(text: &str) -> bool {
    is_overflow_to_pi(text) || is_overflow_to_gateway(text)
}

/// Texts that pi looks for, in any case (compaction 8.1: 1–6, 9–12, 14, 15).
const PI: [&str; 12] = [
    "prompt is too long",
    "input is too long for requested model",
    "exceeds the context window",
    "reduce the length of the messages",
    "exceeds the available context size",
    "greater than the context length",
    "context window exceeds limit",
    "exceeded model token limit",
    "context_length_exceeded",
    "context length exceeded",
    "too many tokens",
    "token limit exceeded",
];

/// pi's own test of the text of an error (compaction 8.1 i).
fn is_overflow_to_pi(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    PI.iter().any(|part| text.contains(part))
        || text.lines().any(|line| {
            line.split_once("input token count").is_some_and(|(_, rest)| rest.contains("exceeds the maximum"))
        })
        || followed_by_number(&text, "maximum prompt length is ", "")
        || followed_by_number(&text, "maximum context length is ", " tokens")
        || followed_by_number(&text, "exceeds the limit of ", "")
        || is_bodyless_refusal(&text)
}

/// `before`, digits, `after`.
fn followed_by_number(text: &str, before: &str, after: &str) -> bool {
    text.match_indices(before).any(|(at, _)| {
        let rest = &text[at + before.len()..];
        let behind = rest.trim_start_matches(|char: char| char.is_ascii_digit());
        behind.len() < rest.len() && behind.starts_with(after)
    })
}

/// `400 (no body)` or `413 status code (no body)` at the start (compaction 8.1: 16).
fn is_bodyless_refusal(text: &str) -> bool {
    let rest = text.strip_prefix("400").or_else(|| text.strip_prefix("413"));
    rest.is_some_and(|rest| {
        let rest = rest.trim_start();
        rest.strip_prefix("status code").unwrap_or(rest).trim_start().starts_with("(no body)")
    })
}

/// Texts that the gateway looks for, in lower case (compaction 8.3).
const GATEWAY: [&str; 10] = [
    "request_too_large",
    "request exceeds the maximum size",
    "context length exceeded",
    "maximum context length",
    "prompt is too long",
    "exceeds model context window",
    "model token limit",
    "context overflow:",
    "exceed context limit",
    "exceeds the model's maximum context",
];

/// Texts that mean it together.
const GATEWAY_TOGETHER: [&[&str]; 5] = [
    &["request size exceeds", "context window"],
    &["request size exceeds", "context length"],
    &["max_tokens", "exceed", "context"],
    &["input length", "exceed", "context"],
    &["413", "too large"],
];

/// Chinese texts, looked for as they are.
const GATEWAY_CHINESE: [&str; 5] =
    ["上下文过长", "上下文超出", "上下文长度超", "超出最大上下文", "请压缩上下文"];

/// The gateway's own test (compaction 8.3): never for a limit per minute, nor for a refused reasoning mode
/// (compaction 8.2).
fn is_overflow_to_gateway(text: &str) -> bool {
    let lower = text.to_lowercase();
    let holds = |part: &&str| lower.contains(*part);
    let reasoning = ["reasoning is mandatory", "reasoning is required", "requires reasoning"];
    if has_word(&lower, "tpm")
        || lower.contains("tokens per minute")
        || reasoning.iter().any(holds)
        || (lower.contains("reasoning") && lower.contains("cannot be disabled"))
    {
        return false;
    }
    GATEWAY.iter().any(holds)
        || GATEWAY_TOGETHER.iter().any(|parts| parts.iter().all(holds))
        || GATEWAY_CHINESE.iter().any(|part| text.contains(part))
}

/// Whether a word stands by itself: no letter, digit or `_` of ASCII beside it.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js::{Value, parse};

    fn golden(folder: &str) -> Value {
        let path =
            format!("{}/tests/golden/{folder}/overflow_match--strings-all.json", env!("CARGO_MANIFEST_DIR"));
        parse(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    #[test]
    fn both_detectors_answer_as_the_real_programs_do() {
        let case = golden("cases");
        let texts = case.get("settings").and_then(|settings| settings.get("errorMessages")).unwrap();
        let expected = golden("expected");
        let expected = expected.get("result").and_then(|result| result.get("strings")).unwrap();
        let pairs: Vec<_> = texts.as_array().unwrap().iter().zip(expected.as_array().unwrap()).collect();
        assert!(pairs.len() > 30);
        for (text, expected) in pairs {
            let Some(text) = text.as_str() else { continue };
            let text = text.to_string_lossy();
            let is = |name: &str| expected.get(name).and_then(Value::as_bool);
            assert_eq!(is("pi"), Some(is_overflow_to_pi(&text)), "pi: {text}");
            assert_eq!(is("overflow"), Some(is_overflow_to_gateway(&text)), "gateway: {text}");
        }
    }

    #[test]
    fn a_number_must_follow_where_the_pattern_asks_for_one() {
        assert!(is_overflow_to_pi("this model's maximum context length is 8192 tokens"));
        assert!(!is_overflow_to_pi("maximum context length is unknown"));
        assert!(!is_overflow("the model is overloaded"));
    }
}
