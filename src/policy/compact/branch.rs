//! The entries of a branch, reduced to the facts that compaction needs (compaction 3.10).

use std::collections::HashMap;

use crate::context::bodies::entry_message;
use crate::context::projection::{project, projected_size};
use crate::context::system::replay_system_messages;
use crate::context::{ContentSource, ContextMessage, first_kept};
use crate::gateway::ruleset::{PiChange, PiRelease};
use crate::ids::EntryIx;
use crate::js::{self, JsException, Value};
use crate::store::entry::{EntryKind, MessageSize, ReadMode, Replacement, Role};
use crate::store::index::Index;
use crate::store::intern::IdIx;
use crate::store::scan::measure_message;
use crate::units::Tokens;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BranchEntry {
    pub entry: EntryIx,
    pub kind: EntryKind,
    /// The entry has an id, so a compaction can name it as the first one kept.
    pub has_id: bool,
    /// Sizes of the message it contributes; `None` when it contributes none. Branch summaries count even without a
    /// text.
    pub message: Option<MessageSize>,
    /// A `message` entry whose message is absent or null.
    pub lacks_message: bool,
    /// Its projection; `None` when the runtime reads entries one by one.
    pub projected: Option<ProjectedEntry>,
}

/// Facts about an entry that only a projection knows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProjectedEntry {
    /// Position on the path. In a projection the last compaction comes first, so this differs from the list position.
    pub path_index: u32,
    /// The id by which edits name it.
    pub id: Option<IdIx>,
    /// Source of its message's content.
    pub content_source: ContentSource,
    /// The role of its message, if an edit left the message out.
    pub omitted: Option<Role>,
    /// The target of an edit that replaces content; `None` for other entries and for edits that leave content out.
    pub replaces: Option<Option<IdIx>>,
}

impl BranchEntry {
    /// The role of a `message` entry's message; `None` for other kinds of entry.
    pub fn role(&self) -> Option<Role> {
        self.message.filter(|_| self.kind == EntryKind::Message).map(|message| message.role)
    }
}

/// Returns the entries of a path, root first. `body` reads an entry and is called only for branch summaries without a
/// text, whose sizes the index does not keep.
pub fn branch_entries<E>(
    index: &Index,
    path: &[EntryIx],
    body: impl Fn(EntryIx) -> Result<Value, E>,
) -> Result<Vec<BranchEntry>, E> {
    let entry = |ix: &EntryIx| {
        let entry = index.entry(*ix);
        let by_context = index.pi_release.has(PiChange::CutsByContext);
        let message = match (entry.kind, entry.message) {
            (EntryKind::BranchSummary, None) if !by_context => {
                Some(measure_message(&entry_message(&body(*ix)?, entry.kind)).size)
            }
            (_, message) if by_context => message.map(|size| projected_size(index, *ix, &size)),
            (_, message) => message.map(|size| size.for_release(index.pi_release)),
        };
        Ok(BranchEntry {
            entry: *ix,
            kind: entry.kind,
            has_id: entry.id.is_some_and(|id| index.ids.is_truthy(id)),
            message,
            lacks_message: entry.lacks_message,
            projected: None,
        })
    };
    // Collecting results does not know their number, and long paths fill memory.
    let mut entries = Vec::with_capacity(path.len());
    for ix in path {
        entries.push(entry(ix)?);
    }
    Ok(entries)
}

/// Returns the entries of a path as the index's runtime compacts them: one by one, or projected. Empty when projecting
/// throws, because then there is no context to compact either.
pub fn branch_entries_for_runtime<E>(
    index: &Index,
    path: &[EntryIx],
    body: impl Fn(EntryIx) -> Result<Value, E>,
) -> Result<Vec<BranchEntry>, E> {
    match index.reading {
        ReadMode::Entries => branch_entries(index, path, body),
        ReadMode::Projected => Ok(projected_branch_entries(index, path).unwrap_or_default()),
    }
}

/// Returns the entries that a projection of the path selects, each with its message (store-pi-1.5 H1).
pub fn projected_branch_entries(index: &Index, path: &[EntryIx]) -> Result<Vec<BranchEntry>, JsException> {
    let projection = project(index, path)?;
    let places: HashMap<EntryIx, u32> = path.iter().enumerate().map(|(at, ix)| (*ix, at as u32)).collect();
    let mut messages = projection.messages.iter();
    let entries = projection.entries.iter().map(|(ix, count)| {
        // A compaction with a checkpoint yields several messages; its summary is the last.
        let message = messages.by_ref().take(*count as usize).last();
        let entry = index.entry(*ix);
        let replaces = match index.replacement(*ix) {
            Some(Replacement::Omitted) | None => None,
            Some(_) => Some(entry.reference),
        };
        let would_speak = entry.becomes_message() || entry.kind == EntryKind::Compaction;
        BranchEntry {
            entry: *ix,
            kind: entry.kind,
            has_id: entry.id.is_some_and(|id| index.ids.is_truthy(id)),
            message: message.map(|message| message.size),
            lacks_message: false,
            projected: Some(ProjectedEntry {
                path_index: places.get(ix).copied().unwrap_or(0),
                id: entry.id,
                content_source: message.map_or(ContentSource::Own, |message| message.content_source),
                omitted: entry.role().filter(|_| message.is_none() && would_speak),
                replaces,
            }),
        }
    });
    Ok(entries.collect())
}

/// Returns the message that an entry contributes to the summarised text (compaction 3.10, 3.10c).
pub fn message_to_summarise(entry: &Value, kind: EntryKind) -> Option<Value> {
    match kind {
        EntryKind::Message => Some(entry_message(entry, kind)).filter(|message| js::is_truthy(Some(message))),
        EntryKind::CustomMessage | EntryKind::BranchSummary | EntryKind::Compaction => {
            Some(entry_message(entry, kind))
        }
        _ => None,
    }
}

/// Whether an entry contributes to the summary: compactions never do, system messages only in releases without
/// [`PiChange::KeepsSystemMessages`] (store-pi-1.5 H8).
pub(super) fn is_summarised(pi: PiRelease, entry: &BranchEntry) -> bool {
    let speaks = |role| role != Role::System || !pi.has(PiChange::KeepsSystemMessages);
    entry.kind != EntryKind::Compaction && entry.message.is_some_and(|size| speaks(size.role))
}

// Facts that a compaction needs about the one before it, read once from the branch so that every release's rules get
// the same input.

/// Facts about a branch that its entries do not hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PreviousCompaction {
    /// Start of the part that the last compaction kept; `None` when that entry does not exist.
    pub first_kept: Option<usize>,
    /// An extension made the last compaction.
    pub from_hook: bool,
    /// Tokens that the provider counted of the context; `None` where the branch's own answers say it, 0 where the count
    /// does not matter.
    pub counted: Option<Tokens>,
    /// Tokens of a projection's system messages, replayed to one; 0 without a projection (store-pi-1.5 E5).
    pub system_tokens: Result<Tokens, JsException>,
}

impl PreviousCompaction {
    /// Reads the facts from the branch and the body of its last compaction; `body` is called only for that entry.
    /// Leaves `counted` to the branch.
    pub fn read<E>(
        index: &Index,
        branch: &[BranchEntry],
        body: impl Fn(EntryIx) -> Result<Value, E>,
    ) -> Result<Self, E> {
        if index.reading == ReadMode::Projected {
            return Ok(Self { system_tokens: system_tokens(index, branch), ..Self::default() });
        }
        let previous = branch.iter().rposition(|entry| entry.kind == EntryKind::Compaction);
        let Some(at) = previous else { return Ok(Self::default()) };
        let path: Vec<EntryIx> = branch[..at].iter().map(|entry| entry.entry).collect();
        let body = body(branch[at].entry)?;
        Ok(Self {
            first_kept: first_kept(index, &path, branch[at].entry),
            from_hook: body.get("fromHook").and_then(Value::as_bool) == Some(true),
            ..Self::default()
        })
    }
}

impl Default for PreviousCompaction {
    fn default() -> Self {
        Self { first_kept: None, from_hook: false, counted: None, system_tokens: Ok(Tokens::ZERO) }
    }
}

/// Returns the tokens of a projected branch's system messages, replayed to one; 0 without any.
pub(super) fn system_tokens(index: &Index, branch: &[BranchEntry]) -> Result<Tokens, JsException> {
    let system = branch.iter().filter(|entry| {
        let own = entry.message.is_some_and(|size| size.role == Role::System);
        own || entry.kind == EntryKind::Compaction && entry.message.is_some()
    });
    let messages: Vec<ContextMessage> = system
        .filter(|entry| index.system_message(entry.entry).is_some())
        .filter_map(|entry| {
            let size = MessageSize { role: Role::System, ..entry.message? };
            let made = if entry.kind == EntryKind::Compaction {
                ContentSource::Checkpoint
            } else {
                ContentSource::Own
            };
            Some(ContextMessage { content_source: made, ..ContextMessage::from_entry(entry.entry, size) })
        })
        .collect();
    replay_system_messages(index, &messages)?.map_or(Ok(Tokens::ZERO), |state| state.tokens())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::LineIds;
    use crate::store::load::load_bytes;
    use crate::units::Chars;

    /// Returns the pi chars of a branch summary with this `summary` member.
    fn chars(summary: &str) -> Result<Chars, JsException> {
        let line = format!(r#"{{"type":"branch_summary","id":"a"{summary}}}"#);
        let text = format!("{{\"type\":\"session\",\"version\":3,\"id\":\"s\"}}\n{line}\n");
        let index = load_bytes("t.jsonl", text.as_bytes(), &mut LineIds);
        let body = |_| Ok::<_, ()>(js::parse(&line).expect("test JSON"));
        let branch = branch_entries(&index, &[EntryIx(0)], body).expect("reads");
        branch[0].message.expect("contributes").pi_chars.value()
    }

    #[test]
    fn a_branch_summary_with_empty_text_contributes_and_one_without_summary_throws() {
        assert_eq!(chars(r#","summary":"abc""#), Ok(Chars(3.0)));
        assert_eq!(chars(r#","summary":"""#), Ok(Chars(0.0)));
        assert!(chars(r#","summary":0"#).is_ok_and(Chars::is_nan));
        assert_eq!(chars(""), Err(JsException));
    }

    #[test]
    fn a_falsy_message_is_left_out() {
        let entry = |message: &str| js::parse(&format!(r#"{{"message":{message}}}"#)).expect("test JSON");
        assert_eq!(message_to_summarise(&entry("\"\""), EntryKind::Message), None);
        assert_eq!(message_to_summarise(&entry("5"), EntryKind::Message), Some(Value::from(5)));
        assert_eq!(message_to_summarise(&entry("{}"), EntryKind::Label), None);
    }
}
