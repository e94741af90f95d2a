//! Changes that a person asks about: the replay of the session under them, whether they help or not.

use crate::policy::settings::SettingId;
use crate::report::explain::advice::candidates::advised_change;
use crate::report::explain::advice::search::try_on_failure;
use crate::report::explain::advice::{Advice, AdviceOutcome, render_patch};
use crate::report::explain::case::OverflowCase;
use crate::report::explain::finding::FindingClass;
use crate::report::explain::replay_runner::ReplayRunner;
use crate::session::replay_inputs::ReplayInputs;
use crate::session::replay_summary::ReplaySummary;
use crate::session::setting_change::SettingChange;
use crate::store::body::BodyError;
use crate::units::Tokens;

/// Replays the session under changes, and as recorded.
///
/// # Errors
/// When an entry cannot be read again.
pub(in crate::report::explain) fn try_changes(
    case: &OverflowCase<'_>,
    inputs: Option<&ReplayInputs>,
    changes: &[SettingChange],
    verdict: Option<FindingClass>,
) -> Result<(Advice, ReplaySummary), BodyError> {
    if let Some((failure, runner)) = case.failure.as_ref().zip(case.replays.as_ref()) {
        let advice = try_on_failure(runner, failure, case.tokens_to_continue(), verdict, changes);
        return Ok((advice, runner.run_recorded()));
    }
    let runner = ReplayRunner::read(case.session, None, inputs)?;
    let set = changes.iter().rev().find(|change| change.id == SettingId::ContextWindow);
    let set = set.and_then(|change| change.value.as_f64()).map(|window| Tokens(window).whole());
    let limit = set.or_else(|| runner.learned_limit(None)).unwrap_or_else(|| case.window());
    Ok(try_on_session(&runner, changes, limit))
}

/// Replays a session in which no call was refused for its size. `limit` is in tokens.
pub(super) fn try_on_session(
    runner: &ReplayRunner,
    changes: &[SettingChange],
    limit: u64,
) -> (Advice, ReplaySummary) {
    let (recorded, whole) = (runner.run_recorded(), runner.run_under(changes));
    let changes: Vec<_> = changes.iter().map(|change| advised_change(&runner.session, change)).collect();
    let (patch, commands) = render_patch(&changes);
    let advice = Advice {
        changes,
        tokens_before: recorded.peak_tokens,
        tokens_after: whole.peak_tokens,
        limit,
        fits: whole.overflows == 0,
        fits_all: whole.overflows == 0,
        has_room: true,
        whole,
        outcome: match whole.overflows {
            0 => AdviceOutcome::Fits { compactions: whole.compactions },
            calls => AdviceOutcome::CallsTooLarge(calls),
        },
        patch,
        commands,
    };
    (advice, recorded)
}
