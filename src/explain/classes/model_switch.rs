//! The call that failed went to another model than those before it, with a smaller window.

use crate::explain::case::Case;
use crate::explain::classes::{numbers_of, overflow};
use crate::explain::failure::Failure;
use crate::explain::finding::{Class, Confidence, Evidence, Finding};
use crate::explain::words::exact;
use crate::store::intern::WordIx;

type Model = (WordIx, WordIx);

pub(super) fn look(case: &Case<'_>) -> Option<Finding> {
    let failure = case.failure.as_ref()?;
    let (from, to) = switched(case, failure)?;
    let (_, before) = failure.before?;
    // The one before it took as much; where it did not, the switch is not what mattered.
    if before as f64 <= failure.limit as f64 * 0.5 {
        return None;
    }
    let name = |model: Model| {
        case.inspection.index.words.text(model.1).unwrap_or_else(|| "an unknown model".to_owned())
    };
    let line = format!(
        "{}: the call went to {} (takes {}) after {}, which had answered {} tokens; compaction goes by the first window",
        overflow(failure),
        name(to),
        exact(failure.limit),
        name(from),
        exact(before),
    );
    let told = failure.overflow.limit.is_some();
    let confidence = if told { Confidence::Sure } else { Confidence::Likely };
    let last = failure.before.map(|(entry, _)| entry);
    Some(
        Finding::new(Class::ModelSwitch, confidence, line)
            .by("compaction 2.8")
            .seen(numbers_of(failure))
            .seen(Evidence::new(format!("the last answer of {}", name(from))).at(last).by("compaction 4.5"))
            .number("limit", failure.limit as f64)
            .number("before", before as f64),
    )
}

/// From which model to which it was, where the failed call was the first of the second.
pub(super) fn switched(case: &Case<'_>, failure: &Failure) -> Option<(Model, Model)> {
    let (before, _) = failure.before?;
    let index = &case.inspection.index;
    let from = index.entry(before).model?;
    let to = index.entry(failure.overflow.entry).model.or(failure.then.context.model)?;
    (from != to).then_some((from, to))
}
