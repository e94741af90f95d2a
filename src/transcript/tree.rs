//! The tree that the entries' `parentId` forms, as flat vectors of indices (store K).

use std::collections::HashMap;

use super::leaf_resolution::LeafResolution;
use crate::gateway::ruleset::{BranchRule, PiChange, Rules};
use crate::ids::EntryIx;
use crate::js::{JsException, JsString, Value};
use crate::store::entry::EntryKind;
use crate::store::index::Index;
use crate::store::intern::IdIx;

/// The end of a branch or context.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Leaf {
    /// The session's own leaf: the last entry of the file (store K1), or the one that its rows select (sqlite F).
    Own,
    Id(String),
    /// Before the first entry: an empty branch.
    Before,
}

/// Parents, children and roots of one index's entries.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    parents: Vec<Option<EntryIx>>,
    /// The entry of each id, indexed by the id's number.
    by_id: Vec<Option<EntryIx>>,
    children: Vec<EntryIx>,
    /// Range of each entry's children in `children`.
    child_ranges: Vec<(u32, u32)>,
    roots: Vec<EntryIx>,
    cyclic: Vec<EntryIx>,
    /// The leaf and paths of a newer gateway's rows (sqlite F); `None` when the last entry is the leaf.
    leaf_resolution: Option<LeafResolution>,
}

impl Tree {
    /// Builds the tree for a ruleset.
    pub fn under(rules: &Rules, index: &Index) -> Self {
        match rules.branching {
            BranchRule::LastEntry => Self::new(index),
            BranchRule::LeafRows => Self::from_leaf_rows(index),
        }
    }

    /// Builds the tree. An entry whose parent is unknown or itself becomes a root (store J10); among entries with the
    /// same id, the last one is found (store J9).
    pub fn new(index: &Index) -> Self {
        let by_id = index_by_id(index, index.iter().filter_map(|(ix, entry)| Some((entry.id?, ix))));
        let parents: Vec<Option<EntryIx>> = index
            .iter()
            .map(|(ix, entry)| entry.parent.and_then(|id| by_id[id.index()]).filter(|parent| *parent != ix))
            .collect();
        Self { parents, by_id, ..Self::default() }.with_links(index)
    }

    /// Builds the tree of OpenClaw 2026.9, without leaf rows (sqlite F6).
    fn from_leaf_rows(index: &Index) -> Self {
        let rows = LeafResolution::resolve(index);
        let by_id = index_by_id(index, rows.nodes.iter().map(|(id, node)| (*id, node.entry)));
        let parents = index.iter().map(|(ix, _)| rows.parent_entry(index, ix)).collect();
        Self { parents, by_id, leaf_resolution: Some(rows), ..Self::default() }.with_links(index)
    }

    fn with_links(mut self, index: &Index) -> Self {
        let is_part =
            |ix: &EntryIx| self.leaf_resolution.is_none() || index.entry(*ix).kind != EntryKind::Leaf;
        let all: Vec<EntryIx> = (0..self.parents.len() as u32).map(EntryIx).filter(is_part).collect();
        self.roots = all.iter().copied().filter(|ix| self.parent(*ix).is_none()).collect();
        self.collect_children(index, &all);
        self.cyclic = self.unreachable(&all);
        self
    }

    /// Collects children by entry time, stable in file order (store K4): a counting sort by parent.
    fn collect_children(&mut self, index: &Index, all: &[EntryIx]) {
        let mut counts = vec![0_u32; self.parents.len() + 1];
        for parent in all.iter().filter_map(|ix| self.parent(*ix)) {
            counts[parent.index() + 1] += 1;
        }
        for at in 1..counts.len() {
            counts[at] += counts[at - 1];
        }
        self.child_ranges = counts.windows(2).map(|pair| (pair[0], pair[1])).collect();
        self.children = vec![EntryIx(0); counts.last().copied().unwrap_or(0) as usize];
        let mut next = counts;
        for ix in all {
            if let Some(parent) = self.parents[ix.index()] {
                self.children[next[parent.index()] as usize] = *ix;
                next[parent.index()] += 1;
            }
        }
        for (from, to) in &self.child_ranges {
            let siblings = &mut self.children[*from as usize..*to as usize];
            siblings.sort_by(|a, b| index.entry(*a).time_ms.total_cmp(&index.entry(*b).time_ms));
        }
    }

    /// Returns entries that no root reaches: those of a cycle and their descendants (store J11).
    fn unreachable(&self, all: &[EntryIx]) -> Vec<EntryIx> {
        let mut seen = vec![false; self.parents.len()];
        let mut open: Vec<EntryIx> = self.roots.clone();
        while let Some(ix) = open.pop() {
            seen[ix.index()] = true;
            open.extend(self.children(ix));
        }
        all.iter().copied().filter(|ix| !seen[ix.index()]).collect()
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    pub fn is_empty(&self) -> bool {
        self.parents.is_empty()
    }

    /// Returns the parent of an entry; `None` for a root.
    pub fn parent(&self, ix: EntryIx) -> Option<EntryIx> {
        self.parents[ix.index()]
    }

    pub fn children(&self, ix: EntryIx) -> &[EntryIx] {
        let (from, to) = self.child_ranges[ix.index()];
        &self.children[from as usize..to as usize]
    }

    /// Roots in file order.
    pub fn roots(&self) -> &[EntryIx] {
        &self.roots
    }

    /// Entries of cycles and their descendants; a file with any is never written to.
    pub fn cyclic(&self) -> &[EntryIx] {
        &self.cyclic
    }

    pub fn find(&self, id: IdIx) -> Option<EntryIx> {
        self.by_id.get(id.index()).copied().flatten()
    }

    pub fn find_by_text(&self, index: &Index, id: &str) -> Option<EntryIx> {
        self.find(index.ids.find(id)?)
    }

    /// Returns the entry at which a context ends. An absent, empty or unknown id falls back to the session's own leaf
    /// (compaction 4.1, 4.1a).
    pub fn leaf(&self, index: &Index, leaf: &Leaf) -> Option<EntryIx> {
        let named =
            |id: &str| self.find_by_text(index, id).filter(|ix| !id.is_empty() && self.contains(index, *ix));
        match (leaf, &self.leaf_resolution) {
            (Leaf::Before, _) => None,
            (Leaf::Own, None) => index.last().filter(|ix| !index.entry(*ix).has_null_id),
            (Leaf::Own, Some(rows)) => self.own_leaf(index, rows),
            (Leaf::Id(id), None) => named(id).or_else(|| index.last()),
            (Leaf::Id(id), Some(rows)) => named(id).or_else(|| self.own_leaf(index, rows)),
        }
    }

    /// Returns the leaf that the rows select; without a tree, the last row (sqlite F6).
    fn own_leaf(&self, index: &Index, rows: &LeafResolution) -> Option<EntryIx> {
        if rows.is_explicit {
            return rows.leaf.and_then(|id| self.find(id));
        }
        index.iter().rev().map(|(ix, _)| ix).find(|ix| self.contains(index, *ix))
    }

    /// Whether an entry belongs to the tree; leaf rows do not (sqlite F6).
    pub fn contains(&self, index: &Index, ix: EntryIx) -> bool {
        self.leaf_resolution.is_none() || index.entry(ix).kind != EntryKind::Leaf
    }

    /// Whether a `reset` ends a context in this version (sqlite G2).
    pub fn has_resets(&self) -> bool {
        self.leaf_resolution.is_some()
    }

    /// Returns the ends of all branches: the session's leaf first, then the newest (sqlite F9).
    pub fn tips(&self, index: &Index) -> Vec<EntryIx> {
        if let Some(rows) = self.leaf_resolution.as_ref().filter(|rows| rows.is_explicit) {
            return rows.tips();
        }
        let own = self.leaf(index, &Leaf::Own);
        let ends = index.iter().rev().map(|(ix, _)| ix);
        let ends =
            ends.filter(|ix| Some(*ix) != own && self.contains(index, *ix) && self.children(*ix).is_empty());
        own.into_iter().chain(ends).collect()
    }

    /// Returns the entries from the root to this one (store K2). A cycle is cut where it closes; in OpenClaw 2026.9 the
    /// path is then empty (sqlite F6).
    pub fn path_to(&self, index: &Index, leaf: EntryIx) -> Vec<EntryIx> {
        if let Some(rows) = &self.leaf_resolution {
            return self.path_by_rows(index, rows, leaf);
        }
        let mut path = vec![leaf];
        let mut seen = vec![false; self.parents.len()];
        seen[leaf.index()] = true;
        while let Some(parent) = path.last().and_then(|ix| self.parent(*ix)) {
            if std::mem::replace(&mut seen[parent.index()], true) {
                break;
            }
            path.push(parent);
        }
        path.reverse();
        path
    }

    /// Whether `above` is `leaf` or one of its ancestors.
    pub fn leads_to(&self, index: &Index, above: EntryIx, leaf: EntryIx) -> bool {
        if self.leaf_resolution.is_some() {
            return self.path_to(index, leaf).contains(&above);
        }
        // Limits the walk, because parents may form a cycle.
        let way = std::iter::successors(Some(leaf), |ix| self.parent(*ix)).take(self.parents.len());
        way.into_iter().any(|ix| ix == above)
    }

    fn path_by_rows(&self, index: &Index, rows: &LeafResolution, leaf: EntryIx) -> Vec<EntryIx> {
        if !rows.is_explicit && self.own_leaf(index, rows) == Some(leaf) {
            return index.iter().map(|(ix, _)| ix).filter(|ix| self.contains(index, *ix)).collect();
        }
        let known = index.entry(leaf).id.filter(|id| self.find(*id) == Some(leaf));
        known.map_or_else(|| vec![leaf], |id| rows.path(id))
    }

    /// Returns the path that the runtime's own function returns: empty for an absent, empty or unknown leaf id
    /// (compaction 4.1a c).
    pub fn branch(&self, index: &Index, leaf: &Leaf) -> Vec<EntryIx> {
        let found = match leaf {
            Leaf::Before => None,
            Leaf::Id(id) => self.find_by_text(index, id).filter(|_| !id.is_empty()),
            Leaf::Own => self.leaf(index, leaf).filter(|ix| self.has_resets() || has_truthy_id(index, *ix)),
        };
        found.map(|ix| self.path_to(index, ix)).unwrap_or_default()
    }

    /// Counts the descendants of an entry.
    pub fn descendant_count(&self, ix: EntryIx) -> usize {
        let mut open: Vec<EntryIx> = self.children(ix).to_vec();
        let mut count = 0;
        while let Some(ix) = open.pop() {
            count += 1;
            open.extend(self.children(ix));
        }
        count
    }
}

/// Maps ids to entries; for duplicate ids the last one wins.
fn index_by_id(index: &Index, reported: impl Iterator<Item = (IdIx, EntryIx)>) -> Vec<Option<EntryIx>> {
    let mut entries = vec![None; index.ids.len()];
    reported.for_each(|(id, ix)| entries[id.index()] = Some(ix));
    entries
}

fn has_truthy_id(index: &Index, ix: EntryIx) -> bool {
    index.entry(ix).id.is_some_and(|id| index.ids.is_truthy(id))
}

/// Returns the label of each labelled entry. The last value on any branch wins; an empty one clears the label.
pub fn resolve_labels(index: &Index, tree: &Tree) -> HashMap<EntryIx, String> {
    let mut labels = HashMap::new();
    for (_, entry) in index.auxiliary_entries().filter(|(_, entry)| entry.kind == EntryKind::Label) {
        let Some(target) = entry.reference.and_then(|id| tree.find(id)) else { continue };
        match index.values.text(entry.payload).filter(|text| !text.is_empty()) {
            Some(text) => labels.insert(target, text),
            None => labels.remove(&target),
        };
    }
    labels
}

/// Returns the session's name: the last non-empty one on any branch. In newer runtimes an empty last name clears it
/// (store-pi-1.5 B6).
pub fn session_name(index: &Index) -> Option<String> {
    if index.pi_release.has(PiChange::ClearsNames) {
        return last_session_name(index).ok().flatten().map(|name| name.to_string_lossy());
    }
    let names = index.auxiliary_entries().rev().filter(|(_, entry)| entry.kind == EntryKind::SessionInfo);
    names.filter_map(|(_, entry)| index.values.text(entry.payload)).find(|name| !name.trim().is_empty())
}

/// Returns the last name in the file, trimmed; `None` when it is absent or blank. Errors when it is not a text.
pub fn last_session_name(index: &Index) -> Result<Option<JsString>, JsException> {
    let last = index.auxiliary_entries().rev().find(|(_, entry)| entry.kind == EntryKind::SessionInfo);
    match last.and_then(|(_, entry)| index.values.value(entry.payload)) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(name)) => Ok(Some(name.trim()).filter(|name| !name.is_empty())),
        Some(_) => Err(JsException),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::LineIds;
    use crate::store::load::load_bytes;

    fn index(lines: &[&str]) -> Index {
        let header = r#"{"type":"session","version":3,"id":"s"}"#;
        let text = std::iter::once(header).chain(lines.iter().copied()).collect::<Vec<_>>().join("\n") + "\n";
        load_bytes("t.jsonl", text.as_bytes(), &mut LineIds)
    }

    fn names(index: &Index, path: &[EntryIx]) -> Vec<String> {
        path.iter().map(|ix| index.display_id(*ix)).collect()
    }

    #[test]
    fn the_leaf_is_the_last_line_of_any_type_and_the_path_follows_its_parents() {
        let index = index(&[
            r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"x"}}"#,
            r#"{"type":"message","id":"b","parentId":"a","message":{"role":"user","content":"y"}}"#,
            r#"{"type":"label","id":"c","parentId":"a","targetId":"b"}"#,
        ]);
        let tree = Tree::new(&index);
        assert_eq!(names(&index, &tree.branch(&index, &Leaf::Own)), ["a", "c"]);
        assert_eq!(names(&index, &tree.branch(&index, &Leaf::Id("b".into()))), ["a", "b"]);
        assert_eq!(tree.branch(&index, &Leaf::Id("nowhere".into())), []);
    }

    #[test]
    fn a_null_id_at_the_end_leaves_no_context_and_an_absent_one_does() {
        let null = index(&[r#"{"type":"custom","id":null,"parentId":null}"#]);
        assert_eq!(Tree::new(&null).leaf(&null, &Leaf::Own), None);
        let absent = index(&[r#"{"type":"custom","parentId":null}"#]);
        assert_eq!(Tree::new(&absent).leaf(&absent, &Leaf::Own), Some(EntryIx(0)));
    }

    #[test]
    fn a_cycle_is_cut_and_reported() {
        let index = index(&[
            r#"{"type":"custom","id":"a","parentId":"b"}"#,
            r#"{"type":"custom","id":"b","parentId":"a"}"#,
        ]);
        let tree = Tree::new(&index);
        assert_eq!(tree.path_to(&index, EntryIx(1)).len(), 2);
        assert_eq!(tree.cyclic().len(), 2);
    }

    #[test]
    fn an_entry_that_is_its_own_parent_is_a_root() {
        let index = index(&[r#"{"type":"custom","id":"a","parentId":"a"}"#]);
        let tree = Tree::new(&index);
        assert_eq!((tree.roots().len(), tree.cyclic().len()), (1, 0));
    }
}

#[cfg(test)]
mod labels_tests {
    use super::*;
    use crate::ids::LineIds;
    use crate::store::load::load_bytes;

    #[test]
    fn a_session_name_keeps_half_a_surrogate_pair() {
        let text = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n{\"type\":\"session_info\",\"id\":\"a\",\"parentId\":null,\"name\":\" x\\ud83d \"}\n";
        let index = load_bytes("t.jsonl", text.as_bytes(), &mut LineIds);
        let name = last_session_name(&index).unwrap().unwrap();
        assert_eq!(crate::js::stringify(&Value::String(name)), "\"x\\ud83d\"");
    }
}
