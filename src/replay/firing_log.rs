//! The event log of a replay: each prune, clearing, truncation, turn limit and compaction, the tokens it freed, its
//! cost at the cache, and how often each policy fires for the tokens that it frees.

use crate::config::FiringLimits;
use crate::ids::EntryIx;
use crate::replay::Replay;
use crate::replay::outcome::{CallReplay, TrimStats};
use crate::units::{Moment, Tokens};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PolicyEventKind {
    Prune,
    /// The guard before every call.
    Guard,
    Clear,
    /// The turn limit moved.
    History,
    /// The budget of all tool results.
    Reduce,
    Compact,
    /// Large results were truncated in the transcript.
    Truncate,
}

impl PolicyEventKind {
    pub const ALL: [Self; 7] =
        [Self::Prune, Self::Guard, Self::Clear, Self::History, Self::Reduce, Self::Compact, Self::Truncate];

    /// Returns the policy's name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Prune => "prune",
            Self::Guard => "guard",
            Self::Clear => "clear",
            Self::History => "history",
            Self::Reduce => "reduce",
            Self::Compact => "compact",
            Self::Truncate => "truncate",
        }
    }
}

/// One firing of a policy. A policy that makes the same change to consecutive calls fired once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PolicyEvent {
    pub kind: PolicyEventKind,
    /// Index of the first call, from 0.
    pub call: usize,
    /// Number of consecutive calls with the same change.
    pub calls: usize,
    /// The start of the first call.
    pub time: Moment,
    /// Messages changed.
    pub messages: u32,
    /// The first changed message; `None` for policies that do not act on single calls.
    pub first: Option<EntryIx>,
    /// Tokens freed at the first call.
    pub tokens: Tokens,
    /// Cost added to that call at the cache, or cost of the summary, in USD.
    pub cost: Option<f64>,
}

/// Totals of one policy's events.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FiringStats {
    pub kind: PolicyEventKind,
    pub times: usize,
    /// Tokens freed in total.
    pub tokens: Tokens,
    /// Cost in total, USD.
    pub cost: f64,
    /// Calls per event, on average.
    pub call_interval: f64,
    /// Tokens freed each time, as a share of the window; NaN if the window is unknown.
    pub freed_share: f64,
}

impl FiringStats {
    /// Whether the policy fires often and frees little each time.
    pub fn is_too_frequent(&self, limits: FiringLimits) -> bool {
        self.times >= limits.times && self.freed_share < limits.freed
    }
}

/// The events of a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct FiringLog {
    /// In call order.
    pub events: Vec<PolicyEvent>,
    /// One element for each policy that fired.
    pub stats: Vec<FiringStats>,
}

/// Builds the log of the simulated trace. `window` is the provider's, in tokens.
pub fn firing_log(replay: &Replay, window: Tokens) -> FiringLog {
    let mut fired: Vec<PolicyEvent> = Vec::new();
    let mut open: [Option<(usize, TrimStats)>; 7] = [None; 7];
    for (at, call) in replay.simulated.iter().enumerate() {
        for kind in PolicyEventKind::ALL {
            let Some((done, cost)) = event_at(call, kind) else {
                open[kind as usize] = None;
                continue;
            };
            let goes_on = open[kind as usize].filter(|(_, before)| *before == done);
            if let Some((known, _)) = goes_on.filter(|_| !is_separate_event(kind)) {
                fired[known].calls += 1;
                continue;
            }
            open[kind as usize] = Some((fired.len(), done));
            fired.push(PolicyEvent {
                kind,
                call: at,
                calls: 1,
                time: replay.calls[at].started,
                messages: done.trimmed + done.cleared,
                first: call.first_changed.filter(|_| is_per_call(kind)),
                tokens: done.tokens,
                cost,
            });
        }
    }
    let often = PolicyEventKind::ALL
        .into_iter()
        .filter_map(|kind| firing_stats(&fired, kind, replay.calls.len(), window));
    FiringLog { stats: often.collect(), events: fired }
}

/// Whether each call with it counts as a separate event.
fn is_separate_event(kind: PolicyEventKind) -> bool {
    matches!(kind, PolicyEventKind::Compact | PolicyEventKind::Truncate | PolicyEventKind::Prune)
}

/// Whether it changes messages for one call only.
fn is_per_call(kind: PolicyEventKind) -> bool {
    matches!(kind, PolicyEventKind::Prune | PolicyEventKind::Guard | PolicyEventKind::Clear)
}

fn event_at(call: &CallReplay, kind: PolicyEventKind) -> Option<(TrimStats, Option<f64>)> {
    let of_calls = [call.pruned, call.guarded, call.cleared];
    let all: Tokens = of_calls.iter().map(|done| done.tokens).sum();
    // The cost of several policies is shared in proportion to the tokens that each removed.
    let share = |done: TrimStats| {
        let share = if all == Tokens::ZERO { 0.0 } else { done.tokens / all };
        (done, call.cache_cost.map(|cost| cost * share))
    };
    let written = |done: Option<crate::replay::CompactionEvent>| {
        let done = done?;
        let trimmed = TrimStats { trimmed: 0, cleared: done.messages, tokens: done.tokens };
        Some((trimmed, done.summary_cost))
    };
    let found = match kind {
        PolicyEventKind::Prune => share(call.pruned),
        PolicyEventKind::Guard => share(call.guarded),
        PolicyEventKind::Clear => share(call.cleared),
        PolicyEventKind::History => (call.history_trim, None),
        PolicyEventKind::Reduce => (call.reduce_trim, None),
        PolicyEventKind::Compact => return written(call.compacted.as_deref().copied()),
        PolicyEventKind::Truncate => return written(call.truncated.as_deref().copied()),
    };
    Some(found).filter(|(done, _)| done.has_changes())
}

fn firing_stats(
    fired: &[PolicyEvent],
    kind: PolicyEventKind,
    calls: usize,
    window: Tokens,
) -> Option<FiringStats> {
    let own = || fired.iter().filter(|fired| fired.kind == kind);
    let times = own().count();
    let tokens: Tokens = own().map(|fired| fired.tokens).sum();
    (times > 0).then(|| FiringStats {
        kind,
        times,
        tokens,
        cost: own().filter_map(|fired| fired.cost).sum(),
        call_interval: calls as f64 / times as f64,
        freed_share: (tokens / (times as f64) / window.get()).get(),
    })
}
