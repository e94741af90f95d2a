//! A session that did not overflow: whether the next turns fit, or meet a working compaction first.

use crate::explain::aftermath::freed_nothing;
use crate::explain::case::Case;
use crate::explain::compactions::Compaction;
use crate::explain::finding::{Class, Confidence, Evidence, Finding};
use crate::explain::words::{about, count, exact, percent, short, told};
use crate::ids::EntryIx;
use crate::store::entry::Role;

/// Turns within which a compacted session must not be at its trigger again.
const TURNS: usize = 2;
/// Compactions in a row that make a treadmill.
const IN_A_ROW: usize = 2;
/// Share of the trigger from which the fixed parts are worth a word.
const FIXED: f64 = 0.8;

/// What is ahead, the gravest first; never empty.
pub(super) fn outlook(case: &Case<'_>) -> Vec<Finding> {
    let looks: [fn(&Case<'_>) -> Option<Finding>; 4] = [impossible, treadmill, at_risk, fixed];
    let mut found: Vec<Finding> = looks.iter().filter_map(|look| look(case)).collect();
    let grave = |finding: &Finding| finding.class != Class::FixedOverhead;
    if !found.iter().any(grave) {
        found.insert(0, healthy(case));
    }
    found
}

/// Reserve and fixed parts leave no room: every message is above the trigger.
pub(super) fn impossible(case: &Case<'_>) -> Option<Finding> {
    let fixed = case.fixed? as f64;
    let settings = case.inspection.configured.compaction;
    let trigger = case.trigger();
    let window = case.inspection.upkeep.runtime_window;
    if !settings.enabled || window.is_nan() || trigger > fixed || fixed >= window {
        return None;
    }
    let line = format!(
        "fixed parts of {} are above the trigger {}: the reserve must go down",
        about(fixed as u64),
        exact(trigger.max(0.0) as u64)
    );
    let reserve = format!(
        "reserve {} of a window of {}",
        exact(settings.reserve_tokens.max(0.0) as u64),
        exact(window as u64)
    );
    Some(
        Finding::new(Class::ImpossibleBudget, Confidence::Likely, line)
            .by("compaction 2.7")
            .seen(Evidence::new(reserve).by("compaction 2.2"))
            .number("fixed", fixed)
            .number("trigger", trigger),
    )
}

/// Every compaction is filled up to its trigger within a few turns.
fn treadmill(case: &Case<'_>) -> Option<Finding> {
    let refilled =
        |compaction: &&Compaction| !freed_nothing(compaction) && turns_to_refill(case, compaction) <= TURNS;
    // The last round may still be going on.
    let open = usize::from(case.compactions.last().is_some_and(|last| !refilled(&last)));
    let last: Vec<&Compaction> = case.compactions.iter().rev().skip(open).take_while(refilled).collect();
    if last.len() < IN_A_ROW {
        return None;
    }
    let line = format!(
        "the last {} were each refilled to the trigger within {TURNS} turns",
        count(last.len(), "compaction")
    );
    let rounds = last.iter().take(3).map(|compaction| {
        let text = format!(
            "compaction left {}, refilled to {}",
            compaction.counted.1.map_or_else(|| about(compaction.estimated.1), exact),
            compaction.refilled_to.map_or_else(|| "-".to_owned(), exact)
        );
        Evidence::new(text).at([compaction.entry]).by("compaction 2.7")
    });
    let mut finding = Finding::new(Class::CompactionTreadmill, Confidence::Sure, line)
        .by("compaction 2.7")
        .number("compactions", last.len() as f64);
    finding.evidence.extend(rounds);
    let results = last.iter().map(|it| it.refill_results).fold(0.0, f64::max);
    finding
        .evidence
        .push(Evidence::new(format!("up to {} of the refill are tool results", percent(results, 1.0))));
    Some(finding)
}

/// Messages of the person between a compaction and the next, or the call at which the session was at its trigger again.
fn turns_to_refill(case: &Case<'_>, compaction: &Compaction) -> usize {
    let behind = |entry: EntryIx| entry > compaction.entry;
    let next = case.compactions.iter().map(|it| it.entry).find(|entry| behind(*entry));
    let at_trigger =
        case.calls.iter().find(|call| behind(call.entry) && call.prompt as f64 >= case.trigger());
    let Some(until) = next.or(at_trigger.map(|call| call.entry)) else { return usize::MAX };
    let index = &case.inspection.index;
    let between = case.path.iter().filter(|ix| behind(**ix) && **ix < until);
    between.filter(|ix| index.entry(**ix).role() == Some(Role::User)).count()
}

/// The next turn does not fit, and no working compaction comes first.
fn at_risk(case: &Case<'_>) -> Option<Finding> {
    let (prompt, counted) = case.prompt();
    let window = case.inspection.upkeep.runtime_window.min(case.inspection.window.own);
    let turn = case.typical_turn();
    let next = (prompt + turn) as f64;
    let compacts = compaction_works(case) && compared(case) > case.trigger();
    if window.is_nan() || window <= 0.0 || next <= window || compacts {
        return None;
    }
    let line = format!(
        "the next turn takes {} of {}, and no compaction comes before it",
        about(next as u64),
        exact(window as u64)
    );
    let size = format!("{} now, a typical turn adds {}", told(prompt, counted), about(turn));
    Some(
        Finding::new(Class::AtRisk, Confidence::Likely, line)
            .by("compaction 2.7")
            .seen(Evidence::new(size).at(case.calls.last().map(|call| call.entry)))
            .number("prompt", prompt as f64)
            .number("turn", turn as f64)
            .number("window", window),
    )
}

/// Tokens that the runtime compares with its trigger before the next run: the last answer's own count.
fn compared(case: &Case<'_>) -> f64 {
    let last = case.calls.last().map(|call| call.context_tokens).filter(|tokens| tokens.is_finite());
    last.unwrap_or(0.0)
}

/// Whether a compaction that is due would free something.
fn compaction_works(case: &Case<'_>) -> bool {
    let last_failed = case.compactions.last().is_some_and(freed_nothing);
    case.inspection.configured.compaction.enabled && !last_failed
}

/// Prompt and tools alone nearly reach the trigger.
fn fixed(case: &Case<'_>) -> Option<Finding> {
    let fixed = case.fixed?;
    let trigger = case.trigger();
    if trigger <= 0.0 || (fixed as f64) < FIXED * trigger || fixed as f64 >= trigger {
        return None;
    }
    let line = format!("fixed parts take {} of the trigger {}", about(fixed), exact(trigger as u64));
    Some(
        Finding::new(Class::FixedOverhead, Confidence::Likely, line)
            .by("compaction 11.3")
            .number("fixed", fixed as f64),
    )
}

fn healthy(case: &Case<'_>) -> Finding {
    let (prompt, counted) = case.prompt();
    let (window, trigger) = (case.window(), case.trigger());
    let spare = window.saturating_sub(prompt);
    let line = if window == 0 {
        format!("No overflow: {} tokens, and no window is known", told(prompt, counted))
    } else if trigger > 0.0 && prompt as f64 > trigger {
        format!("Fits: {} to spare; the next turn compacts first", short(spare))
    } else if trigger > 0.0 && trigger < window as f64 {
        format!("Fits: {} to spare, {} to compaction", short(spare), short((trigger - prompt as f64) as u64))
    } else {
        format!("Fits: {} to spare", short(spare))
    };
    let source = if counted { "counted by the provider" } else { "estimated" };
    let size = format!("{} of {}, {source}", told(prompt, counted), exact(window));
    Finding::new(Class::Healthy, Confidence::Sure, line)
        .by("compaction 2.7")
        .seen(Evidence::new(size).at(case.calls.last().map(|call| call.entry)))
        .seen(
            Evidence::new(format!("compaction above {}", exact(trigger.max(0.0) as u64)))
                .by("compaction 2.7"),
        )
        .number("prompt", prompt as f64)
        .number("window", window as f64)
        .number("spare", spare as f64)
}
