//! Counts that prove nothing or something else: prompts that a server cut, impossible usage, answers that only repeat.

use clawscope::report::explain::{Explanation, FindingClass};
use clawscope::session::overflow::CallState;
use serde_json::json;

use super::made::{Made, words};
use super::{finding, line};

fn ollama(window: u64) -> Made {
    let mut made = Made::new();
    made.model = ("ollama", "llama3.2:3b");
    made.first_model = made.model;
    made.fixed = window as f64 / 4.0;
    made
}

fn classes(explanation: &Explanation) -> Vec<FindingClass> {
    explanation.findings.iter().map(|finding| finding.class).collect()
}

#[test]
fn every_prompt_that_a_server_cut_is_an_overflow_and_names_what_was_served() {
    for (served, believed, turns) in
        [(2_048, 32_768, 6), (4_096, 131_072, 14), (8_192, 200_000, 9), (16_384, 262_144, 24)]
    {
        let mut made = ollama(served);
        while made.prompt() + served / 8 < served {
            made.user(&words(served as usize / 5));
            made.answer(200);
        }
        for _ in 0..turns {
            made.user(&words(served as usize));
            made.reported(400, served);
        }
        let read = made.on(believed).row(json!({ "contextTokens": believed })).read();
        let explanation = read.said();
        assert_eq!(explanation.findings[0].class, FindingClass::WrongWindow, "{}", line(&explanation));
        assert_eq!(read.item.state, Some(CallState::SilentCut));
        assert!(explanation.overflows.len() + 3 >= turns, "{} of {turns}", explanation.overflows.len());
        assert_eq!(explanation.course.served_limit, Some(served));
        assert!(
            explanation.next_step().expect("a step").contains("num_ctx"),
            "{:?}",
            explanation.next_step()
        );
        assert!(
            read.next_prompt.total.tokens > served,
            "no count of a cut prompt is the size of the next one"
        );
    }
}

#[test]
fn a_few_equal_counts_at_a_servers_window_are_cuts_however_little_is_added() {
    for (served, calls, words_each) in [(4_096, 3, 300), (16_384, 6, 300), (32_768, 9, 450), (12_288, 4, 600)]
    {
        let mut made = ollama(served);
        for _ in 0..calls {
            made.user(&words(words_each));
            made.reported(200, served);
        }
        let explanation = made.read(262_144).said();
        assert_eq!(explanation.findings[0].class, FindingClass::WrongWindow, "{}", line(&explanation));
        assert_eq!(explanation.overflows.len(), calls, "{served}");
    }
}

#[test]
fn counts_that_grow_in_large_steps_up_to_the_window_are_sizes() {
    for window in [272_000, 400_000, 1_000_000] {
        let mut made = Made::new();
        let step = window / 11;
        for at in 1..=10 {
            made.user(&words(150));
            made.settle(step * at);
            made.answer(300);
        }
        let explanation = made.read(window).said();
        assert!(!classes(&explanation).contains(&FindingClass::ImplausibleUsage), "{}", line(&explanation));
    }
}

#[test]
fn a_count_far_above_its_neighbours_and_the_window_is_no_size() {
    for (tokens, window) in [(900_000, 128_000), (180_000, 65_536), (1_200_000, 200_000)] {
        for goes_on in [false, true] {
            let mut made = Made::new();
            for _ in 0..4 {
                made.user(&words(600));
                made.answer(400);
            }
            made.user("and now?");
            made.reported(40, tokens);
            if goes_on {
                made.user("thanks");
                made.answer(40);
            }
            let explanation = made.read(window).said();
            assert!(!explanation.has_overflowed(), "{}", line(&explanation));
            assert_eq!(
                explanation.findings[0].class,
                FindingClass::ImplausibleUsage,
                "{}",
                line(&explanation)
            );
        }
    }
}

#[test]
fn equal_counts_of_a_prompt_that_does_not_grow_cut_nothing() {
    for window in [32_768, 131_072] {
        let mut made = ollama(4_096);
        made.user("hello");
        for _ in 0..12 {
            made.reported(2, 4_096);
            made.user("ok");
        }
        made.reported(2, 4_096);
        let explanation = made.read(window).said();
        assert_eq!(explanation.findings[0].class, FindingClass::Healthy, "{}", line(&explanation));
    }
}

#[test]
fn impossible_usage_is_the_providers_error_and_no_size() {
    for (tokens, window) in [(14_000_000, 200_000), (5_400_000, 131_072), (60_000_000, 1_000_000)] {
        let mut made = Made::new();
        for _ in 0..6 {
            made.user(&words(4_000));
            made.answer(800);
        }
        made.user("and now?");
        made.reported(40, tokens);
        let read = made.read(window);
        let explanation = read.said();
        assert!(!explanation.has_overflowed(), "{}", line(&explanation));
        assert!(classes(&explanation).contains(&FindingClass::ImplausibleUsage), "{}", line(&explanation));
        assert!(read.next_prompt.total.tokens < 40_000, "{}", read.next_prompt.total.tokens);
        assert!(read.next_prompt.fixed_tokens < 20_000, "{}", read.next_prompt.fixed_tokens);
    }
}

#[test]
fn a_provider_that_counts_more_for_the_same_text_is_told_from_growth() {
    for (window, share) in [(128_000, 1.26), (200_000, 1.4)] {
        let mut made = Made::new();
        let full = (window as f64 / share * 0.98) as u64;
        made.grow_to(full, 12_000);
        made.user("go on");
        let counted = (made.prompt() as f64 * share) as u64;
        made.failed(&format!("prompt is too long: {counted} tokens > {window} maximum"));
        let explanation = made.read(window).said();
        finding(&explanation, FindingClass::CountShift);
        assert_ne!(explanation.findings[0].class, FindingClass::GradualGrowth, "{}", line(&explanation));
    }
}

/// Thai and some other scripts take about a token for each char: four times what chars/4 says.
#[test]
fn a_result_in_a_script_of_many_tokens_is_growth_where_the_session_shows_that_script() {
    let mut made = Made::new();
    made.chars_per_token = 1.0;
    made.grow_to(26_900, 3_000);
    made.user("read the whole page");
    made.step("read", &[38_000]);
    let counted = made.prompt();
    made.failed(&format!("prompt token count of {counted} exceeds the limit of 56000"));
    let explanation = made.read(56_000).said();
    assert_eq!(explanation.findings[0].class, FindingClass::SingleResult, "{}", line(&explanation));
}
