//! Running sums over the messages of a path, so that what any stretch of it holds is a subtraction, and so is what the guard
//! makes of it.

use crate::context::tokens::chars4::estimate_or_zero;
use crate::gateway::ruleset::Preflight;
use crate::policy::clear_tool_uses::Counting;
use crate::policy::list::Item;
use crate::policy::texture::Texture;
use crate::policy::{Step, StepSet, StepSettings};
use crate::replay::Session;
use crate::replay::arena::Arena;
use crate::replay::clear::{Clearing, is_use};
use crate::replay::ground::Ground;
use crate::replay::guard::Guarding;
use crate::replay::held::Held;
use crate::store::entry::{MessageSize, Role};

/// How messages are measured for the sums.
#[derive(Debug, Clone)]
pub(super) struct Measure {
    steps: StepSet,
    preflight: Preflight,
    counting: Counting,
    /// Chars that one result may have where all are held to a budget; no limit where they are not.
    single: f64,
    /// None where the guard takes no part.
    guarding: Option<Guarding>,
    /// None where clearing takes no part, or empties calls too.
    clearing: Option<Clearing>,
}

impl Measure {
    /// For the windows of the guard and of the pruner, in tokens, and these settings.
    pub(super) fn new(
        session: &Session<'_>,
        ground: &Ground,
        guard_window: f64,
        window: f64,
        settings: &StepSettings,
    ) -> Self {
        let reduces = settings.steps.has(Step::Reduce) && !settings.reduce.keeps_sent;
        let single = settings.truncate.max_result_chars_under(settings.ruleset.rules(), window);
        let single = if reduces { single } else { f64::INFINITY };
        let clearing = Clearing::new(session, ground, settings);
        let guarding = Guarding::new(guard_window, settings).filter(|_| settings.steps.has(Step::Guard));
        let preflight = settings.ruleset.rules().preflight;
        let steps = settings.steps;
        Self { steps, preflight, counting: settings.clear.counting, single, guarding, clearing }
    }

    /// Chars that the guard allows; no limit where there is none.
    pub(super) fn budget(&self) -> f64 {
        self.guarding.as_ref().map_or(f64::INFINITY, Guarding::budget)
    }

    /// Whether only the list of messages decides what the guard does (releases R42).
    pub(super) fn guards_by_list(&self, held: &Held) -> bool {
        self.guarding.as_ref().is_some_and(|guarding| guarding.is_by_list(held.guard - held.cut.chars))
    }

    /// Whether the guard ends a call whose messages have this many chars when it is done (releases R41, R43).
    pub(super) fn stops(&self, chars: f64) -> bool {
        self.guarding.as_ref().is_some_and(|guarding| guarding.stops(chars))
    }

    /// What one message comes to as it stands.
    pub(super) fn of(&self, arena: &Arena<'_>, at: usize) -> Held {
        if arena.is_left_out(at) {
            return Held::default();
        }
        self.edited(arena, at, arena.size(at), arena.texture(at))
    }

    /// What an item of a list comes to.
    pub(super) fn of_item(&self, arena: &Arena<'_>, item: &Item) -> Held {
        match (item.position(), &item.change) {
            (Some(at), None) => self.of(arena, at),
            (at, Some(change)) => {
                let tokens = arena.weigh_item(item);
                let held =
                    self.edited(arena, at.unwrap_or(0), &arena.size_after(at, change), change.texture());
                Held { tokens, ..held }
            }
            (None, None) => Held::default(),
        }
    }

    /// What a message comes to with other sizes and another texture.
    pub(super) fn edited(
        &self,
        arena: &Arena<'_>,
        at: usize,
        size: &MessageSize,
        texture: Option<&Texture>,
    ) -> Held {
        let known = |number: Option<f64>| number.filter(|number| number.is_finite());
        let plain = known(size.prune_chars.get().ok());
        let weight = texture.and_then(|texture| texture.weight);
        let prune = weight.map_or(plain, |weight| known(weight.get().ok()));
        let chars = texture.and_then(|texture| texture.letters).map_or(0.0, |letters| letters.chars);
        let results = if size.role == Role::ToolResult { chars } else { 0.0 };
        let guard = texture.map_or(Some(0.0), |texture| known(texture.guard.chars.get().ok()));
        let unsure = |step: Step, is_odd: bool| self.steps.has(step) && is_odd;
        let is_odd = unsure(Step::Prune, prune.is_none() || size.odd)
            || unsure(Step::Guard, guard.is_none())
            || unsure(Step::Clear, texture.is_some_and(|texture| texture.sketch.is_err()));
        let mut held = Held {
            count: 1,
            tokens: arena.weigh(at, size),
            prune: prune.unwrap_or(0.0),
            guard: guard.unwrap_or(0.0),
            clear: self.counted(size, texture),
            check: self.checked(size, texture),
            results,
            large: u32::from(results > self.single),
            weighed: u32::from(prune != plain),
            odd: u32::from(is_odd),
            ..Held::default()
        };
        let Some(texture) = texture.filter(|_| !is_odd) else { return held };
        if let Some(guarding) = &self.guarding {
            (held.cut, held.gone) = guarding.of(arena, self, at, size, texture);
        }
        if let Some(clearing) = &self.clearing {
            held.uses = u32::from(is_use(texture));
            if let Some(used) = clearing.of(arena, self, at, size, texture) {
                (held.clearable, held.used) = (held.clear, used);
                (held.used_cut, held.used_gone) = (held.cut, held.gone);
            }
        }
        held
    }

    /// Whether clearing takes part.
    pub(super) fn clears(&self) -> bool {
        self.steps.has(Step::Clear)
    }

    /// Tokens of a message as the check of a prompt counts them; 0 where it takes no part.
    fn checked(&self, size: &MessageSize, texture: Option<&Texture>) -> f64 {
        match self.preflight {
            _ if !self.steps.has(Step::Check) => 0.0,
            Preflight::None => 0.0,
            Preflight::Estimate { .. } => estimate_or_zero(size) as f64,
            Preflight::Pressure(_) => texture.map_or(0.0, |texture| texture.pressure.tokens),
        }
    }

    /// Tokens of a message as clearing counts them; 0 where it takes no part.
    pub(super) fn counted(&self, size: &MessageSize, texture: Option<&Texture>) -> f64 {
        if !self.clears() {
            return 0.0;
        }
        match (self.counting, texture.map(|texture| &texture.sketch)) {
            (Counting::Approximate, Some(Ok(Some(sketch)))) => sketch.tokens() as f64,
            (Counting::Model, Some(Ok(Some(_)))) => estimate_or_zero(size) as f64,
            _ => 0.0,
        }
    }
}

/// The sums of the messages of a path before each place, as far as the lane has come, and at last of all.
#[derive(Debug, Clone)]
pub(super) struct Sums(Vec<Held>);

impl Sums {
    /// Of no message yet, of so many.
    pub(super) fn new(messages: usize) -> Self {
        let mut sums = Vec::with_capacity(messages + 1);
        sums.push(Held::default());
        Self(sums)
    }

    /// Adds the next message.
    pub(super) fn push(&mut self, held: &Held) {
        let sum = self.0.last().copied().unwrap_or_default();
        self.0.push(sum + *held);
    }

    /// Measures the messages from one on again.
    pub(super) fn measure_from(&mut self, first: usize, measure: impl Fn(usize) -> Held) {
        let count = self.0.len() - 1;
        self.0.truncate(first.min(count) + 1);
        (first..count).for_each(|at| self.push(&measure(at)));
    }

    /// What the messages `from..to` hold.
    pub(super) fn held(&self, from: usize, to: usize) -> Held {
        self.0[to] - self.0[from]
    }

    /// What one message holds.
    pub(super) fn at(&self, at: usize) -> Held {
        self.held(at, at + 1)
    }

    /// The first message of `from..to` up to which they hold so much, itself included; `to` where they never do. What is
    /// asked must not fall.
    pub(super) fn first(&self, from: usize, to: usize, holds: impl Fn(&Held) -> bool) -> usize {
        let (mut low, mut high) = (from, to);
        while low < high {
            let middle = low + (high - low) / 2;
            if holds(&self.held(from, middle + 1)) { high = middle } else { low = middle + 1 }
        }
        low
    }
}
