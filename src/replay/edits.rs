//! The edits of one prompt, for the comparison of two prompts. The guard and clearing appear as ranges in the trace's
//! prefix sums, all other edits one by one: two ranges can only differ between their borders, so that a comparison
//! skips most results.

use crate::replay::edit_digest::EditedMessage;
use crate::replay::range_totals::{EditTotals, GuardRange, PromptEdits, RangeTotals};
use crate::replay::trace::Trace;
use crate::units::Chars;

/// Returns the edit of a message with these totals, if there is one.
fn edited(totals: &RangeTotals, at: usize, reach: &GuardRange) -> Option<EditedMessage> {
    let done = match totals.cleared.count() {
        1.. if reach.clears(at) => &totals.cleared,
        _ if at < reach.compacted_until => &totals.guard_compacted,
        _ => &totals.guard_cut,
    };
    (done.count() > 0).then(|| (at, (totals.tokens - done.tokens).get().round() as u64))
}

impl Trace<'_> {
    /// Returns the guard's range for a call whose messages are a range of the path and all countable.
    pub(super) fn guard_range(&self, totals: &RangeTotals) -> GuardRange {
        let (from, to) = (self.run_start.from, self.messages_seen);
        let needed = totals.guard_chars - totals.guard_cut.chars - self.measure.budget();
        let reached = if needed > Chars::ZERO {
            (self.prefix_sums.find_first(from, to, |totals| totals.guard_compacted.chars >= needed) + 1)
                .min(to)
        } else {
            from
        };
        GuardRange { from, compacted_until: reached, to, cleared: (to, to) }
    }

    /// Chars that the guard removes from the messages of its range.
    pub(super) fn guard_freed_chars(&self, reach: &GuardRange) -> Chars {
        let cut = self.prefix_sums.range(reach.from, reach.to).guard_cut.chars;
        cut + self.prefix_sums.range(reach.from, reach.compacted_until).guard_compacted.chars
    }

    /// Returns the effect of the guard and of clearing on the messages `from..to`.
    pub(super) fn edits_within(&self, reach: &GuardRange, from: usize, to: usize) -> EditTotals {
        let mut borders =
            [from, reach.compacted_until, reach.cleared.0, reach.cleared.1, to].map(|at| at.clamp(from, to));
        borders.sort_unstable();
        let pieces = borders.windows(2).filter(|piece| piece[0] < piece[1]);
        pieces.fold(EditTotals::default(), |done, piece| {
            let totals = self.prefix_sums.range(piece[0], piece[1]);
            let is_reached = piece[0] < reach.compacted_until;
            let (guarded, below) = if is_reached {
                (totals.guard_compacted, totals.cleared_compacted)
            } else {
                (totals.guard_cut, totals.cleared_cut)
            };
            done + if reach.clears(piece[0]) { guarded - below + totals.cleared } else { guarded }
        })
    }

    fn edited_at(&self, at: usize, reach: &GuardRange) -> Option<EditedMessage> {
        edited(&self.prefix_sums.message(at), at, reach)
    }

    /// Returns the edits of a prompt from a message on.
    pub(super) fn edits_from<'a>(
        &'a self,
        edits: &'a PromptEdits,
        from: usize,
    ) -> impl Iterator<Item = EditedMessage> + 'a {
        let reached = edits.guard_range.into_iter().flat_map(move |reach| {
            self.results_within(reach.from.max(from), reach.to)
                .iter()
                .filter_map(move |at| self.edited_at(*at, &reach))
        });
        reached.chain(edits.listed_edits.iter().copied().skip_while(move |(at, _)| *at < from))
    }

    /// Returns the results of the path in `from..to`.
    pub(super) fn results_within(&self, from: usize, to: usize) -> &[usize] {
        let results = &self.arena.base.results;
        let first = results.partition_point(|at| *at < from);
        let count = results[first..].partition_point(|at| *at < to);
        &results[first..first + count]
    }

    /// Returns the first message whose edits differ between two prompts; `usize::MAX` if no edits differ.
    pub(super) fn first_difference(&self, one: &PromptEdits, other: &PromptEdits) -> usize {
        if one.is_empty() && other.is_empty() {
            return usize::MAX;
        }
        match (one.guard_range, other.guard_range) {
            (Some(a), Some(b)) if a.from == b.from && one.start == other.start => {
                let both = a.to.min(b.to);
                // A message on the same side of all borders has the same edit in both.
                let differs = |at: &&usize| {
                    let totals = self.prefix_sums.message(**at);
                    edited(&totals, **at, &a) != edited(&totals, **at, &b)
                };
                let between = |one: usize, other: usize| {
                    let (near, far) = (one.min(other).min(both), one.max(other).min(both));
                    self.results_within(near, far).iter().find(differs)
                };
                let borders = [
                    (a.compacted_until, b.compacted_until),
                    (a.cleared.0, b.cleared.0),
                    (a.cleared.1, b.cleared.1),
                ];
                match borders.into_iter().filter_map(|(one, other)| between(one, other)).min() {
                    Some(at) => self.index_in(one, *at),
                    None => self.difference_from(one, other, both),
                }
            }
            _ => self.difference_from(one, other, 0),
        }
    }

    fn difference_from(&self, one: &PromptEdits, other: &PromptEdits, from: usize) -> usize {
        let mut own = self.edits_from(one, from).map(|(at, after)| (self.index_in(one, at), after));
        let mut others = self.edits_from(other, from).map(|(at, after)| (self.index_in(other, at), after));
        loop {
            match (own.next(), others.next()) {
                (None, None) => return usize::MAX,
                (one, other) if one == other => {}
                (one, other) => {
                    let place = |edited: Option<EditedMessage>| edited.map_or(usize::MAX, |(at, _)| at);
                    return place(one).min(place(other));
                }
            }
        }
    }

    /// Returns the position of an edited message in the prompt.
    pub(super) fn index_in(&self, edits: &PromptEdits, at: usize) -> usize {
        match edits.start {
            Some(start) => {
                usize::from(start.summary.is_some()) + self.sent_count(start.from, at.max(start.from))
            }
            None => at,
        }
    }

    /// Lists the edits of all cached prompts one by one from `first` on, because the sums that describe them are about
    /// to change there.
    pub(super) fn list_edits_from(&mut self, first: usize) {
        let mut prompts = std::mem::take(&mut self.cache);
        for edits in prompts.edits_mut() {
            let Some(reach) = edits.guard_range.filter(|reach| reach.to > first) else { continue };
            let listed: Vec<EditedMessage> = self.edits_from(edits, first.max(reach.from)).collect();
            let reach = reach.clipped_to(first);
            edits.listed_edits = listed;
            edits.guard_range = Some(reach).filter(|reach| reach.to > reach.from);
        }
        self.cache = prompts;
    }
}
