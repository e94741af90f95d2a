//! The record of a replay: each prune, clearing, cut, turn limit and compaction, what it freed and what it cost at the
//! cache, and which policy fires too often for what it frees.

use crate::ids::EntryIx;
use crate::replay::Replay;
use crate::replay::outcome::{CallReplay, TrimStats};

/// A policy that fires at least so often is judged.
const MIN_FIRINGS: usize = 3;
/// It should free so much of the window each time.
const MIN_FREED_SHARE: f64 = 0.02;

/// What fired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PolicyEventKind {
    /// Pruning.
    Prune,
    /// The guard of every call.
    Guard,
    /// Clearing of tool uses.
    Clear,
    /// The turn limit moved.
    History,
    /// The budget of all tool results.
    Reduce,
    /// A compaction.
    Compact,
    /// Large results were cut in the transcript.
    Truncate,
}

impl PolicyEventKind {
    /// Every kind.
    pub const ALL: [Self; 7] =
        [Self::Prune, Self::Guard, Self::Clear, Self::History, Self::Reduce, Self::Compact, Self::Truncate];

    /// The word of its step.
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

/// One time that a policy did something. One that does the same to every call of a stretch fired once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PolicyEvent {
    /// What.
    pub kind: PolicyEventKind,
    /// At which call, counted from 0.
    pub call: usize,
    /// Calls in a row that it holds for.
    pub calls: usize,
    /// When, ms.
    pub time: f64,
    /// Messages it changed.
    pub messages: u32,
    /// The first of them, where it is one of the path.
    pub first: Option<EntryIx>,
    /// Tokens less, at the first of its calls.
    pub tokens: f64,
    /// What it adds to the cost of that call at the cache, or the cost of its summary, USD.
    pub cost: Option<f64>,
}

/// How often a policy fired and what came of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FiringStats {
    /// Which.
    pub kind: PolicyEventKind,
    /// Times.
    pub times: usize,
    /// Tokens less, of all times.
    pub tokens: f64,
    /// Cost of all times, USD.
    pub cost: f64,
    /// Every how many calls, on average.
    pub call_interval: f64,
    /// It fires too often: it frees less than a fiftieth of the window each time.
    pub is_too_frequent: bool,
}

/// The record of a lane.
#[derive(Debug, Clone, PartialEq)]
pub struct FiringLog {
    /// Each time, in order.
    pub events: Vec<PolicyEvent>,
    /// Each policy that fired.
    pub stats: Vec<FiringStats>,
}

/// The record of the simulated lane. `window` is the provider's, in tokens.
pub fn firing_log(replay: &Replay, window: f64) -> FiringLog {
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

/// Whether every time counts by itself.
fn is_separate_event(kind: PolicyEventKind) -> bool {
    matches!(kind, PolicyEventKind::Compact | PolicyEventKind::Truncate | PolicyEventKind::Prune)
}

/// Whether it changes messages for one call alone.
fn is_per_call(kind: PolicyEventKind) -> bool {
    matches!(kind, PolicyEventKind::Prune | PolicyEventKind::Guard | PolicyEventKind::Clear)
}

/// What a policy did at a call, and the cost of it.
fn event_at(call: &CallReplay, kind: PolicyEventKind) -> Option<(TrimStats, Option<f64>)> {
    let of_calls = [call.pruned, call.guarded, call.cleared];
    let all: f64 = of_calls.iter().map(|done| done.tokens).sum();
    // What several steps cost together is told apart by what each took away.
    let share = |done: TrimStats| {
        let share = if all == 0.0 { 0.0 } else { done.tokens / all };
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
        PolicyEventKind::Compact => return written(call.compacted),
        PolicyEventKind::Truncate => return written(call.truncated),
    };
    Some(found).filter(|(done, _)| done.has_changes())
}

fn firing_stats(
    fired: &[PolicyEvent],
    kind: PolicyEventKind,
    calls: usize,
    window: f64,
) -> Option<FiringStats> {
    let own = || fired.iter().filter(|fired| fired.kind == kind);
    let times = own().count();
    let tokens: f64 = own().map(|fired| fired.tokens).sum();
    (times > 0).then(|| FiringStats {
        kind,
        times,
        tokens,
        cost: own().filter_map(|fired| fired.cost).sum(),
        call_interval: calls as f64 / times as f64,
        is_too_frequent: times >= MIN_FIRINGS && tokens / (times as f64) < window * MIN_FREED_SHARE,
    })
}
