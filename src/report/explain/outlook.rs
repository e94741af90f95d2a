//! The outlook of a session that did not overflow: whether the next turns fit or meet a working compaction first.

use crate::format::{
    format_number, format_ratio, format_short, format_short_estimate, format_tokens, quantity,
};
use crate::ids::EntryIx;
use crate::report::explain::aftermath::has_freed_nothing;
use crate::report::explain::case::Case;
use crate::report::explain::compactions::PastCompaction;
use crate::report::explain::finding::{Confidence, Evidence, Finding, FindingClass};
use crate::store::entry::Role;
use crate::units::Tokens;

/// Turns after a compaction before which the session should not reach its trigger again.
const MIN_TURNS_TO_REFILL: usize = 2;
/// Number of consecutive compactions that make a treadmill.
const TREADMILL_COMPACTIONS: usize = 2;
/// Share of the trigger above which the fixed parts are reported.
const LARGE_FIXED_SHARE: f64 = 0.8;

/// Returns findings about the next turns, the most serious first; never empty.
pub(super) fn find_outlook(case: &Case<'_>) -> Vec<Finding> {
    let looks: [fn(&Case<'_>) -> Option<Finding>; 4] =
        [detect_impossible_budget, detect_treadmill, detect_at_risk, detect_fixed_overhead];
    let mut found: Vec<Finding> = looks.iter().filter_map(|look| look(case)).collect();
    let grave = |finding: &Finding| finding.class != FindingClass::FixedOverhead;
    if !found.iter().any(grave) {
        found.insert(0, healthy_finding(case));
    }
    found
}

/// Reserve and fixed parts leave no room: every message exceeds the trigger.
pub(super) fn detect_impossible_budget(case: &Case<'_>) -> Option<Finding> {
    let fixed = case.fixed_tokens? as f64;
    let settings = case.session.configured_settings.compaction;
    let trigger = case.trigger();
    let window = case.session.limits.runtime_window;
    if !settings.enabled || window.is_nan() || trigger > fixed || fixed >= window.get() {
        return None;
    }
    let line = format!(
        "system prompt, tools and files take {}, above the trigger {}: lower the reserve",
        format_short_estimate(fixed as u64),
        format_number(trigger.max(0.0) as u64)
    );
    let reserve = format!(
        "the reserve is {} of a window of {}",
        format_number(settings.reserve_tokens.whole()),
        format_number(window.whole())
    );
    Some(
        Finding::new(FindingClass::ImpossibleBudget, Confidence::Likely, line)
            .with_rule("compaction 2.7")
            .with_evidence(Evidence::new(reserve).with_rule("compaction 2.2"))
            .with_number("fixed", fixed)
            .with_number("trigger", trigger),
    )
}

/// The session reaches its trigger within a few turns after every compaction.
fn detect_treadmill(case: &Case<'_>) -> Option<Finding> {
    let refilled = |compaction: &&PastCompaction| {
        !has_freed_nothing(compaction) && turns_to_refill(case, compaction) <= MIN_TURNS_TO_REFILL
    };
    // The last refill may be incomplete.
    let open = usize::from(case.compactions.last().is_some_and(|last| !refilled(&last)));
    let last: Vec<&PastCompaction> = case.compactions.iter().rev().skip(open).take_while(refilled).collect();
    if last.len() < TREADMILL_COMPACTIONS {
        return None;
    }
    let line = format!(
        "after each of the last {} the session hit the trigger again within {MIN_TURNS_TO_REFILL} turns",
        quantity(last.len(), "compaction")
    );
    let rounds = last.iter().take(3).map(|compaction| {
        let text = format!(
            "compaction left {}; the session grew back to {}",
            compaction.counted.1.map_or_else(|| format_short_estimate(compaction.estimated.1), format_number),
            compaction.refilled_to.map_or_else(|| "-".to_owned(), format_number)
        );
        Evidence::new(text).with_entries([compaction.entry]).with_rule("compaction 2.7")
    });
    let mut finding = Finding::new(FindingClass::CompactionTreadmill, Confidence::Sure, line)
        .with_rule("compaction 2.7")
        .with_number("compactions", last.len() as f64);
    finding.evidence.extend(rounds);
    let results = last.iter().map(|it| it.refill_result_share).fold(0.0, f64::max);
    finding
        .evidence
        .push(Evidence::new(format!("tool results make up to {} of the new tokens", format_ratio(results))));
    Some(finding)
}

/// Counts user messages from a compaction to the next one, or to the call at which the session reached its trigger
/// again; `usize::MAX` if neither followed.
fn turns_to_refill(case: &Case<'_>, compaction: &PastCompaction) -> usize {
    let behind = |entry: EntryIx| entry > compaction.entry;
    let next = case.compactions.iter().map(|it| it.entry).find(|entry| behind(*entry));
    let at_trigger =
        case.calls.iter().find(|call| behind(call.entry) && call.prompt_tokens as f64 >= case.trigger());
    let Some(until) = next.or(at_trigger.map(|call| call.entry)) else { return usize::MAX };
    let index = &case.session.index;
    let between = case.path.iter().filter(|ix| behind(**ix) && **ix < until);
    between.filter(|ix| index.entry(**ix).role() == Some(Role::User)).count()
}

/// The next turn does not fit, and no working compaction comes first.
fn detect_at_risk(case: &Case<'_>) -> Option<Finding> {
    let (prompt, counted) = case.next_prompt();
    let window = case.session.limits.runtime_window.min(case.session.window.model_tokens);
    let turn = case.typical_turn_tokens();
    let next = (prompt + turn) as f64;
    let compacts = would_compaction_free(case) && compared_tokens(case) > Tokens(case.trigger());
    if window.is_nan() || window <= Tokens::ZERO || next <= window.get() || compacts {
        return None;
    }
    let line = format!(
        "the next turn needs {} and the window is {}; no compaction comes first",
        format_short_estimate(next as u64),
        format_number(window.whole())
    );
    let size = format!(
        "{} now; a typical turn adds {}",
        format_tokens(prompt, counted),
        format_short_estimate(turn)
    );
    Some(
        Finding::new(FindingClass::AtRisk, Confidence::Likely, line)
            .with_rule("compaction 2.7")
            .with_evidence(Evidence::new(size).with_entries(case.calls.last().map(|call| call.entry)))
            .with_number("prompt", prompt as f64)
            .with_number("turn", turn as f64)
            .with_number("window", window.get()),
    )
}

/// Returns the tokens that the runtime compares with its trigger before the next run: the last answer's own count.
fn compared_tokens(case: &Case<'_>) -> Tokens {
    let last = case.calls.last().map(|call| call.context_tokens).filter(|tokens| tokens.is_finite());
    last.unwrap_or(Tokens::ZERO)
}

/// Whether a due compaction would free tokens.
fn would_compaction_free(case: &Case<'_>) -> bool {
    let last_failed = case.compactions.last().is_some_and(has_freed_nothing);
    case.session.configured_settings.compaction.enabled && !last_failed
}

/// Prompt and tools nearly reach the trigger.
fn detect_fixed_overhead(case: &Case<'_>) -> Option<Finding> {
    let fixed = case.fixed_tokens?;
    let trigger = case.trigger();
    if trigger <= 0.0 || (fixed as f64) < LARGE_FIXED_SHARE * trigger || fixed as f64 >= trigger {
        return None;
    }
    let line = format!(
        "system prompt, tools and files take {}; compaction starts at {}",
        format_short_estimate(fixed),
        format_number(trigger as u64)
    );
    Some(
        Finding::new(FindingClass::FixedOverhead, Confidence::Likely, line)
            .with_rule("compaction 11.3")
            .with_number("fixed", fixed as f64),
    )
}

fn healthy_finding(case: &Case<'_>) -> Finding {
    let (prompt, counted) = case.next_prompt();
    let (window, trigger) = (case.window(), case.trigger());
    let spare = window.saturating_sub(prompt);
    let line = if window == 0 {
        format!("No overflow: {} tokens; the window is unknown", format_tokens(prompt, counted))
    } else if prompt > window {
        let prompt = format_tokens(prompt, counted);
        format!(
            "No overflow yet, but the prompt has {prompt} tokens; the window is {}",
            format_number(window)
        )
    } else if trigger > 0.0 && prompt as f64 > trigger {
        format!("Fits: {} to spare; the next turn compacts first", format_short(spare))
    } else if trigger > 0.0 && trigger < window as f64 {
        format!(
            "Fits: {} to spare, {} until compaction",
            format_short(spare),
            format_short((trigger - prompt as f64) as u64)
        )
    } else {
        format!("Fits: {} to spare", format_short(spare))
    };
    let source = if counted { "counted by the provider" } else { "estimated" };
    let size = format!("{} of {}, {source}", format_tokens(prompt, counted), format_number(window));
    Finding::new(FindingClass::Healthy, Confidence::Sure, line)
        .with_rule("compaction 2.7")
        .with_evidence(Evidence::new(size).with_entries(case.calls.last().map(|call| call.entry)))
        .with_evidence(
            Evidence::new(format!("compaction starts above {}", format_number(trigger.max(0.0) as u64)))
                .with_rule("compaction 2.7"),
        )
        .with_number("prompt", prompt as f64)
        .with_number("window", window as f64)
        .with_number("spare", spare as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let entries = [
            turn().to_vec(),
            vec![compaction("e0")],
            turn().to_vec(),
            vec![compaction("e3")],
            turn().to_vec(),
        ];
        let session = loaded_session(&transcript(&entries.concat()), 200_000.0);
        let limits = crate::session::context_limits::ContextLimits {
            runtime_window: Tokens(200_000.0),
            ..session.limits
        };
        crate::session::LoadedSession { limits, ..session }
    }

    fn is_treadmill(after: [u64; 2]) -> bool {
        let session = compacted_twice();
        let mut case = Case::read(&session, None).expect("memory is readable");
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

    /// Returns the findings for this many fixed tokens in a window of 200,000 with this reserve.
    fn with_fixed(fixed: u64, reserve: f64, look: fn(&Case<'_>) -> Option<Finding>) -> Option<String> {
        let session = loaded_session(&transcript(&[user("hi")]), 200_000.0);
        let mut settings = session.configured_settings.clone();
        (settings.compaction.enabled, settings.compaction.reserve_tokens) = (true, Tokens(reserve));
        let limits = crate::session::context_limits::ContextLimits {
            runtime_window: Tokens(200_000.0),
            ..session.limits
        };
        let session = crate::session::LoadedSession { limits, configured_settings: settings, ..session };
        let mut case = Case::read(&session, None).expect("memory is readable");
        case.fixed_tokens = Some(fixed);
        look(&case).map(|found| found.headline)
    }

    #[test]
    fn a_reserve_that_leaves_less_than_the_fixed_parts_makes_the_budget_impossible() {
        let found = |fixed| with_fixed(fixed, 150_000.0, detect_impossible_budget);
        assert!(
            found(50_000).is_some_and(|line| line.contains("above the trigger 50,000: lower the reserve"))
        );
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
            let found = healthy_finding(&Case::read(&session, None).expect("memory is readable"));
            (found.headline, found.evidence[0].text.clone())
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
}
