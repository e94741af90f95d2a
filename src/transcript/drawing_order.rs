//! The order in which a tree is drawn: the trunk in one column, branches next to it at their forks.

use std::collections::HashSet;
use std::hash::BuildHasher;

use crate::ids::EntryIx;
use crate::transcript::Tree;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderedEntry {
    pub entry: EntryIx,
    /// Number of branches between the entry and the trunk.
    pub depth: usize,
    /// The first entry of a branch.
    pub starts_branch: bool,
}

/// Orders the tree depth first. Among several children, the one on `trunk` (else the last) continues the line; the
/// others branch off before it. Entries of a cycle come last.
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

/// Pushes siblings so that the trunk is popped last.
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
