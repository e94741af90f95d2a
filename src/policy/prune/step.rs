//! Runs the pruner on a message list, from sizes only.

use crate::gateway::pruning::PruneSettings;
use crate::gateway::ruleset::Rules;
use crate::js::JsException;
use crate::policy::edit::Edit;
use crate::policy::fate::Fate;
use crate::policy::message_list::MessageList;
use crate::policy::prune::gate::Gate;
use crate::policy::prune::stages::{PruneInput, PruneOutcome, prune};
use crate::store::intern::ValueTable;
use crate::units::Tokens;

/// Prunes a list; a closed gate leaves it unchanged.
///
/// # Errors
/// If the real pruner fails; the list is unchanged then.
pub fn prune_list(
    list: &mut MessageList,
    rules: &Rules,
    words: &ValueTable,
    settings: &PruneSettings,
    window: Tokens,
    gate: Gate,
) -> Result<PruneOutcome, JsException> {
    let needs_names = rules.filter_needs_name;
    let input = PruneInput { list, words, settings, window, needs_names };
    let outcome = match gate.reason() {
        None => prune(&input)?,
        Some(reason) => PruneOutcome::gate_closed(&input, reason),
    };
    let trimmed = list.share_edit(Edit::SoftTrim(settings.soft_trim));
    let cleared = list.share_edit(Edit::Placeholder(settings.hard_clear.placeholder.clone().into()));
    for at in outcome.replaced.iter().copied() {
        let fate = &outcome.fates[at];
        let edit = if fate.fate == Fate::SoftTrimmed { trimmed } else { cleared };
        list.replace_with_text(at, fate.after.value()?, edit);
    }
    Ok(outcome)
}
