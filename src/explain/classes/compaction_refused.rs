//! A second compaction where the branch ended with one: the runtime has nothing to prepare, and the prompt still does not
//! fit (compaction 3.1, 8.20).

use crate::explain::case::Case;
use crate::explain::classes::{by_count, numbers_of, overflow};
use crate::explain::errors::Kind;
use crate::explain::finding::{Class, Evidence, Finding};
use crate::explain::words::about;
use crate::store::entry::{Role, StopReason};

pub(super) fn look(case: &Case<'_>) -> Option<Finding> {
    let failure = case.failure.as_ref()?;
    let context = &failure.then.context;
    let compaction = context.compaction?;
    let index = &case.inspection.index;
    let place = context.path.iter().position(|ix| *ix == compaction)?;
    let answered = context.path[place + 1..].iter().any(|ix| {
        index.entry(*ix).message.is_some_and(|size| {
            size.role == Role::Assistant && !matches!(size.stop, StopReason::Error | StopReason::Aborted)
        })
    });
    if answered || !matches!(failure.overflow.kind, Kind::Refused(_)) {
        return None;
    }
    // Behind it no other was written: the next one was refused.
    let again = case.compactions.iter().any(|it| it.entry > failure.overflow.entry);
    if again {
        return None;
    }
    let kept = failure.estimate().saturating_sub(failure.fixed);
    let line = format!(
        "{}: refused right behind compaction {}, and a second one is refused while the branch ends with the first; what that kept ({} tokens) is itself too large - branch before it, and keep less",
        overflow(failure),
        index.name(compaction),
        about(kept),
    );
    Some(
        Finding::new(Class::CompactionRefused, by_count(failure), line)
            .by("compaction 3.1")
            .seen(numbers_of(failure))
            .seen(
                Evidence::new("the compaction that the branch ends with")
                    .at([compaction])
                    .by("compaction 3.1"),
            )
            .number("over", failure.over() as f64)
            .number("kept", kept as f64),
    )
}
