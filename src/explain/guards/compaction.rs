//! Compaction as a guard: above its trigger before the call, and after the refusal.

use crate::explain::case::Case;
use crate::explain::check::{last_check, looks_between_turns};
use crate::explain::failure::Failure;
use crate::explain::guards::{Guard, GuardKind, GuardState};
use crate::explain::words::{count, exact};
use crate::store::entry::EntryKind;

pub(super) fn threshold(case: &Case<'_>, failure: &Failure) -> Guard {
    let new = |state, why: String| Guard::new(GuardKind::Compaction, state, why);
    let settings = failure.then.configured.compaction;
    if !settings.enabled {
        return new(GuardState::Blocked, "compaction.enabled is false".to_owned());
    }
    let trigger = settings.threshold(failure.believed.runtime).max(0.0);
    let within = if looks_between_turns(&failure.then) { "" } else { "; not checked within a run" };
    let Some(check) = last_check(failure, &case.calls) else {
        return new(GuardState::NotDue, format!("no count yet to compare with {}", exact(trigger as u64)));
    };
    let compared =
        format!("compared {} with its trigger {}", exact(check.tokens as u64), exact(trigger as u64));
    if check.tokens <= trigger {
        return new(GuardState::NotDue, format!("{compared}{within}"))
            .due_by(trigger - check.tokens)
            .at(check.entry);
    }
    let index = &case.inspection.index;
    let after = check.entry.at() + 1..failure.overflow.entry.at();
    let acted = after.clone().any(|at| index.entries[at].kind == EntryKind::Compaction);
    let (state, why) = if acted {
        (GuardState::Acted, format!("{compared} and compacted"))
    } else {
        (GuardState::Failed, format!("{compared}, but no compaction followed"))
    };
    new(state, why).at(check.entry)
}

pub(super) fn recovery(case: &Case<'_>, failure: &Failure) -> Guard {
    let new = |state, why: String| Guard::new(GuardKind::Recovery, state, why).at(failure.overflow.entry);
    let name = case.inspection.release();
    let done = case.compactions.iter().filter(|it| it.entry > failure.overflow.entry).count();
    match (failure.overflow.recognised, done) {
        (Some(false), 0) => new(
            GuardState::Blocked,
            format!("{name} did not recognise this as an overflow, so it did not compact"),
        ),
        (_, 0) => new(GuardState::Failed, "no compaction followed the refusal".to_owned()),
        (_, done) => new(GuardState::Acted, format!("{} followed the refusal", count(done, "compaction"))),
    }
}
