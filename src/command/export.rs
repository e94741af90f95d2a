//! `clawscope export SESSION --format FORMAT`: a session as a document, without its secrets.

use std::io::Write as _;
use std::path::Path;

use super::failure::Failure;
use super::output::Output;
use super::preview::{Preview, make};
use super::scene::{Around, Scene, at_leaf, with_context};
use super::summary::{self, config_of};
use crate::cli::{ExportArgs, PlaceArgs, PlanArgs};
use crate::export::folder::shape_folder;
use crate::export::{Exported, Format, Wanted, export, json as documents};
use crate::gateway::env::absolute;
use crate::inspect::Inspection;
use crate::inspect::making::Made;
use crate::redact::Redactor;
use crate::runtime::{SaveError, save_as, session_picture};
use crate::store::session::Session;
use crate::store::shape::is_pi_cwd_dir;
use crate::summarize::SummarizerKind;

/// Most columns and rows of a picture.
const LARGEST: u16 = 500;

/// Writes a document.
pub(super) fn run(
    args: &ExportArgs,
    place: &PlaceArgs,
    around: &Around,
    output: &mut Output,
) -> Result<(), Failure> {
    if args.format == "svg" {
        return picture(args, place, around, output);
    }
    if let Some(folder) = args.out.as_deref().filter(|out| args.shape_only && is_folder(out, around)) {
        return shapes(args, folder, place, around, output);
    }
    let format = [Format::Html, Format::Markdown, Format::Json, Format::Pi];
    let format = format.into_iter().find(|format| format.word() == args.format).unwrap_or(Format::Html);
    if !is_planned(&args.plan) {
        let scene = Scene::for_session(&args.session, place, around)?;
        let inspection = at_leaf(&scene, scene.open(&args.session)?, args.leaf.as_deref())?;
        let inspection =
            if format == Format::Pi && !args.shape_only { with_context(inspection)? } else { inspection };
        let wanted = wanted(args, &inspection, scene.now_ms, None);
        return write(args, &wanted, format, around, output);
    }
    let mut preview = make(&args.session, args.leaf.as_deref(), &args.plan, place, around)?;
    let made = made(&mut preview, around, output)?;
    let plan = (&preview.plan, made.as_ref().map(|made| &made.summary));
    let wanted = Wanted { plan: Some(plan), ..wanted(args, &preview.inspection, preview.now_ms, None) };
    write(args, &wanted, format, around, output)
}

/// Whether `--out` names a folder: one that is there, or a name that ends as one.
fn is_folder(out: &Path, around: &Around) -> bool {
    out.to_string_lossy().ends_with(['/', std::path::MAIN_SEPARATOR])
        || absolute(&around.env.cwd, out).is_dir()
}

/// The session's shape with its row and its settings, as a folder that opens like a store.
fn shapes(
    args: &ExportArgs,
    out: &Path,
    place: &PlaceArgs,
    around: &Around,
    output: &mut Output,
) -> Result<(), Failure> {
    if args.format != Format::Pi.word() || is_planned(&args.plan) || args.leaf.is_some() {
        return Err(Failure::usage(
            "--out names a folder: that is for --format pi --shape-only alone, without a plan or a leaf. Name a file.",
        ));
    }
    let folder = absolute(&around.env.cwd, out);
    let refused = |what: &str| Err(Failure::refused(format!("{}: {what}", out.display())));
    if std::fs::read_dir(&folder).is_ok_and(|mut items| items.next().is_some()) {
        return refused("is a folder with something in it. Name a new one.");
    }
    let scene = Scene::for_session(&args.session, place, around)?;
    let inspection = scene.open(&args.session)?;
    if folder.ancestors().skip(1).any(holds_sessions) {
        return refused("lies in a folder of sessions. Choose another place.");
    }
    let own = |session: &&Session| session.key == inspection.session.key;
    let row = scene.store().sessions.iter().find(own).and_then(|session| session.row.as_ref());
    let wanted = wanted(args, &inspection, scene.now_ms, None);
    let made = shape_folder(&wanted, row)
        .map_err(|error| Failure::unreadable(format!("{}: {error}", inspection.source.path().display())))?;
    for (path, text) in &made.files {
        let path = folder.join(path);
        let parent = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        parent.map_err(|error| Failure::unreadable(format!("{}: {error}", path.display())))?;
        save_as(&path, text, false).map_err(|error| match error {
            SaveError::Taken => Failure::refused(format!("{}: is there already.", path.display())),
            SaveError::Failed(words) => Failure::unreadable(words),
        })?;
    }
    let files = made.files.len();
    let words = format!(
        "{} written: {files} files without a word of what was said; `clawscope {}` opens it.",
        out.display(),
        out.display()
    );
    Ok(output.note(&words)?)
}

/// Whether a plan is asked for.
fn is_planned(plan: &PlanArgs) -> bool {
    !plan.policy.is_empty()
        || !plan.set.is_empty()
        || plan.settings.is_some()
        || plan.now.is_some()
        || plan.gates
}

fn wanted<'a>(
    args: &ExportArgs,
    inspection: &'a Inspection,
    now_ms: f64,
    plan: Option<(&'a crate::plan::Plan, Option<&'a crate::plan::MadeSummary>)>,
) -> Wanted<'a> {
    Wanted { inspection, plan, now_ms: now_ms as i64, redact: !args.no_redact, shape_only: args.shape_only }
}

/// The summary of the plan's compaction, out of the conversation's own words: an export asks nobody.
fn made(preview: &mut Preview, around: &Around, output: &mut Output) -> Result<Option<Made>, Failure> {
    if preview.plan.compaction.is_none() {
        return Ok(None);
    }
    let asked = summary::summarizer(SummarizerKind::Extractive, &config_of(around)?, around)?;
    summary::make(preview, asked, true, output).map(Some)
}

fn write(
    args: &ExportArgs,
    wanted: &Wanted<'_>,
    format: Format,
    around: &Around,
    output: &mut Output,
) -> Result<(), Failure> {
    refuse_store(args, wanted.inspection, around)?;
    let exported = export(wanted, format).map_err(|error| {
        Failure::unreadable(format!("{}: {error}", wanted.inspection.source.path().display()))
    })?;
    let lines = matches!(format, Format::Json | Format::Pi);
    deliver(args, &exported.text, lines, around, output)?;
    tell(args, &exported, output)
}

/// What was taken out, beside the document.
fn tell(args: &ExportArgs, exported: &Exported, output: &mut Output) -> Result<(), Failure> {
    let words = exported.words();
    let file = args.out.as_ref().map(|out| format!("{} written", out.display()));
    let said: Vec<String> = file.into_iter().chain(words).collect();
    if !said.is_empty() {
        output.note(&format!("{}.", said.join(": ")))?;
    }
    Ok(())
}

/// Nothing is written beside sessions: a transcript there would be taken for one, and removed as an orphan (store C8).
fn refuse_store(args: &ExportArgs, inspection: &Inspection, around: &Around) -> Result<(), Failure> {
    let Some(out) = &args.out else { return Ok(()) };
    let file = absolute(&around.env.cwd, out);
    let refused = |what: &str| Err(Failure::refused(format!("{}: {what}", out.display())));
    let real = |path: &Path| path.canonicalize().ok();
    if real(&file).is_some() && real(&file) == real(inspection.source.path()) {
        return refused("is the session itself. Choose another file.");
    }
    if file.parent().and_then(real).is_some_and(|folder| holds_sessions(&folder)) {
        return refused(
            "lies in a folder of sessions; what is there is taken for one. Choose another folder.",
        );
    }
    Ok(())
}

/// Whether a folder is one that a gateway or pi keeps sessions in.
fn holds_sessions(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    name == "sessions" || is_pi_cwd_dir(&name) || folder.join("sessions.json").is_file()
}

fn deliver(
    args: &ExportArgs,
    text: &str,
    json: bool,
    around: &Around,
    output: &mut Output,
) -> Result<(), Failure> {
    let Some(out) = &args.out else {
        let text = if json { documents::escaped(text) } else { text.to_owned() };
        return Ok(output.write_all(text.as_bytes())?);
    };
    save_as(&absolute(&around.env.cwd, out), text, args.force).map_err(|error| match error {
        SaveError::Taken => {
            Failure::refused(format!("{}: is there already. --force replaces it.", out.display()))
        }
        SaveError::Failed(words) => Failure::unreadable(words),
    })
}

/// The screen of the session as a picture.
fn picture(
    args: &ExportArgs,
    place: &PlaceArgs,
    around: &Around,
    output: &mut Output,
) -> Result<(), Failure> {
    if is_planned(&args.plan) || args.shape_only || args.leaf.is_some() {
        return Err(Failure::usage(
            "--format svg shows the session as it opens. For a plan or another leaf, open the screen and press S there.",
        ));
    }
    let size = size(&args.size)?;
    let scene = Scene::for_session(&args.session, place, around)?;
    let inspection = scene.open(&args.session)?;
    refuse_store(args, &inspection, around)?;
    let looked = wanted(args, &inspection, scene.now_ms, None).redactor();
    let redactor: Redactor = looked.map_err(|error| Failure::unreadable(error.to_string()))?;
    let text =
        session_picture(&scene.listed, inspection, size, &args.colours, &redactor, scene.now_ms as i64)
            .map_err(|error| Failure::usage(format!("--colours: {error}")))?;
    deliver(args, &text, false, around, output)?;
    // A picture that goes to a file leaves nothing else on the terminal.
    match &args.out {
        Some(out) => Ok(output.note(&format!("{} written.", out.display()))?),
        None => Ok(()),
    }
}

fn size(text: &str) -> Result<(u16, u16), Failure> {
    let parsed =
        text.split_once('x').and_then(|(columns, rows)| Some((columns.parse().ok()?, rows.parse().ok()?)));
    parsed
        .filter(|(columns, rows)| (20..=LARGEST).contains(columns) && (5..=LARGEST).contains(rows))
        .ok_or_else(|| {
            Failure::usage(format!(
                "--size {text}: expected columns and rows, as 130x40, of at most {LARGEST}"
            ))
        })
}
