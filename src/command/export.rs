//! `clawscope export SESSION --format FORMAT`: writes a session as a document without its secrets.

use std::io::Write as _;
use std::path::Path;

use super::environment::{Invocation, Workspace, at_leaf, require_context};
use super::failure::Failure;
use super::output::Output;
use super::preview::{Preview, build_preview};
use super::summary;
use crate::cli::{ExportArgs, PlanArgs, StoreArgs};
use crate::config::SummarizerConfig;
use crate::export::folder::shape_folder;
use crate::export::{ExportRequest, ExportedDocument, Format, export, json as documents};
use crate::gateway::env::absolute;
use crate::redact::Redactor;
use crate::runtime::{SaveError, save_as, session_picture};
use crate::session::LoadedSession;
use crate::store::path_kind::is_pi_cwd_dir;
use crate::store::session::Session;
use crate::summarize::SummarizerKind;
use crate::text::shell;
use crate::units::Moment;
use crate::write::summary::job::SummaryResult;

/// Largest picture, in columns and rows.
const MAX_PICTURE_SIZE: u16 = 500;

pub(super) fn run(
    args: &ExportArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    if let Some(folder) = args.file().filter(|out| !args.shape_only && is_folder(out, invocation)) {
        return Err(folder_refusal(folder, args.format()));
    }
    refuse_options_of_datasets(args)?;
    if matches!(args.format(), "html" | "svg") && args.out.is_none() && output.width().is_some() {
        let format = args.format();
        return Err(Failure::usage(format!(
            "{format} is nothing to read on a terminal. Name a file: --out session.{format}. `--out -` prints it."
        )));
    }
    if args.format() == "svg" {
        return export_picture(args, place, invocation, output);
    }
    for (option, value) in [("--size", &args.size), ("--colours", &args.colours)] {
        if value.is_some() {
            return Err(Failure::usage(format!("{option} needs --format svg.")));
        }
    }
    if let Some(folder) = args.file().filter(|out| args.shape_only && is_folder(out, invocation)) {
        return export_shape_folder(args, folder, place, invocation, output);
    }
    let format = [Format::Html, Format::Markdown, Format::Json, Format::Pi];
    let format = format.into_iter().find(|format| format.as_str() == args.format()).unwrap_or(Format::Html);
    if !has_plan_options(&args.plan) {
        let workspace = Workspace::for_session(args.session(), place, invocation)?;
        let session =
            at_leaf(&workspace, workspace.open_session(args.session(), output)?, args.leaf.as_deref())?;
        let session =
            if format == Format::Pi && !args.shape_only { require_context(session)? } else { session };
        let wanted = export_request(args, &session, workspace.now_ms, None);
        return export_document(args, &wanted, format, invocation, output);
    }
    let mut preview =
        build_preview(args.session(), args.leaf.as_deref(), &args.plan, (place, invocation), output)?;
    let made = generate_for_plan(&mut preview, output)?;
    let plan = (&preview.plan, made.as_ref().map(|made| &made.summary));
    let wanted =
        ExportRequest { plan: Some(plan), ..export_request(args, &preview.session, preview.now_ms, None) };
    export_document(args, &wanted, format, invocation, output)
}

/// Refuses the options and arguments that only a dataset has.
fn refuse_options_of_datasets(args: &ExportArgs) -> Result<(), Failure> {
    if let Some(more) = args.targets.get(2) {
        return Err(Failure::usage(format!(
            "{more}: one argument too many. Expected a session and its store."
        )));
    }
    let own = &args.dataset;
    let given = [
        ("--replay", !own.replay.is_empty()),
        ("--text", own.text),
        ("--host", own.host.is_some()),
        ("--query", own.query.is_some()),
    ];
    let given = given.into_iter().find(|(_, given)| *given);
    given.map_or(Ok(()), |(option, _)| Err(Failure::usage(format!("{option} needs --format parquet."))))
}

/// Whether `--out` names a folder: an existing one, or a name with a trailing slash.
fn is_folder(out: &Path, invocation: &Invocation) -> bool {
    out.to_string_lossy().ends_with(['/', std::path::MAIN_SEPARATOR])
        || absolute(&invocation.env.cwd, out).is_dir()
}

/// Refuses a folder as the target of a format that is one file.
fn folder_refusal(folder: &Path, format: &str) -> Failure {
    let ending = if format == Format::Pi.as_str() { "jsonl" } else { format };
    let file = folder.join(format!("session.{ending}"));
    let (folder, file) = (folder.display(), shell::word(&file.to_string_lossy()));
    Failure::usage(format!(
        "--out {folder} is a folder, and {format} is one file. Name the file: --out {file}"
    ))
}

/// Writes the session's shape, row and settings as a folder that opens like a store.
fn export_shape_folder(
    args: &ExportArgs,
    out: &Path,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    if args.format() != Format::Pi.as_str() || has_plan_options(&args.plan) || args.leaf.is_some() {
        return Err(Failure::usage(
            "--out names a folder, which only --format pi --shape-only writes, without a plan or a leaf. Name a file.",
        ));
    }
    let folder = absolute(&invocation.env.cwd, out);
    let refused = |what: &str| Err(Failure::refused(format!("{}: {what}", out.display())));
    if std::fs::read_dir(&folder).is_ok_and(|mut items| items.next().is_some()) {
        return refused("the folder is not empty. Name a new one.");
    }
    let workspace = Workspace::for_session(args.session(), place, invocation)?;
    let loaded = workspace.open_session(args.session(), output)?;
    if folder.ancestors().skip(1).any(holds_sessions) {
        return refused("is inside a folder of sessions. Choose another place.");
    }
    let own = |session: &&Session| session.key == loaded.item.key;
    let row = workspace.store().sessions.iter().find(own).and_then(|session| session.record.as_ref());
    let wanted = export_request(args, &loaded, workspace.now_ms, None);
    let made = shape_folder(&wanted, row)
        .map_err(|error| Failure::unreadable(format!("{}: {error}", loaded.source.path().display())))?;
    for (path, text) in &made.files {
        let path = folder.join(path);
        let parent = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        parent.map_err(|error| Failure::unreadable(format!("{}: {error}", path.display())))?;
        save_as(&path, text, false).map_err(|error| match error {
            SaveError::AlreadyExists { .. } => {
                Failure::refused(format!("{}: already exists.", path.display()))
            }
            error => Failure::unreadable(error.to_string()),
        })?;
    }
    let files = made.files.len();
    let words = format!(
        "{} written: {files} files without any message text; `clawscope {}` opens it.",
        out.display(),
        shell::word(&out.to_string_lossy())
    );
    Ok(output.note(&words)?)
}

pub(super) fn has_plan_options(plan: &PlanArgs) -> bool {
    !plan.policy.is_empty()
        || !plan.set.is_empty()
        || plan.settings.is_some()
        || plan.now.is_some()
        || plan.gates
}

fn export_request<'a>(
    args: &ExportArgs,
    session: &'a LoadedSession,
    now_ms: Moment,
    plan: Option<(&'a crate::plan::Plan, Option<&'a crate::plan::CompactionSummary>)>,
) -> ExportRequest<'a> {
    ExportRequest {
        session,
        plan,
        now_ms,
        redact: !args.no_redact,
        personal: args.mask_personal,
        shape_only: args.shape_only,
    }
}

/// Generates the summary of the plan's compaction from the conversation's own words: an export runs no program.
fn generate_for_plan(preview: &mut Preview, output: &mut Output) -> Result<Option<SummaryResult>, Failure> {
    if preview.plan.compaction.is_none() {
        return Ok(None);
    }
    let requested = summary::choose_summarizer(SummarizerKind::Extractive, &SummarizerConfig::default())?;
    summary::generate_summary(preview, requested, true, output).map(Some)
}

fn export_document(
    args: &ExportArgs,
    wanted: &ExportRequest<'_>,
    format: Format,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    refuse_store_target(args, wanted.session, invocation)?;
    let exported = export(wanted, format).map_err(|error| {
        Failure::unreadable(format!("{}: {error}", wanted.session.source.path().display()))
    })?;
    let lines = matches!(format, Format::Json | Format::Pi);
    write_output(args, &exported.text, lines, invocation, output)?;
    report_export(args, &exported, output)
}

/// Prints the redactions to the error stream, apart from the document.
fn report_export(args: &ExportArgs, exported: &ExportedDocument, output: &mut Output) -> Result<(), Failure> {
    let words = exported.removal_text();
    let file = args.file().map(|out| format!("{} written", out.display()));
    let message: Vec<String> = file.into_iter().chain(words).collect();
    if !message.is_empty() {
        output.note(&format!("{}.", message.join(": ")))?;
    }
    Ok(())
}

/// Refuses a target in a folder of sessions: the gateway would take the file for a transcript and remove it as an
/// orphan (store C8).
fn refuse_store_target(
    args: &ExportArgs,
    session: &LoadedSession,
    invocation: &Invocation,
) -> Result<(), Failure> {
    let Some(out) = args.file() else { return Ok(()) };
    let file = absolute(&invocation.env.cwd, out);
    let refused = |what: &str| Err(Failure::refused(format!("{}: {what}", out.display())));
    let real = |path: &Path| path.canonicalize().ok();
    if real(&file).is_some() && real(&file) == real(session.source.path()) {
        return refused("is the session file itself. Choose another file.");
    }
    if file.parent().and_then(real).is_some_and(|folder| holds_sessions(&folder)) {
        return refused(
            "is inside a folder of sessions, where the gateway takes every file for a session. Choose another folder.",
        );
    }
    Ok(())
}

/// Whether a gateway or pi keeps sessions in this folder.
pub fn holds_sessions(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    name == "sessions" || is_pi_cwd_dir(&name) || folder.join("sessions.json").is_file()
}

fn write_output(
    args: &ExportArgs,
    text: &str,
    json: bool,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let Some(out) = args.file() else {
        let text = if json { documents::escaped(text) } else { text.to_owned() };
        return Ok(output.write_all(text.as_bytes())?);
    };
    save_as(&absolute(&invocation.env.cwd, out), text, args.force).map_err(|error| match error {
        SaveError::AlreadyExists { .. } => {
            Failure::refused(format!("{}: already exists. --force replaces it.", out.display()))
        }
        error => Failure::unreadable(error.to_string()),
    })
}

fn export_picture(
    args: &ExportArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    if has_plan_options(&args.plan) || args.shape_only || args.leaf.is_some() {
        return Err(Failure::usage(
            "--format svg shows the session as it opens. For a plan or another leaf, open the screen and press S there.",
        ));
    }
    let size = parse_size(args.size.as_deref().unwrap_or("130x40"))?;
    let workspace = Workspace::for_session(args.session(), place, invocation)?;
    let session = workspace.open_session(args.session(), output)?;
    refuse_store_target(args, &session, invocation)?;
    let looked = export_request(args, &session, workspace.now_ms, None).redactor();
    let colours = args.colours.as_deref().unwrap_or("dark");
    let redactor: Redactor = looked.map_err(|error| Failure::unreadable(error.to_string()))?;
    let text = session_picture(&workspace.listed, session, size, colours, &redactor, workspace.now_ms)
        .map_err(|error| Failure::usage(format!("--colours: {error}")))?;
    write_output(args, &text, false, invocation, output)?;
    // A picture in a file leaves no other trace on the terminal, so name the file.
    match args.file() {
        Some(out) => Ok(output.note(&format!("{} written.", out.display()))?),
        None => Ok(()),
    }
}

fn parse_size(text: &str) -> Result<(u16, u16), Failure> {
    let parsed =
        text.split_once('x').and_then(|(columns, rows)| Some((columns.parse().ok()?, rows.parse().ok()?)));
    parsed
        .filter(|(columns, rows)| {
            (20..=MAX_PICTURE_SIZE).contains(columns) && (5..=MAX_PICTURE_SIZE).contains(rows)
        })
        .ok_or_else(|| {
            Failure::usage(format!(
                "--size {text}: expected columns and rows, from 20x5 to {MAX_PICTURE_SIZE}x{MAX_PICTURE_SIZE}, such as 130x40"
            ))
        })
}
