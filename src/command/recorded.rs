//! `clawscope context SESSION --recorded`: compares the gateway's recording of a run with the context rebuilt from the
//! transcript.

use std::io::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::environment::{Invocation, Workspace};
use super::failure::Failure;
use super::output::Output;
use super::session_output::{SessionJson, print_session_header, session_json};
use crate::cli::{ContextViewArgs, StoreArgs};
use crate::doc::Tone;
use crate::export::json::JsonOutput;
use crate::format::{format_number, format_ordinal};
use crate::report::recorded_context::{
    Difference, DifferingMessage, RecordedContext, RecordedRun, RecordingComparison, RunError, read_run,
};

/// Paths, positions and entries printed per list; the JSON has all.
const MAX_LIST_ITEMS: usize = 5;

/// The gateway's recording of a run compared with the context rebuilt from the transcript.
#[derive(Serialize, JsonSchema)]
pub(super) struct RecordedJson {
    session: SessionJson,
    #[serde(flatten)]
    recorded: RecordedContext,
}

impl JsonOutput for RecordedJson {}

pub(super) fn run(
    args: &ContextViewArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let named = &args.context.target;
    let workspace = Workspace::for_session(&named.session, place, invocation)?;
    let session = workspace.open_session(&named.session, output)?;
    let mut recorded = read_run(&session, args.run.unwrap_or(1)).map_err(|error| match error {
        RunError::NoSuchRun { .. } => Failure::usage(error.to_string()),
        _ => Failure::unreadable(error.to_string()),
    })?;
    if named.json {
        recorded.message = recorded.message.replace('\u{a0}', " ");
        return Ok(output.json(&RecordedJson { session: session_json(&session.item), recorded })?);
    }
    print_session_header(output, &session, session.window)?;
    writeln!(output)?;
    print(&recorded, output)
}

fn print(recorded: &RecordedContext, output: &mut Output) -> Result<(), Failure> {
    if let Some(run) = &recorded.run {
        output.line(Tone::Plain, &describe_run(run))?;
        output.line(Tone::Dim, &format!("Recording  {}", run.place))?;
        writeln!(output)?;
    }
    let tone = match &recorded.context {
        Some(all) if all.difference.is_none() => Tone::Strong,
        Some(_) => Tone::Bad,
        None => Tone::Warning,
    };
    output.line(tone, &recorded.message)?;
    if let Some(all) = &recorded.context {
        print_comparison(all, output)?;
    }
    if recorded.run.is_some() {
        writeln!(output)?;
    }
    Ok(output.line(Tone::Dim, note(&recorded.verdict))?)
}

fn note(verdict: &str) -> &'static str {
    match verdict {
        "missing" => {
            "Gateways 2026.4.22 and later record runs unless OPENCLAW_TRAJECTORY is off; pruned sessions lose the recording."
        }
        "elsewhere" => "Copy the recording to the transcript's folder to compare it.",
        "no run" => "The recording belongs to another session of the same file.",
        _ => {
            "The recording has the messages at the start of the run, before the gateway trimmed them for each call."
        }
    }
}

fn describe_run(run: &RecordedRun) -> String {
    let model = [&run.provider, &run.model].into_iter().flatten();
    let model = model.map(String::as_str).collect::<Vec<_>>().join("/");
    let version = run.gateway.as_ref().map(|version| format!("openclaw {version}"));
    let words = [
        Some(format!("Run {} of {} ({})", run.number, run.of, run.id)),
        Some(run.started.clone()),
        run.trigger.clone(),
        Some(model),
        version,
        run.status.clone(),
    ];
    words.into_iter().flatten().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" · ")
}

fn print_comparison(all: &RecordingComparison, output: &mut Output) -> Result<(), Failure> {
    for repair in &all.repairs {
        output.line(
            Tone::Plain,
            &format!("  repair    {}: {}", repair.description, format_number(repair.count as u64)),
        )?;
    }
    let cuts: Vec<String> = all.cuts.iter().map(|cut| format!("{} ({})", cut.path, cut.reason)).collect();
    print_list("cut", &cuts, output)?;
    print_list("redacted", &all.redacted, output)?;
    let Some(difference) = &all.difference else { return Ok(()) };
    print_difference(difference, output)?;
    if all.context_engine {
        output.line(Tone::Plain, "  A context-engine plugin made this list.")?;
    }
    Ok(())
}

fn print_difference(own: &Difference, output: &mut Output) -> Result<(), Failure> {
    let side = |side: &Option<DifferingMessage>| match side {
        None => "no message".to_owned(),
        Some(side) => {
            let entry = side.entry.as_ref().map(|entry| format!("{entry} ")).unwrap_or_default();
            format!("{entry}{} of {} chars", side.role, format_number(side.chars))
        }
    };
    let (recorded, rebuilt) = (side(&own.recorded), side(&own.rebuilt));
    output.line(
        Tone::Plain,
        &format!("  {}  recorded: {recorded}; rebuilt: {rebuilt}", format_ordinal(own.position)),
    )?;
    print_list("differs", &own.paths, output)?;
    let positions: Vec<String> = own.only_recorded.iter().map(|at| format_ordinal(*at)).collect();
    print_list("only recorded", &positions, output)?;
    print_list("only in the transcript", &own.only_rebuilt, output)
}

fn print_list(name: &str, items: &[String], output: &mut Output) -> Result<(), Failure> {
    if items.is_empty() {
        return Ok(());
    }
    let shown = items.iter().take(MAX_LIST_ITEMS).cloned().collect::<Vec<_>>().join(", ");
    let more = items.len().saturating_sub(MAX_LIST_ITEMS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Ok(output.line(Tone::Plain, &format!("  {name}  {shown}{more}"))?)
}
