//! A plugin in the place of the gateway's own context engine: it says what is sent and when to compact, and the gateway's
//! settings of both may never be asked.

use crate::explain::case::Case;
use crate::explain::classes::{numbers_of, overflow};
use crate::explain::finding::{Class, Confidence, Evidence, Finding};
use crate::explain::words::{about, count, exact, told};
use crate::inspect::words::moment;

/// The slot of the configuration that names the engine.
pub(super) const SLOT: [&str; 3] = ["plugins", "slots", "contextEngine"];
/// What stands there for the gateway's own, or for none.
const OWN: [&str; 3] = ["legacy", "none", ""];

/// The plugin, where one is configured.
pub(super) fn engine(case: &Case<'_>) -> Option<String> {
    let slot = case.inspection.config.value(&SLOT)?.as_str()?.to_string_lossy();
    let name = slot.trim();
    (!OWN.contains(&name.to_lowercase().as_str())).then(|| name.to_owned())
}

pub(super) fn look(case: &Case<'_>) -> Option<Finding> {
    let failure = case.failure.as_ref()?;
    let engine = engine(case)?;
    let estimate = failure.estimate();
    let trigger = case.trigger();
    let line = format!(
        "{}: context engine {engine} decides what is sent and when to compact; {} tokens were sent where the transcript alone is {}; the gateway's compaction settings are not asked - look at the settings of {engine}",
        overflow(failure),
        told(failure.requested, failure.counted),
        about(estimate),
    );
    let slot = format!("{} is {engine:?}", SLOT.join("."));
    let compacted = match case.compactions.last() {
        None => format!(
            "no compaction was ever written, with the gateway's own trigger at {}",
            exact(trigger.max(0.0) as u64)
        ),
        Some(last) => format!(
            "{}, the last one{}",
            count(case.compactions.len(), "compaction"),
            moment(last.at).map(|at| format!(" at {at}")).unwrap_or_default()
        ),
    };
    let last = case.compactions.last().map(|it| it.entry);
    Some(
        Finding::new(Class::EngineOwned, Confidence::Likely, line)
            .by("compaction 2.1")
            .seen(numbers_of(failure))
            .seen(Evidence::new(slot))
            .seen(Evidence::new(compacted).at(last))
            .number("over", failure.over() as f64)
            .number("estimate", estimate as f64)
            .number("requested", failure.requested as f64),
    )
}
