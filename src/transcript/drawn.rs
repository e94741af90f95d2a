//! The order in which a tree is written down: the trunk in one column, branches beside it where they leave.

use std::collections::HashSet;
use std::hash::BuildHasher;

use crate::ids::EntryIx;
use crate::transcript::Tree;

/// An entry in that order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drawn {
    /// The entry.
    pub entry: EntryIx,
    /// Branches it is away from the trunk.
    pub depth: usize,
    /// The first of a branch.
    pub forks: bool,
}

/// Depth first; of several children the one of `trunk`, else the last, continues the line, and the others branch off before
/// it. Entries of a cycle stand at the end.
pub fn drawn<S: BuildHasher>(tree: &Tree, trunk: &HashSet<EntryIx, S>) -> Vec<Drawn> {
    let mut nodes = Vec::new();
    let mut open = Vec::new();
    push_siblings(tree.roots(), trunk, 0, &mut open);
    while let Some(node) = open.pop() {
        push_siblings(tree.children(node.entry), trunk, node.depth, &mut open);
        nodes.push(node);
    }
    nodes.extend(tree.cyclic().iter().map(|entry| Drawn { entry: *entry, depth: 0, forks: true }));
    nodes
}

/// Pushes siblings so that the trunk is taken last.
fn push_siblings<S: BuildHasher>(
    siblings: &[EntryIx],
    trunk: &HashSet<EntryIx, S>,
    depth: usize,
    open: &mut Vec<Drawn>,
) {
    let main = siblings.iter().find(|ix| trunk.contains(ix)).or(siblings.last()).copied();
    let Some(main) = main else { return };
    open.push(Drawn { entry: main, depth, forks: false });
    let branches = siblings.iter().rev().filter(|ix| **ix != main);
    open.extend(branches.map(|ix| Drawn { entry: *ix, depth: depth + 1, forks: true }));
}
