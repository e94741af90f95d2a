//! The remark of the verdict at its boundaries.

use super::*;
use crate::ids::EntryIx;
use crate::report::explain::guards::GuardReason;
use crate::report::explain::testing::with_failure;
use crate::units::Tokens;

fn guard(state: GuardState) -> GuardReport {
    GuardReport {
        kind: GuardKind::Compaction,
        state,
        reason: GuardReason::NothingToPrune,
        missing_tokens: None,
        missing_is_estimate: false,
        opening_keys: Vec::new(),
        rule: "",
        entry: None,
    }
}

/// The remark on a part of these tokens in a prompt of 1,100 tokens, of which 1,000 fit and 100 are fixed.
fn remark_on(class: FindingClass, tokens: f64, guards: &[GuardReport]) -> Option<VerdictRemark> {
    with_failure("u:9 a:9 r:75", 1_100, 100, |case, failure| {
        let mechanism = Mechanism { class, tokens: Tokens(tokens), count: 1, entries: vec![EntryIx(2)] };
        let found = mechanism_finding(case, failure, &mechanism).map(Facts::LargePrompt);
        remark(failure, &found, guards)
    })
}

#[test]
fn a_verdict_says_how_far_compaction_was_away_or_that_it_failed() {
    let said = |guards: &[GuardReport]| remark_on(FindingClass::GradualGrowth, 500.0, guards);
    assert_eq!(said(&[]), None);
    assert_eq!(said(&[guard(GuardState::Failed)]), Some(VerdictRemark::CompactionFailed));
    let away = GuardReport { missing_tokens: Some(1_234), ..guard(GuardState::NotDue) };
    let missing = VerdictRemark::CompactionNotDue { missing_tokens: 1_234, is_estimate: false };
    assert_eq!(said(&[away]), Some(missing));
    assert_eq!(said(&[guard(GuardState::NotDue)]), None);
    assert_eq!(said(&[GuardReport { kind: GuardKind::Recovery, ..guard(GuardState::Failed) }]), None);
}

#[test]
fn a_message_that_never_fits_is_to_be_split_and_a_request_with_too_many_bytes_has_no_remark() {
    let failed = [guard(GuardState::Failed)];
    let message = |tokens: f64| remark_on(FindingClass::UserMessage, tokens, &failed);
    assert_eq!(message(900.4), Some(VerdictRemark::SplitMessage), "as its headline says");
    assert_eq!(message(900.0), Some(VerdictRemark::CompactionFailed));
    assert_eq!(remark_on(FindingClass::BytesLimit, 901.0, &failed), None);
}

#[test]
fn verdicts_with_and_without_an_overflow_have_separate_values() {
    with_failure("u:9 a:9 r:75", 1_100, 100, |case, failure| {
        let mechanism = Mechanism {
            class: FindingClass::GradualGrowth,
            tokens: Tokens(500.0),
            count: 1,
            entries: Vec::new(),
        };
        let found = overflow_findings(case, failure, &mechanism, &[], Vec::new(), Vec::new());
        let Some(VerdictFacts::Overflow(overflow)) = &found[0].verdict else { panic!("{found:?}") };
        assert_eq!((overflow.count, overflow.prompt.size.tokens, overflow.prompt.limit), (1, 1_100, 1_000));
        assert!(found[1..].iter().all(|finding| finding.verdict.is_none()));
        let healthy = findings_without_overflow(case, Vec::new(), Vec::new());
        assert_eq!(healthy[0].verdict, Some(VerdictFacts::NoOverflow));
    });
}
