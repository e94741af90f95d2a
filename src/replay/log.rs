//! The record of a replay: each prune, clearing, cut, turn limit and compaction, what it freed and what it cost at the
//! cache, and which policy fires too often for what it frees.

use crate::ids::EntryIx;
use crate::replay::Replay;
use crate::replay::outcome::{CallReplay, Trimmed};

/// A policy that fires at least so often is judged.
const OFTEN: usize = 3;
/// It should free so much of the window each time.
const LEAST_SHARE: f64 = 0.02;

/// What fired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FiredKind {
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

impl FiredKind {
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
pub struct Fired {
    /// What.
    pub kind: FiredKind,
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
pub struct Often {
    /// Which.
    pub kind: FiredKind,
    /// Times.
    pub times: usize,
    /// Tokens less, of all times.
    pub tokens: f64,
    /// Cost of all times, USD.
    pub cost: f64,
    /// Every how many calls, on average.
    pub every: f64,
    /// It fires too often: it frees less than a fiftieth of the window each time.
    pub too_often: bool,
}

/// The record of a lane.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Each time, in order.
    pub fired: Vec<Fired>,
    /// Each policy that fired.
    pub often: Vec<Often>,
}

/// The record of the simulated lane. `window` is the provider's, in tokens.
pub fn record(replay: &Replay, window: f64) -> Record {
    let mut fired: Vec<Fired> = Vec::new();
    let mut open: [Option<(usize, Trimmed)>; 7] = [None; 7];
    for (at, call) in replay.simulated.iter().enumerate() {
        for kind in FiredKind::ALL {
            let Some((done, cost)) = at_call(call, kind) else {
                open[kind as usize] = None;
                continue;
            };
            let goes_on = open[kind as usize].filter(|(_, before)| *before == done);
            if let Some((known, _)) = goes_on.filter(|_| !is_event(kind)) {
                fired[known].calls += 1;
                continue;
            }
            open[kind as usize] = Some((fired.len(), done));
            fired.push(Fired {
                kind,
                call: at,
                calls: 1,
                time: replay.calls[at].started,
                messages: done.trimmed + done.cleared,
                first: call.first_changed.filter(|_| is_of_call(kind)),
                tokens: done.tokens,
                cost,
            });
        }
    }
    let often = FiredKind::ALL.into_iter().filter_map(|kind| often(&fired, kind, replay.calls.len(), window));
    Record { often: often.collect(), fired }
}

/// Whether every time counts by itself.
fn is_event(kind: FiredKind) -> bool {
    matches!(kind, FiredKind::Compact | FiredKind::Truncate | FiredKind::Prune)
}

/// Whether it changes messages for one call alone.
fn is_of_call(kind: FiredKind) -> bool {
    matches!(kind, FiredKind::Prune | FiredKind::Guard | FiredKind::Clear)
}

/// What a policy did at a call, and the cost of it.
fn at_call(call: &CallReplay, kind: FiredKind) -> Option<(Trimmed, Option<f64>)> {
    let of_calls = [call.pruned, call.guarded, call.cleared];
    let all: f64 = of_calls.iter().map(|done| done.tokens).sum();
    // What several steps cost together is told apart by what each took away.
    let share = |done: Trimmed| {
        let share = if all == 0.0 { 0.0 } else { done.tokens / all };
        (done, call.cache_cost.map(|cost| cost * share))
    };
    let written = |done: Option<crate::replay::Compacting>| {
        let done = done?;
        let trimmed = Trimmed { trimmed: 0, cleared: done.messages, tokens: done.tokens };
        Some((trimmed, done.summary_cost))
    };
    let found = match kind {
        FiredKind::Prune => share(call.pruned),
        FiredKind::Guard => share(call.guarded),
        FiredKind::Clear => share(call.cleared),
        FiredKind::History => (call.history, None),
        FiredKind::Reduce => (call.reduced, None),
        FiredKind::Compact => return written(call.compacted),
        FiredKind::Truncate => return written(call.truncated),
    };
    Some(found).filter(|(done, _)| done.is_some())
}

fn often(fired: &[Fired], kind: FiredKind, calls: usize, window: f64) -> Option<Often> {
    let own = || fired.iter().filter(|fired| fired.kind == kind);
    let times = own().count();
    let tokens: f64 = own().map(|fired| fired.tokens).sum();
    (times > 0).then(|| Often {
        kind,
        times,
        tokens,
        cost: own().filter_map(|fired| fired.cost).sum(),
        every: calls as f64 / times as f64,
        too_often: times >= OFTEN && tokens / (times as f64) < window * LEAST_SHARE,
    })
}
