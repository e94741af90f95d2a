//! The input of a summary: the session, and the compaction prepared for it.

use crate::cli::{SimulateArgs, StoreArgs};
use crate::command::environment::{Invocation, Workspace, at_leaf, require_context};
use crate::command::failure::Failure;
use crate::command::output::Output;
use crate::policy::compact::PredictedCalls;
use crate::session::LoadedSession;
use crate::write::summary::job::describe_no_summary;
use crate::write::summary::{NotCompactable, PreparedCompaction, SummarySettings};

pub(super) struct SummaryInput {
    pub(super) session: LoadedSession,
    pub(super) compactable: PreparedCompaction,
    /// The calls that the gateway itself would make.
    pub(super) gateway_calls: PredictedCalls,
}

pub(super) fn load_input(
    args: &SimulateArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<SummaryInput, Failure> {
    let workspace = Workspace::for_session(&args.context.target.session, place, invocation)?;
    let session = workspace.open_session(&args.context.target.session, output)?;
    let session = require_context(at_leaf(&workspace, session, args.context.leaf.as_deref())?)?;
    let rules = session.ruleset.id.rules();
    let settings = SummarySettings::from_config(rules, &workspace.store().config.js_root);
    let instructions = args.instructions.as_deref();
    let compactable = PreparedCompaction::new(
        &session,
        session.configured_settings.compaction,
        settings,
        instructions,
        workspace.now_ms,
    );
    let compactable = compactable.map_err(|error| match error {
        NotCompactable::Body(error) => Failure::unreadable(error.to_string()),
        other => Failure::refused(format!("{}: {other}", session.item.key.0)),
    })?;
    let gateway =
        compactable.gateway_calls().map_err(|error| Failure::refused(describe_no_summary(&error)))?;
    Ok(SummaryInput { session, compactable, gateway_calls: gateway })
}
