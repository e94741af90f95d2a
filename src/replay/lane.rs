//! One lane of a replay: the messages as they come, and what every call is sent of them.

use std::collections::HashMap;

use crate::context::before_compaction::known_before;
use crate::ids::EntryIx;
use crate::policy::list::Item;
use crate::policy::{Step, StepSet};
use crate::replay::arena::Arena;
use crate::replay::cache::PrefixCache;
use crate::replay::calls::{Call, Mind};
use crate::replay::edits::PromptEdits;
use crate::replay::ground::Ground;
use crate::replay::held::Held;
use crate::replay::outcome::{CallReplay, Compacting, Trimmed};
use crate::replay::projected::is_edit;
use crate::replay::prune::Form;
use crate::replay::rewrite::Branch;
use crate::replay::sums::{Measure, Sums};
use crate::replay::{Session, Settings};
use crate::store::entry::{EntryKind, Role, StopReason};
use crate::store::intern::{IdIx, WordIx};

/// Where a list begins: its summary, and the first message of the path behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Start {
    /// The summary, by its place in the arena.
    pub(super) front: Option<usize>,
    /// The first message of the path.
    pub(super) from: usize,
}

/// The messages a run began with where they are not those of the path in their order.
#[derive(Debug, Clone)]
pub(super) struct Loaded {
    pub(super) items: Vec<Item>,
    /// Tokens of the items before each, and at last of all.
    pub(super) sums: Vec<f64>,
    /// What they hold together.
    pub(super) held: Held,
}

/// The call before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Last {
    /// Prompt and answer, as the runtime compares them with its threshold; NaN where nothing was counted.
    pub(super) tokens: f64,
    pub(super) stop: StopReason,
    pub(super) ended: f64,
    pub(super) mind: Mind,
}

/// One lane.
pub(super) struct Lane<'a> {
    pub(super) session: &'a Session<'a>,
    pub(super) settings: &'a Settings,
    /// It decides by itself when to compact.
    pub(super) compacts: bool,
    pub(super) arena: Arena<'a>,
    pub(super) measure: Measure,
    pub(super) sums: Sums,
    /// Messages of the path so far.
    pub(super) upto: usize,
    /// Where the session's list begins, and that of the run.
    pub(super) session_start: Start,
    pub(super) run_start: Start,
    /// Someone spoke, and no call was made yet.
    pub(super) is_open: bool,
    /// The call at hand is the first of its run.
    pub(super) starts_run: bool,
    /// Messages of the path that the run began with.
    pub(super) run_from: usize,
    /// The last answer so far, by its place in the arena.
    pub(super) last_answer: Option<usize>,
    pub(super) loaded: Option<Loaded>,
    /// What a repair of a list does is told by its messages one by one, or it changes nothing but details.
    pub(super) is_paired: bool,
    /// Tools of which results may be pruned.
    pub(super) prunable_tools: HashMap<WordIx, bool>,
    /// What results come to once they are pruned, by whether their details are gone.
    pub(super) forms: HashMap<(usize, Form, bool), Held>,
    /// An edit of the context changed a message: what the session has in common does not tell of it.
    pub(super) is_edited: bool,
    /// Messages that runs have gone over: details, images.
    pub(super) stripped: usize,
    pub(super) wiped: usize,
    /// The last touch as this run knows it, and the end of the last run.
    pub(super) touch: Option<f64>,
    pub(super) assumed_touch: Option<f64>,
    pub(super) history: Trimmed,
    /// What this run's list lost to the budget of all results.
    pub(super) reduced: Trimmed,
    pub(super) branch: Branch,
    /// Where the first entry of each id stands: messages of the path before it.
    pub(super) places: HashMap<IdIx, usize>,
    pub(super) last: Option<Last>,
    pub(super) compacted: Option<Compacting>,
    pub(super) truncated: Option<Compacting>,
    /// A compaction happened in this run: it leaves no touch (pruning 4.4).
    pub(super) compacted_in_run: bool,
    pub(super) cache: PrefixCache<Mind, PromptEdits>,
    /// The prompt of the call before was the one of the record.
    pub(super) was_same: bool,
    pub(super) total_cost: f64,
    /// Tokens of the answers so far that were counted, and how many these are.
    pub(super) answered: (f64, f64),
}

impl<'a> Lane<'a> {
    /// Nothing read yet. Only the simulated lane may leave written compactions out.
    pub(super) fn new(
        session: &'a Session<'a>,
        ground: &'a Ground,
        settings: &'a Settings,
        simulated: bool,
    ) -> Self {
        let arena = Arena::new(session, ground);
        let measure = Measure::new(session, ground, settings.guard_window, settings.window, &settings.steps);
        let steps = settings.steps.steps;
        Self {
            session,
            settings,
            compacts: simulated && settings.compacts(),
            measure,
            sums: Sums::new(ground.len()),
            arena,
            upto: 0,
            session_start: Start::default(),
            run_start: Start::default(),
            is_open: false,
            starts_run: false,
            run_from: 0,
            last_answer: None,
            loaded: None,
            is_paired: !steps.has(Step::Repair) || ground.is_local || ground.is_paired(session),
            prunable_tools: if steps.has(Step::Prune) {
                prunable_tools(session, ground, settings)
            } else {
                HashMap::new()
            },
            forms: HashMap::new(),
            is_edited: false,
            stripped: 0,
            wiped: 0,
            touch: None,
            assumed_touch: None,
            history: Trimmed::default(),
            reduced: Trimmed::default(),
            branch: Branch::default(),
            places: HashMap::new(),
            last: None,
            compacted: None,
            truncated: None,
            compacted_in_run: false,
            cache: PrefixCache::new(session.retention),
            was_same: true,
            total_cost: 0.0,
            answered: (0.0, 0.0),
        }
    }

    /// The steps that take part.
    pub(super) fn steps(&self) -> StepSet {
        self.settings.steps.steps
    }

    /// Takes the next entry of the path.
    pub(super) fn push(&mut self, place: usize) {
        let ix = self.session.path[place];
        let entry = self.session.index.entry(ix);
        let is_compaction = entry.kind == EntryKind::Compaction;
        let makes_message = entry.makes_message() && entry.message.is_some();
        let speaks = makes_message && !matches!(entry.role(), Some(Role::Assistant | Role::ToolResult));
        if speaks && !self.is_open {
            self.end_run(ix);
            self.begin_run(ix);
        }
        if is_compaction && self.compacts {
            return;
        }
        if self.compacts {
            self.branch.push(self.session.branch[place], self.upto);
        }
        if is_edit(self.session.index, ix) {
            self.take_edit(ix);
        }
        if is_compaction {
            self.take_compaction(place, ix);
        }
        if let Some(id) = entry.id {
            self.places.entry(id).or_insert(self.upto);
        }
        if makes_message && entry.role() == Some(Role::Assistant) {
            self.last_answer = Some(self.upto);
        }
        if makes_message {
            self.take_message();
            while self.arena.ground.is_missing(self.upto) {
                self.take_message();
            }
        }
    }

    fn take_message(&mut self) {
        self.sums.push(&self.measure.of(&self.arena, self.upto));
        self.upto += 1;
    }

    /// A compaction as it was written (compaction 4.2, 4.3).
    fn take_compaction(&mut self, place: usize, ix: EntryIx) {
        let entry = self.session.index.entry(ix);
        let Some(size) = entry.message else { return };
        let kept = entry.reference.and_then(|id| self.places.get(&id).copied());
        let front = self.arena.push_of_path(place, size);
        let by_overflow = self.last.is_some_and(|last| last.stop == StopReason::Error);
        let known = known_before(self.session.index, self.session.path, place);
        let earlier = self.compacted.and_then(|earlier| earlier.before);
        self.compact_to(Start { front: Some(front), from: kept.unwrap_or(self.upto) }, by_overflow, Some(ix));
        if let Some(done) = &mut self.compacted {
            done.before = earlier.or(known).or(done.before);
        }
        self.branch.kept(kept.unwrap_or(self.upto));
    }

    /// A call, and what became of it. `record` is what the other lane makes of it.
    pub(super) fn call(&mut self, call: &Call, record: Option<&CallReplay>) -> CallReplay {
        self.starts_run = std::mem::take(&mut self.is_open);
        let answer = self.answer(call, record);
        let counted = match call.usage {
            Some(usage) if answer.measured => usage.context_tokens,
            Some(_) => answer.expected + answer.split.output,
            None if self.settings.assumed.counted && !answer.failed => answer.expected + answer.split.output,
            None => f64::NAN,
        };
        if let Some(output) = call.usage.map(|usage| usage.output).filter(|tokens| tokens.is_finite()) {
            self.answered = (self.answered.0 + output, self.answered.1 + 1.0);
        }
        self.last = Some(Last { tokens: counted, stop: call.stop, ended: call.ended, mind: call.mind });
        answer
    }
}

/// The tools of a path by whether their results may be pruned (pruning 5.12).
fn prunable_tools(session: &Session<'_>, ground: &Ground, settings: &Settings) -> HashMap<WordIx, bool> {
    let filter = settings.steps.prune.tool_filter();
    let mut tools = HashMap::new();
    for at in ground.results.iter().filter(|at| !ground.is_missing(**at)) {
        let tool = ground.context.messages[*at].size.tool;
        tools.entry(tool).or_insert_with(|| filter.prunable(session.index.words.value(tool)));
    }
    tools
}
