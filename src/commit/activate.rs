//! Makes a branch active with one entry after its leaf: the last line decides the active branch (store K1). Nothing is
//! removed, so that it can be undone.
//!
//! If that leaf is a compaction, our entry takes its place and a copy of it follows: after a compaction the runtime
//! would make another one that keeps nothing (compaction 2.12, 3.1).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::commit::check::{WritableSession, check_transcript, check_unique_ids, has_string_id};
use crate::commit::compaction::CommitDraft;
use crate::commit::copy::{CopyPlan, CopySpec, copy, id_value, label_line};
use crate::commit::expected::{ExpectedMessage, NewLine};
use crate::commit::prepare::PreparedCommit;
use crate::commit::receipt::{self, Receipt, ReceiptKind, commit_line, undo_line};
use crate::commit::refusal::{Refusal, unreadable_body};
use crate::commit::request::{BranchRequest, CommitMethod, TranscriptInput, UndoRequest, UndoTarget};
use crate::context::bodies::entry_message;
use crate::context::{ContentSource, Context, ContextMessage, build_context};
use crate::format::quantity;
use crate::ids::{EntryIx, IdSource};
use crate::js::{self, Value};
use crate::store::entry::EntryKind;
use crate::store::index::Index;
use crate::store::intern::IdIx;
use crate::transcript::Leaf;
use crate::units::Moment;

/// Prepares a commit that makes the branch of an entry active, or returns the reason that it is impossible. Only reads.
pub fn prepare_branch(
    request: &BranchRequest<'_>,
    new_ids: &mut dyn IdSource,
) -> Result<PreparedCommit, Refusal> {
    let TranscriptInput { index, tree, .. } = request.transcript;
    let path = || index.path.to_path_buf();
    let checked = check_transcript(&request.transcript, request.now_ms)?;
    if request.leaf == checked.leaf {
        return Err(Refusal::NothingToWrite { path: path() });
    }
    if !has_string_id(index, request.leaf) || !tree.contains(index, request.leaf) {
        return Err(Refusal::NoLeaf { path: path() });
    }
    let from = id_value(index, checked.leaf);
    let activation =
        Activation { transcript: request.transcript, target: request.leaf, now_ms: request.now_ms };
    let warnings = left_behind(&activation, &checked)
        .into_iter()
        .chain(checked.live_warning(&request.transcript, request.now_ms));
    let warnings = warnings.collect();
    let record =
        |id: &str, parent: &Value, time: &str| commit_line(id, parent, time, &from, &[], &request.provenance);
    let prepared = activation.prepare(checked, &record, new_ids)?;
    Ok(PreparedCommit { kind: ReceiptKind::Commit, method: CommitMethod::Switch, warnings, ..prepared })
}

/// Describes the messages that leave the context.
fn left_behind(activation: &Activation<'_>, checked: &WritableSession) -> Option<String> {
    let TranscriptInput { index, tree, .. } = activation.transcript;
    let kept: HashSet<EntryIx> = tree.path_to(index, activation.target).into_iter().collect();
    let left =
        checked.path.iter().filter(|ix| !kept.contains(ix) && index.entry(**ix).becomes_message()).count();
    (left > 0).then(|| format!("{} of the present branch will leave the context.", quantity(left, "message")))
}

/// A branch to make active, and the entry that it ends with.
pub(super) struct Activation<'a> {
    pub(super) transcript: TranscriptInput<'a>,
    /// The leaf that becomes active.
    pub(super) target: EntryIx,
    /// Time of writing.
    pub(super) now_ms: Moment,
}

/// Builds the line of our record from its id, its parent and its time.
type RecordLine<'a> = &'a dyn Fn(&str, &Value, &str) -> String;

impl Activation<'_> {
    /// Prepares the lines as an undo; `record` builds the line of our own record.
    pub(super) fn prepare(
        &self,
        checked: WritableSession,
        record: RecordLine<'_>,
        new_ids: &mut dyn IdSource,
    ) -> Result<PreparedCommit, Refusal> {
        let TranscriptInput { index, tree, .. } = self.transcript;
        check_unique_ids(index, &index.path, &tree.path_to(index, self.target))?;
        let context = build_context(index, tree, &Leaf::Id(index.display_id(self.target)));
        let context = context.map_err(|_| Refusal::NoContext { path: index.path.to_path_buf() })?;
        let mut lines = ActivationLines::default();
        let record_id = lines.build(self, record, new_ids)?;
        Ok(PreparedCommit {
            path: Arc::clone(&index.path),
            kind: ReceiptKind::Undo,
            method: CommitMethod::Branch,
            from_leaf: index.display_id(checked.leaf),
            leaf: lines.lines.last().map_or_else(String::new, |line| line.id.clone()),
            record_id,
            parent: self.parent().map(|parent| index.ids.text(parent).to_owned()),
            changed: Vec::new(),
            remaps: Vec::new(),
            warnings: Vec::new(),
            messages: self.messages(&context, lines.summary.as_ref()),
            lines: lines.lines,
            index_before: index.clone(),
            snapshot: checked.snapshot,
        })
    }

    /// Returns the context that the branch must give; `summary` is the copy of the compaction that ends it.
    fn messages(&self, context: &Context, summary: Option<&Value>) -> Vec<ExpectedMessage> {
        let message = |message: &ContextMessage| match summary {
            Some(copy) if message.entry == self.target => {
                let reported = match message.content_source {
                    ContentSource::Checkpoint => copy.get("systemMessage").cloned().unwrap_or(Value::Null),
                    ContentSource::Own | ContentSource::Edited(_) => {
                        entry_message(copy, EntryKind::Compaction)
                    }
                };
                ExpectedMessage::Appended(js::stringify(&reported))
            }
            _ => ExpectedMessage::Shared(message.entry, message.content_source),
        };
        context.messages.iter().map(message).collect()
    }

    fn ends_in_compaction(&self) -> bool {
        self.transcript.index.entry(self.target).kind == EntryKind::Compaction
    }

    /// Returns the parent of our record.
    fn parent(&self) -> Option<IdIx> {
        let target = self.transcript.index.entry(self.target);
        if self.ends_in_compaction() { target.parent } else { target.id }
    }

    /// Returns the time of the new lines, never before that of their parent (store P2).
    fn time(&self) -> String {
        let time = self.transcript.index.entry(self.target).time_ms;
        js::iso_text(if time.is_finite() { self.now_ms.max(time.to_whole()) } else { self.now_ms })
    }
}

/// The lines of an activation under construction.
#[derive(Default)]
struct ActivationLines {
    lines: Vec<NewLine>,
    /// The expected value of the copied compaction that ends the branch.
    summary: Option<Value>,
}

impl ActivationLines {
    /// Builds the lines and returns the id of our record.
    fn build(
        &mut self,
        of: &Activation<'_>,
        record: RecordLine<'_>,
        new_ids: &mut dyn IdSource,
    ) -> Result<String, Refusal> {
        let index = of.transcript.index;
        let time = of.time();
        let part = [of.target];
        let part = if of.ends_in_compaction() { &part[..] } else { &[] };
        let mut copies = CopyPlan::new(&of.transcript, part, &[], new_ids);
        let id = copies.draw_id(index, new_ids);
        let parent = of.parent().map_or(Value::Null, |id| index.ids.value(id));
        self.lines.push(NewLine { id: id.clone(), copy_of: None, text: record(&id, &parent, &time) });
        if let Some((ix, copy_id)) = copies.entries.first().cloned() {
            self.append_label(of, &mut copies, &copy_id, new_ids);
            let parent = self.lines.last().map(|line| Value::from(line.id.as_str()));
            // The copy keeps its time, so that messages older than the summary stay older (compaction 2.11, 2.13).
            let spec = CopySpec { ix, id: &copy_id, parent, time: None, message: None };
            let copied = copy(&of.transcript, &copies, &spec)?;
            self.summary = Some(copied.value);
            self.lines.push(NewLine { id: copy_id, copy_of: Some(ix), text: copied.text });
        }
        Ok(id)
    }

    /// Gives the copy the label of its original (store P4).
    fn append_label(
        &mut self,
        of: &Activation<'_>,
        copies: &mut CopyPlan,
        copy: &str,
        new_ids: &mut dyn IdSource,
    ) {
        let index = of.transcript.index;
        let in_force = Labels::from_index(index);
        let Some(label) = index.entry(of.target).id.and_then(|id| in_force.get(id)) else { return };
        let id = copies.draw_id(index, new_ids);
        let parent = self.lines.last().map_or("", |line| line.id.as_str());
        let text = label_line(&id, parent, &of.time(), &Value::from(copy), Some(label));
        self.lines.push(NewLine { id, copy_of: None, text });
    }
}

// Labels apply to the whole file, and the last line counts (store K8). After a branch is copied, each copy must have
// the label of its original, and every other entry its old label (store P4).

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
    let from = id_value(index, checked.leaf);
    let warnings = warnings(request, &checked, undone.entry);
    let record =
        |id: &str, parent: &Value, time: &str| undo_line(id, parent, time, &from, &undone.id, &request.tool);
    let activation = Activation { transcript: request.transcript, target, now_ms: request.now_ms };
    let prepared = activation.prepare(checked, &record, new_ids)?;
    Ok(PreparedCommit { warnings, ..prepared })
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

fn warnings(request: &UndoRequest<'_>, checked: &WritableSession, record: EntryIx) -> Vec<String> {
    let UndoRequest { transcript, now_ms, .. } = request;
    let index = transcript.index;
    let since = checked.path.iter().skip_while(|ix| **ix != record).skip(1);
    let messages = since.filter(|ix| index.entry(**ix).becomes_message()).count();
    let left = format!(
        "{} written since then will stay on the old branch and leave the context.",
        quantity(messages, "message")
    );
    (messages > 0).then_some(left).into_iter().chain(checked.live_warning(transcript, *now_ms)).collect()
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
