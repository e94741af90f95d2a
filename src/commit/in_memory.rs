//! Appends entries one by one as today's pi does: each is a child of the leaf and becomes the new leaf (store-pi-1.5
//! B2, B4–B6, K4).

use crate::commit::encode::{encode_line, text_json};
use crate::context::build_context;
use crate::context::system::replay_system_messages;
use crate::ids::{EntryIx, IdSource, LineIds};
use crate::js::{self, JsException, JsString, Value};
use crate::store::entry::{EntryKind, Role};
use crate::store::index::{Index, LinePosition};
use crate::transcript::{Leaf, Tree};

/// A session in memory for appends.
#[derive(Debug, Clone)]
pub struct InMemorySession {
    index: Index,
    leaf: Option<EntryIx>,
    now_ms: i64,
    text: String,
}

/// Members of a line besides those that every entry has.
type LineMembers<'a> = [(&'a str, Option<String>)];

impl InMemorySession {
    /// Starts at a leaf; `None` before the first entry. Every entry gets the time `now_ms`, ms since 1970.
    pub fn new(index: Index, leaf: Option<EntryIx>, now_ms: i64) -> Self {
        Self { index, leaf, now_ms, text: String::new() }
    }

    /// Returns the lines so far, each with its end.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn leaf_id(&self) -> Option<Value> {
        self.leaf.and_then(|ix| self.index.entry(ix).id).map(|id| self.index.ids.value(id))
    }

    /// Moves the leaf. Throws for an unknown id.
    pub fn branch(&mut self, id: Option<&str>) -> Result<(), JsException> {
        self.leaf = id.map(|id| self.find_entry(id)).transpose()?;
        Ok(())
    }

    fn find_entry(&self, id: &str) -> Result<EntryIx, JsException> {
        Tree::new(&self.index).find_by_text(&self.index, id).ok_or(JsException)
    }

    /// Appends an entry whose own members follow the common ones in the given order; `None` members are omitted.
    pub fn append(&mut self, kind: EntryKind, own: &LineMembers<'_>, new_ids: &mut dyn IdSource) -> String {
        let id = self.next_id(new_ids);
        self.push(kind, &id, own);
        id
    }

    /// Appends a `custom` or `custom_message` entry: its own members precede id, parent and time.
    pub fn append_custom(
        &mut self,
        kind: EntryKind,
        own: &LineMembers<'_>,
        new_ids: &mut dyn IdSource,
    ) -> String {
        let id = self.next_id(new_ids);
        let mut members = vec![("type", Some(text_json(kind.as_str())))];
        members.extend(own.iter().cloned());
        members.extend(self.common_members(&id));
        self.push_line(&encode_line(&members));
        id
    }

    /// Appends a `usage` entry; an empty note is omitted.
    pub fn append_usage(
        &mut self,
        own: &LineMembers<'_>,
        note: Option<String>,
        new_ids: &mut dyn IdSource,
    ) -> String {
        let note = note.filter(|note| !note.is_empty()).map(|note| text_json(&note));
        let members: Vec<_> = own.iter().cloned().chain([("note", note)]).collect();
        self.append(EntryKind::Usage, &members, new_ids)
    }

    /// Appends the session's name, trimmed and with line ends as spaces (store-pi-1.5 B6).
    pub fn append_name(&mut self, name: &str, new_ids: &mut dyn IdSource) -> String {
        let name = name.replace("\r\n", " ").replace(['\r', '\n'], " ");
        let name = name.trim_matches(js::is_trimmed);
        self.append(EntryKind::SessionInfo, &[("name", Some(text_json(name)))], new_ids)
    }

    /// Appends a label; `None` clears it. Throws for an unknown entry.
    pub fn append_label(
        &mut self,
        target: &str,
        label: Option<String>,
        new_ids: &mut dyn IdSource,
    ) -> Result<String, JsException> {
        self.find_entry(target)?;
        let own = [("targetId", Some(text_json(target))), ("label", label.map(|label| text_json(&label)))];
        Ok(self.append(EntryKind::Label, &own, new_ids))
    }

    /// Appends the summary of the branch that is left behind another entry; it names the old leaf (store-pi-1.5 B5).
    /// Throws for an unknown entry.
    pub fn append_branch_summary(
        &mut self,
        behind: Option<&str>,
        own: &LineMembers<'_>,
        new_ids: &mut dyn IdSource,
    ) -> Result<String, JsException> {
        let from = self.leaf_id().map_or_else(|| text_json("root"), |id| js::stringify(&id));
        self.branch(behind)?;
        let members: Vec<_> = [("fromId", Some(from))].into_iter().chain(own.iter().cloned()).collect();
        Ok(self.append(EntryKind::BranchSummary, &members, new_ids))
    }

    /// Appends a compaction. Without a first kept entry it names itself and keeps nothing before it; prompt and tools
    /// of the context are stored with it (store-pi-1.5 B4, I4). Throws if no context can be built.
    pub fn append_compaction(
        &mut self,
        first_kept: Option<&Value>,
        own: CompactionMembers<'_>,
        new_ids: &mut dyn IdSource,
    ) -> Result<String, JsException> {
        let state = self.system_message()?;
        let id = self.next_id(new_ids);
        let json = |value: Option<&Value>| value.map(js::stringify);
        self.push(
            EntryKind::Compaction,
            &id,
            &[
                ("summary", Some(js::stringify_str(own.summary))),
                ("firstKeptEntryId", Some(first_kept.map_or_else(|| text_json(&id), js::stringify))),
                ("tokensBefore", json(own.tokens_before)),
                ("details", json(own.details)),
                ("usage", json(own.usage)),
                ("fromHook", json(own.from_hook)),
                ("systemMessage", state.as_ref().map(js::stringify)),
            ],
        );
        Ok(id)
    }

    fn system_message(&self) -> Result<Option<Value>, JsException> {
        let leaf = match self.leaf {
            None => Leaf::Before,
            Some(ix) => Leaf::Id(self.index.display_id(ix)),
        };
        let context = build_context(&self.index, &Tree::new(&self.index), &leaf)?;
        let state = replay_system_messages(&self.index, &context.messages)?;
        Ok(state.map(|state| state.message_at(self.now_ms)))
    }

    /// Appends a context edit. Throws unless the target is an editable message of the branch, and the replacement is
    /// null or has a content (store-pi-1.5 K4).
    pub fn append_edit(
        &mut self,
        target: &str,
        replacement: &Value,
        new_ids: &mut dyn IdSource,
    ) -> Result<String, JsException> {
        let target_ix = self.find_entry(target)?;
        let path =
            self.leaf.map(|leaf| Tree::new(&self.index).path_to(&self.index, leaf)).unwrap_or_default();
        let entry = self.index.entry(target_ix);
        if !path.contains(&target_ix) || !is_editable(&self.index, target_ix) {
            return Err(JsException);
        }
        let replacement = stored_replacement(entry.role(), replacement)?;
        let own = [("targetId", Some(text_json(target))), ("replacement", Some(js::stringify(&replacement)))];
        Ok(self.append(EntryKind::ContextEdit, &own, new_ids))
    }

    fn next_id(&self, new_ids: &mut dyn IdSource) -> String {
        new_ids.next_id(self.index.line_count + 1, &|id| self.index.ids.find(id).is_some())
    }

    fn common_members(&self, id: &str) -> [(&'static str, Option<String>); 3] {
        let parent = self.leaf_id().unwrap_or(Value::Null);
        let time = js::iso_text(self.now_ms);
        [
            ("id", Some(text_json(id))),
            ("parentId", Some(js::stringify(&parent))),
            ("timestamp", Some(text_json(&time))),
        ]
    }

    fn push(&mut self, kind: EntryKind, id: &str, own: &LineMembers<'_>) {
        let mut members = vec![("type", Some(text_json(kind.as_str())))];
        members.extend(self.common_members(id));
        members.extend(own.iter().cloned());
        self.push_line(&encode_line(&members));
    }

    fn push_line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
        let Ok(value) = js::parse(text) else { return };
        self.index.line_count += 1;
        let place =
            LinePosition { offset: self.index.end, bytes: text.len() as u32, line: self.index.line_count };
        self.index.end += text.len() as u64 + 1;
        self.index.push_parsed(&value, place, &mut LineIds);
        self.leaf = self.index.last();
    }
}

/// The members of a compaction, as recorded.
#[derive(Debug, Clone, Copy)]
pub struct CompactionMembers<'a> {
    pub summary: &'a JsString,
    pub tokens_before: Option<&'a Value>,
    pub details: Option<&'a Value>,
    /// Usage of the call that made the summary.
    pub usage: Option<&'a Value>,
    pub from_hook: Option<&'a Value>,
}

/// Whether pi itself edits an entry: a message of an extension, a user, the model or a tool (store-pi-1.5 K4).
pub(super) fn is_editable(index: &Index, ix: EntryIx) -> bool {
    let entry = index.entry(ix);
    match entry.kind {
        EntryKind::CustomMessage => true,
        EntryKind::Message => matches!(entry.role(), Some(Role::User | Role::Assistant | Role::ToolResult)),
        _ => false,
    }
}

/// Returns a replacement in its stored form: null, or an object with a content. A text for the model's or a tool's
/// message becomes a single text block (store-pi-1.5 K4).
pub(super) fn stored_replacement(role: Option<Role>, replacement: &Value) -> Result<Value, JsException> {
    if replacement.is_null() {
        return Ok(Value::Null);
    }
    let content = replacement.as_object().and_then(|object| object.get("content")).ok_or(JsException)?;
    match content {
        Value::String(text) if matches!(role, Some(Role::Assistant | Role::ToolResult)) => {
            let block = [("type", Value::from("text")), ("text", Value::String(text.clone()))];
            let blocks = Value::Array(vec![Value::Object(js::Object::from(block))]);
            Ok(Value::Object(js::Object::from([("content", blocks)])))
        }
        Value::String(_) | Value::Array(_) => Ok(replacement.clone()),
        _ => Err(JsException),
    }
}
