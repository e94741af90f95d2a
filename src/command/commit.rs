//! `clawscope commit SESSION`: a plan as a new branch, a compaction as the entry that ends one. A dry run unless `--apply`
//! is given.

use super::failure::Failure;
use super::output::{Output, Tone};
use super::preview::{Preview, make};
use super::scene::Around;
use super::summary::{self, Asked, config_of, kind_of, made_value, print_made, refuse_without_compaction};
use super::writing::{self, Job};
use crate::cli::{CommitArgs, PlaceArgs};
use crate::commit::Unfinished;
use crate::inspect::making::Made;
use crate::inspect::write::Ask;
use crate::js::{Object, Value};
use crate::policy::Step;
use crate::policy::prune::Gate;
use crate::store::sqlite::database_of;
use crate::summarize::SummarizerKind;

/// Tells what a commit would write, or writes it.
pub(super) fn run(
    args: &CommitArgs,
    place: &PlaceArgs,
    around: &Around,
    output: &mut Output,
) -> Result<(), Failure> {
    let mut preview = make(&args.session.session, None, &args.plan, place, around)?;
    if args.with.is_some() {
        refuse_without_compaction(&preview, "--with")?;
    }
    if let Some(refusal) = preview.inspection.unfinished.as_ref().and_then(Unfinished::refusal) {
        return Err(Failure::refused(refusal.to_string()));
    }
    if database_of(preview.inspection.source.path()).is_some() {
        // Nothing is written there whatever the plan is: that is what a person has to know first.
        writing::refuse_early(&job(&preview, None, args, place, around))?;
    }
    if preview.plan.is_empty() {
        return Err(Failure::refused(nothing_words(&preview)));
    }
    let (made, other) = made(&mut preview, args, place, around, output)?;
    let job = job(&preview, made.as_ref(), args, place, around);
    let ready = writing::prepare(&job)?;
    if !args.session.json {
        print(&preview, made.as_ref(), other, output)?;
    }
    writing::run(&job, &ready, args.session.json, members(&preview, made.as_ref()), output)
}

/// Who writes the summary, and who would with `--apply` where that is another: a dry run sends a conversation nowhere that
/// was not named on the command line.
fn asked(args: &CommitArgs, around: &Around) -> Result<(Asked, Option<SummarizerKind>), Failure> {
    let config = config_of(around)?;
    let named = kind_of(args.with.as_deref());
    let kind = named.unwrap_or(if args.write.apply { config.kind } else { SummarizerKind::Extractive });
    let other = (kind != config.kind && named.is_none()).then_some(config.kind);
    Ok((summary::summarizer(kind, &config, around)?, other))
}

/// The summary of the plan's compaction, and who else would write it with `--apply`. What would be refused whatever it says
/// is refused before it is made.
fn made(
    preview: &mut Preview,
    args: &CommitArgs,
    place: &PlaceArgs,
    around: &Around,
    output: &mut Output,
) -> Result<(Option<Made>, Option<SummarizerKind>), Failure> {
    if preview.plan.compaction.is_none() {
        return Ok((None, None));
    }
    let (asked, other) = asked(args, around)?;
    writing::refuse_early(&job(preview, None, args, place, around))?;
    Ok((Some(summary::make(preview, asked, args.session.json, output)?), other))
}

fn job<'a>(
    preview: &'a Preview,
    made: Option<&'a Made>,
    args: &'a CommitArgs,
    place: &'a PlaceArgs,
    around: &Around,
) -> Job<'a> {
    Job {
        inspection: &preview.inspection,
        ask: Ask::Commit { plan: &preview.plan, summary: made.map(|made| &made.summary) },
        write: args.write,
        demo: preview.scene.listed.demo,
        session: &args.session.session,
        place,
        now_ms: around.now_ms,
    }
}

fn members(preview: &Preview, made: Option<&Made>) -> Object {
    let tokens =
        Object::from([("before", preview.plan.total_before()), ("after", preview.plan.total_after())]);
    Object::from([("tokens", Value::from(tokens)), ("summary", made.map_or(Value::Null, made_value))])
}

fn print(
    preview: &Preview,
    made: Option<&Made>,
    other: Option<SummarizerKind>,
    output: &mut Output,
) -> Result<(), Failure> {
    super::described::print_head(output, &preview.inspection, preview.inspection.window)?;
    if preview.simulated.steps.steps.has(Step::Prune) {
        preview.print_gate(output)?;
    }
    if let Some(made) = made {
        print_made(made, output)?;
    }
    if let Some(other) = other {
        let word = other.word();
        let words = format!(
            "with --apply {word} writes the summary, as config.toml says; a dry run asks it only with --with {word}"
        );
        output.line(Tone::Warning, &words)?;
    }
    preview.print_effect(output)?;
    Ok(output.line(Tone::Plain, &preview.changed_words())?)
}

/// A plan that changes nothing is no branch; a shut gate is the usual cause.
fn nothing_words(preview: &Preview) -> String {
    let path = preview.inspection.source.path().display();
    let pruned = preview.simulated.steps.steps.has(Step::Prune);
    match preview.gate.reason() {
        Some(reason) if pruned && !preview.ignored => {
            let pi = preview.inspection.ruleset.ruleset.is_pi();
            let who =
                if pi { "pi prunes nothing by itself" } else { "the gateway would not prune at this moment" };
            // A mode that is off shuts the gate without being asked; the other causes only where one asks for them.
            let next = if preview.gate == Gate::Off {
                "--set contextPruning.mode=cache-ttl, or another of its keys, makes the plan all the same."
            } else {
                "Without --gates and --now the plan is made all the same."
            };
            format!(
                "{path}: {who} ({}, {}), so there is nothing to write. {next}",
                reason.word(),
                reason.rule()
            )
        }
        _ => format!(
            "{path}: the plan changes nothing, so there is nothing to write. `clawscope simulate` tells why for every \
             message; --set moves a threshold."
        ),
    }
}
