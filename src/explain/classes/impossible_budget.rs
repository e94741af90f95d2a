//! A reserve that leaves less room than what precedes the messages takes: every call is over the trigger, and no compaction
//! brings it under.

use crate::explain::case::Case;
use crate::explain::finding::{Class, Confidence, Evidence, Finding};
use crate::explain::words::{about, exact};

pub(super) fn look(case: &Case<'_>) -> Option<Finding> {
    let fixed = case.fixed?;
    let window = case.inspection.upkeep.runtime_window.min(case.inspection.window.tokens);
    let reserve = case.inspection.configured.compaction.reserve_tokens;
    let usable = (window - reserve).max(0.0) as u64;
    if window <= 0.0 || !case.inspection.configured.compaction.enabled || fixed <= usable {
        return None;
    }
    let most = (window / 4.0).floor() as u64;
    let floor = if most < reserve as u64 && fixed + most < window as u64 {
        format!("the reserve must go down (<= {}), not up", exact(most))
    } else {
        "no reserve makes room: only a larger window or a shorter prompt does".to_owned()
    };
    let line =
        format!("Impossible budget: fixed overhead {} > {} usable; {floor}", about(fixed), exact(usable));
    let confidence = if case.inspection.fixed.is_some() { Confidence::Sure } else { Confidence::Likely };
    let sum = Evidence::new(format!(
        "window {} - reserve {} = {} for system prompt, tools and messages",
        exact(window as u64),
        exact(reserve as u64),
        exact(usable)
    ));
    let mut finding = Finding::new(Class::ImpossibleBudget, confidence, line)
        .by("compaction 2.7")
        .seen(sum.by("compaction 2.7"))
        .number("fixed", fixed as f64)
        .number("usable", usable as f64)
        .number("window", window)
        .number("reserve", reserve);
    finding.evidence.extend(case.failure.as_ref().map(super::numbers_of));
    Some(finding)
}
