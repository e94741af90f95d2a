//! One lane of a replay: the messages as they come, and what every call is sent of them.

use std::collections::HashMap;

use crate::context::projection::edited_size;
use crate::ids::EntryIx;
use crate::policy::list::Item;
use crate::policy::{Step, StepSet};
use crate::replay::arena::Arena;
use crate::replay::cache::PrefixCache;
use crate::replay::calls::{Call, Mind};
use crate::replay::guard::GaveWay;
use crate::replay::outcome::{CallReplay, Compacting, Trimmed};
use crate::replay::rewrite::Branch;
use crate::replay::sums::{Held, Measure, Sums};
use crate::replay::{Session, Settings};
use crate::store::entry::{EntryKind, Reading, Role, StopReason};
use crate::store::intern::IdIx;

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
}

/// One lane.
pub(super) struct Lane<'a> {
    pub(super) session: &'a Session<'a>,
    pub(super) settings: &'a Settings,
    /// It decides by itself when to compact.
    pub(super) compacts: bool,
    pub(super) arena: Arena,
    pub(super) measure: Measure,
    pub(super) sums: Sums,
    /// Messages of the path so far.
    pub(super) upto: usize,
    /// Where the session's list begins, and that of the run.
    pub(super) session_start: Start,
    pub(super) run_start: Start,
    /// Someone spoke, and no call was made yet.
    pub(super) is_open: bool,
    /// Messages of the path that the run began with.
    pub(super) run_from: usize,
    /// Those before this one count as history.
    pub(super) seen: usize,
    /// The last answer so far, by its place in the arena.
    pub(super) last_answer: Option<usize>,
    pub(super) loaded: Option<Loaded>,
    /// Calls and results are paired all over the path, so a repair changes nothing but details.
    pub(super) is_paired: bool,
    /// Places of the messages that the guard may replace, and what they come to, by whether their details are gone.
    pub(super) results: Vec<usize>,
    pub(super) gave_way: HashMap<usize, (bool, GaveWay)>,
    /// Messages that runs have gone over: details, images.
    pub(super) stripped: usize,
    pub(super) wiped: usize,
    /// The last touch as this run knows it, and the end of the last run.
    pub(super) touch: Option<f64>,
    pub(super) assumed_touch: Option<f64>,
    pub(super) history: Trimmed,
    pub(super) branch: Branch,
    /// Where the first entry of each id stands: messages of the path before it.
    places: HashMap<IdIx, usize>,
    pub(super) last: Option<Last>,
    pub(super) compacted: Option<Compacting>,
    pub(super) truncated: Option<Compacting>,
    /// A compaction happened in this run: it leaves no touch (pruning 4.4).
    pub(super) compacted_in_run: bool,
    pub(super) cache: PrefixCache<Mind>,
    /// The prompt of the call before was the one of the record.
    pub(super) was_same: bool,
    pub(super) total_cost: f64,
}

impl<'a> Lane<'a> {
    /// Nothing read yet. Only the simulated lane may leave written compactions out.
    pub(super) fn new(session: &'a Session<'a>, settings: &'a Settings, simulated: bool) -> Self {
        let arena = Arena::new(session);
        let measure = Measure::new(settings.guard_window, &settings.steps);
        let sums = Sums::new(&arena, &measure);
        let mut lane = Self {
            session,
            settings,
            compacts: simulated && settings.compacts(),
            measure,
            sums,
            arena,
            upto: 0,
            session_start: Start::default(),
            run_start: Start::default(),
            is_open: false,
            run_from: 0,
            seen: 0,
            last_answer: None,
            loaded: None,
            is_paired: true,
            results: Vec::new(),
            gave_way: HashMap::new(),
            stripped: 0,
            wiped: 0,
            touch: None,
            assumed_touch: None,
            history: Trimmed::default(),
            branch: Branch::default(),
            places: HashMap::new(),
            last: None,
            compacted: None,
            truncated: None,
            compacted_in_run: false,
            cache: PrefixCache::new(session.retention),
            was_same: true,
            total_cost: 0.0,
        };
        let is_result = |at: &usize| lane.arena.texture(*at).is_some_and(|texture| texture.guard.is_result);
        lane.results = (0..lane.arena.of_path).filter(is_result).collect();
        lane.is_paired = !settings.steps.steps.has(Step::Repair) || lane.repairs_nothing();
        lane
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
        self.branch.push(self.session.branch[place], self.upto);
        if entry.kind == EntryKind::ContextEdit && self.session.index.reading == Reading::Projected {
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
        self.upto += usize::from(makes_message);
    }

    /// An edit of the context as it was written: from here on its target has another content, or weighs nothing
    /// (store-pi-1.5 D3).
    fn take_edit(&mut self, ix: EntryIx) {
        let index = self.session.index;
        let target = index.entry(ix).reference;
        let Some(at) = target.and_then(|id| self.places.get(&id).copied()) else { return };
        let Some(message) = self.arena.context.messages.get(at).filter(|_| at < self.upto) else { return };
        if index.entry(message.entry).id != target {
            return;
        }
        let (entry, size) = (message.entry, edited_size(index, ix, &message.size));
        self.arena.resize(at, size);
        self.branch.resize(entry, size);
        self.sums = Sums::new(&self.arena, &self.measure);
        self.cache.changed_from(at.saturating_sub(self.session_start.from));
        self.gave_way.clear();
    }

    /// A compaction as it was written (compaction 4.2, 4.3).
    fn take_compaction(&mut self, place: usize, ix: EntryIx) {
        let entry = self.session.index.entry(ix);
        let Some(size) = entry.message else { return };
        let kept = entry.reference.and_then(|id| self.places.get(&id).copied());
        let front = self.arena.push_of_path(self.session, place, size);
        let by_overflow = self.last.is_some_and(|last| last.stop == StopReason::Error);
        self.compact_to(Start { front: Some(front), from: kept.unwrap_or(self.upto) }, by_overflow, true);
        self.branch.kept(kept.unwrap_or(self.upto));
    }

    /// A call, and what became of it. `record` is what the other lane makes of it.
    pub(super) fn call(&mut self, call: &Call, record: Option<&CallReplay>) -> CallReplay {
        self.is_open = false;
        let answer = self.answer(call, record);
        let counted = match call.usage {
            Some(usage) if answer.measured => usage.context_tokens,
            Some(_) => answer.expected + answer.split.output,
            None => f64::NAN,
        };
        self.last = Some(Last { tokens: counted, stop: call.stop, ended: call.ended });
        answer
    }
}
