//! Labels apply to the whole file, and the last line counts (store K8). After a branch is copied, each copy must have
//! the label of its original, and every other entry its old label (store P4).

use std::collections::HashMap;

use crate::commit::copy::label_line;
use crate::commit::draft::CommitDraft;
use crate::commit::new_line::NewLine;
use crate::ids::IdSource;
use crate::js::{self, Value};
use crate::store::entry::EntryKind;
use crate::store::index::Index;
use crate::store::intern::IdIx;

/// The labels in force; an empty label clears.
#[derive(Debug, Clone, Default)]
pub struct Labels<'a> {
    by_target: HashMap<IdIx, &'a Value>,
}

impl<'a> Labels<'a> {
    pub fn from_index(index: &'a Index) -> Self {
        let mut labels = Self::default();
        for (_, entry) in index.auxiliary_entries().filter(|(_, entry)| entry.kind == EntryKind::Label) {
            if let Some(target) = entry.reference {
                labels.set(target, index.values.value(entry.payload));
            }
        }
        labels
    }

    pub fn get(&self, target: IdIx) -> Option<&'a Value> {
        self.by_target.get(&target).copied()
    }

    pub(super) fn set(&mut self, target: IdIx, label: Option<&'a Value>) {
        match label.filter(|label| js::is_truthy(Some(label))) {
            Some(label) => self.by_target.insert(target, label),
            None => self.by_target.remove(&target),
        };
    }
}

impl CommitDraft<'_> {
    /// Appends the label lines without which a copy would lose its label, or an older entry would get back a label that
    /// was changed since (store K8, P4).
    pub(super) fn append_labels(&mut self, new_ids: &mut dyn IdSource) {
        let index = self.index();
        let in_force = Labels::from_index(index);
        let mut after = in_force.clone();
        let mut of_copies: HashMap<IdIx, Option<&Value>> = HashMap::new();
        let mut touched: Vec<IdIx> =
            self.copies.entries.iter().filter_map(|(ix, _)| index.entry(*ix).id).collect();
        for (ix, _) in &self.copies.entries {
            let entry = index.entry(*ix);
            let Some(target) = entry.reference.filter(|_| entry.kind == EntryKind::Label) else { continue };
            let label = index.values.value(entry.payload).filter(|label| js::is_truthy(Some(label)));
            if self.copies.new_id(target).is_some() {
                of_copies.insert(target, label);
            } else {
                after.set(target, label);
                touched.push(target);
            }
        }
        for target in touched {
            let copy = self.copies.new_id(target).map(str::to_owned);
            let now =
                if copy.is_some() { of_copies.get(&target).copied().flatten() } else { after.get(target) };
            let wanted = in_force.get(target);
            if now != wanted {
                let named = copy.map_or_else(|| index.ids.value(target), Value::from);
                let id = self.copies.draw_id(index, new_ids);
                let text = label_line(&id, &self.last_id(), &self.time(), &named, wanted);
                self.lines.push(NewLine { id, copy_of: None, text });
                after.set(target, wanted);
            }
        }
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
        let labels = Labels::from_index(&index);
        let of = |id: &str| labels.get(index.ids.find(id).unwrap());
        assert_eq!((of("x"), of("y")), (Some(&Value::from("two")), None));
    }
}
