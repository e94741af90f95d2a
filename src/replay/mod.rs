//! Replays every call of a session under any settings: the prompt of each call, the changes that the policies made to
//! it, whether it fitted, and its cost.
//!
//! Two traces cover the same calls. The *recorded* trace uses the settings in force and keeps compactions where the
//! transcript has them. The *simulated* trace uses other settings; with the policy `compact` it skips the written
//! compactions and decides itself when to compact, with a summary of assumed length.
//!
//! A sweep replays thousands of settings, so a trace makes one pass over the path. The totals of a range of messages
//! are differences of prefix sums, and a message list is built only at calls where a policy can act and the sums cannot
//! decide.

mod base;
pub mod bill;
pub mod cache;
mod calls;
mod check;
mod clear;
mod clear_model;
mod context_edits;
mod departures;
mod edit_digest;
mod edits;
mod firing_log;
mod fixed_point;
mod list;
mod list_policies;
mod loss_log;
mod message_arena;
mod outcome;
mod prefix_sums;
mod prune;
mod range_totals;
mod rewrite;
mod run;
mod send;
mod trace;
mod traces;

pub use bill::{Cost, CostOrigin, TotalCost};
pub use calls::{CacheKey, ModelCall, RefusalReason, RefusedCall, model_calls};
pub use firing_log::{FiringLog, FiringStats, PolicyEvent, PolicyEventKind, firing_log};
pub use outcome::{CallReplay, CompactionEvent, ContextLoss, LossCause, PromptSizeSource, TrimStats};
pub use traces::{
    RecordedTrace, TraceTotals, context_losses, contradicted_policies, recorded_trace, simulated_totals,
    simulated_trace,
};

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::gateway::compaction::CompactionMode;
use crate::gateway::models::Price;
use crate::gateway::retention::Retention;
use crate::ids::EntryIx;
use crate::policy::compact::BranchEntry;
use crate::policy::features::ContentFeatures;
use crate::policy::preflight::FixedPressure;
use crate::policy::repair::RepairRules;
use crate::policy::{Policy, PolicySettings};
use crate::store::index::Index;
use crate::store::intern::ValueIx;
use crate::units::{Moment, Tokens};

/// Token counts by factors that are fitted to this session's own usage.
#[derive(Debug, Clone, Copy)]
pub struct Calibrated<'a> {
    /// Tokens before the messages.
    pub fixed: Tokens,
    /// Tokens of the message of each entry, in path order; 0 for entries without a message.
    pub weights: &'a [Tokens],
}

/// The input of a replay. Lists are in path order unless noted otherwise.
#[derive(Debug, Clone, Copy)]
pub struct ReplaySession<'a> {
    pub index: &'a Index,
    /// Entries from the root to the leaf.
    pub path: &'a [EntryIx],
    /// The entries of `path` as a compaction reads them.
    pub branch: &'a [BranchEntry],
    /// The features of each entry with a message; `None` where texts were not read because no policy needs them.
    pub features: Option<&'a [Option<Arc<ContentFeatures>>]>,
    /// Calls whose texts say that the prompt was too large, in file order.
    pub refused: &'a [RefusedCall],
    /// Calls with a truncated answer: prompt and reply together filled the window.
    pub cut_short: &'a HashSet<EntryIx>,
    /// Failed answers that a commit copied: they were calls of another branch.
    pub copied_failures: &'a HashSet<EntryIx>,
    /// Answers whose counts cannot cover the whole prompt and are not used as measurements.
    pub unreliable_answers: &'a HashSet<EntryIx>,
    /// The cache touches that count, in file order, with their time (pruning 4.3).
    pub cache_touches: &'a [(EntryIx, Moment)],
    /// Whether pruning can be installed for the model (pruning 3.6).
    pub prune_eligible: bool,
    /// Tokens before the messages, estimated from chars.
    pub fixed_tokens: u64,
    /// Tokens of the system prompt, included in `fixed_tokens`.
    pub fixed_pressure: FixedPressure,
    /// The model receives only the thinking of its last answer (releases R13).
    pub drops_thinking: bool,
    /// The repair of the version for the model.
    pub repair: RepairRules,
    pub calibrated: Option<Calibrated<'a>>,
    /// Tokens that the provider takes; NaN if unknown.
    pub provider_window: Tokens,
    /// The runtime's window in tokens (compaction 2.8).
    pub runtime_window: Tokens,
    /// Tokens that each model's provider reserved for the reply of a refused call, where the refusal splits them.
    pub replies: &'a HashMap<(ValueIx, ValueIx), Tokens>,
    /// Windows of the other models on the path: each call is judged by the model that made it.
    pub windows: &'a HashMap<(ValueIx, ValueIx), ModelLimits>,
    pub mode: CompactionMode,
    /// Time for which the provider caches prompts.
    pub retention: Retention,
    /// Price of the session's model; `prices` overrides it per call.
    pub price: Option<Price>,
    /// Prices by provider and model, for the models on the path.
    pub prices: &'a HashMap<(ValueIx, ValueIx), Option<Price>>,
}

impl ReplaySession<'_> {
    fn fixed(&self) -> f64 {
        self.calibrated.map_or(self.fixed_tokens as f64, |fit| fixed_point::fixed_point(fit.fixed))
    }

    /// Returns the tokens that the call's provider takes; NaN if unknown.
    fn provider_window(&self, cache_key: &CacheKey) -> Tokens {
        self.model_limits(cache_key).map_or(self.provider_window, |limits| limits.provider)
    }

    /// Returns the window that the runtime believes in for a call's model, in tokens.
    fn believed_window(&self, cache_key: &CacheKey) -> Tokens {
        self.model_limits(cache_key).map_or(self.runtime_window, |limits| limits.runtime)
    }

    /// Returns the window that the runtime's compaction trigger uses after a call, in tokens.
    fn runtime_window(&self, cache_key: &CacheKey, settings: &Settings) -> Tokens {
        let assumed = settings.assumptions.of_model(cache_key).and_then(|model| model.window);
        let own = || settings.assumptions.runtime_window.unwrap_or(self.runtime_window);
        assumed.unwrap_or_else(|| self.model_limits(cache_key).map_or_else(own, |limits| limits.runtime))
    }

    /// Returns the tokens that a call's prompt gains from a smaller reservation for the reply; negative for a larger one.
    fn reply_gain(&self, cache_key: &CacheKey, settings: &Settings) -> f64 {
        let reply = cache_key.model.and_then(|model| self.replies.get(&model).copied());
        let assumed = settings.assumptions.of_model(cache_key).and_then(|model| model.max_tokens);
        reply.zip(assumed).map_or(0.0, |(reply, max_tokens)| (reply - max_tokens.reserved(reply)).get())
    }

    fn model_limits(&self, cache_key: &CacheKey) -> Option<&ModelLimits> {
        self.windows.get(&cache_key.model?)
    }

    fn price_of(&self, call: &ModelCall) -> Option<Price> {
        let of_model = call.cache_key.model.and_then(|model| self.prices.get(&model).copied());
        of_model.unwrap_or(self.price)
    }
}

/// The settings of one trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub policies: PolicySettings,
    pub prune_on: bool,
    /// The pruner's window in tokens, limited by `contextTokens`.
    pub window: Tokens,
    /// The model's own window in tokens, which the guard uses (pruning 6.30).
    pub guard_window: Tokens,
    pub assumptions: Assumptions,
}

/// Differences from the record that are not policy settings. The default has none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Assumptions {
    /// Replaces the window of the runtime's own trigger, in tokens, for the session's model (compaction 2.8).
    pub runtime_window: Option<Tokens>,
    /// Tokens removed from the part before the messages.
    pub fixed_reduction: f64,
    /// Installs pruning for every provider.
    pub prune_eligible: bool,
    /// Treats every call as counted by the provider, even where the record has no usage.
    pub assume_usage: bool,
    /// Makes no call: the gateway refuses the window.
    pub is_window_refused: bool,
    /// Compacts as an ideal gateway does, even where the recorded gateway did not.
    pub ideal_compaction: bool,
    /// Settings of single models.
    pub models: Vec<ModelAssumption>,
}

impl Assumptions {
    fn of_model(&self, cache_key: &CacheKey) -> Option<&ModelAssumption> {
        self.models.iter().find(|assumed| Some(assumed.model) == cache_key.model)
    }
}

/// Settings of one model that differ from the record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelAssumption {
    pub model: (ValueIx, ValueIx),
    /// Window of the runtime's compaction trigger, in tokens.
    pub window: Option<Tokens>,
    pub max_tokens: Option<MaxTokens>,
}

/// A change of the tokens reserved for a reply.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MaxTokens {
    /// The configured value.
    pub from: Option<Tokens>,
    pub to: Tokens,
}

impl MaxTokens {
    /// Returns the reservation of a call that reserved `reply` before the change. A provider or the gateway may have
    /// lowered the configured value, so a larger one raises only what was reserved whole.
    pub fn reserved(self, reply: Tokens) -> Tokens {
        if self.to < reply || self.from == Some(reply) { self.to } else { reply }
    }
}

/// The windows of one model in tokens; NaN if unknown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelLimits {
    /// Tokens that the provider takes.
    pub provider: Tokens,
    /// Window of the runtime's compaction trigger (compaction 2.8).
    pub runtime: Tokens,
}

/// A recorded and a simulated trace of the same calls.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    pub calls: Arc<Vec<ModelCall>>,
    /// Each call under the settings in force.
    pub recorded: Arc<Vec<CallReplay>>,
    /// Each call under the other settings.
    pub simulated: Arc<Vec<CallReplay>>,
    /// Cache touches come from the record and are not assumed at the end of each run.
    pub touches_recorded: bool,
}

impl Replay {
    /// Returns the totals of all calls: recorded, then simulated.
    pub fn totals(&self) -> [TraceTotals; 2] {
        [&self.recorded, &self.simulated].map(|trace| TraceTotals::of(&self.calls, trace))
    }
}

impl Settings {
    fn has_compaction(&self) -> bool {
        self.policies.enabled.has(Policy::Compact)
    }
}

#[cfg(test)]
mod tests;
