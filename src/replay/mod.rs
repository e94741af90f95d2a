//! A session again, call by call, under any settings: what each call was sent, what the steps did to it at that moment,
//! whether it fitted, and what it cost. One pass over the path: totals are differences of running sums, and a list of
//! messages is only made at calls where a step can act.
//!
//! Two lanes run side by side over the calls of the record. The *recorded* one goes by the settings in force and keeps
//! the compactions where they were written. The *simulated* one goes by others; with the step `compact` it leaves the
//! written compactions out and decides by itself when to compact, with a summary of assumed length.

mod base;
pub mod cache;
mod calls;
mod check;
mod clear;
mod context_edits;
pub mod cost;
mod edit_digest;
mod edits;
mod evidence;
mod firing_log;
mod fixed_point;
mod guard;
mod list;
mod list_policies;
mod message_arena;
mod outcome;
mod prefix_sums;
mod prompt_limit;
mod prune;
mod range_totals;
mod rewrite;
mod run;
mod send;
mod totals;
mod trace;
mod traces;

pub use calls::{CacheKey, ModelCall, RefusedCall, model_calls};
pub use cost::Cost;
pub use evidence::contradicted_policies;
pub use firing_log::{FiringLog, FiringStats, PolicyEvent, PolicyEventKind, firing_log};
pub use outcome::{CallReplay, CompactionEvent, PromptSizeSource, TrimStats};
pub use totals::TraceTotals;
pub use traces::{RecordedTrace, recorded_trace, replay, simulated_totals, simulated_trace};

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::gateway::catalog::Price;
use crate::gateway::compaction::CompactionMode;
use crate::gateway::retention::Retention;
use crate::ids::EntryIx;
use crate::policy::compact::BranchEntry;
use crate::policy::features::ContentFeatures;
use crate::policy::{Policy, PolicySettings};
use crate::store::index::Index;
use crate::store::intern::ValueIx;

/// Tokens by factors fitted to this session's own usage.
#[derive(Debug, Clone, Copy)]
pub struct Calibrated<'a> {
    /// Before the messages.
    pub fixed: f64,
    /// Of the message of each entry of the path, in its order; 0 of those without one.
    pub weights: &'a [f64],
}

/// What is replayed. Everything is in order of the path where nothing else is said.
#[derive(Debug, Clone, Copy)]
pub struct ReplaySession<'a> {
    /// Sizes.
    pub index: &'a Index,
    /// Entries from the root to the leaf.
    pub path: &'a [EntryIx],
    /// The same as a compaction looks at them.
    pub branch: &'a [BranchEntry],
    /// The texture of each entry that has a message; none where texts were not read, and no step asks for them.
    pub features: Option<&'a [Option<Arc<ContentFeatures>>]>,
    /// Calls whose texts say that the prompt was too large, in file order.
    pub refused: &'a [RefusedCall],
    /// Calls that were answered, but cut short: prompt and reply together filled the window.
    pub cut_short: &'a HashSet<EntryIx>,
    /// Answers whose counts cannot be the whole prompt, and are no measure.
    pub unreliable_answers: &'a HashSet<EntryIx>,
    /// Cache touches that count, in file order, with their time in ms (pruning 4.3).
    pub cache_touches: &'a [(EntryIx, f64)],
    /// Pruning can be installed for the model (pruning 3.6).
    pub prune_eligible: bool,
    /// Tokens before the messages, by chars.
    pub fixed_tokens: u64,
    /// Those of the system prompt among them.
    pub system_tokens: f64,
    /// The model is sent the thinking of its last answer alone (releases R13).
    pub drops_thinking: bool,
    /// The fit, where there is one.
    pub calibrated: Option<Calibrated<'a>>,
    /// What the provider takes, in tokens; NaN when nobody knows.
    pub provider_window: f64,
    /// The runtime's window, in tokens (compaction 2.8).
    pub runtime_window: f64,
    /// The windows of other models of the path: a call is judged by the model that it was made with.
    pub windows: &'a HashMap<(ValueIx, ValueIx), ModelLimits>,
    /// Who writes summaries.
    pub mode: CompactionMode,
    /// How long prompts are cached.
    pub retention: Retention,
    /// Price of the model, and of each other one of the path.
    pub price: Option<Price>,
    /// Prices of models by the words of the path.
    pub prices: &'a HashMap<(ValueIx, ValueIx), Option<Price>>,
}

impl ReplaySession<'_> {
    /// Tokens before the messages.
    fn fixed(&self) -> f64 {
        self.calibrated.map_or(self.fixed_tokens as f64, |fit| fixed_point::fixed_point(fit.fixed))
    }

    /// What the provider of a call takes, in tokens.
    fn provider_window(&self, mind: &CacheKey) -> f64 {
        self.model_limits(mind).map_or(self.provider_window, |limits| limits.provider)
    }

    /// What the runtime's trigger goes by after a call, in tokens.
    fn runtime_window(&self, mind: &CacheKey, settings: &Settings) -> f64 {
        let own = settings.assumptions.runtime_window.unwrap_or(self.runtime_window);
        self.model_limits(mind).map_or(own, |limits| limits.runtime)
    }

    fn model_limits(&self, mind: &CacheKey) -> Option<&ModelLimits> {
        self.windows.get(&mind.model?)
    }

    /// The price of a call.
    fn price_of(&self, call: &ModelCall) -> Option<Price> {
        let of_model = call.cache_key.model.and_then(|model| self.prices.get(&model).copied());
        of_model.unwrap_or(self.price)
    }
}

/// Settings of one lane.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The steps and their parameters.
    pub policies: PolicySettings,
    /// Pruning is on.
    pub prune_on: bool,
    /// Window of the pruner, in tokens, `contextTokens` considered.
    pub window: f64,
    /// Window of the model itself, in tokens, which the guard goes by (pruning 6.30).
    pub guard_window: f64,
    /// What else differs from the record.
    pub assumptions: Assumptions,
}

/// Differences from the record that no setting of a step makes. By default there are none.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Assumptions {
    /// Window of the runtime's own trigger for the session's model, in tokens (compaction 2.8).
    pub runtime_window: Option<f64>,
    /// Tokens by which the prompt is smaller before its messages.
    pub fixed_reduction: f64,
    /// Pruning is installed, whatever the provider.
    pub prune_eligible: bool,
    /// The provider counted every call, also where the record has no usage.
    pub assume_usage: bool,
}

/// The windows of one model, in tokens; NaN where nobody knows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelLimits {
    /// What the provider takes.
    pub provider: f64,
    /// What the runtime's trigger goes by (compaction 2.8).
    pub runtime: f64,
}

/// A session again.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    /// The calls of the record.
    pub calls: Vec<ModelCall>,
    /// Each of them under the settings in force.
    pub recorded: Vec<CallReplay>,
    /// Each of them under the others.
    pub simulated: Vec<CallReplay>,
    /// Touches of the cache are those of the record, not assumed at the end of each run.
    pub touches_recorded: bool,
}

impl Replay {
    /// What all calls come to, recorded and simulated.
    pub fn totals(&self) -> [TraceTotals; 2] {
        [&self.recorded, &self.simulated].map(|lane| TraceTotals::of(&self.calls, lane))
    }
}

impl Settings {
    /// Whether this lane decides by itself when to compact.
    fn has_compaction(&self) -> bool {
        self.policies.enabled.has(Policy::Compact)
    }
}

#[cfg(test)]
mod tests;
