//! The model whose settings a person means when they name none: that of the failing call.

use crate::gateway::window::configured_max_tokens;
use crate::ids::EntryIx;
use crate::session::LoadedSession;
use crate::session::overflow::Overflow;
use crate::session::setting_change::SettingChange;
use crate::store::entry::StopReason;
use crate::store::intern::ValueIx;
use crate::units::Tokens;

/// Returns the overflow to explain: the first of the last series without an answer in between.
pub fn failed_call(session: &LoadedSession) -> Option<&Overflow> {
    let overflows = &session.overflows;
    let index = &session.index;
    let answers = |at: usize| {
        let entry = &index.entries[at];
        let failed = |stop| matches!(stop, StopReason::Error | StopReason::Aborted);
        let refused = || session.overflow_at(EntryIx(at as u32)).is_some();
        entry.is_model_call() && entry.message.is_some_and(|size| !failed(size.stop_reason)) && !refused()
    };
    let mut first = overflows.len().checked_sub(1)?;
    while first > 0 && !(overflows[first - 1].entry.index() + 1..overflows[first].entry.index()).any(answers)
    {
        first -= 1;
    }
    overflows.get(first)
}

/// Provider and model.
pub type ModelNames = (String, String);

impl LoadedSession {
    /// Returns the provider and model of a call.
    pub fn model_names(&self, model: (ValueIx, ValueIx)) -> Option<ModelNames> {
        Some((self.index.values.text(model.0)?, self.index.values.text(model.1)?))
    }

    /// Returns the model that a setting of a model changes.
    pub fn model_of_change(&self, change: &SettingChange) -> ModelNames {
        let named = change.model.as_deref().and_then(|named| named.split_once('/'));
        named
            .map_or_else(|| self.failing_model(), |(provider, model)| (provider.to_owned(), model.to_owned()))
    }

    /// Returns the model of the failing call, or else the session's.
    pub fn failing_model(&self) -> ModelNames {
        let failing = failed_call(self).and_then(|overflow| overflow.model);
        failing
            .and_then(|model| self.model_names(model))
            .unwrap_or_else(|| (self.provider.clone(), self.model.clone()))
    }

    /// Whether a model is the session's own.
    pub fn is_own_model(&self, (provider, model): &ModelNames) -> bool {
        (provider, model) == (&self.provider, &self.model)
    }

    /// Returns a model as the calls of the transcript name it; `None` if no call used it.
    pub fn called_model(&self, names: &ModelNames) -> Option<(ValueIx, ValueIx)> {
        let mut seen = std::collections::HashSet::new();
        let mut called = self.index.iter().filter_map(|(_, entry)| entry.model);
        called.find(|model| seen.insert(*model) && self.model_names(*model).as_ref() == Some(names))
    }

    /// Returns the `maxTokens` of a model: from the configuration, else from the agent's registry.
    pub fn max_tokens(&self, (provider, model): &ModelNames) -> Option<Tokens> {
        let registered = || self.config.registry_model(&self.item.agent, provider, model)?.1.max_tokens;
        configured_max_tokens(&self.config.js_root, provider, model).or_else(registered)
    }
}
