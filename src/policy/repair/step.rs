//! Applies repair to a planned message list (pruning 1.1, step 4): removes unusable calls, pairs calls with results,
//! and strips result details, once at the start of a run. Pairing runs again after the history limit (step 7).

use crate::gateway::ruleset::Rules;
use crate::js::Value;
use crate::policy::edit::Edit;
use crate::policy::fate::{Fate, MessageFate};
use crate::policy::features::MessageBody;
use crate::policy::message_list::{MessageList, PlannedMessage};
use crate::policy::policy_set::Phase;
use crate::policy::reason::Reason;
use crate::policy::repair::by_use::{Pairing, PlacedMessage};
use crate::policy::repair::pair::pair;
use crate::policy::repair::shape::{PairingShape, RepairRules, is_call};
use crate::policy::trimming::{PolicyError, PolicyInput, PolicyOutcome, TrimmingPolicy};
use crate::store::entry::{CharCount, Role};

#[derive(Debug, Clone, PartialEq)]
pub struct RepairResult {
    /// The fate of every input message.
    pub fates: Vec<MessageFate>,
    /// The list to be sent differs: messages added, removed, moved or edited. Details do not count; they are never
    /// sent.
    pub changed: bool,
}

/// Repairs the list at the start of a run. Every tool name is allowed, because a transcript does not record the tools
/// of a run.
pub fn repair_list(list: &mut MessageList, rules: RepairRules) -> RepairResult {
    let mut fates = unchanged_fates(list);
    let given = repair_inputs(list, &mut fates);
    strip_details(list, &mut fates, &given);
    let paired = apply_pairing_to_list(list, rules, &mut fates, &given);
    RepairResult { changed: paired || fates.iter().any(|fate| fate.fate.is_change()), fates }
}

/// Pairs calls and results again after messages were dropped.
pub fn pair_list(list: &mut MessageList, rules: RepairRules) -> RepairResult {
    let mut fates = unchanged_fates(list);
    let given: Vec<usize> = (0..list.len()).collect();
    let changed = apply_pairing_to_list(list, rules, &mut fates, &given);
    RepairResult { fates, changed }
}

fn unchanged_fates(list: &MessageList) -> Vec<MessageFate> {
    list.sizes().map(|size| MessageFate::kept(&size, Reason::Untouched)).collect()
}

/// Repairs the calls of assistant messages (compaction 6.7) and returns the input indexes of the messages that are
/// left. Only messages with unusual calls have their body loaded.
fn repair_inputs(list: &mut MessageList, fates: &mut [MessageFate]) -> Vec<usize> {
    let mut left = Vec::with_capacity(list.len());
    for (at, fate) in fates.iter_mut().enumerate() {
        let size = list.size(at);
        let body = list
            .features_at(at)
            .filter(|features| size.role == Role::Assistant && features.needs_input_repair)
            .and_then(|features| features.body.as_ref())
            .map(MessageBody::value);
        let Some(body) = body else {
            left.push(at);
            continue;
        };
        match super::repaired_message(&body) {
            None => *fate = MessageFate::removed(&size, Fate::Dropped, Reason::CallRemoved),
            Some(made) => {
                left.push(at);
                if let Some(reason) = repaired_reason(&body, &made) {
                    list.apply_edit(at, &Edit::RepairInputs);
                    let after = list.size(at).prune_chars;
                    *fate = MessageFate { fate: Fate::Cleared, reason, after, ..*fate };
                }
            }
        }
    }
    let mut kept = left.iter().peekable();
    let mut at = 0;
    list.messages_mut().retain(|_| {
        let stays = kept.next_if_eq(&&at).is_some();
        at += 1;
        stays
    });
    left
}

/// Returns why a repaired message differs; `None` when it does not.
fn repaired_reason(body: &Value, made: &Value) -> Option<Reason> {
    let calls = |message: &Value| {
        let blocks = message.get("content").and_then(Value::as_array).unwrap_or_default();
        blocks.iter().filter(|block| is_call(*block)).count()
    };
    if calls(made) < calls(body) {
        return Some(Reason::CallRemoved);
    }
    (made != body).then_some(Reason::CallTidied)
}

fn strip_details(list: &mut MessageList, fates: &mut [MessageFate], given: &[usize]) {
    for (at, given) in given.iter().enumerate() {
        let has_details = list.features_at(at).is_some_and(|features| features.details_chars.is_some());
        if has_details && list.size(at).role == Role::ToolResult {
            list.apply_edit(at, &Edit::StripDetails);
            fates[*given].reason = Reason::DetailsStripped;
        }
    }
}

/// Pairs a list and returns whether that changes it (compaction 6.2). `given` maps positions to input indexes.
fn apply_pairing_to_list(
    list: &mut MessageList,
    rules: RepairRules,
    fates: &mut [MessageFate],
    given: &[usize],
) -> bool {
    let shape = |at| list.features_at(at).map_or(&PairingShape::Other, |features| &features.shape);
    let pairing = pair(&(0..list.len()).map(shape).collect::<Vec<_>>(), rules);
    let mut changed = mark_moved(&pairing, list, fates, given);
    changed |= mark_dropped(&pairing, fates, given);
    let mut items: Vec<Option<PlannedMessage>> = list.messages_mut().drain(..).map(Some).collect();
    for placed in pairing.order {
        changed |= !matches!(placed, PlacedMessage::Original(_));
        match placed {
            PlacedMessage::Original(at) => list.messages_mut().extend(items[at].take()),
            PlacedMessage::Renamed(at, name) => {
                list.messages_mut().extend(items[at].take());
                list.apply_edit(list.len() - 1, &Edit::RenameTool(name));
                fates[given[at]].reason = Reason::RenamedResult;
            }
            PlacedMessage::Synthetic(missing) => {
                list.messages_mut().push(PlannedMessage::invented(missing, rules.rules));
            }
        }
    }
    changed
}

/// Marks the results that moved up to their call: some message that preceded them now follows.
fn mark_moved(pairing: &Pairing, list: &MessageList, fates: &mut [MessageFate], given: &[usize]) -> bool {
    let mut least = usize::MAX;
    let mut moved = false;
    for at in pairing.order.iter().rev().filter_map(PlacedMessage::input_index) {
        if at > least && list.size(at).role == Role::ToolResult {
            fates[given[at]].reason = Reason::Moved;
            moved = true;
        }
        least = least.min(at);
    }
    moved
}

fn mark_dropped(pairing: &Pairing, fates: &mut [MessageFate], given: &[usize]) -> bool {
    let mut stays = vec![false; given.len()];
    pairing.order.iter().filter_map(PlacedMessage::input_index).for_each(|at| stays[at] = true);
    for at in (0..given.len()).filter(|at| !stays[*at]) {
        let is_in = |dropped: &[usize]| dropped.binary_search(&at).is_ok();
        let reason = match () {
            () if is_in(&pairing.orphans) => Reason::OrphanResult,
            () if is_in(&pairing.failed) => Reason::FailedAnswer,
            () => Reason::DuplicateResult,
        };
        let fate = &mut fates[given[at]];
        *fate = MessageFate { fate: Fate::Dropped, reason, after: CharCount::ZERO, ..*fate };
    }
    stays.contains(&false)
}

/// Pairs calls with results (compaction 6).
#[derive(Debug)]
pub struct Repair;

impl TrimmingPolicy for Repair {
    fn word(&self) -> &'static str {
        "repair"
    }

    fn rule(&self) -> &'static str {
        "compaction 6"
    }

    fn phase(&self) -> Phase {
        Phase::Run
    }

    fn is_supported_by(&self, _: &Rules) -> bool {
        true
    }

    fn needs_features(&self, _: &Rules) -> bool {
        true
    }

    fn run(&self, list: &mut MessageList<'_>, input: &PolicyInput<'_>) -> Result<PolicyOutcome, PolicyError> {
        let repaired = repair_list(list, input.repair_rules());
        // Pairing may move or add messages without changing the fate of one.
        Ok(PolicyOutcome { changed: repaired.changed, ..PolicyOutcome::new(repaired.fates) })
    }
}

#[cfg(test)]
#[path = "step_tests.rs"]
mod tests;
