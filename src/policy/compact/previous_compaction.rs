//! Facts that a compaction needs about the one before it, read once from the branch so that every release's rules get
//! the same input.

use crate::context::system::replay_system_messages;
use crate::context::{ContentSource, ContextMessage, first_kept};
use crate::ids::EntryIx;
use crate::js::{JsException, Value};
use crate::policy::compact::branch::BranchEntry;
use crate::store::entry::{EntryKind, MessageSize, ReadMode, Role};
use crate::store::index::Index;
use crate::units::Tokens;

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
