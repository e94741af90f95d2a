//! Pruning by the texts themselves as a step, as gateways since 2026.3.7 ask for it: what a call before made of a result is
//! applied whatever the gate says, where the version remembers, and a round is taken where it is open (pruning 8.1, 8.2).

use crate::gateway::pruning::PruneSettings;
use crate::gateway::ruleset::Rules;
use crate::js::JsException;
use crate::policy::edit::Edit;
use crate::policy::fate::Fate;
use crate::policy::features::size_after;
use crate::policy::message_list::MessageList;
use crate::policy::prune::gate::Gate;
use crate::policy::prune::projections::{Projection, ProjectionSnapshot};
use crate::policy::prune::round::{MeasuredMessage, PruneRound, RoundOptions, prune_measured};
use crate::policy::prune::stages::{PruneInput, PruneOutcome};
use crate::policy::reason::Reason;
use crate::store::entry::CharCount;
use crate::store::intern::ValueTable;

/// What a round over a list goes by.
#[derive(Debug, Clone, Copy)]
pub struct RoundInput<'a> {
    /// The words that tool names are kept as.
    pub words: &'a ValueTable,
    /// The settings in force.
    pub settings: &'a PruneSettings,
    /// Window in tokens.
    pub window: f64,
    /// Whether it prunes anew.
    pub gate: Gate,
    /// What calls before made of results.
    pub remembered: Option<&'a ProjectionSnapshot>,
    /// The model is sent the thinking of its last answer alone (releases R13).
    pub drops_thinking: bool,
}

/// Prunes a list whose textures were read for these rules. Without anything remembered only the
/// round is taken.
///
/// # Errors
/// Where the real pruner fails on a message; the list is untouched then.
pub fn prune_round_list(
    list: &mut MessageList,
    rules: &Rules,
    input: RoundInput<'_>,
) -> Result<PruneOutcome, JsException> {
    let RoundInput { words, settings, window, gate, remembered, drops_thinking } = input;
    let nothing = ProjectionSnapshot::default();
    let weighed: Vec<MeasuredMessage<'_>> = (0..list.len()).map(|at| measure(list, at)).collect();
    let (size, gate_open) = (rules.prune_size, gate.is_open());
    let by = RoundOptions { settings, size, window, gate_open, drops_thinking };
    let done = prune_measured(&weighed, remembered.unwrap_or(&nothing), by)?;
    let input = PruneInput { list, words, settings, window, needs_names: false };
    let mut outcome = PruneOutcome::gate_closed(&input, untouched_reason(&done, settings, window, gate));
    outcome.ratio_before = done.ratio_before;
    outcome.ratio_trimmed = done.ratio_trimmed;
    outcome.ratio_after = done.ratio_after;
    outcome.prunable_chars = done.prunable_chars;
    outcome.replaced = done.changed.keys().copied().collect();
    for (at, (projection, made)) in done.changed {
        let (fate, reason) = projection_fate(&projection, done.new_changes.contains(&at));
        let size = size_after(&list.size(at), &made);
        let texture = list.features_at(at).map(|texture| texture.remeasure(&made));
        outcome.fates[at].fate = fate;
        outcome.fates[at].reason = reason;
        outcome.fates[at].after = size.prune_chars;
        list.push_edit(at, projection_edit(projection, settings), size, texture);
    }
    Ok(outcome)
}

fn measure<'a>(list: &'a MessageList, at: usize) -> MeasuredMessage<'a> {
    let texture = list.features_at(at);
    MeasuredMessage {
        role: list.size(at).role,
        chars: texture.and_then(|texture| texture.prune_chars).unwrap_or(CharCount::new(Ok(0.0))),
        thinking_chars: texture.map_or(0.0, |texture| texture.thinking_chars),
        has_images: list.size(at).images > 0,
        body: texture.and_then(|texture| texture.body.as_deref()),
    }
}

/// Why results that nothing was done to are as they are.
fn untouched_reason(done: &PruneRound, settings: &PruneSettings, window: f64, gate: Gate) -> Reason {
    match gate.reason() {
        Some(reason) => reason,
        None if window.is_nan() || window <= 0.0 => Reason::NoWindow,
        // It was not looked at: an assistant message or a user's is missing.
        None if done.ratio_before.is_nan() => Reason::TooFewAssistants,
        None if done.ratio_before < settings.soft_trim_ratio => Reason::RatioBelowSoft,
        None if done.ratio_trimmed < settings.hard_clear_ratio => Reason::BelowMaxChars,
        None if !settings.hard_clear.enabled => Reason::HardClearOff,
        None if done.prunable_chars < settings.min_prunable_tool_chars => Reason::TooFewPrunableChars,
        None => Reason::ClearedEnough,
    }
}

fn projection_fate(projection: &Projection, is_new: bool) -> (Fate, Reason) {
    match (projection, is_new) {
        (Projection::Soft, true) => (Fate::SoftTrimmed, Reason::SoftTrim),
        (Projection::Soft, false) => (Fate::SoftTrimmed, Reason::RememberedTrim),
        (Projection::Hard { .. }, true) => (Fate::Cleared, Reason::HardClear),
        (Projection::Hard { .. }, false) => (Fate::Cleared, Reason::RememberedClear),
        (Projection::Cut { .. }, _) => (Fate::Truncated, Reason::RememberedCut),
    }
}

fn projection_edit(projection: Projection, settings: &PruneSettings) -> Edit {
    match projection {
        Projection::Soft => Edit::SoftTrim(settings.soft_trim),
        Projection::Hard { placeholder } => Edit::Placeholder(placeholder.into()),
        Projection::Cut { texts } => Edit::ReplaceTexts(texts),
    }
}
