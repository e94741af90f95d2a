//! The words of the verdict at their boundaries.

use super::*;
use crate::ids::EntryIx;
use crate::report::explain::testing::with_failure;

fn mechanism(class: FindingClass, tokens: f64) -> Mechanism {
    Mechanism { class, tokens: Tokens(tokens), count: 3, entries: vec![EntryIx(2), EntryIx(0)] }
}

/// The phrase for a mechanism of a prompt of 1,100 tokens, of which 1,000 fit.
fn phrase(sizes: &str, fixed: u64, mechanism: &Mechanism) -> String {
    with_failure(sizes, 1_100, fixed, |case, failure| mechanism_phrase(case, failure, mechanism))
}

#[test]
fn a_message_is_too_large_if_it_exceeds_the_limit_with_the_fixed_parts() {
    let said = |tokens: f64, fixed: u64| {
        phrase("u:9 a:9 r:75", fixed, &mechanism(FindingClass::UserMessage, tokens))
    };
    assert_eq!(said(1_001.0, 0), "your message alone is ~1.0k tokens; the limit is 1,000");
    assert_eq!(said(1_000.0, 0), "your message added ~1k; the limit is 1,000");
    assert_eq!(said(800.0, 200), "your message added ~800; the limit is 1,000");
    assert_eq!(said(801.0, 200), "your message takes ~801 and the fixed parts ~200; the limit is 1,000");
    assert_eq!(said(801.0, 199), "your message added ~801; the limit is 1,000");
}

#[test]
fn every_mechanism_has_its_phrase() {
    let said = |class: FindingClass| phrase("u:9 a:9 r:75", 0, &mechanism(class, 500.0));
    assert_eq!(said(FindingClass::FixedOverhead), "system prompt, tools and files take ~500 of 1,000");
    assert_eq!(said(FindingClass::ImageBloat), "3 images take ~500 of 1,000");
    assert_eq!(said(FindingClass::ParallelResults), "3 parallel results added ~500; the limit is 1,000");
    assert_eq!(said(FindingClass::ToolLoopTreadmill), "one run's 3 tool results fill ~500 of 1,000");
    assert_eq!(said(FindingClass::RecurringSessionGrowth), "the same job ran 3 times in one session");
    assert_eq!(
        said(FindingClass::SingleResult),
        "one exec result added ~500; the limit is 1,000",
        "the first entry"
    );
    let bytes = |count: usize| {
        let own = Mechanism { count, ..mechanism(FindingClass::BytesLimit, 0.0) };
        phrase("u:9 a:9 r:75", 0, &own)
    };
    assert_eq!(bytes(1), "the request is too large in bytes (1 image); this is not a token limit");
    assert_eq!(bytes(0), "the request is too large in bytes; this is not a token limit");
}

#[test]
fn tokens_in_no_message_are_named_from_three_tenths_of_the_prompt_on() {
    let said = |sizes: &str, fixed: u64| phrase(sizes, fixed, &mechanism(FindingClass::GradualGrowth, 0.0));
    assert_eq!(said("u:500 a:200 r:70", 0), "~330 of 1,100 tokens are in no message of the transcript");
    assert_eq!(said("u:500 a:200 r:71", 0), "the session grew message by message to 1,100 tokens");
    assert_eq!(said("u:500 a:200 r:70", 1), "the session grew message by message to 1,100 tokens");
}

#[test]
fn a_headline_has_count_and_advice_if_both_fit() {
    let said = |verdict: &Finding, guards: &[GuardReport]| {
        with_failure("u:9 a:9 r:75", 1_100, 100, |case, failure| headline(case, failure, verdict, guards))
    };
    let grown = Finding::new(FindingClass::GradualGrowth, Confidence::Possible, "it grew");
    let guard = |state: GuardState| GuardReport {
        kind: GuardKind::Compaction,
        state,
        why: "why".to_owned(),
        missing_tokens: None,
        missing_is_estimate: false,
        opening_keys: Vec::new(),
        rule: "",
        entry: None,
    };
    assert_eq!(said(&grown, &[]), "Overflowed: it grew.");
    assert_eq!(
        said(&grown, &[guard(GuardState::Failed)]),
        "Overflowed: it grew. Compaction was due and failed."
    );
    let away = GuardReport { missing_tokens: Some(1_234), ..guard(GuardState::NotDue) };
    assert_eq!(said(&grown, &[away]), "Overflowed: it grew. Compaction was still 1.2k away.");
    assert_eq!(said(&grown, &[guard(GuardState::NotDue)]), "Overflowed: it grew.");
    let message = |tokens: f64| {
        Finding::new(FindingClass::UserMessage, Confidence::Sure, "your message")
            .with_number("tokens", tokens)
    };
    assert_eq!(said(&message(901.0), &[]), "Overflowed: your message. Send it in parts or as a file.");
    assert_eq!(said(&message(900.0), &[]), "Overflowed: your message.");
    let bytes = Finding::new(FindingClass::BytesLimit, Confidence::Sure, "in bytes");
    assert_eq!(said(&bytes, &[guard(GuardState::Failed)]), "Overflowed: in bytes.");
    let long =
        |chars: usize| Finding::new(FindingClass::GradualGrowth, Confidence::Possible, "x".repeat(chars));
    let failed = " Compaction was due and failed.";
    let head = MAX_HEADLINE_CHARS - "Overflowed: .".len() - failed.len();
    assert!(said(&long(head), &[guard(GuardState::Failed)]).ends_with(failed));
    assert!(!said(&long(head + 1), &[guard(GuardState::Failed)]).ends_with(failed));
    let longest = said(&long(300), &[]);
    assert_eq!((longest.chars().count(), longest.ends_with('…')), (MAX_HEADLINE_CHARS, true));
    assert_eq!(capitalise("it fits"), "It fits");
    assert_eq!(capitalise(""), "");
}
