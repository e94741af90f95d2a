//! A session looked at from another leaf than its own: after some entry, or as it was when a call was made.

use std::sync::Arc;

use crate::context::build_context;
use crate::gateway::eligibility::ModelRoute;
use crate::ids::EntryIx;
use crate::policy::PolicySet;
use crate::policy::prune::touches;
use crate::session::item_loading::last_call;
use crate::session::overflow::{ModelWindow, Overflow};
use crate::session::setting_change::SettingChange;
use crate::session::simulated_settings::simulate_settings;
use crate::session::{LoadedSession, Unmeasured};
use crate::transcript::Leaf;

impl LoadedSession {
    /// The session at a leaf; none where the runtime could not build its context.
    pub fn at_leaf(&self, leaf: Leaf) -> Option<Self> {
        let context = build_context(&self.index, &self.tree, &leaf).ok()?;
        let mut moved = Self {
            leaf,
            context: Arc::new(context),
            context_throws: false,
            details: None,
            // What a provider counted belongs to the session's own leaf.
            measured: Err(Unmeasured::OtherLeaf),
            ..self.clone()
        };
        moved.load_prompt_report();
        moved.recount_prompt();
        Some(moved)
    }

    /// The session at a leaf whose context the runtime could not build.
    #[must_use]
    pub fn without_context(&self, leaf: Leaf) -> Self {
        let measured = Err(Unmeasured::OtherLeaf);
        let context = Arc::default();
        let mut moved = Self { leaf, context, context_throws: true, measured, details: None, ..self.clone() };
        moved.load_prompt_report();
        moved.recount_prompt();
        moved
    }

    /// The session with an entry as its leaf.
    pub fn at_entry(&self, entry: EntryIx) -> Option<Self> {
        let index = &self.index;
        self.at_leaf(Leaf::Id(index.ids.text(index.entry(entry).id?).to_owned()))
    }

    /// The session as it was when the call of an overflow was made.
    pub fn before_call(&self, overflow: &Overflow) -> Option<Self> {
        // An answer that overflowed in silence, or was cut short, is no part of its own prompt either.
        let then = self.at_entry(self.tree.parent(overflow.entry)?)?;
        let touch = touches(&self.index).find(|(entry, _)| *entry < overflow.entry);
        Some(Self { last_cache_touch_ms: touch.map(|(_, at)| at), ..then })
    }

    /// The session with its window changed.
    #[must_use]
    pub fn with_window_changes(&self, changes: &[SettingChange]) -> Self {
        let simulated = simulate_settings(self, changes, PolicySet::NONE);
        let mut assuming = Self { window: simulated.window, ..self.clone() };
        if let Some(window) = simulated.assumed.runtime_window {
            assuming.limits.runtime_window = window;
        }
        assuming
    }

    /// The failed call as it was made: the session up to it, its model, its moment.
    pub fn at_failed_call(&self, overflow: &Overflow) -> Option<Self> {
        let then = self.at_entry(overflow.entry)?;
        let touch = touches(&self.index).find(|(entry, _)| *entry < overflow.entry);
        let then = Self { last_cache_touch_ms: touch.map(|(_, at)| at), ..then };
        let words = &then.index.values;
        let model = overflow.model.and_then(|(provider, id)| Some((words.text(provider)?, words.text(id)?)));
        let then = match model {
            Some((provider, model)) => then.with_model(provider, model),
            None => then,
        };
        Some(Self { last_call_ms: last_call(&then), ..then })
    }

    /// The same with the model of a call: its window, its way to the provider.
    #[must_use]
    pub fn with_model(self, provider: String, model: String) -> Self {
        if (&self.provider, &self.model) == (&provider, &model) {
            return self;
        }
        let window = ModelWindow::for_model(&self.overflow_scope(), &provider, &model);
        let mut called = Self {
            window: window.gateway,
            route: ModelRoute::from_config(&self.config.js_root, &provider, &model),
            provider,
            model,
            ..self
        };
        called.limits.runtime_window = window.runtime;
        called
    }
}
