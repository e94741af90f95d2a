//! Labels and the session's name, resolved over the whole file (store K8, K9).

use std::collections::HashMap;

use crate::ids::EntryIx;
use crate::store::entry::EntryKind;
use crate::store::index::Index;
use crate::transcript::Tree;

/// The label of each labelled entry: of all branches the last value wins, an empty one clears.
pub fn labels(index: &Index, tree: &Tree) -> HashMap<EntryIx, String> {
    let mut labels = HashMap::new();
    for entry in index.entries.iter().filter(|entry| entry.kind == EntryKind::Label) {
        let Some(target) = entry.reference.and_then(|id| tree.find(id)) else { continue };
        match index.words.text(entry.word).filter(|text| !text.is_empty()) {
            Some(text) => labels.insert(target, text),
            None => labels.remove(&target),
        };
    }
    labels
}

/// The session's name: the last non-empty one, of any branch.
pub fn name(index: &Index) -> Option<String> {
    let names = index.entries.iter().rev().filter(|entry| entry.kind == EntryKind::SessionInfo);
    names.filter_map(|entry| index.words.text(entry.word)).find(|name| !name.trim().is_empty())
}
