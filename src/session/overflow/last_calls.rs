//! The state of a session: how the newest calls of its path ended. Lists, screens and commands all read it here.

use crate::ids::EntryIx;
use crate::session::overflow::CallFailures;
use crate::session::overflow::call::OverflowKind;
use crate::session::overflow::refused::CallError;
use crate::store::entry::{EntryKind, StopReason};
use crate::store::index::Index;

/// How the newest calls ended; its name is stable for scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CallState {
    /// The newest call did not fit.
    Overflow,
    /// The newest call was refused for another reason, which waiting does not remove.
    Refused,
    /// The server cut the newest prompt without a word.
    SilentCut,
    /// The newest call failed for a reason that passes: a rate limit, a timeout, a provider that is down.
    Failing,
    /// The newest call was answered, or there is none.
    #[default]
    Healthy,
}

impl CallState {
    /// The name in JSON and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Overflow => "overflow",
            Self::Refused => "refused",
            Self::SilentCut => "silent-cut",
            Self::Failing => "failing",
            Self::Healthy => "healthy",
        }
    }
}

/// The newest calls of a path.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LastCalls {
    pub state: CallState,
    /// The error of the newest call, if it is no overflow.
    pub error: Option<CallError>,
    /// The calls that failed since the last answer with an error of the same class, oldest first.
    pub failed: Vec<EntryIx>,
    /// The newest answered call.
    pub last_answer: Option<EntryIx>,
}

/// How one entry of the path ended a call.
enum Outcome<'a> {
    Answered,
    Overflowed(OverflowKind, bool),
    Failed(&'a CallError),
}

impl CallFailures {
    /// Judges the newest calls of a path, given from the root to the leaf.
    pub fn last_calls(&self, index: &Index, path: &[EntryIx]) -> LastCalls {
        let mut last = LastCalls::default();
        let (mut is_first, mut compacted) = (true, false);
        for ix in path.iter().rev().copied() {
            compacted |= index.entry(ix).kind == EntryKind::Compaction;
            let Some(outcome) = self.outcome(index, ix) else { continue };
            match outcome {
                Outcome::Overflowed(kind, has_count) if is_first || !compacted && kind.is_refusal() => {
                    return LastCalls { state: overflow_state(kind, has_count), ..LastCalls::default() };
                }
                Outcome::Answered => {
                    last.last_answer = Some(ix);
                    break;
                }
                Outcome::Overflowed(kind, _) if !kind.is_refusal() => {
                    last.last_answer = Some(ix);
                    break;
                }
                Outcome::Overflowed(..) => break,
                Outcome::Failed(error) => last.add(error),
            }
            is_first = false;
        }
        last.failed.reverse();
        last
    }

    fn outcome(&self, index: &Index, ix: EntryIx) -> Option<Outcome<'_>> {
        let same = |at: &EntryIx| at.cmp(&ix);
        if let Some(overflow) = self.overflows.iter().find(|it| it.entry == ix || it.duplicates.contains(&ix))
        {
            return Some(Outcome::Overflowed(overflow.kind, overflow.requested.is_some()));
        }
        if let Ok(at) = self.errors.binary_search_by(|error| same(&error.entry)) {
            return Some(Outcome::Failed(&self.errors[at]));
        }
        let entry = index.entry(ix);
        let stop = entry.message.filter(|_| entry.is_model_call())?.stop_reason;
        // A person stopped an aborted call: it says nothing about the next one.
        (!matches!(stop, StopReason::Aborted)).then_some(Outcome::Answered)
    }
}

impl LastCalls {
    /// Adds an older error: it counts if its class is that of the newest.
    fn add(&mut self, error: &CallError) {
        let newest = self.error.get_or_insert_with(|| error.clone());
        self.state = if newest.class.is_transient() { CallState::Failing } else { CallState::Refused };
        let is_note = error.noted_by_gateway && !self.failed.is_empty() && error.text == newest.text;
        if newest.class == error.class && !is_note {
            self.failed.push(error.entry);
        }
    }
}

fn overflow_state(kind: OverflowKind, has_count: bool) -> CallState {
    match kind {
        OverflowKind::Silent if !has_count => CallState::SilentCut,
        _ => CallState::Overflow,
    }
}
