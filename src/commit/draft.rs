//! Builds the new lines: the copied path, labels, our own record, and the compaction that ends the branch (store
//! P2–P6).

use std::collections::BTreeMap;

use crate::commit::check::WritableSession;
use crate::commit::compaction;
use crate::commit::copy::{CopyPlan, CopySpec, Remap, copy};
use crate::commit::expected::ExpectedEntries;
use crate::commit::prepare::NewLine;
use crate::commit::receipt::commit_line;
use crate::commit::refusal::Refusal;
use crate::commit::request::{CommitMethod, CommitRequest};
use crate::ids::{EntryIx, IdSource};
use crate::js::{self, Value};
use crate::store::entry::EntryKind;
use crate::store::index::Index;

/// The lines of a commit under construction.
pub(super) struct CommitDraft<'a> {
    pub(super) request: &'a CommitRequest<'a>,
    pub(super) copies: CopyPlan,
    /// Changed messages, by entry.
    pub(super) changes: &'a BTreeMap<EntryIx, &'a Value>,
    /// The old leaf: the parent of the first line if nothing is copied.
    leaf: EntryIx,
    /// Outer time of every new line, ms since 1970.
    pub(super) time_ms: i64,
    pub(super) lines: Vec<NewLine>,
    pub(super) expected: ExpectedEntries,
    /// Each edited entry with the id of its edit.
    pub(super) edits: Vec<(EntryIx, String)>,
    pub(super) remaps: Vec<Remap>,
    pub(super) warnings: Vec<String>,
    /// The id of our own record.
    pub(super) record_id: String,
}

impl<'a> CommitDraft<'a> {
    /// Draws the ids for the copies of `part`, the path from the first change on; empty if nothing changes.
    pub(super) fn new(
        request: &'a CommitRequest<'a>,
        checked: &WritableSession,
        part: &[EntryIx],
        changes: &'a BTreeMap<EntryIx, &'a Value>,
        new_ids: &mut dyn IdSource,
    ) -> Self {
        let index = request.transcript.index;
        let copies = CopyPlan::new(&request.transcript, part, new_ids);
        let before = checked.path.len() - part.len();
        let parent = before.checked_sub(1).map(|at| checked.path[at]);
        Self {
            request,
            copies,
            changes,
            leaf: checked.leaf,
            time_ms: line_time(index, parent, request.now_ms),
            lines: Vec::new(),
            expected: ExpectedEntries::default(),
            edits: Vec::new(),
            remaps: Vec::new(),
            warnings: Vec::new(),
            record_id: String::new(),
        }
    }

    /// Builds the lines. A compaction that ends the branch stays the last line: if anything follows it, the runtime
    /// makes another one that keeps nothing (compaction 2.12, 3.1).
    pub(super) fn build_lines(&mut self, new_ids: &mut dyn IdSource) -> Result<(), Refusal> {
        let held_back = self.ending_compaction();
        let count = self.copies.entries.len() - usize::from(held_back.is_some());
        for at in 0..count {
            self.copy_entry(at)?;
        }
        self.append_labels(new_ids);
        self.append_edits(new_ids)?;
        self.append_record(new_ids);
        if let Some(at) = held_back {
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

    pub(super) fn index(&self) -> &'a Index {
        self.request.transcript.index
    }

    pub(super) fn time(&self) -> String {
        js::iso_text(self.time_ms)
    }

    /// Returns the parent of the next line.
    pub(super) fn last_id(&self) -> String {
        self.lines.last().map_or_else(|| self.index().display_id(self.leaf), |line| line.id.clone())
    }

    fn copy_entry(&mut self, at: usize) -> Result<(), Refusal> {
        let (ix, id) = self.copies.entries[at].clone();
        let message = self.changes.get(&ix).copied();
        let parent = self.lines.last().map(|line| line.id.as_str());
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
        let (parent, changed) = (self.last_id(), self.changed_ids());
        let text = commit_line(&id, &parent, &self.time(), &leaf, &changed, &self.request.provenance);
        self.record_id.clone_from(&id);
        self.lines.push(NewLine { id, copy_of: None, text });
    }

    pub(super) fn changed_ids(&self) -> Vec<(String, String)> {
        if self.request.method == CommitMethod::Edits {
            return self.edits.iter().map(|(ix, id)| (self.index().display_id(*ix), id.clone())).collect();
        }
        let changed = self.copies.entries.iter().filter(|(ix, _)| self.changes.contains_key(ix));
        changed.map(|(ix, id)| (self.index().display_id(*ix), id.clone())).collect()
    }
}

/// Returns the time of the new lines: now, or the parent's time if that is later because of a wrong clock (store P2).
fn line_time(index: &Index, parent: Option<EntryIx>, now_ms: i64) -> i64 {
    let parent = parent.map(|ix| index.entry(ix).time_ms).filter(|time| time.is_finite());
    parent.map_or(now_ms, |time| now_ms.max(time as i64))
}
