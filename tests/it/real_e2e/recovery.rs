//! The steps after a refusal, against those that `explain --recovery` expects at that moment.

use std::collections::HashSet;

use serde_json::Value;

use super::checks::{Check, History, Outcome, answered};
use super::mock::Request;
use super::moment::Moment;
use super::scenario::Finished;

pub(super) fn compare(finished: &Finished, history: &History, outcome: &mut Outcome) {
    let mut known = 0;
    for request in finished.requests.iter().filter(|request| request.is_above_limit) {
        let Some((0, entry)) = history.answers.get(&request.number) else { continue };
        let at = position(&history.entries[0], entry);
        if at < known {
            // A later step of the same recovery.
            continue;
        }
        let (real, end) = steps(&history.entries[0], at);
        known = end;
        let expected = expected(finished, entry, request);
        let found = format!("after request {}: expected {expected:?}, really {real:?}", request.number);
        outcome.add(Check::Recovery, (expected != real).then_some(found));
    }
}

fn position(entries: &[Value], entry: &Value) -> usize {
    entries.iter().position(|other| other["id"] == entry["id"]).expect("the entry")
}

/// What happened from a refusal to the answer or the next turn, and where that ends.
fn steps(entries: &[Value], at: usize) -> (Vec<&'static str>, usize) {
    let time =
        |entry: &Value| (entry["message"]["role"].to_string(), entry["message"]["timestamp"].to_string());
    let mut seen: HashSet<_> = entries[..at].iter().map(time).collect();
    let turn = entries[..at].iter().rev().find_map(turn_of);
    let mut steps = Vec::new();
    for (index, entry) in entries.iter().enumerate().skip(at) {
        if entry["type"] == "compaction" {
            steps.push("compacted");
        }
        if entry["type"] != "message" {
            continue;
        }
        if turn_of(entry).is_some_and(|other| Some(other) != turn) && !seen.contains(&time(entry)) {
            return (steps, index);
        }
        // A branch that the program wrote again repeats its messages: results were cut in it.
        let is_new = seen.insert(time(entry));
        match is_new {
            false if steps.last() != Some(&"cut") => steps.push("cut"),
            true if entry["message"]["stopReason"] == "error" => steps.push("refused"),
            true if answered(&entry["message"]).is_some() => {
                steps.push("answered");
                return (steps, index);
            }
            _ => {}
        }
    }
    (steps, entries.len())
}

/// The number of the turn that a user's message starts.
fn turn_of(entry: &Value) -> Option<usize> {
    let text =
        entry["message"]["content"][0]["text"].as_str().filter(|_| entry["message"]["role"] == "user")?;
    let (_, rest) = text.split_once("Turn ")?;
    rest.split('.').next()?.parse().ok()
}

/// What `explain --recovery` expects right after the refusal.
fn expected(finished: &Finished, entry: &Value, request: &Request) -> Vec<&'static str> {
    let leaf = entry["id"].as_str().expect("an id");
    let moment = Moment::at(finished, finished.main(), leaf, request.at_ms);
    let answer = moment.ask(&["explain", "--recovery"]).expect("an answer");
    if answer["happened"] == false {
        // Not recognised, so nothing follows.
        return vec!["refused"];
    }
    let attempts = answer["attempts"].as_array().into_iter().flatten();
    let steps = attempts.flat_map(|attempt| attempt["steps"].as_array().into_iter().flatten());
    let word = |step: &Value| match (step["step"].as_str()?, step["outcome"].as_str()?) {
        ("call", "refused") => Some("refused"),
        ("call", "answered") => Some("answered"),
        ("compactionInRun" | "compactionByGateway", "done") => Some("compacted"),
        ("truncation", "done") => Some("cut"),
        _ => None,
    };
    steps.filter_map(word).collect()
}
