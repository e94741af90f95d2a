//! Walks the path once from root to leaf and records the context at every counted call. Prefix sums make each context a
//! subtraction, even after a compaction moved its start (compaction 4.2, 4.3).

use std::collections::HashMap;

use crate::context::entries_since_reset;
use crate::ids::EntryIx;
use crate::report::estimators::message_weights::Weights;
use crate::session::LoadedSession;
use crate::store::entry::{EntryKind, Usage};
use crate::store::index::Index;
use crate::store::intern::ValueIx;
use crate::transcript::copied_answers;
use crate::units::Tokens;

/// A prompt below this share of an earlier one counts as pruned. Providers' counts vary by a few tokens, so 1.0 would
/// give false positives.
const SHRUNK_RATIO: f64 = 0.98;

/// The starting point of the runtime's own estimate (compaction 1.12, 2.14).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Anchor {
    /// No call was counted yet.
    NoCount,
    /// No call was counted since the compaction or the reset.
    Stale,
    /// The last count, and pi's estimate of every later message.
    Counted {
        /// Counted prompt and answer; NaN if the usage is malformed.
        tokens: Tokens,
        /// Estimated tokens of the messages since.
        since: u64,
    },
}

/// The prompt of a call, or the next one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Prompt {
    pub(super) entry: EntryIx,
    /// Counted prompt tokens; 0 for the next prompt.
    pub(super) measured: u64,
    pub(super) weights: Weights,
    /// The starting point of the runtime's estimate.
    pub(super) anchor: Anchor,
    /// The compaction or the reset in force.
    pub(super) boundary: Option<EntryIx>,
    pub(super) model: Option<(ValueIx, ValueIx)>,
    /// Whether the count is below an earlier one in the same growing context.
    pub(super) shrunk: bool,
}

#[derive(Debug)]
pub(super) struct PathPrompts {
    pub(super) calls: Vec<Prompt>,
    pub(super) next: Prompt,
    /// Answers left out because they are copies.
    pub(super) copies: usize,
}

/// Walks the path. `weights` has one item per entry of the path.
pub(super) fn walk_path(session: &LoadedSession, weights: &[Weights]) -> PathPrompts {
    let index = &*session.index;
    let path = &session.context.path;
    let copied = copied_answers(index, path);
    let mut walk = PathWalk::default();
    let (mut calls, mut copies) = (Vec::new(), 0);
    let has_resets = session.tree.has_resets();
    let named = path.iter().enumerate().filter(|_| has_resets);
    let places: HashMap<EntryIx, usize> = named.map(|(at, ix)| (*ix, at)).collect();
    walk.positions_by_id = vec![None; index.ids.len()];
    for (at, (ix, weight)) in path.iter().zip(weights).enumerate() {
        let entry = index.entry(*ix);
        if entry.kind == EntryKind::Compaction {
            walk.apply_compaction(index, *ix, *weight);
        } else if entry.kind == EntryKind::Reset && has_resets {
            let kept = entries_since_reset(index, &session.tree, &path[..=at]);
            walk.apply_reset(*ix, kept.iter().filter_map(|ix| places.get(ix)).map(|at| weights[*at]));
        }
        let usage = entry.message.and_then(|message| message.usage);
        if let Some(usage) = usage.filter(Usage::has_prompt_tokens) {
            if copied.contains(ix) {
                copies += 1;
            } else {
                calls.push(walk.call(*ix, usage.prompt_tokens().whole(), entry.model));
            }
        }
        walk.push(index, *ix, *weight, usage);
    }
    PathPrompts { calls, next: walk.prompt(EntryIx(0), 0, None), copies }
}

/// State between two entries.
#[derive(Default)]
struct PathWalk {
    /// `prefix_sums[i]` sums the weights of all messages before entry `i`; `total` sums all so far.
    prefix_sums: Vec<Weights>,
    total: Weights,
    /// Path position of the first entry with each id, by id number.
    positions_by_id: Vec<Option<usize>>,
    /// Weights in front of the other messages (the summary, or the messages that a reset kept); `first_sent` is the
    /// position at which the others start.
    prefix_weights: Weights,
    first_sent: usize,
    /// The compaction or the reset in force, and its position.
    boundary: Option<(EntryIx, usize)>,
    /// Position and tokens of the last count.
    last_count: Option<(usize, f64)>,
    /// The largest prompt in this context so far, and its model.
    largest_prompt: (u64, Option<(ValueIx, ValueIx)>),
}

impl PathWalk {
    /// Starts a context of summary, kept messages and later ones.
    fn apply_compaction(&mut self, index: &Index, ix: EntryIx, summary: Weights) {
        let at = self.prefix_sums.len();
        let kept = index.entry(ix).reference.and_then(|id| self.positions_by_id[id.index()]);
        self.first_sent = kept.unwrap_or(at);
        self.prefix_weights = summary;
        self.boundary = Some((ix, at));
        self.largest_prompt = (0, None);
    }

    /// Starts a context of the messages that the reset kept, and later ones (sqlite G2).
    fn apply_reset(&mut self, ix: EntryIx, kept: impl Iterator<Item = Weights>) {
        let at = self.prefix_sums.len();
        self.first_sent = at;
        self.prefix_weights = kept.fold(Weights::default(), |sum, weight| sum + weight);
        self.boundary = Some((ix, at));
        self.largest_prompt = (0, None);
    }

    fn push(&mut self, index: &Index, ix: EntryIx, weight: Weights, usage: Option<Usage>) {
        let entry = index.entry(ix);
        if let Some(id) = entry.id {
            self.positions_by_id[id.index()].get_or_insert(self.prefix_sums.len());
        }
        if let Some(usage) = usage.filter(|_| entry.kind == EntryKind::Message) {
            self.last_count = Some((self.prefix_sums.len(), usage.context_tokens.get()));
        }
        self.prefix_sums.push(self.total);
        if entry.becomes_message() {
            self.total = self.total + weight;
        }
    }

    fn call(&mut self, entry: EntryIx, measured: u64, model: Option<(ValueIx, ValueIx)>) -> Prompt {
        if self.largest_prompt.1 != model {
            self.largest_prompt = (0, model);
        }
        let shrunk = (measured as f64) < self.largest_prompt.0 as f64 * SHRUNK_RATIO;
        self.largest_prompt.0 = self.largest_prompt.0.max(measured);
        Prompt { shrunk, ..self.prompt(entry, measured, model) }
    }

    fn prompt(&self, entry: EntryIx, measured: u64, model: Option<(ValueIx, ValueIx)>) -> Prompt {
        let start = self.prefix_sums.get(self.first_sent).copied().unwrap_or(self.total);
        Prompt {
            entry,
            measured,
            weights: self.prefix_weights + (self.total - start),
            anchor: self.anchor(),
            boundary: self.boundary.map(|(ix, _)| ix),
            model,
            shrunk: false,
        }
    }

    fn anchor(&self) -> Anchor {
        let since = self.boundary.map_or(0, |(_, at)| at);
        match self.last_count {
            Some((at, tokens)) if at >= since && (self.boundary.is_none() || tokens > 0.0) => {
                let after = self.prefix_sums.get(at + 1).copied().unwrap_or(self.total);
                Anchor::Counted { tokens: Tokens(tokens), since: (self.total - after).pi }
            }
            _ if self.boundary.is_some() => Anchor::Stale,
            _ => Anchor::NoCount,
        }
    }
}
