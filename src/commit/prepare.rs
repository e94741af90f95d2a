//! Turns changes into the exact lines to append, checked against the plan before anything is written (store P2–P7).

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use crate::commit::check::check_transcript;
use crate::commit::compaction;
use crate::commit::compaction::CommitDraft;
use crate::commit::copy::{Remap, encode_line, text_json};
use crate::commit::expected::{ExpectedMessage, NewLine};
use crate::commit::receipt::ReceiptKind;
use crate::commit::refusal::{Refusal, unreadable_body};
use crate::commit::request::{CommitMethod, CommitRequest};
use crate::commit::snapshot::FileSnapshot;
use crate::context::bodies::{own_message, projected_message};
use crate::context::{ContentSource, Context, build_context};
use crate::ids::{EntryIx, IdSource};
use crate::js;
use crate::js::{JsException, Object, Value};
use crate::store::body;
use crate::store::entry::{EntryKind, ReadMode, Replacement, Role};
use crate::store::index::Index;
use crate::transcript::Leaf;
use crate::units::Bytes;

/// The lines to append, and the context that they give. Nothing has been written.
#[derive(Debug, Clone)]
pub struct PreparedCommit {
    pub path: Arc<Path>,
    pub kind: ReceiptKind,
    /// The form of the changes; `Branch` for an undo.
    pub method: CommitMethod,
    /// The lines, in order. The last one is the new leaf: our own record, or the compaction that ends the branch (store
    /// P6).
    pub lines: Vec<NewLine>,
    /// The old leaf.
    pub from_leaf: String,
    pub leaf: String,
    /// The id of our own record.
    pub record_id: String,
    /// The parent of the first new line: the old leaf if nothing is copied; `None` for a new root.
    pub parent: Option<String>,
    /// Ids of each changed entry and its copy.
    pub changed: Vec<(String, String)>,
    /// References that now name a copy.
    pub remaps: Vec<Remap>,
    /// Warnings to show before the person confirms.
    pub warnings: Vec<String>,
    /// The context that the file will give.
    pub messages: Vec<ExpectedMessage>,
    /// Index of the file before the commit.
    pub(super) index_before: Index,
    /// State of the file at that time; `None` for a transcript in memory.
    pub(super) snapshot: Option<FileSnapshot>,
}

impl PreparedCommit {
    /// Returns the bytes to append: a missing end of the last line, then every line with its end.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.byte_len().to_len());
        bytes.extend(self.index_before.is_unterminated.then_some(b'\n'));
        for line in &self.lines {
            bytes.extend_from_slice(line.text.as_bytes());
            bytes.push(b'\n');
        }
        bytes
    }

    /// Returns the length of the file before the commit, in bytes.
    pub fn file_bytes(&self) -> Bytes {
        self.index_before.file_bytes()
    }

    pub fn byte_len(&self) -> Bytes {
        let lines: usize = self.lines.iter().map(|line| line.text.len() + 1).sum();
        Bytes::from_len(usize::from(self.index_before.is_unterminated) + lines)
    }

    /// Whether a part of the path is copied, so that the lines begin a branch and do not continue the leaf.
    pub fn is_branch(&self) -> bool {
        let continues = self.parent.as_deref() == Some(&self.from_leaf);
        self.kind == ReceiptKind::Commit && self.method == CommitMethod::Branch && !continues
    }

    /// Counts the messages that get a `context_edit`.
    pub fn edit_count(&self) -> usize {
        if self.method == CommitMethod::Edits { self.changed.len() } else { 0 }
    }
}

/// Prepares a commit, or returns the reason that it is impossible. Only reads.
pub fn prepare(request: &CommitRequest<'_>, new_ids: &mut dyn IdSource) -> Result<PreparedCommit, Refusal> {
    let index = request.transcript.index;
    let path = || index.path.to_path_buf();
    if *request.leaf != Leaf::Own {
        return Err(Refusal::LeafNotOwn { path: path() });
    }
    let checked = check_transcript(&request.transcript, request.now_ms)?;
    let context = build_context(index, request.transcript.tree, &Leaf::Own);
    let context = context.map_err(|_| Refusal::NoContext { path: path() })?;
    if let Some(planned) = &request.compaction {
        compaction::check(index, &checked.path, planned)?;
    }
    let changing = changed_entries(request, &context, &checked.path)?;
    check_editable(index, request, changing.keys().copied())?;
    let leaves = |ix: &EntryIx| request.omitted.contains(ix);
    let first = checked.path.iter().position(|ix| changing.contains_key(ix) || leaves(ix));
    if first.is_none() && request.compaction.is_none() {
        return Err(Refusal::NothingToWrite { path: path() });
    }
    // Without a changed message, or with edits, nothing is copied: the branch continues.
    let first = first.filter(|_| request.method == CommitMethod::Branch).unwrap_or(checked.path.len());
    let part = &checked.path[first..];
    let mut draft = CommitDraft::new(request, &checked, part, &changing, new_ids);
    draft.build_lines(new_ids)?;
    let messages = draft.verify(&context)?;
    draft.warn_about_copies(part);
    draft.warn_about_edits();
    draft.warnings.extend(checked.live_warning(&request.transcript, request.now_ms));
    Ok(PreparedCommit {
        path: Arc::clone(&index.path),
        kind: ReceiptKind::Commit,
        from_leaf: index.display_id(checked.leaf),
        leaf: draft.last_id(),
        method: request.method,
        parent: first.checked_sub(1).map(|at| index.display_id(checked.path[at])),
        changed: draft.changed_ids(),
        record_id: draft.record_id,
        lines: draft.lines,
        remaps: draft.remaps,
        warnings: draft.warnings,
        messages,
        index_before: index.clone(),
        snapshot: checked.snapshot,
    })
}

/// Returns the entries whose stored form changes, with their new messages, after checking that only their content does.
/// Of two changes of one entry the later one counts.
fn changed_entries<'a>(
    request: &'a CommitRequest<'_>,
    context: &Context,
    path: &[EntryIx],
) -> Result<BTreeMap<EntryIx, &'a Value>, Refusal> {
    let index = request.transcript.index;
    let file = || index.path.to_path_buf();
    let on_path: HashSet<EntryIx> = path.iter().copied().collect();
    let mut changing = BTreeMap::new();
    for change in &request.changes {
        let ix = change.entry;
        if !on_path.contains(&ix) {
            let known = ix.index() < index.entries.len();
            let entry = if known { index.display_id(ix) } else { format!("number {}", ix.0) };
            return Err(Refusal::NotOnPath { path: file(), entry });
        }
        let entry = body::read_entry(request.transcript.source, index, ix);
        let entry = entry.map_err(|error| unreadable_body(&index.path, error))?;
        let old = match index.reading {
            ReadMode::Entries => own_message(index, &entry, index.entry(ix).kind),
            ReadMode::Projected => projected_message(
                &entry,
                index.entry(ix).kind,
                ContentSource::Own,
                existing_edit(context, index, ix),
            ),
        };
        if old == change.message {
            changing.remove(&ix);
        } else if only_content_differs(index.entry(ix).kind, old, &change.message) {
            changing.insert(ix, &change.message);
        } else {
            return Err(Refusal::NotOnlyContent { path: file(), entry: index.display_id(ix) });
        }
    }
    Ok(changing)
}

fn existing_edit<'a>(context: &Context, index: &'a Index, ix: EntryIx) -> Option<&'a Replacement> {
    index.replacement(*context.edits.get(&ix)?)
}

/// Whether only the content differs, and at most `details` is missing, which the guard removes from every result that it
/// shortens (pruning 6.36). All other keys must stay.
fn only_content_differs(kind: EntryKind, mut old: Value, new: &Value) -> bool {
    let (Some(object), Some(content)) = (old.as_object_mut(), new.get("content")) else { return false };
    object.set("content", content.clone());
    if kind == EntryKind::Message && new.get("details").is_none() {
        object.remove("details");
    }
    matches!(kind, EntryKind::Message | EntryKind::CustomMessage) && old == *new
}

// Writes a plan in the runtime's own form: one `context_edit` for each message that changes or leaves, on the active
// branch (store-pi-1.5 K4, K10). The old entries keep their ids; an undo continues from before the edits.

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
