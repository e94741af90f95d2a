//! Finds the cause of a miss: first in the entries between two calls, then in the gateway's recording of its runs, last in
//! the recorded trace of the replay. The last two are read only if the entries leave a miss unexplained.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::gateway::retention::Retention;
use crate::ids::EntryIx;
use crate::js::{Value, date_value};
use crate::replay::cache::TokenSplit;
use crate::replay::{CacheKey, RecordedTrace};
use crate::report::cache_ledger::cause::{Cause, MissCause};
use crate::report::cache_ledger::scan::{Request, SentBefore, Unread};
use crate::session::LoadedSession;
use crate::session::replay_inputs::ReplayInputs;
use crate::store::body::BodyError;
use crate::store::entry::{EntryKind, Role};
use crate::store::trajectory::{
    CompiledContext, RecordedTool, Recording, RecordingLookup, RunAttempt, find_recording,
};
use crate::units::{Chars, Millis, Moment, Tokens};

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

// System prompts and tools of the gateway's runs, from its recording.

/// The part before the messages of a prompt: the system prompt, or its length where the recorder cut it, and the tools.
type PromptHead = (Option<String>, Option<Chars>, Vec<RecordedTool>);

/// The recorded runs of a session. Their heads are read on demand, because recordings are large.
#[derive(Debug, Default)]
struct RecordedPrompts {
    recording: Option<Recording>,
    /// Each attempt and its start, in order.
    attempts: Vec<(Moment, RunAttempt)>,
    heads: HashMap<usize, Option<PromptHead>>,
}

impl RecordedPrompts {
    /// Finds the recording; a session without one has no runs here.
    fn find(session: &LoadedSession) -> Self {
        let id = session.index.header.as_ref().map(|header| header.id.as_str()).unwrap_or_default();
        let dir = session.config.trajectory_dir.as_deref();
        let RecordingLookup::Found(place) = find_recording(&session.source, id, dir) else {
            return Self::default();
        };
        let Ok(recording) = Recording::read(&place) else { return Self::default() };
        let mut attempts: Vec<(Moment, RunAttempt)> = recording
            .attempts()
            .into_iter()
            .filter(|attempt| attempt.belongs_to(id))
            .filter_map(|attempt| {
                let first = recording.events.get(*attempt.event_indices.first()?)?;
                let start = date_value(Some(&Value::from(first.time.as_str())));
                start.is_finite().then_some((start, attempt))
            })
            .collect();
        attempts.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        Self { recording: Some(recording), attempts, heads: HashMap::new() }
    }

    /// Whether the runs of two answers had different heads. Times are those of the answers.
    fn differ(&mut self, earlier: Moment, later: Moment) -> bool {
        let (Some(one), Some(other)) = (self.attempt_at(earlier), self.attempt_at(later)) else {
            return false;
        };
        if one == other {
            return false;
        }
        let (one, other) = (self.head(one), self.head(other));
        one.zip(other).is_some_and(|(one, other)| one != other)
    }

    /// Returns the last attempt that began before a time.
    fn attempt_at(&self, time: Moment) -> Option<usize> {
        self.attempts.partition_point(|(start, _)| *start <= time).checked_sub(1)
    }

    fn head(&mut self, attempt: usize) -> Option<PromptHead> {
        let recording = self.recording.as_ref()?;
        let (_, run) = self.attempts.get(attempt)?;
        let read = || match recording.read_details(run).compiled {
            CompiledContext::Present(snapshot) => {
                Some((snapshot.system_prompt, snapshot.system_chars, snapshot.tools))
            }
            CompiledContext::Cut(_) | CompiledContext::Missing => None,
        };
        self.heads.entry(attempt).or_insert_with(read).clone()
    }
}

// Changes of the prompt between two calls, as the recorded trace of the replay has them.

/// The recorded trace of the active branch.
#[derive(Debug)]
struct TraceEvidence {
    trace: Arc<RecordedTrace>,
    /// The position of each answer.
    positions: HashMap<EntryIx, usize>,
}

impl TraceEvidence {
    fn read(session: &LoadedSession, inputs: Option<&ReplayInputs>) -> Result<Self, BodyError> {
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
    fn change_between(&self, earlier: EntryIx, later: EntryIx) -> Option<Cause> {
        let [from, to] = [earlier, later].map(|entry| self.positions.get(&entry).copied());
        let calls = &self.trace.trace;
        (from? + 1..=to?).find_map(|at| {
            let (before, now) = (calls.get(at.checked_sub(1)?)?, calls.get(at)?);
            let changed = now.prefix_changed?;
            Some((MissCause::from_policies(before, now), Some(changed)))
        })
    }
}
