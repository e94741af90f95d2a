//! `clawscope explain SESSION --recovery`: compares the recorded and the expected recovery after an overflow.

use std::io::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::doctor_json::{CompactionJson, compaction_json};
use super::environment::{Invocation, Workspace, require_context};
use super::failure::Failure;
use super::output::Output;
use super::ruleset::{RulesetJson, ruleset_json};
use super::session_output::{SessionJson, finite, print_session_header, session_json};
use crate::cli::{ExplainArgs, StoreArgs};
use crate::doc::Tone;
use crate::export::json::JsonOutput;
use crate::gateway::window::WindowInfo;
use crate::ids::EntryIx;
use crate::policy::recovery::{
    Attempt, CompactionCaller, CompactionOutcome, Ending, RecoveryStep, is_transient,
};
use crate::report::recovery::{
    RecoveryEvent, RecoveryRow, RecoveryView, RefusedCall, RowKind, load_recovery, max_result_chars,
};
use crate::session::LoadedSession;
use crate::units::{Moment, Tokens};

pub(super) fn run(
    args: &ExplainArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let target = args.target.as_deref().unwrap_or_default();
    let session = Workspace::for_session(target, place, invocation)?.open_session(target, output)?;
    let session = require_context(session)?;
    let view = load_recovery(&session).map_err(|error| Failure::unreadable(error.to_string()))?;
    if args.json {
        return Ok(output.json(&report_json(&session, &view))?);
    }
    print(&session, &view, output)
}

/// The gateway's recovery after an overflow, expected and recorded.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RecoveryJson {
    session: SessionJson,
    window: WindowInfo,
    compaction: CompactionSettingsJson,
    ruleset: RulesetJson,
    /// Whether an overflow is recorded; otherwise this is the recovery from the next one.
    happened: bool,
    overflow: RefusalJson,
    earlier_overflows: usize,
    /// The expected attempts.
    attempts: Vec<AttemptJson>,
    ending: EndingJson,
    /// The recorded events.
    recorded: Vec<EventJson>,
}

impl JsonOutput for RecoveryJson {}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CompactionSettingsJson {
    #[serde(flatten)]
    settings: CompactionJson,
    /// Chars that one tool result may have.
    max_result_chars: Option<f64>,
    /// The window in tokens that the runtime believes in.
    runtime_window: Option<Tokens>,
}

#[derive(Serialize, JsonSchema)]
struct RefusalJson {
    entry: Option<String>,
    source: &'static str,
    /// The error text.
    text: String,
    /// ms since 1970.
    time: Option<Moment>,
    tokens: Option<u64>,
    /// Tokens that fit, by the text.
    limit: Option<u64>,
    detectors: DetectorsJson,
}

/// The detectors that recognise the text, by kind.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DetectorsJson {
    runtime: bool,
    gateway: bool,
    chat: bool,
    compaction_failure: bool,
    rate_limit: bool,
    transient: bool,
}

#[derive(Serialize, JsonSchema)]
struct AttemptJson {
    /// From 1.
    number: usize,
    steps: Vec<StepJson>,
}

#[derive(Serialize, JsonSchema)]
struct StepJson {
    step: &'static str,
    outcome: &'static str,
    tokens: Option<u64>,
    rule: &'static str,
    why: String,
    /// Whether the record shows it.
    shown: bool,
    #[serde(flatten)]
    details: Option<StepDetailsJson>,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged, rename_all_fields = "camelCase")]
enum StepDetailsJson {
    Compacted {
        /// Messages of the context, the earlier summary included.
        summarised: usize,
        first_kept: String,
        kept_tokens: Option<Tokens>,
        /// Messages that are neither kept nor summarised.
        lost: usize,
        /// Whether the request itself is kept.
        request_kept: bool,
    },
    Truncated {
        /// Chars that one result may have.
        limit_chars: Option<f64>,
        /// The results that are cut.
        cut: Vec<String>,
        loses_kept: bool,
    },
    NothingOversized {
        /// Chars that one result may have.
        limit_chars: Option<f64>,
        largest_chars: Option<f64>,
    },
}

#[derive(Serialize, JsonSchema)]
struct EndingJson {
    outcome: &'static str,
    /// The reason that the gateway gave up.
    kind: Option<&'static str>,
    /// Whether the session is reset.
    reset: bool,
    /// The gateway's reply to the user.
    reply: Option<&'static str>,
    rule: &'static str,
}

#[derive(Serialize, JsonSchema)]
struct EventJson {
    what: &'static str,
    entry: Option<String>,
    /// ms since 1970.
    time: Option<Moment>,
}

fn report_json(session: &LoadedSession, view: &RecoveryView) -> RecoveryJson {
    let compaction = &session.configured_settings.compaction;
    let attempts = view.expected.attempts.iter().enumerate();
    let event = |seen: &RecoveryEvent| EventJson {
        what: seen.as_str(),
        entry: seen.entry().map(|ix| session.index.display_id(ix)),
        time: seen.entry().and_then(|ix| finite(session.index.entry(ix).time_ms)),
    };
    RecoveryJson {
        session: session_json(&session.item),
        window: session.window,
        compaction: CompactionSettingsJson {
            settings: compaction_json(compaction, session.limits.compaction_mode),
            max_result_chars: finite(max_result_chars(session).get()),
            runtime_window: finite(session.limits.runtime_window),
        },
        ruleset: ruleset_json(&session.ruleset),
        happened: view.is_recorded(),
        overflow: refusal_json(session, &view.refusal),
        earlier_overflows: view.earlier_overflows,
        attempts: attempts.map(|(at, attempt)| attempt_json(session, view, at, attempt)).collect(),
        ending: ending_json(view.expected.ending),
        recorded: view.events.iter().map(event).collect(),
    }
}

fn refusal_json(session: &LoadedSession, refusal: &RefusedCall) -> RefusalJson {
    let detection = refusal.detection;
    RefusalJson {
        entry: refusal.entry.map(|ix| session.index.display_id(ix)),
        source: refusal.source.name(),
        text: refusal.shown_text().into_owned(),
        time: finite(refusal.time_ms),
        tokens: refusal.tokens,
        limit: refusal.limit,
        detectors: DetectorsJson {
            runtime: detection.in_run,
            gateway: detection.likely,
            chat: detection.overflow,
            compaction_failure: detection.compaction_failure,
            rate_limit: detection.rate_limit,
            transient: is_transient(refusal.text.as_str()) && !detection.in_run,
        },
    }
}

fn attempt_json(session: &LoadedSession, view: &RecoveryView, at: usize, attempt: &Attempt) -> AttemptJson {
    let head = view.rows.iter().position(|row| row.kind == RowKind::Attempt(at + 1)).unwrap_or(0);
    let steps = attempt.steps.iter().zip(view.rows.iter().skip(head + 1));
    AttemptJson { number: at + 1, steps: steps.map(|(step, row)| step_json(session, step, row)).collect() }
}

fn step_json(session: &LoadedSession, policy: &RecoveryStep, row: &RecoveryRow) -> StepJson {
    let (step, outcome) = match policy {
        RecoveryStep::Refused { .. } => ("call", "refused"),
        RecoveryStep::Answered { .. } => ("call", "answered"),
        RecoveryStep::Retried => ("call", "retried"),
        RecoveryStep::Compaction { caller: CompactionCaller::InRun, outcome } => {
            ("compactionInRun", outcome.as_str())
        }
        RecoveryStep::Compaction { caller: CompactionCaller::AfterRun, outcome } => {
            ("compactionByGateway", outcome.as_str())
        }
        RecoveryStep::RunAgain => ("runAgain", "done"),
        RecoveryStep::Truncation { .. } => ("truncation", "done"),
        RecoveryStep::NothingOversized { .. } => ("truncation", "nothingOversized"),
    };
    StepJson {
        step,
        outcome,
        tokens: row.tokens,
        rule: row.rule,
        why: row.explanation.clone(),
        shown: row.observed.is_some(),
        details: step_details(session, policy),
    }
}

fn step_details(session: &LoadedSession, policy: &RecoveryStep) -> Option<StepDetailsJson> {
    let name = |ix: &EntryIx| session.index.display_id(*ix);
    match policy {
        RecoveryStep::Compaction {
            outcome: outcome @ CompactionOutcome::Done { first_kept, kept_tokens, lost, request_kept, .. },
            ..
        } => Some(StepDetailsJson::Compacted {
            summarised: outcome.summarised_messages(),
            first_kept: name(first_kept),
            kept_tokens: finite(*kept_tokens),
            lost: *lost,
            request_kept: *request_kept,
        }),
        RecoveryStep::Truncation { limit, cut, loses_kept } => Some(StepDetailsJson::Truncated {
            limit_chars: finite(limit.get()),
            cut: cut.iter().map(name).collect(),
            loses_kept: *loses_kept,
        }),
        RecoveryStep::NothingOversized { limit, largest } => Some(StepDetailsJson::NothingOversized {
            limit_chars: finite(limit.get()),
            largest_chars: finite(largest.get()),
        }),
        _ => None,
    }
}

fn ending_json(ending: Ending) -> EndingJson {
    let (kind, reset) = match ending {
        Ending::GaveUp { kind, reset } => (Some(kind.name()), reset),
        _ => (None, false),
    };
    EndingJson { outcome: ending.as_str(), kind, reset, reply: ending.reply(), rule: ending.rule() }
}

fn print(session: &LoadedSession, view: &RecoveryView, output: &mut Output) -> Result<(), Failure> {
    print_session_header(output, session, session.window)?;
    writeln!(output)?;
    let doc = view.doc(session);
    output.line(Tone::Strong, &doc.headline)?;
    output.doc(&doc)?;
    if let Some(rule) = doc.rows().map(|row| row.rule).find(|rule| !rule.is_empty()) {
        let hint = format!("`clawscope rules {}` prints a rule", rule.replacen(' ', "-", 1));
        output.line(Tone::Dim, &hint)?;
    }
    Ok(())
}
