//! The texts a plan makes: the messages after it, and the entries that differ.

use crate::context::{Context, bodies};
use crate::ids::EntryIx;
use crate::js::Value;
use crate::plan::Plan;
use crate::policy::prune::{cleared_message, soft_trimmed_message};
use crate::policy::{Fate, MessageFate};
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

/// A message under its fate. A fate that was decided from sizes cannot fail on the text it was measured from;
/// where the text changed meanwhile, the message stays as it is.
pub fn after(message: &Value, fate: &MessageFate, plan: &Plan) -> Value {
    match fate.fate {
        Fate::SoftTrimmed => soft_trimmed_message(message, &plan.settings.soft_trim)
            .ok()
            .flatten()
            .unwrap_or_else(|| message.clone()),
        Fate::Cleared => cleared_message(message, &plan.settings.hard_clear.placeholder),
        _ => message.clone(),
    }
}

/// Every changed entry with its new message, in context order.
pub fn changes(
    source: &Source,
    index: &Index,
    context: &Context,
    plan: &Plan,
) -> Result<Vec<EntryChange>, BodyError> {
    let changed = context.messages.iter().zip(plan.fates()).filter(|(_, fate)| fate.fate.changes());
    changed
        .map(|(message, fate)| {
            let body = bodies::message(source, index, message)?;
            Ok(EntryChange { entry: message.entry, message: after(&body, fate, plan) })
        })
        .collect()
}
