//! `clawscope undo SESSION --compare [ID [ID]]`: prints two branches side by side.

use schemars::JsonSchema;
use serde::Serialize;

use super::environment::{Invocation, Workspace, find_entry};
use super::failure::Failure;
use super::output::Output;
use super::session_output::{SessionJson, print_session_header, session_json};
use crate::cli::{StoreArgs, UndoArgs};
use crate::doc::Tone;
use crate::export::json::JsonOutput;
use crate::report::compare::{BranchComparison, compare_branches};

pub(super) fn run(
    args: &UndoArgs,
    leaves: &[String],
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let session = &args.target.session;
    let session = Workspace::for_session(session, place, invocation)?.open_session(session, output)?;
    let named = |at: usize| leaves.get(at).map(|text| find_entry(&session, "--compare", text)).transpose();
    let leaves = [named(0)?, named(1)?];
    let comparison = compare_branches(&session, leaves)
        .map_err(|what| Failure::usage(format!("{what} `clawscope tree` shows the ids to name.")))?;
    if args.target.json {
        return Ok(output.json(&ComparisonJson { session: session_json(&session.item), comparison })?);
    }
    print_session_header(output, &session, session.window)?;
    let doc = comparison.doc(args.all);
    output.line(Tone::Strong, &doc.headline)?;
    Ok(output.doc(&doc)?)
}

/// Two branches of a session, message by message. Tokens of messages are by chars/4; those of a branch are the count of
/// its next prompt.
#[derive(Serialize, JsonSchema)]
pub(super) struct ComparisonJson {
    session: SessionJson,
    #[serde(flatten)]
    comparison: BranchComparison,
}

impl JsonOutput for ComparisonJson {}
