//! `clawscope commit SESSION`: writes a plan as a new branch, or a compaction as the entry that ends one. It is a dry
//! run unless `--apply` is set.

use super::environment::{Invocation, Workspace, find_entry};
use super::failure::Failure;
use super::output::Output;
use super::preview::{Preview, preview_session};
use super::summary::{
    self, ChosenSummarizer, SummaryJson, load_summarizer_config, parse_kind, print_generated,
    refuse_without_compaction,
};
use super::writing::{self, CommittedPlanJson, CommittedTokensJson, WriteJob};
use crate::cli::{CommitArgs, StoreArgs};
use crate::commit::{InterruptedCommit, ReadPrefix};
use crate::doc::Tone;
use crate::ids::EntryIx;
use crate::policy::Policy;
use crate::policy::prune::Gate;
use crate::session::{LoadedSession, ManualChange};
use crate::summarize::SummarizerKind;
use crate::write::request::WriteAction;
use crate::write::summary::job::SummaryResult;

pub(super) fn run(
    args: &CommitArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let workspace = Workspace::for_session(&args.target.session, place, invocation)?;
    let session = workspace.open_exact(&args.target.session)?;
    let read = writing::read_for_write(&session, args.write);
    if args.branch.is_some() || !args.drop.is_empty() {
        return commit_by_hand(&workspace, &session, read, args, place, invocation, output);
    }
    let mut preview = preview_session(workspace, session, None, &args.plan, output)?;
    if args.with.is_some() {
        refuse_without_compaction(&preview, "--with")?;
    }
    if let Some(refusal) = preview.session.unfinished_commit.as_ref().and_then(InterruptedCommit::refusal) {
        return Err(Failure::refused(refusal.to_string()));
    }
    if preview.plan.is_empty() {
        return Err(Failure::refused(describe_no_changes(&preview)));
    }
    let (made, other) = generate_for_plan(&mut preview, args, place, invocation, output)?;
    let job = WriteJob { read, ..write_job(&preview, made.as_ref(), args, place, invocation) };
    let ready = writing::prepare(&job)?;
    if !args.target.json {
        print(&preview, made.as_ref(), other, output)?;
    }
    writing::run(&job, ready, args.target.json, Some(plan_json(&preview, made.as_ref())), output)
}

/// Makes another branch active, or writes a branch without some messages.
fn commit_by_hand(
    workspace: &Workspace,
    session: &LoadedSession,
    read: Option<ReadPrefix>,
    args: &CommitArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    if let Some(refusal) = session.unfinished_commit.as_ref().and_then(InterruptedCommit::refusal) {
        return Err(Failure::refused(refusal.to_string()));
    }
    let leaf = args.branch.as_deref().map(|text| find_entry(session, "--branch", text)).transpose()?;
    let dropped = args.drop.iter().map(|text| find_entry(session, "--drop", text));
    let dropped: Vec<EntryIx> = dropped.collect::<Result<_, _>>()?;
    let change = leaf.map_or(ManualChange::Drop(dropped), ManualChange::Branch);
    let job = WriteJob {
        session,
        env: &invocation.env,
        ask: WriteAction::ByHand(&change),
        write: args.write,
        read,
        is_demo: workspace.listed.is_demo,
        session_arg: &args.target.session,
        store_args: place,
        now_ms: invocation.now_ms,
    };
    let ready = writing::prepare(&job)?;
    if !args.target.json {
        super::session_output::print_session_header(output, session, session.window)?;
    }
    writing::run(&job, ready, args.target.json, None, output)
}

/// Chooses the summarizer, and names the configured one where `--apply` would use that instead. A dry run gives
/// no conversation to a program unless the command line says so.
fn planned_summarizer(
    args: &CommitArgs,
    invocation: &Invocation,
) -> Result<(ChosenSummarizer, Option<SummarizerKind>), Failure> {
    let config = load_summarizer_config(invocation)?;
    let named = parse_kind(args.with.as_deref());
    let kind = named.unwrap_or(if args.write.apply { config.kind } else { SummarizerKind::Extractive });
    let other = (kind != config.kind && named.is_none()).then_some(config.kind);
    Ok((summary::choose_summarizer(kind, &config)?, other))
}

/// Generates the summary of the plan's compaction, and names the summarizer that `--apply` would use instead. Refusals
/// that do not depend on the summary come first, so that no summary is made in vain.
fn generate_for_plan(
    preview: &mut Preview,
    args: &CommitArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(Option<SummaryResult>, Option<SummarizerKind>), Failure> {
    if preview.plan.compaction.is_none() {
        return Ok((None, None));
    }
    let (requested, other) = planned_summarizer(args, invocation)?;
    writing::refuse_early(&write_job(preview, None, args, place, invocation))?;
    Ok((Some(summary::generate_summary(preview, requested, args.target.json, output)?), other))
}

fn write_job<'a>(
    preview: &'a Preview,
    made: Option<&'a SummaryResult>,
    args: &'a CommitArgs,
    place: &'a StoreArgs,
    invocation: &'a Invocation,
) -> WriteJob<'a> {
    WriteJob {
        session: &preview.session,
        env: &invocation.env,
        ask: WriteAction::Commit { plan: &preview.plan, summary: made.map(|made| &made.summary) },
        write: args.write,
        read: None,
        is_demo: preview.workspace.listed.is_demo,
        session_arg: &args.target.session,
        store_args: place,
        now_ms: invocation.now_ms,
    }
}

fn plan_json(preview: &Preview, made: Option<&SummaryResult>) -> CommittedPlanJson {
    let (before, after) = (preview.plan.total_before(), preview.plan.total_after());
    CommittedPlanJson { tokens: CommittedTokensJson { before, after }, summary: made.map(SummaryJson::from) }
}

fn print(
    preview: &Preview,
    made: Option<&SummaryResult>,
    other: Option<SummarizerKind>,
    output: &mut Output,
) -> Result<(), Failure> {
    super::session_output::print_session_header(output, &preview.session, preview.session.window)?;
    if preview.simulated.policies.enabled.has(Policy::Prune) {
        preview.print_gate(output)?;
    }
    if let Some(made) = made {
        print_generated(made, output)?;
    }
    if let Some(other) = other {
        let word = other.as_str();
        let words = format!(
            "--apply uses {word} for the summary, as configured in config.toml; a dry run uses it only with \
             --with {word}"
        );
        output.line(Tone::Warning, &words)?;
    }
    preview.print_effect(output)?;
    Ok(output.line(Tone::Plain, &preview.describe_changes())?)
}

/// Explains a plan without changes; a closed gate is the usual cause.
fn describe_no_changes(preview: &Preview) -> String {
    let path = preview.session.source.path().display();
    let pruned = preview.simulated.policies.enabled.has(Policy::Prune);
    match preview.gate.reason() {
        Some(reason) if pruned && !preview.gate_ignored => {
            let pi = preview.session.ruleset.id.is_pi();
            let who =
                if pi { "pi itself prunes nothing" } else { "the gateway would not prune at this moment" };
            // `Gate::Off` closes the gate even without `--gates`; the other causes close it only with `--gates` or
            // `--now`.
            let next = if preview.gate == Gate::Off {
                "Use --set contextPruning.mode=cache-ttl (or another of its keys) to plan anyway."
            } else {
                "Without --gates and --now clawscope plans anyway."
            };
            format!(
                "{path}: {who} ({}, {}), so there is nothing to write. {next}",
                reason.describe(),
                reason.rule()
            )
        }
        _ => format!(
            "{path}: the plan changes nothing, so there is nothing to write. `clawscope simulate` explains \
             every message; --set changes a threshold."
        ),
    }
}
