//! The estimate of pi since 0.87: a provider's count is an anchor only until an edit or a compaction changes the
//! context (store-pi-1.5 E3–E6).

use crate::context::build::{Context, ContextMessage};
use crate::context::system::replay_system_messages;
use crate::context::tokens::chars4::estimate_message;
use crate::context::tokens::usage::{ContextEstimate, estimate_context, estimate_context_under};
use crate::gateway::ruleset::Rules;
use crate::ids::EntryIx;
use crate::js::JsException;
use crate::store::entry::{EntryKind, ReadMode, Role};
use crate::store::index::Index;
use crate::units::Tokens;

/// Estimates a context under the rules of the runtime it was built for.
pub fn estimate_for_runtime(
    rules: &Rules,
    index: &Index,
    context: &Context,
) -> Result<ContextEstimate, JsException> {
    let messages = &context.messages;
    match index.reading {
        ReadMode::Entries => {
            estimate_context_under(rules, messages, |at| estimate_message(&messages[at].size))
        }
        ReadMode::Projected => estimate_projected(index, &context.path, &context.messages),
    }
}

/// Estimates projected messages. The anchor counts if its entry follows the last edit and the last compaction of the
/// path. Otherwise everything is estimated, with the system messages replayed to one (store-pi-1.5 E5).
pub fn estimate_projected(
    index: &Index,
    path: &[EntryIx],
    messages: &[ContextMessage],
) -> Result<ContextEstimate, JsException> {
    let plain = estimate_context(messages)?;
    let anchor = plain.last_usage.map(|at| messages[at].entry);
    if anchor.is_some_and(|anchor| is_after_changes(index, path, anchor)) {
        return Ok(plain);
    }
    let tokens = estimate_unanchored(index, messages)?;
    Ok(ContextEstimate { tokens, usage_tokens: Tokens::ZERO, trailing_tokens: tokens, last_usage: None })
}

/// Estimates the system messages as one and every other message by itself.
fn estimate_unanchored(index: &Index, messages: &[ContextMessage]) -> Result<Tokens, JsException> {
    let system =
        replay_system_messages(index, messages)?.map_or(Ok(0.0), |state| state.tokens().map(Tokens::get))?;
    let others = messages.iter().filter(|message| message.size.role != Role::System);
    others
        .map(|message| estimate_message(&message.size))
        .try_fold(system, |sum, tokens| Ok(sum + tokens?.get()))
        .map(Tokens)
}

fn changes_context(index: &Index, ix: EntryIx) -> bool {
    matches!(index.entry(ix).kind, EntryKind::ContextEdit | EntryKind::Compaction)
}

fn is_after_changes(index: &Index, path: &[EntryIx], anchor: EntryIx) -> bool {
    let last = path.iter().rposition(|ix| changes_context(index, *ix));
    path.iter().rposition(|ix| *ix == anchor) > last
}
