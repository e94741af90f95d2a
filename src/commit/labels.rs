//! Labels hold for the whole file, and the last line wins (store K8). After a branch is copied, each
//! copy shall bear the label of its original, and every other entry the label it had (store P4).

use std::collections::HashMap;

use crate::js::{self, Value};
use crate::store::entry::EntryKind;
use crate::store::index::Index;
use crate::store::intern::IdIx;

/// The labels in force; an empty label clears.
#[derive(Debug, Clone, Default)]
pub(super) struct Labels<'a> {
    by_target: HashMap<IdIx, &'a Value>,
}

impl<'a> Labels<'a> {
    /// The labels of a whole file.
    pub(super) fn in_force(index: &'a Index) -> Self {
        let mut labels = Self::default();
        for entry in index.entries.iter().filter(|entry| entry.kind == EntryKind::Label) {
            if let Some(target) = entry.reference {
                labels.set(target, index.words.value(entry.word));
            }
        }
        labels
    }

    /// The label of an entry.
    pub(super) fn of(&self, target: IdIx) -> Option<&'a Value> {
        self.by_target.get(&target).copied()
    }

    /// A label line was read.
    pub(super) fn set(&mut self, target: IdIx, label: Option<&'a Value>) {
        match label.filter(|label| js::truthy(Some(label))) {
            Some(label) => self.by_target.insert(target, label),
            None => self.by_target.remove(&target),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::LineIds;
    use crate::store::load::load_bytes;

    #[test]
    fn the_last_label_line_wins_on_any_branch_and_an_empty_one_clears() {
        let text = concat!(
            r#"{"type":"session","version":3,"id":"s"}"#,
            "\n",
            r#"{"type":"label","id":"a","parentId":null,"targetId":"x","label":"one"}"#,
            "\n",
            r#"{"type":"label","id":"b","parentId":null,"targetId":"x","label":"two"}"#,
            "\n",
            r#"{"type":"label","id":"c","parentId":"a","targetId":"y","label":"three"}"#,
            "\n",
            r#"{"type":"label","id":"d","parentId":"c","targetId":"y"}"#,
            "\n",
        );
        let index = load_bytes("t.jsonl", text.as_bytes(), &mut LineIds);
        let labels = Labels::in_force(&index);
        let of = |id: &str| labels.of(index.ids.find(id).unwrap());
        assert_eq!((of("x"), of("y")), (Some(&Value::from("two")), None));
    }
}
