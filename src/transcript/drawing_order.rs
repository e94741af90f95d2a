//! The order in which a tree is written down: the trunk in one column, branches beside it where they leave.

use std::collections::HashSet;
use std::hash::BuildHasher;

use crate::ids::EntryIx;
use crate::transcript::Tree;

/// An entry in that order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderedEntry {
    /// The entry.
    pub entry: EntryIx,
    /// Branches it is away from the trunk.
    pub depth: usize,
    /// The first of a branch.
    pub starts_branch: bool,
}

/// Depth first; of several children the one of `trunk`, else the last, continues the line, and the others branch off before
/// it. Entries of a cycle stand at the end.
pub fn drawing_order<S: BuildHasher>(tree: &Tree, trunk: &HashSet<EntryIx, S>) -> Vec<OrderedEntry> {
    let mut nodes = Vec::new();
    let mut open = Vec::new();
    push_siblings(tree.roots(), trunk, 0, &mut open);
    while let Some(node) = open.pop() {
        push_siblings(tree.children(node.entry), trunk, node.depth, &mut open);
        nodes.push(node);
    }
    nodes.extend(tree.cyclic().iter().map(|entry| OrderedEntry {
        entry: *entry,
        depth: 0,
        starts_branch: true,
    }));
    nodes
}

/// Pushes siblings so that the trunk is taken last.
fn push_siblings<S: BuildHasher>(
    siblings: &[EntryIx],
    trunk: &HashSet<EntryIx, S>,
    depth: usize,
    open: &mut Vec<OrderedEntry>,
) {
    let main = siblings.iter().find(|ix| trunk.contains(ix)).or(siblings.last()).copied();
    let Some(main) = main else { return };
    open.push(OrderedEntry { entry: main, depth, starts_branch: false });
    let branches = siblings.iter().rev().filter(|ix| **ix != main);
    open.extend(branches.map(|ix| OrderedEntry { entry: *ix, depth: depth + 1, starts_branch: true }));
}
