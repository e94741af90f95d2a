//! The outlook at its boundaries.

use super::*;
use crate::report::explain::description::Described;
use crate::session::testing::{loaded_session, message, transcript, user};

/// A session that was compacted twice with one turn in between and one after.
fn compacted_twice() -> crate::session::LoadedSession {
    let answer = || {
        message(
            r#"{"role":"assistant","content":[{"type":"text","text":"done"}],"stopReason":"stop","usage":{"input":190000,"output":10,"cacheRead":0,"cacheWrite":0,"totalTokens":190010}}"#,
        )
    };
    let compaction = |kept: &str| {
        format!(
            r#"{{"type":"compaction","summary":"so far","firstKeptEntryId":"{kept}","tokensBefore":190010}}"#
        )
    };
    let turn = || [user("go on"), answer()];
    let entries =
        [turn().to_vec(), vec![compaction("e0")], turn().to_vec(), vec![compaction("e3")], turn().to_vec()];
    let session = loaded_session(&transcript(&entries.concat()), 200_000.0);
    let limits =
        crate::session::context_limits::ContextLimits { runtime_window: Tokens(200_000.0), ..session.limits };
    crate::session::LoadedSession { limits, ..session }
}

fn is_treadmill(after: [u64; 2]) -> bool {
    let session = compacted_twice();
    let mut case = OverflowCase::read(&session, None).expect("memory is readable");
    assert_eq!(case.compactions.len(), 2);
    for (compaction, after) in case.compactions.iter_mut().zip(after) {
        compaction.estimated = (100_000, after);
    }
    detect_treadmill(&case).is_some_and(|found| found.class == FindingClass::CompactionTreadmill)
}

#[test]
fn only_compactions_that_freed_something_make_a_treadmill() {
    assert!(is_treadmill([50_000, 50_000]));
    assert!(is_treadmill([95_000, 95_000]), "a twentieth was freed");
    assert!(!is_treadmill([50_000, 95_001]), "the last one freed nothing");
    assert!(!is_treadmill([95_001, 50_000]));
}

#[test]
fn compactions_far_below_the_trigger_are_no_treadmill() {
    let session = compacted_twice();
    let mut case = OverflowCase::read(&session, None).expect("memory is readable");
    for call in &mut case.calls {
        call.prompt_tokens = 30_000;
    }
    for compaction in &mut case.compactions {
        (compaction.tokens_before, compaction.estimated) = (Tokens(30_000.0), (20_000, 9_000));
    }
    assert_eq!(detect_treadmill(&case), None);
    assert!(case.compactions.iter().all(PastCompaction::is_far_below_trigger));
    case.compactions[1].tokens_before = Tokens(190_000.0);
    assert!(!case.compactions[1].is_far_below_trigger());
}

/// Returns the findings for this number of fixed tokens in a window of 200,000 with this reserve.
fn with_fixed(
    fixed: u64,
    reserve: f64,
    look: fn(&OverflowCase<'_>) -> Option<Found<Outlook>>,
) -> Option<String> {
    let session = loaded_session(&transcript(&[user("hi")]), 200_000.0);
    let mut settings = session.configured_settings.clone();
    (settings.compaction.enabled, settings.compaction.reserve_tokens) = (true, Tokens(reserve));
    let limits =
        crate::session::context_limits::ContextLimits { runtime_window: Tokens(200_000.0), ..session.limits };
    let session = crate::session::LoadedSession { limits, configured_settings: settings, ..session };
    let mut case = OverflowCase::read(&session, None).expect("memory is readable");
    case.fixed_tokens = Some(fixed);
    look(&case).map(|found| found.facts.headline())
}

#[test]
fn a_reserve_that_leaves_less_than_the_fixed_parts_makes_the_budget_impossible() {
    let found = |fixed| with_fixed(fixed, 150_000.0, detect_impossible_budget);
    assert!(found(50_000).is_some_and(|line| line.contains("above the trigger 50,000: lower the reserve")));
    assert_eq!(found(49_999), None);
    assert!(found(199_999).is_some());
    assert_eq!(found(200_000), None, "the fixed parts alone fill the window");
}

#[test]
fn fixed_parts_are_large_from_four_fifths_of_the_trigger_up_to_it() {
    let found = |fixed| with_fixed(fixed, 100_000.0, detect_fixed_overhead).is_some();
    assert_eq!([79_999, 80_000, 99_999, 100_000].map(found), [false, true, true, false]);
    assert_eq!(with_fixed(1, 200_000.0, detect_fixed_overhead), None, "there is no trigger");
}

#[test]
fn a_session_without_compaction_names_no_trigger() {
    let session = loaded_session(&transcript(&[user("hi")]), 200_000.0);
    let said = |enabled: bool| {
        let mut settings = session.configured_settings.clone();
        (settings.compaction.enabled, settings.compaction.reserve_tokens) = (enabled, Tokens(50_000.0));
        let limits = crate::session::context_limits::ContextLimits {
            runtime_window: Tokens(200_000.0),
            ..session.limits.clone()
        };
        let session =
            crate::session::LoadedSession { limits, configured_settings: settings, ..session.clone() };
        let mut case = OverflowCase::read(&session, None).expect("memory is readable");
        case.fixed_tokens = Some(140_000);
        let healthy = healthy_finding(&case).facts;
        (healthy.headline(), healthy.evidence()[1].text.clone(), detect_fixed_overhead(&case).is_some())
    };
    let (headline, trigger, is_large) = said(true);
    assert!(headline.ends_with("until compaction") && is_large, "{headline}");
    assert_eq!(trigger, "compaction starts above 150,000");
    let (headline, trigger, is_large) = said(false);
    assert!(headline.ends_with("to spare") && !is_large, "{headline}");
    assert_eq!(trigger, "compaction is off");
}

#[test]
fn the_outlook_of_a_fitting_session_names_the_distance_to_its_limit() {
    let line = |tokens: u64, reserve: f64, window: Tokens| {
        let session = loaded_session(&transcript(&[user("hi")]), window.get());
        let mut settings = session.configured_settings.clone();
        (settings.compaction.enabled, settings.compaction.reserve_tokens) = (true, Tokens(reserve));
        let limits =
            crate::session::context_limits::ContextLimits { runtime_window: window, ..session.limits };
        let tokens = crate::session::TokenCount { tokens, source: crate::session::CountSource::Measured };
        let item = crate::session::SessionItem { tokens: Some(tokens), ..session.item };
        let session =
            crate::session::LoadedSession { item, limits, configured_settings: settings, ..session };
        let found = healthy_finding(&OverflowCase::read(&session, None).expect("memory is readable"));
        (found.facts.headline(), found.facts.evidence()[0].text.clone())
    };
    let (said, size) = line(50_000, 20_000.0, Tokens(200_000.0));
    assert_eq!(said, "Fits: 150k to spare, 130k until compaction");
    assert_eq!(size, "50,000 of 200,000, counted by the provider");
    assert_eq!(line(180_000, 20_000.0, Tokens(200_000.0)).0, "Fits: 20k to spare, 0 until compaction");
    assert_eq!(
        line(180_001, 20_000.0, Tokens(200_000.0)).0,
        "Fits: 20.0k to spare; the next turn compacts first"
    );
    assert_eq!(line(50_000, 200_000.0, Tokens(200_000.0)).0, "Fits: 150k to spare");
    let (above, size) = line(210_000, 20_000.0, Tokens(200_000.0));
    assert_eq!(above, "No overflow yet, but the prompt has 210,000 tokens; the window is 200,000");
    assert_eq!(size, "210,000 of 200,000, counted by the provider");
    assert_eq!(line(50_000, 0.0, Tokens::ZERO).0, "No overflow: 50,000 tokens; the window is unknown");
}
