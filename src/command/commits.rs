//! `clawscope undo SESSION --list`: lists the commits and undos of a session, and which are in force.

use std::io::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::environment::{Invocation, Workspace};
use super::failure::Failure;
use super::output::Output;
use super::session_output::{SessionJson, print_session_header, session_json};
use crate::cli::{SessionArgs, StoreArgs};
use crate::doc::Tone;
use crate::export::json::JsonOutput;
use crate::report::commits::CommitList;

pub(super) fn run(
    args: &SessionArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let session =
        Workspace::for_session(&args.session, place, invocation)?.open_session(&args.session, output)?;
    let list = CommitList::read(&session).map_err(|error| Failure::unreadable(error.to_string()))?;
    if args.json {
        return Ok(output.json(&CommitsJson { session: session_json(&session.item), list })?);
    }
    print_session_header(output, &session, session.window)?;
    writeln!(output)?;
    let doc = list.doc();
    output.line(Tone::Strong, &doc.headline)?;
    output.doc(&doc)?;
    if doc.rows().next().is_some() {
        output.line(Tone::Dim, "`clawscope undo SESSION --commit ID` undoes one of them")?;
    }
    Ok(())
}

/// The commits and undos of a session.
#[derive(Serialize, JsonSchema)]
pub(super) struct CommitsJson {
    session: SessionJson,
    #[serde(flatten)]
    list: CommitList,
}

impl JsonOutput for CommitsJson {}
