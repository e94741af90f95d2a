//! `clawscope sweep SESSION`: replays a grid of settings and prints the best trade-offs, and the smallest change after
//! which every call fits.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::amount::{parse_amount, resolve_amount};
use super::environment::{Invocation, Workspace, at_leaf, require_context};
use super::failure::Failure;
use super::learned_window::with_learned_window;
use super::output::Output;
use super::policies::replay_policies;
use super::ruleset::refuse_unsupported;
use super::sweep_text::print;
use crate::cli::{StoreArgs, SweepArgs};
use crate::policy::{Policy, PolicySet};
use crate::report::sweep::{
    Axis, AxisContext, AxisError, Cell, Grid, Sweep, SweepSpec, default_axes, json, sweep,
};
use crate::report::timeline::RecordedSession;
use crate::runtime::{SaveError, interruptible, save_as};
use crate::session::LoadedSession;
use crate::session::replay_inputs::ReplayInputs;
use crate::session::setting_change::{SettingChange, read_changes};

const HEADROOM_OPTION: &str = "--headroom";
/// The user's own file: a patch never overwrites it.
const CONFIG_FILE: &str = "openclaw.json";

impl From<AxisError> for Failure {
    fn from(error: AxisError) -> Self {
        Self::usage(error.0)
    }
}

/// A sweep and its inputs.
#[derive(Debug)]
pub(super) struct SweepReport {
    pub inspection: Arc<LoadedSession>,
    /// Mean relative error of the estimates at the calls that calibrated them.
    pub fit_error: Option<f64>,
    pub sweep: Sweep,
    /// No `--vary` option was set.
    pub has_default_axes: bool,
}

pub(super) fn run(
    args: &SweepArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    if let Some(file) = args.patch.as_deref().filter(|file| file.ends_with(CONFIG_FILE)) {
        return Err(Failure::refused(format!(
            "--patch {}: {CONFIG_FILE} is yours; a patch is written beside it. Name another file. Nothing was written.",
            file.display()
        )));
    }
    let swept = run_sweep(args, place, invocation)?;
    if args.target.json {
        output.json(json::sweep_document(&swept.inspection, &swept.sweep))?;
    } else {
        print(&swept, args.measure, output)?;
    }
    match &args.patch {
        Some(file) => save_patch(&swept, file, output),
        None => Ok(()),
    }
}

fn run_sweep(args: &SweepArgs, place: &StoreArgs, invocation: &Invocation) -> Result<SweepReport, Failure> {
    let base = read_changes(args.overrides.settings.as_deref(), &args.overrides.set)?;
    let headroom = args.headroom.as_deref().map(|text| parse_amount(HEADROOM_OPTION, text)).transpose()?;
    let session = &args.target.session;
    let workspace = Workspace::for_session(session, place, invocation)?;
    let loaded =
        require_context(at_leaf(&workspace, workspace.open_session(session)?, args.leaf.as_deref())?)?;
    let base = with_learned_window(args.overrides.window, base, &loaded)?;
    refuse_unsupported(&base, &loaded)?;
    let axis_context = AxisContext { session: &loaded, base: &base };
    let axes =
        args.vary.iter().map(|text| Axis::parse(&axis_context, text)).collect::<Result<Vec<_>, _>>()?;
    Grid::from_axes(&axes)?;
    let steps = cell_policies(args, &base, &axes, &loaded)?;
    let inputs = ReplayInputs::read(&loaded, steps.with(Policy::Compact, true))
        .map_err(|error| Failure::unreadable(error.to_string()))?;
    let headroom =
        headroom.map(|amount| resolve_amount(amount, HEADROOM_OPTION, inputs.provider_window)).transpose()?;
    let headroom = headroom.unwrap_or(0.0);
    if args.headroom.is_some() && inputs.provider_window.is_nan() {
        return Err(Failure::usage(format!(
            "{HEADROOM_OPTION}: nothing tells the window of the model, so there is nothing to leave free."
        )));
    }
    let steps = without_ineffective(args, &base, &axes, &inputs, steps);
    let chosen = axes.is_empty();
    let requested = SweepSpec { axes, base, policies: steps, headroom };
    let (inspection, fit_error) = (Arc::new(loaded), inputs.fit_error);
    let sweep = sweep_with_progress(Arc::clone(&inspection), inputs, requested)?;
    Ok(SweepReport { inspection, fit_error, sweep, has_default_axes: chosen })
}

/// Returns the policies of every cell: the requested ones, and those with a varied setting.
fn cell_policies(
    args: &SweepArgs,
    base: &[SettingChange],
    axes: &[Axis],
    session: &LoadedSession,
) -> Result<PolicySet, Failure> {
    let policies = replay_policies(&args.overrides.policy, base, session)?;
    let varied = axes.iter().filter_map(|axis| Some((axis.policy?, axis)));
    if args.overrides.policy.is_empty() {
        let moved = axes.iter().filter_map(Axis::affected_policy);
        return Ok(moved.fold(policies, |policies, policy| policies.with(policy, true)));
    }
    let mut left_out = varied.filter(|(policy, _)| !policies.has(*policy));
    if let Some((policy, axis)) = left_out.next() {
        let (key, policy) = (&axis.key, policy.word());
        return Err(Failure::usage(format!(
            "--vary {key}: belongs to the step `{policy}`, which --policy leaves out. Add {policy} to --policy."
        )));
    }
    Ok(policies)
}

/// Removes policies that had no effect in the record, unless an option names them.
fn without_ineffective(
    args: &SweepArgs,
    base: &[SettingChange],
    axes: &[Axis],
    inputs: &ReplayInputs,
    policies: PolicySet,
) -> PolicySet {
    let named =
        base.iter().filter_map(|change| change.policy).chain(axes.iter().filter_map(|axis| axis.policy));
    let named = named.collect::<Vec<_>>();
    let left_out =
        if args.overrides.policy.is_empty() { inputs.contradicted_policies } else { PolicySet::NONE };
    policies.without(left_out.without(PolicySet::of(&named)))
}

/// Replays the cells; Ctrl-C stops cleanly. A terminal shows the progress.
fn sweep_with_progress(
    session: Arc<LoadedSession>,
    inputs: ReplayInputs,
    requested: SweepSpec,
) -> Result<Sweep, Failure> {
    let stopped = Arc::new(AtomicBool::new(false));
    let wanted = || !stopped.load(Ordering::Relaxed);
    let stop = {
        let stopped = Arc::clone(&stopped);
        move || stopped.store(true, Ordering::Relaxed)
    };
    let done = interruptible(stop, || -> Result<Option<Sweep>, AxisError> {
        let mut requested = requested;
        let progress = ProgressLine::new();
        let Some(recording) = RecordedSession::from_inputs(session, inputs, &wanted) else {
            return Ok(None);
        };
        if requested.axes.is_empty() {
            progress.show("choosing settings to vary");
            let axes = default_axes(&recording, &requested.base, requested.policies, &wanted);
            let Some(axes) = axes else { return Ok(None) };
            requested.policies = axes
                .iter()
                .filter_map(Axis::affected_policy)
                .fold(requested.policies, |policies, policy| policies.with(policy, true));
            requested.axes = axes;
        }
        let of = Grid::from_axes(&requested.axes)?.len();
        let filled = sweep(&recording, requested, &wanted, &|_, _: &Cell| progress.increment(of));
        progress.clear();
        filled
    })?;
    done?.ok_or_else(|| Failure::refused("stopped before every cell was known; nothing was written"))
}

/// A progress line on the error stream, overwritten in place; silent unless that is a terminal.
struct ProgressLine {
    is_terminal: bool,
    done: AtomicUsize,
}

impl ProgressLine {
    fn new() -> Self {
        Self { is_terminal: std::io::stderr().is_terminal(), done: AtomicUsize::new(0) }
    }

    fn show(&self, words: &str) {
        if self.is_terminal {
            // Failed progress output is no reason to stop.
            _ = write!(std::io::stderr().lock(), "\r\u{1b}[K{words}");
        }
    }

    fn increment(&self, of: usize) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        // Redraw once per whole percent.
        if done * 100 / of.max(1) != (done - 1) * 100 / of.max(1) {
            self.show(&format!("{done} of {of} settings"));
        }
    }

    fn clear(&self) {
        self.show("");
    }
}

fn save_patch(swept: &SweepReport, file: &std::path::Path, output: &mut Output) -> Result<(), Failure> {
    let patch = swept.sweep.smallest_fitting.map(|cell| swept.sweep.patch(&swept.inspection, cell).text);
    let Some(text) = patch.filter(|text| !text.is_empty()) else {
        return Err(Failure::refused(format!(
            "--patch {}: there is no change to write: {}. Nothing was written.",
            file.display(),
            if swept.sweep.smallest_fitting.is_some() {
                "every call fits as things are"
            } else {
                "no cell of the grid fits"
            }
        )));
    };
    save_as(file, &format!("{text}\n"), false).map_err(|error| match error {
        SaveError::AlreadyExists => Failure::refused(format!(
            "{}: is there already, and nothing is overwritten. Name another file.",
            file.display()
        )),
        SaveError::Failed(words) => Failure::refused(words),
    })?;
    let into = if text.starts_with("// /") { "the file it names" } else { CONFIG_FILE };
    Ok(output.note(&format!("saved as {}; merge it into {into} yourself", file.display()))?)
}
