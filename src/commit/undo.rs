//! Undoes a commit or an undo: makes the branch active that it left.

use crate::commit::activate::Activation;
use crate::commit::check::{WritableSession, check_transcript};
use crate::commit::encode::id_value;
use crate::commit::prepare::PreparedCommit;
use crate::commit::receipt::{self, Receipt, ReceiptKind, undo_line};
use crate::commit::refusal::{Refusal, unreadable_body};
use crate::commit::request::{TranscriptInput, UndoRequest, UndoTarget};
use crate::format::quantity;
use crate::ids::{EntryIx, IdSource};
use crate::js::Value;
use crate::store::index::Index;

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
