//! A summary, its calls and their cost as JSON.

use super::super::ruleset::ruleset_json;
use super::super::session_output::{number_value, session_json, window_value};
use super::super::summary::{call_value, completed_call_value};
use super::input::SummaryInput;
use crate::js::{Object, Value};
use crate::policy::compact::DroppedHistory;
use crate::summarize::Summary;

/// Builds the report; a dry run has no summary members.
pub(super) fn report_json(requested: &SummaryInput, summary: Option<&Summary>) -> Object {
    let SummaryInput { inspection: session, compactable, gateway_calls: gateway, .. } = requested;
    let job = &compactable.job;
    let cost = session.price.map(|price| gateway.cost(&price));
    let own = Object::from([
        ("calls", Value::from(gateway.calls.iter().map(call_value).collect::<Vec<_>>())),
        ("inputTokens", Value::from(gateway.input_tokens())),
        ("outputTokens", Value::from(gateway.output_tokens())),
        ("assumedSummaryTokens", number_value(compactable.assumed_tokens)),
        ("costUsd", cost.map_or(Value::Null, number_value)),
        ("dropped", gateway.summary.dropped.map_or(Value::Null, dropped_value)),
    ]);
    let first_kept = session.index.display_id(compactable.preparation.first_kept);
    let mut answer = Object::from([
        ("session", session_json(&session.item)),
        ("leaf", Value::from(session.context.leaf.map(|leaf| session.index.display_id(leaf)))),
        ("ruleset", ruleset_json(&session.ruleset)),
        ("mode", Value::from(job.mode.as_str())),
        ("window", window_value(session.window)),
        ("reserveTokens", number_value(job.reserve_tokens)),
        ("keepRecentTokens", number_value(session.configured_settings.compaction.keep_recent_tokens)),
        ("firstKeptEntryId", Value::from(first_kept)),
        ("tokensBefore", number_value(job.tokens_before)),
        ("splitTurn", Value::from(compactable.preparation.is_split_turn())),
        ("gateway", Value::from(own)),
    ]);
    if let Some(summary) = summary {
        summary_members(&mut answer, requested, summary);
    }
    answer
}

fn summary_members(answer: &mut Object, requested: &SummaryInput, summary: &Summary) {
    let details = &summary.written.details;
    let left_out: Vec<Value> = summary.omission_notes.iter().cloned().map(Value::String).collect();
    answer.set("summarizer", Value::from(summary.kind.as_str()));
    answer.set("calls", Value::from(summary.calls.iter().map(completed_call_value).collect::<Vec<_>>()));
    answer.set("costUsd", summary_cost(requested, summary).map_or(Value::Null, number_value));
    answer.set("leftOut", Value::from(left_out));
    answer.set("readFiles", Value::from(details.read.clone()));
    answer.set("modifiedFiles", Value::from(details.modified.clone()));
    answer.set("summaryTokens", Value::from(summary_tokens(summary)));
    answer.set("summary", Value::String(summary.text.clone()));
}

fn dropped_value(dropped: DroppedHistory) -> Value {
    Value::from(Object::from([
        ("chunks", Value::from(dropped.chunks)),
        ("messages", Value::from(dropped.messages)),
        ("tokens", number_value(dropped.tokens)),
    ]))
}

/// Estimates the tokens of the summary in later prompts (compaction 1.7).
pub(super) fn summary_tokens(summary: &Summary) -> u64 {
    (summary.text.len() as u64).div_ceil(4)
}

/// Returns the cost of the calls in US dollars, if known.
pub(super) fn summary_cost(requested: &SummaryInput, summary: &Summary) -> Option<f64> {
    requested.writer.cost(summary.calls.iter().map(|call| call.measured.unwrap_or(call.estimated)))
}
