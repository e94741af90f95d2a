//! Compaction as a guard: above its trigger before the call, and after the refusal.

use crate::format::{format_number, quantity};
use crate::report::explain::case::Case;
use crate::report::explain::check::{checks_between_turns, last_check};
use crate::report::explain::failure::Failure;
use crate::report::explain::guards::guard_report::{GuardKind, GuardReport, GuardState};
use crate::store::entry::EntryKind;
use crate::units::Tokens;

pub(super) fn threshold_guard(case: &Case<'_>, failure: &Failure) -> GuardReport {
    let new = |state, why: String| GuardReport::new(GuardKind::Compaction, state, why);
    let settings = failure.session.configured_settings.compaction;
    if !settings.enabled {
        return new(GuardState::Blocked, "compaction.enabled is false".to_owned());
    }
    let trigger = settings.threshold(failure.believed_window.runtime).max(Tokens::ZERO);
    let within = if checks_between_turns(&failure.session) { "" } else { "; not checked during a run" };
    let Some(check) = last_check(failure, &case.calls) else {
        return new(
            GuardState::NotDue,
            format!("no reported usage yet to compare with the trigger {}", format_number(trigger.whole())),
        );
    };
    let compared = format!(
        "compared {} with the trigger {}",
        format_number(check.tokens.whole()),
        format_number(trigger.whole())
    );
    if check.tokens <= trigger {
        return new(GuardState::NotDue, format!("{compared}{within}"))
            .with_missing_tokens(trigger - check.tokens, false)
            .with_entry(check.entry);
    }
    let index = &case.session.index;
    let after = check.entry.index() + 1..failure.overflow.entry.index();
    let acted = after.clone().any(|at| index.entries[at].kind == EntryKind::Compaction);
    let (state, why) = if acted {
        (GuardState::Acted, format!("{compared} and compacted"))
    } else {
        (GuardState::Failed, format!("{compared}, but no compaction followed"))
    };
    new(state, why).with_entry(check.entry)
}

pub(super) fn recovery_guard(case: &Case<'_>, failure: &Failure) -> GuardReport {
    let new = |state, why: String| {
        GuardReport::new(GuardKind::Recovery, state, why).with_entry(failure.overflow.entry)
    };
    let name = case.session.gateway_release();
    let done = case.compactions.iter().filter(|it| it.entry > failure.overflow.entry).count();
    match (failure.overflow.recognised, done) {
        (Some(false), 0) => new(
            GuardState::Blocked,
            format!("{name} did not recognise this as an overflow, so it did not compact"),
        ),
        (_, 0) => new(GuardState::Failed, "no compaction followed the refusal".to_owned()),
        (_, done) => new(GuardState::Acted, format!("{} followed the refusal", quantity(done, "compaction"))),
    }
}
