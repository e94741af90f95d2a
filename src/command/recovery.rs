//! `clawscope recovery SESSION`: shows the gateway's recovery after an overflow, recorded beside expected.

use std::io::Write as _;

use super::environment::{Invocation, Workspace, require_context};
use super::failure::Failure;
use super::output::{Output, Tone};
use super::ruleset::ruleset_json;
use super::session_output::{number_value, print_session_header, session_json, window_value};
use super::table::{Align, Cell, Table};
use crate::cli::{SessionArgs, StoreArgs};
use crate::format::{
    DIGIT_SEPARATOR, format_count, format_estimate, format_number, format_time, with_commas,
};
use crate::js::{Object, Value};
use crate::policy::overflow::{gateway, pi};
use crate::policy::recovery::{
    Attempt, CompactionCaller, CompactionOutcome, Ending, RecoveryStep, is_transient,
};
use crate::policy::truncate::max_result_chars_under;
use crate::report::recovery::{
    RecoveryRow, RecoveryView, RefusedCall, RowKind, RowMark, borrowed_rules, load_recovery,
};
use crate::session::LoadedSession;

pub(super) fn run(
    args: &SessionArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let session = Workspace::for_session(&args.session, place, invocation)?.open_session(&args.session)?;
    let session = require_context(session)?;
    let view = load_recovery(&session).map_err(|error| Failure::unreadable(error.to_string()))?;
    if args.json {
        return Ok(output.json(report_json(&session, &view))?);
    }
    print(&session, &view, output)
}

/// Returns the limit in chars for one tool result under the session's ruleset.
fn max_result_chars(session: &LoadedSession) -> f64 {
    max_result_chars_under(session.ruleset.id.rules(), session.window.tokens)
}

fn report_json(session: &LoadedSession, view: &RecoveryView) -> Object {
    let entry = |ix: Option<_>| Value::from(ix.map(|ix| session.index.display_id(ix)));
    let settings = Object::from([
        ("enabled", Value::from(session.configured_settings.compaction.enabled)),
        ("mode", Value::from(session.limits.compaction_mode.as_str())),
        ("reserveTokens", number_value(session.configured_settings.compaction.reserve_tokens)),
        ("keepRecentTokens", number_value(session.configured_settings.compaction.keep_recent_tokens)),
        ("maxResultChars", number_value(max_result_chars(session))),
        ("runtimeWindow", number_value(session.limits.runtime_window)),
    ]);
    let lent = borrowed_rules(session.ruleset.id);
    let attempts = view.expected.attempts.iter().enumerate();
    let attempts = attempts.map(|(at, attempt)| attempt_value(session, view, at, attempt));
    let recorded = view.events.iter().map(|seen| {
        Value::from(Object::from([
            ("what", Value::from(seen.as_str())),
            ("entry", entry(seen.entry())),
            ("time", seen.entry().map_or(Value::Null, |ix| number_value(session.index.entry(ix).time_ms))),
        ]))
    });
    Object::from([
        ("session", session_json(&session.item)),
        ("window", window_value(session.window)),
        ("compaction", Value::from(settings)),
        ("ruleset", ruleset_json(&session.ruleset)),
        ("rulesOf", Value::from(lent.map_or(session.ruleset.id, |lent| lent.ruleset).id())),
        ("happened", Value::from(view.is_recorded())),
        ("overflow", refusal_value(session, &view.refusal)),
        ("earlierOverflows", Value::from(view.earlier_overflows)),
        ("attempts", Value::from(attempts.collect::<Vec<_>>())),
        ("ending", ending_value(view.expected.ending)),
        ("recorded", Value::from(recorded.collect::<Vec<_>>())),
    ])
}

fn refusal_value(session: &LoadedSession, refusal: &RefusedCall) -> Value {
    let text = refusal.text.as_str();
    let detectors = Object::from([
        ("runtime", Value::from(pi::is_overflow(text))),
        ("gateway", Value::from(gateway::is_likely_overflow(text))),
        ("chat", Value::from(gateway::is_overflow(text))),
        ("compactionFailure", Value::from(gateway::is_compaction_failure(text))),
        ("rateLimit", Value::from(gateway::is_rate_limit(text))),
        ("transient", Value::from(is_transient(text) && !pi::is_overflow(text))),
    ]);
    Value::from(Object::from([
        ("entry", Value::from(refusal.entry.map(|ix| session.index.display_id(ix)))),
        ("source", Value::from(refusal.source.name())),
        ("text", Value::from(text)),
        ("time", number_value(refusal.time_ms)),
        ("tokens", Value::from(refusal.tokens)),
        ("limit", Value::from(refusal.limit)),
        ("detectors", Value::from(detectors)),
    ]))
}

fn attempt_value(session: &LoadedSession, view: &RecoveryView, at: usize, attempt: &Attempt) -> Value {
    let head = view.rows.iter().position(|row| row.kind == RowKind::Attempt(at + 1)).unwrap_or(0);
    let rows = view.rows.iter().skip(head + 1);
    let policies = attempt.steps.iter().zip(rows).map(|(policy, row)| step_value(session, policy, row));
    Value::from(Object::from([
        ("number", Value::from(at + 1)),
        ("steps", Value::from(policies.collect::<Vec<_>>())),
    ]))
}

fn step_value(session: &LoadedSession, policy: &RecoveryStep, row: &RecoveryRow) -> Value {
    let (kind, outcome) = match policy {
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
    let mut object = Object::from([
        ("step", Value::from(kind)),
        ("outcome", Value::from(outcome)),
        ("tokens", Value::from(row.tokens)),
        ("rule", Value::from(row.rule)),
        ("why", Value::from(row.explanation.replace(DIGIT_SEPARATOR, " "))),
        ("shown", Value::from(row.observed.is_some())),
    ]);
    match policy {
        RecoveryStep::Compaction {
            outcome: CompactionOutcome::Done { summarised, first_kept, kept_tokens, lost, request_kept },
            ..
        } => {
            object.set("summarised", Value::from(*summarised));
            object.set("firstKept", Value::from(session.index.display_id(*first_kept)));
            object.set("keptTokens", number_value(*kept_tokens));
            object.set("lost", Value::from(*lost));
            object.set("requestKept", Value::from(*request_kept));
        }
        RecoveryStep::Truncation { limit, cut, loses_kept } => {
            let cut = cut.iter().map(|ix| Value::from(session.index.display_id(*ix)));
            object.set("limitChars", number_value(*limit));
            object.set("cut", Value::from(cut.collect::<Vec<_>>()));
            object.set("losesKept", Value::from(*loses_kept));
        }
        RecoveryStep::NothingOversized { limit, largest } => {
            object.set("limitChars", number_value(*limit));
            object.set("largestChars", number_value(*largest));
        }
        _ => {}
    }
    Value::from(object)
}

fn ending_value(ending: Ending) -> Value {
    let (kind, reset) = match ending {
        Ending::GaveUp { kind, reset } => (Some(kind.name()), reset),
        _ => (None, false),
    };
    Value::from(Object::from([
        ("outcome", Value::from(ending.as_str())),
        ("kind", Value::from(kind)),
        ("reset", Value::from(reset)),
        ("reply", Value::from(ending.reply())),
        ("rule", Value::from(ending.rule())),
    ]))
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
        None => "no overflow is recorded; this is what the next one would cause".to_owned(),
    };
    writeln!(output)?;
    output.line(if view.is_recorded() { Tone::Bad } else { Tone::Strong }, &head)?;
    if view.is_recorded() && !refusal.text.is_empty() {
        output.line(Tone::Plain, &format!("{} ({})", refusal.text, refusal.source.label()))?;
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
        format_number(session.configured_settings.compaction.reserve_tokens.max(0.0) as u64),
        format_number(session.configured_settings.compaction.keep_recent_tokens.max(0.0) as u64),
        format_number(max_result_chars(session).max(0.0) as u64),
    );
    output.line(Tone::Dim, &line)?;
    if let Some(lent) = borrowed_rules(session.ruleset.id) {
        output.line(Tone::Warning, lent.reason)?;
    }
    writeln!(output)?;
    table(session, view).print(output, "")?;
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
        let words = if head {
            row.label.clone()
        } else {
            format!("  {} {}", row.mark.glyph(), with_commas(&row.label))
        };
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
            let shown = row.observed.as_deref().map(with_commas);
            let shown = shown.as_deref().unwrap_or(if head { "" } else { "—" });
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
            output.line(
                Tone::Plain,
                &format!(
                    "{} {}: {}",
                    row.mark.glyph(),
                    with_commas(&row.label),
                    with_commas(&row.explanation)
                ),
            )?;
        }
    }
    Ok(())
}
