//! Views of a session from another leaf than its own: after some entry, or just before a model call.
//!
//! An overflow is explained with the context, model and time of its own call, which later entries have replaced.

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
use crate::session::{LoadedSession, UnmeasuredReason};
use crate::transcript::Leaf;

impl LoadedSession {
    /// Returns the session at `leaf`, or `None` if the runtime could not build the context there.
    pub fn at_leaf(&self, leaf: Leaf) -> Option<Self> {
        let context = build_context(&self.index, &self.tree, &leaf).ok()?;
        let mut moved = Self {
            leaf,
            context: Arc::new(context),
            context_throws: false,
            details: None,
            // The provider counted the prompt of the session's own leaf.
            measured: Err(UnmeasuredReason::OtherLeaf),
            ..self.clone()
        };
        moved.load_prompt_report();
        moved.recount_prompt();
        moved.assume_summary_length();
        Some(moved)
    }

    /// Returns the session at a leaf whose context the runtime fails to build.
    #[must_use]
    pub fn without_context(&self, leaf: Leaf) -> Self {
        let measured = Err(UnmeasuredReason::OtherLeaf);
        let context = Arc::default();
        let mut moved = Self { leaf, context, context_throws: true, measured, details: None, ..self.clone() };
        moved.load_prompt_report();
        moved.recount_prompt();
        moved
    }

    /// Returns the session with `entry` as its leaf, or `None` if the entry has no id.
    pub fn at_entry(&self, entry: EntryIx) -> Option<Self> {
        let index = &self.index;
        self.at_leaf(Leaf::Id(index.ids.text(index.entry(entry).id?).to_owned()))
    }

    /// Returns the session in its state before the call that overflowed.
    pub fn before_call(&self, overflow: &Overflow) -> Option<Self> {
        // The answer itself was not in its own prompt, so the leaf is its parent.
        let then = self.at_entry(self.tree.parent(overflow.entry)?)?;
        let touch = touches(&self.index).find(|(entry, _)| *entry < overflow.entry);
        Some(Self { last_cache_touch_ms: touch.map(|(_, at)| at), ..then })
    }

    /// Returns the session with the window and the limits of workspace files that these changes give it.
    #[must_use]
    pub fn with_window_changes(&self, changes: &[SettingChange]) -> Self {
        let simulated = simulate_settings(self, changes, PolicySet::NONE);
        let mut assuming = Self { window: simulated.window, ..self.clone() };
        if let Some(window) = simulated.assumed.runtime_window {
            assuming.limits.runtime_window = window;
        }
        let files_reduction = simulated.assumed.fixed_reduction.round() as i64;
        Arc::make_mut(&mut assuming.next_prompt).files_reduction = files_reduction;
        assuming
    }

    /// Returns the session in its state at the failed call: its path, model and time.
    pub fn at_failed_call(&self, overflow: &Overflow) -> Option<Self> {
        let mut then = self.at_entry(overflow.entry)?;
        let is_answer = then.context.messages.iter().last().is_some_and(|last| last.entry == overflow.entry);
        Arc::make_mut(&mut then.context).ends_with_answer = is_answer;
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

    /// Returns the session with another model, that model's window and its route to the provider.
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
