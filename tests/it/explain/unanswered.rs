//! Sessions that no longer answer for another reason than their size.

use clawscope::report::explain::{Confidence, Explanation, FindingClass};
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

/// The answer in JSON of a command on a store whose last call failed with this text; the text may name `{prompt}`, the size of
/// the prompt, and `{limit}`, a smaller one.
fn on_store(command: &str, text: &str) -> serde_json::Value {
    let mut made = Made::new();
    made.grow_to(20_000, 2_000);
    made.user("again");
    let prompt = made.prompt();
    let text = text.replace("{prompt}", &prompt.to_string()).replace("{limit}", &(prompt - 900).to_string());
    made.failed(&text);
    let folder = made.on(200_000).write();
    let store = folder.path().to_str().expect("a path");
    super::agreement::run(
        store,
        &[&command.split(' ').collect::<Vec<_>>()[..], &[super::on_store::KEY]].concat(),
    )
    .1
}

#[test]
fn unknown_words_that_state_the_size_of_the_prompt_are_an_overflow_for_every_command() {
    for text in [
        "400 Payload of {prompt} units is above the ceiling ({limit}).",
        "400 {limit} 以下で、{prompt} でした",
    ] {
        let explained = on_store("explain", text);
        assert_eq!(explained["overflow"], true, "{text}");
        assert_eq!(explained["verdict"]["confidence"], "likely", "{text}: {}", explained["verdict"]);
        assert_eq!(on_store("check", text)["state"], "overflow", "{text}");
        let ending = &on_store("explain --recovery", text)["ending"]["outcome"];
        assert_eq!(ending, "rawError", "{text}: the gateway does not know the words");
    }
    for text in [
        "500 Failure 20{prompt} of shard {limit}",
        "429 Rate limit: {prompt} of {limit}",
        "400 No such payload",
    ] {
        assert_eq!(on_store("explain", text)["overflow"], false, "{text}");
        assert_ne!(on_store("check", text)["state"], "overflow", "{text}");
    }
}

#[test]
fn a_status_without_text_is_at_most_likely_and_for_bytes_only_where_the_request_may_have_many() {
    let verdict = |images: usize| {
        let mut made = Made::new();
        made.grow_to(20_000, 2_000);
        match images {
            0 => made.user("again"),
            _ => made.user_with_images(images, 1_000.0),
        };
        made.failed("413 status code (no body)");
        let explanation = made.read(200_000).said();
        (explanation.findings[0].class, explanation.findings[0].confidence)
    };
    assert_eq!(verdict(3), (FindingClass::BytesLimit, Confidence::Likely), "a copy without the images' data");
    let (class, confidence) = verdict(0);
    assert!(class != FindingClass::BytesLimit && confidence != Confidence::Sure, "{class:?} {confidence:?}");
}
