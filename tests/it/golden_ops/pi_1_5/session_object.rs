//! pi's session object, an oracle of these cases: it appends entries one by one, each a child of the leaf that becomes
//! the new leaf (store-pi-1.5 B2, B4–B6, K4). The program itself appends only the lines of a commit; of that the rules of
//! edits are run here too.

use clawscope::commit::{is_editable, stored_replacement};
use clawscope::context::build_context;
use clawscope::context::system::replay_system_messages;
use clawscope::ids::{EntryIx, IdSource, LineIds};
use clawscope::js::{self, JsException, JsString, Value};
use clawscope::store::entry::EntryKind;
use clawscope::store::index::{Index, LinePosition};
use clawscope::transcript::{Leaf, Tree};
use clawscope::units::{Bytes, Moment};

/// A session in memory for appends.
pub(super) struct SessionObject {
    index: Index,
    leaf: Option<EntryIx>,
    now_ms: Moment,
    text: String,
}

/// Members of a line besides those that every entry has.
type LineMembers<'a> = [(&'a str, Option<String>)];

impl SessionObject {
    /// Starts at a leaf; `None` before the first entry. Every entry gets the time `now_ms`, ms since 1970.
    pub(super) fn new(index: Index, leaf: Option<EntryIx>, now_ms: Moment) -> Self {
        Self { index, leaf, now_ms, text: String::new() }
    }

    /// Returns the lines so far, each with its end.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn leaf_id(&self) -> Option<Value> {
        self.leaf.and_then(|ix| self.index.entry(ix).id).map(|id| self.index.ids.value(id))
    }

    /// Moves the leaf. Throws for an unknown id.
    pub(super) fn branch(&mut self, id: Option<&str>) -> Result<(), JsException> {
        self.leaf = id.map(|id| self.find_entry(id)).transpose()?;
        Ok(())
    }

    fn find_entry(&self, id: &str) -> Result<EntryIx, JsException> {
        Tree::new(&self.index).find_by_text(&self.index, id).ok_or(JsException)
    }

    /// Appends an entry whose own members follow the common ones in the given order; `None` members are omitted.
    pub(super) fn append(
        &mut self,
        kind: EntryKind,
        own: &LineMembers<'_>,
        new_ids: &mut dyn IdSource,
    ) -> String {
        let id = self.next_id(new_ids);
        self.push(kind, &id, own);
        id
    }

    /// Appends a `custom` or `custom_message` entry: its own members precede id, parent and time.
    pub(super) fn append_custom(
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
    pub(super) fn append_usage(
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
    pub(super) fn append_name(&mut self, name: &str, new_ids: &mut dyn IdSource) -> String {
        let name = name.replace("\r\n", " ").replace(['\r', '\n'], " ");
        let name = name.trim_matches(js::is_trimmed);
        self.append(EntryKind::SessionInfo, &[("name", Some(text_json(name)))], new_ids)
    }

    /// Appends a label; `None` clears it. Throws for an unknown entry.
    pub(super) fn append_label(
        &mut self,
        target: &str,
        label: Option<String>,
        new_ids: &mut dyn IdSource,
    ) -> Result<String, JsException> {
        self.find_entry(target)?;
        let own = [("targetId", Some(text_json(target))), ("label", label.map(|label| text_json(&label)))];
        Ok(self.append(EntryKind::Label, &own, new_ids))
    }

    /// Appends the summary of the left branch after another entry; it names the old leaf (store-pi-1.5 B5).
    /// Throws for an unknown entry.
    pub(super) fn append_branch_summary(
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
    pub(super) fn append_compaction(
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
    pub(super) fn append_edit(
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
        let place = LinePosition {
            offset: self.index.end,
            bytes: Bytes::from_len(text.len()),
            line: self.index.line_count,
        };
        self.index.end += text.len() as u64 + 1;
        self.index.push_parsed(&value, place, &mut LineIds);
        self.leaf = self.index.last();
    }
}

/// The members of a compaction, as recorded.
#[derive(Clone, Copy)]
pub(super) struct CompactionMembers<'a> {
    pub(super) summary: &'a JsString,
    pub(super) tokens_before: Option<&'a Value>,
    pub(super) details: Option<&'a Value>,
    /// Usage of the call that made the summary.
    pub(super) usage: Option<&'a Value>,
    pub(super) from_hook: Option<&'a Value>,
}

fn text_json(text: &str) -> String {
    js::stringify_str(&JsString::from(text))
}

/// Encodes the members that have a value as one object.
fn encode_line(members: &LineMembers<'_>) -> String {
    let pair =
        |(key, value): &(&str, Option<String>)| Some(format!("{}:{}", text_json(key), value.as_ref()?));
    let pairs: Vec<String> = members.iter().filter_map(pair).collect();
    format!("{{{}}}", pairs.join(","))
}
