//! Repair as a step: unusable calls go, every call is followed by one result, and results lose their details, once when
//! a run begins (pruning 1.1, step 4). After the history limit the pairing is done again (step 7).

use crate::js::Value;
use crate::policy::edit::Edit;
use crate::policy::fate::{Fate, MessageFate};
use crate::policy::list::{Item, List};
use crate::policy::reason::Reason;
use crate::policy::repair::pairing::{Pairing, Placed, pair};
use crate::policy::repair::shape::{Shape, is_call};
use crate::store::entry::{Role, Size};

/// What a repair came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Repaired {
    /// The fate of every message it was given.
    pub fates: Vec<MessageFate>,
    /// Another list is sent: more, less, elsewhere or otherwise. Details do not count, they are never sent.
    pub changed: bool,
}

/// Repairs a list that a run begins with. Every tool name is allowed: which tools a run has is not in a transcript.
pub fn repair_list(list: &mut List) -> Repaired {
    let mut fates = untouched(list);
    let given = repair_inputs(list, &mut fates);
    strip_details(list, &mut fates, &given);
    let paired = pair_up(list, &mut fates, &given);
    Repaired { changed: paired || fates.iter().any(|fate| fate.fate.changes()), fates }
}

/// Pairs calls and results again, after messages were dropped.
pub fn pair_list(list: &mut List) -> Repaired {
    let mut fates = untouched(list);
    let given: Vec<usize> = (0..list.len()).collect();
    let changed = pair_up(list, &mut fates, &given);
    Repaired { fates, changed }
}

fn untouched(list: &List) -> Vec<MessageFate> {
    list.sizes().map(|size| MessageFate::kept(&size, Reason::Untouched)).collect()
}

/// Repairs the calls of assistant messages (compaction 6.7), of which only those with odd ones keep their body. Returns
/// which of the messages that were given are left.
fn repair_inputs(list: &mut List, fates: &mut [MessageFate]) -> Vec<usize> {
    let mut left = Vec::with_capacity(list.len());
    for (at, fate) in fates.iter_mut().enumerate() {
        let size = list.size(at);
        let body = list
            .texture(at)
            .filter(|_| size.role == Role::Assistant)
            .and_then(|texture| texture.body.clone());
        let Some(body) = body else {
            left.push(at);
            continue;
        };
        match super::repaired_message(&body) {
            None => *fate = MessageFate::gone(&size, Fate::Dropped, Reason::CallRemoved),
            Some(made) => {
                left.push(at);
                if let Some(reason) = repaired_reason(&body, &made) {
                    list.make(at, Edit::RepairInputs);
                    let after = list.size(at).prune_chars;
                    *fate = MessageFate { fate: Fate::Cleared, reason, after, ..*fate };
                }
            }
        }
    }
    let mut kept = left.iter().peekable();
    let mut at = 0;
    list.items_mut().retain(|_| {
        let stays = kept.next_if_eq(&&at).is_some();
        at += 1;
        stays
    });
    left
}

/// Why a message differs, where it does.
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

/// Takes the details off every tool result.
fn strip_details(list: &mut List, fates: &mut [MessageFate], given: &[usize]) {
    for (at, given) in given.iter().enumerate() {
        let has_details = list.texture(at).is_some_and(|texture| texture.details_chars.is_some());
        if has_details && list.size(at).role == Role::ToolResult {
            list.make(at, Edit::StripDetails);
            fates[*given].reason = Reason::DetailsStripped;
        }
    }
}

/// Pairs a list whose messages were given as these; whether that gives another list (compaction 6.2).
fn pair_up(list: &mut List, fates: &mut [MessageFate], given: &[usize]) -> bool {
    let shape = |at| list.texture(at).map_or(&Shape::Other, |texture| &texture.shape);
    let pairing = pair(&(0..list.len()).map(shape).collect::<Vec<_>>());
    let mut changed = tell_moved(&pairing, list, fates, given);
    changed |= tell_dropped(&pairing, fates, given);
    let mut items: Vec<Option<Item>> = list.items_mut().drain(..).map(Some).collect();
    for placed in pairing.order {
        changed |= !matches!(placed, Placed::Kept(_));
        match placed {
            Placed::Kept(at) => list.items_mut().extend(items[at].take()),
            Placed::Renamed(at, name) => {
                list.items_mut().extend(items[at].take());
                list.make(list.len() - 1, Edit::ToolName(name));
                fates[given[at]].reason = Reason::RenamedResult;
            }
            Placed::Added(missing) => list.items_mut().push(Item::from(missing)),
        }
    }
    changed
}

/// The input's index of a placed message.
fn index(placed: &Placed) -> Option<usize> {
    match placed {
        Placed::Kept(at) | Placed::Renamed(at, _) => Some(*at),
        Placed::Added(_) => None,
    }
}

/// Results that moved up to their call: something that stood before them comes behind them.
fn tell_moved(pairing: &Pairing, list: &List, fates: &mut [MessageFate], given: &[usize]) -> bool {
    let mut least = usize::MAX;
    let mut moved = false;
    for at in pairing.order.iter().rev().filter_map(index) {
        if at > least && list.size(at).role == Role::ToolResult {
            fates[given[at]].reason = Reason::Moved;
            moved = true;
        }
        least = least.min(at);
    }
    moved
}

fn tell_dropped(pairing: &Pairing, fates: &mut [MessageFate], given: &[usize]) -> bool {
    let mut stays = vec![false; given.len()];
    pairing.order.iter().filter_map(index).for_each(|at| stays[at] = true);
    for at in (0..given.len()).filter(|at| !stays[*at]) {
        let orphan = pairing.orphans.binary_search(&at).is_ok();
        let reason = if orphan { Reason::OrphanResult } else { Reason::DuplicateResult };
        let fate = &mut fates[given[at]];
        *fate = MessageFate { fate: Fate::Dropped, reason, after: Size::ZERO, ..*fate };
    }
    stays.contains(&false)
}

#[cfg(test)]
#[path = "step_tests.rs"]
mod tests;
