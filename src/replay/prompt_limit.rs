//! How many tokens of a prompt fit at a call. One rule for both lanes, so that a replay under the settings in force agrees
//! with the record: what was answered did fit, what was refused was too much, and beyond what the record tells the window
//! decides.

use crate::replay::ReplaySession;
use crate::replay::calls::ModelCall;

/// Bounds of the prompt of one call, in tokens; without end where nobody knows a window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PromptLimit {
    /// Above it the prompt counts as too large.
    pub(super) fits: f64,
    /// Above it there is no answer either. Between the two lies an answer that the runtime takes for an overflow because it
    /// took in more than the window the runtime goes by (compaction 8.1 ii); only the last answer of a run is looked at.
    pub(super) answered: f64,
}

impl PromptLimit {
    /// At a call whose prompt had `recorded` tokens.
    pub(super) fn of(session: &ReplaySession<'_>, call: &ModelCall, recorded: f64) -> Self {
        // A minimum with a window that nobody knows is the other number.
        if let Some(refused) = call.refused.filter(|_| call.usage.is_none()) {
            // No number of tokens was too many where bytes were.
            let below = if refused.is_byte_limit {
                0.0
            } else {
                session.provider_window(&call.cache_key).min(recorded - 1.0)
            };
            return Self { fits: below, answered: below };
        }
        let unknown = |window: f64| if window.is_nan() { f64::INFINITY } else { window };
        let provider = unknown(session.provider_window(&call.cache_key));
        let answered = provider.max(recorded);
        let fits = match call.refused {
            Some(_) => provider.min(recorded - 1.0),
            None => answered,
        };
        Self { fits, answered }
    }
}
