//! Everything an explanation is made from, read once: the overflows, the call that failed, the counted calls, the
//! compactions, and what else went wrong.

use crate::context::tokens::chars4::estimate_or_zero;
use crate::explain::calls::{Call, calls, ratio};
use crate::explain::compactions::{Compaction, compactions};
use crate::explain::failure::Failure;
use crate::explain::rehearsal::Rehearsal;
use crate::ids::EntryIx;
use crate::inspect::overflow::Overflow;
use crate::inspect::{Inspection, SourceOfCount};
use crate::js::{self, Value};
use crate::policy::prune::touches;
use crate::store::body::{self, BodyError};
use crate::store::entry::{EntryKind, Role, StopReason};

/// Turns that make a typical one.
const TYPICAL: usize = 3;

/// An error that was no overflow.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OtherError {
    /// Where.
    pub entry: EntryIx,
    /// What was said.
    pub text: String,
}

/// What is known of a session.
#[derive(Debug)]
pub(super) struct Case<'a> {
    /// The session.
    pub inspection: &'a Inspection,
    /// The call that is explained: the first of the last refusals that no answer parts.
    pub failure: Option<Failure>,
    /// The session's replays; none where nothing overflowed.
    pub rehearsal: Option<Rehearsal>,
    /// Entries from the root to the failed call, or to the leaf.
    pub path: Vec<EntryIx>,
    /// Its counted calls that were accepted.
    pub calls: Vec<Call>,
    /// Its compactions.
    pub compactions: Vec<Compaction>,
    /// Errors that are no overflows.
    pub errors: Vec<OtherError>,
    /// Tokens counted for one estimated, where the calls say.
    pub ratio: Option<f64>,
    /// Tokens before the messages: as a run reported, else what the first call was counted above its messages.
    pub fixed: Option<u64>,
    /// Cache touches of the file, the first one first: entry and time in ms.
    pub touches: Vec<(EntryIx, f64)>,
}

impl<'a> Case<'a> {
    /// Reads what is needed of a session.
    ///
    /// # Errors
    /// When an entry cannot be read again.
    pub(super) fn read(inspection: &'a Inspection) -> Result<Self, BodyError> {
        let explained = failed_call(inspection);
        let rehearsal =
            explained.map(|overflow| Rehearsal::read(inspection, Some(overflow.entry))).transpose()?;
        let whole = rehearsal.as_ref().map_or(inspection, |rehearsal| &rehearsal.inspection);
        let on_path = calls(inspection, &whole.context.path);
        let compactions = compactions(inspection, &whole.context.path, &on_path)?;
        let path = match explained {
            Some(overflow) => inspection.tree.walk(&inspection.index, overflow.entry),
            None => inspection.context.path.clone(),
        };
        let calls = calls(inspection, &path);
        let (ratio, first) = (ratio(&calls), first_fixed(inspection, &path, &calls));
        let failure = explained
            .zip(rehearsal.as_ref())
            .and_then(|(overflow, rehearsal)| Failure::new(rehearsal, overflow, &calls));
        let mut touches: Vec<(EntryIx, f64)> = touches(&inspection.index).collect();
        touches.reverse();
        Ok(Self {
            compactions,
            errors: other_errors(inspection)?,
            fixed: inspection.fixed.map(|_| inspection.fixed_tokens()).or(first),
            failure,
            rehearsal,
            path,
            calls,
            ratio,
            touches,
            inspection,
        })
    }

    /// Every overflow, in the order of the file.
    pub(super) fn overflows(&self) -> &[Overflow] {
        &self.inspection.overflows
    }

    /// Window of the next call, in tokens.
    pub(super) fn window(&self) -> u64 {
        self.inspection.window.tokens.max(0.0) as u64
    }

    /// Tokens above which the session compacts (compaction 2.7, 2.8).
    pub(super) fn trigger(&self) -> f64 {
        self.inspection.configured.compaction.threshold(self.inspection.upkeep.runtime_window)
    }

    /// Tokens of the next prompt, and whether the provider counted them.
    pub(super) fn prompt(&self) -> (u64, bool) {
        match self.inspection.session.tokens {
            Some(counted) => (counted.tokens, counted.source == SourceOfCount::Measured),
            None => (self.inspection.budget().total(), false),
        }
    }

    /// The name of the tool of a result.
    pub(super) fn tool(&self, entry: EntryIx) -> String {
        let tool = self.inspection.index.entry(entry).message.map(|size| size.tool);
        tool.and_then(|tool| self.inspection.index.words.text(tool)).unwrap_or_else(|| "tool".to_owned())
    }

    /// User messages of the path.
    pub(super) fn asked(&self) -> Vec<EntryIx> {
        let index = &self.inspection.index;
        self.path.iter().copied().filter(|ix| index.entry(*ix).role() == Some(Role::User)).collect()
    }

    /// Tokens that a run needs to go on: those of a typical turn, or of two calls of the failing run where these grow
    /// faster.
    pub(super) fn room_to_go_on(&self) -> u64 {
        let from = self.asked().last().copied().unwrap_or(EntryIx(0));
        let run = self.calls.iter().filter(|call| call.entry > from).collect::<Vec<_>>();
        let grown = run.windows(2).filter_map(|pair| pair[1].prompt.checked_sub(pair[0].prompt));
        self.typical_turn().max(2 * median(grown.collect()))
    }

    /// Tokens that a typical turn adds: the median of what the prompt grew by from one turn's end to the next's, or from one
    /// call to the next where there were too few turns to speak of a typical one.
    pub(super) fn typical_turn(&self) -> u64 {
        let asked = self.asked();
        let turn = |call: &Call| asked.partition_point(|asked| *asked < call.entry);
        let mut ends: Vec<(usize, u64)> = Vec::new();
        for call in &self.calls {
            match ends.last_mut().filter(|(last, _)| *last == turn(call)) {
                Some(end) => end.1 = call.prompt,
                None => ends.push((turn(call), call.prompt)),
            }
        }
        let turns: Vec<u64> = ends.windows(2).filter_map(|pair| pair[1].1.checked_sub(pair[0].1)).collect();
        if turns.len() >= TYPICAL {
            return median(turns);
        }
        let calls = self.calls.windows(2).filter_map(|pair| pair[1].prompt.checked_sub(pair[0].prompt));
        median(calls.collect())
    }
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

/// The overflow that is explained: the first of the last ones that no answer parts.
pub fn failed_call(inspection: &Inspection) -> Option<&Overflow> {
    let overflows = &inspection.overflows;
    let index = &inspection.index;
    let answers = |at: usize| {
        let entry = &index.entries[at];
        let failed = |stop| matches!(stop, StopReason::Error | StopReason::Aborted);
        let refused = || inspection.overflow_at(EntryIx(at as u32)).is_some();
        entry.is_call() && entry.message.is_some_and(|size| !failed(size.stop)) && !refused()
    };
    let mut first = overflows.len().checked_sub(1)?;
    while first > 0 && !(overflows[first - 1].entry.at() + 1..overflows[first].entry.at()).any(answers) {
        first -= 1;
    }
    overflows.get(first)
}

/// What the first call was counted above the estimate of its messages.
fn first_fixed(inspection: &Inspection, path: &[EntryIx], calls: &[Call]) -> Option<u64> {
    let first = calls.first()?;
    let index = &inspection.index;
    let before = path.iter().take_while(|ix| **ix != first.entry);
    let sizes = before.filter(|ix| index.entry(**ix).makes_message());
    let messages: u64 =
        sizes.filter_map(|ix| index.entry(*ix).message).map(|size| estimate_or_zero(&size)).sum();
    // Behind many messages their own error would be taken for what precedes them.
    (messages <= first.prompt / 4).then(|| first.prompt - messages)
}

fn other_errors(inspection: &Inspection) -> Result<Vec<OtherError>, BodyError> {
    let index = &inspection.index;
    let mut errors = Vec::new();
    for (ix, entry) in index.iter() {
        let failed = entry.kind == EntryKind::Message
            && entry.message.is_some_and(|size| size.stop == StopReason::Error);
        if !failed || inspection.overflow_at(ix).is_some() {
            continue;
        }
        let value = body::entry(&inspection.source, index, ix)?;
        let error = value.get("message").and_then(|message: &Value| message.get("errorMessage"));
        let Some(error) = error.filter(|error| js::truthy(Some(error))) else { continue };
        errors.push(OtherError { entry: ix, text: js::to_text(Some(error)).to_string_lossy() });
    }
    Ok(errors)
}
