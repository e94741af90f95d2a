//! The gateway's repairs of a list before it records it, as a table (trajectory 5.2).
//!
//! A repair that the release is known to make is always applied. One that depends on provider, settings or release is
//! applied only if the list then agrees better with the recorded one.

use RepairFn::{InPlace, Pairing, Resizing};

use super::history_repairs::{drop_heartbeats, limit_history};
use super::provider_repairs::{
    add_session_start, drop_older_thinking, drop_thinking, drop_unusable_calls, empty_stale_usage,
    merge_users, pair_calls, rewrite_ids, strip_signatures,
};
use super::rebuilt::{Agreement, RebuiltMessage};
use crate::gateway::eligibility::ModelRoute;
use crate::gateway::ruleset::Ruleset;
use crate::js::{JsString, Object, Value};
use crate::policy::repair::RepairRules;
use crate::store::scan::is_synthetic;
use crate::store::trajectory::RecordedList;

/// The text of an answer that failed before it had content.
const FAILED_ANSWER_TEXT: &str = "[assistant turn failed before producing content]";

type Release = [u32; 3];
/// Before every release.
const BEFORE_ALL: Release = [0; 3];
/// After every release: the repair depends on more than the release.
const AFTER_ALL: Release = [u32::MAX; 3];

struct Repair {
    name: &'static str,
    description: &'static str,
    /// The last release known to lack it.
    last_without: Release,
    /// The first release known to have it.
    first_with: Release,
    apply: RepairFn,
}

/// Changes a list; returns the number of messages, blocks or ids changed.
#[derive(Clone, Copy)]
enum RepairFn {
    /// Keeps every message in its place.
    InPlace(fn(&mut [RebuiltMessage], &RecordedList) -> usize),
    /// Adds or removes messages.
    Resizing(fn(&mut Vec<RebuiltMessage>, &RecordedList) -> usize),
    /// Pairs calls and results as the release does.
    Pairing(fn(&mut Vec<RebuiltMessage>, &RecordedList, RepairRules) -> usize),
}

impl RepairFn {
    fn run(self, list: &mut Vec<RebuiltMessage>, recorded: &RecordedList, rules: RepairRules) -> usize {
        match self {
            Self::InPlace(change) => change(list, recorded),
            Self::Resizing(change) => change(list, recorded),
            Self::Pairing(change) => change(list, recorded, rules),
        }
    }
}

/// A repair that was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppliedRepair {
    /// The name for scripts.
    pub name: &'static str,
    /// A short description.
    pub description: &'static str,
    /// Number of messages, blocks or ids changed.
    pub count: usize,
}

const fn repair(
    name: &'static str,
    words: &'static str,
    releases: (Release, Release),
    apply: RepairFn,
) -> Repair {
    Repair { name, description: words, last_without: releases.0, first_with: releases.1, apply }
}

/// The gateway began to drop mirrors and blank texts between these releases (R1, R2).
const SANITISER_RELEASES: (Release, Release) = ([2026, 4, 22], [2026, 5, 2]);
/// The gateway began to drop failed answers between these releases (R4).
const FAILED_ANSWER_RELEASES: (Release, Release) = ([2026, 5, 2], [2026, 5, 28]);
const ALL_RELEASES: (Release, Release) = (BEFORE_ALL, BEFORE_ALL);
const UNCERTAIN_RELEASES: (Release, Release) = (BEFORE_ALL, AFTER_ALL);

/// R1 to R7 in the gateway's order. R8 is the list without any of them.
const REPAIRS: [Repair; 16] = [
    repair(
        "transcript-only-assistant-dropped",
        "delivery copies dropped",
        SANITISER_RELEASES,
        Resizing(drop_mirrors),
    ),
    repair("blank-text-block-removed", "blank texts removed", SANITISER_RELEASES, InPlace(drop_blank_texts)),
    repair(
        "assistant-text-made-a-block",
        "answers turned into blocks",
        ALL_RELEASES,
        InPlace(wrap_text_in_blocks),
    ),
    repair(
        "tool-result-details-removed",
        "details of tool results removed",
        ALL_RELEASES,
        InPlace(drop_details),
    ),
    repair(
        "trailing-failed-assistant-dropped",
        "failed answers at the end dropped",
        FAILED_ANSWER_RELEASES,
        Resizing(drop_failed_answers),
    ),
    repair("tool-call-ids-rewritten", "tool-call ids rewritten", UNCERTAIN_RELEASES, InPlace(rewrite_ids)),
    repair("thinking-dropped", "thinking dropped", UNCERTAIN_RELEASES, InPlace(drop_thinking)),
    repair(
        "older-thinking-dropped",
        "thinking before the last answer dropped",
        UNCERTAIN_RELEASES,
        InPlace(drop_older_thinking),
    ),
    repair("signatures-stripped", "signatures stripped", UNCERTAIN_RELEASES, InPlace(strip_signatures)),
    repair(
        "unusable-calls-dropped",
        "unusable tool calls dropped",
        UNCERTAIN_RELEASES,
        Resizing(drop_unusable_calls),
    ),
    repair("tool-results-paired", "tool calls and results paired", UNCERTAIN_RELEASES, Pairing(pair_calls)),
    repair(
        "user-turns-merged",
        "consecutive user messages merged",
        UNCERTAIN_RELEASES,
        Resizing(merge_users),
    ),
    repair(
        "session-start-added",
        "a user message added at the start",
        UNCERTAIN_RELEASES,
        Resizing(add_session_start),
    ),
    repair(
        "stale-usage-emptied",
        "usage before the compaction emptied",
        UNCERTAIN_RELEASES,
        InPlace(empty_stale_usage),
    ),
    repair("heartbeats-dropped", "heartbeat pairs dropped", UNCERTAIN_RELEASES, Resizing(drop_heartbeats)),
    repair(
        "history-limited",
        "older messages left out by the history limit",
        UNCERTAIN_RELEASES,
        Resizing(limit_history),
    ),
];

/// Repairs a list as the gateway of a release does, if the recorded list shows it; an unknown release may apply any
/// repair.
pub(super) fn apply_repairs(
    list: &[RebuiltMessage],
    recorded: &RecordedList,
    release: Option<Release>,
) -> (Vec<RebuiltMessage>, Vec<AppliedRepair>) {
    let mut list = list.to_vec();
    let mut counts = [0; REPAIRS.len()];
    let rules = repair_rules(recorded, release);
    let is_sure = |repair: &Repair| {
        release.map_or(repair.first_with == BEFORE_ALL, |release| release >= repair.first_with)
    };
    let is_open = |repair: &Repair| !is_sure(repair) && release.is_none_or(|own| own > repair.last_without);
    for (at, repair) in REPAIRS.iter().enumerate().filter(|(_, repair)| is_sure(repair)) {
        counts[at] = repair.apply.run(&mut list, recorded, rules);
    }
    while let Some((at, better, count)) = best_next_repair(&list, recorded, rules, &counts, &is_open) {
        (list, counts[at]) = (better, count);
    }
    let applied = REPAIRS.iter().zip(counts).filter(|(_, count)| *count > 0);
    let applied = applied
        .map(|(own, count)| AppliedRepair { name: own.name, description: own.description, count })
        .collect();
    (list, applied)
}

/// Returns the pairing of a release, for the API of the recorded answers.
fn repair_rules(recorded: &RecordedList, release: Option<Release>) -> RepairRules {
    let ruleset = release.map_or_else(Ruleset::default, Ruleset::for_gateway);
    let api = recorded.items.iter().rev().find_map(|item| item.get("api")?.as_str());
    let api = api.map(JsString::to_string_lossy);
    let is_responses_api = api.is_some() && ModelRoute { api, base_url: None }.is_responses_api("");
    RepairRules { rules: ruleset.rules(), is_responses_api }
}

/// Returns the unapplied repair that improves the agreement most, with the repaired list; `None` if none improves it.
fn best_next_repair(
    list: &[RebuiltMessage],
    recorded: &RecordedList,
    rules: RepairRules,
    counts: &[usize],
    is_open: &dyn Fn(&Repair) -> bool,
) -> Option<(usize, Vec<RebuiltMessage>, usize)> {
    let mut fit = Agreement::new(recorded, list);
    let mut best = None;
    for (at, repair) in REPAIRS.iter().enumerate().filter(|(at, own)| counts[*at] == 0 && is_open(own)) {
        if fit.is_perfect() {
            break;
        }
        let mut tried = list.to_vec();
        let count = repair.apply.run(&mut tried, recorded, rules);
        let tried_fit = Agreement::new(recorded, &tried);
        if count > 0 && tried_fit > fit {
            (fit, best) = (tried_fit, Some((at, tried, count)));
        }
    }
    best
}

fn drop_mirrors(list: &mut Vec<RebuiltMessage>, _: &RecordedList) -> usize {
    let before = list.len();
    list.retain(|item| !(item.has_role("assistant") && is_synthetic(&*item.message)));
    before - list.len()
}

fn drop_blank_texts(list: &mut [RebuiltMessage], _: &RecordedList) -> usize {
    let is_blank = |block: &Value| {
        let text = block.get("text").and_then(Value::as_str);
        block.get("type").is_some_and(|kind| kind.str_is("text")) && text.is_some_and(JsString::is_blank)
    };
    let answers =
        list.iter_mut().filter(|item| item.has_role("assistant") && !item.blocks().iter().all(is_blank));
    answers.map(|item| item.retain_blocks(|block| !is_blank(block))).sum()
}

fn wrap_text_in_blocks(list: &mut [RebuiltMessage], _: &RecordedList) -> usize {
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

fn drop_details(list: &mut [RebuiltMessage], _: &RecordedList) -> usize {
    let results = list.iter_mut().filter(|item| item.has_role("toolResult"));
    results.map(|item| usize::from(item.remove("details"))).sum()
}

fn drop_failed_answers(list: &mut Vec<RebuiltMessage>, _: &RecordedList) -> usize {
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
