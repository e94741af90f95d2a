//! The gateway's repairs of every list before it records it, as recorded runs show them (trajectory 5.2, R1 to R4). Repairs
//! that depend on the provider or on settings show as a difference.

use schemars::JsonSchema;
use serde::Serialize;

use super::rebuilt::{Agreement, RebuiltMessage};
use crate::js::{JsString, Object, Value};
use crate::store::scan::is_synthetic;
use crate::store::trajectory::RecordedList;

/// The text of an answer that failed before it had content.
const FAILED_ANSWER_TEXT: &str = "[assistant turn failed before producing content]";

type Release = [u32; 3];
type Messages = Vec<RebuiltMessage>;

struct Repair {
    name: &'static str,
    description: &'static str,
    /// The last release known to lack it, and the first known to have it.
    releases: (Release, Release),
    /// Returns the number of messages or blocks changed.
    apply: fn(&mut Messages) -> usize,
}

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

const ALL_RELEASES: (Release, Release) = ([0; 3], [0; 3]);
const SANITISER_RELEASES: (Release, Release) = ([2026, 4, 22], [2026, 5, 2]);
const FAILED_ANSWER_RELEASES: (Release, Release) = ([2026, 5, 2], [2026, 5, 28]);

/// In the gateway's order.
const REPAIRS: [Repair; 5] = [
    Repair {
        name: "transcript-only-assistant-dropped",
        description: "delivery copies dropped",
        releases: SANITISER_RELEASES,
        apply: drop_mirrors,
    },
    Repair {
        name: "blank-text-block-removed",
        description: "blank texts removed",
        releases: SANITISER_RELEASES,
        apply: drop_blank_texts,
    },
    Repair {
        name: "assistant-text-made-a-block",
        description: "answers turned into blocks",
        releases: ALL_RELEASES,
        apply: wrap_text_in_blocks,
    },
    Repair {
        name: "tool-result-details-removed",
        description: "details of tool results removed",
        releases: ALL_RELEASES,
        apply: drop_details,
    },
    Repair {
        name: "trailing-failed-assistant-dropped",
        description: "failed answers at the end dropped",
        releases: FAILED_ANSWER_RELEASES,
        apply: drop_failed_answers,
    },
];

/// Repairs a list as the gateway of a release does. A repair that the release may lack is applied if the list then agrees
/// better with the recorded one.
pub(super) fn apply_repairs(
    list: &[RebuiltMessage],
    recorded: &RecordedList,
    release: Option<Release>,
) -> (Messages, Vec<AppliedRepair>) {
    let mut list = list.to_vec();
    let mut applied = Vec::new();
    let has = |since: Release| release.map_or(since == [0; 3], |own| own >= since);
    let (sure, open): (Vec<_>, Vec<_>) = REPAIRS.iter().partition(|repair| has(repair.releases.1));
    let open = open.into_iter().filter(|repair| release.is_none_or(|own| own > repair.releases.0));
    for (repair, is_sure) in sure.into_iter().map(|own| (own, true)).chain(open.map(|own| (own, false))) {
        let mut tried = list.clone();
        let count = (repair.apply)(&mut tried);
        if count > 0 && (is_sure || Agreement::new(recorded, &tried) > Agreement::new(recorded, &list)) {
            list = tried;
            applied.push(AppliedRepair { name: repair.name, description: repair.description, count });
        }
    }
    (list, applied)
}

fn drop_mirrors(list: &mut Messages) -> usize {
    let before = list.len();
    list.retain(|item| !(item.has_role("assistant") && is_synthetic(&*item.message)));
    before - list.len()
}

fn drop_blank_texts(list: &mut Messages) -> usize {
    let is_blank = |block: &Value| {
        let text = block.get("text").and_then(Value::as_str);
        block.get("type").is_some_and(|kind| kind.str_is("text")) && text.is_some_and(JsString::is_blank)
    };
    let answers =
        list.iter_mut().filter(|item| item.has_role("assistant") && !item.blocks().iter().all(is_blank));
    answers.map(|item| item.retain_blocks(|block| !is_blank(block))).sum()
}

fn wrap_text_in_blocks(list: &mut Messages) -> usize {
    let mut count = 0;
    for item in list.iter_mut().filter(|item| item.has_role("assistant")) {
        if let Some(text) = item.message.get("content").and_then(Value::as_str).cloned() {
            let block = Object::from([("type", Value::from("text")), ("text", Value::String(text))]);
            item.set("content", Value::Array(vec![Value::from(block)]));
            count += 1;
        }
    }
    count
}

fn drop_details(list: &mut Messages) -> usize {
    let results = list.iter_mut().filter(|item| item.has_role("toolResult"));
    results.map(|item| usize::from(item.remove("details"))).sum()
}

fn drop_failed_answers(list: &mut Messages) -> usize {
    let failed = |item: &&RebuiltMessage| {
        let is_error = item.message.get("stopReason").is_some_and(|stop| stop.str_is("error"));
        let is_empty = item.message.get("content").is_none_or(|content| match content {
            Value::Array(blocks) => match blocks.as_slice() {
                [] => true,
                [only] => only.get("text").is_some_and(|text| text.str_is(FAILED_ANSWER_TEXT)),
                _ => false,
            },
            other => other.is_null() || other.str_is("") || other.str_is(FAILED_ANSWER_TEXT),
        });
        item.has_role("assistant") && is_error && is_empty
    };
    let count = list.iter().rev().take_while(failed).count();
    list.truncate(list.len() - count);
    count
}
