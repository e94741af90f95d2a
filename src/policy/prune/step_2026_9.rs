//! Pruning as gateways of 2026.9 do it, as a step: what a call before made of a result is applied whatever the gate says,
//! and a round is taken where it is open (pruning 8.1, 8.2).

use crate::gateway::pruning::PruneSettings;
use crate::policy::edit::Edit;
use crate::policy::fate::Fate;
use crate::policy::list::List;
use crate::policy::prune::gate::Gate;
use crate::policy::prune::projections::{Projection, Snapshot};
use crate::policy::prune::round::{Round, Weighed, round};
use crate::policy::prune::stages::{Outcome, PruneInput};
use crate::policy::reason::Reason;
use crate::policy::texture::size_after;
use crate::store::intern::Words;

/// Prunes a list whose textures were read for these rules; `window` is in tokens. Without anything remembered only the
/// round is taken.
pub fn prune_round_list(
    list: &mut List,
    words: &Words,
    settings: &PruneSettings,
    window: f64,
    gate: Gate,
    remembered: Option<&Snapshot>,
) -> Outcome {
    let nothing = Snapshot::default();
    let weighed: Vec<Weighed<'_>> = (0..list.len()).map(|at| weigh(list, at)).collect();
    let done = round(&weighed, remembered.unwrap_or(&nothing), settings, window, gate.is_open());
    let input = PruneInput { list, words, settings, window };
    let mut outcome = Outcome::shut(&input, reason(&done, settings, window, gate));
    outcome.ratio_before = done.ratio_before;
    outcome.ratio_trimmed = done.ratio_trimmed;
    outcome.ratio_after = done.ratio_after;
    outcome.prunable_chars = done.prunable_chars;
    outcome.replaced = done.changed.keys().copied().collect();
    for (at, (projection, made)) in done.changed {
        let (fate, reason) = fate(&projection, done.new.contains(&at));
        let size = size_after(&list.size(at), &made);
        let texture = list.texture(at).map(|texture| texture.again(&made));
        outcome.fates[at].fate = fate;
        outcome.fates[at].reason = reason;
        outcome.fates[at].after = size.prune_chars;
        list.edit(at, edit(projection, settings), size, texture);
    }
    outcome
}

fn weigh<'a>(list: &'a List, at: usize) -> Weighed<'a> {
    let texture = list.texture(at);
    Weighed {
        role: list.size(at).role,
        chars: texture.and_then(|texture| texture.weight).unwrap_or(0.0),
        body: texture.and_then(|texture| texture.body.as_deref()),
    }
}

/// Why results that nothing was done to are as they are.
fn reason(done: &Round, settings: &PruneSettings, window: f64, gate: Gate) -> Reason {
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

fn fate(projection: &Projection, is_new: bool) -> (Fate, Reason) {
    match (projection, is_new) {
        (Projection::Soft, true) => (Fate::SoftTrimmed, Reason::SoftTrim),
        (Projection::Soft, false) => (Fate::SoftTrimmed, Reason::RememberedTrim),
        (Projection::Hard { .. }, true) => (Fate::Cleared, Reason::HardClear),
        (Projection::Hard { .. }, false) => (Fate::Cleared, Reason::RememberedClear),
        (Projection::Cut { .. }, _) => (Fate::Truncated, Reason::RememberedCut),
    }
}

fn edit(projection: Projection, settings: &PruneSettings) -> Edit {
    match projection {
        Projection::Soft => Edit::SoftTrim(settings.soft_trim),
        Projection::Hard { placeholder } => Edit::Placeholder(placeholder.into()),
        Projection::Cut { texts } => Edit::Texts(texts),
    }
}
