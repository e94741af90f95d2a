//! `clawscope recovery SESSION`: what the gateway tries after an overflow, recorded beside expected.

use std::io::Write as _;

use super::described::{number, print_head, session_value, window_value};
use super::failure::Failure;
use super::output::{Output, Tone};
use super::ruleset::ruleset_value;
use super::scene::{Around, Scene, with_context};
use super::table::{Align, Cell, Table};
use super::words::{commas, counted, estimated, grouped, moment};
use crate::cli::{PlaceArgs, SessionArgs};
use crate::inspect::Inspection;
use crate::inspect::recovery::{RecoveryRow, RecoveryView, Refusal, RowKind, Sign, lent_rules, recovery_of};
use crate::inspect::words::GROUP;
use crate::js::{Object, Value};
use crate::policy::overflow::{gateway, pi};
use crate::policy::recovery::{Asked, Attempt, Compacted, Ending, Step, is_transient};
use crate::policy::truncate::max_result_chars_under;

/// Shows the recovery of a session.
pub(super) fn run(
    args: &SessionArgs,
    place: &PlaceArgs,
    around: &Around,
    output: &mut Output,
) -> Result<(), Failure> {
    let inspection = Scene::for_session(&args.session, place, around)?.open(&args.session)?;
    let inspection = with_context(inspection)?;
    let view = recovery_of(&inspection).map_err(|error| Failure::unreadable(error.to_string()))?;
    if args.json {
        return Ok(output.json(answer(&inspection, &view))?);
    }
    print(&inspection, &view, output)
}

/// Chars that one tool result may have by the rules of the session.
fn result_limit(inspection: &Inspection) -> f64 {
    max_result_chars_under(inspection.ruleset.ruleset.rules(), inspection.window.tokens)
}

fn answer(inspection: &Inspection, view: &RecoveryView) -> Object {
    let entry = |ix: Option<_>| Value::from(ix.map(|ix| inspection.index.name(ix)));
    let settings = Object::from([
        ("enabled", Value::from(inspection.configured.compaction.enabled)),
        ("mode", Value::from(inspection.upkeep.mode.name())),
        ("reserveTokens", number(inspection.configured.compaction.reserve_tokens)),
        ("keepRecentTokens", number(inspection.configured.compaction.keep_recent_tokens)),
        ("maxResultChars", number(result_limit(inspection))),
        ("runtimeWindow", number(inspection.upkeep.runtime_window)),
    ]);
    let lent = lent_rules(inspection.ruleset.ruleset);
    let attempts = view.expected.attempts.iter().enumerate();
    let attempts = attempts.map(|(at, attempt)| attempt_value(inspection, view, at, attempt));
    let recorded = view.recorded.iter().map(|seen| {
        Value::from(Object::from([
            ("what", Value::from(seen.word())),
            ("entry", entry(seen.entry())),
            ("time", seen.entry().map_or(Value::Null, |ix| number(inspection.index.entry(ix).time))),
        ]))
    });
    Object::from([
        ("session", session_value(&inspection.session)),
        ("window", window_value(inspection.window)),
        ("compaction", Value::from(settings)),
        ("ruleset", ruleset_value(&inspection.ruleset)),
        ("rulesOf", Value::from(lent.map_or(inspection.ruleset.ruleset, |lent| lent.of).id())),
        ("happened", Value::from(view.happened())),
        ("overflow", refusal_value(inspection, &view.refusal)),
        ("earlierOverflows", Value::from(view.earlier)),
        ("attempts", Value::from(attempts.collect::<Vec<_>>())),
        ("ending", ending_value(view.expected.ending)),
        ("recorded", Value::from(recorded.collect::<Vec<_>>())),
    ])
}

fn refusal_value(inspection: &Inspection, refusal: &Refusal) -> Value {
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
        ("entry", Value::from(refusal.entry.map(|ix| inspection.index.name(ix)))),
        ("source", Value::from(refusal.source.name())),
        ("text", Value::from(text)),
        ("time", number(refusal.at)),
        ("tokens", Value::from(refusal.tokens)),
        ("limit", Value::from(refusal.limit)),
        ("detectors", Value::from(detectors)),
    ]))
}

fn attempt_value(inspection: &Inspection, view: &RecoveryView, at: usize, attempt: &Attempt) -> Value {
    let head = view.rows.iter().position(|row| row.kind == RowKind::Attempt(at + 1)).unwrap_or(0);
    let rows = view.rows.iter().skip(head + 1);
    let steps = attempt.steps.iter().zip(rows).map(|(step, row)| step_value(inspection, step, row));
    Value::from(Object::from([
        ("number", Value::from(at + 1)),
        ("steps", Value::from(steps.collect::<Vec<_>>())),
    ]))
}

fn step_value(inspection: &Inspection, step: &Step, row: &RecoveryRow) -> Value {
    let (kind, outcome) = match step {
        Step::Refused { .. } => ("call", "refused"),
        Step::Answered { .. } => ("call", "answered"),
        Step::Retried => ("call", "retried"),
        Step::Compaction { by: Asked::InRun, outcome } => ("compactionInRun", outcome.word()),
        Step::Compaction { by: Asked::Explicitly, outcome } => ("compactionByGateway", outcome.word()),
        Step::RunAgain => ("runAgain", "done"),
        Step::Truncation { .. } => ("truncation", "done"),
        Step::NothingOversized { .. } => ("truncation", "nothingOversized"),
    };
    let mut object = Object::from([
        ("step", Value::from(kind)),
        ("outcome", Value::from(outcome)),
        ("tokens", Value::from(row.tokens)),
        ("rule", Value::from(row.rule)),
        ("why", Value::from(row.why.replace(GROUP, " "))),
        ("shown", Value::from(row.recorded.is_some())),
    ]);
    match step {
        Step::Compaction {
            outcome: Compacted::Done { summarised, first_kept, kept_tokens, lost, request_kept },
            ..
        } => {
            object.set("summarised", Value::from(*summarised));
            object.set("firstKept", Value::from(inspection.index.name(*first_kept)));
            object.set("keptTokens", number(*kept_tokens));
            object.set("lost", Value::from(*lost));
            object.set("requestKept", Value::from(*request_kept));
        }
        Step::Truncation { limit, cut, loses_kept } => {
            let cut = cut.iter().map(|ix| Value::from(inspection.index.name(*ix)));
            object.set("limitChars", number(*limit));
            object.set("cut", Value::from(cut.collect::<Vec<_>>()));
            object.set("losesKept", Value::from(*loses_kept));
        }
        Step::NothingOversized { limit, largest } => {
            object.set("limitChars", number(*limit));
            object.set("largestChars", number(*largest));
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
        ("outcome", Value::from(ending.word())),
        ("kind", Value::from(kind)),
        ("reset", Value::from(reset)),
        ("reply", Value::from(ending.reply())),
        ("rule", Value::from(ending.rule())),
    ]))
}

fn print(inspection: &Inspection, view: &RecoveryView, output: &mut Output) -> Result<(), Failure> {
    print_head(output, inspection, inspection.window)?;
    let refusal = &view.refusal;
    let head = match refusal.entry {
        Some(ix) => {
            let tokens = refusal.tokens.map(|tokens| format!(" · {} tokens", grouped(tokens)));
            let name = inspection.index.name(ix);
            format!("overflow at {name} · {}{}", moment(refusal.at), tokens.unwrap_or_default())
        }
        None => "no overflow is recorded: this is what the next one would lead to".to_owned(),
    };
    writeln!(output)?;
    output.line(if view.happened() { Tone::Bad } else { Tone::Strong }, &head)?;
    if view.happened() && !refusal.text.is_empty() {
        output.line(Tone::Plain, &format!("{} ({})", refusal.text, refusal.source.words()))?;
    }
    if view.earlier > 0 {
        output.line(Tone::Dim, &counted(view.earlier as u64, "overflow before it", "overflows before it"))?;
    }
    let line = format!(
        "compaction {} · reserve {} · keeps {} · a result may have {} chars",
        inspection.upkeep.mode.name(),
        grouped(inspection.configured.compaction.reserve_tokens.max(0.0) as u64),
        grouped(inspection.configured.compaction.keep_recent_tokens.max(0.0) as u64),
        grouped(result_limit(inspection).max(0.0) as u64),
    );
    output.line(Tone::Dim, &line)?;
    if let Some(lent) = lent_rules(inspection.ruleset.ruleset) {
        output.line(Tone::Warning, lent.why)?;
    }
    writeln!(output)?;
    table(inspection, view).print(output, "")?;
    explain(view, output)
}

fn table(inspection: &Inspection, view: &RecoveryView) -> Table {
    let mut columns = vec![("expected", Align::Left), ("tokens", Align::Right), ("rule", Align::Left)];
    if view.happened() {
        columns.extend([("recorded", Align::Left), ("entry", Align::Left)]);
    }
    let mut table = Table::new(&columns);
    for row in &view.rows {
        let head = matches!(row.kind, RowKind::Attempt(_));
        let words =
            if head { row.words.clone() } else { format!("  {} {}", row.sign.text(), commas(&row.words)) };
        let measured = row.tokens.is_some() && row.tokens == view.refusal.tokens && row.sign == Sign::Refused;
        let tokens = row.tokens.map(|tokens| if measured { grouped(tokens) } else { estimated(tokens) });
        let mut cells = vec![
            Cell::new(&words, tone(row)),
            tokens.unwrap_or_default().into(),
            Cell::new(row.rule, Tone::Dim),
        ];
        if view.happened() {
            let shown = row.recorded.as_deref().map(commas);
            let shown = shown.as_deref().unwrap_or(if head { "" } else { "—" });
            let entry = row.entry.filter(|_| row.recorded.is_some()).map(|ix| inspection.index.name(ix));
            cells.push(Cell::new(shown, if row.recorded.is_some() { Tone::Plain } else { Tone::Dim }));
            cells.push(Cell::new(&entry.unwrap_or_default(), Tone::Dim));
        }
        table.push(cells);
    }
    table
}

fn tone(row: &RecoveryRow) -> Tone {
    match (row.kind, row.sign) {
        (RowKind::Attempt(_), _) => Tone::Strong,
        (_, Sign::Refused) => Tone::Bad,
        (_, Sign::Failed) => Tone::Warning,
        (_, Sign::Done) => Tone::Good,
        (_, Sign::Again | Sign::Plain) => Tone::Plain,
    }
}

/// The sentences behind the rows, each once.
fn explain(view: &RecoveryView, output: &mut Output) -> Result<(), Failure> {
    writeln!(output)?;
    let mut told: Vec<&str> = Vec::new();
    for row in view.rows.iter().filter(|row| !matches!(row.kind, RowKind::Attempt(_))) {
        if !told.contains(&row.why.as_str()) {
            told.push(&row.why);
            output.line(
                Tone::Plain,
                &format!("{} {}: {}", row.sign.text(), commas(&row.words), commas(&row.why)),
            )?;
        }
    }
    Ok(())
}
