//! The words of mechanisms at their boundaries.

use super::*;
use crate::ids::EntryIx;
use crate::report::explain::mechanism::{Mechanism, mechanism_finding};
use crate::report::explain::testing::with_failure;
use crate::session::overflow::OverflowKind;
use crate::units::Tokens;

fn mechanism(class: FindingClass, tokens: f64) -> Mechanism {
    Mechanism { class, tokens: Tokens(tokens), count: 3, entries: vec![EntryIx(2), EntryIx(0)] }
}

/// The phrase for a mechanism of a prompt of 1,100 tokens, of which 1,000 fit.
fn phrase(sizes: &str, fixed: u64, mechanism: &Mechanism) -> String {
    with_failure(sizes, 1_100, fixed, |case, failure| {
        mechanism_finding(case, failure, mechanism).facts.headline()
    })
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
    assert_eq!(said(FindingClass::ToolLoopTreadmill), "one run's 3 tool results take ~500 of 1,000");
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
fn the_limit_of_the_gateways_own_check_is_named() {
    let said = with_failure("u:9 a:9 r:75", 1_100, 0, |case, failure| {
        let mut checked = failure.clone();
        (checked.overflow.kind, checked.overflow.limit) = (OverflowKind::Precheck, None);
        let part = mechanism(FindingClass::FixedOverhead, 500.0);
        mechanism_finding(case, &checked, &part).facts.headline()
    });
    assert_eq!(said, "system prompt, tools and files take ~500 of 1,000 after the reserve");
}

#[test]
fn tokens_in_no_message_are_named_from_three_tenths_of_the_prompt_on() {
    let said = |sizes: &str, fixed: u64| phrase(sizes, fixed, &mechanism(FindingClass::GradualGrowth, 0.0));
    assert_eq!(said("u:500 a:200 r:70", 0), "~330 of 1,100 tokens are in no message of the transcript");
    assert_eq!(said("u:500 a:200 r:71", 0), "the session grew message by message to 1,100 tokens");
    assert_eq!(said("u:500 a:200 r:70", 1), "the session grew message by message to 1,100 tokens");
}
