//! `clawscope summarize SESSION`: the summary that a compaction would store, and the calls it takes. Writes nothing.

mod answer;

use std::io::Write as _;

use answer::{answer, cost, summary_tokens};

use super::described::print_head;
use super::failure::Failure;
use super::output::{Output, Tone};
use super::ruleset::print_ruleset;
use super::scene::{Around, Scene, at_leaf, with_context};
use super::summary::{calls_table, cancellable, config_of, kind_of, summarizer};
use super::words::{counted, estimated, grouped};
use crate::cli::{PlaceArgs, SummarizeArgs};
use crate::gateway::ruleset::Ruleset;
use crate::inspect::Inspection;
use crate::inspect::making::{no_summary_words, summary_error_words};
use crate::inspect::summary::{Compactable, NotCompactable, SummarySettings};
use crate::inspect::words::{dollars, estimated_dollars};
use crate::inspect::writer::Writer;
use crate::policy::compact::{Calls, stored_summary};
use crate::summarize::{Summarizer, SummarizerKind, Summary, run as summarise};
use crate::text::visible;

/// Everything an answer is made from.
struct Asked {
    inspection: Inspection,
    compactable: Compactable,
    /// What the gateway's own calls would be.
    gateway: Calls,
    /// Who writes it.
    writer: Writer,
}

/// Makes a summary, or tells the calls that it takes.
pub(super) fn run(
    args: &SummarizeArgs,
    place: &PlaceArgs,
    around: &Around,
    output: &mut Output,
) -> Result<(), Failure> {
    let config = config_of(around)?;
    let kind = kind_of(args.with.as_deref()).unwrap_or(config.kind);
    let summarizer = if args.calls { None } else { Some(summarizer(kind, &config, around)?.summarizer) };
    let asked = ask(args, Writer::of(kind, &config), place, around)?;
    let summary = match &summarizer {
        Some(summarizer) => Some(made(&asked, summarizer.as_ref(), args.session.json, output)?),
        None => None,
    };
    if args.session.json {
        return Ok(output.json(answer(&asked, summary.as_ref()))?);
    }
    match summary {
        Some(summary) => print_summary(&asked, &summary, output),
        None => print_calls(&asked, output),
    }
}

fn ask(args: &SummarizeArgs, writer: Writer, place: &PlaceArgs, around: &Around) -> Result<Asked, Failure> {
    let scene = Scene::for_session(&args.session.session, place, around)?;
    let inspection = scene.open(&args.session.session)?;
    let inspection = with_context(at_leaf(&scene, inspection, args.leaf.as_deref())?)?;
    let rules = inspection.ruleset.ruleset.rules();
    let settings = SummarySettings::of(rules, &scene.store().config.js);
    let instructions = args.instructions.as_deref();
    let compactable =
        Compactable::new(&inspection, inspection.configured.compaction, settings, instructions, scene.now_ms);
    let compactable = compactable.map_err(|error| match error {
        NotCompactable::Read(error) => Failure::unreadable(error.to_string()),
        other => Failure::refused(format!("{}: {other}", inspection.session.key.0)),
    })?;
    let gateway = compactable.calls().map_err(|error| Failure::refused(no_summary_words(&error)))?;
    Ok(Asked { inspection, compactable, gateway, writer })
}

/// Makes the summary; ctrl-c cancels it in order.
fn made(
    asked: &Asked,
    summarizer: &dyn Summarizer,
    json: bool,
    output: &mut Output,
) -> Result<Summary, Failure> {
    let quiet = json || summarizer.kind() == SummarizerKind::Extractive;
    let job = &asked.compactable.job;
    let made = cancellable(quiet, output, |cancel, progress| summarise(job, summarizer, cancel, progress))?;
    let summary = made.map_err(|error| Failure::refused(summary_error_words(&error)))?;
    let rules = asked.inspection.ruleset.ruleset.rules();
    Ok(Summary { text: stored_summary(rules, &summary.text), ..summary })
}

/// The summary on standard output, everything else beside it.
fn print_summary(asked: &Asked, summary: &Summary, output: &mut Output) -> Result<(), Failure> {
    for line in summary.text.to_string_lossy().lines() {
        writeln!(output, "{}", visible(line))?;
    }
    output.flush()?;
    let calls = counted(summary.calls.len() as u64, "call", "calls");
    let cost = cost(asked, summary).filter(|usd| *usd > 0.0);
    let cost = cost.map_or_else(String::new, |usd| format!(" · {}", dollars(usd)));
    output.note(&format!(
        "{} · {calls}{cost} · summary {} tokens; nothing was written",
        summary.kind.word(),
        estimated(summary_tokens(summary))
    ))?;
    if summary.calls.iter().any(|call| call.cut) {
        output.note("an answer ended at its limit: the summary may lack its end")?;
    }
    output.note(&gateway_words(asked))?;
    if let Some(note) = version_note(&asked.inspection) {
        output.note(&note)?;
    }
    Ok(())
}

/// A version that summarises in ways of its own (compaction 12).
fn version_note(inspection: &Inspection) -> Option<String> {
    let ruleset = inspection.ruleset.ruleset;
    (ruleset == Ruleset::V2026_9_2).then(|| {
        format!(
            "{} summarises in other stages; these are those of {}",
            ruleset.name(),
            Ruleset::V2026_3_2.name()
        )
    })
}

/// What the gateway itself would do, in one line.
fn gateway_words(asked: &Asked) -> String {
    let calls = &asked.gateway;
    let cost = asked
        .inspection
        .price
        .map(|price| format!(", {}", estimated_dollars(calls.cost(&price))))
        .unwrap_or_default();
    format!(
        "the gateway (mode {}) would take {} with {} tokens in and {} out{cost}",
        asked.compactable.job.mode.word(),
        counted(calls.calls.len() as u64, "call", "calls"),
        estimated(calls.input_tokens()),
        estimated(calls.output_tokens()),
    )
}

fn print_calls(asked: &Asked, output: &mut Output) -> Result<(), Failure> {
    let job = &asked.compactable.job;
    print_head(output, &asked.inspection, asked.inspection.window)?;
    print_ruleset(&asked.inspection.ruleset, output)?;
    if let Some(note) = version_note(&asked.inspection) {
        output.line(Tone::Warning, &note)?;
    }
    let first_kept = asked.inspection.index.name(asked.compactable.preparation.first_kept);
    let reserve = grouped(job.reserve_tokens.max(0.0) as u64);
    output.line(
        Tone::Plain,
        &format!("mode {} · reserve {reserve} · kept from {first_kept} on", job.mode.word()),
    )?;
    if let Some(dropped) = asked.gateway.written.dropped {
        let (messages, tokens) =
            (counted(dropped.messages as u64, "message", "messages"), dropped.tokens as u64);
        let text = format!(
            "the oldest {messages} ({} tokens) go first, with a summary of their own",
            estimated(tokens)
        );
        output.line(Tone::Warning, &text)?;
    }
    writeln!(output)?;
    calls_table(&asked.gateway).print(output, "  ")?;
    writeln!(output)?;
    output.line(Tone::Strong, &gateway_words(asked))?;
    let assumed = grouped(asked.compactable.assumed_tokens as u64);
    Ok(output
        .line(Tone::Dim, &format!("assumed: every call succeeds, and each answer has {assumed} tokens"))?)
}
