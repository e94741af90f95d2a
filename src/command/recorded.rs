//! `clawscope context SESSION --recorded`: compares the gateway's recording of a run with the context rebuilt from the
//! transcript.

use std::io::Write as _;

use super::environment::{Invocation, Workspace};
use super::failure::Failure;
use super::output::Output;
use super::recorded_json::report_json;
use super::recorded_verdict::describe_verdict;
use super::session_output::print_session_header;
use crate::cli::{ContextViewArgs, StoreArgs};
use crate::doc::Tone;
use crate::format::{format_number, format_ordinal};
use crate::report::recorded_context::{
    Difference, DifferingMessage, RecordedContext, RecordedRun, RecordingComparison, RunError, RunOutcome,
    read_run,
};

/// Paths, positions and entries printed per list; the JSON has all.
const MAX_LIST_ITEMS: usize = 5;

pub(super) fn run(
    args: &ContextViewArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let named = &args.context.target;
    let workspace = Workspace::for_session(&named.session, place, invocation)?;
    let session = workspace.open_session(&named.session, output)?;
    let recorded = read_run(&session, args.run.unwrap_or(1)).map_err(|error| match error {
        RunError::NoSuchRun { .. } => Failure::usage(error.to_string()),
        _ => Failure::unreadable(error.to_string()),
    })?;
    if named.json {
        return Ok(output.json(&report_json(&session, &recorded))?);
    }
    print_session_header(output, &session, session.window)?;
    writeln!(output)?;
    print(&recorded, output)
}

fn print(recorded: &RecordedContext, output: &mut Output) -> Result<(), Failure> {
    let RecordedContext::Run(run) = recorded else {
        output.line(Tone::Warning, &describe_verdict(recorded))?;
        return Ok(output.line(Tone::Dim, explain_absence(recorded))?);
    };
    output.line(Tone::Plain, &describe_run(run))?;
    output.line(Tone::Dim, &format!("Recording  {}", run.location))?;
    writeln!(output)?;
    let tone = match &run.outcome {
        RunOutcome::Compared(all) if all.difference.is_none() => Tone::Strong,
        RunOutcome::Compared(_) => Tone::Bad,
        _ => Tone::Warning,
    };
    output.line(tone, &describe_verdict(recorded))?;
    if let RunOutcome::Compared(all) = &run.outcome {
        print_comparison(all, output)?;
    }
    writeln!(output)?;
    let note = "The recording has the messages at the start of the run, before the gateway trimmed them for each call.";
    Ok(output.line(Tone::Dim, note)?)
}

fn explain_absence(recorded: &RecordedContext) -> &'static str {
    match recorded {
        RecordedContext::NoRecording => {
            "Gateways 2026.4.22 and later record runs unless OPENCLAW_TRAJECTORY is off; pruned sessions lose the recording."
        }
        RecordedContext::Unreadable(_) => "Copy the recording to the transcript's folder to compare it.",
        RecordedContext::NoRun | RecordedContext::Run(_) => {
            "The recording belongs to another session of the same file."
        }
    }
}

fn describe_run(run: &RecordedRun) -> String {
    let model = [&run.attempt.provider, &run.attempt.model].into_iter().flatten();
    let model = model.map(String::as_str).collect::<Vec<_>>().join("/");
    let version = run.details.gateway_version.as_ref().map(|version| format!("openclaw {version}"));
    let words = [
        Some(format!("Run {} of {} ({})", run.number, run.run_count, run.attempt.run_id)),
        Some(run.started.clone()),
        run.details.trigger.clone(),
        Some(model),
        version,
        run.details.status.clone(),
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
    Ok(output.line(Tone::Plain, &format!("  {}", difference.cause.description()))?)
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
