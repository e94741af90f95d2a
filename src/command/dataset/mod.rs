//! `clawscope export [PATH…] --format parquet --out DIR`: writes sessions as Parquet files, and reads them with the
//! person's own DuckDB.

mod query;
mod replays;
mod session_tables;
mod update;

use std::path::Path;

use super::environment::{Invocation, Workspace};
use super::export::{has_plan_options, holds_sessions};
use super::failure::Failure;
use super::output::Output;
use crate::cli::{ExportArgs, StoreArgs};
use crate::dataset::Table;
use crate::dataset::folder::{DatasetFolder, FolderError};
use crate::dataset::manifest::Manifest;
use crate::doc::Tone;
use crate::format::{format_count, format_number};
use crate::gateway::env::absolute;
pub(super) use query::PROGRAM as QUERY_PROGRAM;
use update::{Update, UpdateRequest, update};

impl From<FolderError> for Failure {
    fn from(error: FolderError) -> Self {
        match error {
            FolderError::NotADataset(_) | FolderError::Locked(_) => Self::refused(error.to_string()),
            FolderError::Manifest { .. }
            | FolderError::Outside { .. }
            | FolderError::NotATable { .. }
            | FolderError::Table { .. }
            | FolderError::Io { .. } => Self::unreadable(error.to_string()),
        }
    }
}

pub(super) fn run(
    args: &ExportArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    if args.dataset.recipes {
        return query::print_recipes(output);
    }
    refuse_options_of_documents(args)?;
    let missing = || Failure::usage("--format parquet: missing --out DIR, the folder of the dataset.");
    let out = args.out.as_deref().ok_or_else(missing)?;
    let root = absolute(&invocation.env.cwd, out);
    let sql = args.dataset.query.as_deref().map(|query| query::read(query, invocation)).transpose()?;
    let names_store = !args.targets.is_empty() || place.store.is_some() || place.demo;
    if sql.is_none() || names_store {
        write_dataset(args, (out, &root), place, invocation, output)?;
    }
    sql.map_or(Ok(()), |sql| query::run(&root, &sql, output))
}

/// Refuses the options that only a document of one session has.
fn refuse_options_of_documents(args: &ExportArgs) -> Result<(), Failure> {
    let given = [
        ("--leaf", args.leaf.is_some()),
        ("--force", args.force),
        ("--no-redact", args.no_redact),
        ("--mask-personal", args.mask_personal),
        ("--shape-only", args.shape_only),
        ("--size", args.size.is_some()),
        ("--colours", args.colours.is_some()),
        ("--policy, --set and their like", has_plan_options(&args.plan) || args.plan.window.is_some()),
    ];
    let given = given.into_iter().find(|(_, given)| *given);
    given.map_or(Ok(()), |(option, _)| {
        Err(Failure::usage(format!("--format parquet: {option} belongs to the other formats. Leave it out.")))
    })
}

fn write_dataset(
    args: &ExportArgs,
    (out, root): (&Path, &Path),
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    if root.ancestors().any(holds_sessions) {
        let out = out.display();
        return Err(Failure::refused(format!(
            "{out}: is inside a folder of sessions. Choose another place."
        )));
    }
    let request = UpdateRequest {
        replays: replays::parse(&args.dataset.replay, &invocation.env)?,
        with_text: args.dataset.text,
        host: args.dataset.host.clone().unwrap_or_else(host_name),
    };
    let workspaces = open_stores(&args.targets, place, invocation)?;
    let mut folder = DatasetFolder::open(root)?;
    // A filter of agents lists only a part of each store.
    let removes = place.agent.is_none();
    let update = update(&mut folder, &workspaces, &request, removes)?;
    print_update(out, &update, folder.manifest(), output)
}

fn host_name() -> String {
    gethostname::gethostname().to_string_lossy().into_owned()
}

fn open_stores(
    paths: &[String],
    place: &StoreArgs,
    invocation: &Invocation,
) -> Result<Vec<Workspace>, Failure> {
    if !paths.is_empty() {
        let open = |path: &String| readable_store(Some(Path::new(path)), place, invocation);
        return paths.iter().map(open).collect();
    }
    let workspace = readable_store(None, place, invocation)?;
    match workspace.missing_path() {
        // A missing store opens the demo store on the screen, but its sessions do not belong into a dataset.
        Some(path) => Err(Failure::unreadable(format!(
            "{}: no store there. Name a PATH, or use --demo.",
            path.display()
        ))),
        None => Ok(vec![workspace]),
    }
}

/// Opens a store all of whose databases can be read: sessions of one that is locked now would be removed from the
/// dataset as gone.
fn readable_store(
    path: Option<&Path>,
    place: &StoreArgs,
    invocation: &Invocation,
) -> Result<Workspace, Failure> {
    let workspace = Workspace::from_path(path, place, invocation)?;
    workspace.require_databases()?;
    Ok(workspace)
}

fn print_update(
    out: &Path,
    update: &Update,
    manifest: &Manifest,
    output: &mut Output,
) -> Result<(), Failure> {
    let sessions = format_count(manifest.sessions.len() as u64, "session", "sessions");
    let [read, unchanged, removed] =
        [update.read, update.unchanged, update.removed].map(|count| format_number(count as u64));
    let line = format!("{}: {sessions}", out.display());
    output.line(Tone::Strong, &line)?;
    output.line(Tone::Plain, &format!("{read} read, {unchanged} unchanged, {removed} removed"))?;
    let rows = Table::ALL.map(|table| format!("{} {}", table.name(), format_number(manifest.rows(table))));
    output.line(Tone::Plain, &format!("rows: {}", rows.join(" · ")))?;
    for (key, problem) in &update.problems {
        output.note(&format!("{key}: {problem}"))?;
    }
    Ok(())
}
