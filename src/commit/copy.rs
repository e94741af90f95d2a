//! Copies the entries of a path from the first change on, under new ids (store P2–P4).

use std::collections::{HashMap, HashSet};

use crate::commit::encode::{
    MemberEdit, member_text, replace_members, text_json, with_content, without_member,
};
use crate::commit::refusal::{Refusal, unreadable_body};
use crate::commit::request::TranscriptInput;
use crate::ids::{EntryIx, IdSource};
use crate::js::{self, Value};
use crate::store::body;
use crate::store::entry::EntryKind;
use crate::store::index::Index;
use crate::store::intern::IdIx;

/// A reference that now names a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remap {
    /// The copied entry with the reference.
    pub entry: String,
    /// `firstKeptEntryId`, `targetId` or `fromId`.
    pub key: &'static str,
    /// The old target.
    pub from: String,
    /// The new target.
    pub to: String,
}

/// The entries to copy, with their new ids.
#[derive(Debug)]
pub(super) struct CopyPlan {
    /// In path order.
    pub entries: Vec<(EntryIx, String)>,
    /// Old id → new id.
    by_id: HashMap<IdIx, String>,
    /// Omitted ids → the new id of the next entry.
    moved_to: HashMap<IdIx, String>,
    used_ids: HashSet<String>,
}

impl CopyPlan {
    /// Draws an id for every entry of `part` that is not `omitted`. `usage` entries are left out too: sums over the file
    /// would count them twice, and no context needs them (pi 1.5 K8).
    pub(super) fn new(
        transcript: &TranscriptInput<'_>,
        part: &[EntryIx],
        omitted: &[EntryIx],
        new_ids: &mut dyn IdSource,
    ) -> Self {
        let index = transcript.index;
        let mut copies = Self {
            entries: Vec::new(),
            by_id: HashMap::new(),
            moved_to: HashMap::new(),
            used_ids: HashSet::new(),
        };
        let mut left_out: Vec<IdIx> = Vec::new();
        for &ix in part {
            if index.entry(ix).kind == EntryKind::Usage || omitted.contains(&ix) {
                left_out.extend(index.entry(ix).id);
                continue;
            }
            let id = copies.draw_id(index, new_ids);
            copies.moved_to.extend(left_out.drain(..).map(|old| (old, id.clone())));
            copies.by_id.extend(index.entry(ix).id.map(|old| (old, id.clone())));
            copies.entries.push((ix, id));
        }
        copies
    }

    /// Draws the id of one more line: the file does not name it anywhere, and it was not drawn before (store P2).
    pub(super) fn draw_id(&mut self, index: &Index, new_ids: &mut dyn IdSource) -> String {
        let line = index.line_count + 1 + self.used_ids.len() as u64;
        let id = new_ids.next_id(line, &|id| index.ids.find(id).is_some() || self.used_ids.contains(id));
        self.used_ids.insert(id.clone());
        id
    }

    pub(super) fn new_id(&self, old: IdIx) -> Option<&str> {
        self.by_id.get(&old).map(String::as_str)
    }

    /// Returns the first kept entry for a part that began at `old`: its copy, or the copy of the next entry if it was
    /// omitted (store P3).
    pub(super) fn new_first_kept(&self, old: IdIx) -> Option<&str> {
        self.new_id(old).or_else(|| self.moved_to.get(&old).map(String::as_str))
    }
}

/// The new values for one copy.
#[derive(Debug)]
pub(super) struct CopySpec<'a> {
    pub ix: EntryIx,
    pub id: &'a str,
    /// The new parent; `None` keeps the old one.
    pub parent: Option<Value>,
    /// The new outer time, as text; `None` keeps the old one.
    pub time: Option<&'a str>,
    /// The new message, if it changes.
    pub message: Option<&'a Value>,
}

/// Returns the key under which an entry refers to another one.
fn reference_key(kind: EntryKind) -> Option<&'static str> {
    match kind {
        EntryKind::Compaction => Some("firstKeptEntryId"),
        EntryKind::BranchSummary => Some("fromId"),
        EntryKind::Label | EntryKind::ContextEdit => Some("targetId"),
        _ => None,
    }
}

#[derive(Debug)]
pub(super) struct CopiedLine {
    /// Without the line end.
    pub text: String,
    /// The value that the text must be read as: the old entry with the new values, made independently of the text.
    pub value: Value,
    /// The reference, if it changed.
    pub remap: Option<Remap>,
}

/// Copies one entry: the old text with id, parent, time, reference and content replaced, and independently the value
/// that this text must be read as.
pub(super) fn copy(
    transcript: &TranscriptInput<'_>,
    copies: &CopyPlan,
    of: &CopySpec<'_>,
) -> Result<CopiedLine, Refusal> {
    let index = transcript.index;
    let unreadable = |error| unreadable_body(&index.path, error);
    let text = body::line_text(transcript.source, index, of.ix).map_err(unreadable)?;
    let mut value = body::read_entry(transcript.source, index, of.ix).map_err(unreadable)?;
    let mut edits = vec![MemberEdit::text("id", of.id)];
    edits.extend(of.time.map(|time| MemberEdit::text("timestamp", time)));
    let parent = of.parent.as_ref().map(js::stringify);
    edits.extend(parent.map(|json| MemberEdit { key: "parentId", json }));
    let remap = remap(index, copies, of.ix, &value);
    edits.extend(remap.iter().map(|remap| MemberEdit::text(remap.key, &remap.to)));
    let changed = || Refusal::FileChanged { path: index.path.to_path_buf(), what: "a line changed" };
    if let Some(message) = of.message {
        edits.push(content_edit(index, of.ix, &text, message).map_err(|_| changed())?);
    }
    apply_to_value(&mut value, of, remap.as_ref());
    let text = replace_members(&text, &edits).map_err(|_| changed())?;
    Ok(CopiedLine { text, value, remap })
}

fn remap(index: &Index, copies: &CopyPlan, ix: EntryIx, value: &Value) -> Option<Remap> {
    let entry = index.entry(ix);
    let key = reference_key(entry.kind)?;
    let named = value.get(key)?.as_str()?;
    let old = entry.reference.or_else(|| index.ids.find(&named.to_string_lossy()))?;
    let compaction = entry.kind == EntryKind::Compaction;
    let to = if compaction { copies.new_first_kept(old) } else { copies.new_id(old) }?.to_owned();
    Some(Remap { entry: index.display_id(ix), key, from: named.to_string_lossy(), to })
}

/// Replaces only the content: of the message, or of the entry itself if that is the message. A message may also lose
/// its `details`.
fn content_edit(
    index: &Index,
    ix: EntryIx,
    text: &str,
    message: &Value,
) -> Result<MemberEdit, js::SyntaxError> {
    let content = message.get("content").cloned().unwrap_or(Value::Null);
    if index.entry(ix).kind == EntryKind::CustomMessage {
        return Ok(MemberEdit { key: "content", json: js::stringify(&content) });
    }
    let json = with_content(member_text(text, "message")?.unwrap_or("{}"), &content)?;
    let json = if message.get("details").is_none() { without_member(&json, "details")? } else { json };
    Ok(MemberEdit { key: "message", json })
}

/// Applies the same changes to the value; absent members are not added.
fn apply_to_value(value: &mut Value, of: &CopySpec<'_>, remap: Option<&Remap>) {
    let Some(object) = value.as_object_mut() else { return };
    let mut set = |key: &str, new: Value| {
        if let Some(place) = object.get_mut(key) {
            *place = new;
        }
    };
    set("id", of.id.into());
    if let Some(time) = of.time {
        set("timestamp", time.into());
    }
    if let Some(parent) = &of.parent {
        set("parentId", parent.clone());
    }
    if let Some(remap) = remap {
        set(remap.key, remap.to.as_str().into());
    }
    if let Some(message) = of.message {
        let custom = object.get("type").is_some_and(|kind| kind.str_is("custom_message"));
        let (key, new) =
            if custom { ("content", message.get("content")) } else { ("message", Some(message)) };
        object.set(key, new.cloned().unwrap_or(Value::Null));
    }
}

/// Encodes a label line for a copied or an older entry (store I4, K8).
pub(super) fn label_line(
    id: &str,
    parent: &str,
    time: &str,
    target: &Value,
    label: Option<&Value>,
) -> String {
    super::encode::encode_line(&[
        ("type", Some(text_json("label"))),
        ("id", Some(text_json(id))),
        ("parentId", Some(text_json(parent))),
        ("timestamp", Some(text_json(time))),
        ("targetId", Some(js::stringify(target))),
        ("label", label.map(js::stringify)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_that_names_another_entry_has_its_key() {
        let key = reference_key;
        assert_eq!(key(EntryKind::Compaction), Some("firstKeptEntryId"));
        assert_eq!(key(EntryKind::BranchSummary), Some("fromId"));
        assert_eq!([EntryKind::Label, EntryKind::ContextEdit].map(key), [Some("targetId"); 2]);
        assert_eq!([EntryKind::Message, EntryKind::Custom, EntryKind::Usage].map(key), [None; 3]);
    }
}
