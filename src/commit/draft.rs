//! The new lines while they are put together: the copied path, labels, our own record, the compaction that ends the
//! branch; and the checks on the whole before anything is written (store P2–P6).

use std::collections::BTreeMap;

use crate::commit::check::Checked;
use crate::commit::compaction;
use crate::commit::copy::{Copies, CopyOf, Remap, copy};
use crate::commit::planned::Becoming;
use crate::commit::prepare::NewLine;
use crate::commit::receipt::commit_line;
use crate::commit::refusal::Refusal;
use crate::commit::request::{CommitRequest, Way};
use crate::ids::{EntryIx, NewIds};
use crate::js::{self, Value};
use crate::store::entry::EntryKind;
use crate::store::index::Index;

/// Lines while they are put together.
pub(super) struct Draft<'a> {
    pub(super) request: &'a CommitRequest<'a>,
    pub(super) copies: Copies,
    /// Messages that change, by entry.
    pub(super) changing: &'a BTreeMap<EntryIx, &'a Value>,
    /// The leaf that is left: the parent of the first line when nothing is copied.
    leaf: EntryIx,
    /// Outer time of every new line, ms since 1970.
    pub(super) time_ms: i64,
    pub(super) lines: Vec<NewLine>,
    /// What becomes of the entries of the context.
    pub(super) becoming: Becoming,
    /// Each edited entry with the id of its edit.
    pub(super) edits: Vec<(EntryIx, String)>,
    pub(super) remaps: Vec<Remap>,
    pub(super) warnings: Vec<String>,
    /// The id of our own record.
    pub(super) record: String,
}

impl<'a> Draft<'a> {
    /// Draws the ids of the copies of `part`, the path from the first change on; empty when nothing changes.
    pub(super) fn new(
        request: &'a CommitRequest<'a>,
        checked: &Checked,
        part: &[EntryIx],
        changing: &'a BTreeMap<EntryIx, &'a Value>,
        new_ids: &mut dyn NewIds,
    ) -> Self {
        let index = request.transcript.index;
        let copies = Copies::plan(&request.transcript, part, new_ids);
        let before = checked.path.len() - part.len();
        let parent = before.checked_sub(1).map(|at| checked.path[at]);
        Self {
            request,
            copies,
            changing,
            leaf: checked.leaf,
            time_ms: not_before(index, parent, request.now_ms),
            lines: Vec::new(),
            becoming: Becoming::default(),
            edits: Vec::new(),
            remaps: Vec::new(),
            warnings: Vec::new(),
            record: String::new(),
        }
    }

    /// Puts the lines together. A compaction that ends the branch stays its last line: the runtime makes another one,
    /// which keeps nothing, as soon as anything stands behind it (compaction 2.12, 3.1).
    pub(super) fn fill(&mut self, new_ids: &mut dyn NewIds) -> Result<(), Refusal> {
        let held_back = self.ending();
        let count = self.copies.entries.len() - usize::from(held_back.is_some());
        for at in 0..count {
            self.copy(at)?;
        }
        self.keep_labels(new_ids);
        self.edit_all(new_ids)?;
        self.record(new_ids);
        if let Some(at) = held_back {
            self.copy(at)?;
        }
        if let Some(planned) = &self.request.compaction {
            compaction::append(self, planned, new_ids);
        }
        Ok(())
    }

    /// The copy of a compaction that ends the path, unless a new one follows.
    fn ending(&self) -> Option<usize> {
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

    /// The id that the next line hangs from.
    pub(super) fn last_id(&self) -> String {
        self.lines.last().map_or_else(|| self.index().name(self.leaf), |line| line.id.clone())
    }

    fn copy(&mut self, at: usize) -> Result<(), Refusal> {
        let (ix, id) = self.copies.entries[at].clone();
        let message = self.changing.get(&ix).copied();
        let parent = self.lines.last().map(|line| line.id.as_str());
        let time = self.time();
        let of = CopyOf { ix, id: &id, parent, time: Some(&time), message };
        let copied = copy(&self.request.transcript, &self.copies, &of)?;
        self.remaps.extend(copied.remap);
        self.becoming.copied.insert(ix, copied.value);
        self.lines.push(NewLine { id, copy_of: Some(ix), text: copied.text });
        Ok(())
    }

    /// Our own record, so that the branch never ends in a user message (store M6).
    fn record(&mut self, new_ids: &mut dyn NewIds) {
        let index = self.index();
        let id = self.copies.draw(index, new_ids);
        let leaf = index.entry(self.leaf).id.map_or(Value::Null, |id| index.ids.value(id));
        let (parent, changed) = (self.last_id(), self.changed_names());
        let text = commit_line(&id, &parent, &self.time(), &leaf, &changed, &self.request.provenance);
        self.record.clone_from(&id);
        self.lines.push(NewLine { id, copy_of: None, text });
    }

    pub(super) fn changed_names(&self) -> Vec<(String, String)> {
        if self.request.way == Way::Edits {
            return self.edits.iter().map(|(ix, id)| (self.index().name(*ix), id.clone())).collect();
        }
        let changed = self.copies.entries.iter().filter(|(ix, _)| self.changing.contains_key(ix));
        changed.map(|(ix, id)| (self.index().name(*ix), id.clone())).collect()
    }
}

/// The time of the new lines: now, or the parent's when a clock was ahead (store P2).
fn not_before(index: &Index, parent: Option<EntryIx>, now_ms: i64) -> i64 {
    let parent = parent.map(|ix| index.entry(ix).time).filter(|time| time.is_finite());
    parent.map_or(now_ms, |time| now_ms.max(time as i64))
}
