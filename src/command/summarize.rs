//! `clawscope simulate SESSION --summary`: generates the summary that a compaction would store, and shows the calls that it
//! takes. It never writes to the session.

use std::io::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::environment::Invocation;
use super::failure::Failure;
use super::output::Output;
use super::ruleset::print_ruleset;
use super::session_output::print_session_header;
use super::summary::{calls_table, choose_summarizer, load_summarizer_config, parse_kind, run_cancellable};
use crate::cli::{SimulateArgs, StoreArgs};
use crate::command::environment::{Workspace, at_leaf, require_context};
use crate::command::ruleset::{RulesetJson, ruleset_json};
use crate::command::session_output::{SessionJson, finite, session_json};
use crate::doc::Tone;
use crate::export::json::JsonOutput;
use crate::format::{format_count, format_estimate, format_estimated_usd, format_number};
use crate::gateway::ruleset::Ruleset;
use crate::gateway::window::WindowInfo;
use crate::js::{JsString, Value};
use crate::policy::compact::{DroppedHistory, PredictedCall, PredictedCalls, stored_summary};
use crate::session::LoadedSession;
use crate::summarize::{Summarizer, SummarizerKind, Summary, SummaryCallRecord, run as summarise};
use crate::units::Tokens;
use crate::write::summary::job::{describe_no_summary, describe_summary_error};
use crate::write::summary::{NotCompactable, PreparedCompaction, SummarySettings};

/// Generates a summary, or prints the calls that it would take.
pub(super) fn run(
    args: &SimulateArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let config = load_summarizer_config(invocation)?;
    let kind = parse_kind(args.with.as_deref()).unwrap_or(config.kind);
    let summarizer = if args.calls { None } else { Some(choose_summarizer(kind, &config)?.summarizer) };
    let requested = load_input(args, place, invocation, output)?;
    let summary = match &summarizer {
        Some(summarizer) => {
            Some(generate(&requested, summarizer.as_ref(), args.context.target.json, output)?)
        }
        None => None,
    };
    if args.context.target.json {
        return Ok(output.json(&report_json(&requested, summary.as_ref()))?);
    }
    match summary {
        Some(summary) => print_summary(&requested, &summary, output),
        None => print_calls(&requested, output),
    }
}

/// Generates the summary; Ctrl-C cancels it cleanly.
fn generate(
    requested: &SummaryInput,
    summarizer: &dyn Summarizer,
    json: bool,
    output: &mut Output,
) -> Result<Summary, Failure> {
    let quiet = json || summarizer.kind() == SummarizerKind::Extractive;
    let job = &requested.compactable.job;
    let made =
        run_cancellable(quiet, output, |cancel, progress| summarise(job, summarizer, cancel, progress))?;
    let summary = made.map_err(|error| Failure::refused(describe_summary_error(&error)))?;
    let rules = requested.session.ruleset.id.rules();
    Ok(Summary { text: stored_summary(rules, &summary.text), ..summary })
}

/// Prints the summary to standard output and everything else to the error stream.
fn print_summary(requested: &SummaryInput, summary: &Summary, output: &mut Output) -> Result<(), Failure> {
    for line in summary.text.to_string_lossy().lines() {
        output.line(Tone::Plain, line)?;
    }
    output.flush()?;
    let calls = format_count(summary.calls.len() as u64, "call", "calls");
    output.note(&format!(
        "{} · {calls} · summary {} tokens; nothing was written",
        summary.kind.as_str(),
        format_estimate(summary_tokens(summary))
    ))?;
    output.note(&describe_gateway_calls(requested))?;
    if let Some(note) = version_note(&requested.session) {
        output.note(&note)?;
    }
    Ok(())
}

/// Notes that this version summarises in another way (compaction 12).
fn version_note(session: &LoadedSession) -> Option<String> {
    let ruleset = session.ruleset.id;
    (ruleset >= Ruleset::V2026_9_2).then(|| {
        format!(
            "{} summarises in different stages; these are the stages of {}",
            ruleset.display_name(),
            Ruleset::V2026_3_2.display_name()
        )
    })
}

fn describe_gateway_calls(requested: &SummaryInput) -> String {
    let calls = &requested.gateway_calls;
    let cost = requested
        .session
        .price
        .map(|price| format!(", {}", format_estimated_usd(calls.cost(&price))))
        .unwrap_or_default();
    format!(
        "the gateway (mode {}) would make {} with {} tokens in and {} out{cost}",
        requested.compactable.job.mode.as_str(),
        format_count(calls.calls.len() as u64, "call", "calls"),
        format_estimate(calls.input_tokens()),
        format_estimate(calls.output_tokens()),
    )
}

fn print_calls(requested: &SummaryInput, output: &mut Output) -> Result<(), Failure> {
    let job = &requested.compactable.job;
    print_session_header(output, &requested.session, requested.session.window)?;
    print_ruleset(&requested.session.ruleset, output)?;
    if let Some(note) = version_note(&requested.session) {
        output.line(Tone::Warning, &note)?;
    }
    let first_kept = requested.session.index.display_id(requested.compactable.preparation.first_kept);
    let reserve = format_number(job.reserve_tokens.whole());
    output.line(
        Tone::Plain,
        &format!("mode {} · reserve {reserve} · keeps entries from {first_kept}", job.mode.as_str()),
    )?;
    if let Some(dropped) = requested.gateway_calls.summary.dropped {
        let (messages, tokens) =
            (format_count(dropped.messages as u64, "message", "messages"), dropped.tokens.whole());
        let text = format!(
            "the oldest {messages} ({} tokens) get a separate summary first",
            format_estimate(tokens)
        );
        output.line(Tone::Warning, &text)?;
    }
    writeln!(output)?;
    calls_table(&requested.gateway_calls).print(output, "  ")?;
    writeln!(output)?;
    output.line(Tone::Strong, &describe_gateway_calls(requested))?;
    let assumed = format_number(requested.compactable.assumed_tokens.whole());
    Ok(output
        .line(Tone::Dim, &format!("assumes that every call succeeds and each answer has {assumed} tokens"))?)
}

// A summary, its calls and their cost as JSON.

/// A compaction's summary; a dry run has no `summarizer` and no member after it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::command) struct SummarizeJson {
    session: SessionJson,
    leaf: Option<String>,
    ruleset: RulesetJson,
    mode: &'static str,
    window: WindowInfo,
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
    calls: Vec<PredictedCall>,
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
    calls: Vec<SummaryCallRecord>,
    /// Notes about omissions of the summary.
    left_out: Vec<JsString>,
    read_files: Vec<Value>,
    modified_files: Vec<Value>,
    summary_tokens: u64,
    summary: JsString,
}

/// Builds the report; a dry run has no summary members.
fn report_json(requested: &SummaryInput, summary: Option<&Summary>) -> SummarizeJson {
    let SummaryInput { session, compactable, gateway_calls: gateway, .. } = requested;
    let job = &compactable.job;
    SummarizeJson {
        session: session_json(&session.item),
        leaf: session.context.leaf.map(|leaf| session.index.display_id(leaf)),
        ruleset: ruleset_json(&session.ruleset),
        mode: job.mode.as_str(),
        window: session.window,
        reserve_tokens: finite(job.reserve_tokens),
        keep_recent_tokens: finite(session.configured_settings.compaction.keep_recent_tokens),
        first_kept_entry_id: session.index.display_id(compactable.preparation.first_kept),
        tokens_before: finite(job.tokens_before),
        split_turn: compactable.preparation.is_split_turn(),
        gateway: GatewayJson {
            calls: gateway.calls.clone(),
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
        calls: summary.calls.clone(),
        left_out: summary.omission_notes.clone(),
        read_files: details.read.clone(),
        modified_files: details.modified.clone(),
        summary_tokens: summary_tokens(summary),
        summary: summary.text.clone(),
    }
}

/// Estimates the tokens of the summary in later prompts (compaction 1.7).
fn summary_tokens(summary: &Summary) -> u64 {
    (summary.text.len() as u64).div_ceil(4)
}

struct SummaryInput {
    session: LoadedSession,
    compactable: PreparedCompaction,
    /// The calls that the gateway itself would make.
    gateway_calls: PredictedCalls,
}

fn load_input(
    args: &SimulateArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<SummaryInput, Failure> {
    let workspace = Workspace::for_session(&args.context.target.session, place, invocation)?;
    let session = workspace.open_session(&args.context.target.session, output)?;
    let session = require_context(at_leaf(&workspace, session, args.context.leaf.as_deref())?)?;
    let rules = session.ruleset.id.rules();
    let settings = SummarySettings::from_config(rules, &workspace.store().config.js_root);
    let instructions = args.instructions.as_deref();
    let compactable = PreparedCompaction::new(
        &session,
        session.configured_settings.compaction,
        settings,
        instructions,
        workspace.now_ms,
    );
    let compactable = compactable.map_err(|error| match error {
        NotCompactable::Body(error) => Failure::unreadable(error.to_string()),
        other => Failure::refused(format!("{}: {other}", session.item.key.0)),
    })?;
    let gateway =
        compactable.gateway_calls().map_err(|error| Failure::refused(describe_no_summary(&error)))?;
    Ok(SummaryInput { session, compactable, gateway_calls: gateway })
}
