//! Finds copied answers. Rewriting a branch copies its answers with their usage, but that usage was counted for another
//! context. A copy keeps the time and the response id of its answer (store I8); equal usage alone proves nothing,
//! because a repeated job or a regenerated answer has it too.

use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use crate::ids::EntryIx;
use crate::store::entry::{Entry, Role, StopReason, Usage};
use crate::store::index::Index;
use crate::store::intern::ValueIx;
use crate::transcript::tree::Tree;
use crate::units::Tokens;

/// A mark that copies of an answer share with it.
#[derive(PartialEq, Eq, Hash, Clone, Copy)]
pub(crate) enum AnswerMark {
    /// `message.timestamp`, as the bits of its number.
    Time(u64),
    ResponseId(ValueIx),
}

/// A mark, and the usage that was copied with it.
pub(crate) type AnswerKey = (AnswerMark, [u64; 5]);

/// Returns the keys of an answer that reports usage: by its time and by its response id.
fn answer_keys(entry: &Entry) -> impl Iterator<Item = AnswerKey> {
    let usage = entry.message.and_then(|size| size.usage).filter(Usage::has_prompt_tokens);
    usage.into_iter().flat_map(|usage| marked_keys(entry, &usage))
}

/// Returns the keys of an answer of that usage.
pub(crate) fn marked_keys(entry: &Entry, usage: &Usage) -> impl Iterator<Item = AnswerKey> + use<> {
    let [input, output, read, write] =
        [usage.input, usage.output, usage.cache_read, usage.cache_write].map(Tokens::get);
    let usage = [input, output, read, write, usage.cost].map(f64::to_bits);
    let time = Some(entry.payload_number).filter(|time| time.is_finite());
    let time = time.map(|time| AnswerMark::Time(time.to_bits()));
    let response = Some(entry.payload).filter(|id| *id != ValueIx::ABSENT).map(AnswerMark::ResponseId);
    time.into_iter().chain(response).map(move |mark| (mark, usage))
}

/// Returns the answers of any branch that repeat an earlier one off their own path.
pub fn copied_in_file(index: &Index) -> HashSet<EntryIx> {
    // The last original of each key. All earlier originals are its ancestors, else it would be their copy.
    let mut originals: HashMap<AnswerKey, EntryIx, RandomState> = HashMap::default();
    let ancestry = LazyCell::new(|| Ancestry::new(&Tree::new(index)));
    let mut copies = HashSet::new();
    for (ix, entry) in index.iter() {
        let beside = |known: &EntryIx| !ancestry.has(*known, ix);
        if answer_keys(entry).any(|key| originals.get(&key).is_some_and(beside)) {
            copies.insert(ix);
            continue;
        }
        originals.extend(answer_keys(entry).map(|key| (key, ix)));
    }
    copies.extend(run_replies(index));
    copies
}

/// Returns the answers that repeat the usage of a whole run (releases R75): since 2026.7 the gateway stores a reply of its own, such as
/// an error that it shows, as an answer of the model, with the sums of the calls before it. Fewer than two calls prove
/// nothing.
pub fn run_replies(index: &Index) -> HashSet<EntryIx> {
    let (mut replies, mut seen, mut turn) = (HashSet::new(), HashSet::new(), None);
    let (mut sums, mut calls) = ([Tokens::ZERO; 4], 0);
    for (ix, entry) in index.iter() {
        let Some(size) = entry.message else { continue };
        // A rewritten branch holds the user's message again.
        if size.role == Role::User && turn.replace(size.text_chars) != Some(size.text_chars) {
            (sums, calls) = ([Tokens::ZERO; 4], 0);
        }
        let keys: Vec<AnswerKey> = answer_keys(entry).collect();
        let is_again = keys.iter().any(|key| seen.contains(key));
        let Some(usage) = size.usage.filter(|_| !keys.is_empty() && !is_again) else { continue };
        seen.extend(keys);
        let counts = [usage.input, usage.output, usage.cache_read, usage.cache_write];
        if calls > 1 && counts == sums {
            replies.insert(ix);
            continue;
        }
        calls += 1;
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    replies
}

/// Returns the failed answers of a path that repeat one beside it: a call that failed was made once, with the context of
/// the branch where it stands first.
pub fn copied_failures(index: &Index, path: &[EntryIx]) -> HashSet<EntryIx> {
    let on_path: HashSet<EntryIx, RandomState> = path.iter().copied().collect();
    // Among equal answers the first in the file stays, because the iterator is reversed.
    let beside = index.iter().rev().filter(|(ix, _)| !on_path.contains(ix));
    let beside: HashMap<_, EntryIx, RandomState> =
        beside.filter_map(|(ix, entry)| Some((failure_key(entry)?, ix))).collect();
    let is_copy = |ix: &EntryIx| {
        let original = failure_key(index.entry(*ix)).and_then(|key| beside.get(&key));
        original.is_some_and(|original| original < ix)
    };
    path.iter().copied().filter(is_copy).collect()
}

/// Returns the marks that a copy of a failed answer keeps: its time, how it ended, and the length of its text.
fn failure_key(entry: &Entry) -> Option<(u64, StopReason, u64)> {
    let size = entry.message.filter(|size| !size.usage.is_some_and(|usage| usage.has_prompt_tokens()))?;
    let has_failed = matches!(size.stop_reason, StopReason::Error | StopReason::Aborted);
    let is_call = entry.is_model_call() && has_failed;
    let time = Some(entry.payload_number).filter(|time| is_call && time.is_finite())?;
    Some((time.to_bits(), size.stop_reason, size.text_chars.get().get().to_bits()))
}

/// Returns the answers of a path whose usage was counted for another branch.
pub fn copied_answers(index: &Index, path: &[EntryIx]) -> HashSet<EntryIx> {
    let on_path: HashSet<EntryIx, RandomState> = path.iter().copied().collect();
    let beside = index.iter().rev().filter(|(ix, _)| !on_path.contains(ix));
    // Among equal answers the first in the file stays, because the iterator is reversed.
    let beside: HashMap<AnswerKey, EntryIx, RandomState> =
        beside.flat_map(|(ix, entry)| answer_keys(entry).map(move |key| (key, ix))).collect();
    let is_copy = |ix: &EntryIx| {
        answer_keys(index.entry(*ix)).any(|key| beside.get(&key).is_some_and(|original| original < ix))
    };
    path.iter().copied().filter(is_copy).collect()
}

/// Returns, for each entry of a path, the entry of another path that it is or whose message it copies: an answer keeps its
/// time, a result the id of its call, another message its length.
pub fn originals(index: &Index, path: &[EntryIx], other: &[EntryIx]) -> Vec<Option<EntryIx>> {
    let key = |ix: &EntryIx| {
        let entry = index.entry(*ix);
        let size = entry.message?;
        let time = Some(entry.payload_number).filter(|time| entry.is_model_call() && time.is_finite());
        let mark = time.unwrap_or(size.text_chars.get().get()).to_bits();
        Some((size.role, size.call_id, if size.call_id.is_some() { 0 } else { mark }))
    };
    let same: HashSet<EntryIx, RandomState> = other.iter().copied().collect();
    let copied: HashMap<_, EntryIx, RandomState> =
        other.iter().filter_map(|ix| Some((key(ix)?, *ix))).collect();
    let original = |ix: &EntryIx| same.get(ix).or_else(|| copied.get(&key(ix)?)).copied();
    path.iter().map(original).collect()
}

// Answers whether one entry is above another, in constant time: each entry has the range of its descendants in the order
// of a walk through the tree.

pub(super) struct Ancestry {
    /// Place of each entry in the walk, and the place after its last descendant; empty for one that no root reaches.
    ranges: Vec<(u32, u32)>,
}

impl Ancestry {
    pub(super) fn new(tree: &Tree) -> Self {
        let mut ranges = vec![(0, 0); tree.len()];
        let mut next = 0;
        let mut open: Vec<(EntryIx, bool)> = tree.roots().iter().map(|root| (*root, false)).collect();
        while let Some((ix, is_left)) = open.pop() {
            if is_left {
                ranges[ix.index()].1 = next;
                continue;
            }
            ranges[ix.index()].0 = next;
            next += 1;
            open.push((ix, true));
            open.extend(tree.children(ix).iter().map(|child| (*child, false)));
        }
        Self { ranges }
    }

    /// Whether `above` is on the path to `below`.
    pub(super) fn has(&self, above: EntryIx, below: EntryIx) -> bool {
        let (from, to) = self.ranges[above.index()];
        let place = self.ranges[below.index()].0;
        above != below && from < place && place < to
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::LineIds;
    use crate::store::load::load_bytes;

    proptest! {
        #[test]
        fn an_ancestor_is_an_entry_on_the_path(parents in prop::collection::vec(0_usize..12, 1..30)) {
            let lines: Vec<String> = (0..parents.len())
                .map(|at| {
                    format!(
                        r#"{{"type":"message","id":"e{at}","parentId":"e{}","timestamp":"2026-03-05T14:07:00.000Z","message":{{"role":"user","content":"x"}}}}"#,
                        parents[at]
                    )
                })
                .collect();
            let head = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-03-05T14:00:00.000Z","cwd":"/"}"#;
            let index = load_bytes("s.jsonl", format!("{head}\n{}\n", lines.join("\n")).as_bytes(), &mut LineIds);
            let tree = Tree::new(&index);
            let ancestry = Ancestry::new(&tree);
            for (above, _) in index.iter() {
                for (below, _) in index.iter() {
                    let mut up = tree.parent(below).filter(|_| !tree.cyclic().contains(&below));
                    while up.is_some_and(|up| up != above) {
                        up = up.and_then(|up| tree.parent(up));
                    }
                    prop_assert_eq!(ancestry.has(above, below), up.is_some());
                }
            }
        }
    }
}
