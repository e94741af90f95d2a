//! Resolves the window of each model that a transcript called, because a call is judged by its own model's window.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::gateway::window::{WindowInfo, WindowSource, runtime_window};
use crate::session::overflow::call::OverflowScope;
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
        let known = scope.config.known_window(scope.agent, provider, model);
        Self {
            gateway: scope.config.window(scope.ruleset.rules(), scope.agent, provider, model),
            runtime: runtime_window(&scope.config.js_root, provider, model, known),
        }
    }

    /// Whether anyone named the model's window; a filled-in default does not count.
    pub fn is_known(&self) -> bool {
        self.gateway.source != WindowSource::Default
            && (self.gateway.source != WindowSource::AgentContextTokens
                || self.gateway.model_tokens != self.gateway.tokens)
    }
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

    /// Returns the runtime's window for the model of a call, or `None` if no setting names that window.
    pub(super) fn known_window(&self, model: Option<(ValueIx, ValueIx)>) -> Option<Tokens> {
        let model = model?;
        let window = *self.windows.borrow_mut().entry(model).or_insert_with(|| {
            let words = &self.scope.index.values;
            Some(ModelWindow::for_model(self.scope, &words.text(model.0)?, &words.text(model.1)?))
        });
        window
            .filter(ModelWindow::is_known)
            .map(|window| window.runtime)
            .filter(|window| *window > Tokens::ZERO)
    }
}
