//! Finds the leaf and the parents of a session of OpenClaw 2026.9 in one pass over its rows: leaf rows move the leaf,
//! side rows do not, and outdated parents are corrected (sqlite F1–F6).

use std::collections::{HashMap, HashSet};

use crate::ids::EntryIx;
use crate::js::{self, Value};
use crate::store::entry::{AppendMode, Entry, EntryKind, ParentKey};
use crate::store::index::Index;
use crate::store::intern::IdIx;

/// A row with a usable id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RowNode {
    pub(super) entry: EntryIx,
    /// The parent id after all corrections; of a leaf row, the entry that it points to.
    pub(super) parent: Option<IdIx>,
    pub(super) is_leaf_row: bool,
}

#[derive(Debug, Clone, Default)]
pub(super) struct LeafResolution {
    /// The last row of each id.
    pub(super) nodes: HashMap<IdIx, RowNode>,
    /// The session's leaf; `None` before the first entry.
    pub(super) leaf: Option<IdIx>,
    /// The id that the next entry would name as its parent.
    pub(super) append_parent: Option<IdIx>,
    /// A row with an explicit parent or a leaf row set the leaf. Otherwise there is no tree: all rows count, in order
    /// (F6).
    pub(super) is_explicit: bool,
    has_reset: bool,
    /// The last reset and its descendants.
    since_reset: HashSet<IdIx>,
    /// Leaf rows with an invalid target.
    invalid_leaf_rows: HashSet<IdIx>,
    /// The last row of each id that is not a leaf row, even if a leaf row used its id later.
    entry_rows: HashMap<IdIx, EntryIx>,
    /// Every id that a row named as its parent, even a row whose id was used again.
    parents: HashSet<IdIx>,
}

/// Whether a row of this kind can be a session's leaf.
fn can_be_leaf(kind: EntryKind) -> bool {
    matches!(
        kind,
        EntryKind::Message
            | EntryKind::ThinkingLevelChange
            | EntryKind::ModelChange
            | EntryKind::Compaction
            | EntryKind::Reset
            | EntryKind::BranchSummary
            | EntryKind::Custom
            | EntryKind::CustomMessage
            | EntryKind::Label
            | EntryKind::SessionInfo
    )
}

impl LeafResolution {
    /// Resolves all rows in one pass.
    pub(super) fn resolve(index: &Index) -> Self {
        let mut rows = Self::default();
        for (ix, entry) in index.iter() {
            let Some(id) = entry.id.filter(|id| is_usable_id(index, *id)) else { continue };
            let parent = entry.parent.filter(|parent| is_usable_id(index, *parent));
            let is_odd = match entry.link.parent {
                ParentKey::Absent => !can_be_leaf(entry.kind),
                ParentKey::Null => false,
                ParentKey::Usable => parent.is_none(),
                ParentKey::Falsy => true,
            };
            if is_odd {
                continue;
            }
            match entry.kind {
                EntryKind::Leaf => rows.apply_leaf_row(index, ix, id, parent),
                _ => rows.apply_row(ix, entry, id, parent),
            }
        }
        rows
    }

    /// Applies a leaf row (F2); ignores one that is malformed.
    fn apply_leaf_row(&mut self, index: &Index, ix: EntryIx, id: IdIx, own_parent: Option<IdIx>) {
        let Some(body) = index.retained_bodies.get(&ix) else { return };
        let named = |key: &str| parse_target(index, body.get(key));
        let Some(mut target) = named("targetId") else { return };
        let append =
            if body.get("appendParentId").is_some() { named("appendParentId") } else { Some(target) };
        let Some(mut append) = append else { return };
        if index.entry(ix).link.append_mode == AppendMode::Other {
            return;
        }
        if self.has_reset
            && self.leaf.is_some()
            && target.id().is_none_or(|target| !self.since_reset.contains(&target))
        {
            (target, append) = (LeafTarget::from_id(self.leaf), LeafTarget::from_id(self.leaf));
        }
        if !self.is_valid_target(target) || !self.is_valid_target(append) {
            self.invalid_leaf_rows.insert(id);
            self.nodes.insert(id, RowNode { entry: ix, parent: own_parent, is_leaf_row: true });
            return;
        }
        self.nodes.insert(id, RowNode { entry: ix, parent: target.id(), is_leaf_row: true });
        if target.id().is_some_and(|target| self.since_reset.contains(&target)) {
            self.since_reset.insert(id);
        }
        (self.append_parent, self.leaf) = (append.id(), target.id());
        self.is_explicit = true;
    }

    /// Whether a target is the start of the session, or a known row other than an invalid leaf row.
    fn is_valid_target(&self, target: LeafTarget) -> bool {
        match target {
            LeafTarget::Nothing => true,
            LeafTarget::Row(id) => self.nodes.contains_key(&id) && !self.invalid_leaf_rows.contains(&id),
            LeafTarget::Unknown => false,
        }
    }

    /// Applies a row that is not a leaf row (F3–F5).
    fn apply_row(&mut self, ix: EntryIx, entry: &Entry, id: IdIx, named: Option<IdIx>) {
        let (canonical, side) = (can_be_leaf(entry.kind), entry.link.append_mode == AppendMode::Side);
        let has_key = entry.link.parent != ParentKey::Absent;
        let mut parent = if has_key { named } else { self.leaf };
        if canonical {
            if !side && self.is_overtaken(parent, has_key) {
                parent = self.leaf;
            }
            parent = self.skip_leaf_rows(parent);
        }
        self.nodes.insert(id, RowNode { entry: ix, parent, is_leaf_row: false });
        self.parents.extend(parent);
        self.entry_rows.insert(id, ix);
        if entry.kind == EntryKind::Reset {
            self.has_reset = true;
            self.since_reset = HashSet::from([id]);
        } else if parent.is_some_and(|parent| self.since_reset.contains(&parent)) {
            self.since_reset.insert(id);
        }
        self.append_parent = Some(id);
        if canonical && !side {
            self.leaf = Some(id);
            self.is_explicit |= has_key;
        }
    }

    /// Whether the leaf replaces a row's parent (F3).
    fn is_overtaken(&self, parent: Option<IdIx>, has_key: bool) -> bool {
        let is_before_reset =
            || self.has_reset && parent.is_none_or(|parent| !self.since_reset.contains(&parent));
        let is_unknown =
            || self.leaf.is_some() && parent.is_some_and(|parent| !self.nodes.contains_key(&parent));
        let is_appended = || parent == self.append_parent && self.leaf != self.append_parent;
        is_before_reset() || has_key && (is_unknown() || is_appended())
    }

    /// Returns the first ancestor that is not a leaf row (F4).
    fn skip_leaf_rows(&self, mut parent: Option<IdIx>) -> Option<IdIx> {
        let mut seen = HashSet::new();
        while let Some(id) = parent
            && let Some(node) = self.nodes.get(&id)
            && node.is_leaf_row
            && seen.insert(id)
        {
            parent = node.parent;
        }
        parent
    }

    /// Returns the parent row, ignoring leaf rows.
    pub(super) fn parent_entry(&self, index: &Index, ix: EntryIx) -> Option<EntryIx> {
        let node = index.entry(ix).id.and_then(|id| self.nodes.get(&id)).filter(|node| node.entry == ix)?;
        let parent = self.nodes.get(&self.skip_leaf_rows(node.parent)?)?;
        (!parent.is_leaf_row).then_some(parent.entry)
    }

    /// Returns the rows from the root to this one without leaf rows; empty if they form a cycle (F6).
    pub(super) fn path(&self, from: IdIx) -> Vec<EntryIx> {
        let (mut path, mut seen, mut next) = (Vec::new(), HashSet::new(), Some(from));
        while let Some(id) = next
            && let Some(node) = self.nodes.get(&id)
        {
            if !seen.insert(id) {
                return Vec::new();
            }
            if !node.is_leaf_row {
                path.push(node.entry);
            }
            next = node.parent;
        }
        path.reverse();
        path
    }

    /// Returns the ends of branches: the leaf, and rows that no row names as its parent. The leaf first, then the
    /// newest (F9).
    pub(super) fn tips(&self) -> Vec<EntryIx> {
        let is_leaf = |id: &IdIx| Some(*id) == self.leaf;
        let ends = self.entry_rows.iter().filter(|(id, _)| is_leaf(id) || !self.parents.contains(id));
        let mut tips: Vec<(bool, EntryIx)> = ends.map(|(id, entry)| (is_leaf(id), *entry)).collect();
        tips.sort_by_key(|(is_leaf, entry)| std::cmp::Reverse((*is_leaf, *entry)));
        tips.into_iter().map(|(_, entry)| entry).collect()
    }
}

/// The target of a leaf row.
#[derive(Debug, Clone, Copy)]
enum LeafTarget {
    /// Before the first entry.
    Nothing,
    Row(IdIx),
    /// An id that no row has.
    Unknown,
}

impl LeafTarget {
    fn from_id(id: Option<IdIx>) -> Self {
        id.map_or(Self::Nothing, Self::Row)
    }

    fn id(self) -> Option<IdIx> {
        match self {
            Self::Row(id) => Some(id),
            Self::Nothing | Self::Unknown => None,
        }
    }
}

/// Parses `null` or a text that is not blank; `None` for anything else.
fn parse_target(index: &Index, value: Option<&Value>) -> Option<LeafTarget> {
    match value? {
        Value::Null => Some(LeafTarget::Nothing),
        Value::String(text) if !text.is_blank() => {
            Some(index.ids.find(&text.to_string_lossy()).map_or(LeafTarget::Unknown, LeafTarget::Row))
        }
        _ => None,
    }
}

/// Whether an id is a text that is not blank.
fn is_usable_id(index: &Index, id: IdIx) -> bool {
    index.ids.is_string(id) && !index.ids.text(id).trim_matches(js::is_trimmed).is_empty()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::ids::LineIds;
    use crate::store::load::load_bytes;

    const VECTORS: &str = include_str!("../../tests/fixtures/sqlite-2026.9.6/tree-vectors.json");

    fn text(value: Option<&Value>) -> Option<String> {
        Some(value?.as_str()?.to_string_lossy())
    }

    fn texts(value: Option<&Value>) -> Vec<String> {
        value.and_then(Value::as_array).unwrap().iter().filter_map(|value| text(Some(value))).collect()
    }

    #[test]
    fn all_500_vectors_resolve_as_in_the_gateway() {
        let vectors = js::parse(VECTORS).unwrap();
        let vectors = vectors.as_array().unwrap();
        assert_eq!(vectors.len(), 500);
        for (at, vector) in vectors.iter().enumerate() {
            let rows = vector.get("rows").and_then(Value::as_array).unwrap();
            let header = r#"{"type":"session","version":3,"id":"s"}"#.to_owned();
            let lines: Vec<String> = std::iter::once(header).chain(rows.iter().map(js::stringify)).collect();
            let index = load_bytes("t.jsonl", (lines.join("\n") + "\n").as_bytes(), &mut LineIds);
            let found = LeafResolution::resolve(&index);
            let name = |id: IdIx| index.ids.text(id).to_owned();
            let context = lines.join("\n");
            assert_eq!(found.leaf.map(name), text(vector.get("leaf")), "leaf of {at}:\n{context}");
            let append = text(vector.get("appendParent"));
            assert_eq!(found.append_parent.map(name), append, "append parent of {at}:\n{context}");
            let path = found.leaf.map(|leaf| found.path(leaf)).unwrap_or_default();
            let path: Vec<String> = path.into_iter().map(|ix| index.display_id(ix)).collect();
            assert_eq!(path, texts(vector.get("path")), "path of {at}:\n{context}");
            let tips: BTreeSet<String> = found.tips().into_iter().map(|ix| index.display_id(ix)).collect();
            let expected: BTreeSet<String> = texts(vector.get("tips")).into_iter().collect();
            assert_eq!(tips, expected, "tips of {at}:\n{context}");
        }
    }
}
