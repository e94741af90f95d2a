//! Answers whether one entry is above another, in constant time: each entry has the range of its descendants in the order
//! of a walk through the tree.

use crate::ids::EntryIx;
use crate::transcript::tree::Tree;

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
