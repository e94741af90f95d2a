//! `clawscope undo SESSION`: the branch before a commit becomes active again. A dry run unless `--apply` is given.

use super::failure::Failure;
use super::output::Output;
use super::scene::{Around, Scene};
use super::writing::{self, Job};
use crate::cli::{PlaceArgs, UndoArgs};
use crate::commit::UndoTarget;
use crate::inspect::Inspection;
use crate::inspect::commits::commits;
use crate::inspect::write::Ask;
use crate::js::Object;

/// Tells what an undo would write, or writes it.
pub(super) fn run(
    args: &UndoArgs,
    place: &PlaceArgs,
    around: &Around,
    output: &mut Output,
) -> Result<(), Failure> {
    let scene = Scene::for_session(&args.session.session, place, around)?;
    let inspection = scene.open(&args.session.session)?;
    let target = match &args.commit {
        Some(id) => UndoTarget::Entry(committed(&inspection, id)?),
        None if args.redo => UndoTarget::LastUndo,
        None => UndoTarget::LastCommit,
    };
    let job = Job {
        inspection: &inspection,
        ask: Ask::Undo(target),
        write: args.write,
        demo: scene.listed.demo,
        session: &args.session.session,
        place,
        now_ms: around.now_ms,
    };
    let ready = writing::prepare(&job)?;
    if !args.session.json {
        super::described::print_head(output, &inspection, inspection.window)?;
    }
    writing::run(&job, &ready, args.session.json, Object::new(), output)
}

/// The id of the commit or undo that a text means: all of it, or the unique start.
fn committed(inspection: &Inspection, text: &str) -> Result<String, Failure> {
    let commits = commits(inspection).map_err(|error| Failure::unreadable(error.to_string()))?;
    let found: Vec<&str> = commits
        .iter()
        .map(|committed| committed.receipt.id.as_str())
        .filter(|id| id.starts_with(text) && !text.is_empty())
        .collect();
    match found.as_slice() {
        [one] => Ok((*one).to_owned()),
        several if several.contains(&text) => Ok(text.to_owned()),
        [] => Err(Failure::usage(format!(
            "--commit {text:?}: the transcript holds no such commit or undo. `clawscope commits` lists them."
        ))),
        several => Err(Failure::usage(format!("--commit {text:?}: means several: {}", several.join(", ")))),
    }
}
