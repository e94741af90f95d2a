//! Resolves the window of each model that a transcript called, because a call is judged by its own model's window.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::gateway::window::{DEFAULT_WINDOW, KnownWindow, WindowInfo, WindowSource, runtime_window};
use crate::session::overflow::answered::largest_answer;
use crate::session::overflow::call::{OverflowKind, OverflowScope};
use crate::store::intern::ValueIx;
use crate::units::Tokens;

/// The windows of one model, in tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelWindow {
    /// The gateway's window after `contextTokens`, and its source.
    pub gateway: WindowInfo,
    /// The runtime's own window (compaction 2.8).
    pub runtime: Tokens,
}

impl ModelWindow {
    pub fn for_model(scope: &OverflowScope<'_>, provider: &str, model: &str) -> Self {
        let config = scope.config;
        let known =
            at_least_proved(scope, (provider, model), config.known_window(scope.user, provider, model));
        let tokens = known.map(|known| known.tokens);
        Self {
            gateway: config.window_from(scope.ruleset.rules(), (provider, model), known),
            runtime: runtime_window(&config.js_root, provider, model, tokens),
        }
    }

    /// Whether anyone named the model's window; a filled-in default does not count.
    pub fn is_known(&self) -> bool {
        !self.gateway.model_source.is_assumed()
            && self.gateway.model_source != WindowSource::AgentContextTokens
    }
}

/// Raises a window that only a list or the default names to what the provider's refusals state or its answers prove.
fn at_least_proved(
    scope: &OverflowScope<'_>,
    (provider, model): (&str, &str),
    known: Option<KnownWindow>,
) -> Option<KnownWindow> {
    if known.is_some_and(|known| known.source.is_evidence()) {
        return known;
    }
    let assumed = known.map_or(DEFAULT_WINDOW, |known| known.tokens);
    let answered = largest_answer(scope.index, provider, model).unwrap_or_default();
    let stated = largest_stated(scope, provider, model).unwrap_or_default();
    match (stated.max(answered) > assumed, stated >= answered) {
        (false, _) => known,
        (true, true) => Some(KnownWindow::new(stated, WindowSource::Stated)),
        (true, false) => Some(KnownWindow::new(answered, WindowSource::Answered)),
    }
}

/// Returns the largest limit that the provider's refusals of a model state.
fn largest_stated(scope: &OverflowScope<'_>, provider: &str, model: &str) -> Option<Tokens> {
    let words = &scope.index.values;
    let is_it = |(own, id): (ValueIx, ValueIx)| {
        words.text(own).as_deref() == Some(provider) && words.text(id).as_deref() == Some(model)
    };
    let own = scope.refusals.iter().filter(|refusal| refusal.kind == OverflowKind::Refused);
    let own = own.filter(|refusal| refusal.model.is_some_and(is_it));
    own.filter_map(|refusal| refusal.limit).max().map(|limit| Tokens(limit as f64))
}

/// The windows of a transcript's models, each resolved once.
pub(super) struct WindowCache<'a> {
    scope: &'a OverflowScope<'a>,
    windows: RefCell<HashMap<(ValueIx, ValueIx), Option<ModelWindow>>>,
}

impl<'a> WindowCache<'a> {
    pub(super) fn new(scope: &'a OverflowScope<'a>) -> Self {
        Self { scope, windows: RefCell::default() }
    }

    /// Whether someone configured the window of a call's model.
    pub(super) fn is_configured(&self, model: Option<(ValueIx, ValueIx)>) -> bool {
        self.window(model).is_some_and(|window| window.gateway.model_source.is_configured())
    }

    /// Returns the runtime's window for the model of a call, or `None` if no setting names that window.
    pub(super) fn known_window(&self, model: Option<(ValueIx, ValueIx)>) -> Option<Tokens> {
        let known = self.window(model).filter(ModelWindow::is_known);
        known.map(|window| window.runtime).filter(|window| *window > Tokens::ZERO)
    }

    fn window(&self, model: Option<(ValueIx, ValueIx)>) -> Option<ModelWindow> {
        let model = model?;
        *self.windows.borrow_mut().entry(model).or_insert_with(|| {
            let words = &self.scope.index.values;
            Some(ModelWindow::for_model(self.scope, &words.text(model.0)?, &words.text(model.1)?))
        })
    }
}
