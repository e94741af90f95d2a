//! Projects a branch to messages as pi does since 0.80.4: select entries, apply edits (since 0.87), yield messages
//! (store-pi-1.5 D2–D4).

use std::collections::{HashMap, HashSet};

use crate::context::message::{ContentSource, ContextMessage};
use crate::gateway::ruleset::PiChange;
use crate::ids::EntryIx;
use crate::js::{JsException, Object, Value};
use crate::store::entry::{EntryKind, MessageSize, Replacement, Role};
use crate::store::index::Index;
use crate::store::intern::IdIx;
use crate::store::scan::{ProjectionData, measure_message, with_empty_content};
use crate::transcript::Tree;

/// A projected path.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Projection {
    pub messages: Vec<ContextMessage>,
    /// The selected entries in order, each with its number of messages: 0, 1, or for a compaction up to 2.
    pub entries: Vec<(EntryIx, u32)>,
    /// Edited entries with the effective edit.
    pub edits: HashMap<EntryIx, EntryIx>,
}

/// Projects a path. Errors where the runtime throws: at a `message` entry without a message, and at an edit without a
/// replacement for a message (store-pi-1.5 C7, D4).
pub fn project(index: &Index, path: &[EntryIx]) -> Result<Projection, JsException> {
    let selected = selected(index, path);
    let edits =
        if index.pi_release.has(PiChange::Projects) { last_edits(index, &selected) } else { HashMap::new() };
    let mut projection = Projection::default();
    for (at, ix) in selected.iter().enumerate() {
        let mut messages = entry_messages(index, *ix, at == 0)?;
        let edit = index.entry(*ix).id.and_then(|id| edits.get(&id));
        if let Some(edit) = edit.filter(|_| !messages.is_empty())
            && apply_edit(index, *edit, &mut messages)?
        {
            projection.edits.insert(*ix, *edit);
        }
        projection.entries.push((*ix, messages.len() as u32));
        projection.messages.extend(messages);
    }
    Ok(projection)
}

/// Selects all entries, or the last compaction, the entries it keeps except system messages, and those after it
/// (store-pi-1.5 D2). Releases without [`PiChange::KeepsSystemMessages`] keep system messages like any other.
fn selected(index: &Index, path: &[EntryIx]) -> Vec<EntryIx> {
    let Some(at) = path.iter().rposition(|ix| index.entry(*ix).kind == EntryKind::Compaction) else {
        return path.to_vec();
    };
    let from = first_kept(index, &path[..at], path[at]).unwrap_or(at);
    let drops = index.pi_release.has(PiChange::KeepsSystemMessages);
    let kept = path[from..at].iter().filter(|ix| !drops || index.entry(**ix).role() != Some(Role::System));
    [path[at]].iter().chain(kept).chain(&path[at + 1..]).copied().collect()
}

/// Returns the last edit of each target among some entries (store-pi-1.5 D3).
pub fn last_edits(index: &Index, entries: &[EntryIx]) -> HashMap<IdIx, EntryIx> {
    let edits = entries.iter().filter(|ix| index.entry(**ix).kind == EntryKind::ContextEdit);
    edits.filter_map(|ix| Some((index.entry(*ix).reference?, *ix))).collect()
}

/// Returns the messages of an entry before any edit.
fn entry_messages(index: &Index, ix: EntryIx, first: bool) -> Result<Vec<ContextMessage>, JsException> {
    let entry = index.entry(ix);
    if entry.lacks_message {
        return Err(JsException);
    }
    let own = || entry.message.map(|size| ContextMessage::from_entry(ix, projected_size(index, ix, &size)));
    Ok(match entry.kind {
        // Before contexts could be edited, an older compaction inside the kept part yielded its summary again.
        EntryKind::Compaction if first || !index.pi_release.has(PiChange::Projects) => {
            checkpoint_message(index, ix).into_iter().chain(own()).collect()
        }
        EntryKind::Compaction => Vec::new(),
        _ if entry.becomes_message() => own().into_iter().collect(),
        _ => Vec::new(),
    })
}

/// Returns the prompt and tools that a compaction stores.
fn checkpoint_message(index: &Index, ix: EntryIx) -> Option<ContextMessage> {
    if !index.pi_release.has(PiChange::KeepsSystemMessages) {
        return None;
    }
    let size = measure_message(&**index.system_message(ix)?).size.for_release(index.pi_release);
    Some(ContextMessage { entry: ix, size, content_source: ContentSource::Checkpoint })
}

/// Returns the size of a projected message; one without content gets empty content (store-pi-1.5 C7).
pub fn projected_size(index: &Index, ix: EntryIx, size: &MessageSize) -> MessageSize {
    let size = match index.projection_data.get(&ix) {
        Some(ProjectionData::Message(message)) if size.role != Role::System => {
            resize(size, with_empty_content(message).as_ref().unwrap_or(message))
        }
        _ => *size,
    };
    size.for_release(index.pi_release)
}

/// Replaces the sizes of a message with those of its new content; call id, stop reason and usage stay.
fn resize(old: &MessageSize, message: &Value) -> MessageSize {
    MessageSize {
        tool_name: old.tool_name,
        call_id: old.call_id,
        stop_reason: old.stop_reason,
        usage: old.usage,
        is_error: old.is_error,
        needs_body: false,
        ..measure_message(message).size
    }
}

/// Returns the sizes after an edit; [`MessageSize::EMPTY`] if the edit leaves the message out.
pub fn edited_size(index: &Index, edit: EntryIx, size: &MessageSize) -> MessageSize {
    let mut messages = vec![ContextMessage::from_entry(edit, *size)];
    match apply_edit(index, edit, &mut messages) {
        Ok(_) => messages.first().map_or(MessageSize::EMPTY, |message| message.size),
        Err(JsException) => *size,
    }
}

/// Applies an edit to the messages of an entry and returns whether any changed; some roles are never edited.
fn apply_edit(index: &Index, edit: EntryIx, messages: &mut Vec<ContextMessage>) -> Result<bool, JsException> {
    let before = messages.len();
    let mut changed = false;
    match index.replacement(edit).unwrap_or(&Replacement::Missing) {
        Replacement::Missing => return Err(JsException),
        Replacement::Omitted => messages.clear(),
        Replacement::Content(new) => {
            for message in messages.iter_mut().filter(|message| is_replaceable(message.size.role)) {
                let bare = Value::Object(Object::from([("role", Value::from(message.size.role.as_str()))]));
                let size = resize(&message.size, &replace_content(&bare, new)).for_release(index.pi_release);
                *message = ContextMessage { size, content_source: ContentSource::Edited(edit), ..*message };
                changed = true;
            }
        }
    }
    Ok(changed || messages.len() < before)
}

/// Whether an edit replaces the content of messages of this role.
fn is_replaceable(role: Role) -> bool {
    matches!(role, Role::User | Role::Assistant | Role::ToolResult | Role::Custom)
}

/// Replaces a message's content. A text becomes a block in roles that allow only blocks.
pub fn replace_content(message: &Value, replacement: &Value) -> Value {
    let Some(object) = message.as_object() else { return message.clone() };
    let mut object = object.clone();
    let role = crate::store::measure::role_of(message);
    let blocks_only = matches!(role, Role::Assistant | Role::ToolResult);
    match replacement.get("content") {
        None => {
            object.remove("content");
        }
        Some(Value::String(text)) if blocks_only => {
            let block = Object::from([("type", Value::from("text")), ("text", Value::String(text.clone()))]);
            object.set("content", Value::Array(vec![Value::Object(block)]));
        }
        Some(content) => object.set("content", content.clone()),
    }
    Value::Object(object)
}

/// Whether a context starts again at an entry of this kind.
pub(super) fn is_boundary(kind: EntryKind, tree: &Tree) -> bool {
    kind == EntryKind::Compaction || kind == EntryKind::Reset && tree.has_resets()
}

/// Returns the earlier entries that a reset keeps: from the entry it names, user and assistant messages and the results
/// of kept calls (sqlite G2).
pub(super) fn retained_by_reset(index: &Index, before: &[EntryIx], reset: EntryIx) -> Vec<EntryIx> {
    let from = first_kept(index, before, reset).unwrap_or(before.len());
    let mut calls = HashSet::new();
    let keeps = |ix: &EntryIx| {
        let entry = index.entry(*ix);
        let Some(size) = entry.message.filter(|_| entry.kind == EntryKind::Message) else { return false };
        match size.role {
            Role::User => true,
            Role::Assistant => {
                calls.extend(index.tool_calls_of(*ix).iter().filter_map(|call| call.id));
                true
            }
            Role::ToolResult => size.call_id.is_some_and(|call| calls.contains(&call)),
            _ => false,
        }
    };
    before[from..].iter().copied().filter(keeps).collect()
}

/// Returns the part of a path that its effective reset leaves: the kept entries, the reset, and everything after.
/// Without one, the whole path. Compactions and replays start from it (compaction 12, row "Range start").
pub fn entries_since_reset(index: &Index, tree: &Tree, path: &[EntryIx]) -> Vec<EntryIx> {
    let boundary = path.iter().rposition(|ix| is_boundary(index.entry(*ix).kind, tree));
    let reset = boundary.filter(|at| index.entry(path[*at]).kind == EntryKind::Reset);
    from_reset(index, path, reset)
}

pub(super) fn from_reset(index: &Index, path: &[EntryIx], reset: Option<usize>) -> Vec<EntryIx> {
    let Some(at) = reset else { return path.to_vec() };
    let mut left = retained_by_reset(index, &path[..at], path[at]);
    left.extend(&path[at..]);
    left
}

/// Returns the position where the kept part begins: the entry that `firstKeptEntryId` names. `None`, and so nothing is
/// kept, unless that entry precedes the compaction or reset on the path (compaction 4.3).
pub fn first_kept(index: &Index, before: &[EntryIx], compaction: EntryIx) -> Option<usize> {
    let kept = index.entry(compaction).reference?;
    before.iter().position(|ix| index.entry(*ix).id == Some(kept))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{Context, build_context};
    use crate::ids::LineIds;
    use crate::store::entry::ReadMode;
    use crate::store::load::load_for_release;
    use crate::store::source::Source;
    use crate::transcript::{Leaf, Tree};
    use crate::units::Chars;

    /// Builds the context of these lines, each the child of the one before.
    fn context(lines: &[&str]) -> Result<(Index, Context), JsException> {
        let lines: Vec<String> = lines
            .iter()
            .enumerate()
            .map(|(at, line)| format!(r#"{{"id":"e{at}","parentId":"e{}",{line}}}"#, at.wrapping_sub(1)))
            .collect();
        let text = format!("{{\"type\":\"session\",\"version\":3,\"id\":\"s\"}}\n{}\n", lines.join("\n"));
        let source = Source::from_memory("t.jsonl", text.into_bytes());
        let index =
            load_for_release(&source, ReadMode::Projected, &mut LineIds, &mut |_, _| true).expect("loads");
        let context = build_context(&index, &Tree::new(&index), &Leaf::Own)?;
        Ok((index, context))
    }

    fn reported(lines: &[&str]) -> Vec<(u32, Role, u64)> {
        let (_, context) = context(lines).expect("builds");
        let reported = |message: &ContextMessage| {
            (message.entry.0, message.size.role, message.size.pi_chars.whole_chars().whole())
        };
        context.messages.iter().map(reported).collect()
    }

    const SYSTEM: &str = r#""type":"message","message":{"role":"system","content":"prompt"}"#;
    const USER: &str = r#""type":"message","message":{"role":"user","content":"12345678"}"#;
    const RESULT: &str = r#""type":"message","message":{"role":"toolResult","toolCallId":"c","content":[{"type":"text","text":"long"}]}"#;

    #[test]
    fn the_last_edit_of_a_message_wins_and_edits_are_not_messages() {
        let short = r#""type":"context_edit","targetId":"e1","replacement":{"content":"x"}"#;
        let shorter = r#""type":"context_edit","targetId":"e1","replacement":{"content":""}"#;
        let gone = r#""type":"context_edit","targetId":"e0","replacement":null"#;
        assert_eq!(reported(&[USER, RESULT, short]), [(0, Role::User, 8), (1, Role::ToolResult, 1)]);
        assert_eq!(reported(&[USER, RESULT, shorter, short, gone]), [(1, Role::ToolResult, 1)]);
    }

    #[test]
    fn a_compaction_brings_its_checkpoint_and_keeps_no_system_message() {
        let compaction = r#""type":"compaction","summary":"so far","firstKeptEntryId":"e0","systemMessage":{"role":"system","content":"now"}"#;
        let expected =
            [(3, Role::System, 3), (3, Role::CompactionSummary, 6), (1, Role::User, 8), (4, Role::System, 6)];
        assert_eq!(reported(&[SYSTEM, USER, USER, compaction, SYSTEM])[..2], expected[..2]);
        assert_eq!(reported(&[SYSTEM, USER, RESULT, compaction, SYSTEM])[2], expected[2]);
        assert_eq!(reported(&[SYSTEM, USER, RESULT, compaction, SYSTEM])[4], expected[3]);
    }

    #[test]
    fn a_compaction_that_names_itself_keeps_no_message_and_can_be_omitted() {
        let compaction = r#""type":"compaction","summary":"s","firstKeptEntryId":"e1""#;
        let gone = r#""type":"context_edit","targetId":"e1","replacement":null"#;
        assert_eq!(reported(&[USER, compaction]), [(1, Role::CompactionSummary, 1)]);
        assert_eq!(reported(&[USER, compaction, gone, USER]), [(3, Role::User, 8)]);
    }

    #[test]
    fn an_edit_without_a_replacement_fails_if_its_target_is_a_message() {
        let silent = |target: &str| format!(r#""type":"context_edit","targetId":"{target}""#);
        assert!(context(&[USER, &silent("e0")]).is_err());
        assert!(context(&[USER, &silent("e9")]).is_ok());
    }

    #[test]
    fn a_message_without_content_has_an_empty_one() {
        let bare = r#""type":"message","message":{"role":"assistant"}"#;
        assert_eq!(reported(&[bare]), [(0, Role::Assistant, 0)]);
        let (_, context) = context(&[bare]).expect("builds");
        assert_eq!(context.messages[0].size.pi_chars.value(), Ok(Chars::ZERO));
    }
}
