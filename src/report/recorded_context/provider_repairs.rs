//! Repairs that only some providers need (trajectory 5.2, R5 and R6).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::rebuilt::RebuiltMessage;
use crate::js::{JsString, Object, Value};
use crate::policy::repair::{
    PairingShape, PlacedMessage, RepairRules, is_call, pair, rename_result, repaired_message, shape_of,
};
use crate::store::trajectory::RecordedList;
use crate::units::Moment;

/// The longest tool-call id that the gateway generates, in chars.
const ID_MAX_CHARS: usize = 64;
/// Members of a result that name its call.
const RESULT_IDS: [&str; 2] = ["toolCallId", "toolUseId"];
/// Members that only the provider that wrote them can read.
const SIGNATURES: [&str; 4] = ["thinkingSignature", "textSignature", "thoughtSignature", "thought_signature"];

/// Replaces the ids of tool calls and results with those at the same places in the recorded list.
pub(super) fn rewrite_ids(list: &mut [RebuiltMessage], recorded: &RecordedList) -> usize {
    let mut renames: HashMap<JsString, JsString> = HashMap::new();
    let mut taken: HashSet<JsString> = HashSet::new();
    for (item, other) in list.iter().zip(&recorded.items) {
        let (own, new) = (call_ids(&item.message), call_ids(other));
        for (own, new) in own.iter().zip(&new).filter(|_| own.len() == new.len()) {
            if own != new && is_portable_id(new) && !renames.contains_key(own) && taken.insert(new.clone()) {
                renames.insert(own.clone(), new.clone());
            }
        }
    }
    list.iter_mut().map(|item| rename_ids(item, &renames)).sum()
}

/// Returns the ids in a message: those of its calls, or of the call that it answers.
fn call_ids(message: &Value) -> Vec<JsString> {
    let blocks = message.get("content").and_then(Value::as_array).unwrap_or_default();
    let calls = blocks.iter().filter(|block| is_call(*block)).filter_map(|block| block.get("id"));
    let results = RESULT_IDS.iter().filter_map(|key| message.get(key));
    calls.chain(results).filter_map(Value::as_str).cloned().collect()
}

/// Whether an id uses only chars that every provider accepts.
fn is_portable_id(id: &JsString) -> bool {
    let plain = |unit: &u16| {
        u8::try_from(*unit).is_ok_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
    };
    !id.is_empty() && id.len() <= ID_MAX_CHARS && id.units().iter().all(plain)
}

fn rename_ids(item: &mut RebuiltMessage, renames: &HashMap<JsString, JsString>) -> usize {
    if !call_ids(&item.message).iter().any(|id| renames.contains_key(id)) {
        return 0;
    }
    let new = |value: Option<&Value>| renames.get(value?.as_str()?).cloned().map(Value::String);
    let mut count = 0;
    for key in RESULT_IDS {
        if let Some(id) = new(item.message.get(key)) {
            item.set(key, id);
            count += 1;
        }
    }
    let mut blocks = item.blocks().to_vec();
    for block in blocks.iter_mut().filter(|block| is_call(&**block)) {
        if let (Some(id), Some(object)) = (new(block.get("id")), block.as_object_mut()) {
            object.set("id", id);
            count += 1;
        }
    }
    if !blocks.is_empty() {
        item.set("content", Value::Array(blocks));
    }
    count
}

/// Drops reasoning from every answer.
pub(super) fn drop_thinking(list: &mut [RebuiltMessage], _: &RecordedList) -> usize {
    list.iter_mut().map(without_thinking).sum()
}

/// Drops reasoning from every answer except the last.
pub(super) fn drop_older_thinking(list: &mut [RebuiltMessage], _: &RecordedList) -> usize {
    let last = list.iter().rposition(|item| item.has_role("assistant")).unwrap_or(0);
    list[..last].iter_mut().map(without_thinking).sum()
}

/// Drops reasoning; an answer with no other content keeps a blank text.
fn without_thinking(item: &mut RebuiltMessage) -> usize {
    let thinks = |block: &Value| {
        let kind = block.get("type");
        ["thinking", "redacted_thinking"].iter().any(|own| kind.is_some_and(|kind| kind.str_is(own)))
    };
    let gone = if item.has_role("assistant") { item.retain_blocks(|block| !thinks(block)) } else { 0 };
    if gone > 0 && item.blocks().is_empty() {
        let blank = Object::from([("type", Value::from("text")), ("text", Value::from(""))]);
        item.set("content", Value::Array(vec![Value::from(blank)]));
    }
    gone
}

/// Removes signatures of reasoning, texts and calls.
pub(super) fn strip_signatures(list: &mut [RebuiltMessage], _: &RecordedList) -> usize {
    let mut count = 0;
    for item in list.iter_mut().filter(|item| item.has_role("assistant")) {
        let mut blocks = item.blocks().to_vec();
        let gone: usize =
            blocks.iter_mut().filter_map(Value::as_object_mut).map(strip_block_signatures).sum();
        if gone > 0 {
            item.set("content", Value::Array(blocks));
        }
        count += gone;
    }
    count
}

fn strip_block_signatures(block: &mut Object) -> usize {
    SIGNATURES.iter().filter(|key| block.remove(key).is_some()).count()
}

/// Drops calls that no provider accepts.
pub(super) fn drop_unusable_calls(list: &mut Vec<RebuiltMessage>, _: &RecordedList) -> usize {
    let mut count = 0;
    list.retain_mut(|item| {
        let Some(made) = repaired_message(&item.message) else {
            count += 1;
            return false;
        };
        if made != *item.message {
            count += 1;
            item.message = Arc::new(made);
        }
        true
    });
    count
}

/// Gives every call exactly one result; a synthetic result takes the time of the recorded one.
pub(super) fn pair_calls(
    list: &mut Vec<RebuiltMessage>,
    recorded: &RecordedList,
    rules: RepairRules,
) -> usize {
    let shapes: Vec<PairingShape> =
        list.iter().map(|item| shape_of(&*item.message, rules.pairing())).collect();
    let pairing = pair(&shapes.iter().collect::<Vec<_>>(), rules);
    if !pairing.is_replaced {
        return 0;
    }
    let place = |placed: &PlacedMessage| match placed {
        PlacedMessage::Original(at) => list[*at].clone(),
        PlacedMessage::Renamed(at, name) => {
            RebuiltMessage::new(list[*at].entry, rename_result(&list[*at].message, name))
        }
        PlacedMessage::Synthetic(missing) => {
            RebuiltMessage::new(None, missing.message(time_of_result(recorded, &missing.id)))
        }
    };
    let paired: Vec<RebuiltMessage> = pairing.order.iter().map(place).collect();
    *list = paired;
    (pairing.added.len() + pairing.dropped_duplicates + pairing.orphans.len() + pairing.failed.len()).max(1)
}

fn time_of_result(recorded: &RecordedList, id: &JsString) -> Moment {
    let result =
        recorded.items.iter().find(|item| item.get("toolCallId").and_then(Value::as_str) == Some(id));
    Moment(result.and_then(|result| result.get("timestamp")?.as_f64()).unwrap_or(0.0))
}

/// Merges consecutive user messages into the last of them.
pub(super) fn merge_users(list: &mut Vec<RebuiltMessage>, _: &RecordedList) -> usize {
    let mut merged: Vec<RebuiltMessage> = Vec::with_capacity(list.len());
    let mut count = 0;
    for mut item in list.drain(..) {
        if let Some(before) = merged.pop_if(|before| before.has_role("user") && item.has_role("user")) {
            item.set("content", Value::Array([before.blocks(), item.blocks()].concat()));
            count += 1;
        }
        merged.push(item);
    }
    *list = merged;
    count
}

/// Puts the recorded first user message before a list that begins with an answer.
pub(super) fn add_session_start(list: &mut Vec<RebuiltMessage>, recorded: &RecordedList) -> usize {
    let Some(start) =
        recorded.items.first().filter(|_| list.first().is_some_and(|item| item.has_role("assistant")))
    else {
        return 0;
    };
    let start = RebuiltMessage::new(None, start.clone());
    let is_start =
        start.has_role("user") && start.first_text().is_some_and(|text| text.eq_str("(session bootstrap)"));
    if is_start {
        list.insert(0, start);
    }
    usize::from(is_start)
}

/// Clears the usage of answers older than the compaction in the list.
pub(super) fn empty_stale_usage(list: &mut [RebuiltMessage], _: &RecordedList) -> usize {
    let Some(at) = list.iter().rposition(|item| item.has_role("compactionSummary")) else { return 0 };
    let time = |item: &RebuiltMessage| item.message.get("timestamp").and_then(Value::as_f64);
    let compacted = time(&list[at]);
    let mut count = 0;
    for (place, item) in list.iter_mut().enumerate() {
        let is_older = time(item).zip(compacted).is_some_and(|(own, compacted)| own <= compacted);
        if item.has_role("assistant") && item.message.get("usage").is_some() && (place < at || is_older) {
            item.set("usage", empty_usage());
            count += 1;
        }
    }
    count
}

fn empty_usage() -> Value {
    let keys = ["input", "output", "cacheRead", "cacheWrite"];
    let zeros = || keys.into_iter().map(|key| (key, Value::from(0)));
    let cost: Object = zeros().chain([("total", Value::from(0))]).collect();
    let usage: Object =
        zeros().chain([("totalTokens", Value::from(0)), ("cost", Value::from(cost))]).collect();
    Value::from(usage)
}
