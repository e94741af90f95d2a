//! A change over the whole session: every call again, by replay, weighed by what the provider counted of it.

use std::collections::HashSet;
use std::sync::Arc;

use crate::context::build;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::explain::advice::Tried;
use crate::explain::calls::Call;
use crate::explain::case::Case;
use crate::explain::errors::Kind;
use crate::explain::failure::Failure;
use crate::ids::EntryIx;
use crate::inspect::again::Material;
use crate::inspect::{Inspection, Unmeasured};
use crate::policy::{Step, StepSettings};
use crate::replay::{CallReplay, Replay, Settings, Totals};
use crate::store::body::BodyError;
use crate::store::entry::EntryKind;
use crate::transcript::Leaf;

/// What one estimated token may count for: beyond that the growth was not that of these messages.
const FACTORS: (f64, f64) = (0.2, 8.0);

/// What all calls of a session come to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Whole {
    /// Calls that do not fit, the one that failed left out.
    pub others: usize,
    /// The one that failed does not fit either.
    pub failing: bool,
    /// Tokens of that one; none where no call failed yet.
    pub tokens: Option<u64>,
    /// Tokens of the largest prompt.
    pub peak: u64,
    /// What calls and summaries cost, USD; none without a price.
    pub cost: Option<f64>,
    /// Compactions.
    pub compactions: usize,
    /// Calls whose prompt pruning changed.
    pub pruned: usize,
}

/// A session ready to be replayed.
#[derive(Debug)]
pub(super) struct Session {
    inspection: Inspection,
    material: Material,
    recorded: Settings,
    /// The call that failed; none where that is the next one.
    failing: Option<EntryIx>,
    /// Calls that were answered, but cut short, and the tokens that prompt and reply had together.
    cut: HashSet<EntryIx>,
    /// Tokens that a reply needs.
    room: u64,
}

impl Session {
    /// Reads what replays ask for; none where the failing call has no place on a path.
    ///
    /// # Errors
    /// When an entry cannot be read again.
    pub(super) fn read(case: &Case<'_>, failure: &Failure) -> Result<Option<Self>, BodyError> {
        let Some(inspection) = through(case.inspection, failure) else { return Ok(None) };
        let weights = weights(&inspection, &case.calls, failure, case.ratio.unwrap_or(1.0));
        let mut material = Material::of_sizes(&inspection, case.fixed.unwrap_or(0) as f64, weights)?;
        let known = if failure.overflow.kind == Kind::CutShort { failure.limit } else { failure.known() };
        material.provider_window = material.provider_window.min(known as f64);
        let steps = StepSettings { steps: material.recorded.steps.steps, ..inspection.configured.clone() };
        let recorded = inspection.replay_settings(steps, inspection.configured_on);
        let cut = case.overflows.iter().filter(|it| it.kind == Kind::CutShort).map(|it| it.entry).collect();
        Ok(Some(Self {
            material: material.recorded_under(recorded.clone()),
            inspection,
            recorded,
            failing: (!failure.ahead).then_some(failure.overflow.entry),
            cut,
            room: failure.room,
        }))
    }

    /// As it was.
    pub(super) fn as_it_was(&self) -> Whole {
        let replay = self.material.replay(&self.inspection, &self.recorded);
        let is_over =
            |at: usize, sent: &CallReplay| sent.overflow || self.cut.contains(&replay.calls[at].entry);
        self.sum(&replay, &replay.recorded, is_over)
    }

    /// Under a change.
    pub(super) fn under(&self, tried: &Tried) -> Whole {
        let mut settings = self.recorded.clone();
        settings.steps = StepSettings { steps: settings.steps.steps, ..tried.settings.clone() };
        settings.prune_on = tried.prune_on;
        let steps = [(Step::Prune, tried.prunes), (Step::Compact, tried.compacts)];
        for (step, on) in steps {
            settings.steps.steps = settings.steps.steps.with(step, on || settings.steps.steps.has(step));
        }
        let replay = match tried.runtime_window {
            None => self.material.replay(&self.inspection, &settings),
            Some(window) => {
                let mut inspection = self.inspection.clone();
                inspection.upkeep.runtime_window = window;
                self.material.replay(&inspection, &settings)
            }
        };
        let is_over = |at: usize, sent: &CallReplay| self.is_over(&replay.calls[at], sent);
        self.sum(&replay, &replay.simulated, is_over)
    }

    /// Whether a call does not fit, or leaves too little for its reply where that was cut short.
    fn is_over(&self, call: &crate::replay::Call, sent: &CallReplay) -> bool {
        if self.cut.contains(&call.entry) {
            return sent.expected + self.room as f64 > self.material.provider_window;
        }
        sent.overflow
    }

    fn sum(
        &self,
        replay: &Replay,
        lane: &[CallReplay],
        is_over: impl Fn(usize, &CallReplay) -> bool,
    ) -> Whole {
        let over: Vec<usize> =
            lane.iter().enumerate().filter(|(at, sent)| is_over(*at, sent)).map(|(at, _)| at).collect();
        let failing =
            self.failing.and_then(|failing| replay.calls.iter().position(|call| call.entry == failing));
        let failed = failing.is_some_and(|failing| over.contains(&failing));
        let totals = Totals::of(&replay.calls, lane);
        Whole {
            others: over.len() - usize::from(failed),
            failing: failed,
            tokens: failing.map(|at| lane[at].expected.max(0.0) as u64),
            peak: totals.peak.0.max(0.0) as u64,
            cost: totals.cost.map(|cost| cost + totals.summaries),
            compactions: totals.compactions,
            pruned: lane.iter().filter(|sent| sent.pruned.is_some()).count(),
        }
    }
}

/// The session at a leaf from which the failing call stands on the path.
fn through(inspection: &Inspection, failure: &Failure) -> Option<Inspection> {
    let entry = failure.overflow.entry;
    if inspection.context.path.contains(&entry) {
        return Some(inspection.clone());
    }
    let index = &inspection.index;
    let leaf = Leaf::Id(index.entry(entry).id.map(|id| index.ids.text(id).to_owned())?);
    let context = build(index, &inspection.tree, &leaf).ok()?;
    Some(Inspection {
        leaf,
        context: Arc::new(context),
        context_throws: false,
        closer: None,
        measured: Err(Unmeasured::OtherLeaf),
        ..inspection.clone()
    })
}

/// Tokens of the message of each entry of the path: those between two counted calls weigh what the prompt grew by.
fn weights(inspection: &Inspection, calls: &[Call], failure: &Failure, ratio: f64) -> Vec<f64> {
    let index = &inspection.index;
    let path = &inspection.context.path;
    let mut weights = vec![0.0; path.len()];
    let mut calls = calls.iter().peekable();
    let (mut since, mut last): (Vec<usize>, Option<&Call>) = (Vec::new(), None);
    let settle = |weights: &mut Vec<f64>, since: &mut Vec<usize>, grown: Option<f64>| {
        let estimated: f64 = since.iter().map(|at| weights[*at]).sum();
        let told =
            grown.map(|grown| grown / estimated).filter(|told| *told >= FACTORS.0 && *told <= FACTORS.1);
        since.drain(..).for_each(|at| weights[at] *= told.unwrap_or(ratio));
    };
    for (place, ix) in path.iter().enumerate() {
        let entry = index.entry(*ix);
        if entry.kind == EntryKind::Compaction {
            settle(&mut weights, &mut since, None);
            last = None;
        }
        if let Some(call) = calls.next_if(|call| call.entry == *ix) {
            let same = last.filter(|last| last.model == call.model);
            settle(&mut weights, &mut since, same.map(|last| call.prompt as f64 - last.prompt as f64));
            last = Some(call);
        }
        if *ix == failure.overflow.entry {
            let before = failure
                .before
                .filter(|_| last.is_some_and(|last| Some(last.entry) == failure.before.map(|it| it.0)));
            settle(
                &mut weights,
                &mut since,
                before.map(|(_, tokens)| failure.requested as f64 - tokens as f64),
            );
        }
        let Some(size) =
            entry.message.filter(|_| entry.makes_message() || entry.kind == EntryKind::Compaction)
        else {
            continue;
        };
        weights[place] = estimate_or_zero(&size) as f64;
        since.push(place);
    }
    settle(&mut weights, &mut since, None);
    weights
}
