//! The window that the provider really serves, written where the runtime's own trigger reads it (compaction 2.8).

use std::path::PathBuf;

use crate::explain::advice::{Advice, Change, WINDOW};
use crate::explain::case::Case;
use crate::explain::failure::Failure;
use crate::explain::simulate::{compacted, last_check};
use crate::inspect::Inspection;
use crate::js::Value;
use crate::policy::settings::Reader;

/// The served window for the model. A cap by `agents.defaults.contextTokens` would not move the trigger.
pub(super) fn served(case: &Case<'_>, failure: &Failure) -> Option<Advice> {
    let then = &failure.then;
    let limit = failure.overflow.limit?;
    if then.provider.is_empty() || then.model.is_empty() {
        return None;
    }
    let (file, above) = place(then);
    let change = Change {
        key: WINDOW.to_owned(),
        file,
        path: format!("{above}providers.{}.models[{}].contextWindow", then.provider, then.model),
        was: format!("{}", then.upkeep.runtime_window),
        now: limit.to_string(),
        value: Value::from(limit as f64),
        tuned: Value::from(limit as f64),
    };
    let trigger = limit as f64 - then.configured.compaction.reserve_tokens;
    let check = last_check(failure, &case.calls).filter(|check| check.tokens > trigger);
    let after =
        check.and_then(|check| compacted(failure, &check, then.configured.compaction.keep_recent_tokens));
    let note = match after {
        Some(_) => "the session is compacted before the run that failed",
        None => {
            "the runtime and the provider agree; the run that failed began too small to be compacted before it"
        }
    };
    Some(Advice::new(failure, vec![change], after.unwrap_or(failure.requested), note))
}

/// Where a model's window is written: pi has a file of its own for models, beside its settings.
fn place(inspection: &Inspection) -> (Option<PathBuf>, &'static str) {
    let own = inspection.settings.iter().find_map(|row| match &row.reader {
        Reader::Runtime { agent_dir, .. } => Some(agent_dir.join("models.json")),
        _ => None,
    });
    let above = if own.is_some() { "" } else { "models." };
    (own, above)
}
