//! Writes a plan in the runtime's own form: one `context_edit` for each message that changes or leaves, on the active
//! branch (store-pi-1.5 K4, K10). The old entries keep their ids; an undo continues from before the edits.

use crate::commit::draft::CommitDraft;
use crate::commit::encode::{encode_line, text_json};
use crate::commit::new_line::NewLine;
use crate::commit::refusal::Refusal;
use crate::commit::request::{CommitMethod, CommitRequest};
use crate::ids::{EntryIx, IdSource};
use crate::js::{self, JsException, Object, Value};
use crate::store::entry::{EntryKind, Role};
use crate::store::index::Index;

impl CommitDraft<'_> {
    /// Appends the edits, in path order.
    pub(super) fn append_edits(&mut self, new_ids: &mut dyn IdSource) -> Result<(), Refusal> {
        if self.request.method == CommitMethod::Branch {
            return Ok(());
        }
        let omitted = self.request.omitted.iter().map(|ix| (*ix, Value::Null));
        let changed = self.changes.iter().map(|(ix, message)| {
            let content = message.get("content").cloned().unwrap_or(Value::Null);
            (*ix, Value::Object(Object::from([("content", content)])))
        });
        let mut edits: Vec<(EntryIx, Value)> = omitted.chain(changed).collect();
        edits.sort_by_key(|(ix, _)| *ix);
        edits.dedup_by_key(|(ix, _)| *ix);
        for (ix, replacement) in edits {
            self.append_edit(ix, &replacement, new_ids)?;
        }
        Ok(())
    }

    fn append_edit(
        &mut self,
        ix: EntryIx,
        replacement: &Value,
        new_ids: &mut dyn IdSource,
    ) -> Result<(), Refusal> {
        let index = self.index();
        let refused = || Refusal::NotEditable { path: index.path.to_path_buf(), entry: index.display_id(ix) };
        let replacement = stored_replacement(index.entry(ix).role(), replacement).map_err(|_| refused())?;
        let id = self.copies.draw_id(index, new_ids);
        let text = encode_line(&[
            ("type", Some(text_json("context_edit"))),
            ("id", Some(text_json(&id))),
            ("parentId", Some(text_json(&self.last_id()))),
            ("timestamp", Some(text_json(&self.time()))),
            ("targetId", Some(text_json(&index.display_id(ix)))),
            ("replacement", Some(js::stringify(&replacement))),
        ]);
        self.expected.edited.insert(ix, replacement);
        self.edits.push((ix, id.clone()));
        self.lines.push(NewLine { id, copy_of: None, text });
        Ok(())
    }

    /// Adds a warning about the cost of edits (store-pi-1.5 E5, K10).
    pub(super) fn warn_about_edits(&mut self) {
        if !self.edits.is_empty() {
            self.warnings.push(
                "Until the next answer pi estimates the context from its chars: an edit makes the last token \
                 count obsolete."
                    .to_owned(),
            );
        }
    }
}

/// Checks that the runtime itself edits every message that changes or leaves.
pub(super) fn check_editable(
    index: &Index,
    request: &CommitRequest<'_>,
    changing: impl Iterator<Item = EntryIx>,
) -> Result<(), Refusal> {
    let path = || index.path.to_path_buf();
    let is_branch = request.method == CommitMethod::Branch;
    let mut all = request.omitted.iter().copied().chain(changing.filter(|_| !is_branch));
    match all.find(|ix| !is_editable(index, *ix) || index.entry(*ix).id.is_none()) {
        None => Ok(()),
        Some(ix) => Err(Refusal::NotEditable { path: path(), entry: index.display_id(ix) }),
    }
}

/// Whether pi itself edits an entry: a message of an extension, a user, the model or a tool (store-pi-1.5 K4).
pub fn is_editable(index: &Index, ix: EntryIx) -> bool {
    let entry = index.entry(ix);
    match entry.kind {
        EntryKind::CustomMessage => true,
        EntryKind::Message => matches!(entry.role(), Some(Role::User | Role::Assistant | Role::ToolResult)),
        _ => false,
    }
}

/// Returns a replacement in its stored form: null, or an object with a content. A text for the model's or a tool's
/// message becomes a single text block (store-pi-1.5 K4).
pub fn stored_replacement(role: Option<Role>, replacement: &Value) -> Result<Value, JsException> {
    if replacement.is_null() {
        return Ok(Value::Null);
    }
    let content = replacement.as_object().and_then(|object| object.get("content")).ok_or(JsException)?;
    match content {
        Value::String(text) if matches!(role, Some(Role::Assistant | Role::ToolResult)) => {
            let block = [("type", Value::from("text")), ("text", Value::String(text.clone()))];
            let blocks = Value::Array(vec![Value::Object(Object::from(block))]);
            Ok(Value::Object(Object::from([("content", blocks)])))
        }
        Value::String(_) | Value::Array(_) => Ok(replacement.clone()),
        _ => Err(JsException),
    }
}
