//! Builds the texts of a plan: the messages after it, and the entries that differ.

use crate::context::system::replay_system_messages;
use crate::context::{Context, bodies};
use crate::ids::EntryIx;
use crate::js::{Object, Value};
use crate::plan::{CompactionSummary, Plan};
use crate::policy::Fate;
use crate::policy::edit::{Edit, apply_all};
use crate::policy::message_list::{MessageOrigin, PlannedMessage};
use crate::store::body::BodyError;
use crate::store::index::Index;
use crate::store::source::Source;
use crate::units::Moment;

#[derive(Debug, Clone, PartialEq)]
pub struct EntryChange {
    pub entry: EntryIx,
    /// The message under the plan.
    pub message: Value,
}

/// Applies a plan to one message of the context. An edit was decided from the sizes of this message, so it cannot fail
/// on it; if the text has changed since, the message stays unchanged.
pub fn message_after(message: &Value, position: usize, plan: &Plan) -> Value {
    apply_all(plan.edits_at(position), message)
}

/// Builds the summary that a planned compaction puts first; without one a placeholder states the number of messages.
pub fn summary_message(plan: &Plan, made: Option<&CompactionSummary>, now_ms: Moment) -> Value {
    let not_made = || format!("[summary of {} messages, not made yet]", plan.count(Fate::Summarised)).into();
    Value::from(Object::from([
        ("role", Value::from("compactionSummary")),
        ("summary", made.map_or_else(not_made, |made| Value::String(made.text.clone()))),
        ("tokensBefore", plan.compaction.map_or(Value::Null, |compaction| compaction.tokens_before.into())),
        ("timestamp", Value::from(now_ms.get())),
    ]))
}

/// Builds every message as it would be sent. `summary` replaces the messages that a compaction removes; invented
/// results get the time `now_ms`.
pub fn messages_after(
    source: &Source,
    index: &Index,
    context: &Context,
    plan: &Plan,
    summary: &Value,
    now_ms: Moment,
) -> Result<Vec<Value>, BodyError> {
    let message = |item: &PlannedMessage| match &item.origin {
        MessageOrigin::Context(position) => {
            let body = bodies::read_message(source, index, &context.messages[*position as usize])?;
            Ok(apply_all(plan.message_edits(item), &body))
        }
        MessageOrigin::Summary => Ok(summary.clone()),
        MessageOrigin::Checkpoint => {
            let state = replay_system_messages(index, &context.messages).ok().flatten();
            Ok(state.map_or(Value::Null, |state| state.message_at(now_ms)))
        }
        MessageOrigin::Missing(missing) => Ok(apply_all(plan.message_edits(item), &missing.message(now_ms))),
    };
    plan.messages.iter().map(message).collect()
}

/// Returns the entry and new message of every [rewritten](Plan::rewritten) message, in the same order. Edits that no
/// transcript stores are left out ([`Edit::is_written`]).
pub fn entry_changes(
    source: &Source,
    index: &Index,
    context: &Context,
    plan: &Plan,
) -> Result<Vec<EntryChange>, BodyError> {
    plan.rewritten()
        .map(|(position, change)| {
            let message = &context.messages[position];
            let edits = change.edits(&plan.shared_edits);
            let written: Vec<Edit> = edits.iter().filter(|edit| edit.is_written()).cloned().collect();
            let body = bodies::read_message(source, index, message)?;
            Ok(EntryChange { entry: message.entry, message: apply_all(&written, &body) })
        })
        .collect()
}
