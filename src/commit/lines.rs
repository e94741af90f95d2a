//! Builds the new lines in order: the copied path, labels, edits, our own record, and the compaction that ends the branch
//! (store P2–P6).

use crate::commit::compaction;
use crate::commit::copy::{CopySpec, copy};
use crate::commit::draft::CommitDraft;
use crate::commit::new_line::NewLine;
use crate::commit::receipt::commit_line;
use crate::commit::refusal::Refusal;
use crate::ids::IdSource;
use crate::js::Value;
use crate::store::entry::EntryKind;

impl CommitDraft<'_> {
    /// Builds the lines. A compaction that ends the branch stays the last line: if anything follows it, the runtime
    /// makes another one that keeps nothing (compaction 2.12, 3.1).
    pub(super) fn build_lines(&mut self, new_ids: &mut dyn IdSource) -> Result<(), Refusal> {
        let last_compaction = self.ending_compaction();
        let count = self.copies.entries.len() - usize::from(last_compaction.is_some());
        for at in 0..count {
            self.copy_entry(at)?;
        }
        self.append_labels(new_ids);
        self.append_edits(new_ids)?;
        self.append_record(new_ids);
        if let Some(at) = last_compaction {
            self.copy_entry(at)?;
        }
        if let Some(planned) = &self.request.compaction {
            compaction::append(self, planned, new_ids);
        }
        Ok(())
    }

    /// Returns the position of a compaction that ends the path, unless a new one follows.
    fn ending_compaction(&self) -> Option<usize> {
        let last = self.copies.entries.len().checked_sub(1)?;
        let kind = self.index().entry(self.copies.entries[last].0).kind;
        (kind == EntryKind::Compaction && self.request.compaction.is_none()).then_some(last)
    }

    fn copy_entry(&mut self, at: usize) -> Result<(), Refusal> {
        let (ix, id) = self.copies.entries[at].clone();
        let message = self.changes.get(&ix).copied();
        // The parent of the first copy stays, unless entries before it are left out.
        let is_first = self.lines.is_empty();
        let parent = (!is_first || self.base.is_some()).then(|| self.parent_value());
        let time = self.time();
        let of = CopySpec { ix, id: &id, parent, time: Some(&time), message };
        let copied = copy(&self.request.transcript, &self.copies, &of)?;
        self.remaps.extend(copied.remap);
        self.expected.copied.insert(ix, copied.value);
        self.lines.push(NewLine { id, copy_of: Some(ix), text: copied.text });
        Ok(())
    }

    /// Appends our own record, so that the branch never ends in a user message (store M6).
    fn append_record(&mut self, new_ids: &mut dyn IdSource) {
        let index = self.index();
        let id = self.copies.draw_id(index, new_ids);
        let leaf = index.entry(self.leaf).id.map_or(Value::Null, |id| index.ids.value(id));
        let (parent, changed) = (self.parent_value(), self.changed_ids());
        let text = commit_line(&id, &parent, &self.time(), &leaf, &changed, &self.request.provenance);
        self.record_id.clone_from(&id);
        self.lines.push(NewLine { id, copy_of: None, text });
    }
}
