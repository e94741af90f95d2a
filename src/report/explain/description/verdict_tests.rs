//! The words of the verdict at their boundaries.

use super::*;
use crate::ids::EntryIx;
use crate::report::explain::failure::PromptSize;
use crate::report::explain::{Counter, PromptCount};
use crate::session::overflow::OverflowKind;

fn overflow(count: usize, remark: Option<VerdictRemark>) -> VerdictFacts {
    VerdictFacts::Overflow(OverflowFacts {
        count,
        by_gateway: 0,
        prompt: FailedPrompt {
            entry: EntryIx(4),
            size: PromptSize { tokens: 1_100, is_measured: true, is_lower_bound: false },
            limit: 1_000,
            limit_origin: LimitOrigin::Stated { by: "the provider" },
            last_accepted: None,
            gateway_estimate: 700,
            other_model: None,
        },
        remark,
    })
}

#[test]
fn a_headline_has_count_and_advice_if_both_fit() {
    let said = |remark: Option<VerdictRemark>| overflow(1, remark).headline("it grew");
    assert_eq!(said(None), "Overflowed: it grew.");
    assert_eq!(
        said(Some(VerdictRemark::CompactionFailed)),
        "Overflowed: it grew. Compaction was due and failed."
    );
    let away = VerdictRemark::CompactionNotDue { missing_tokens: 1_234, is_estimate: false };
    assert_eq!(said(Some(away)), "Overflowed: it grew. Compaction was still 1.2k away.");
    let about = VerdictRemark::CompactionNotDue { missing_tokens: 1_234, is_estimate: true };
    assert_eq!(said(Some(about)), "Overflowed: it grew. Compaction was still ~1.2k away.");
    assert_eq!(
        said(Some(VerdictRemark::SplitMessage)),
        "Overflowed: it grew. Send it in parts or as a file."
    );
    assert_eq!(overflow(3, None).headline("it grew"), "Overflowed 3x: it grew.");
}

#[test]
fn a_headline_has_at_most_a_hundred_chars() {
    let failed = overflow(1, Some(VerdictRemark::CompactionFailed));
    let remark = " Compaction was due and failed.";
    let head = MAX_HEADLINE_CHARS - "Overflowed: .".len() - remark.len();
    assert!(failed.headline(&"x".repeat(head)).ends_with(remark));
    assert!(!failed.headline(&"x".repeat(head + 1)).ends_with(remark));
    let longest = overflow(1, None).headline(&"x".repeat(300));
    assert_eq!((longest.chars().count(), longest.ends_with('…')), (MAX_HEADLINE_CHARS, true));
    let longest = VerdictFacts::NoOverflow.headline(&"x".repeat(300));
    assert_eq!((longest.chars().count(), longest.ends_with('…')), (MAX_HEADLINE_CHARS, true));
}

#[test]
fn a_verdict_of_the_gateways_own_check_names_the_gateway() {
    let said = |by_gateway: usize, count: usize| {
        let VerdictFacts::Overflow(facts) = overflow(count, None) else { panic!("an overflow") };
        VerdictFacts::Overflow(OverflowFacts { by_gateway, ..facts }).headline("it grew")
    };
    assert_eq!(said(1, 1), "Refused by the gateway: it grew.");
    assert_eq!(said(2, 2), "Refused 2x by the gateway: it grew.");
    assert_eq!(said(1, 2), "Overflowed 2x, at last refused by the gateway: it grew.");
}

#[test]
fn a_verdict_without_an_overflow_begins_with_a_capital() {
    assert_eq!(VerdictFacts::NoOverflow.headline("it fits"), "It fits");
    assert_eq!(VerdictFacts::NoOverflow.headline(""), "");
}

#[test]
fn a_prompt_of_which_only_the_refusal_is_known_was_more_than_the_limit() {
    let size = PromptSize { tokens: 1_001, is_measured: false, is_lower_bound: true };
    assert_eq!(size.description(), "more than 1,000");
    assert_eq!(PromptSize { is_lower_bound: false, ..size }.description(), "~1.0k");
    let count = |is_lower_bound| PromptCount {
        counter: Counter::Provider {
            overflow: OverflowKind::Refused,
            is_stated: false,
            excess: Some(1),
            is_lower_bound,
        },
        tokens: 1_001,
        is_measured: false,
        entry: None,
    };
    assert_eq!(count(true).lower_bound(), Some(size.description()), "the table of counts has the same words");
    assert_eq!(count(false).lower_bound(), None);
}

#[test]
fn the_size_of_a_failed_prompt_names_the_source_of_the_limit() {
    let VerdictFacts::Overflow(facts) = overflow(1, None) else { panic!("an overflow") };
    let said = |limit_origin: LimitOrigin, last_accepted: Option<u64>| {
        FailedPrompt { limit_origin, last_accepted, ..facts.prompt.clone() }.evidence().text
    };
    assert_eq!(
        said(LimitOrigin::Stated { by: "the provider" }, None),
        "1,100 tokens, limit 1,000 (according to the provider); the gateway estimated ~700"
    );
    assert_eq!(
        said(LimitOrigin::AssumedWindow, Some(900)),
        "1,100 tokens, limit 1,000 (the window that the gateway assumes); last accepted: 900; \
         the gateway estimated ~700"
    );
    assert!(
        said(LimitOrigin::Inferred, None).contains("(inferred from the calls that were accepted or refused)")
    );
    let other = FailedPrompt {
        other_model: Some(("ollama".to_owned(), "qwen3:8b".to_owned())),
        ..facts.prompt.clone()
    };
    assert!(other.evidence().text.ends_with("; the call went to ollama/qwen3:8b"));
}
