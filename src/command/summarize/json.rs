//! A summary, its calls and their cost as JSON.

use schemars::JsonSchema;
use serde::Serialize;

use super::super::ruleset::{RulesetJson, ruleset_json};
use super::super::session_output::{SessionJson, WindowJson, finite, session_json, window_json};
use super::super::summary::{CompletedCallJson, PredictedCallJson};
use super::input::SummaryInput;
use crate::export::json::JsonOutput;
use crate::js::{JsString, Value};
use crate::policy::compact::DroppedHistory;
use crate::summarize::Summary;
use crate::units::Tokens;

/// A compaction's summary; a dry run has no `summarizer` and no member after it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::command) struct SummarizeJson {
    session: SessionJson,
    leaf: Option<String>,
    ruleset: RulesetJson,
    mode: &'static str,
    window: WindowJson,
    reserve_tokens: Option<Tokens>,
    keep_recent_tokens: Option<Tokens>,
    first_kept_entry_id: String,
    tokens_before: Option<Tokens>,
    /// Whether the cut splits a turn.
    split_turn: bool,
    gateway: GatewayJson,
    #[serde(flatten)]
    written: Option<WrittenJson>,
}

impl JsonOutput for SummarizeJson {}

/// The gateway's own calls for the summary, predicted.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct GatewayJson {
    calls: Vec<PredictedCallJson>,
    input_tokens: u64,
    output_tokens: u64,
    assumed_summary_tokens: Option<Tokens>,
    cost_usd: Option<f64>,
    /// History that is left out to make room.
    dropped: Option<DroppedHistory>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct WrittenJson {
    summarizer: &'static str,
    calls: Vec<CompletedCallJson>,
    /// Notes about omissions of the summary.
    left_out: Vec<JsString>,
    read_files: Vec<Value>,
    modified_files: Vec<Value>,
    summary_tokens: u64,
    summary: JsString,
}

/// Builds the report; a dry run has no summary members.
pub(super) fn report_json(requested: &SummaryInput, summary: Option<&Summary>) -> SummarizeJson {
    let SummaryInput { session, compactable, gateway_calls: gateway, .. } = requested;
    let job = &compactable.job;
    SummarizeJson {
        session: session_json(&session.item),
        leaf: session.context.leaf.map(|leaf| session.index.display_id(leaf)),
        ruleset: ruleset_json(&session.ruleset),
        mode: job.mode.as_str(),
        window: window_json(session.window),
        reserve_tokens: finite(job.reserve_tokens),
        keep_recent_tokens: finite(session.configured_settings.compaction.keep_recent_tokens),
        first_kept_entry_id: session.index.display_id(compactable.preparation.first_kept),
        tokens_before: finite(job.tokens_before),
        split_turn: compactable.preparation.is_split_turn(),
        gateway: GatewayJson {
            calls: gateway.calls.iter().map(PredictedCallJson::from).collect(),
            input_tokens: gateway.input_tokens(),
            output_tokens: gateway.output_tokens(),
            assumed_summary_tokens: finite(compactable.assumed_tokens),
            cost_usd: session.price.map(|price| gateway.cost(&price)),
            dropped: gateway.summary.dropped,
        },
        written: summary.map(written_json),
    }
}

fn written_json(summary: &Summary) -> WrittenJson {
    let details = &summary.written.details;
    WrittenJson {
        summarizer: summary.kind.as_str(),
        calls: summary.calls.iter().map(CompletedCallJson::from).collect(),
        left_out: summary.omission_notes.clone(),
        read_files: details.read.clone(),
        modified_files: details.modified.clone(),
        summary_tokens: summary_tokens(summary),
        summary: summary.text.clone(),
    }
}

/// Estimates the tokens of the summary in later prompts (compaction 1.7).
pub(super) fn summary_tokens(summary: &Summary) -> u64 {
    (summary.text.len() as u64).div_ceil(4)
}
