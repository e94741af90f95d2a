//! Makes an earlier branch active again with one entry after the leaf that a commit left: the last line decides the
//! active branch (store K1). Nothing is removed, so that an undo can be undone too.
//!
//! If that leaf is a compaction, our entry takes its place and a copy of it follows: after a compaction the runtime
//! would make another one that keeps nothing (compaction 2.12, 3.1).

use std::sync::Arc;

use crate::commit::check::{WritableSession, check_transcript, check_unique_ids};
use crate::commit::copy::{CopyPlan, CopySpec, copy, label_line};
use crate::commit::expected::ExpectedMessage;
use crate::commit::labels::Labels;
use crate::commit::new_line::NewLine;
use crate::commit::prepare::PreparedCommit;
use crate::commit::receipt::{self, Receipt, ReceiptKind, undo_line};
use crate::commit::refusal::{Refusal, unreadable_body};
use crate::commit::request::{CommitMethod, TranscriptInput, UndoRequest, UndoTarget};
use crate::context::bodies::entry_message;
use crate::context::{ContentSource, ContextMessage, build_context};
use crate::format::quantity;
use crate::ids::{EntryIx, IdSource};
use crate::js::{self, Value};
use crate::store::entry::EntryKind;
use crate::store::index::Index;
use crate::store::intern::IdIx;
use crate::transcript::Leaf;
use crate::units::Moment;

/// Prepares an undo, or returns the reason that it is impossible. Only reads.
pub fn prepare_undo(
    request: &UndoRequest<'_>,
    new_ids: &mut dyn IdSource,
) -> Result<PreparedCommit, Refusal> {
    let (index, tree) = (request.transcript.index, request.transcript.tree);
    let checked = check_transcript(&request.transcript, request.now_ms)?;
    let undone = find_target(request, &checked)?;
    let gone = || Refusal::LeafGone {
        path: index.path.to_path_buf(),
        entry: undone.from_leaf.clone(),
        commit: undone.id.clone(),
    };
    let target = tree.find_by_text(index, &undone.from_leaf).filter(|_| !undone.from_leaf.is_empty());
    let target = target.ok_or_else(gone)?;
    check_unique_ids(index, &index.path, &tree.path_to(index, target))?;
    let context = build_context(index, tree, &Leaf::Id(undone.from_leaf.clone()));
    let context = context.map_err(|_| Refusal::NoContext { path: index.path.to_path_buf() })?;
    let mut active = UndoDraft { request, target, lines: Vec::new(), summary: None };
    let record = active.build_lines(&id_value(index, checked.leaf), &undone.id, new_ids)?;
    let message = |message: &ContextMessage| match &active.summary {
        Some(copy) if message.entry == target => {
            let reported = match message.content_source {
                ContentSource::Checkpoint => copy.get("systemMessage").cloned().unwrap_or(Value::Null),
                ContentSource::Own | ContentSource::Edited(_) => entry_message(copy, EntryKind::Compaction),
            };
            ExpectedMessage::Appended(js::stringify(&reported))
        }
        _ => ExpectedMessage::Shared(message.entry, message.content_source),
    };
    Ok(PreparedCommit {
        path: Arc::clone(&index.path),
        kind: ReceiptKind::Undo,
        method: CommitMethod::Branch,
        from_leaf: index.display_id(checked.leaf),
        leaf: active.lines.last().map_or_else(String::new, |line| line.id.clone()),
        record_id: record,
        parent: active.parent().map(|parent| index.ids.text(parent).to_owned()),
        changed: Vec::new(),
        remaps: Vec::new(),
        warnings: warnings(index, &checked, undone.entry, request.now_ms),
        messages: context.messages.iter().map(message).collect(),
        lines: active.lines,
        index_before: index.clone(),
        snapshot: checked.snapshot,
    })
}

struct UndoDraft<'a> {
    request: &'a UndoRequest<'a>,
    /// The leaf that becomes active again.
    target: EntryIx,
    lines: Vec<NewLine>,
    /// The expected value of the copied compaction that ends the branch.
    summary: Option<Value>,
}

impl UndoDraft<'_> {
    fn ends_in_compaction(&self) -> bool {
        self.request.transcript.index.entry(self.target).kind == EntryKind::Compaction
    }

    /// Returns the parent of our record.
    fn parent(&self) -> Option<IdIx> {
        let target = self.request.transcript.index.entry(self.target);
        if self.ends_in_compaction() { target.parent } else { target.id }
    }

    /// Builds the lines and returns the id of our record.
    fn build_lines(
        &mut self,
        from: &Value,
        undoes: &str,
        new_ids: &mut dyn IdSource,
    ) -> Result<String, Refusal> {
        let TranscriptInput { index, .. } = self.request.transcript;
        let time = index.entry(self.target).time_ms;
        let now_ms = self.request.now_ms;
        let time = js::iso_text(if time.is_finite() { now_ms.max(time.to_whole()) } else { now_ms });
        let part = [self.target];
        let part = if self.ends_in_compaction() { &part[..] } else { &[] };
        let mut copies = CopyPlan::new(&self.request.transcript, part, new_ids);
        let record = copies.draw_id(index, new_ids);
        let parent = self.parent().map_or(Value::Null, |id| index.ids.value(id));
        let text = undo_line(&record, &parent, &time, from, undoes, &self.request.tool);
        self.lines.push(NewLine { id: record.clone(), copy_of: None, text });
        if let Some((ix, id)) = copies.entries.first().cloned() {
            self.append_label(&mut copies, &id, &time, new_ids);
            let parent = self.lines.last().map(|line| line.id.as_str());
            // The copy keeps its time, so that messages older than the summary stay older (compaction 2.11, 2.13).
            let of = CopySpec { ix, id: &id, parent, time: None, message: None };
            let copied = copy(&self.request.transcript, &copies, &of)?;
            self.summary = Some(copied.value);
            self.lines.push(NewLine { id, copy_of: Some(ix), text: copied.text });
        }
        Ok(record)
    }

    /// Gives the copy the label of its original (store P4).
    fn append_label(&mut self, copies: &mut CopyPlan, copy: &str, time: &str, new_ids: &mut dyn IdSource) {
        let index = self.request.transcript.index;
        let in_force = Labels::from_index(index);
        let Some(label) = index.entry(self.target).id.and_then(|id| in_force.get(id)) else { return };
        let id = copies.draw_id(index, new_ids);
        let parent = self.lines.last().map_or("", |line| line.id.as_str());
        let text = label_line(&id, parent, time, &Value::from(copy), Some(label));
        self.lines.push(NewLine { id, copy_of: None, text });
    }
}

fn id_value(index: &Index, ix: EntryIx) -> Value {
    index.entry(ix).id.map_or(Value::Null, |id| index.ids.value(id))
}

/// Returns the record to undo. An undo of an undo is a redo, which is not redone again.
fn find_target(request: &UndoRequest<'_>, checked: &WritableSession) -> Result<Receipt, Refusal> {
    let TranscriptInput { index, source, .. } = request.transcript;
    let unreadable = |error| unreadable_body(&index.path, error);
    let (kind, what) = match &request.target {
        UndoTarget::Entry(id) => return find_record(request, checked, id),
        UndoTarget::LastCommit => (ReceiptKind::Commit, "commit"),
        UndoTarget::LastUndo => (ReceiptKind::Undo, "undo"),
    };
    for ix in checked.path.iter().rev() {
        let record = receipt::read_receipt(index, source, *ix).map_err(unreadable)?;
        let wanted =
            |record: &Receipt| record.kind == kind && !(kind == ReceiptKind::Undo && is_redo(index, record));
        if let Some(record) = record.filter(wanted) {
            return Ok(record);
        }
    }
    Err(Refusal::NothingToUndo { path: index.path.to_path_buf(), what: what.to_owned() })
}

/// Returns the record with an id if the active branch descends from it. A later commit may have copied it.
fn find_record(request: &UndoRequest<'_>, checked: &WritableSession, id: &str) -> Result<Receipt, Refusal> {
    let TranscriptInput { index, source, .. } = request.transcript;
    let unreadable = |error| unreadable_body(&index.path, error);
    let records = receipt::receipts(index, source).map_err(unreadable)?;
    let none = || Refusal::NothingToUndo {
        path: index.path.to_path_buf(),
        what: format!("commit or undo with the id {id}"),
    };
    let record = records.into_iter().find(|record| record.id == id).ok_or_else(none)?;
    for ix in checked.path.iter().rev() {
        if receipt::record_id_at(index, source, *ix).map_err(unreadable)?.as_deref() == Some(id) {
            return Ok(Receipt { entry: *ix, ..record });
        }
    }
    Err(Refusal::NotActive { path: index.path.to_path_buf(), commit: id.to_owned() })
}

fn is_redo(index: &Index, record: &Receipt) -> bool {
    let undone = record.undoes.as_deref().and_then(|id| index.ids.find(id));
    let entry = undone.and_then(|id| index.iter().find(|(_, entry)| entry.id == Some(id)));
    entry.is_some_and(|(ix, _)| receipt::receipt_kind(index, ix) == Some(ReceiptKind::Undo))
}

fn warnings(index: &Index, checked: &WritableSession, record: EntryIx, now_ms: Moment) -> Vec<String> {
    let since = checked.path.iter().skip_while(|ix| **ix != record).skip(1);
    let messages = since.filter(|ix| index.entry(**ix).becomes_message()).count();
    let left = format!(
        "{} written since then will stay on the old branch and leave the context.",
        quantity(messages, "message")
    );
    let live =
        checked.snapshot.as_ref().and_then(|snapshot| snapshot.live_writer_warning(now_ms, index.pi_release));
    (messages > 0).then_some(left).into_iter().chain(live).collect()
}
