//! The guard without a list of messages: near a full window it acts on every call, and all it does there is to cut what is
//! over the limit of one result and to let the oldest give way one after another (pruning 6.33–6.35). What each result
//! comes to depends on nothing else, so that what a call's guard does is told by running sums and a search.

use crate::gateway::ruleset::{Guard, Notice, Truncation};
use crate::policy::StepSettings;
use crate::policy::edit::Edit;
use crate::policy::guard::{COMPACTED, Limits, result_chars};
use crate::policy::texture::{Block, Content, Text, Texture};
use crate::replay::arena::Arena;
use crate::replay::digest::Digest;
use crate::replay::edits::Reach;
use crate::replay::held::{Edits, Held};
use crate::replay::lane::Lane;
use crate::replay::sums::Measure;
use crate::store::entry::MessageSize;

/// What the guard holds results to.
#[derive(Debug, Clone)]
pub(super) struct Guarding {
    rule: Guard,
    /// Counts what a cut result lost, where the version does that.
    notice: Option<Notice>,
    limits: Limits,
    /// What a content of one text, and one of blocks, becomes once the result gave way.
    compacted: [Content; 2],
}

/// A result as the guard leaves it.
struct Made {
    chars: f64,
    tokens: f64,
    /// Tokens as clearing counts them.
    clear: f64,
}

impl Guarding {
    /// For a window in tokens; none where the version has no guard.
    pub(super) fn new(window: f64, settings: &StepSettings) -> Option<Self> {
        let rules = settings.ruleset.rules();
        let text = Text::of(&COMPACTED.into());
        let compacted = [Content::Text(text.clone()), Content::Blocks(vec![Block::Text(text)])];
        let limits = Limits::under(rules, window, &settings.guard)?;
        let notice = match (rules.guard, rules.truncation) {
            (Guard::SingleThenStop, Truncation::Ends(ends)) => Some(ends.notice),
            _ => None,
        };
        Some(Self { rule: rules.guard, notice, limits, compacted })
    }

    /// Whether only the list of messages decides which results give way: newest first, and not all alike (releases R42).
    /// `chars` are those of all messages once each result is within its own limit.
    pub(super) fn is_by_list(&self, chars: f64) -> bool {
        self.rule == Guard::NewestFirst && chars > self.limits.budget
    }

    /// Whether the call ends before it is sent; `chars` are those that the guard leaves.
    pub(super) fn stops(&self, chars: f64) -> bool {
        self.limits.stop.is_some_and(|stop| chars > stop)
    }

    /// Chars that all messages may have together.
    pub(super) fn budget(&self) -> f64 {
        self.limits.budget
    }

    /// What becomes of a message that is held to the limit of one, and once it gave way.
    pub(super) fn of(
        &self,
        arena: &Arena<'_>,
        measure: &Measure,
        at: usize,
        size: &MessageSize,
        texture: &Texture,
    ) -> (Edits, Edits) {
        let own = texture.guard.chars.get().unwrap_or(0.0);
        let (tokens, clear) = (arena.weigh(at, size), measure.counted(size, Some(texture)));
        let done = |made: &Made, from: f64, trimmed: u32| Edits {
            chars: (from - made.chars).max(0.0),
            tokens: tokens - made.tokens,
            clear: clear - made.clear,
            trimmed,
            cleared: 1 - trimmed,
            digest: Digest::default().with((at, made.tokens.round() as u64)),
        };
        let made = self.cut((arena, measure), at, size, texture);
        // Cutting may lengthen: what it takes is signed.
        let cut = made.as_ref().map(|made| Edits { chars: own - made.chars, ..done(made, own, 1) });
        let left = made.map_or(own, |made| made.chars);
        let may_go = matches!(self.rule, Guard::Placeholders { .. }) && texture.guard.is_result;
        let cut = cut.unwrap_or_default();
        if !may_go || left <= COMPACTED.len() as f64 {
            return (cut, Edits { chars: 0.0, ..cut });
        }
        (cut, done(&self.gone((arena, measure), at, size, texture), left, 0))
    }

    /// A result over the limit of one.
    fn cut(
        &self,
        (arena, measure): (&Arena<'_>, &Measure),
        at: usize,
        size: &MessageSize,
        texture: &Texture,
    ) -> Option<Made> {
        let own = texture.guard.chars.get().unwrap_or(0.0);
        let max_chars = self.limits.single;
        let edit = match self.rule {
            Guard::Placeholders { .. } if texture.guard.is_result && own > max_chars => {
                Edit::GuardCut { max_chars }
            }
            Guard::NewestFirst | Guard::SingleThenStop if texture.guard.is_result && own > max_chars => {
                Edit::GuardHalve { single: max_chars, notice: self.notice }
            }
            Guard::Single if texture.letters.is_some_and(|letters| letters.guard_chars > max_chars) => {
                Edit::GuardFit { max_chars }
            }
            _ => return None,
        };
        let (size, texture) = edit.foretell(size, texture);
        let chars = texture.guard.chars.get().unwrap_or(own);
        let clear = measure.counted(&size, Some(&texture));
        Some(Made { chars, tokens: arena.weigh(at, &size), clear })
    }

    /// A result that gave way.
    fn gone(
        &self,
        (arena, measure): (&Arena<'_>, &Measure),
        at: usize,
        size: &MessageSize,
        texture: &Texture,
    ) -> Made {
        if measure.clears() || texture.body.is_some() || size.role != crate::store::entry::Role::ToolResult {
            let (size, after) = Edit::GuardCompact.foretell(size, texture);
            let chars = after.guard.chars.get().unwrap_or(f64::NAN);
            let clear = measure.counted(&size, Some(&after));
            return Made { chars, tokens: arena.weigh(at, &size), clear };
        }
        let [text, blocks] = &self.compacted;
        let content = if matches!(texture.content, Content::Text(_)) { text } else { blocks };
        let chars = result_chars(content.guard_chars(), None);
        Made { chars, tokens: arena.weigh(at, &content.sized(size)), clear: 0.0 }
    }
}

impl Lane<'_> {
    /// How far the guard goes in a call of which all messages are those of the path and can be counted.
    pub(super) fn guard_reach(&self, held: &Held) -> Reach {
        let (from, to) = (self.run_start.from, self.upto);
        let needed = held.guard - held.cut.chars - self.measure.budget();
        let reached = if needed > 0.0 {
            (self.sums.first(from, to, |held| held.gone.chars >= needed) + 1).min(to)
        } else {
            from
        };
        Reach { from, reached, to, uses: (to, to) }
    }

    /// Chars that the guard takes from the messages of its reach.
    pub(super) fn guard_gains(&self, reach: &Reach) -> f64 {
        let cut = self.sums.held(reach.from, reach.to).cut.chars;
        cut + self.sums.held(reach.from, reach.reached).gone.chars
    }
}
