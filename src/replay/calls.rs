//! Every model call that a path records, in order: when it was made, what was said of it, and what stood around it.

use std::collections::{HashMap, HashSet};

use crate::ids::EntryIx;
use crate::store::entry::{Entry, EntryKind, Role, StopReason, Usage};
use crate::store::index::Index;
use crate::store::intern::ValueIx;
use crate::transcript::copied_answers;

/// Answers whose counts are no measure.
pub(super) type UnreliableAnswers = HashSet<EntryIx>;

/// A call that was refused because its prompt was too large, as the texts of the transcript tell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RefusedCall {
    /// The entry that says so: a failed answer, or what the gateway noted of a prompt that threw.
    pub entry: EntryIx,
    /// Tokens of the prompt, where the words name them.
    pub requested: Option<f64>,
    /// Tokens that fit, where the words name them.
    pub limit: Option<f64>,
    /// A refused prompt without a number was larger than this: the largest that its model accepted, in tokens.
    pub min_tokens: f64,
    /// It was refused for its bytes: no token limit was hit, so no fewer tokens would have helped.
    pub is_byte_limit: bool,
}

/// What a prompt belongs to besides its text: provider and model, and the thinking level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheKey {
    /// Provider and model.
    pub model: Option<(ValueIx, ValueIx)>,
    /// The thinking level.
    pub thinking: Option<ValueIx>,
}

/// One model call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelCall {
    /// The answer, or the note of a prompt that threw.
    pub entry: EntryIx,
    /// Where that stands on the path.
    pub path_index: usize,
    /// When it was made, ms since the epoch: when the message before it was written, NaN where nothing tells.
    pub started: f64,
    /// When its answer was written, ms.
    pub ended: f64,
    /// Time since the answer of the call before it, ms; NaN at the first one.
    pub idle_ms: f64,
    /// Model and thinking.
    pub cache_key: CacheKey,
    /// How it ended.
    pub stop_reason: StopReason,
    /// What the provider counted; none where it counted no prompt.
    pub usage: Option<Usage>,
    /// What a failed or aborted call was billed.
    pub billed: Option<Usage>,
    /// It opens a run: someone spoke since the call before it.
    pub opens_run: bool,
    /// Its prompt did not fit; silently where the answer itself took in more than the window (compaction 8.1 ii).
    pub refused: Option<RefusedCall>,
    /// It was answered, but cut short: prompt and reply together filled the window.
    pub cut_short: bool,
    /// It was refused, and the call after it made the same request again: the answer is that one's.
    pub retried: bool,
}

impl ModelCall {
    /// Prompt tokens as the provider counted them.
    pub fn measured_tokens(&self) -> Option<f64> {
        self.usage.map(|usage| usage.prompt_tokens())
    }

    /// Whether there is no answer to pay for.
    pub fn is_failed(&self) -> bool {
        self.usage.is_none() && matches!(self.stop_reason, StopReason::Error | StopReason::Aborted)
    }
}

/// The calls of a path. `refused` are those that did not fit, in file order. Copies of answers on another branch are no
/// calls, nor are answers that the gateway wrote itself.
pub fn model_calls(
    index: &Index,
    path: &[EntryIx],
    refused: &[RefusedCall],
    doubted: &UnreliableAnswers,
) -> Vec<ModelCall> {
    let copied = copied_answers(index, path);
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
        call.refused =
            call.refused.map(|refused| RefusedCall { min_tokens: refused.min_tokens.max(most), ..refused });
    }
    for at in 1..calls.len() {
        calls[at - 1].retried = calls[at - 1].refused.is_some() && !calls[at].opens_run;
    }
    calls
}

/// The largest prompt that each model accepted, in tokens.
fn largest_accepted(calls: &[ModelCall]) -> HashMap<Option<(ValueIx, ValueIx)>, f64> {
    let mut accepted: HashMap<_, f64> = HashMap::new();
    for call in calls.iter().filter(|call| call.refused.is_none()) {
        let most = accepted.entry(call.cache_key.model).or_default();
        *most = most.max(call.measured_tokens().unwrap_or(0.0));
    }
    accepted
}

struct CallCollector<'a> {
    index: &'a Index,
    copied: &'a HashSet<EntryIx>,
    refused: &'a [RefusedCall],
    unreliable: &'a UnreliableAnswers,
    state: CollectorState,
}

#[derive(Default)]
struct CollectorState {
    cache_key: CacheKey,
    /// When the message or summary before was written.
    previous_time: Option<f64>,
    /// When the answer before was written.
    answered_at: Option<f64>,
    /// Someone spoke since.
    has_new_input: bool,
    /// The last thing on the path is a refused answer.
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
        let noted =
            self.refusal_of(ix).filter(|_| entry.kind == EntryKind::Custom && !self.state.last_was_refused);
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
            idle_ms: before.unwrap_or(entry.time_ms) - self.state.answered_at.unwrap_or(f64::NAN),
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
