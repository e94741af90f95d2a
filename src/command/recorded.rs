//! `clawscope context SESSION --recorded`: the gateway's recording of a run beside the context rebuilt from the transcript.

use std::io::Write as _;

use super::described::print_head;
use super::failure::Failure;
use super::output::{Output, Tone};
use super::recorded_json::answer;
use super::scene::{Around, Scene};
use super::words::{counted, grouped};
use crate::cli::{ContextViewArgs, PlaceArgs};
use crate::inspect::Inspection;
use crate::inspect::recorded_context::{
    Comparison, Difference, Outcome, RecordedContext, RecordedRun, RunError, Side, read,
};

/// Paths, positions and entries that are printed of a list; the JSON has them all.
const SHOWN: usize = 5;

/// Compares a recorded run of a session with its transcript.
pub(super) fn run(
    args: &ContextViewArgs,
    place: &PlaceArgs,
    around: &Around,
    output: &mut Output,
) -> Result<(), Failure> {
    let named = &args.context.session;
    let scene = Scene::for_session(&named.session, place, around)?;
    let inspection = scene.open(&named.session)?;
    let recorded = read(&inspection, args.run.unwrap_or(1)).map_err(|error| match error {
        RunError::Number { .. } => Failure::usage(error.to_string()),
        _ => Failure::unreadable(error.to_string()),
    })?;
    if named.json {
        return Ok(output.json(answer(&inspection, &recorded))?);
    }
    print_head(output, &inspection, inspection.window)?;
    writeln!(output)?;
    print(&inspection, &recorded, output)
}

fn print(inspection: &Inspection, recorded: &RecordedContext, output: &mut Output) -> Result<(), Failure> {
    let RecordedContext::Run(run) = recorded else {
        output.line(Tone::Warning, &verdict_words(recorded))?;
        return Ok(output.line(Tone::Dim, absence(recorded))?);
    };
    output.line(Tone::Plain, &run_words(run))?;
    output.line(Tone::Dim, &format!("Recording  {}", run.place))?;
    writeln!(output)?;
    let tone = match &run.outcome {
        Outcome::Compared(all) if all.difference.is_none() => Tone::Strong,
        Outcome::Compared(_) => Tone::Bad,
        _ => Tone::Warning,
    };
    output.line(tone, &verdict_words(recorded))?;
    if let Outcome::Compared(all) = &run.outcome {
        print_comparison(inspection, run, all, output)?;
    }
    writeln!(output)?;
    let note = "The recording holds the list at the start of the run, before the trimming of each call.";
    Ok(output.line(Tone::Dim, note)?)
}

/// Why there may be no recording.
fn absence(recorded: &RecordedContext) -> &'static str {
    match recorded {
        RecordedContext::NoRecording => {
            "Gateways 2026.4.22 and later record runs unless OPENCLAW_TRAJECTORY is off; pruned sessions lose the recording."
        }
        RecordedContext::Elsewhere(_) => "Copy that file beside the transcript to compare it.",
        RecordedContext::NoRun | RecordedContext::Run(_) => "It belongs to another session of the same file.",
    }
}

fn run_words(run: &RecordedRun) -> String {
    let model = [&run.attempt.provider, &run.attempt.model].into_iter().flatten();
    let model = model.map(String::as_str).collect::<Vec<_>>().join("/");
    let version = run.details.gateway.as_ref().map(|version| format!("openclaw {version}"));
    let words = [
        Some(format!("Run {} of {} ({})", run.number, run.of, run.attempt.run)),
        Some(run.started.clone()),
        run.details.trigger.clone(),
        Some(model),
        version,
        run.details.status.clone(),
    ];
    words.into_iter().flatten().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" · ")
}

/// The answer in one sentence.
pub(super) fn verdict_words(recorded: &RecordedContext) -> String {
    let run = match recorded {
        RecordedContext::NoRecording => return "No recording of this session was found.".to_owned(),
        RecordedContext::Elsewhere(path) => {
            return format!("The recording is elsewhere: {}", path.display());
        }
        RecordedContext::NoRun => return "The recording holds no run of this session.".to_owned(),
        RecordedContext::Run(run) => run,
    };
    match &run.outcome {
        Outcome::NotCompiled => "The run ended before its context was built.".to_owned(),
        Outcome::CutWhole(cut) => {
            let size = cut.bytes.map(|bytes| format!(": its line had {} bytes", grouped(bytes)));
            let limit = cut.limit.map(|limit| format!(" and the limit is {}", grouped(limit)));
            let rest = cut.recovered.as_ref().map(|list| {
                format!(
                    ". The prompt that was sent began with {}",
                    counted(list.total, "message", "messages")
                )
            });
            let parts = [size, limit, rest].into_iter().flatten().collect::<String>();
            format!("The recorder cut this context whole{parts}.")
        }
        Outcome::NoList => {
            "This run recorded no messages: they were dropped, or its harness records none.".to_owned()
        }
        Outcome::NoLeaf(id) => {
            format!("Different: the transcript has no entry {id}; the branch was rewritten since.")
        }
        Outcome::Compared(all) => compared_words(all),
    }
}

fn compared_words(all: &Comparison) -> String {
    let recorded = counted(all.recorded as u64, "message", "messages");
    let scope = if all.at_start > all.recorded as u64 {
        format!("{recorded} recorded of {} at the start", grouped(all.at_start))
    } else {
        format!("{recorded} recorded")
    };
    let verdict = all.verdict();
    let mut chars = verdict.chars();
    let first = chars.next().map(|char| char.to_ascii_uppercase());
    let verdict: String = first.into_iter().chain(chars).collect();
    format!("{verdict} · {scope} · {} rebuilt", grouped(all.rebuilt as u64))
}

fn print_comparison(
    inspection: &Inspection,
    run: &RecordedRun,
    all: &Comparison,
    output: &mut Output,
) -> Result<(), Failure> {
    for repair in &all.repairs {
        output
            .line(Tone::Plain, &format!("  repair    {}: {}", repair.words, grouped(repair.count as u64)))?;
    }
    if all.unrepaired {
        output.line(Tone::Plain, "  The gateway sent the list without its usual repairs.")?;
    }
    if let Some(orphan) = run.merged_orphan {
        let name = inspection.index.name(orphan);
        output.line(Tone::Plain, &format!("  The prompt repeats the unanswered user message {name}."))?;
    }
    let cuts: Vec<String> = all.cuts.iter().map(|cut| format!("{} ({})", cut.path, cut.reason)).collect();
    print_list("cut", &cuts, output)?;
    print_list("redacted", &all.redacted, output)?;
    let Some(difference) = &all.difference else { return Ok(()) };
    print_difference(inspection, difference, output)?;
    run.cause.map_or(Ok(()), |cause| Ok(output.line(Tone::Plain, &format!("  {}", cause.sentence()))?))
}

fn print_difference(inspection: &Inspection, own: &Difference, output: &mut Output) -> Result<(), Failure> {
    let side = |side: &Option<Side>| match side {
        None => "no message".to_owned(),
        Some(side) => {
            let entry = side.entry.map(|entry| format!("{} ", inspection.index.name(entry)));
            format!("{}{} of {} chars", entry.unwrap_or_default(), side.role, grouped(side.chars as u64))
        }
    };
    let (recorded, rebuilt) = (side(&own.recorded), side(&own.rebuilt));
    output.line(Tone::Plain, &format!("  #{}  recorded: {recorded}; rebuilt: {rebuilt}", own.position))?;
    print_list("differs", &own.paths, output)?;
    let positions: Vec<String> = own.only_recorded.iter().map(|at| format!("#{at}")).collect();
    print_list("only recorded", &positions, output)?;
    let names: Vec<String> = own.only_rebuilt.iter().map(|entry| inspection.index.name(*entry)).collect();
    print_list("only in the transcript", &names, output)
}

fn print_list(name: &str, items: &[String], output: &mut Output) -> Result<(), Failure> {
    if items.is_empty() {
        return Ok(());
    }
    let shown = items.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    let more = items.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Ok(output.line(Tone::Plain, &format!("  {name:<9} {shown}{more}"))?)
}
