//! The window of a model, from the evidence of the store before any list or default.

use clawscope::gateway::window::WindowSource;
use clawscope::report::explain::{Confidence, Explanation, FindingClass};
use clawscope::session::Mark;
use serde_json::{Value, json};

use super::made::{Made, words};
use super::{finding, line};

/// Models that no list names.
const MODELS: [(&str, &str); 3] =
    [("openrouter", "lab/nova-120b:free"), ("ollama", "nova:7b"), ("custom-lab", "nova-7b-instruct")];
const DEFAULT: u64 = 200_000;

fn chat_with(model: (&'static str, &'static str), tokens: u64) -> Made {
    let mut made = Made::new();
    made.model = model;
    made.user("hello");
    made.settle(tokens);
    made.answer(40);
    made
}

fn row((provider, model): (&str, &str), window: u64) -> Value {
    json!({ "modelProvider": provider, "model": model, "contextTokens": window })
}

fn evidence(explanation: &Explanation) -> String {
    explanation.findings[0].evidence().into_iter().map(|line| line.text).collect::<Vec<_>>().join("\n")
}

#[test]
fn rows_of_the_same_model_name_its_window() {
    for (model, window) in MODELS.into_iter().zip([131_072, 256_000, 1_000_000]) {
        let made = chat_with(model, 60_000);
        let own = made.on(window).row(row(model, window)).read();
        assert_eq!(own.window.source, WindowSource::Row);
        assert!(!own.item.has(Mark::AssumedWindow));
        assert_eq!(own.said().findings[0].confidence, Confidence::Sure);
        let beside = made.on(window).beside("agent:main:main", &chat_with(model, 9_000), row(model, window));
        assert_eq!(beside.read().window.source, WindowSource::Row);
        let other = made.on(DEFAULT).beside("agent:main:main", &made, row(("lab", "other"), window));
        assert_eq!(other.read().window.source, WindowSource::Default, "a row of another model says nothing");
    }
}

#[test]
fn a_model_that_nothing_names_has_an_assumed_window_and_no_sure_verdict() {
    for model in MODELS {
        let read = chat_with(model, 60_000).read(DEFAULT);
        assert!(read.item.has(Mark::AssumedWindow));
        let explanation = read.said();
        assert_eq!(explanation.findings[0].class, FindingClass::Healthy, "{}", line(&explanation));
        assert_eq!(explanation.findings[0].confidence, Confidence::Likely);
        assert!(evidence(&explanation).contains("would assume 200,000"), "{}", evidence(&explanation));
    }
}

#[test]
fn an_answered_prompt_is_no_overflow_of_a_window_that_only_a_list_names() {
    for (model, tokens) in
        [("openrouter", "lab/nova"), ("anthropic", "claude-opus-4-5")].into_iter().zip([250_000, 420_000])
    {
        let mut made = chat_with(model, tokens);
        made.user("go on");
        let answered = made.prompt();
        made.answer(80);
        let read = made.on(answered).read();
        assert_eq!(read.window.source, WindowSource::Answered);
        assert!(!read.said().has_overflowed(), "{}", line(&read.said()));
    }
}

#[test]
fn a_refusal_states_a_window_above_the_default() {
    for window in [262_144, 400_000, 1_000_000] {
        let mut made = chat_with(MODELS[0], window - 30_000);
        made.user(&words(160_000));
        let text = format!("prompt is too long: {} tokens > {window} maximum", window + 10_000);
        made.failed(&text);
        let read = made.on(window).read();
        assert_eq!(read.window.source, WindowSource::Stated);
        assert!(read.said().has_overflowed());
    }
}

#[test]
fn a_reply_that_stops_below_an_answered_prompt_shows_no_window() {
    for (prompt, output) in [(7_868, 324), (16_000, 384), (31_768, 1_000)] {
        let mut made = chat_with(MODELS[1], prompt + 4_000);
        made.user("shorter");
        made.settle(prompt);
        made.cut(output);
        let explanation = made.read(DEFAULT).said();
        assert!(!explanation.has_overflowed(), "{}", line(&explanation));
    }
}

#[test]
fn configured_pruning_of_a_release_without_a_pruner_is_named_without_an_overflow() {
    for (version, is_inert) in
        [("2026.1.30", false), ("2026.2.3", true), ("2026.2.17", true), ("2026.3.2", false)]
    {
        let made = chat_with(("anthropic", "claude-opus-4-6"), 60_000);
        let read = made.on(DEFAULT).config(json!({ "meta": { "lastTouchedVersion": version } })).read();
        let explanation = read.said();
        assert_eq!(explanation.findings[0].class, FindingClass::Healthy);
        let inert = explanation.findings.iter().any(|found| found.class == FindingClass::PruningInert);
        assert_eq!(inert, is_inert, "{version}");
        if inert {
            assert!(finding(&explanation, FindingClass::PruningInert).headline().contains("cannot load"));
        }
    }
}

#[test]
fn an_unreadable_configuration_is_named_and_lowers_the_confidence() {
    let made = chat_with(("anthropic", "claude-opus-4-6"), 60_000);
    let store = made.on(DEFAULT).row(row(made.model, DEFAULT)).config(json!("no object"));
    let explanation = store.read().said();
    assert_eq!(explanation.findings[0].confidence, Confidence::Likely);
    assert!(line(&explanation).ends_with("(configuration unreadable)"), "{}", line(&explanation));
    assert!(evidence(&explanation).contains("the configuration cannot be read"));
}

#[test]
fn a_refusal_far_below_the_believed_window_is_a_wrong_window_though_nobody_stated_it() {
    for (believed, accepted) in [(131_072, 40_700), (200_000, 18_000), (65_536, 41_000)] {
        let mut made = Made::new();
        made.model = MODELS[2];
        made.first_model = MODELS[2];
        made.fixed = 17_000.0;
        made.grow_to(accepted, 2_000);
        made.user("go on");
        made.failed("500 Context size has been exceeded.");
        let row = row(MODELS[2], believed);
        let explanation = made.on(believed).row(row).read().said();
        assert_eq!(explanation.findings[0].class, FindingClass::WrongWindow, "{}", line(&explanation));
        assert!(line(&explanation).contains("the gateway assumes"), "{}", line(&explanation));
    }
}
