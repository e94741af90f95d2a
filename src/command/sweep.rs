//! `clawscope sweep SESSION`: a grid of settings, its best trade-offs, and the smallest change after which all fits.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::amount::{amount_tokens, parse_amount};
use super::failure::Failure;
use super::learnt::with_learnt;
use super::output::Output;
use super::ruleset::refuse_fixed;
use super::scene::{Around, Scene, at_leaf, with_context};
use super::steps::replayed_steps;
use super::sweep_text::print;
use crate::cli::{PlaceArgs, SweepArgs};
use crate::inspect::Inspection;
use crate::inspect::again::Material;
use crate::inspect::change::{Change, read_changes};
use crate::inspect::timeline::Recording;
use crate::policy::{Step, StepSet};
use crate::runtime::{SaveError, interruptible, save_as};
use crate::sweep::{Asked, Axis, AxisError, Cell, Grid, Ground, Sweep, default_axes, json, sweep};

/// The option of the head-room.
const HEADROOM: &str = "--headroom";
/// The file that nobody but the person changes.
const CONFIG_FILE: &str = "openclaw.json";

impl From<AxisError> for Failure {
    fn from(error: AxisError) -> Self {
        Self::usage(error.0)
    }
}

/// A sweep and what it was made from.
#[derive(Debug)]
pub(super) struct Swept {
    /// The session.
    pub inspection: Arc<Inspection>,
    /// By how much its estimates are off at the calls they were fitted from, as a share.
    pub fit_error: Option<f64>,
    /// The cells.
    pub sweep: Sweep,
    /// Nobody named axes.
    pub chosen: bool,
}

/// Answers.
pub(super) fn run(
    args: &SweepArgs,
    place: &PlaceArgs,
    around: &Around,
    output: &mut Output,
) -> Result<(), Failure> {
    if let Some(file) = args.patch.as_deref().filter(|file| file.ends_with(CONFIG_FILE)) {
        return Err(Failure::refused(format!(
            "--patch {}: {CONFIG_FILE} is yours; a patch is written beside it. Name another file. Nothing was written.",
            file.display()
        )));
    }
    let swept = make(args, place, around)?;
    if args.session.json {
        output.json(json::answer(&swept.inspection, &swept.sweep))?;
    } else {
        print(&swept, args.measure, output)?;
    }
    match &args.patch {
        Some(file) => save_patch(&swept, file, output),
        None => Ok(()),
    }
}

fn make(args: &SweepArgs, place: &PlaceArgs, around: &Around) -> Result<Swept, Failure> {
    let base = read_changes(args.with.settings.as_deref(), &args.with.set)?;
    let headroom = args.headroom.as_deref().map(|text| parse_amount(HEADROOM, text)).transpose()?;
    let session = &args.session.session;
    let scene = Scene::for_session(session, place, around)?;
    let inspection = with_context(at_leaf(&scene, scene.open(session)?, args.leaf.as_deref())?)?;
    let base = with_learnt(args.with.window, base, &inspection)?;
    refuse_fixed(&base, &inspection)?;
    let ground = Ground { inspection: &inspection, base: &base };
    let axes = args.vary.iter().map(|text| Axis::parse(&ground, text)).collect::<Result<Vec<_>, _>>()?;
    Grid::of(&axes)?;
    let steps = steps_of(args, &base, &axes, &inspection)?;
    let material = Material::read(&inspection, steps.with(Step::Compact, true))
        .map_err(|error| Failure::unreadable(error.to_string()))?;
    let headroom =
        headroom.map(|amount| amount_tokens(amount, HEADROOM, material.provider_window)).transpose()?;
    let headroom = headroom.unwrap_or(0.0);
    if args.headroom.is_some() && material.provider_window.is_nan() {
        return Err(Failure::usage(format!(
            "{HEADROOM}: nothing tells the window of the model, so there is nothing to leave free."
        )));
    }
    let steps = without_doubted(args, &base, &axes, &material, steps);
    let chosen = axes.is_empty();
    let asked = Asked { axes, base, steps, headroom };
    let (inspection, fit_error) = (Arc::new(inspection), material.fit_error);
    let sweep = sweep_told(Arc::clone(&inspection), material, asked)?;
    Ok(Swept { inspection, fit_error, sweep, chosen })
}

/// The steps of every cell: those asked for, and those whose settings are varied.
fn steps_of(
    args: &SweepArgs,
    base: &[Change],
    axes: &[Axis],
    inspection: &Inspection,
) -> Result<StepSet, Failure> {
    let steps = replayed_steps(&args.with.policy, base, inspection)?;
    let varied = axes.iter().filter_map(|axis| Some((axis.step?, axis)));
    if args.with.policy.is_empty() {
        let moved = axes.iter().filter_map(Axis::moved_step);
        return Ok(moved.fold(steps, |steps, step| steps.with(step, true)));
    }
    let mut left_out = varied.filter(|(step, _)| !steps.has(*step));
    if let Some((step, axis)) = left_out.next() {
        let (key, step) = (&axis.key, step.word());
        return Err(Failure::usage(format!(
            "--vary {key}: belongs to the step `{step}`, which --policy leaves out. Add {step} to --policy."
        )));
    }
    Ok(steps)
}

/// A step that did nothing in the record does nothing in the cells, unless somebody asks for it.
fn without_doubted(
    args: &SweepArgs,
    base: &[Change],
    axes: &[Axis],
    material: &Material,
    steps: StepSet,
) -> StepSet {
    let named = base.iter().filter_map(|change| change.step).chain(axes.iter().filter_map(|axis| axis.step));
    let named = named.collect::<Vec<_>>();
    let left_out = if args.with.policy.is_empty() { material.doubted } else { StepSet::NONE };
    steps.without(left_out.without(StepSet::of(&named)))
}

/// Fills the cells; ctrl-c ends it in order. How far it is, is told where a person watches.
fn sweep_told(inspection: Arc<Inspection>, material: Material, asked: Asked) -> Result<Sweep, Failure> {
    let stopped = Arc::new(AtomicBool::new(false));
    let wanted = || !stopped.load(Ordering::Relaxed);
    let stop = {
        let stopped = Arc::clone(&stopped);
        move || stopped.store(true, Ordering::Relaxed)
    };
    let done = interruptible(stop, || -> Result<Option<Sweep>, AxisError> {
        let mut asked = asked;
        let progress = Progress::new();
        let Some(recording) = Recording::of(inspection, material, &wanted) else { return Ok(None) };
        if asked.axes.is_empty() {
            progress.say("choosing settings to vary");
            let axes = default_axes(&recording, &asked.base, asked.steps, &wanted);
            let Some(axes) = axes else { return Ok(None) };
            asked.steps = axes
                .iter()
                .filter_map(Axis::moved_step)
                .fold(asked.steps, |steps, step| steps.with(step, true));
            asked.axes = axes;
        }
        let of = Grid::of(&asked.axes)?.len();
        let filled = sweep(&recording, asked, &wanted, &|_, _: &Cell| progress.one_more(of));
        progress.clear();
        filled
    })?;
    done?.ok_or_else(|| Failure::refused("stopped before every cell was known; nothing was written"))
}

/// A line on the error stream that is written over, where a terminal shows it.
struct Progress {
    shown: bool,
    done: AtomicUsize,
}

impl Progress {
    fn new() -> Self {
        Self { shown: std::io::stderr().is_terminal(), done: AtomicUsize::new(0) }
    }

    fn say(&self, words: &str) {
        if self.shown {
            // That it cannot be told is no reason to stop.
            _ = write!(std::io::stderr().lock(), "\r\u{1b}[K{words}");
        }
    }

    fn one_more(&self, of: usize) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        // As often as the number of whole percents changes.
        if done * 100 / of.max(1) != (done - 1) * 100 / of.max(1) {
            self.say(&format!("{done} of {of} settings"));
        }
    }

    fn clear(&self) {
        self.say("");
    }
}

fn save_patch(swept: &Swept, file: &std::path::Path, output: &mut Output) -> Result<(), Failure> {
    let patch = swept.sweep.smallest.map(|cell| swept.sweep.patch(&swept.inspection, cell).text);
    let Some(text) = patch.filter(|text| !text.is_empty()) else {
        return Err(Failure::refused(format!(
            "--patch {}: there is no change to write: {}. Nothing was written.",
            file.display(),
            if swept.sweep.smallest.is_some() {
                "every call fits as things are"
            } else {
                "no cell of the grid fits"
            }
        )));
    };
    save_as(file, &format!("{text}\n"), false).map_err(|error| match error {
        SaveError::Taken => Failure::refused(format!(
            "{}: is there already, and nothing is overwritten. Name another file.",
            file.display()
        )),
        SaveError::Failed(words) => Failure::refused(words),
    })?;
    let into = if text.starts_with("// /") { "the file it names" } else { CONFIG_FILE };
    Ok(output.note(&format!("saved as {}; merge it into {into} yourself", file.display()))?)
}
