//! Context pruning as a trimming policy.

use crate::gateway::pruning::PruneSettings;
use crate::gateway::ruleset::Rules;
use crate::js::{JsException, Object};
use crate::policy::edit::Edit;
use crate::policy::fate::Fate;
use crate::policy::features::{ContentFeatures, size_after};
use crate::policy::message_list::MessageList;
use crate::policy::policy_set::Phase;
use crate::policy::prune::gate::Gate;
use crate::policy::prune::projections::{Projection, ProjectionSnapshot};
use crate::policy::prune::round::{MeasuredMessage, PruneRound, RoundOptions, prune_measured};
use crate::policy::prune::stages::{PruneInput, PruneOutcome, prune};
use crate::policy::reason::Reason;
use crate::policy::settings::PolicySettings;
use crate::policy::trimming::{
    PolicyDetails, PolicyError, PolicyInput, PolicyOutcome, TrimmingPolicy, Windows,
};
use crate::store::entry::CharCount;
use crate::store::intern::ValueTable;
use crate::units::{Chars, Tokens};

/// Trims and clears old tool results if the provider's cache is cold (pruning 3–5).
#[derive(Debug)]
pub struct Prune;

impl TrimmingPolicy for Prune {
    fn word(&self) -> &'static str {
        "prune"
    }

    fn rule(&self) -> &'static str {
        "pruning 3–5"
    }

    fn phase(&self) -> Phase {
        Phase::Call
    }

    fn is_supported_by(&self, rules: &Rules) -> bool {
        rules.pruner.is_active()
    }

    fn needs_features(&self, _: &Rules) -> bool {
        false
    }

    fn settings_json(&self, settings: &PolicySettings, _: Windows) -> Object {
        settings.prune.to_object()
    }

    fn run(&self, list: &mut MessageList<'_>, input: &PolicyInput<'_>) -> Result<PolicyOutcome, PolicyError> {
        let PolicyInput { words, gate, remembered, drops_thinking, .. } = *input;
        let (rules, settings, window) = (input.rules(), &input.settings.prune, input.windows.session);
        let mut outcome = if rules.needs_text_features() && input.has_features {
            let round =
                RoundInput { words, settings, window: Tokens(window), gate, remembered, drops_thinking };
            prune_round_list(list, rules, round)?
        } else {
            prune_list(list, rules, words, settings, Tokens(window), gate)?
        };
        let fates = std::mem::take(&mut outcome.fates);
        let replaced = std::mem::take(&mut outcome.replaced);
        let changed = !replaced.is_empty();
        let details = Some(PolicyDetails::Pruning(outcome));
        Ok(PolicyOutcome { fates, changed, replaced: Some(replaced), details })
    }
}

// Runs the pruner on a message list, from sizes only.

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

// Runs the pruner of gateways since 2026.3.7 on a message list, from texts. In versions that remember changes, those
// of earlier calls apply even if the gate is closed; more results are pruned only if it is open (pruning 8.1, 8.2).

#[derive(Debug, Clone, Copy)]
pub struct RoundInput<'a> {
    /// Table of the tool names.
    pub words: &'a ValueTable,
    pub settings: &'a PruneSettings,
    /// In tokens.
    pub window: Tokens,
    pub gate: Gate,
    /// Changes that earlier calls made.
    pub remembered: Option<&'a ProjectionSnapshot>,
    /// The model receives only the thinking of its last answer (releases R13).
    pub drops_thinking: bool,
}

/// Prunes a list whose features were measured under these rules.
///
/// # Errors
/// If the real pruner fails on a message; the list is unchanged then.
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
        let features = list.features_at(at).map(|features| features.remeasure(&made));
        outcome.fates[at].fate = fate;
        outcome.fates[at].reason = reason;
        outcome.fates[at].after = size.prune_chars;
        list.push_edit(at, projection_edit(projection, settings), size, features);
    }
    Ok(outcome)
}

fn measure<'a>(list: &'a MessageList, at: usize) -> MeasuredMessage<'a> {
    let features = list.features_at(at);
    MeasuredMessage {
        role: list.size(at).role,
        chars: features.and_then(ContentFeatures::prune_chars).unwrap_or(CharCount::ZERO),
        thinking_chars: features.map_or(Chars::ZERO, ContentFeatures::thinking_chars),
        has_images: list.size(at).images > 0,
        body: features.and_then(|features| features.body.as_ref()),
    }
}

/// Returns the reason of the tool results that did not change.
fn untouched_reason(done: &PruneRound, settings: &PruneSettings, window: Tokens, gate: Gate) -> Reason {
    match gate.reason() {
        Some(reason) => reason,
        None if window.is_nan() || window <= Tokens::ZERO => Reason::NoWindow,
        // The round did not start, because an assistant or user message is missing.
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
