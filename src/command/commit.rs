//! `clawscope commit SESSION`: a plan as a new branch. A dry run unless `--apply` is given.

use super::failure::Failure;
use super::output::{Output, Tone};
use super::preview::{Preview, make};
use super::scene::Around;
use super::writing::{self, Job};
use crate::cli::{CommitArgs, PlaceArgs};
use crate::inspect::write::Ask;
use crate::js::{Object, Value};
use crate::policy::Step;

/// Tells what a commit would write, or writes it.
pub(super) fn run(
    args: &CommitArgs,
    place: &PlaceArgs,
    around: &Around,
    output: &mut Output,
) -> Result<(), Failure> {
    let preview = make(&args.session.session, None, &args.plan, place, around)?;
    if preview.plan.is_empty() {
        return Err(Failure::refused(nothing_words(&preview)));
    }
    let job = Job {
        inspection: &preview.inspection,
        ask: Ask::Commit { plan: &preview.plan, summary: None },
        write: args.write,
        demo: preview.scene.listed.demo,
        session: &args.session.session,
        place,
        now_ms: around.now_ms,
    };
    let tokens =
        Object::from([("before", preview.plan.total_before()), ("after", preview.plan.total_after())]);
    let members = Object::from([("tokens", Value::from(tokens))]);
    let ready = writing::prepare(&job)?;
    if !args.session.json {
        super::described::print_head(output, &preview.inspection, preview.inspection.window)?;
        if preview.simulated.steps.steps.has(Step::Prune) {
            preview.print_gate(output)?;
        }
        preview.print_effect(output)?;
        output.line(Tone::Plain, &preview.changed_words())?;
    }
    writing::run(&job, &ready, args.session.json, members, output)
}

/// A plan that changes nothing is no branch; a shut gate is the usual cause.
fn nothing_words(preview: &Preview) -> String {
    let path = preview.inspection.source.path().display();
    match preview.gate.reason() {
        Some(reason) if !preview.ignored => format!(
            "{path}: the gateway would not prune at this moment ({}, {}), so there is nothing to write. \
             Without --gates and --now the plan is made all the same.",
            reason.word(),
            reason.rule()
        ),
        _ => format!(
            "{path}: the plan changes nothing, so there is nothing to write. `clawscope simulate` tells why for every \
             message; --set moves a threshold."
        ),
    }
}
