//! `clawscope sessions SESSION`: prints the store's record of a session.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::environment::{Invocation, Workspace};
use super::failure::Failure;
use super::output::Output;
use super::session_output::{SessionJson, session_json};
use crate::cli::{SessionsArgs, StoreArgs};
use crate::doc::Tone;
use crate::export::json::JsonOutput;
use crate::ids::SessionKey;
use crate::js::Value;
use crate::report::record::{RecordField, RecordView, describe_rollup, lineage_fields};
use crate::session::SessionItem;
use crate::session::family::{Families, Rollup};
use crate::store::session::Session;

pub(super) fn run(
    args: &SessionsArgs,
    session: &str,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    refuse_list_options(args, session)?;
    let workspace = Workspace::for_session(session, place, invocation)?;
    let key = workspace.find_session(session, output)?;
    let unlisted = || Failure::usage(format!("{key}: the store does not list this session."));
    let session = workspace.store().sessions.iter().find(|session| session.key == key);
    let session = session.ok_or_else(unlisted)?;
    let mut view = RecordView::new(session, workspace.now_ms);
    // A session without a transcript has a record, too.
    if let Ok(loaded) = workspace.open_key(&key) {
        view.fields.extend(lineage_fields(&loaded.lineage));
    }
    let rollup = family_usage(&workspace, session);
    if args.json {
        return Ok(output.json(&record_json(&workspace, session, &view, rollup.as_ref()))?);
    }
    output.line(Tone::Strong, &view.title)?;
    if let Some(words) = rollup.as_ref().and_then(describe_rollup) {
        output.line(Tone::Plain, &words)?;
    }
    Ok(output.doc(&view.doc())?)
}

/// Refuses the options of the list for one session.
fn refuse_list_options(args: &SessionsArgs, session: &str) -> Result<(), Failure> {
    let given = [("--filter", args.filter.is_some()), ("--sort", args.sort.is_some())];
    given.into_iter().find(|(_, given)| *given).map_or(Ok(()), |(option, _)| {
        Err(Failure::usage(format!(
            "{option} selects sessions of a list, and {session} is one session. A store is a PATH, such as ./{session}."
        )))
    })
}

/// Reads the session and those that it started, and sums up their usage. `None` for a session that is not listed.
fn family_usage(workspace: &Workspace, session: &Session) -> Option<Rollup> {
    let items = &workspace.listed.items;
    let root = items.iter().position(|item| item.key == session.key)?;
    let families = Families::build(items);
    let mut members: HashSet<&SessionKey> = HashSet::new();
    let mut open = vec![root];
    while let Some(at) = open.pop() {
        members.insert(&items[at].key);
        open.extend(families.children(at));
    }
    let sessions = workspace.store().sessions_by_key();
    let read = |item: &SessionItem| {
        let counted = members.contains(&item.key).then(|| workspace.count_item(item, &sessions).ok());
        counted.flatten().unwrap_or_else(|| item.clone())
    };
    let counted: Vec<SessionItem> = items.iter().map(read).collect();
    families.rollups(&counted).get(root).copied()
}

/// The session record.
#[derive(Serialize, JsonSchema)]
pub(super) struct RecordJson {
    session: SessionJson,
    title: String,
    kind: &'static str,
    /// Key of the session that started this one.
    parent: Option<String>,
    /// Usage with the sessions that this one started, directly or not; null if it started none.
    rollup: Option<Rollup>,
    /// The facts as text, in the order of their sections.
    fields: Vec<RecordField>,
    /// The session record as stored, secrets masked; null if the session has none. The skills and the system prompt
    /// report are left out.
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    record: Option<Value>,
}

impl JsonOutput for RecordJson {}

fn record_json(
    workspace: &Workspace,
    session: &Session,
    view: &RecordView,
    rollup: Option<&Rollup>,
) -> RecordJson {
    let item = crate::session::list::list_item(workspace.store(), session, workspace.now_ms);
    RecordJson {
        title: view.title.clone(),
        kind: session.kind.as_str(),
        parent: item.parent.as_ref().map(|key| key.0.clone()),
        rollup: rollup.and_then(Rollup::with_descendants),
        fields: view.fields.clone(),
        record: view.record.clone(),
        session: session_json(&item),
    }
}
