//! `clawscope explain SESSION --recovery`: compares the recorded and the expected recovery after an overflow.

use std::io::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::environment::{Invocation, Workspace, require_context};
use super::failure::Failure;
use super::output::{Output, Tone};
use super::ruleset::{RulesetJson, ruleset_json};
use super::session_output::{
    SessionJson, WindowJson, finite, print_session_header, session_json, window_json,
};
use super::table::{Align, Cell, Table};
use crate::cli::{ExplainArgs, StoreArgs};
use crate::export::json::JsonOutput;
use crate::format::{format_count, format_estimate, format_number, format_time};
use crate::ids::EntryIx;
use crate::policy::recovery::{
    Attempt, CompactionCaller, CompactionOutcome, Ending, RecoveryStep, is_transient,
};
use crate::policy::truncate::max_result_chars_under;
use crate::redact::masked;
use crate::report::recovery::{
    RecoveryEvent, RecoveryRow, RecoveryView, RefusedCall, RowKind, RowMark, load_recovery,
};
use crate::session::LoadedSession;
use crate::units::{Chars, Moment, Tokens};

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

/// Returns the limit in chars for one tool result under the session's ruleset.
fn max_result_chars(session: &LoadedSession) -> Chars {
    max_result_chars_under(session.ruleset.id.rules(), session.window.tokens)
}

/// The gateway's recovery after an overflow, expected and recorded.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RecoveryJson {
    session: SessionJson,
    window: WindowJson,
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
    enabled: bool,
    mode: &'static str,
    reserve_tokens: Option<Tokens>,
    keep_recent_tokens: Option<Tokens>,
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
        window: window_json(session.window),
        compaction: CompactionSettingsJson {
            enabled: compaction.enabled,
            mode: session.limits.compaction_mode.as_str(),
            reserve_tokens: finite(compaction.reserve_tokens),
            keep_recent_tokens: finite(compaction.keep_recent_tokens),
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
    let refusal = &view.refusal;
    let head = match refusal.entry {
        Some(ix) => {
            let tokens = refusal.tokens.map(|tokens| format!(" · {} tokens", format_number(tokens)));
            let name = session.index.display_id(ix);
            format!("overflow at {name} · {}{}", format_time(refusal.time_ms), tokens.unwrap_or_default())
        }
        None => match &view.unanswered {
            Some(error) => format!(
                "nothing to recover from: {} failed, and not for its size ({})",
                session.index.display_id(error.entry),
                error.class.as_str()
            ),
            None => "no overflow is recorded; this is what the next one would cause".to_owned(),
        },
    };
    writeln!(output)?;
    output.line(if view.is_recorded() { Tone::Bad } else { Tone::Strong }, &head)?;
    if view.is_recorded() && !refusal.text.is_empty() {
        output.line(Tone::Plain, &format!("{} ({})", refusal.shown_text(), refusal.source.label()))?;
    }
    if view.earlier_overflows > 0 {
        output.line(
            Tone::Dim,
            &format_count(view.earlier_overflows as u64, "earlier overflow", "earlier overflows"),
        )?;
    }
    let line = format!(
        "compaction {} · reserve {} · keepRecentTokens {} · result limit {} chars",
        session.limits.compaction_mode.as_str(),
        format_number(session.configured_settings.compaction.reserve_tokens.whole()),
        format_number(session.configured_settings.compaction.keep_recent_tokens.whole()),
        format_number(max_result_chars(session).whole()),
    );
    output.line(Tone::Dim, &line)?;
    if view.is_recorded() {
        output.line(Tone::Plain, &view.comparison())?;
    }
    if let Some(error) = session.limits.run_error.as_deref() {
        output.line(Tone::Warning, &format!("the gateway recorded for the last run: {}", masked(error)))?;
    }
    writeln!(output)?;
    table(session, view).print(output, "")?;
    if let Some(row) = view.rows.iter().find(|row| !row.rule.is_empty()) {
        let hint = format!("`clawscope rules {}` prints a rule", row.rule.replacen(' ', "-", 1));
        output.line(Tone::Dim, &hint)?;
    }
    print_explanations(view, output)
}

fn table(session: &LoadedSession, view: &RecoveryView) -> Table {
    let mut columns = vec![("expected", Align::Left), ("tokens", Align::Right), ("rule", Align::Left)];
    if view.is_recorded() {
        columns.extend([("recorded", Align::Left), ("entry", Align::Left)]);
    }
    let mut table = Table::new(&columns);
    for row in &view.rows {
        let head = matches!(row.kind, RowKind::Attempt(_));
        let words = if head { row.label.clone() } else { format!("  {} {}", row.mark.glyph(), row.label) };
        let measured =
            row.tokens.is_some() && row.tokens == view.refusal.tokens && row.mark == RowMark::Refused;
        let tokens =
            row.tokens.map(|tokens| if measured { format_number(tokens) } else { format_estimate(tokens) });
        let mut cells = vec![
            Cell::new(&words, row_tone(row)),
            tokens.unwrap_or_default().into(),
            Cell::new(row.rule, Tone::Dim),
        ];
        if view.is_recorded() {
            let shown = row.observed.as_deref();
            let shown = shown.unwrap_or(if head { "" } else { "—" });
            let entry = row.entry.filter(|_| row.observed.is_some()).map(|ix| session.index.display_id(ix));
            cells.push(Cell::new(shown, if row.observed.is_some() { Tone::Plain } else { Tone::Dim }));
            cells.push(Cell::new(&entry.unwrap_or_default(), Tone::Dim));
        }
        table.push(cells);
    }
    table
}

fn row_tone(row: &RecoveryRow) -> Tone {
    match (row.kind, row.mark) {
        (RowKind::Attempt(_), _) => Tone::Strong,
        (_, RowMark::Refused) => Tone::Bad,
        (_, RowMark::Failed) => Tone::Warning,
        (_, RowMark::Done) => Tone::Good,
        (_, RowMark::Continued | RowMark::Neutral) => Tone::Plain,
    }
}

/// Prints each explanation of a row once.
fn print_explanations(view: &RecoveryView, output: &mut Output) -> Result<(), Failure> {
    writeln!(output)?;
    let mut reported: Vec<&str> = Vec::new();
    for row in view.rows.iter().filter(|row| !matches!(row.kind, RowKind::Attempt(_))) {
        if !reported.contains(&row.explanation.as_str()) {
            reported.push(&row.explanation);
            output.line(Tone::Plain, &format!("{} {}: {}", row.mark.glyph(), row.label, row.explanation))?;
        }
    }
    Ok(())
}
