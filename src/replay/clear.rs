//! The clearing of tool uses without a list of messages. What a cleared result comes to depends on that result alone, and
//! whether it may be cleared on the reply before it: behind its trigger clearing is two borders in the running sums
//! (pruning 7.1, 7.2, 7.11).

use std::ops::Range;

use crate::ids::EntryIx;
use crate::policy::clear_tool_uses::{CallSketch, ClearSettings, ClearedBy, Sketch, candidates};
use crate::policy::edit::Edit;
use crate::policy::texture::Texture;
use crate::policy::{Step, StepSettings};
use crate::replay::Session;
use crate::replay::arena::Arena;
use crate::replay::digest::Digest;
use crate::replay::edits::Reach;
use crate::replay::ground::Ground;
use crate::replay::held::{Edits, Held};
use crate::replay::lane::Lane;
use crate::replay::outcome::Trimmed;
use crate::replay::prune::Guarded;
use crate::replay::sums::Measure;
use crate::replay::work::Worked;
use crate::store::entry::MessageSize;

/// Which results may be cleared, and by what.
#[derive(Debug, Clone)]
pub(super) struct Clearing {
    edit: Edit,
    may_go: Vec<bool>,
}

fn sketch(texture: &Texture) -> Option<&Sketch> {
    texture.sketch.as_ref().ok()?.as_ref()
}

/// Whether clearing counts a message among the results.
pub(super) fn is_use(texture: &Texture) -> bool {
    matches!(sketch(texture), Some(Sketch::Tool { .. }))
}

impl Clearing {
    /// Under some settings; none where clearing takes no part, or empties the arguments of calls too: which of several equal
    /// replies that meets is a matter of the list.
    pub(super) fn new(session: &Session<'_>, ground: &Ground, settings: &StepSettings) -> Option<Self> {
        let clear = &settings.clear;
        if !settings.steps.has(Step::Clear) || clear.clear_tool_inputs {
            return None;
        }
        let mut calls: &[CallSketch] = &[];
        let mut may_go = Vec::with_capacity(ground.len());
        for at in 0..ground.len() {
            let texture =
                if ground.is_missing(at) { ground.missing_texture(at) } else { ground.texture(session, at) };
            let result = match texture.and_then(sketch) {
                Some(Sketch::Ai { calls: own, .. }) => {
                    calls = own;
                    None
                }
                Some(Sketch::Tool { call, name, .. }) => {
                    let called = calls.iter().find(|own| own.id == *call);
                    called.map(|own| name.as_ref().filter(|name| !name.is_empty()).unwrap_or(&own.name))
                }
                _ => None,
            };
            may_go.push(result.is_some_and(|name| !clear.exclude_tools.contains(name)));
        }
        Some(Self { edit: Edit::ClearUse(clear.placeholder.clone()), may_go })
    }

    /// What clearing makes of a result; none of one that stays.
    pub(super) fn of(
        &self,
        arena: &Arena<'_>,
        measure: &Measure,
        at: usize,
        size: &MessageSize,
        texture: &Texture,
    ) -> Option<Edits> {
        if !self.may_go.get(at).copied().unwrap_or(false) {
            return None;
        }
        let (after, left) = self.edit.foretell(size, texture);
        let tokens = arena.weigh(at, &after);
        Some(Edits {
            chars: 0.0,
            tokens: arena.weigh(at, size) - tokens,
            clear: measure.counted(size, Some(texture)) - measure.counted(&after, Some(&left)),
            trimmed: 0,
            cleared: 1,
            digest: Digest::default().with((at, tokens.round() as u64)),
        })
    }
}

/// Whether clearing acts on messages of so many tokens, and of how many results it goes over the oldest.
fn begins(settings: &ClearSettings, tokens: f64, results: usize) -> Option<usize> {
    let is_over = tokens + settings.by.prompt_tokens() as f64 > settings.trigger;
    let count = candidates(results, settings.keep).ok().filter(|_| is_over)?;
    (count > 0).then_some(count)
}

/// Whether a server leaves all as it is, as it would free too little.
fn is_too_little(settings: &ClearSettings, clearable: f64) -> bool {
    settings.by != ClearedBy::Client && clearable < settings.clear_at_least
}

/// Tokens at which a client stops; none where it does not.
fn enough(settings: &ClearSettings) -> Option<f64> {
    Some(settings.clear_at_least).filter(|least| settings.by == ClearedBy::Client && *least > 0.0)
}

impl Lane<'_> {
    /// What the guard and clearing do to a call of which all messages are those of the path and can be counted.
    pub(super) fn by_sums(&self, held: &Held) -> Worked {
        let mut reach = self.guard_reach(held);
        let (from, to) = (reach.from, reach.to);
        let guarded = self.done_within(&reach, from, to);
        let mut cleared = Trimmed::default();
        let mut done = guarded;
        if let Some(uses) = self.uses(held, &reach, guarded.clear) {
            reach.uses = uses;
            done = self.done_within(&reach, from, to);
            let count = self.sums.held(uses.0, uses.1).used.cleared;
            cleared = Trimmed { trimmed: 0, cleared: count, tokens: done.tokens - guarded.tokens };
        }
        let count = guarded.count() + cleared.cleared;
        Worked {
            guarded: Trimmed { trimmed: guarded.trimmed, cleared: guarded.cleared, tokens: guarded.tokens },
            cleared,
            less: done.tokens,
            digest: done.digest,
            first: self.first_edited(&reach),
            reach: Some(reach).filter(|_| count > 0),
            stopped: self.measure.stops(held.guard - self.guard_gains(&reach)),
            ..Worked::default()
        }
    }

    /// The first message of a stretch that is edited.
    fn first_edited(&self, reach: &Reach) -> Option<EntryIx> {
        let first = |from: usize, to: usize, is_edited: fn(&Held) -> bool| {
            let first = self.sums.first(from, to, is_edited);
            (first < to).then_some(first)
        };
        let gone = first(reach.from, reach.reached, |held| held.gone.count() > 0);
        let guarded = gone.or_else(|| first(reach.reached, reach.to, |held| held.cut.count() > 0));
        let cleared = first(reach.uses.0, reach.uses.1, |held| held.used.count() > 0);
        let first = guarded.into_iter().chain(cleared).min()?;
        self.arena.entry(first)
    }

    /// The messages that clearing goes over; none where it clears nothing. `guarded` are tokens that the guard took before.
    fn uses(&self, held: &Held, reach: &Reach, guarded: f64) -> Option<(usize, usize)> {
        let settings = &self.settings.steps.clear;
        let (from, to) = (reach.from, reach.to);
        if !self.measure.clears() {
            return None;
        }
        let count = begins(settings, held.clear - guarded, held.uses as usize)?;
        let kept = (self.sums.first(from, to, |held| held.uses as usize >= count) + 1).min(to);
        let first = self.first_reply(from).min(kept);
        let used = self.sums.held(first, kept);
        if used.used.count() == 0 || is_too_little(settings, used.clearable - self.below(reach, first, kept))
        {
            return None;
        }
        let Some(enough) = enough(settings) else { return Some((first, kept)) };
        let mut reclaimed = 0.0;
        for at in self.results_within(first, kept) {
            let held = self.sums.at(*at);
            if held.used.count() > 0 {
                let guarded = if *at < reach.reached { held.gone } else { held.cut };
                reclaimed += held.used.clear - guarded.clear;
                if reclaimed >= enough {
                    return Some((first, at + 1));
                }
            }
        }
        Some((first, kept))
    }

    /// Tokens that the guard took of results that may be cleared, as clearing counts them.
    fn below(&self, reach: &Reach, from: usize, to: usize) -> f64 {
        let border = reach.reached.clamp(from, to);
        self.sums.held(from, border).used_gone.clear + self.sums.held(border, to).used_cut.clear
    }

    /// The first reply from a message on: results before it answer no call that is sent.
    fn first_reply(&self, from: usize) -> usize {
        let replies = &self.arena.ground.replies;
        let first = replies.partition_point(|at| *at < from);
        replies.get(first).copied().unwrap_or(self.upto)
    }

    /// The same among the results of a pruned list, which come to so many tokens with all other messages.
    pub(super) fn uses_of(&self, tokens: f64, results: &[Guarded]) -> Range<usize> {
        let settings = &self.settings.steps.clear;
        let uses: Vec<usize> = (0..results.len()).filter(|nth| results[*nth].held.uses > 0).collect();
        let Some(count) = begins(settings, tokens, uses.len()).filter(|_| self.measure.clears()) else {
            return 0..0;
        };
        let reply = self.first_reply(self.run_start.from);
        let first = results.partition_point(|result| result.at() < reply);
        let kept = (uses[count - 1] + 1).max(first);
        let goes = |nth: &usize| results[*nth].held.used.count() > 0;
        let old = || (first..kept).filter(goes);
        let clearable = old().map(|nth| results[nth].held.clear - results[nth].done.clear).sum();
        if is_too_little(settings, clearable) {
            return 0..0;
        }
        let Some(enough) = enough(settings) else { return first..kept };
        let mut reclaimed = 0.0;
        for nth in old() {
            reclaimed += results[nth].held.used.clear - results[nth].done.clear;
            if reclaimed >= enough {
                return first..nth + 1;
            }
        }
        first..kept
    }
}
