//! Changes of the prompt between two calls, as the recorded trace of the replay has them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use crate::ids::EntryIx;
use crate::replay::RecordedTrace;
use crate::report::cache_ledger::cause::{Cause, MissCause};
use crate::session::LoadedSession;
use crate::session::replay_inputs::ReplayInputs;
use crate::store::body::BodyError;

/// The recorded trace of the active branch.
#[derive(Debug)]
pub(super) struct TraceEvidence {
    trace: Arc<RecordedTrace>,
    /// The position of each answer.
    positions: HashMap<EntryIx, usize>,
}

impl TraceEvidence {
    pub(super) fn read(session: &LoadedSession, inputs: Option<&ReplayInputs>) -> Result<Self, BodyError> {
        let inputs = match inputs {
            Some(inputs) => Cow::Borrowed(inputs),
            None => Cow::Owned(ReplayInputs::read(session, session.gateway_policies())?),
        };
        let trace = inputs.recorded_trace(session);
        inputs.check_bodies()?;
        let positions = trace.calls.iter().enumerate().map(|(at, call)| (call.entry, at)).collect();
        Ok(Self { trace, positions })
    }

    /// Returns the first change of the prompt after one answer and up to another; `None` if the prompts only grew, or an
    /// answer is on another branch.
    pub(super) fn change_between(&self, earlier: EntryIx, later: EntryIx) -> Option<Cause> {
        let [from, to] = [earlier, later].map(|entry| self.positions.get(&entry).copied());
        let calls = &self.trace.trace;
        (from? + 1..=to?).find_map(|at| {
            let (before, now) = (calls.get(at.checked_sub(1)?)?, calls.get(at)?);
            let changed = now.prefix_changed?;
            Some((MissCause::from_policies(before, now), Some(changed)))
        })
    }
}
