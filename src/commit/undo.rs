//! An earlier branch made active again: one entry that hangs from the leaf which a commit left, and
//! being last makes that branch the active one (store K1). Nothing is removed, so it can be undone too.

use std::sync::Arc;

use crate::commit::check::{Checked, check, unique_ids};
use crate::commit::planned::PlannedMessage;
use crate::commit::prepare::{NewLine, Prepared};
use crate::commit::receipt::{self, Receipt, ReceiptKind, undo_line};
use crate::commit::refusal::{Refusal, unreadable_body};
use crate::commit::request::{UndoRequest, UndoTarget};
use crate::context::build;
use crate::ids::{EntryIx, NewIds};
use crate::js::{self, Value};
use crate::store::index::Index;
use crate::transcript::Leaf;

/// Says what an undo would append, or why it cannot be done. Reads, and writes nothing.
pub fn prepare_undo(request: &UndoRequest<'_>, new_ids: &mut dyn NewIds) -> Result<Prepared, Refusal> {
    let (index, tree) = (request.transcript.index, request.transcript.tree);
    let checked = check(&request.transcript)?;
    let undone = undone(request, &checked)?;
    let gone = || Refusal::LeafGone {
        path: index.path.to_path_buf(),
        entry: undone.from_leaf.clone(),
        commit: undone.id.clone(),
    };
    let target = tree.find_text(index, &undone.from_leaf).filter(|_| !undone.from_leaf.is_empty());
    let target = target.ok_or_else(gone)?;
    unique_ids(index, &index.path, &tree.walk(target))?;
    let context = build(index, tree, &Leaf::Id(undone.from_leaf.clone()));
    let context = context.map_err(|_| Refusal::NoContext { path: index.path.to_path_buf() })?;
    let time = index.entry(target).time;
    let time = if time.is_finite() { request.now_ms.max(time as i64) } else { request.now_ms };
    let id = new_ids.next_id(index.lines + 1, &|id| index.ids.find(id).is_some());
    let text = undo_line(
        &id,
        &id_value(index, target),
        &js::iso_text(time),
        &id_value(index, checked.leaf),
        &undone.id,
        &request.tool,
    );
    Ok(Prepared {
        path: Arc::clone(&index.path),
        kind: ReceiptKind::Undo,
        lines: vec![NewLine { id: id.clone(), copy_of: None, text }],
        from_leaf: index.name(checked.leaf),
        leaf: id.clone(),
        record: id,
        parent: Some(undone.from_leaf.clone()),
        changed: Vec::new(),
        remaps: Vec::new(),
        warnings: warnings(index, &checked, undone.entry, request.now_ms),
        messages: context.messages.iter().map(|message| PlannedMessage::Shared(message.entry)).collect(),
        before: index.clone(),
        snapshot: checked.snapshot,
    })
}

fn id_value(index: &Index, ix: EntryIx) -> Value {
    index.entry(ix).id.map_or(Value::Null, |id| index.ids.value(id))
}

/// The record that is taken back. An undo of an undo is a redo, which is not redone once more.
fn undone(request: &UndoRequest<'_>, checked: &Checked) -> Result<Receipt, Refusal> {
    let transcript = &request.transcript;
    let index = transcript.index;
    let read = |ix: EntryIx| receipt::read(index, transcript.source, ix);
    let mut found = None;
    for ix in checked.path.iter().rev() {
        let record = read(*ix).map_err(|error| unreadable_body(&index.path, error))?;
        found = record.filter(|record| is_wanted(index, record, &request.target));
        if found.is_some() {
            break;
        }
    }
    let what = || match &request.target {
        UndoTarget::LastCommit => "commit".to_owned(),
        UndoTarget::LastUndo => "undo".to_owned(),
        UndoTarget::Entry(id) => format!("commit or undo with the id {id}"),
    };
    found.ok_or_else(|| Refusal::NothingToUndo { path: index.path.to_path_buf(), what: what() })
}

fn is_wanted(index: &Index, record: &Receipt, target: &UndoTarget) -> bool {
    match target {
        UndoTarget::LastCommit => record.kind == ReceiptKind::Commit,
        UndoTarget::LastUndo => record.kind == ReceiptKind::Undo && !is_redo(index, record),
        UndoTarget::Entry(id) => record.id == *id,
    }
}

fn is_redo(index: &Index, record: &Receipt) -> bool {
    let undone = record.undoes.as_deref().and_then(|id| index.ids.find(id));
    let entry = undone.and_then(|id| index.iter().find(|(_, entry)| entry.id == Some(id)));
    entry.is_some_and(|(ix, _)| receipt::receipt_kind(index, ix) == Some(ReceiptKind::Undo))
}

fn warnings(index: &Index, checked: &Checked, record: EntryIx, now_ms: i64) -> Vec<String> {
    let since = checked.path.iter().skip_while(|ix| **ix != record).skip(1);
    let messages = since.filter(|ix| index.entry(**ix).makes_message()).count();
    let left = format!(
        "{messages} messages written since then stay on the branch that is left; they are not in the context any more."
    );
    let live = checked.snapshot.as_ref().and_then(|snapshot| snapshot.live_writer(now_ms));
    (messages > 0).then_some(left).into_iter().chain(live).collect()
}
