//! Oracle of store-pi-1.5 J: the messages that pi summarises when a user leaves a branch for another one. clawscope shows
//! such summaries and makes none.

use std::collections::HashMap;

use clawscope::context::bodies::entry_message;
use clawscope::context::projection::{last_edits, replace_content};
use clawscope::context::tokens::estimate_message;
use clawscope::gateway::ruleset::PiChange;
use clawscope::ids::EntryIx;
use clawscope::js::{self, JsException, Value};
use clawscope::policy::compact::files::FileOps;
use clawscope::store::entry::{EntryKind, Replacement, Role};
use clawscope::store::index::Index;
use clawscope::store::intern::IdIx;
use clawscope::store::measure::role_of;
use clawscope::store::scan::measure_message;
use clawscope::transcript::Tree;
use clawscope::units::Tokens;

/// The part of the tree that is left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LeftBranch {
    /// The deepest entry that both branches share; `None` if they share none.
    pub(super) ancestor: Option<EntryIx>,
    /// The entries after it, oldest first.
    pub(super) entries: Vec<EntryIx>,
}

/// The input of a branch summary.
#[derive(Debug, Clone)]
pub(super) struct BranchSummaryTexts {
    /// Oldest first.
    pub(super) messages: Vec<Value>,
    /// Estimated tokens of the messages.
    pub(super) total_tokens: Tokens,
    /// Files of earlier summaries first, then those of the messages.
    pub(super) files: FileOps,
}

/// Returns the entries between the leaf `from` and the branch of `target`; empty without a leaf.
pub(super) fn find_left_branch(
    index: &Index,
    tree: &Tree,
    from: Option<EntryIx>,
    target: EntryIx,
) -> LeftBranch {
    let Some(from) = from else { return LeftBranch { ancestor: None, entries: Vec::new() } };
    let (path, other) = (tree.path_to(index, from), tree.path_to(index, target));
    let shared = path.iter().zip(&other).take_while(|(a, b)| a == b).count();
    LeftBranch { ancestor: shared.checked_sub(1).map(|at| path[at]), entries: path[shared..].to_vec() }
}

/// Collects messages from the newest entry back until `budget` tokens are used; a budget of 0 or less means no limit
/// (store-pi-1.5 J1). `body` reads an entry.
///
/// # Errors
/// The outer error means that an entry could not be read; the inner one, that the runtime cannot estimate a message.
pub(super) fn prepare_branch_summary<E>(
    index: &Index,
    entries: &[EntryIx],
    budget: f64,
    body: impl Fn(EntryIx) -> Result<Value, E>,
) -> Result<Result<BranchSummaryTexts, JsException>, E> {
    if entries.iter().any(|ix| index.entry(*ix).lacks_message) {
        return Ok(Err(JsException));
    }
    let mut leaving =
        BranchSummaryTexts { messages: Vec::new(), total_tokens: Tokens::ZERO, files: FileOps::default() };
    for ix in entries.iter().filter(|ix| index.entry(**ix).kind == EntryKind::BranchSummary) {
        leaving.files.add_branch_summary(&body(*ix)?);
    }
    let edited = index.pi_release.has(PiChange::EditsBranchSummaries);
    let edits = if edited { last_edits(index, entries) } else { HashMap::new() };
    for ix in entries.iter().rev() {
        let Some(message) = recorded_message(index, *ix, &edits, &body)? else { continue };
        leaving.files.add_message_for(index.pi_release, &message);
        let size = measure_message(&message).size.for_release(index.pi_release);
        let bare = message.get("content").is_none_or(Value::is_null);
        let needs = matches!(size.role, Role::User | Role::Assistant | Role::Custom | Role::System);
        let Some(tokens) = estimate_message(&size).ok().filter(|_| !(bare && needs)) else {
            return Ok(Err(JsException));
        };
        let full = budget > 0.0 && leaving.total_tokens + tokens > Tokens(budget);
        let summary = matches!(index.entry(*ix).kind, EntryKind::Compaction | EntryKind::BranchSummary);
        if full && !(summary && leaving.total_tokens < Tokens(budget * 0.9)) {
            break;
        }
        leaving.messages.push(message);
        leaving.total_tokens += tokens;
        if full {
            break;
        }
    }
    leaving.messages.reverse();
    Ok(Ok(leaving))
}

/// Returns the recorded message of an entry; `None` for tool results and for messages that an edit left out. Edits
/// never change summaries (store-pi-1.5 J1).
fn recorded_message<E>(
    index: &Index,
    ix: EntryIx,
    edits: &HashMap<IdIx, EntryIx>,
    body: &impl Fn(EntryIx) -> Result<Value, E>,
) -> Result<Option<Value>, E> {
    let entry = index.entry(ix);
    let speaks = match entry.kind {
        EntryKind::Message => entry.role() != Some(Role::ToolResult),
        EntryKind::CustomMessage | EntryKind::BranchSummary | EntryKind::Compaction => true,
        _ => false,
    };
    let own = matches!(entry.kind, EntryKind::Message | EntryKind::CustomMessage);
    let edit = entry.id.filter(|_| own).and_then(|id| edits.get(&id)).copied();
    let replacement = edit.and_then(|edit| index.replacement(edit));
    if !speaks || replacement == Some(&Replacement::Omitted) {
        return Ok(None);
    }
    let message = entry_message(&body(ix)?, entry.kind);
    let replaced =
        matches!(role_of(&message), Role::User | Role::Assistant | Role::ToolResult | Role::Custom);
    let message = match replacement {
        Some(Replacement::Content(new)) if replaced => replace_content(&message, new),
        _ => message,
    };
    Ok(Some(message).filter(|message| js::is_truthy(Some(message))))
}
