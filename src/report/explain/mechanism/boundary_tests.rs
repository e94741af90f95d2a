//! Each class at the smallest part that shows it, and one token below.

use super::*;
use crate::report::explain::case::Case;
use crate::session::testing::{call, loaded_session, message, result, transcript, user};

/// Builds the failure of a session that ends in a refusal; `sizes` names its messages (`u` user, `a` answer with a call,
/// `r` result, `i` image) with their tokens, `prompt` and `fixed` are tokens. The limit is 1,000 tokens.
fn with_failure<T>(sizes: &str, prompt: u64, fixed: u64, ask: impl FnOnce(&Case<'_>, &Failure) -> T) -> T {
    let image = r#"{"role":"user","content":[{"type":"image","mimeType":"image/png","data":"QUJD"}]}"#;
    let (kinds, weights): (Vec<&str>, Vec<f64>) = sizes
        .split_whitespace()
        .map(|word| word.split_once(':').expect("a kind and tokens"))
        .map(|(kind, tokens)| (kind, tokens.parse::<f64>().expect("tokens")))
        .unzip();
    let refusal = r#"{"role":"assistant","content":[],"stopReason":"error","errorMessage":"prompt is too long: 1100 tokens > 1000 maximum"}"#;
    let entry = |kind: &&str| match *kind {
        "u" => user("go on"),
        "a" => call("c", "exec", "{}"),
        "r" => result("c", "exec", "done", ""),
        _ => message(image),
    };
    let entries: Vec<String> = kinds.iter().map(entry).chain([message(refusal)]).collect();
    let session = loaded_session(&transcript(&entries), 200_000.0);
    let mut case = Case::read(&session, None).expect("memory is readable");
    let mut failure = case.failure.take().expect("a refusal");
    assert_eq!(failure.session.context.messages.len(), weights.len());
    (failure.weights, failure.limit) = (weights, 1_000);
    (failure.prompt_tokens, failure.fixed_tokens) = (prompt, fixed);
    ask(&case, &failure)
}

type Detector = fn(&Case<'_>, &Failure) -> Option<Mechanism>;

/// Returns class, tokens and count of what a rule finds.
fn found(rule: Detector, sizes: &str, prompt: u64, fixed: u64) -> Option<(FindingClass, f64, usize)> {
    let found = with_failure(sizes, prompt, fixed, rule);
    found.map(|found| (found.class, found.tokens, found.count))
}

#[test]
fn two_parallel_results_are_the_cause_from_a_share_of_the_limit_on() {
    let parallel = |sizes: &str, prompt: u64| found(detect_results, sizes, prompt, 0);
    let both = |tokens: f64| Some((FindingClass::ParallelResults, tokens, 2));
    assert_eq!(parallel("u:9 a:9 r:75 r:75", 1_150), both(150.0));
    assert_eq!(parallel("u:9 a:9 r:75 r:74", 1_100), None, "149 of 1,000 tokens are too few to name");
    assert_eq!(parallel("u:9 a:9 r:75 r:75", 1_151), None, "without them the prompt has 1,001 tokens");
    assert_eq!(parallel("u:9 a:9 r:100 a:9 r:76 r:75", 1_100), both(151.0));
    assert_eq!(parallel("u:9 a:9 r:100 a:9 r:75 r:75", 1_100), None, "1.5 times the turn before");
}

#[test]
fn one_result_is_the_cause_from_seven_tenths_of_its_turn_on() {
    let class =
        |sizes: &str, prompt: u64| found(detect_results, sizes, prompt, 0).map(|found| (found.0, found.2));
    assert_eq!(class("u:9 a:9 r:280 r:120", 1_200), Some((FindingClass::SingleResult, 1)));
    assert_eq!(class("u:9 a:9 r:279 r:121", 1_200), Some((FindingClass::ParallelResults, 2)));
    assert_eq!(class("u:9 a:9 r:150", 1_150), Some((FindingClass::SingleResult, 1)));
    assert_eq!(class("u:9 a:9 r:149", 1_100), None);
    assert_eq!(class("u:9 a:9 r:150", 1_151), None);
    assert_eq!(class("u:9 a:9 r:200 a:9 r:301", 1_100), Some((FindingClass::SingleResult, 1)));
    assert_eq!(class("u:9 a:9 r:200 a:9 r:300", 1_100), None);
}

#[test]
fn a_message_is_the_cause_from_three_times_the_usual_on() {
    let tokens = |sizes: &str, prompt: u64| found(detect_user_message, sizes, prompt, 0).map(|found| found.1);
    assert_eq!(tokens("u:60 a:9 u:180", 1_180), Some(180.0));
    assert_eq!(tokens("u:60 a:9 u:179", 1_100), None);
    assert_eq!(tokens("u:60 a:9 u:180", 1_181), None);
    assert_eq!(tokens("u:9 a:9 u:150", 1_150), Some(150.0));
    assert_eq!(tokens("u:9 a:9 u:149", 1_100), None);
}

#[test]
fn a_loop_takes_three_results_and_four_tenths_of_the_room() {
    let count = |sizes: &str, prompt: u64| found(detect_tool_loop, sizes, prompt, 200).map(|found| found.2);
    assert_eq!(count("u:9 a:9 r:100 a:9 r:100 a:9 r:120", 1_320), Some(3), "320 of 800 tokens");
    assert_eq!(count("u:9 a:9 r:100 a:9 r:100 a:9 r:119", 1_300), None);
    assert_eq!(count("u:9 a:9 r:100 a:9 r:100 a:9 r:120", 1_321), None);
    assert_eq!(count("u:9 a:9 r:300 a:9 r:300", 1_300), None);
}

#[test]
fn fixed_parts_and_images_are_the_cause_from_their_share_on() {
    assert!(found(detect_fixed_alone, "u:9", 1_100, 1_000).is_some());
    assert_eq!(found(detect_fixed_alone, "u:9", 1_100, 999), None);
    assert!(found(detect_fixed_most, "u:9", 1_100, 600).is_some());
    assert_eq!(found(detect_fixed_most, "u:9", 1_100, 599), None);
    let images = |prompt: u64| found(detect_images, "i:1200 a:9 u:9", prompt, 0).map(|found| found.2);
    assert_eq!(images(2_200), Some(1));
    assert_eq!(images(2_201), None, "without the image the prompt has 1,001 tokens");
    let smaller = |prompt: u64| {
        with_failure("i:1200 a:9 u:9", prompt, 0, |case, failure| {
            detect_images(case, &Failure { limit: 2_000, ..failure.clone() }).is_some()
        })
    };
    assert!(smaller(3_000) && !smaller(3_001), "four tenths of the prompt");
}
