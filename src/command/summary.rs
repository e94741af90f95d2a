//! Summaries as `simulate` and `commit` need them: the choice of a writer, generation with progress and
//! cancellation, and the calls as text and JSON.

use std::cell::RefCell;

use schemars::JsonSchema;
use serde::Serialize;

use super::environment::Invocation;
use super::failure::Failure;
use super::output::Output;
use super::preview::{Preview, SummaryLength};
use crate::config::{self, SummarizerConfig};
use crate::doc::{Align, Table, Tone};
use crate::format::{format_count, format_duration, format_estimate, format_estimated_usd, format_number};
use crate::js::JsString;
use crate::policy::Policy;
use crate::policy::compact::{NoSummary, PredictedCall, PredictedCalls, predict_calls};
use crate::runtime::interruptible;
use crate::summarize::{CancelToken, Summarizer, SummarizerKind, SummaryCallRecord, SummaryProgress};
use crate::units::{Millis, Tokens};
use crate::write::summary::job::{
    SummaryJob, SummaryJobError, SummaryResult, SummaryWriter, build_summarizer,
};
use crate::write::summary::{NotCompactable, PreparedCompaction, SummarySettings};

/// Lines of a summary shown before a commit.
const MAX_SUMMARY_LINES: usize = 12;

pub(super) struct ChosenSummarizer {
    pub writer: SummaryWriter,
    pub summarizer: Box<dyn Summarizer>,
}

pub(super) fn load_summarizer_config(invocation: &Invocation) -> Result<SummarizerConfig, Failure> {
    Ok(config::load(&invocation.env).map_err(|error| Failure::usage(error.to_string()))?.summarizer)
}

/// Parses the value of `--with`.
pub(super) fn parse_kind(word: Option<&str>) -> Option<SummarizerKind> {
    SummarizerKind::ALL.into_iter().find(|kind| Some(kind.as_str()) == word)
}

/// Creates the summarizer of a kind. It reports invalid settings before any file is read or any model is called.
pub(super) fn choose_summarizer(
    kind: SummarizerKind,
    config: &SummarizerConfig,
) -> Result<ChosenSummarizer, Failure> {
    let summarizer = build_summarizer(kind, config).map_err(|error| Failure::usage(error.to_string()))?;
    Ok(ChosenSummarizer { writer: SummaryWriter::from_config(kind, config), summarizer })
}

/// Runs `work` with progress notes; Ctrl-C cancels it cleanly. `quiet` suppresses the notes.
pub(super) fn run_cancellable<T>(
    quiet: bool,
    output: &mut Output,
    work: impl FnOnce(&CancelToken, &mut dyn FnMut(SummaryProgress)) -> T,
) -> Result<T, Failure> {
    let cancel = CancelToken::new();
    let stop = cancel.clone();
    let reported = RefCell::new(output);
    let mut progress = |progress: SummaryProgress| {
        if !quiet {
            // A failed note is no reason to stop the work.
            _ = reported.borrow_mut().note(&describe_progress(&progress));
        }
    };
    Ok(interruptible(move || stop.cancel(), || work(&cancel, &mut progress))?)
}

fn describe_progress(progress: &SummaryProgress) -> String {
    let SummaryProgress { call, total_calls: of, purpose, tokens, attempt, wait_ms } = progress;
    let again = match (attempt, wait_ms) {
        (1, _) => String::new(),
        (attempt, wait) => format!(", attempt {attempt} in {}", format_duration(wait.max(Millis(1000.0)))),
    };
    format!("call {call} of {of}: {} · {} tokens{again}", purpose.as_str(), format_estimate(*tokens))
}

/// Generates the summary of a preview's compaction, and gives the preview its length.
pub(super) fn generate_summary(
    preview: &mut Preview,
    requested: ChosenSummarizer,
    json: bool,
    output: &mut Output,
) -> Result<SummaryResult, Failure> {
    let quiet = json || !requested.writer.is_external();
    let Preview { session, plan, now_ms, .. } = &*preview;
    let reported = |error: SummaryJobError| summary_failure(preview, &error);
    let settings = summary_settings(preview);
    let who = (requested.writer, requested.summarizer);
    let making = SummaryJob::new(session, plan, settings, who, *now_ms).map_err(reported)?;
    let made =
        run_cancellable(quiet, output, |cancel, progress| making.run(cancel, progress))?.map_err(reported)?;
    let plan = made.apply_to(session, plan).map_err(|error| Failure::unreadable(error.to_string()))?;
    preview.plan = plan;
    preview.set_summary_length(SummaryLength::Generated(made.writer.label()), made.summary.tokens());
    Ok(made)
}

fn summary_settings(preview: &Preview) -> SummarySettings {
    let rules = preview.session.ruleset.id.rules();
    SummarySettings::from_config(rules, &preview.workspace.store().config.js_root)
}

fn summary_failure(preview: &Preview, error: &SummaryJobError) -> Failure {
    match error {
        SummaryJobError::NotCompactable(NotCompactable::Body(error)) => {
            Failure::unreadable(error.to_string())
        }
        other => Failure::refused(format!("{}: {other}", preview.session.item.key.0)),
    }
}

/// Refuses a summary option if the plan has no compaction that would use it.
pub(super) fn refuse_without_compaction(preview: &Preview, option: &str) -> Result<(), Failure> {
    if preview.simulated.policies.enabled.has(Policy::Compact) {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{option}: the plan has no compaction, so it needs no summary. Add compact to --policy."
    )))
}

/// Predicts the calls that the gateway itself would make for a preview's compaction; `None` if it compacts nothing.
pub(super) fn gateway_calls(preview: &Preview) -> Result<Option<Result<PredictedCalls, NoSummary>>, Failure> {
    let Preview { session, plan, now_ms, .. } = preview;
    if plan.compaction.is_none() {
        return Ok(None);
    }
    let settings = plan.settings.compaction;
    let compactable = PreparedCompaction::new(session, settings, summary_settings(preview), None, *now_ms);
    let compactable = compactable.map_err(|error| summary_failure(preview, &error.into()))?;
    Ok(Some(predict_calls(&compactable.job, Tokens(plan.settings.summary_tokens as f64))))
}

/// Prints the gateway's calls: the totals on one line, then each call.
pub(super) fn print_gateway_calls(
    preview: &Preview,
    calls: &PredictedCalls,
    output: &mut Output,
) -> Result<(), Failure> {
    let cost = preview.session.price.map(|price| format!(", {}", format_estimated_usd(calls.cost(&price))));
    let line = format!(
        "  the gateway would make {} with {} tokens in and {} out{}",
        format_count(calls.calls.len() as u64, "call", "calls"),
        format_estimate(calls.input_tokens()),
        format_estimate(calls.output_tokens()),
        cost.unwrap_or_default()
    );
    output.line(Tone::Dim, &line)?;
    Ok(calls_table(calls).print(output, "    ")?)
}

pub(super) fn calls_table(calls: &PredictedCalls) -> Table {
    let mut table = Table::new(&[
        ("#", Align::Right),
        ("summarises", Align::Left),
        ("messages", Align::Right),
        ("tokens in", Align::Right),
        ("tokens out", Align::Right),
        ("at most", Align::Right),
    ]);
    for (at, call) in calls.calls.iter().enumerate() {
        let what = if call.is_merge {
            format!("{}: merge", call.purpose.as_str())
        } else {
            call.purpose.as_str().to_owned()
        };
        table.push(vec![
            (at + 1).to_string().into(),
            what.into(),
            format_number(call.messages as u64).into(),
            format_estimate(call.input_tokens).into(),
            format_estimate(call.output_tokens).into(),
            format_number(call.max_tokens.whole()).into(),
        ]);
    }
    table
}

/// Returns the gateway's calls as JSON; null if nothing is compacted or the gateway would give up.
/// The gateway's calls for a summary, predicted.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct GatewayCallsJson {
    count: usize,
    input_tokens: u64,
    output_tokens: u64,
    /// USD.
    cost: Option<f64>,
    each: Vec<PredictedCall>,
}

pub(super) fn gateway_calls_json(preview: &Preview) -> Result<Option<GatewayCallsJson>, Failure> {
    let Some(Ok(calls)) = gateway_calls(preview)? else { return Ok(None) };
    Ok(Some(GatewayCallsJson {
        count: calls.calls.len(),
        input_tokens: calls.input_tokens(),
        output_tokens: calls.output_tokens(),
        cost: preview.session.price.map(|price| calls.cost(&price)),
        each: calls.calls,
    }))
}

/// A generated summary.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SummaryJson {
    summarizer: &'static str,
    program: Option<String>,
    tokens: u64,
    calls: Vec<SummaryCallRecord>,
    text: JsString,
}

impl From<&SummaryResult> for SummaryJson {
    fn from(made: &SummaryResult) -> Self {
        Self {
            summarizer: made.writer.kind.as_str(),
            program: made.writer.name.clone(),
            tokens: made.summary.tokens(),
            calls: made.calls.clone(),
            text: made.summary.text.clone(),
        }
    }
}

/// Prints the writer and first lines of a summary.
pub(super) fn print_generated(made: &SummaryResult, output: &mut Output) -> Result<(), Failure> {
    let calls = format_count(made.calls.len() as u64, "call", "calls");
    let (label, tokens) = (made.writer.label(), format_estimate(made.summary.tokens()));
    let title =
        if made.writer.is_external() { format!("summary by {label}") } else { format!("{label} summary") };
    output.line(Tone::Strong, &format!("{title} · {tokens} tokens · {calls}"))?;
    let text = made.summary.text.to_string_lossy();
    let lines: Vec<&str> = text.lines().collect();
    for line in lines.iter().take(MAX_SUMMARY_LINES) {
        output.line(Tone::Dim, &format!("  {line}"))?;
    }
    if let Some(more) = lines.len().checked_sub(MAX_SUMMARY_LINES).filter(|more| *more > 0) {
        output.line(Tone::Dim, &format!("  … {} more", format_count(more as u64, "line", "lines")))?;
    }
    Ok(())
}
