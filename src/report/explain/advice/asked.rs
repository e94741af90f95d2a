//! Changes that a person asks about: the replay of the session under them, whether they help or not.

use crate::js::Value;
use crate::policy::settings::SettingId;
use crate::report::explain::advice::candidates::{advised_change, settable_change};
use crate::report::explain::advice::search::{SearchResult, try_on_failure};
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
fn try_on_session(runner: &ReplayRunner, changes: &[SettingChange], limit: u64) -> (Advice, ReplaySummary) {
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

/// Reserves as shares of the window, the mildest change first.
const SHARES: [f64; 7] = [0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1];
/// Share of the window that the messages need between the fixed part and the trigger.
const ROOM_SHARE: f64 = 0.25;

/// Returns the largest reserve that leaves room for messages, replayed; an empty result if no reserve leaves room.
///
/// # Errors
/// When an entry cannot be read again.
pub(in crate::report::explain) fn reserve_that_works(
    case: &OverflowCase<'_>,
    inputs: Option<&ReplayInputs>,
) -> Result<SearchResult, BodyError> {
    let (session, window) = (case.session, case.session.limits.runtime_window);
    let fixed = Tokens(case.fixed_tokens.unwrap_or(0) as f64);
    let reserves = SHARES.iter().map(|share| (window * *share / 1_000.0).floor() * 1_000.0);
    let fits = |reserve: &Tokens| window - *reserve - fixed >= window * ROOM_SHARE;
    let Some(reserve) = reserves.filter(|reserve| *reserve > Tokens::ZERO).find(fits) else {
        return Ok(SearchResult::default());
    };
    let above = |id: &SettingId| {
        let row = session.setting_rows.iter().find(|row| row.setting.id == *id);
        row.and_then(|row| row.setting.value.as_f64()).is_some_and(|value| value > reserve.get())
    };
    let changes: Vec<SettingChange> = [SettingId::ReserveTokens, SettingId::ReserveTokensFloor]
        .into_iter()
        .filter(above)
        .filter_map(|id| settable_change(session, id, Value::from(reserve.get())))
        .collect();
    if changes.is_empty() {
        return Ok(SearchResult::default());
    }
    let runner = ReplayRunner::read(session, None, inputs)?;
    let (advice, recorded) = try_on_session(&runner, &changes, window.whole());
    Ok(SearchResult { advice: vec![advice], recorded: Some(recorded), tried_count: 1, is_exhausted: false })
}
