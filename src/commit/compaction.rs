//! Writes a planned compaction as the line that ends a branch (compaction 3.21). It names the first kept entry by its
//! id on this branch, so that nothing kept is lost (compaction 4.3).

use std::collections::BTreeMap;

use crate::commit::check::WritableSession;
use crate::commit::copy::{CopyPlan, CopySpec, Remap, copy, id_value};
use crate::commit::expected::{ExpectedEntries, NewLine};
use crate::commit::receipt::commit_line;
use crate::commit::refusal::Refusal;
use crate::commit::request::{CommitMethod, CommitRequest, PlannedCompaction};
use crate::context::build_context;
use crate::context::system::replay_system_messages;
use crate::gateway::ruleset::PiChange;
use crate::ids::{EntryIx, IdSource};
use crate::js::{self, Value};
use crate::policy::compact::CompactionEntry;
use crate::store::entry::EntryKind;
use crate::store::index::Index;
use crate::transcript::Leaf;
use crate::units::Moment;

/// Returns the entry index of a compaction that is not yet in the file.
pub(super) fn next_entry_ix(index: &Index) -> EntryIx {
    EntryIx(index.entries.len() as u32)
}

/// Checks a compaction by itself: it has a summary, and its first kept entry is on the path and has an id.
pub(super) fn check(index: &Index, path: &[EntryIx], planned: &PlannedCompaction) -> Result<(), Refusal> {
    let file = || index.path.to_path_buf();
    if planned.summary.to_string_lossy().trim().is_empty() {
        return Err(Refusal::NoSummary { path: file() });
    }
    let kept = planned.first_kept;
    if !path.contains(&kept) {
        let known = kept.index() < index.entries.len();
        let entry = if known { index.display_id(kept) } else { format!("number {}", kept.0) };
        return Err(Refusal::NotOnPath { path: file(), entry });
    }
    match index.entry(kept).id.map(|id| index.ids.value(id)) {
        Some(id) if js::is_truthy(Some(&id)) => Ok(()),
        _ => Err(Refusal::FirstKeptWithoutId { path: file(), line: index.entry(kept).line }),
    }
}

/// Returns prompt and tools of the compacted context, as a projecting runtime keeps them (store-pi-1.5 K11).
fn checkpoint(draft: &CommitDraft<'_>) -> Option<Value> {
    let index = draft.index();
    if !index.pi_release.has(PiChange::KeepsSystemMessages) {
        return None;
    }
    let context = build_context(index, draft.request.transcript.tree, &Leaf::Own).ok()?;
    let state = replay_system_messages(index, &context.messages).ok()??;
    Some(state.message_at(draft.time_ms))
}

/// Appends the line. Its text comes from the value that it must be read as, as in the runtime.
pub(super) fn append(draft: &mut CommitDraft<'_>, planned: &PlannedCompaction, new_ids: &mut dyn IdSource) {
    let index = draft.index();
    let old = index.entry(planned.first_kept).id;
    let copied = old.and_then(|old| draft.copies.new_first_kept(old)).map(str::to_owned);
    let kept = copied.as_deref().map(Value::from).or_else(|| old.map(|old| index.ids.value(old)));
    let id = draft.copies.draw_id(index, new_ids);
    let entry = CompactionEntry {
        summary: planned.summary.clone(),
        first_kept: planned.first_kept,
        tokens_before: planned.tokens_before,
        details: planned.details.clone(),
        from_hook: Some(planned.from_hook),
        checkpoint: checkpoint(draft),
    };
    let parent = Value::from(draft.last_id());
    let value = entry.to_json_at(&id, parent, kept.unwrap_or(Value::Null), draft.time_ms);
    let text = js::stringify(&value);
    draft.remaps.extend(copied.map(|to| Remap {
        entry: id.clone(),
        key: "firstKeptEntryId",
        from: index.display_id(planned.first_kept),
        to,
    }));
    draft.expected.copied.insert(next_entry_ix(index), value);
    draft.lines.push(NewLine { id, copy_of: None, text });
}

// Builds the new lines in order: the copied path, labels, edits, our own record, and the compaction that ends the branch
// (store P2–P6).

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
            append(self, planned, new_ids);
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

/// The lines of a commit under construction.
pub(super) struct CommitDraft<'a> {
    pub(super) request: &'a CommitRequest<'a>,
    pub(super) copies: CopyPlan,
    /// Changed messages, by entry.
    pub(super) changes: &'a BTreeMap<EntryIx, &'a Value>,
    /// The old leaf: the parent of the first line if nothing is copied.
    pub(super) leaf: EntryIx,
    /// The parent of the first line where the branch begins before the old leaf, because entries are left out.
    pub(super) base: Option<Value>,
    /// Outer time of every new line.
    pub(super) time_ms: Moment,
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
        let is_branch = request.method == CommitMethod::Branch;
        let omitted = if is_branch { request.omitted.as_slice() } else { &[] };
        let copies = CopyPlan::new(&request.transcript, part, omitted, new_ids);
        let before = checked.path.len() - part.len();
        let parent = before.checked_sub(1).map(|at| checked.path[at]);
        Self {
            request,
            copies,
            changes,
            leaf: checked.leaf,
            base: (!omitted.is_empty()).then(|| parent.map_or(Value::Null, |ix| id_value(index, ix))),
            time_ms: line_time(index, parent, request.now_ms),
            lines: Vec::new(),
            expected: ExpectedEntries::without(omitted),
            edits: Vec::new(),
            remaps: Vec::new(),
            warnings: Vec::new(),
            record_id: String::new(),
        }
    }

    pub(super) fn index(&self) -> &'a Index {
        self.request.transcript.index
    }

    pub(super) fn time(&self) -> String {
        js::iso_text(self.time_ms)
    }

    /// Returns the parent of the next line, which may be the start of the file.
    pub(super) fn parent_value(&self) -> Value {
        match (self.lines.last(), &self.base) {
            (None, Some(base)) => base.clone(),
            _ => Value::from(self.last_id()),
        }
    }

    /// Returns the id of the last line, else of the old leaf.
    pub(super) fn last_id(&self) -> String {
        self.lines.last().map_or_else(|| self.index().display_id(self.leaf), |line| line.id.clone())
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
fn line_time(index: &Index, parent: Option<EntryIx>, now_ms: Moment) -> Moment {
    let parent = parent.map(|ix| index.entry(ix).time_ms).filter(|time| time.is_finite());
    parent.map_or(now_ms, |time| now_ms.max(time.to_whole()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::load::load_bytes;
    use crate::units::Millis;

    #[test]
    fn a_new_line_is_never_older_than_its_parent() {
        let text = r#"{"type":"session","version":3,"id":"s"}
{"type":"custom","id":"a","parentId":null,"timestamp":"2026-02-21T05:00:01.000Z"}
"#;
        let index = load_bytes("t.jsonl", text.as_bytes(), &mut crate::ids::LineIds);
        let parent = Some(EntryIx(0));
        let written = index.entry(EntryIx(0)).time_ms;
        assert_eq!(line_time(&index, parent, written + Millis(5.0)), written + Millis(5.0));
        assert_eq!(line_time(&index, parent, written - Millis(5.0)), written, "a wrong clock");
        assert_eq!(line_time(&index, None, Moment(7.0)), Moment(7.0));
    }
}
