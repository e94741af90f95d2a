//! The texts a plan makes: the messages after it, and the entries that differ.

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

/// An entry whose message differs under a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryChange {
    /// The entry.
    pub entry: EntryIx,
    /// Its message under the plan.
    pub message: Value,
}

/// A message of the context under a plan. A change that was decided from sizes cannot fail on the text it was
/// measured from; where the text changed meanwhile, the message stays as it is.
pub fn message_after(message: &Value, position: usize, plan: &Plan) -> Value {
    apply_all(plan.edits_at(position), message)
}

/// The summary that a planned compaction puts first. One that nobody made yet is told by what it stands for.
pub fn summary_message(plan: &Plan, made: Option<&CompactionSummary>, now_ms: f64) -> Value {
    let not_made = || format!("[summary of {} messages, not made yet]", plan.count(Fate::Summarised)).into();
    Value::from(Object::from([
        ("role", Value::from("compactionSummary")),
        ("summary", made.map_or_else(not_made, |made| Value::String(made.text.clone()))),
        ("tokensBefore", plan.compaction.map_or(Value::Null, |compaction| compaction.tokens_before.into())),
        ("timestamp", Value::from(now_ms)),
    ]))
}

/// Every message as it would be sent. `summary` is the text that stands for what a compaction takes away; `now_ms`
/// is when missing results are invented.
pub fn messages_after(
    source: &Source,
    index: &Index,
    context: &Context,
    plan: &Plan,
    summary: &Value,
    now_ms: f64,
) -> Result<Vec<Value>, BodyError> {
    let message = |item: &PlannedMessage| match &item.origin {
        MessageOrigin::Context(position) => {
            let body = bodies::read_message(source, index, &context.messages[*position as usize])?;
            Ok(apply_all(plan.message_edits(item), &body))
        }
        MessageOrigin::Summary => Ok(summary.clone()),
        MessageOrigin::Checkpoint => {
            let state = replay_system_messages(index, &context.messages).ok().flatten();
            Ok(state.map_or(Value::Null, |state| state.message_at(now_ms as i64)))
        }
        MessageOrigin::Missing(missing) => Ok(apply_all(plan.message_edits(item), &missing.message(now_ms))),
    };
    plan.messages.iter().map(message).collect()
}

/// The entry of every [rewritten](Plan::rewritten) message, with its new message, in the same order. Edits that no
/// transcript has are left out ([`Edit::is_written`]).
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
