//! Nothing is wrong: how much room is left, and which threshold comes first.

use crate::explain::case::Case;
use crate::explain::finding::{Class, Confidence, Evidence, Finding};
use crate::explain::simulate::open_plan;
use crate::explain::words::{about, exact, thousands, told};
use crate::inspect::words::span;
use crate::policy::prune::Gate;

pub(super) fn finding(case: &Case<'_>) -> Finding {
    let (prompt, counted) = case.prompt();
    let window = case.window();
    let sign = if counted { "" } else { "~" };
    let spare = window.saturating_sub(prompt);
    let trigger = case.trigger();
    let compaction = match case.inspection.configured.compaction.enabled {
        false => "compaction is switched off".to_owned(),
        true if trigger <= prompt as f64 => "the next turn compacts".to_owned(),
        true => format!("compaction comes in {sign}{}", thousands((trigger - prompt as f64) as u64)),
    };
    let line = if window == 0 {
        format!("No overflow: {} tokens, and no window is known", told(prompt, counted))
    } else {
        format!("Fits: {sign}{} to spare; {compaction}", thousands(spare))
    };
    let pruned = next_pruning(case);
    let line = match &pruned {
        Some((freed, _)) => {
            format!("{line}; the next call would prune {}, as its cache is cold", about(*freed))
        }
        None => line,
    };
    let source = if counted { "counted by the provider" } else { "estimated" };
    let size = Evidence::new(format!("{} tokens of {}, {source}", exact(prompt), exact(window)));
    let mut finding = Finding::new(Class::Healthy, Confidence::Sure, line)
        .by("compaction 2.7")
        .seen(size.at(case.calls.last().map(|call| call.entry)))
        .seen(
            Evidence::new(format!("compaction above {} tokens", exact(trigger.max(0.0) as u64)))
                .by("compaction 2.7"),
        )
        .number("prompt", prompt as f64)
        .number("window", window as f64)
        .number("spare", spare as f64);
    if let Some((freed, idle)) = pruned {
        let text = format!("{} since the last cache touch: the gate of pruning is open", span(idle));
        let touch = case.touches.last().map(|(entry, _)| *entry);
        finding =
            finding.seen(Evidence::new(text).at(touch).by("pruning 4.2")).number("pruned", freed as f64);
    }
    finding
}

/// Tokens that pruning would take out of the next call, and the time since the last touch, where its gate is open.
fn next_pruning(case: &Case<'_>) -> Option<(u64, f64)> {
    let inspection = case.inspection;
    let prune = &inspection.configured.prune;
    let Gate::Open { idle_ms } = inspection.gate(inspection.configured_on, prune, case.now_ms) else {
        return None;
    };
    let plan = open_plan(inspection, prune)?;
    let freed = inspection.budget().total().saturating_sub(inspection.budget_after(&plan).total());
    (freed > 0).then_some((freed, idle_ms))
}
