//! Counts that cannot be the whole prompt: a proxy that leaves out what was read from the cache, say, reports a prompt far
//! smaller than the text that was sent. Such a count is no measure, and the runtime's trigger that compares it is blind.

use std::collections::HashSet;

use crate::context::tokens::chars4::estimate_or_zero;
use crate::ids::EntryIx;
use crate::store::entry::{Entry, EntryKind, Usage};
use crate::store::index::Index;

/// Share of the estimate below which a count is doubted. No script has so few tokens for its chars.
const PARTIAL_RATIO: f64 = 0.4;
/// Estimated tokens below which what is said proves nothing.
const MIN_ESTIMATE: f64 = 6_000.0;
/// Calls that must be so, before any of them is doubted: one alone may be another context's.
const MIN_CALLS: usize = 3;

/// The answers of a path whose counts are doubted. Where pruning can act (`prunes`), small prompts are its doing.
pub(super) fn find_partial_usage(index: &Index, path: &[EntryIx], prunes: bool) -> HashSet<EntryIx> {
    if prunes {
        return HashSet::new();
    }
    let mut walk = PathEstimate { running_totals: Vec::with_capacity(path.len()), first_sent: 0 };
    let mut doubted = HashSet::new();
    for ix in path {
        let entry = index.entry(*ix);
        if entry.kind == EntryKind::Compaction {
            walk.apply_compaction(index, entry);
        }
        let prompt = entry.message.filter(|_| entry.is_model_call()).and_then(|size| size.usage);
        let prompt = prompt.filter(Usage::has_prompt_tokens).map(|usage| usage.prompt_tokens());
        let estimate = walk.tokens();
        if prompt.is_some_and(|prompt| estimate >= MIN_ESTIMATE && prompt < PARTIAL_RATIO * estimate) {
            doubted.insert(*ix);
        }
        walk.push(*ix, entry);
    }
    if doubted.len() < MIN_CALLS { HashSet::new() } else { doubted }
}

/// What the context holds so far.
struct PathEstimate {
    /// Entries with the sum of the estimates up to and with each.
    running_totals: Vec<(EntryIx, f64)>,
    /// The first place that is still sent.
    first_sent: usize,
}

impl PathEstimate {
    fn push(&mut self, ix: EntryIx, entry: &Entry) {
        let sent = entry.becomes_message() || entry.kind == EntryKind::Compaction;
        let tokens = entry.message.filter(|_| sent).map_or(0.0, |size| estimate_or_zero(&size) as f64);
        let before = self.running_totals.last().map_or(0.0, |(_, sum)| *sum);
        self.running_totals.push((ix, before + tokens));
    }

    /// From here on what the compaction kept is sent.
    fn apply_compaction(&mut self, index: &Index, entry: &Entry) {
        let kept = |(ix, _): &(EntryIx, f64)| index.entry(*ix).id == entry.reference;
        let named = entry.reference.and_then(|_| self.running_totals.iter().rposition(kept));
        self.first_sent = named.unwrap_or(self.running_totals.len());
    }

    fn tokens(&self) -> f64 {
        let all = self.running_totals.last().map_or(0.0, |(_, sum)| *sum);
        let before = self
            .first_sent
            .checked_sub(1)
            .and_then(|at| self.running_totals.get(at))
            .map_or(0.0, |(_, sum)| *sum);
        all - before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::testing::{loaded_session, message, transcript, user};

    fn doubted(counted: &[u64]) -> usize {
        let text = "word ".repeat(8_000);
        let mut entries = vec![user(&text)];
        for prompt in counted {
            entries.push(message(&format!(
                r#"{{"role":"assistant","content":[],"stopReason":"stop","usage":{{"input":{prompt},"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":{prompt}}}}}"#
            )));
            entries.push(user("and now?"));
        }
        let made = loaded_session(&transcript(&entries), 200_000.0);
        find_partial_usage(&made.index, &made.context.path, false).len()
    }

    #[test]
    fn counts_far_below_the_text_are_doubted_once_there_are_several() {
        assert_eq!(doubted(&[120, 130, 140]), 3);
        assert_eq!(doubted(&[120, 12_000, 12_100]), 0, "one may be another context's");
        assert_eq!(doubted(&[11_000, 12_000, 12_100]), 0);
    }
}
