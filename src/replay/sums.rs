//! Running sums over the messages of a path, so that what any stretch of it holds is a subtraction.

use crate::context::tokens::chars4::estimate_or_zero;
use crate::policy::clear_tool_uses::Counting;
use crate::policy::edit::{Edit, images_removed};
use crate::policy::guard::Limits;
use crate::policy::list::Item;
use crate::policy::texture::Texture;
use crate::policy::{Step, StepSettings};
use crate::replay::arena::Arena;
use crate::store::entry::{MessageSize, Role};

/// What a stretch of messages comes to.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Held {
    /// Tokens.
    pub(super) tokens: f64,
    /// Chars as the pruner counts them (pruning 5.4).
    pub(super) prune: f64,
    /// Chars as the guard counts them (pruning 6.32).
    pub(super) guard: f64,
    /// Results that may be over the guard's limit of one.
    pub(super) large: u32,
    /// Tokens as clearing counts them.
    pub(super) clear: f64,
    /// Messages that some step may fail on.
    pub(super) odd: u32,
}

impl std::ops::Add for Held {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            tokens: self.tokens + other.tokens,
            prune: self.prune + other.prune,
            guard: self.guard + other.guard,
            large: self.large + other.large,
            clear: self.clear + other.clear,
            odd: self.odd + other.odd,
        }
    }
}

impl std::ops::Sub for Held {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            tokens: self.tokens - other.tokens,
            prune: self.prune - other.prune,
            guard: self.guard - other.guard,
            large: self.large - other.large,
            clear: self.clear - other.clear,
            odd: self.odd - other.odd,
        }
    }
}

/// How messages are measured for the sums.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measure {
    limits: Limits,
    counting: Counting,
    removes_images: bool,
    strips_details: bool,
}

impl Measure {
    /// For a window in tokens and these settings.
    pub(super) fn new(guard_window: f64, settings: &StepSettings) -> Self {
        Self {
            limits: Limits::new(guard_window, &settings.guard),
            counting: settings.clear.counting,
            removes_images: settings.steps.has(Step::Images),
            strips_details: settings.steps.has(Step::Repair),
        }
    }

    /// Chars that the guard allows.
    pub(super) fn budget(&self) -> f64 {
        self.limits.budget
    }

    /// What one message comes to as it stands, and once a run has loaded it as history.
    pub(super) fn of(&self, arena: &Arena, at: usize) -> [Held; 2] {
        let size = *arena.size(at);
        let held = self.held(arena, at, &size, arena.texture(at));
        let edits = [
            (self.removes_images && arena.has_images(at)).then_some(Edit::RemoveImages),
            (self.strips_details && arena.has_details(at)).then_some(Edit::StripDetails),
        ];
        let mut edits = edits.into_iter().flatten().peekable();
        if edits.peek().is_none() {
            return [held; 2];
        }
        let Some(texture) = arena.texture(at) else {
            return [held, self.held(arena, at, &images_removed(&size), None)];
        };
        let loaded =
            edits.fold((size, texture.clone()), |(size, texture), edit| edit.foretell(&size, &texture));
        [held, self.held(arena, at, &loaded.0, Some(&loaded.1))]
    }

    /// What an item of a list comes to.
    pub(super) fn of_item(&self, arena: &Arena, item: &Item) -> Held {
        match (item.position(), &item.change) {
            (Some(at), None) => self.of(arena, at)[0],
            (at, Some(change)) => {
                let tokens = arena.weigh_item(item);
                let held = self.held(arena, at.unwrap_or(0), &change.size, change.texture.as_ref());
                Held { tokens, ..held }
            }
            (None, None) => Held::default(),
        }
    }

    fn held(&self, arena: &Arena, at: usize, size: &MessageSize, texture: Option<&Texture>) -> Held {
        let chars = texture.map_or(Ok(0.0), |texture| texture.guard.chars.get());
        let is_result = texture.map_or(size.role == Role::ToolResult, |texture| texture.guard.is_result);
        let sent = texture.is_some_and(|texture| matches!(texture.sketch, Ok(Some(_))));
        let tokens = match (self.counting, texture.map(|texture| &texture.sketch)) {
            (Counting::Approximate, Some(Ok(Some(sketch)))) => sketch.tokens() as f64,
            (Counting::Model, _) if sent => estimate_or_zero(size) as f64,
            _ => 0.0,
        };
        let known = |number: Option<f64>| number.filter(|number| number.is_finite());
        let (prune, guard) = (known(size.prune_chars.get().ok()), known(chars.ok()));
        let throws = texture.is_some_and(|texture| texture.sketch.is_err());
        Held {
            tokens: arena.weigh(at, size),
            prune: prune.unwrap_or(0.0),
            guard: guard.unwrap_or(0.0),
            large: u32::from(is_result && guard.unwrap_or(0.0) > self.limits.single),
            clear: tokens,
            odd: u32::from(prune.is_none() || guard.is_none() || throws),
        }
    }
}

/// The sums of the messages of a path before each place, and at last of all: as they stand, and once loaded as history.
#[derive(Debug, Clone)]
pub(super) struct Sums([Vec<Held>; 2]);

impl Sums {
    /// Measures every message of the path.
    pub(super) fn new(arena: &Arena, measure: &Measure) -> Self {
        let mut sums = [Vec::with_capacity(arena.of_path + 1), Vec::with_capacity(arena.of_path + 1)];
        let mut total = [Held::default(); 2];
        for at in 0..arena.of_path {
            for ((sums, total), own) in sums.iter_mut().zip(&mut total).zip(measure.of(arena, at)) {
                sums.push(*total);
                *total = *total + own;
            }
        }
        sums.iter_mut().zip(total).for_each(|(sums, total)| sums.push(total));
        Self(sums)
    }

    /// What the messages `from..to` hold, those before `seen` as history.
    pub(super) fn held(&self, from: usize, to: usize, seen: usize) -> Held {
        let [plain, loaded] = &self.0;
        let border = seen.clamp(from, to);
        (loaded[border] - loaded[from]) + (plain[to] - plain[border])
    }
}
