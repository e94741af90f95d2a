//! The policies of a call on a message list: the slow path for lists that are not a range of the path, for messages
//! that sizes cannot decide, after context edits, and where clearing empties the arguments of calls.

use crate::js::JsException;
use crate::policy::clear_tool_uses::clear_list;
use crate::policy::guard::guard_list;
use crate::policy::message_list::{MessageList, PlannedMessage};
use crate::policy::prune::{Gate, PruneOutcome, RoundInput, prune_list, prune_round_list};
use crate::policy::{Fate, MessageFate, Policy};
use crate::replay::edit_digest::EditDigest;
use crate::replay::message_arena::MessageArena;
use crate::replay::outcome::{StepOutcome, TrimStats};
use crate::replay::trace::Trace;
use crate::units::Tokens;

impl Trace<'_> {
    /// Applies the policies of a call. A policy on which the real program fails leaves the list unchanged.
    pub(super) fn apply_to_list(&self, gate: Gate) -> StepOutcome {
        let settings = &self.settings.policies;
        let (arena, policies) = (&self.arena, settings.enabled);
        let items = self.messages();
        let before: Vec<Tokens> = items.iter().map(|item| arena.estimate_message_tokens(item)).collect();
        let mut tokens = before.clone();
        let mut list = arena.list(items);
        let (mut pruned, mut guarded, mut cleared) = Default::default();
        let (mut touched, mut stopped) = (false, false);
        if policies.has(Policy::Prune)
            && let Ok(outcome) = self.prune(&mut list, gate)
        {
            touched = outcome.has_changes();
            pruned = tally(arena, &list, &outcome.fates, &mut tokens);
        }
        if policies.has(Policy::Guard)
            && let Ok((fates, numbers)) =
                guard_list(&mut list, settings.ruleset.rules(), self.settings.guard_window, &settings.guard)
        {
            guarded = tally(arena, &list, &fates, &mut tokens);
            stopped = numbers.is_some_and(|numbers| numbers.stopped);
        }
        if policies.has(Policy::Clear)
            && let Ok((fates, _)) = clear_list(&mut list, &settings.clear)
        {
            cleared = tally(arena, &list, &fates, &mut tokens);
        }
        let is_new = |at: usize, item: &PlannedMessage| item.edit_count() > self.initial_edit_count(at);
        let edits = list.messages().iter().enumerate().filter(|(at, item)| is_new(*at, item));
        let shift = self.list_offset();
        let edits: Vec<usize> = edits.map(|(at, _)| at).collect();
        let first = edits.first().and_then(|at| list.messages()[*at].position());
        let first = first.map(|at| arena.context.messages[at].entry);
        let less: Tokens = edits.iter().map(|at| before[*at] - tokens[*at]).sum();
        // Positions in a loaded list are shifted as if the list were a range of the path.
        let places: Vec<usize> = match self.loaded {
            Some(_) => (0..before.len()).map(|at| at.wrapping_add(shift)).collect(),
            None => self.arena_indices().collect(),
        };
        let edited = edits.iter().map(|at| (places[*at], tokens[*at].get().round() as u64));
        let digest = edited.fold(EditDigest::default(), EditDigest::with_edit);
        let named = |at: usize| if self.loaded.is_some() { at } else { places[at] };
        let edit = |at: usize| (named(at), tokens[at], before[at] - tokens[at]);
        let edits: Vec<(usize, Tokens, Tokens)> = edits.into_iter().map(edit).collect();
        StepOutcome {
            pruned,
            guarded,
            cleared,
            edits,
            freed_tokens: less,
            edit_digest: digest,
            first_changed: first,
            was_pruned: touched,
            stopped,
            guard_range: None,
        }
    }

    /// Prunes a list: by texts where the version weighs them, otherwise by sizes.
    fn prune(&self, list: &mut MessageList<'_>, gate: Gate) -> Result<PruneOutcome, JsException> {
        let settings = &self.settings.policies;
        let (rules, words) = (settings.ruleset.rules(), &self.session.index.values);
        let (settings, window) = (&settings.prune, self.settings.window);
        if !rules.needs_text_features() || self.session.features.is_none() {
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

    /// Offset from a list position to its position on the path, wrapping.
    pub(super) fn list_offset(&self) -> usize {
        self.run_start.from.wrapping_sub(usize::from(self.run_start.summary.is_some()))
    }

    /// Edits that a message of the list had when the run began.
    fn initial_edit_count(&self, at: usize) -> usize {
        self.loaded.as_ref().and_then(|loaded| loaded.messages.get(at)).map_or(0, PlannedMessage::edit_count)
    }
}

/// Tallies a policy's changes. `tokens` holds each message's tokens before the policy and is updated.
fn tally(
    arena: &MessageArena,
    list: &MessageList<'_>,
    fates: &[MessageFate],
    tokens: &mut [Tokens],
) -> TrimStats {
    let mut done = TrimStats::default();
    for (at, fate) in fates.iter().enumerate() {
        let counted = match fate.fate {
            Fate::SoftTrimmed | Fate::Truncated => &mut done.trimmed,
            Fate::Cleared => &mut done.cleared,
            _ => continue,
        };
        *counted += 1;
        let after = arena.estimate_message_tokens(&list.messages()[at]);
        done.tokens += tokens[at] - after;
        tokens[at] = after;
    }
    done
}
