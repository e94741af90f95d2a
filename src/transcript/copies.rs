//! Finds copied answers. Rewriting a branch copies its answers with their usage, but that usage was counted for another
//! context. An answer on the path counts as a copy if an equal one off the path precedes it in the file.

use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry as Place;

use crate::ids::EntryIx;
use crate::store::compact_chars::CompactChars;
use crate::store::entry::Entry;
use crate::store::index::Index;
use crate::transcript::ancestry::Ancestry;
use crate::transcript::tree::Tree;
use crate::units::Tokens;

/// The parts of a counted answer that survive copying: usage and the sizes of text, thinking and calls. Arguments of
/// calls are not compared, because a copy may have cleared them.
#[derive(PartialEq, Eq, Hash)]
struct AnswerKey {
    usage: [u64; 5],
    text: CompactChars,
    thinking: CompactChars,
    calls: u32,
}

impl AnswerKey {
    fn from_entry(entry: &Entry) -> Option<Self> {
        let size = entry.message?;
        let usage = size.usage?;
        let [input, output, read, write] =
            [usage.input, usage.output, usage.cache_read, usage.cache_write].map(Tokens::get);
        Some(Self {
            usage: [input, output, read, write, usage.cost].map(f64::to_bits),
            text: size.text_chars,
            thinking: size.thinking_chars,
            calls: entry.tool_calls.1 - entry.tool_calls.0,
        })
    }
}

/// Returns the answers of any branch that equal an earlier one off their own path. Answers that follow each other
/// may be equal: a server that cuts every prompt to its window reports one count again and again.
pub fn copied_in_file(index: &Index) -> HashSet<EntryIx> {
    let hasher = RandomState::default();
    // The last original of each key. All earlier originals are its ancestors, else it would be their copy.
    let mut originals: HashTable<(u64, EntryIx)> = HashTable::new();
    let ancestry = LazyCell::new(|| Ancestry::new(&Tree::new(index)));
    let counted =
        |entry: &Entry| entry.message.and_then(|size| size.usage).is_some_and(|it| it.has_prompt_tokens());
    let reported = index.iter().filter(|(_, entry)| counted(entry));
    let alike = reported.filter_map(|(ix, entry)| Some((ix, AnswerKey::from_entry(entry)?)));
    let is_copy = |(ix, likeness): &(EntryIx, AnswerKey)| {
        let hash = hasher.hash_one(likeness);
        let is_like = |(known, other): &(u64, EntryIx)| {
            *known == hash && AnswerKey::from_entry(index.entry(*other)).as_ref() == Some(likeness)
        };
        match originals.entry(hash, is_like, |(hash, _)| *hash) {
            Place::Occupied(mut known) => {
                let is_later = ancestry.has(known.get().1, *ix);
                if is_later {
                    known.get_mut().1 = *ix;
                }
                !is_later
            }
            Place::Vacant(place) => {
                place.insert((hash, *ix));
                false
            }
        }
    };
    alike.filter(is_copy).map(|(ix, _)| ix).collect()
}

/// Returns the answers of a path whose usage was counted for another branch.
pub fn copied_answers(index: &Index, path: &[EntryIx]) -> HashSet<EntryIx> {
    let on_path: HashSet<EntryIx, RandomState> = path.iter().copied().collect();
    let beside = index.iter().rev().filter(|(ix, _)| !on_path.contains(ix));
    // Among equal answers the first in the file stays, because the iterator is reversed.
    let beside: HashMap<AnswerKey, EntryIx, RandomState> =
        beside.filter_map(|(ix, entry)| Some((AnswerKey::from_entry(entry)?, ix))).collect();
    let is_copy = |ix: &EntryIx| {
        let entry = index.entry(*ix);
        let counted =
            entry.message.and_then(|size| size.usage).is_some_and(|usage| usage.has_prompt_tokens());
        let original = AnswerKey::from_entry(entry).and_then(|likeness| beside.get(&likeness));
        counted && original.is_some_and(|original| original < ix)
    };
    path.iter().copied().filter(is_copy).collect()
}
