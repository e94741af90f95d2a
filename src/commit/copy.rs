//! Copies the entries of a path from the first change on, under new ids (store P2–P4).

use std::collections::{HashMap, HashSet};

use crate::commit::refusal::{Refusal, unreadable_body};
use crate::commit::request::TranscriptInput;
use crate::ids::{EntryIx, IdSource};
use crate::js::{self, JsString, SyntaxError, Value};
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
    encode_line(&[
        ("type", Some(text_json("label"))),
        ("id", Some(text_json(id))),
        ("parentId", Some(text_json(parent))),
        ("timestamp", Some(text_json(time))),
        ("targetId", Some(js::stringify(target))),
        ("label", label.map(js::stringify)),
    ])
}

// Builds a new line from an old one: unchanged parts are copied from the old text digit for digit and key for key;
// only named members are replaced (store P7).

#[derive(Debug)]
pub(super) struct MemberEdit {
    pub key: &'static str,
    /// The new value as JSON.
    pub json: String,
}

impl MemberEdit {
    pub(super) fn text(key: &'static str, text: &str) -> Self {
        Self { key, json: text_json(text) }
    }
}

pub(super) fn text_json(text: &str) -> String {
    js::stringify_str(&JsString::from(text))
}

/// Returns the id of an entry as it is in the file; null without one.
pub(super) fn id_value(index: &Index, ix: EntryIx) -> Value {
    index.entry(ix).id.map_or(Value::Null, |id| index.ids.value(id))
}

/// Replaces members of the object in `text` in place and makes it compact. Absent members are not added.
fn replace_members(text: &str, edits: &[MemberEdit]) -> Result<String, SyntaxError> {
    let mut json = ObjectWriter::default();
    for field in js::fields(text)? {
        match edits.iter().find(|edit| field.key.eq_str(edit.key)) {
            Some(edit) => json.push(&field.key, &edit.json),
            None => json.push(&field.key, &js::compact(&text[field.value])?),
        }
    }
    Ok(json.finish())
}

/// Returns the text of a member's value. Of repeated keys the last counts, as in the runtime.
fn member_text<'a>(text: &'a str, key: &str) -> Result<Option<&'a str>, SyntaxError> {
    let fields = js::fields(text)?;
    Ok(fields.into_iter().rev().find(|field| field.key.eq_str(key)).map(|field| &text[field.value]))
}

/// Replaces an object's `content`, or appends it.
pub(super) fn with_content(text: &str, content: &Value) -> Result<String, SyntaxError> {
    let json = js::stringify(content);
    if member_text(text, "content")?.is_some() {
        return replace_members(text, &[MemberEdit { key: "content", json }]);
    }
    let mut members = ObjectWriter::default();
    for field in js::fields(text)? {
        members.push(&field.key, &js::compact(&text[field.value])?);
    }
    members.push(&JsString::from("content"), &json);
    Ok(members.finish())
}

/// Removes every occurrence of a member.
fn without_member(text: &str, key: &str) -> Result<String, SyntaxError> {
    let mut members = ObjectWriter::default();
    for field in js::fields(text)?.into_iter().filter(|field| !field.key.eq_str(key)) {
        members.push(&field.key, &js::compact(&text[field.value])?);
    }
    Ok(members.finish())
}

#[derive(Default)]
struct ObjectWriter(String);

impl ObjectWriter {
    fn push(&mut self, key: &JsString, json: &str) {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        self.0.push_str(&js::stringify_str(key));
        self.0.push(':');
        self.0.push_str(json);
    }

    fn finish(mut self) -> String {
        if self.0.is_empty() {
            self.0.push('{');
        }
        self.0.push('}');
        self.0
    }
}

/// Encodes a line of our own: members in the given order, `None` members omitted (store I4).
pub(super) fn encode_line(members: &[(&str, Option<String>)]) -> String {
    let mut json = ObjectWriter::default();
    for (key, value) in members {
        if let Some(value) = value {
            json.push(&JsString::from(*key), value);
        }
    }
    json.finish()
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

#[cfg(test)]
mod encode_tests {
    use super::*;

    #[test]
    fn editing_members_keeps_the_others_byte_for_byte() {
        let text = r#" { "z": 1.50, "id":"a", "9":12345678901234567890, "x": {"b": -0, "a":[ 1E400 ]}, "u":"\u0041\ud800" }"#;
        let json = replace_members(text, &[MemberEdit::text("id", "n\"1")]).unwrap();
        assert_eq!(
            json,
            r#"{"z":1.50,"id":"n\"1","9":12345678901234567890,"x":{"b":-0,"a":[1E400]},"u":"A\ud800"}"#
        );
    }

    #[test]
    fn a_repeated_key_is_replaced_everywhere_and_a_missing_one_is_not_added() {
        let json = replace_members(
            r#"{"id":1,"x":2,"id":3}"#,
            &[MemberEdit::text("id", "n"), MemberEdit::text("y", "")],
        );
        assert_eq!(json.unwrap(), r#"{"id":"n","x":2,"id":"n"}"#);
        assert_eq!(member_text(r#"{"id":1,"id":3}"#, "id").unwrap(), Some("3"));
    }

    #[test]
    fn content_is_replaced_in_place_or_added_at_the_end() {
        let new = Value::from("new");
        assert_eq!(with_content(r#"{"content":[],"a":1.0}"#, &new).unwrap(), r#"{"content":"new","a":1.0}"#);
        assert_eq!(with_content(r#"{ "a":1.0 }"#, &new).unwrap(), r#"{"a":1.0,"content":"new"}"#);
        assert_eq!(with_content("{}", &new).unwrap(), r#"{"content":"new"}"#);
    }

    #[test]
    fn removing_a_member_keeps_the_order_of_the_others() {
        let json = without_member(r#"{"a":1.0, "details":{"n":1},"b":[ ],"details":2}"#, "details").unwrap();
        assert_eq!(json, r#"{"a":1.0,"b":[]}"#);
        assert_eq!(without_member(r#"{"details":{}}"#, "details").unwrap(), "{}");
    }

    #[test]
    fn absent_members_leave_no_key() {
        assert_eq!(
            encode_line(&[("a", Some("1".into())), ("b", None), ("c", Some("{}".into()))]),
            r#"{"a":1,"c":{}}"#
        );
        assert_eq!(encode_line(&[]), "{}");
    }
}
