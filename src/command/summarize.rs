//! `clawscope simulate SESSION --summary`: generates the summary that a compaction would store, and shows the calls that it
//! takes. It never writes to the session.

mod input;
mod json;

use std::io::Write as _;

use input::{SummaryInput, load_input};
pub(super) use json::SummarizeJson;
use json::{report_json, summary_tokens};

use super::environment::Invocation;
use super::failure::Failure;
use super::output::{Output, Tone};
use super::ruleset::print_ruleset;
use super::session_output::print_session_header;
use super::summary::{calls_table, choose_summarizer, load_summarizer_config, parse_kind, run_cancellable};
use crate::cli::{SimulateArgs, StoreArgs};
use crate::format::{format_count, format_estimate, format_estimated_usd, format_number};
use crate::gateway::ruleset::Ruleset;
use crate::policy::compact::stored_summary;
use crate::session::LoadedSession;
use crate::summarize::{Summarizer, SummarizerKind, Summary, run as summarise};
use crate::write::summary::job::describe_summary_error;

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
