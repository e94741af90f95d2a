//! The reserve that works where the configured one leaves no room for a conversation.

use crate::js::Value;
use crate::policy::settings::SettingId;
use crate::report::explain::advice::asked::try_on_session;
use crate::report::explain::advice::candidates::settable_change;
use crate::report::explain::advice::search::SearchResult;
use crate::report::explain::case::OverflowCase;
use crate::report::explain::replay_runner::ReplayRunner;
use crate::session::replay_inputs::ReplayInputs;
use crate::session::setting_change::SettingChange;
use crate::store::body::BodyError;
use crate::units::Tokens;

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
