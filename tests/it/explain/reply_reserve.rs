//! A prompt that fits, and a reserved reply that makes the sum too large: the lever is `maxTokens`.

use clawscope::report::explain::{Explanation, FindingClass};
use serde_json::json;

use super::made::Made;
use super::{finding, line, number};

/// Texts of providers that split the sum into prompt and reply.
const WORDS: [fn(u64, u64, u64) -> String; 2] = [
    |prompt, reply, limit| {
        format!(
            "input length and `max_tokens` exceed context limit: {prompt} + {reply} > {limit}, decrease either"
        )
    },
    |prompt, reply, limit| {
        let sum = prompt + reply;
        format!(
            "400 This model's maximum context length is {limit} tokens. However, you requested {sum} tokens ({prompt} in the messages, {reply} in the completion)."
        )
    },
];

/// A session with a prompt of a share of the window whose last call reserves `reply` tokens.
fn explained(window: u64, share: u64, reply: u64, words: fn(u64, u64, u64) -> String) -> Explanation {
    let mut made = Made::new();
    made.grow_to(window / share, window as usize / 16);
    made.user("go on");
    made.failed(&words(made.prompt(), reply, window));
    let (provider, model) = made.first_model;
    let listed = json!([{ "id": model, "contextWindow": window, "maxTokens": reply }]);
    let providers = json!({ provider: { "models": listed } });
    made.on(window).config(json!({ "models": { "providers": providers } })).read().said()
}

#[test]
fn a_reply_that_takes_most_of_the_window_is_the_cause() {
    for window in [65_536, 200_000, 262_144] {
        for words in WORDS {
            let said = explained(window, 5, window - window / 8, words);
            assert_eq!(said.findings[0].class, FindingClass::ReplyReserve, "{}", line(&said));
            assert!(line(&said).contains("reserved for the reply"), "{}", line(&said));
            let best = said.advice.first().expect("a change");
            assert_eq!((best.changes[0].key(), best.fits_all), ("maxTokens", true), "{window}");
            assert!(!said.no_setting_helps());
        }
    }
}

#[test]
fn fixed_parts_that_fit_without_the_reply_are_not_the_cause() {
    for (window, prompt, reply) in
        [(128_000, 70_500, 64_000), (200_000, 150_000, 64_000), (400_000, 280_000, 128_000)]
    {
        let mut made = Made::new();
        made.fixed = prompt as f64 * 0.97;
        for _ in 0..3 {
            made.user("go on with the next part");
            made.answer(90);
        }
        made.user("go on");
        made.failed(&WORDS[1](prompt, reply, window));
        let (provider, model) = made.first_model;
        let listed = json!([{ "id": model, "contextWindow": window, "maxTokens": reply }]);
        let providers = json!({ provider: { "models": listed } });
        let said = made.on(window).config(json!({ "models": { "providers": providers } })).read().said();
        assert_eq!(said.findings[0].class, FindingClass::ReplyReserve, "{}", line(&said));
        assert!(line(&said).contains(&clawscope::format::format_number(window)), "{}", line(&said));
    }
}

#[test]
fn a_reply_smaller_than_the_prompt_is_a_note_and_still_a_lever() {
    for window in [65_536, 200_000] {
        let said = explained(window, 2, window * 5 / 8, WORDS[0]);
        assert_eq!(number(finding(&said, FindingClass::ReplyReserve), "limit"), window as f64);
        let keys = said.advice.iter().filter(|advice| advice.fits_all).map(|advice| advice.changes[0].key());
        assert!(keys.into_iter().any(|key| key == "maxTokens"), "{window}");
    }
}

#[test]
fn a_smaller_reply_cures_no_prompt_above_the_window() {
    for window in [65_536, 200_000] {
        let mut made = Made::new();
        made.grow_to(window + 2_000, window as usize / 16);
        made.failed(&WORDS[0](made.prompt(), 4_096, window));
        let said = made.on(window).read().said();
        let classes: Vec<_> = said.findings.iter().map(|finding| finding.class).collect();
        assert!(!classes.contains(&FindingClass::ReplyReserve), "{classes:?}");
    }
}
