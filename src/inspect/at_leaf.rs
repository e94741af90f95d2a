//! A session looked at from another leaf than its own: after some entry, or as it was when a call was made.

use std::sync::Arc;

use crate::context::build;
use crate::gateway::eligible::Route;
use crate::ids::EntryIx;
use crate::inspect::change::Change;
use crate::inspect::count::last_call;
use crate::inspect::overflow::{ModelWindow, Overflow};
use crate::inspect::simulated::simulated;
use crate::inspect::{Inspection, Unmeasured};
use crate::policy::StepSet;
use crate::policy::prune::touches;
use crate::transcript::Leaf;

impl Inspection {
    /// The session at a leaf; none where the runtime could not build its context.
    pub fn at(&self, leaf: Leaf) -> Option<Self> {
        let context = build(&self.index, &self.tree, &leaf).ok()?;
        let mut moved = Self {
            leaf,
            context: Arc::new(context),
            context_throws: false,
            closer: None,
            // What a provider counted belongs to the session's own leaf.
            measured: Err(Unmeasured::OtherLeaf),
            ..self.clone()
        };
        moved.tell_prompt();
        moved.count_prompt();
        Some(moved)
    }

    /// The session at a leaf whose context the runtime could not build.
    #[must_use]
    pub fn without_context(&self, leaf: Leaf) -> Self {
        let measured = Err(Unmeasured::OtherLeaf);
        let context = Arc::default();
        let mut moved = Self { leaf, context, context_throws: true, measured, closer: None, ..self.clone() };
        moved.tell_prompt();
        moved.count_prompt();
        moved
    }

    /// The session with an entry as its leaf.
    pub fn after(&self, entry: EntryIx) -> Option<Self> {
        let index = &self.index;
        self.at(Leaf::Id(index.ids.text(index.entry(entry).id?).to_owned()))
    }

    /// The session as it was when the call of an overflow was made.
    pub fn before_call(&self, overflow: &Overflow) -> Option<Self> {
        // An answer that overflowed in silence, or was cut short, is no part of its own prompt either.
        let then = self.after(self.tree.parent(overflow.entry)?)?;
        let touch = touches(&self.index).find(|(entry, _)| *entry < overflow.entry);
        Some(Self { last_touch: touch.map(|(_, at)| at), ..then })
    }

    /// The session with its window changed.
    #[must_use]
    pub fn assuming(&self, changes: &[Change]) -> Self {
        let simulated = simulated(self, changes, StepSet::NONE);
        let mut assuming = Self { window: simulated.window, ..self.clone() };
        if let Some(window) = simulated.assumed.runtime_window {
            assuming.upkeep.runtime_window = window;
        }
        assuming
    }

    /// The failed call as it was made: the session up to it, its model, its moment.
    pub fn at_failed_call(&self, overflow: &Overflow) -> Option<Self> {
        let then = self.after(overflow.entry)?;
        let touch = touches(&self.index).find(|(entry, _)| *entry < overflow.entry);
        let then = Self { last_touch: touch.map(|(_, at)| at), ..then };
        let words = &then.index.words;
        let model = overflow.model.and_then(|(provider, id)| Some((words.text(provider)?, words.text(id)?)));
        let then = match model {
            Some((provider, model)) => then.called(provider, model),
            None => then,
        };
        Some(Self { last_call: last_call(&then), ..then })
    }

    /// The same with the model of a call: its window, its way to the provider.
    #[must_use]
    pub fn called(self, provider: String, model: String) -> Self {
        if (&self.provider, &self.model) == (&provider, &model) {
            return self;
        }
        let window = ModelWindow::of(&self.overflow_scope(), &provider, &model);
        let mut called = Self {
            window: window.gateway,
            route: Route::of(&self.config.js, &provider, &model),
            provider,
            model,
            ..self
        };
        called.upkeep.runtime_window = window.runtime;
        called
    }
}
