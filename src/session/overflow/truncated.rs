//! Finds prompts that a server cut to its own window without a word (overflow-texts 6, S3): the count of the prompt stays
//! where it is, call after call, while messages are added.
//!
//! Ollama, LM Studio, llama.cpp and proxies do so at `num_ctx`, whatever window the gateway believes in.

use std::collections::BTreeMap;

use crate::gateway::compaction::engine_plugin;
use crate::gateway::pruning::effective_settings_under;
use crate::gateway::setting_value::PRUNING_PATH;
use crate::ids::EntryIx;
use crate::session::overflow::call::{Overflow, OverflowKind, OverflowScope};
use crate::session::overflow::model_windows::WindowCache;
use crate::session::prompt_estimates::PromptEstimates;
use crate::store::entry::{EntryKind, Usage};
use crate::store::index::Index;
use crate::store::intern::ValueIx;
use crate::units::{Moment, Tokens};

/// Equal counts in a row that show a cut.
const MIN_EQUAL: usize = 3;
/// Tokens that messages must add while the count stays: a share of the count, and at least so many.
const MIN_ADDED: (f64, Tokens) = (0.25, Tokens(300.0));
/// Added tokens that suffice if the messages alone exceed the count by [`OUTGROWN_RATIO`].
const MIN_ADDED_WHEN_OUTGROWN: Tokens = Tokens(100.0);
const OUTGROWN_RATIO: f64 = 1.3;
/// Servers set their windows in steps of so many tokens; some of them then keep half of it and two tokens.
const WINDOW_STEP: Tokens = Tokens(1_024.0);
/// Added tokens that suffice if the equal counts are such a window.
const MIN_ADDED_AT_STEP: Tokens = Tokens(100.0);
/// Estimated tokens that must be added between two calls at the known window.
const MIN_ADDED_AT_WINDOW: Tokens = Tokens(200.0);
/// A prompt estimated at more than this many windows cannot have been evaluated whole, so one call suffices.
const OUTGROWN_WINDOW_RATIO: f64 = 1.1;
/// Smallest count that is a window and not the constant of a broken counter.
const MIN_WINDOW: Tokens = Tokens(1_000.0);
const SMALLEST_SERVER_WINDOW: Tokens = Tokens(2_048.0);
/// Share of a server's window above which counts lie when it drops whole messages, and calls in a row that show it.
const SATURATED: (f64, usize) = (0.85, 4);
/// Tokens that messages must add during such a run for each token between its smallest and largest count.
const ADDED_PER_RANGE: f64 = 8.0;
/// Share of the believed window up to which a smaller one explains such a run.
const SMALL_RATIO: f64 = 0.6;

/// An answer that was counted.
#[derive(Debug, Clone, Copy)]
struct Counted {
    entry: EntryIx,
    time_ms: Moment,
    model: Option<(ValueIx, ValueIx)>,
    prompt: Tokens,
}

/// Returns the answers whose prompt was cut, with the tokens that the server took.
pub(super) fn find_truncated(scope: &OverflowScope<'_>, windows: &WindowCache<'_>) -> Vec<Overflow> {
    let answers = counted_answers(scope.index);
    if !has_repeated_counts(&answers, windows) {
        return Vec::new();
    }
    let calls = CallChains::new(scope.index, answers);
    let mut served: BTreeMap<usize, Tokens> = BTreeMap::new();
    for at in 0..calls.counted.len() {
        let window = windows.known_window(calls.counted[at].model);
        if window.is_some_and(|window| calls.is_cut_at_window(at, window)) {
            served.insert(at, calls.counted[at].prompt);
        }
        calls.mark_equal_run(at, &mut served);
    }
    if !sends_less_itself(scope) {
        for at in 0..calls.counted.len() {
            let believed = windows.known_window(calls.counted[at].model);
            calls.mark_saturated_run(at, believed, &mut served);
        }
    }
    let cut = served.into_iter().map(|(at, served)| {
        let call = &calls.counted[at];
        let cut = Overflow::from_usage(call.entry, OverflowKind::Silent, call.time_ms, call.model);
        Overflow { limit: Some(served.whole()), ..cut }
    });
    cut.collect()
}

/// Whether the gateway may leave out messages, so that prompts need not grow: by pruning or by a plugin's context.
fn sends_less_itself(scope: &OverflowScope<'_>) -> bool {
    effective_settings_under(scope.ruleset.rules(), scope.config.value(&PRUNING_PATH)).is_some()
        || engine_plugin(scope.config).is_some()
}

fn counted_answers(index: &Index) -> Vec<Counted> {
    let answers = index.iter().filter(|(_, entry)| entry.is_model_call());
    let counted = answers.filter_map(|(ix, entry)| {
        let usage = entry.message?.usage.filter(Usage::has_prompt_tokens)?;
        Some(Counted { entry: ix, time_ms: entry.time_ms, model: entry.model, prompt: usage.prompt_tokens() })
    });
    counted.collect()
}

/// Whether a cut is possible at all, so that the messages are worth estimating.
fn has_repeated_counts(calls: &[Counted], windows: &WindowCache<'_>) -> bool {
    let at_window =
        |call: &Counted| windows.known_window(call.model).is_some_and(|window| call.is_at(window));
    let saturated = |run: &[Counted]| run.iter().all(|call| call.is_near(server_window(run[0].prompt)));
    calls.windows(2).any(|pair| pair[1].repeats(&pair[0]))
        || calls.iter().any(at_window)
        || calls.windows(SATURATED.1).any(saturated)
}

/// Returns the smallest usual window of a local server that takes these tokens.
fn server_window(prompt: Tokens) -> Tokens {
    let mut window = SMALLEST_SERVER_WINDOW;
    while window + Tokens(1.0) < prompt {
        window *= 2.0;
    }
    window
}

impl Counted {
    fn is_at(&self, window: Tokens) -> bool {
        (self.prompt - window).abs() <= Tokens(1.0)
    }

    fn repeats(&self, other: &Self) -> bool {
        self.model == other.model && self.is_at(other.prompt)
    }

    /// Whether the count is a size that people give to a server's window.
    fn is_at_step(&self) -> bool {
        let is_step = |tokens: Tokens| {
            let steps = (tokens / WINDOW_STEP).round();
            (tokens - WINDOW_STEP * steps).abs() <= Tokens(1.0)
        };
        self.prompt >= SMALLEST_SERVER_WINDOW && (is_step(self.prompt) || is_step(self.prompt - Tokens(2.0)))
    }

    /// Whether the count lies just below a server's window.
    fn is_near(&self, window: Tokens) -> bool {
        self.prompt >= window * SATURATED.0 && self.prompt <= window + Tokens(1.0)
    }
}

/// The counted answers, each with the one before it on its own path.
struct CallChains {
    counted: Vec<Counted>,
    /// Estimated messages of each call.
    estimates: Vec<Tokens>,
    /// The counted answer before each, without a compaction between.
    previous: Vec<Option<usize>>,
}

impl CallChains {
    fn new(index: &Index, counted: Vec<Counted>) -> Self {
        let estimates = PromptEstimates::new(index, None);
        // The last counted answer up to and including each entry.
        let mut last: Vec<Option<usize>> = vec![None; index.entries.len()];
        let mut previous = Vec::with_capacity(counted.len());
        for (ix, entry) in index.iter() {
            let above = estimates.parent(ix).and_then(|above| last[above.index()]);
            let is_boundary = matches!(entry.kind, EntryKind::Compaction | EntryKind::Reset);
            last[ix.index()] = above.filter(|_| !is_boundary);
            if counted.get(previous.len()).is_some_and(|call| call.entry == ix) {
                last[ix.index()] = Some(previous.len());
                previous.push(above);
            }
        }
        let estimates = counted.iter().map(|call| estimates.sent_to(call.entry)).collect();
        Self { counted, estimates, previous }
    }

    /// Returns the calls before this one, newest first and itself included, as long as `goes_on`.
    fn run(&self, at: usize, goes_on: impl Fn(&Counted) -> bool) -> Vec<usize> {
        let before = std::iter::successors(Some(at), |at| self.previous[*at]);
        before.take_while(|at| goes_on(&self.counted[*at])).collect()
    }

    /// Whether the next counted answer on any branch goes on with this one, so that its run is longer.
    fn ends(&self, at: usize, goes_on: impl Fn(&Counted) -> bool) -> bool {
        let next = at + 1;
        !(self.previous.get(next) == Some(&Some(at)) && goes_on(&self.counted[next]))
    }

    /// Whether the count is at the known window although the messages need more.
    fn is_cut_at_window(&self, at: usize, window: Tokens) -> bool {
        let call = &self.counted[at];
        let Some(before) = self.previous[at].filter(|_| call.is_at(window)) else { return false };
        let known = &self.counted[before];
        let added = self.estimates[at] - self.estimates[before];
        let repeats = call.repeats(known) && added >= MIN_ADDED_AT_WINDOW;
        repeats || known.model == call.model && known.prompt + added > window * OUTGROWN_WINDOW_RATIO
    }

    /// Marks the calls up to this one that have its count, if messages were added between them.
    fn mark_equal_run(&self, at: usize, served: &mut BTreeMap<usize, Tokens>) {
        let call = &self.counted[at];
        let repeats = |other: &Counted| other.repeats(call);
        if call.prompt < MIN_WINDOW || !self.ends(at, repeats) {
            return;
        }
        let run = self.run(at, repeats);
        let Some(first) = run.last().copied().filter(|_| run.len() >= MIN_EQUAL) else { return };
        let added = self.estimates[at] - self.estimates[first];
        let outgrown = self.estimates[at] >= call.prompt * OUTGROWN_RATIO && added >= MIN_ADDED_WHEN_OUTGROWN;
        let at_step = call.is_at_step() && added >= MIN_ADDED_AT_STEP;
        if at_step || outgrown || added >= (call.prompt * MIN_ADDED.0).max(MIN_ADDED.1) {
            served.extend(run.into_iter().map(|at| (at, call.prompt)));
        }
    }

    /// Marks the calls up to this one whose counts stay just below a server's window: it drops whole messages.
    fn mark_saturated_run(&self, at: usize, believed: Option<Tokens>, served: &mut BTreeMap<usize, Tokens>) {
        let call = &self.counted[at];
        let window = server_window(call.prompt);
        let is_near = |other: &Counted| other.model == call.model && other.is_near(window);
        let is_small = believed.is_none_or(|believed| window <= believed * SMALL_RATIO);
        if !is_small || !is_near(call) || !self.ends(at, is_near) {
            return;
        }
        let run = self.run(at, is_near);
        let Some(first) = run.last().copied().filter(|_| run.len() >= SATURATED.1) else { return };
        let added = self.estimates[at] - self.estimates[first];
        let counts = || run.iter().map(|at| self.counted[*at].prompt);
        let range = counts().fold(Tokens::ZERO, Tokens::max) - counts().fold(window * 2.0, Tokens::min);
        if added >= (window * MIN_ADDED.0).max(range * ADDED_PER_RANGE) {
            for at in run {
                served.entry(at).or_insert(window);
            }
        }
    }
}
