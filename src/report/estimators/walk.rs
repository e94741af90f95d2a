//! The path once from its root to its leaf: at every call with a count, what the context held then. Running sums make
//! that a subtraction, also where a compaction moved the start of the context (compaction 4.2, 4.3).

use std::collections::HashMap;

use crate::context::entries_since_reset;
use crate::ids::EntryIx;
use crate::report::estimators::message_weights::Weights;
use crate::session::LoadedSession;
use crate::store::entry::{EntryKind, Usage};
use crate::store::index::Index;
use crate::store::intern::ValueIx;
use crate::transcript::copied_answers;

/// A prompt may be so much smaller than one before it without being taken for a pruned one: providers move
/// a few tokens about.
const SHRUNK_RATIO: f64 = 0.98;

/// What the runtime's own estimate starts from (compaction 1.12, 2.14).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Anchor {
    /// Nothing was counted yet.
    NoCount,
    /// Nothing was counted since the compaction or the reset.
    Stale,
    /// The last count, and pi's estimate of what came after it.
    Counted {
        /// Prompt and answer as counted; NaN for odd usage.
        tokens: f64,
        /// Estimated tokens of the messages since.
        since: u64,
    },
}

/// One prompt: that of a call, or the next one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Prompt {
    /// The answer.
    pub(super) entry: EntryIx,
    /// Prompt tokens as counted; 0 for the next one.
    pub(super) measured: u64,
    /// What the messages weigh.
    pub(super) weights: Weights,
    /// What the runtime's estimate starts from.
    pub(super) anchor: Anchor,
    /// The compaction or the reset that counts.
    pub(super) boundary: Option<EntryIx>,
    /// Provider and model.
    pub(super) model: Option<(ValueIx, ValueIx)>,
    /// Fewer tokens than an earlier prompt of the same growing context.
    pub(super) shrunk: bool,
}

/// The calls of a path.
#[derive(Debug)]
pub(super) struct PathPrompts {
    pub(super) calls: Vec<Prompt>,
    pub(super) next: Prompt,
    /// Answers left out as copies.
    pub(super) copies: usize,
}

/// Walks the path. `weights` are those of its entries.
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
                calls.push(walk.call(*ix, usage.prompt_tokens() as u64, entry.model));
            }
        }
        walk.push(index, *ix, *weight, usage);
    }
    PathPrompts { calls, next: walk.prompt(EntryIx(0), 0, None), copies }
}

/// The state between two entries.
#[derive(Default)]
struct PathWalk {
    /// Sums of the weights of all messages before each entry, and at last of all.
    prefix_sums: Vec<Weights>,
    total: Weights,
    /// Where the first entry of each id stands, by the number of the id.
    positions_by_id: Vec<Option<usize>>,
    /// The summary at the front of the context, or what a reset kept, and where its other messages start.
    prefix_weights: Weights,
    first_sent: usize,
    /// The compaction or the reset that counts, and where it stands.
    boundary: Option<(EntryIx, usize)>,
    /// Where the last count stands, and what it says.
    last_count: Option<(usize, f64)>,
    /// The largest prompt of this context so far, and its model.
    largest_prompt: (u64, Option<(ValueIx, ValueIx)>),
}

impl PathWalk {
    /// From here on the context is a summary, what was kept, and what follows.
    fn apply_compaction(&mut self, index: &Index, ix: EntryIx, summary: Weights) {
        let at = self.prefix_sums.len();
        let kept = index.entry(ix).reference.and_then(|id| self.positions_by_id[id.index()]);
        self.first_sent = kept.unwrap_or(at);
        self.prefix_weights = summary;
        self.boundary = Some((ix, at));
        self.largest_prompt = (0, None);
    }

    /// From here on the context is what the reset kept, and what follows (sqlite G2).
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
            self.last_count = Some((self.prefix_sums.len(), usage.context_tokens));
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
                Anchor::Counted { tokens, since: (self.total - after).pi }
            }
            _ if self.boundary.is_some() => Anchor::Stale,
            _ => Anchor::NoCount,
        }
    }
}
