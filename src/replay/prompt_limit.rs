//! The number of tokens that fit at a call. Both traces share this rule, so that a replay under the settings in force
//! agrees with the record: an answered prompt did fit, a refused one did not, and beyond the record the window decides.

use crate::replay::calls::{ModelCall, RefusalReason, RefusedCall};
use crate::replay::{ReplaySession, Settings};
use crate::store::entry::StopReason;
use crate::units::Tokens;

/// Limits for the prompt of one call, in tokens; infinite where the window is unknown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PromptLimit {
    /// Above it the prompt overflows.
    pub(super) fits: f64,
    /// Above it there is no answer either. Between the two limits the call has an answer, which the runtime takes for
    /// an overflow because its prompt exceeded the runtime's window (compaction 8.1 ii); the runtime checks only the
    /// last answer of a run.
    pub(super) answered: f64,
}

impl PromptLimit {
    /// `recorded` is the size of the call's prompt in the record, in tokens.
    pub(super) fn of(
        session: &ReplaySession<'_>,
        settings: &Settings,
        call: &ModelCall,
        recorded: f64,
    ) -> Self {
        let gain = session.reply_gain(&call.cache_key, settings);
        // `min` ignores a NaN window.
        let asked = |refused: &RefusedCall| !matches!(refused.reason, RefusalReason::Gateway { .. });
        if let Some(refused) = call.refused.filter(|_| call.usage.is_none()).filter(asked) {
            // The request was refused for its bytes: the token count did not matter, so nothing is known to fit.
            let below = if refused.reason == RefusalReason::Bytes {
                0.0
            } else {
                session.provider_window(&call.cache_key).min(Tokens(recorded - 1.0)).get() + gain
            };
            return Self { fits: below, answered: below };
        }
        let unknown = |window: f64| if window.is_nan() { f64::INFINITY } else { window };
        let provider = unknown(session.provider_window(&call.cache_key).get()) + gain;
        // The gateway refused the prompt without asking the provider. Unless other calls show less, the provider is
        // believed to serve the configured window.
        let was_asked = call.refused.as_ref().is_none_or(asked);
        let own =
            settings.assumptions.runtime_window.filter(|_| session.model_limits(&call.cache_key).is_none());
        let other = settings.assumptions.of_model(&call.cache_key).and_then(|model| model.window);
        let configured = other.or(own);
        let is_learnt = session.provider_window(&call.cache_key) < session.believed_window(&call.cache_key);
        let answered = match configured.filter(|_| !is_learnt) {
            _ if was_asked => provider.max(recorded),
            Some(configured) => provider.max(configured.get() + gain),
            None => provider,
        };
        let fits = match call.refused.filter(asked) {
            Some(_) => provider.min(recorded - 1.0),
            None => configured.map_or(answered, |window| answered.min(trusted_prompt(call, window))),
        };
        Self { fits, answered }
    }
}

/// Returns the largest prompt whose answer the runtime believes under a changed window, in tokens: it takes the last answer
/// of a run for an overflow if the prompt, without what was written to the cache, exceeded the window (compaction 8.1 ii).
fn trusted_prompt(call: &ModelCall, window: Tokens) -> f64 {
    let written = call.usage.map_or(Tokens::ZERO, |usage| usage.cache_write);
    let written = if written.is_finite() { written } else { Tokens::ZERO };
    match call.stop_reason {
        StopReason::Stop if call.usage.is_some() => (window + written).get(),
        _ => f64::INFINITY,
    }
}
