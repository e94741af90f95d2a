//! Lists the model calls that a path records, in order, with time, usage and refusals.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::ids::EntryIx;
use crate::store::entry::{Entry, EntryKind, Role, StopReason, Usage};
use crate::store::index::Index;
use crate::store::intern::ValueIx;
use crate::transcript::copied_answers;
use crate::units::{Millis, Moment, Tokens};

/// Answers of a session that have something in common.
pub(super) type EntrySet = HashSet<EntryIx>;

/// A call that the provider refused because its prompt was too large, according to the texts of the transcript.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RefusedCall {
    /// The failed answer, the gateway's note of a prompt that threw, or the compaction after a refusal without either.
    pub entry: EntryIx,
    /// Tokens of the prompt, if the text names them.
    pub requested: Option<Tokens>,
    /// The token limit, if the text names it.
    pub limit: Option<Tokens>,
    /// Tokens above the limit, if the text names only them.
    pub excess: Option<Tokens>,
    /// Lower bound of a refused prompt without a number: the largest prompt that its model accepted, plus 1, in tokens.
    pub min_tokens: Tokens,
    pub reason: RefusalReason,
}

/// The party that refused a call, and the count that decided.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RefusalReason {
    /// The provider, for its tokens.
    Tokens,
    /// The server took the prompt for too large without a word: it cut the prompt and answered.
    Cut {
        /// The tokens that it counted, prompt and answer.
        counted: Tokens,
    },
    /// The provider, for its size in bytes: no token limit was hit, and fewer tokens would not have helped.
    Bytes,
    /// The gateway, by its own estimate: the provider was not asked, so nothing is known of its window.
    Gateway {
        /// The estimate, if the session's record has it.
        estimate: Option<Tokens>,
    },
}

impl RefusedCall {
    /// Whether the provider refused the prompt for its tokens.
    pub fn shows_window(&self) -> bool {
        matches!(self.reason, RefusalReason::Tokens | RefusalReason::Cut { .. })
    }

    /// Returns what the server counted of a prompt that it cut, with the answer, in tokens.
    pub(super) fn counted_when_cut(&self) -> Option<Tokens> {
        match self.reason {
            RefusalReason::Cut { counted } => Some(counted),
            _ => None,
        }
    }
}

/// The key of a cached prompt besides its text: a change of model or thinking level invalidates the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheKey {
    /// Provider and model.
    pub model: Option<(ValueIx, ValueIx)>,
    pub thinking: Option<ValueIx>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelCall {
    /// The answer, the note of a prompt that threw, or the compaction after a refusal without either.
    pub entry: EntryIx,
    pub path_index: usize,
    /// Its start: the time of the message before it, or of the answer itself if that is unknown or later;
    /// NaN if neither is known.
    pub started: Moment,
    /// Time of the answer.
    pub ended: Moment,
    /// Time since the previous call's answer; NaN at the first call.
    pub idle_ms: Millis,
    pub cache_key: CacheKey,
    pub stop_reason: StopReason,
    /// The provider's counts; `None` where it counted no prompt.
    pub usage: Option<Usage>,
    /// Usage billed for a failed or aborted call.
    pub billed: Option<Usage>,
    /// The call opens a run: a user message came since the previous call.
    pub opens_run: bool,
    /// The overflow; silent if the call has an answer whose prompt exceeded the window (compaction 8.1 ii).
    pub refused: Option<RefusedCall>,
    /// The answer was truncated: prompt and reply together filled the window.
    pub cut_short: bool,
    /// The call was refused, and the next call repeated the request: that call has the answer.
    pub retried: bool,
}

impl ModelCall {
    /// Returns the prompt tokens that the provider counted.
    pub fn measured_tokens(&self) -> Option<Tokens> {
        self.usage.map(|usage| usage.prompt_tokens())
    }

    /// Whether there is no answer to pay for.
    pub fn is_failed(&self) -> bool {
        self.usage.is_none() && matches!(self.stop_reason, StopReason::Error | StopReason::Aborted)
    }
}

/// Returns the calls of a path. `refused` lists the calls that did not fit, in file order. Copies of answers on another
/// branch, also those of `failures`, and answers that the gateway wrote itself are not calls.
pub fn model_calls(
    index: &Index,
    path: &[EntryIx],
    refused: &[RefusedCall],
    doubted: &EntrySet,
    failures: &EntrySet,
) -> Vec<ModelCall> {
    let mut copied = copied_answers(index, path);
    copied.extend(failures);
    let mut walk = CallCollector {
        index,
        copied: &copied,
        refused,
        unreliable: doubted,
        state: CollectorState::default(),
    };
    let mut calls: Vec<ModelCall> =
        path.iter().enumerate().filter_map(|(place, ix)| walk.visit(place, *ix)).collect();
    let accepted = largest_accepted(&calls);
    for call in &mut calls {
        let most = accepted.get(&call.cache_key.model).map_or(0.0, |most| most + 1.0);
        let raise = |refused: RefusedCall| match refused.reason {
            RefusalReason::Gateway { .. } => refused,
            _ => RefusedCall { min_tokens: refused.min_tokens.max(Tokens(most)), ..refused },
        };
        call.refused = call.refused.map(raise);
    }
    for at in 1..calls.len() {
        calls[at - 1].retried = calls[at - 1].refused.is_some() && !calls[at].opens_run;
    }
    calls
}

fn largest_accepted(calls: &[ModelCall]) -> HashMap<Option<(ValueIx, ValueIx)>, f64> {
    let mut accepted: HashMap<_, f64> = HashMap::new();
    for call in calls.iter().filter(|call| call.refused.is_none()) {
        let most = accepted.entry(call.cache_key.model).or_default();
        *most = most.max(call.measured_tokens().unwrap_or(Tokens::ZERO).get());
    }
    accepted
}

struct CallCollector<'a> {
    index: &'a Index,
    copied: &'a HashSet<EntryIx>,
    refused: &'a [RefusedCall],
    unreliable: &'a EntrySet,
    state: CollectorState,
}

#[derive(Default)]
struct CollectorState {
    cache_key: CacheKey,
    /// Time of the previous message or summary.
    previous_time: Option<Moment>,
    /// Time of the previous answer.
    answered_at: Option<Moment>,
    has_new_input: bool,
    /// The last message on the path is a refused answer.
    last_was_refused: bool,
}

impl CallCollector<'_> {
    fn visit(&mut self, place: usize, ix: EntryIx) -> Option<ModelCall> {
        let entry = self.index.entry(ix);
        match entry.kind {
            EntryKind::ThinkingLevelChange => self.state.cache_key.thinking = Some(entry.payload),
            EntryKind::ModelChange => self.state.cache_key.model = entry.model.or(self.state.cache_key.model),
            _ => {}
        }
        let is_answer = entry.is_model_call();
        let is_note = matches!(entry.kind, EntryKind::Custom | EntryKind::Compaction);
        let noted = self.refusal_of(ix).filter(|_| is_note && !self.state.last_was_refused);
        let call = (is_answer && !self.copied.contains(&ix) || noted.is_some())
            .then(|| self.build_call(place, ix, entry));
        if entry.becomes_message() || entry.kind == EntryKind::Compaction {
            self.state.previous_time = Some(entry.time_ms);
            let answers = matches!(entry.role(), Some(Role::Assistant | Role::ToolResult));
            self.state.has_new_input |= !answers && entry.kind != EntryKind::Compaction;
            self.state.last_was_refused = false;
        }
        if let Some(call) = &call {
            self.state.last_was_refused = call.refused.is_some();
            self.state.has_new_input = false;
            self.state.answered_at = Some(call.ended);
        }
        call
    }

    fn refusal_of(&self, ix: EntryIx) -> Option<RefusedCall> {
        let found = self.refused.binary_search_by_key(&ix, |refused| refused.entry).ok()?;
        Some(self.refused[found])
    }

    fn build_call(&mut self, place: usize, ix: EntryIx, entry: &Entry) -> ModelCall {
        self.state.cache_key.model = entry.model.or(self.state.cache_key.model);
        let size = entry.message.filter(|_| entry.kind == EntryKind::Message);
        let stop = size.map_or(StopReason::Error, |size| size.stop_reason);
        let usage = size.and_then(|size| size.usage);
        let before = self.state.previous_time.filter(|before| *before <= entry.time_ms);
        ModelCall {
            cut_short: false,
            entry: ix,
            path_index: place,
            started: before.unwrap_or(entry.time_ms),
            ended: entry.time_ms,
            idle_ms: before.unwrap_or(entry.time_ms) - self.state.answered_at.unwrap_or(Moment(f64::NAN)),
            cache_key: self.state.cache_key,
            stop_reason: stop,
            usage: usage.filter(|usage| usage.has_prompt_tokens() && !self.unreliable.contains(&ix)),
            billed: self.index.unanchored_usage.get(&ix).copied(),
            opens_run: self.state.has_new_input || self.state.answered_at.is_none(),
            refused: self.refusal_of(ix),
            retried: false,
        }
    }
}

/// A compaction that a rule asks for: the number of calls before it, and whether a refusal asks for it.
pub(super) type Due = (usize, bool);

/// Departures of the record from a replay under its own settings.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Departures {
    /// Places on the path of compactions that the replay does not derive.
    pub(super) underived: HashSet<usize>,
    /// Compactions that the replay derives and the transcript lacks.
    pub(super) missed: HashSet<Due>,
    /// Every one of several compactions that a trigger asked for is missing: under other settings they would fail as well.
    pub(super) always_fails: bool,
}

/// How a trace uses the record to decide about compactions.
#[derive(Debug, Clone, Default)]
pub(super) enum RecordUse {
    /// Compacts wherever a rule asks for it, as an ideal gateway.
    #[default]
    None,
    /// Collects the departures. `compacted` has the number of calls before each compaction of the transcript.
    Derive {
        found: Departures,
        compacted: HashSet<usize>,
    },
    Follow(Arc<Departures>),
}

/// State of a trace between a compaction of the transcript and the next call.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PendingCompaction {
    /// Place of a compaction of the transcript that the trace has neither applied nor derived.
    pub(super) place: Option<usize>,
    /// A rule asked for a compaction that had nothing to summarise.
    pub(super) found_nothing: bool,
    /// The trace compacted since the last compaction of the transcript.
    pub(super) has_compacted: bool,
}

impl RecordUse {
    /// Prepares the search for departures.
    pub(super) fn derive(index: &Index, path: &[EntryIx], calls: &[ModelCall]) -> Self {
        let is_compaction = |place: &usize| index.entry(path[*place]).kind == EntryKind::Compaction;
        let calls_before = |place: usize| calls.partition_point(|call| call.path_index < place);
        let compacted = (0..path.len()).filter(is_compaction).map(calls_before).collect();
        Self::Derive { found: Departures::default(), compacted }
    }
}
