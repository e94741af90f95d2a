//! Pruning without a list of messages, and the guard and clearing behind it: the same decisions over the numbers of each result, told
//! once while it stays as it is (pruning 5, 6.33–6.35).

use crate::js::Value;
use crate::policy::Step;
use crate::policy::edit::{Edit, one_text};
use crate::policy::prune::{Clearing, Trimming, cutoff_among, keeps_images};
use crate::replay::digest::Digest;
use crate::replay::held::{Edits, Held};
use crate::replay::lane::Lane;
use crate::replay::work::Worked;
use crate::store::entry::{MessageSize, Role};

/// What pruning makes of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Form {
    Trimmed,
    Cleared,
}

/// A result that the guard went over.
pub(super) struct Guarded {
    at: usize,
    /// Its tokens before any step.
    before: f64,
    is_pruned: bool,
    /// As pruning left it.
    pub(super) held: Held,
    /// What the guard did.
    pub(super) done: Edits,
}

impl Guarded {
    /// Where it stands.
    pub(super) fn at(&self) -> usize {
        self.at
    }
}

impl Worked {
    /// Adds what became of a result.
    fn take(&mut self, result: &Guarded, clears: bool) {
        let Guarded { at, before, is_pruned, held, done } = result;
        self.guarded.trimmed += done.trimmed;
        self.guarded.cleared += done.cleared;
        self.guarded.tokens += done.tokens;
        let guarded = held.tokens - done.tokens;
        let after = if clears { held.tokens - held.used.tokens } else { guarded };
        if clears {
            self.cleared.cleared += 1;
            self.cleared.tokens += guarded - after;
        }
        if *is_pruned || done.count() > 0 || clears {
            self.edits.push((*at, after, before - after));
        }
    }
}

/// A result that pruning changes.
struct Pruned {
    at: usize,
    form: Form,
}

impl Lane<'_> {
    /// Prunes a call of which all messages are those of the path and can be counted, and lets the guard follow.
    pub(super) fn prune_alone(&mut self, held: &Held) -> Worked {
        let pruned = self.pruned(held);
        if pruned.is_empty() {
            return self.by_sums(held);
        }
        let mut worked = Worked { touched: true, ..Worked::default() };
        let forms: Vec<(usize, Form, Held)> =
            pruned.iter().map(|pruned| (pruned.at, pruned.form, self.form(pruned))).collect();
        let mut over = held.guard - held.cut.chars - self.measure.budget();
        for (at, form, made) in &forms {
            let own = self.sums.at(*at);
            over += (made.guard - made.cut.chars) - (own.guard - own.cut.chars);
            match form {
                Form::Trimmed => worked.pruned.trimmed += 1,
                Form::Cleared => worked.pruned.cleared += 1,
            }
            worked.pruned.tokens += own.tokens - made.tokens;
        }
        self.guard_pruned(held, &forms, over, &mut worked);
        worked
    }

    /// What the guard and clearing make of a pruned list: `needed` is what it is over the guard's budget.
    fn guard_pruned(&self, all: &Held, forms: &[(usize, Form, Held)], needed: f64, worked: &mut Worked) {
        let (mut gained, mut reaches) = (0.0, needed > 0.0);
        let mut left = all.guard;
        let mut forms = forms.iter().peekable();
        let mut results = Vec::new();
        let mut counted = all.clear;
        for at in self.results_within(self.run_start.from, self.upto) {
            let own = self.sums.at(*at);
            let made = forms.next_if(|(form, _, _)| form == at).map(|(_, _, made)| *made);
            let held = made.unwrap_or(own);
            let done = if reaches { held.gone } else { held.cut };
            left += held.guard - own.guard - held.cut.chars;
            left -= if reaches { held.gone.chars } else { 0.0 };
            if reaches {
                gained += done.chars;
                reaches = !(gained >= needed && done.chars > 0.0);
            }
            counted += held.clear - done.clear - own.clear;
            let is_pruned = made.is_some();
            results.push(Guarded { at: *at, before: own.tokens, is_pruned, held, done });
        }
        worked.stopped = self.measure.stops(left);
        let gone = self.uses_of(counted, &results);
        for (nth, result) in results.iter().enumerate() {
            let clears = gone.contains(&nth) && result.held.used.count() > 0;
            worked.take(result, clears);
        }
        worked.less = worked.edits.iter().map(|(_, _, less)| less).sum();
        let edited = worked.edits.iter().map(|(at, after, _)| (*at, after.round() as u64));
        worked.digest = edited.fold(Digest::default(), Digest::with);
        worked.first = worked.edits.first().and_then(|(at, _, _)| self.arena.entry(*at));
    }

    /// The results that pruning changes, in order.
    fn pruned(&mut self, held: &Held) -> Vec<Pruned> {
        let settings = &self.settings.steps.prune;
        let window = self.settings.window;
        let ground = self.arena.ground;
        let (from, to) = (self.run_start.from, self.upto);
        let stretch =
            |places: &[usize]| places.partition_point(|at| *at < from)..places.partition_point(|at| *at < to);
        let replies = &ground.replies[stretch(&ground.replies)];
        let Some(cutoff) = cutoff_among(replies, to, settings.keep_last_assistants) else {
            return Vec::new();
        };
        let Some(start) = ground.users[stretch(&ground.users)].first().copied() else { return Vec::new() };
        if window.is_nan() || window <= 0.0 {
            return Vec::new();
        }
        let mut clearing = Clearing::new(settings, window, held.prune);
        if clearing.ratio() < settings.soft_trim_ratio {
            return Vec::new();
        }
        let trimming = Trimming::new(&settings.soft_trim);
        let mut candidates: Vec<(usize, f64, bool)> = Vec::new();
        for at in self.results_within(start, cutoff) {
            let size = self.arena.size(*at);
            if size.role != Role::ToolResult || self.arena.is_left_out(*at) || !self.may_prune(*at, size) {
                continue;
            }
            let before = size.prune_chars.get().unwrap_or(0.0);
            let trimmed = trimming.chars(&size.result());
            let after = trimmed.unwrap_or(before);
            clearing.total += after - before;
            candidates.push((*at, after, trimmed.is_some()));
        }
        let chars: Vec<f64> = candidates.iter().map(|(_, chars, _)| *chars).collect();
        let cleared = clearing.cleared(&chars, chars.iter().sum()).unwrap_or(0);
        let form = |(nth, (at, _, trimmed)): (usize, &(usize, f64, bool))| {
            let form = if nth < cleared { Some(Form::Cleared) } else { trimmed.then_some(Form::Trimmed) };
            form.map(|form| Pruned { at: *at, form })
        };
        candidates.iter().enumerate().filter_map(form).collect()
    }

    /// Whether nothing shields a result but its place (pruning 5.12).
    fn may_prune(&self, at: usize, size: &MessageSize) -> bool {
        let by_tool = match self.arena.ground.missing.get(&at) {
            Some(missing) => {
                let name = Value::String(missing.result.name.clone());
                self.settings.steps.prune.tool_filter().prunable(Some(&name))
            }
            None => self.prunable_tools.get(&size.tool).copied().unwrap_or(false),
        };
        by_tool && !keeps_images(&self.settings.steps.prune, size.images)
    }

    /// What a pruned result comes to, told once while its details stay or are gone.
    fn form(&mut self, pruned: &Pruned) -> Held {
        let key = (pruned.at, pruned.form, pruned.at < self.stripped);
        if let Some(known) = self.forms.get(&key) {
            return *known;
        }
        let settings = &self.settings.steps.prune;
        let size = *self.arena.size(pruned.at);
        let (edit, chars) = match pruned.form {
            Form::Trimmed => {
                let chars = Trimming::new(&settings.soft_trim).chars(&size.result());
                (Edit::SoftTrim(settings.soft_trim), chars.unwrap_or(0.0))
            }
            Form::Cleared => {
                let placeholder = settings.hard_clear.placeholder.clone();
                let chars = placeholder.len() as f64;
                (Edit::Placeholder(placeholder.into()), chars)
            }
        };
        let after = one_text(&size, chars);
        let texture = self.arena.texture(pruned.at).filter(|_| {
            let steps = self.settings.steps.steps;
            steps.has(Step::Guard) || steps.has(Step::Clear)
        });
        let texture = texture.map(|texture| edit.foretell(&size, texture).1);
        let held = self.measure.edited(&self.arena, pruned.at, &after, texture.as_ref());
        self.forms.insert(key, held);
        held
    }
}
