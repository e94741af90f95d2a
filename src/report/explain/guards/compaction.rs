//! Compaction as a guard: above its trigger before the call, and after the refusal.

use crate::report::explain::case::OverflowCase;
use crate::report::explain::check::{checks_between_turns, last_check};
use crate::report::explain::failure::Failure;
use crate::report::explain::guards::guard_report::{GuardKind, GuardReport, GuardState};
use crate::report::explain::guards::reason::{Comparison, GuardReason};
use crate::store::entry::EntryKind;
use crate::units::Tokens;

pub(super) fn threshold_guard(case: &OverflowCase<'_>, failure: &Failure) -> GuardReport {
    let new = |state, reason| GuardReport::new(GuardKind::Compaction, state, reason);
    let settings = failure.session.configured_settings.compaction;
    if !settings.enabled {
        return new(GuardState::Blocked, GuardReason::CompactionOff);
    }
    let trigger = failure.session.trigger_point_for(&failure.believed_window).tokens.max(Tokens::ZERO);
    let Some(check) = last_check(failure, &case.calls) else {
        return new(GuardState::NotDue, GuardReason::NothingToCompare { trigger });
    };
    let compared = |outcome| GuardReason::Compared { tokens: check.tokens, trigger, outcome };
    if check.tokens <= trigger {
        let repeats_in_run = checks_between_turns(&failure.session);
        return new(GuardState::NotDue, compared(Comparison::Below { repeats_in_run }))
            .with_missing_tokens(trigger - check.tokens, false)
            .with_entry(check.entry);
    }
    let index = &case.session.index;
    let after = check.entry.index() + 1..failure.overflow.entry.index();
    let acted = after.clone().any(|at| index.entries[at].kind == EntryKind::Compaction);
    let (state, outcome) = if acted {
        (GuardState::Acted, Comparison::Compacted)
    } else {
        (GuardState::Failed, Comparison::NotCompacted)
    };
    new(state, compared(outcome)).with_entry(check.entry)
}

pub(super) fn recovery_guard(case: &OverflowCase<'_>, failure: &Failure) -> GuardReport {
    let own = failure.overflow.entry;
    let follows = |entry| entry > own || failure.overflow.is_compaction() && entry == own;
    let done = case.compactions.iter().filter(|it| follows(it.entry)).count();
    let (state, reason) = match (failure.overflow.recognised, done) {
        (Some(false), 0) => {
            (GuardState::Blocked, GuardReason::NotRecognised { release: case.session.gateway_release() })
        }
        (_, 0) => (GuardState::Failed, GuardReason::NoCompaction),
        (_, done) => (GuardState::Acted, GuardReason::CompactionsAfter(done)),
    };
    GuardReport::new(GuardKind::Recovery, state, reason).with_entry(failure.overflow.entry)
}
