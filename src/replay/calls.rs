//! Every model call that a path records, in order: when it was made, what was said of it, and what stood around it.

use std::collections::{HashMap, HashSet};

use crate::ids::EntryIx;
use crate::store::entry::{Entry, EntryKind, Role, StopReason, Usage};
use crate::store::index::Index;
use crate::store::intern::WordIx;
use crate::transcript::copied_answers;

/// Answers whose counts are no measure.
pub(super) type Doubted = HashSet<EntryIx>;

/// A call that was refused because its prompt was too large, as the texts of the transcript tell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Refused {
    /// The entry that says so: a failed answer, or what the gateway noted of a prompt that threw.
    pub entry: EntryIx,
    /// Tokens of the prompt, where the words name them.
    pub requested: Option<f64>,
    /// Tokens that fit, where the words name them.
    pub limit: Option<f64>,
    /// A refused prompt without a number was larger than this: the largest that its model accepted, in tokens.
    pub least: f64,
    /// It was refused for its bytes: no token limit was hit, so no fewer tokens would have helped.
    pub bytes: bool,
}

/// What a prompt belongs to besides its text: provider and model, and the thinking level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mind {
    /// Provider and model.
    pub model: Option<(WordIx, WordIx)>,
    /// The thinking level.
    pub thinking: Option<WordIx>,
}

/// One model call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Call {
    /// The answer, or the note of a prompt that threw.
    pub entry: EntryIx,
    /// Where that stands on the path.
    pub place: usize,
    /// When it was made, ms since the epoch: when the message before it was written, NaN where nothing tells.
    pub started: f64,
    /// When its answer was written, ms.
    pub ended: f64,
    /// Time since the answer of the call before it, ms; NaN at the first one.
    pub idle_ms: f64,
    /// Model and thinking.
    pub mind: Mind,
    /// How it ended.
    pub stop: StopReason,
    /// What the provider counted; none where it counted no prompt.
    pub usage: Option<Usage>,
    /// What a failed or aborted call was billed.
    pub billed: Option<Usage>,
    /// It opens a run: someone spoke since the call before it.
    pub opens_run: bool,
    /// Its prompt did not fit; silently where the answer itself took in more than the window (compaction 8.1 ii).
    pub refused: Option<Refused>,
    /// It was answered, but cut short: prompt and reply together filled the window.
    pub cut_short: bool,
    /// It was refused, and the call after it made the same request again: the answer is that one's.
    pub retried: bool,
}

impl Call {
    /// Prompt tokens as the provider counted them.
    pub fn measured(&self) -> Option<f64> {
        self.usage.map(|usage| usage.prompt_tokens())
    }

    /// Whether there is no answer to pay for.
    pub fn failed(&self) -> bool {
        self.usage.is_none() && matches!(self.stop, StopReason::Error | StopReason::Aborted)
    }
}

/// The calls of a path. `refused` are those that did not fit, in file order. Copies of answers on another branch are no
/// calls, nor are answers that the gateway wrote itself.
pub fn calls(index: &Index, path: &[EntryIx], refused: &[Refused], doubted: &Doubted) -> Vec<Call> {
    let copied = copied_answers(index, path);
    let mut walk = Walk { index, copied: &copied, refused, doubted, state: State::default() };
    let mut calls: Vec<Call> =
        path.iter().enumerate().filter_map(|(place, ix)| walk.entry(place, *ix)).collect();
    let accepted = accepted(&calls);
    for call in &mut calls {
        let most = accepted.get(&call.mind.model).map_or(0.0, |most| most + 1.0);
        call.refused = call.refused.map(|refused| Refused { least: refused.least.max(most), ..refused });
    }
    for at in 1..calls.len() {
        calls[at - 1].retried = calls[at - 1].refused.is_some() && !calls[at].opens_run;
    }
    calls
}

/// The largest prompt that each model accepted, in tokens.
fn accepted(calls: &[Call]) -> HashMap<Option<(WordIx, WordIx)>, f64> {
    let mut accepted: HashMap<_, f64> = HashMap::new();
    for call in calls.iter().filter(|call| call.refused.is_none()) {
        let most = accepted.entry(call.mind.model).or_default();
        *most = most.max(call.measured().unwrap_or(0.0));
    }
    accepted
}

struct Walk<'a> {
    index: &'a Index,
    copied: &'a HashSet<EntryIx>,
    refused: &'a [Refused],
    doubted: &'a Doubted,
    state: State,
}

#[derive(Default)]
struct State {
    mind: Mind,
    /// When the message or summary before was written.
    before: Option<f64>,
    /// When the answer before was written.
    answered: Option<f64>,
    /// Someone spoke since.
    spoken: bool,
    /// The last thing on the path is a refused answer.
    refused: bool,
}

impl Walk<'_> {
    fn entry(&mut self, place: usize, ix: EntryIx) -> Option<Call> {
        let entry = self.index.entry(ix);
        match entry.kind {
            EntryKind::ThinkingLevelChange => self.state.mind.thinking = Some(entry.word),
            EntryKind::ModelChange => self.state.mind.model = entry.model.or(self.state.mind.model),
            _ => {}
        }
        let is_answer = entry.is_call();
        let noted = self.said_of(ix).filter(|_| entry.kind == EntryKind::Custom && !self.state.refused);
        let call =
            (is_answer && !self.copied.contains(&ix) || noted.is_some()).then(|| self.call(place, ix, entry));
        if entry.makes_message() || entry.kind == EntryKind::Compaction {
            self.state.before = Some(entry.time);
            let answers = matches!(entry.role(), Some(Role::Assistant | Role::ToolResult));
            self.state.spoken |= !answers && entry.kind != EntryKind::Compaction;
            self.state.refused = false;
        }
        if let Some(call) = &call {
            self.state.refused = call.refused.is_some();
            self.state.spoken = false;
            self.state.answered = Some(call.ended);
        }
        call
    }

    fn said_of(&self, ix: EntryIx) -> Option<Refused> {
        let found = self.refused.binary_search_by_key(&ix, |refused| refused.entry).ok()?;
        Some(self.refused[found])
    }

    fn call(&mut self, place: usize, ix: EntryIx, entry: &Entry) -> Call {
        self.state.mind.model = entry.model.or(self.state.mind.model);
        let size = entry.message.filter(|_| entry.kind == EntryKind::Message);
        let stop = size.map_or(StopReason::Error, |size| size.stop);
        let usage = size.and_then(|size| size.usage);
        let before = self.state.before.filter(|before| *before <= entry.time);
        Call {
            cut_short: false,
            entry: ix,
            place,
            started: before.unwrap_or(entry.time),
            ended: entry.time,
            idle_ms: before.unwrap_or(entry.time) - self.state.answered.unwrap_or(f64::NAN),
            mind: self.state.mind,
            stop,
            usage: usage.filter(|usage| usage.is_counted() && !self.doubted.contains(&ix)),
            billed: self.index.beside.get(&ix).copied(),
            opens_run: self.state.spoken || self.state.answered.is_none(),
            refused: self.said_of(ix),
            retried: false,
        }
    }
}
