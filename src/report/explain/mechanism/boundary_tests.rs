//! Each class at the smallest part that shows it, and one token below.

use super::*;
use crate::report::explain::case::OverflowCase;
use crate::report::explain::testing::{refusal, with_failure};
use crate::session::testing::{loaded_session, message, transcript, user};
use crate::units::Tokens;

type Detector = fn(&OverflowCase<'_>, &Failure) -> Option<Mechanism>;

/// Returns class, tokens and count found by a rule.
fn found(rule: Detector, sizes: &str, prompt: u64, fixed: u64) -> Option<(FindingClass, Tokens, usize)> {
    let found = with_failure(sizes, prompt, fixed, rule);
    found.map(|found| (found.class, found.tokens, found.count))
}

#[test]
fn two_parallel_results_are_the_cause_from_a_share_of_the_limit_on() {
    let parallel = |sizes: &str, prompt: u64| found(detect_results, sizes, prompt, 0);
    let both = |tokens| Some((FindingClass::ParallelResults, Tokens(tokens), 2));
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
    assert_eq!(tokens("u:60 a:9 u:180", 1_180), Some(Tokens(180.0)));
    assert_eq!(tokens("u:60 a:9 u:179", 1_100), None);
    assert_eq!(tokens("u:60 a:9 u:180", 1_181), None);
    assert_eq!(
        tokens("u:10 a:9 u:20 a:9 u:60 a:9 u:60 a:9 u:179", 1_100),
        None,
        "the larger of the middle two"
    );
    assert_eq!(tokens("u:9 a:9 u:150", 1_150), Some(Tokens(150.0)));
    assert_eq!(tokens("u:9 a:9 u:149", 1_100), None);
}

#[test]
fn a_tool_loop_has_three_results_and_four_tenths_of_the_room() {
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

#[test]
fn prompt_parts_are_split_by_run_and_by_the_last_counted_call() {
    use PromptPartKind::{Fixed, NewestMessage, NewestResults, OlderResults, Rest, RunResults};
    let parts = |sizes: &str, first_new: Option<usize>| {
        with_failure(sizes, 1_100, 50, |_, failure| {
            let mut failure = failure.clone();
            failure.last_counted = first_new.map(|_| (EntryIx(0), 10));
            failure.first_new = first_new.unwrap_or(0);
            let parts = prompt_parts(&failure).into_iter();
            parts
                .map(|part| (part.kind, part.count, part.tokens.get(), part.new_tokens.get()))
                .collect::<Vec<_>>()
        })
    };
    assert_eq!(
        parts("u:1 a:2 r:5 u:10 a:3 r:20 a:4 r:30 r:40", Some(6)),
        [
            (NewestResults, 2, 70.0, 70.0),
            (NewestMessage, 1, 10.0, 0.0),
            (RunResults, 1, 20.0, 0.0),
            (OlderResults, 1, 5.0, 0.0),
            (Rest, 4, 10.0, 4.0),
            (Fixed, 0, 50.0, 0.0),
        ]
    );
    assert_eq!(
        parts("u:10 a:3 r:20", None),
        [
            (NewestResults, 1, 20.0, 0.0),
            (NewestMessage, 1, 10.0, 0.0),
            (Rest, 1, 3.0, 0.0),
            (Fixed, 0, 50.0, 0.0)
        ],
        "without a counted call nothing is known to be new"
    );
}

/// Returns the model switch of a call to another model that takes 1,000 tokens, where the model before it had counted
/// `counted` tokens.
fn switched(counted: u64) -> Option<(FindingClass, Tokens, Vec<EntryIx>)> {
    let answer = message(&format!(
        r#"{{"role":"assistant","provider":"anthropic","model":"claude-opus-4-6","content":[],"stopReason":"stop","usage":{{"input":{counted},"output":10,"cacheRead":0,"cacheWrite":0,"totalTokens":{}}}}}"#,
        counted + 10
    ));
    let other = refusal().replacen(
        r#""role":"assistant","#,
        r#""role":"assistant","provider":"openrouter","model":"mistral-large","#,
        1,
    );
    let entries = [user("go on"), answer, user("more"), other];
    let session = loaded_session(&transcript(&entries), 200_000.0);
    let case = OverflowCase::read(&session, None).expect("memory is readable");
    let found = detect_model_switch(&case, case.failure.as_ref().expect("a refusal"));
    found.map(|found| (found.class, found.tokens, found.entries))
}

#[test]
fn a_smaller_model_is_the_cause_only_above_half_of_its_limit_from_the_model_before() {
    assert_eq!(switched(501), Some((FindingClass::ModelSwitch, Tokens(1_100.0), vec![EntryIx(1)])));
    assert_eq!(switched(500), None, "exactly half");
    assert_eq!(switched(499), None);
}

#[test]
fn the_same_model_is_never_a_model_switch() {
    let found = with_failure("u:9 a:9 r:75", 1_100, 0, |case, failure| {
        detect_model_switch(case, &Failure { last_counted: Some((EntryIx(1), 900)), ..failure.clone() })
    });
    assert_eq!(found, None);
}

/// Returns the results of the loop that a run is, whose results have 40 tokens each; 200 of 1,000 tokens are fixed.
fn looped(entries: &[String]) -> Option<usize> {
    let session = loaded_session(&transcript(entries), 200_000.0);
    let mut case = OverflowCase::read(&session, None).expect("memory is readable");
    let failure = case.failure.take().expect("a refusal");
    let weight = |message: &crate::context::ContextMessage| match message.size.role {
        Role::ToolResult => Tokens(40.0),
        _ => Tokens(1.0),
    };
    let weights = failure.session.context.messages.iter().map(weight).collect();
    let failure = Failure { weights, limit: 1_000, prompt_tokens: 1_100, fixed_tokens: 200, ..failure };
    detect_tool_loop(&case, &failure).map(|found| found.count)
}

#[test]
fn a_run_that_refills_the_window_after_a_refusal_or_a_compaction_is_a_loop() {
    use crate::session::testing::{call, result};
    let step = || [call("c", "exec", "{}"), result("c", "exec", "done", "")];
    let steps = |count: usize| (0..count).flat_map(|_| step()).collect::<Vec<String>>();
    let compaction = || {
        r#"{"type":"compaction","summary":"so far","firstKeptEntryId":"e1","tokensBefore":900}"#.to_owned()
    };
    let run =
        |parts: &[Vec<String>]| looped(&[vec![user("go on")], parts.concat(), vec![refusal()]].concat());
    assert_eq!(run(&[steps(3)]), None, "120 of 800 tokens are no loop by themselves");
    assert_eq!(run(&[vec![compaction()], steps(3)]), Some(3), "compacted before");
    assert_eq!(run(&[vec![compaction()], steps(2)]), None, "two results");
    assert_eq!(
        looped(&[vec![user("go on"), compaction(), user("more")], steps(3), vec![refusal()]].concat()),
        None
    );
}

#[test]
fn refusals_are_counted_from_the_last_message_of_the_person_up_to_the_failing_call() {
    let count = |entries: &[String]| {
        let session = loaded_session(&transcript(entries), 200_000.0);
        let case = OverflowCase::read(&session, None).expect("memory is readable");
        refusals_in_run(&case, case.failure.as_ref().expect("a refusal"))
    };
    assert_eq!(count(&[user("go on"), refusal()]), 1);
    let answer = crate::report::explain::testing::answer(500);
    assert_eq!(count(&[user("go on"), refusal(), answer.clone(), refusal()]), 2, "one was answered between");
    assert_eq!(count(&[user("go on"), refusal(), answer, user("more"), refusal()]), 1);
}
