//! A commit under construction: its new lines, the ids of the copies, and the entries expected when the lines are read.

use std::collections::BTreeMap;

use crate::commit::check::WritableSession;
use crate::commit::copy::{CopyPlan, Remap};
use crate::commit::encode::id_value;
use crate::commit::expected::ExpectedEntries;
use crate::commit::new_line::NewLine;
use crate::commit::request::{CommitMethod, CommitRequest};
use crate::ids::{EntryIx, IdSource};
use crate::js::{self, Value};
use crate::store::index::Index;
use crate::units::Moment;

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
