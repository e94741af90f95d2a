//! `clawscope undo SESSION`: the branch before the last commit becomes active again. A dry run unless `--apply` is given.

use super::failure::Failure;
use super::output::Output;
use super::scene::{Around, Scene};
use super::writing::{self, Job};
use crate::cli::{PlaceArgs, UndoArgs};
use crate::commit::UndoTarget;
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
    let target = if args.redo { UndoTarget::LastUndo } else { UndoTarget::LastCommit };
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
