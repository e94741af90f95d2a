//! The steps of a call over a list of messages: the way for lists that are no stretch of the path, for messages that sizes do
//! not tell enough of, after edits of the context, and where clearing empties the arguments of calls.

use crate::ids::EntryIx;
use crate::js::Throws;
use crate::policy::clear_tool_uses::clear_list;
use crate::policy::guard::guard_list;
use crate::policy::list::{Item, List};
use crate::policy::prune::{Gate, Outcome, RoundInput, prune_list, prune_round_list};
use crate::policy::{Fate, MessageFate, Step};
use crate::replay::arena::Arena;
use crate::replay::digest::Digest;
use crate::replay::edits::Reach;
use crate::replay::lane::Lane;
use crate::replay::outcome::Trimmed;

/// What the steps of one call did to a list.
#[derive(Default)]
pub(super) struct Worked {
    pub(super) pruned: Trimmed,
    pub(super) guarded: Trimmed,
    pub(super) cleared: Trimmed,
    /// What the guard alone did.
    pub(super) reach: Option<Reach>,
    /// Everything else: place, tokens after, and tokens less.
    pub(super) edits: Vec<(usize, f64, f64)>,
    /// Tokens less, of all edits.
    pub(super) less: f64,
    pub(super) digest: Digest,
    pub(super) first: Option<EntryIx>,
    /// Pruning replaced something, be it by the same bytes.
    pub(super) touched: bool,
    /// The guard ends the call.
    pub(super) stopped: bool,
}

impl Lane<'_> {
    /// Takes the steps of a call. One that the real program fails on leaves the list as it was.
    pub(super) fn work(&self, gate: Gate) -> Worked {
        let settings = &self.settings.steps;
        let (arena, steps) = (&self.arena, settings.steps);
        let items = self.items();
        let before: Vec<f64> = items.iter().map(|item| arena.weigh_item(item)).collect();
        let mut tokens = before.clone();
        let mut list = arena.list(items);
        let (mut pruned, mut guarded, mut cleared) = Default::default();
        let (mut touched, mut stopped) = (false, false);
        if steps.has(Step::Prune)
            && let Ok(outcome) = self.prune(&mut list, gate)
        {
            touched = outcome.changes();
            pruned = tally(arena, &list, &outcome.fates, &mut tokens);
        }
        if steps.has(Step::Guard)
            && let Ok((fates, numbers)) =
                guard_list(&mut list, settings.ruleset.rules(), self.settings.guard_window, &settings.guard)
        {
            guarded = tally(arena, &list, &fates, &mut tokens);
            stopped = numbers.is_some_and(|numbers| numbers.stopped);
        }
        if steps.has(Step::Clear)
            && let Ok((fates, _)) = clear_list(&mut list, &settings.clear)
        {
            cleared = tally(arena, &list, &fates, &mut tokens);
        }
        let is_new = |at: usize, item: &Item| item.edit_count() > self.item_edits(at);
        let edits = list.items().iter().enumerate().filter(|(at, item)| is_new(*at, item));
        let shift = self.shift();
        let edits: Vec<usize> = edits.map(|(at, _)| at).collect();
        let first = edits.first().and_then(|at| list.items()[*at].position());
        let first = first.map(|at| arena.context.messages[at].entry);
        let less = edits.iter().map(|at| before[*at] - tokens[*at]).sum();
        // Lists that are no stretch of the path stand for one that begins where they do.
        let places: Vec<usize> = match self.loaded {
            Some(_) => (0..before.len()).map(|at| at.wrapping_add(shift)).collect(),
            None => self.list_places().collect(),
        };
        let edited = edits.iter().map(|at| (places[*at], tokens[*at].round() as u64));
        let digest = edited.fold(Digest::default(), Digest::with);
        let named = |at: usize| if self.loaded.is_some() { at } else { places[at] };
        let edit = |at: usize| (named(at), tokens[at], before[at] - tokens[at]);
        let edits: Vec<(usize, f64, f64)> = edits.into_iter().map(edit).collect();
        Worked { pruned, guarded, cleared, edits, less, digest, first, touched, stopped, reach: None }
    }

    /// Prunes a list anew: by the texts where the version weighs them, else by sizes.
    fn prune(&self, list: &mut List<'_>, gate: Gate) -> Result<Outcome, Throws> {
        let settings = &self.settings.steps;
        let (rules, words) = (settings.ruleset.rules(), &self.session.index.words);
        let (settings, window) = (&settings.prune, self.settings.window);
        if !rules.looks_at_letters() || self.session.textures.is_none() {
            return prune_list(list, rules, words, settings, window, gate);
        }
        let drops_thinking = self.session.drops_thinking;
        let remembered = None;
        prune_round_list(
            list,
            rules,
            RoundInput { words, settings, window, gate, remembered, drops_thinking },
        )
    }

    /// How far the first message of the list stands from its place on the path, wrapping.
    pub(super) fn shift(&self) -> usize {
        self.run_start.from.wrapping_sub(usize::from(self.run_start.front.is_some()))
    }

    /// Edits that an item of the list has from the beginning of the run.
    fn item_edits(&self, at: usize) -> usize {
        self.loaded.as_ref().and_then(|loaded| loaded.items.get(at)).map_or(0, Item::edit_count)
    }
}

/// What a step did; `tokens` are those of each message before it, and after it when this returns.
fn tally(arena: &Arena, list: &List<'_>, fates: &[MessageFate], tokens: &mut [f64]) -> Trimmed {
    let mut done = Trimmed::default();
    for (at, fate) in fates.iter().enumerate() {
        let counted = match fate.fate {
            Fate::SoftTrimmed | Fate::Truncated => &mut done.trimmed,
            Fate::Cleared => &mut done.cleared,
            _ => continue,
        };
        *counted += 1;
        let after = arena.weigh_item(&list.items()[at]);
        done.tokens += tokens[at] - after;
        tokens[at] = after;
    }
    done
}
