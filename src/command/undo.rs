//! `clawscope undo SESSION`: makes the branch before a commit active again. It is a dry run unless `--apply` is set.

use super::environment::{Invocation, Workspace};
use super::failure::Failure;
use super::output::Output;
use super::writing::{self, WriteJob};
use crate::cli::{StoreArgs, UndoArgs};
use crate::commit::{UndoTarget, receipts};
use crate::session::LoadedSession;
use crate::write::request::WriteAction;

pub(super) fn run(
    args: &UndoArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let workspace = Workspace::for_session(&args.target.session, place, invocation)?;
    let session = workspace.open_exact(&args.target.session)?;
    let target = match &args.commit {
        Some(id) => UndoTarget::Entry(find_commit(&session, id)?),
        None if args.redo => UndoTarget::LastUndo,
        None => UndoTarget::LastCommit,
    };
    let job = WriteJob {
        session: &session,
        env: &invocation.env,
        ask: WriteAction::Undo(target),
        write: args.write,
        read: writing::read_for_write(&session, args.write),
        is_demo: workspace.listed.is_demo,
        session_arg: &args.target.session,
        store_args: place,
        now_ms: invocation.now_ms,
    };
    let ready = writing::prepare(&job)?;
    if !args.target.json {
        super::session_output::print_session_header(output, &session, session.window)?;
    }
    writing::run(&job, ready, args.target.json, None, output)
}

/// Finds a commit or undo by its id or a unique prefix of it.
fn find_commit(session: &LoadedSession, text: &str) -> Result<String, Failure> {
    let commits =
        receipts(&session.index, &session.source).map_err(|error| Failure::unreadable(error.to_string()))?;
    let found: Vec<&str> = commits
        .iter()
        .map(|receipt| receipt.id.as_str())
        .filter(|id| id.starts_with(text) && !text.is_empty())
        .collect();
    match found.as_slice() {
        [one] => Ok((*one).to_owned()),
        several if several.contains(&text) => Ok(text.to_owned()),
        [] => Err(Failure::usage(format!(
            "--commit {text:?}: no such commit or undo in the transcript. `clawscope undo --list` lists them."
        ))),
        several => Err(Failure::usage(format!("--commit {text:?}: matches several: {}", several.join(", ")))),
    }
}
