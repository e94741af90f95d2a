//! Sessions that no longer answer for another reason than their size.

use clawscope::report::explain::{Explanation, FindingClass};
use clawscope::session::overflow::CallState;

use super::line;
use super::made::Made;

/// Words of an error, the class of the verdict, and what the first line must name.
const ERRORS: &[(&str, FindingClass, &str)] = &[
    ("402 Insufficient balance, please recharge your account", FindingClass::Refused, "credit"),
    ("session file locked (timeout 60000ms): pid=7 /s/a.lock", FindingClass::Refused, "doctor"),
    (
        "400 This endpoint's maximum context length is 65536 tokens. However, you requested about 70000 tokens (4464 of text input, 65536 in the output).",
        FindingClass::Refused,
        "maxTokens",
    ),
    (
        "413 Request too large on tokens per minute (TPM): Limit 8000, Requested 10617",
        FindingClass::Refused,
        "Waiting does not help",
    ),
    ("401 invalid x-api-key", FindingClass::Refused, "key"),
    ("messages.1.content.0: Invalid `signature` in `thinking` block", FindingClass::Refused, "thinking"),
    ("400 status code (no body)", FindingClass::Refused, "no body"),
    ("429 Rate limit reached for requests", FindingClass::Failing, "Wait"),
    ("529 overloaded_error", FindingClass::Failing, "Wait"),
    ("LLM request timed out.", FindingClass::Failing, "Wait"),
];

fn chat(turns: usize) -> Made {
    let mut made = Made::new();
    for _ in 0..turns {
        made.user("hello");
        made.answer(40);
    }
    made
}

fn said(made: &Made, window: u64) -> (Explanation, CallState) {
    let read = made.read(window);
    let explanation = read.said();
    assert_eq!(Some(explanation.state), read.item.state, "list and explain agree");
    (explanation, read.last_calls().state)
}

#[test]
fn an_error_that_is_repeated_heads_the_answer_and_says_what_to_do() {
    for (text, class, words) in ERRORS {
        for (turns, times, window) in [(0, 1, 65_536), (3, 2, 128_000), (9, 5, 1_000_000)] {
            let mut made = chat(turns);
            for _ in 0..times {
                made.user("again");
                made.failed(text);
            }
            let (explanation, state) = said(&made, window);
            let line = line(&explanation);
            assert_eq!(explanation.findings[0].class, *class, "{line}");
            assert_eq!(state.as_str(), class.as_str());
            assert!(line.contains(words) && line.chars().count() <= 100, "{line}");
            assert!(!explanation.has_overflowed() && explanation.next_step().is_some(), "{line}");
            assert!(explanation.findings.iter().all(|it| it.class != FindingClass::Healthy), "{line}");
            if times > 1 {
                assert!(line.contains(&format!("{times}x")), "{line}");
            }
        }
    }
}

#[test]
fn an_answer_after_the_errors_makes_the_session_healthy_again() {
    for (text, ..) in ERRORS {
        let mut made = chat(2);
        made.user("again");
        made.failed(text);
        made.user("and again");
        made.answer(40);
        let (explanation, state) = said(&made, 200_000);
        assert_eq!(state, CallState::Healthy, "{text}");
        assert_eq!(explanation.findings[0].class, FindingClass::Healthy, "{}", line(&explanation));
    }
}

#[test]
fn an_overflow_that_nothing_followed_outweighs_a_later_timeout() {
    let mut made = chat(2);
    made.user("more");
    made.failed("prompt is too long: 213462 tokens > 200000 maximum");
    made.user("more");
    made.failed("LLM request timed out.");
    let (explanation, state) = said(&made, 200_000);
    assert_eq!(state, CallState::Overflow);
    assert!(explanation.has_overflowed() && line(&explanation).starts_with("Overflowed"));
}
