//! The entries of a path from the first change on, copied under new ids (store P2–P4).

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

/// A reference that names the copy of what it named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remap {
    /// The copied entry that refers.
    pub entry: String,
    /// `firstKeptEntryId`, `targetId` or `fromId`.
    pub key: &'static str,
    /// What it named.
    pub from: String,
    /// What its copy names.
    pub to: String,
}

/// The copied part of a path: who is copied, under which id.
#[derive(Debug)]
pub(super) struct CopyPlan {
    /// The entries copied, in path order, with their new ids.
    pub entries: Vec<(EntryIx, String)>,
    /// Old id → new id.
    by_id: HashMap<IdIx, String>,
    /// Ids that were left out → the new id of the next entry.
    moved_to: HashMap<IdIx, String>,
    /// Every new id.
    used_ids: HashSet<String>,
}

impl CopyPlan {
    /// Draws an id for every entry of the part. `usage` entries are left out: sums over the file would
    /// count them twice, and no context needs them (pi 1.5 K8).
    pub(super) fn new(
        transcript: &TranscriptInput<'_>,
        part: &[EntryIx],
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
            if index.entry(ix).kind == EntryKind::Usage {
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

    /// The id of one more line: none that the file names anywhere, and none drawn before (store P2).
    pub(super) fn draw_id(&mut self, index: &Index, new_ids: &mut dyn IdSource) -> String {
        let line = index.line_count + 1 + self.used_ids.len() as u64;
        let id = new_ids.next_id(line, &|id| index.ids.find(id).is_some() || self.used_ids.contains(id));
        self.used_ids.insert(id.clone());
        id
    }

    /// The new id of a copied entry.
    pub(super) fn new_id(&self, old: IdIx) -> Option<&str> {
        self.by_id.get(&old).map(String::as_str)
    }

    /// Where a kept part begins that began at this entry: at its copy, or at the copy of the next entry
    /// when it was left out (store P3).
    pub(super) fn new_first_kept(&self, old: IdIx) -> Option<&str> {
        self.new_id(old).or_else(|| self.moved_to.get(&old).map(String::as_str))
    }
}

/// What the copy of one entry is given.
#[derive(Debug)]
pub(super) struct CopySpec<'a> {
    /// The entry.
    pub ix: EntryIx,
    /// Its new id.
    pub id: &'a str,
    /// Its new parent; none keeps the one it has.
    pub parent: Option<&'a str>,
    /// Its new outer time, as text; none keeps the one it has.
    pub time: Option<&'a str>,
    /// Its message, where it changes.
    pub message: Option<&'a Value>,
}

/// The key under which an entry refers to another one.
fn reference_key(kind: EntryKind) -> Option<&'static str> {
    match kind {
        EntryKind::Compaction => Some("firstKeptEntryId"),
        EntryKind::BranchSummary => Some("fromId"),
        EntryKind::Label | EntryKind::ContextEdit => Some("targetId"),
        _ => None,
    }
}

/// A copied line.
#[derive(Debug)]
pub(super) struct CopiedLine {
    /// Its text, without the line end.
    pub text: String,
    /// What it is to be read as: the old entry with the new values, made without the text.
    pub value: Value,
    /// Its reference, where that changed.
    pub remap: Option<Remap>,
}

/// The copy of one entry: the old text with id, parent, time, reference and content replaced, and
/// apart from it the value that text must be read as.
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
    edits.extend(of.parent.map(|parent| MemberEdit::text("parentId", parent)));
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

/// Only the content changes: of the message, or of the entry itself where that is the message. A message may also lose
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

/// The same on the value: members that are not there are not added.
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
    if let Some(parent) = of.parent {
        set("parentId", parent.into());
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

/// A label line for a copied entry or an older one (store I4, K8).
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
