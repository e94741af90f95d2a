//! The gateway's repairs of every list before it records it, as recorded runs show them (trajectory 5.2, R1 to R4).
//! Repairs that depend on the provider or on settings show as a difference.

use schemars::JsonSchema;
use serde::Serialize;

use super::recording_match::{RebuiltMessage, agreement};
use crate::js::{JsString, Object, Value};
use crate::store::scan::is_synthetic;
use crate::store::trajectory::RecordedList;

/// A repair that was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AppliedRepair {
    /// The name for scripts.
    pub name: &'static str,
    #[serde(skip)]
    pub description: &'static str,
    /// Number of messages or blocks changed.
    pub count: usize,
}

type Release = [u32; 3];

type Messages = Vec<RebuiltMessage>;

/// Name, description, the last release known to lack the repair, and the first known to have it. The function returns the
/// number of messages or blocks changed.
type Repair = (&'static str, &'static str, Release, Release, fn(&mut Messages) -> usize);

const ALL: Release = [0; 3];

/// In the gateway's order.
#[rustfmt::skip]
const REPAIRS: [Repair; 5] = [
    ("transcript-only-assistant-dropped", "delivery copies dropped", [2026, 4, 22], [2026, 5, 2], drop_mirrors),
    ("blank-text-block-removed", "blank texts removed", [2026, 4, 22], [2026, 5, 2], drop_blank_texts),
    ("assistant-text-made-a-block", "answers turned into blocks", ALL, ALL, wrap_text_in_blocks),
    ("tool-result-details-removed", "details of tool results removed", ALL, ALL, drop_details),
    ("trailing-failed-assistant-dropped", "failed answers at the end dropped", [2026, 5, 2], [2026, 5, 28], drop_failed_answers),
];

/// The text of an answer that failed before it had content.
const FAILED_ANSWER_TEXT: &str = "[assistant turn failed before producing content]";

/// Repairs a list as the gateway of a release does. A repair that the release may lack is applied if the list then agrees
/// better with the recorded one.
pub(super) fn apply_repairs(
    list: &[RebuiltMessage],
    recorded: &RecordedList,
    release: Option<Release>,
) -> (Messages, Vec<AppliedRepair>) {
    let (mut list, mut applied) = (list.to_vec(), Vec::new());
    let is_sure = |repair: &Repair| release.map_or(repair.3 == ALL, |own| own >= repair.3);
    let (sure, open): (Vec<&Repair>, Vec<&Repair>) = REPAIRS.iter().partition(|repair| is_sure(repair));
    let open = open.into_iter().filter(|repair| release.is_none_or(|own| own > repair.2));
    for repair in sure.into_iter().chain(open) {
        let (name, description, .., apply) = *repair;
        let mut tried = list.clone();
        let count = apply(&mut tried);
        if count > 0 && (is_sure(repair) || agreement(recorded, &tried) > agreement(recorded, &list)) {
            list = tried;
            applied.push(AppliedRepair { name, description, count });
        }
    }
    (list, applied)
}

/// Returns the objects of all messages with a role.
fn with_role<'a>(list: &'a mut [RebuiltMessage], role: &'a str) -> impl Iterator<Item = &'a mut Object> {
    let own = list.iter_mut().filter(move |item| item.has_role(role));
    own.filter_map(|item| item.message.as_object_mut())
}

fn drop_mirrors(list: &mut Messages) -> usize {
    let before = list.len();
    list.retain(|item| !(item.has_role("assistant") && is_synthetic(&item.message)));
    before - list.len()
}

fn drop_blank_texts(list: &mut Messages) -> usize {
    let is_blank = |block: &Value| {
        let text = block.get("text").and_then(Value::as_str);
        block.get("type").is_some_and(|kind| kind.str_is("text")) && text.is_some_and(JsString::is_blank)
    };
    let mut count = 0;
    for message in with_role(list, "assistant") {
        let Some(Value::Array(blocks)) = message.get_mut("content") else { continue };
        if !blocks.iter().all(is_blank) {
            let before = blocks.len();
            blocks.retain(|block| !is_blank(block));
            count += before - blocks.len();
        }
    }
    count
}

fn wrap_text_in_blocks(list: &mut Messages) -> usize {
    let mut count = 0;
    for content in with_role(list, "assistant").filter_map(|message| message.get_mut("content")) {
        if let Value::String(text) = content {
            let block = Object::from([("type", Value::from("text")), ("text", Value::from(text.clone()))]);
            *content = Value::from(vec![Value::from(block)]);
            count += 1;
        }
    }
    count
}

fn drop_details(list: &mut Messages) -> usize {
    with_role(list, "toolResult").filter_map(|message| message.remove("details")).count()
}

fn drop_failed_answers(list: &mut Messages) -> usize {
    let failed = |item: &&RebuiltMessage| {
        let is_error = item.message.get("stopReason").is_some_and(|stop| stop.str_is("error"));
        let is_failure = |text: &Value| text.str_is(FAILED_ANSWER_TEXT);
        let is_empty = item.message.get("content").is_none_or(|content| match content {
            Value::Array(blocks) => match blocks.as_slice() {
                [] => true,
                [only] => only.get("text").is_some_and(is_failure),
                _ => false,
            },
            other => other.is_null() || other.str_is("") || is_failure(other),
        });
        item.has_role("assistant") && is_error && is_empty
    };
    let count = list.iter().rev().take_while(failed).count();
    list.truncate(list.len() - count);
    count
}
