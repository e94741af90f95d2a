//! Running sums over the messages of a path, so that what any stretch of it holds is a subtraction, and so is what the guard
//! makes of it.

use std::ops::{Add, Sub};

use crate::context::tokens::chars4::estimate_or_zero;
use crate::policy::clear_tool_uses::Counting;
use crate::policy::list::Item;
use crate::policy::texture::Texture;
use crate::policy::{Step, StepSet, StepSettings};
use crate::replay::arena::Arena;
use crate::replay::digest::Digest;
use crate::replay::guard::Guarding;
use crate::store::entry::MessageSize;

/// What the guard does to a stretch of messages.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Edits {
    /// Chars less, as the guard counts them.
    pub(super) chars: f64,
    /// Tokens less.
    pub(super) tokens: f64,
    /// Results that are cut.
    pub(super) trimmed: u32,
    /// Results that gave way.
    pub(super) cleared: u32,
    /// What becomes of them.
    pub(super) digest: Digest,
}

/// What a stretch of messages comes to.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Held {
    /// Messages that are sent.
    pub(super) count: u32,
    /// Tokens.
    pub(super) tokens: f64,
    /// Chars as the pruner counts them (pruning 5.4).
    pub(super) prune: f64,
    /// Chars as the guard counts them (pruning 6.32).
    pub(super) guard: f64,
    /// Tokens as clearing counts them.
    pub(super) clear: f64,
    /// Messages that some step may fail on, or that sizes do not tell enough of.
    pub(super) odd: u32,
    /// Each result held to the limit of one.
    pub(super) cut: Edits,
    /// The same once they gave way, those that can; `chars` beyond what cutting takes.
    pub(super) gone: Edits,
}

impl Edits {
    /// Messages that are edited.
    pub(super) fn count(&self) -> u32 {
        self.trimmed + self.cleared
    }
}

impl Add for Edits {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            chars: self.chars + other.chars,
            tokens: self.tokens + other.tokens,
            trimmed: self.trimmed + other.trimmed,
            cleared: self.cleared + other.cleared,
            digest: self.digest + other.digest,
        }
    }
}

impl Sub for Edits {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            chars: self.chars - other.chars,
            tokens: self.tokens - other.tokens,
            trimmed: self.trimmed - other.trimmed,
            cleared: self.cleared - other.cleared,
            digest: self.digest - other.digest,
        }
    }
}

impl Add for Held {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            tokens: self.tokens + other.tokens,
            prune: self.prune + other.prune,
            guard: self.guard + other.guard,
            clear: self.clear + other.clear,
            odd: self.odd + other.odd,
            cut: self.cut + other.cut,
            gone: self.gone + other.gone,
        }
    }
}

impl Sub for Held {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            count: self.count - other.count,
            tokens: self.tokens - other.tokens,
            prune: self.prune - other.prune,
            guard: self.guard - other.guard,
            clear: self.clear - other.clear,
            odd: self.odd - other.odd,
            cut: self.cut - other.cut,
            gone: self.gone - other.gone,
        }
    }
}

/// How messages are measured for the sums.
#[derive(Debug, Clone)]
pub(super) struct Measure {
    steps: StepSet,
    counting: Counting,
    /// None where the guard takes no part.
    guarding: Option<Guarding>,
}

impl Measure {
    /// For a window in tokens and these settings.
    pub(super) fn new(guard_window: f64, settings: &StepSettings) -> Self {
        let guarding = Guarding::new(guard_window, settings).filter(|_| settings.steps.has(Step::Guard));
        Self { steps: settings.steps, counting: settings.clear.counting, guarding }
    }

    /// Chars that the guard allows; no limit where there is none.
    pub(super) fn budget(&self) -> f64 {
        self.guarding.as_ref().map_or(f64::INFINITY, Guarding::budget)
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
                let held = self.edited(arena, at.unwrap_or(0), &change.size, change.texture.as_ref());
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
        let prune = known(size.prune_chars.get().ok());
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
            clear: if self.steps.has(Step::Clear) { self.cleared_by(size, texture) } else { 0.0 },
            odd: u32::from(is_odd),
            ..Held::default()
        };
        if let (Some(guarding), Some(texture), false) = (&self.guarding, texture, is_odd) {
            (held.cut, held.gone) = guarding.of(arena, at, size, texture);
        }
        held
    }

    /// Tokens as clearing counts them.
    fn cleared_by(&self, size: &MessageSize, texture: Option<&Texture>) -> f64 {
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
    pub(super) fn push(&mut self, held: Held) {
        let sum = self.0.last().copied().unwrap_or_default();
        self.0.push(sum + held);
    }

    /// Measures the messages from one on again.
    pub(super) fn measure_from(&mut self, first: usize, measure: impl Fn(usize) -> Held) {
        let count = self.0.len() - 1;
        self.0.truncate(first.min(count) + 1);
        (first..count).for_each(|at| self.push(measure(at)));
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
