//! Finds usage that cannot be of the whole prompt.
//!
//! A proxy that omits the tokens read from the cache, for example, reports a prompt far smaller than the text that was
//! sent. Such usage measures nothing, and the runtime's compaction trigger, which relies on it, is blind.

use std::collections::HashSet;

use crate::context::tokens::chars4::estimate_or_zero;
use crate::ids::EntryIx;
use crate::store::entry::{Entry, EntryKind, Usage};
use crate::store::index::Index;
use crate::units::Tokens;

/// Share of the estimate below which a count is doubted: no script has so few tokens for its chars.
const PARTIAL_RATIO: f64 = 0.4;
/// Estimated tokens below which a low count proves nothing.
const MIN_ESTIMATE: f64 = 6_000.0;
/// Low counts needed before any is doubted: a single one may belong to another context.
const MIN_CALLS: usize = 3;

/// Returns the answers of a path whose usage is partial. If pruning can act (`prunes`), small prompts may be its
/// effect.
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
        if prompt.is_some_and(|prompt| {
            estimate >= Tokens(MIN_ESTIMATE) && prompt < Tokens(PARTIAL_RATIO * estimate.get())
        }) {
            doubted.insert(*ix);
        }
        walk.push(*ix, entry);
    }
    if doubted.len() < MIN_CALLS { HashSet::new() } else { doubted }
}

/// The estimated content of the context at a point of the path.
struct PathEstimate {
    /// Entries, each with the estimate of the path up to and including it.
    running_totals: Vec<(EntryIx, f64)>,
    /// Index of the first entry that is still sent.
    first_sent: usize,
}

impl PathEstimate {
    fn push(&mut self, ix: EntryIx, entry: &Entry) {
        let sent = entry.becomes_message() || entry.kind == EntryKind::Compaction;
        let tokens = entry.message.filter(|_| sent).map_or(0.0, |size| estimate_or_zero(&size) as f64);
        let before = self.running_totals.last().map_or(0.0, |(_, sum)| *sum);
        self.running_totals.push((ix, before + tokens));
    }

    /// Drops the entries before the first that the compaction kept.
    fn apply_compaction(&mut self, index: &Index, entry: &Entry) {
        let kept = |(ix, _): &(EntryIx, f64)| index.entry(*ix).id == entry.reference;
        let named = entry.reference.and_then(|_| self.running_totals.iter().rposition(kept));
        self.first_sent = named.unwrap_or(self.running_totals.len());
    }

    fn tokens(&self) -> Tokens {
        let all = self.running_totals.last().map_or(0.0, |(_, sum)| *sum);
        let before = self
            .first_sent
            .checked_sub(1)
            .and_then(|at| self.running_totals.get(at))
            .map_or(0.0, |(_, sum)| *sum);
        Tokens(all - before)
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
    fn several_counts_far_below_the_text_are_doubted() {
        assert_eq!(doubted(&[120, 130, 140]), 3);
        assert_eq!(doubted(&[120, 12_000, 12_100]), 0, "one may be another context's");
        assert_eq!(doubted(&[11_000, 12_000, 12_100]), 0);
    }
}
