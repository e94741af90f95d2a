//! Finds the cause of a miss: first in the entries between two calls, then in the gateway's recording of its runs, last in
//! the recorded trace of the replay. The last two are read only if the entries leave a miss unexplained.

mod recorded_prompts;
mod recorded_trace;

use std::collections::HashSet;

use crate::gateway::retention::Retention;
use crate::ids::EntryIx;
use crate::replay::CacheKey;
use crate::replay::cache::TokenSplit;
use crate::report::cache_ledger::cause::{Cause, MissCause};
use crate::report::cache_ledger::requests::Request;
use crate::report::cache_ledger::scan::{SentBefore, Unread};
use crate::session::LoadedSession;
use crate::session::replay_inputs::ReplayInputs;
use crate::store::body::BodyError;
use crate::store::entry::{EntryKind, Role};
use crate::units::{Millis, Tokens};
use recorded_prompts::RecordedPrompts;
use recorded_trace::TraceEvidence;

/// Share of the fixed parts below which a read ends within them.
const CHANGED_FIXED_SHARE: f64 = 0.9;
/// Tokens of the largest block in which providers count what they read.
const CACHE_BLOCK: Tokens = Tokens(256.0);

/// The sources of one session.
#[derive(Debug)]
pub(super) struct Evidence<'a> {
    session: &'a LoadedSession,
    /// The inputs of replays, if they were read already.
    inputs: Option<&'a ReplayInputs>,
    /// The time for which the provider keeps a prompt.
    retention_ms: Millis,
    prompts: Option<RecordedPrompts>,
    trace: Option<TraceEvidence>,
}

impl<'a> Evidence<'a> {
    pub(super) fn new(
        session: &'a LoadedSession,
        retention: Retention,
        inputs: Option<&'a ReplayInputs>,
    ) -> Self {
        // The provider did report a cache, so it keeps prompts even if the configuration disables it.
        let retention = if retention == Retention::None { Retention::Short } else { retention };
        Self { session, inputs, retention_ms: retention.duration(), prompts: None, trace: None }
    }

    /// Returns the cause of unread tokens.
    pub(super) fn cause_of(&mut self, request: &Request, unread: &Unread) -> Result<Cause, BodyError> {
        let Some(previous) = &unread.previous else { return Ok((MissCause::FirstCall, None)) };
        if let Some((cause, entry)) = unread.replaced {
            return Ok((cause, Some(entry)));
        }
        let is_expired = unread.age_ms(request) >= self.retention_ms;
        let Some(earlier) = previous.entry else {
            // Only a warmed cache precedes the call, and its content is unknown.
            let cause = if is_expired { MissCause::Pause } else { MissCause::Unknown };
            return Ok((cause, None));
        };
        if let Some(cause) = self.cause_in_entries(request, (earlier, previous.cache_key), is_expired) {
            return Ok(cause);
        }
        let session = self.session;
        let prompts = self.prompts.get_or_insert_with(|| RecordedPrompts::find(session));
        if prompts.differ(session.index.entry(earlier).time_ms, request.ended) {
            return Ok((MissCause::SystemChanged, None));
        }
        if self.trace.is_none() {
            self.trace = Some(TraceEvidence::read(session, self.inputs)?);
        }
        let traced = self.trace.as_ref().and_then(|trace| trace.change_between(earlier, request.entry));
        Ok(traced.unwrap_or_else(|| (self.cause_by_shape(request, previous), None)))
    }

    /// Returns the cause that the tokens read show, if the history only grew. What a provider drops early is read again
    /// up to another depth, or not at all.
    fn cause_by_shape(&self, request: &Request, previous: &SentBefore) -> MissCause {
        let read = TokenSplit::from_usage(&request.usage).read;
        let fixed = [self.session.fixed_tokens(), self.session.next_prompt.fixed_tokens];
        let fixed = fixed.into_iter().filter(|tokens| *tokens > 0).min().unwrap_or(0);
        if read <= Tokens::ZERO {
            MissCause::Unknown
        } else if read < Tokens(fixed as f64 * CHANGED_FIXED_SHARE) {
            MissCause::SystemChanged
        } else if (read - previous.read).abs() <= CACHE_BLOCK {
            MissCause::PrefixEnds
        } else {
            MissCause::Unknown
        }
    }

    /// Returns the cause that the entries themselves show, the one that empties most of the cache first.
    fn cause_in_entries(
        &self,
        request: &Request,
        (earlier, cache_key): (EntryIx, CacheKey),
        is_expired: bool,
    ) -> Option<Cause> {
        if request.cache_key.model != cache_key.model {
            return Some((MissCause::ModelChanged, None));
        }
        let Some(between) = self.entries_between(earlier, request.entry) else {
            let fork = self.fork(earlier, request.entry);
            return Some((MissCause::BranchSwitched, fork));
        };
        if is_expired {
            return Some((MissCause::Pause, None));
        }
        if request.cache_key.thinking != cache_key.thinking {
            return Some((MissCause::ThinkingChanged, None));
        }
        let index = &self.session.index;
        if let Some(system) = between.iter().find(|ix| index.entry(**ix).role() == Some(Role::System)) {
            return Some((MissCause::SystemChanged, Some(*system)));
        }
        let edits = between.iter().filter(|ix| index.entry(**ix).kind == EntryKind::ContextEdit);
        let targets = edits.map(|ix| index.entry(*ix).reference.and_then(|id| self.session.tree.find(id)));
        targets.min().map(|target| (MissCause::ContextEdit, target))
    }

    /// Returns the entries of the branch between two answers; `None` if the earlier one is not on the branch.
    fn entries_between(&self, earlier: EntryIx, later: EntryIx) -> Option<Vec<EntryIx>> {
        let mut between = Vec::new();
        let mut at = self.session.tree.parent(later)?;
        // A damaged file can have a cycle of parents.
        while at != earlier && between.len() < self.session.index.entries.len() {
            between.push(at);
            at = self.session.tree.parent(at)?;
        }
        between.reverse();
        (at == earlier).then_some(between)
    }

    /// Returns the last entry that two branches share.
    fn fork(&self, one: EntryIx, other: EntryIx) -> Option<EntryIx> {
        let tree = &self.session.tree;
        let own: HashSet<EntryIx> = tree.path_to(&self.session.index, one).into_iter().collect();
        tree.path_to(&self.session.index, other).into_iter().rev().find(|ix| own.contains(ix))
    }
}
