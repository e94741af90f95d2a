//! Nothing is wrong: how much room is left, and which threshold comes first.

use crate::explain::case::Case;
use crate::explain::finding::{Class, Confidence, Evidence, Finding};
use crate::explain::words::{exact, thousands, told};

pub(super) fn finding(case: &Case<'_>) -> Finding {
    let (prompt, counted) = case.prompt();
    let window = case.window();
    let sign = if counted { "" } else { "~" };
    let spare = window.saturating_sub(prompt);
    let trigger = case.trigger();
    let compaction = match case.inspection.compaction.enabled {
        false => "compaction is switched off".to_owned(),
        true if trigger <= prompt as f64 => "the next turn compacts".to_owned(),
        true => format!("compaction comes in {sign}{}", thousands((trigger - prompt as f64) as u64)),
    };
    let line = if window == 0 {
        format!("No overflow: {} tokens, and no window is known", told(prompt, counted))
    } else {
        format!("Fits: {sign}{} to spare; {compaction}", thousands(spare))
    };
    let source = if counted { "counted by the provider" } else { "estimated" };
    let size = Evidence::new(format!("{} tokens of {}, {source}", exact(prompt), exact(window)));
    Finding::new(Class::Healthy, Confidence::Sure, line)
        .by("compaction 2.7")
        .seen(size.at(case.calls.last().map(|call| call.entry)))
        .seen(
            Evidence::new(format!("compaction above {} tokens", exact(trigger.max(0.0) as u64)))
                .by("compaction 2.7"),
        )
        .number("prompt", prompt as f64)
        .number("window", window as f64)
        .number("spare", spare as f64)
}
