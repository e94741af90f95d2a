//! One session swept under the arguments: the values that the text and the JSON of `sweep` are made from.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::check::{parse_amount, resolve_amount};
use super::environment::{Invocation, Workspace, at_leaf, require_context};
use super::failure::Failure;
use super::learned_window::with_learned_window;
use super::output::Output;
use super::preview::replay_policies;
use super::ruleset::refuse_unsupported;
use crate::cli::{StoreArgs, SweepArgs};
use crate::format::quantity;
use crate::policy::{Policy, PolicySet};
use crate::report::sweep::{Axis, AxisContext, AxisError, Cell, Grid, Sweep, SweepSpec, default_axes, sweep};
use crate::report::timeline::RecordedSession;
use crate::runtime::interruptible;
use crate::session::LoadedSession;
use crate::session::replay_inputs::ReplayInputs;
use crate::session::setting_change::{SettingChange, read_changes};
use crate::units::Tokens;

const HEADROOM_OPTION: &str = "--headroom";

impl From<AxisError> for Failure {
    fn from(error: AxisError) -> Self {
        Self::usage(error.0)
    }
}

/// A sweep and its inputs.
#[derive(Debug)]
pub(super) struct SweepReport {
    pub session: Arc<LoadedSession>,
    /// Mean relative error of the estimates at the calls that calibrated them.
    pub fit_error: Option<f64>,
    pub sweep: Sweep,
    /// No `--vary` option was set.
    pub has_default_axes: bool,
}

pub(super) fn run_sweep(
    args: &SweepArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<SweepReport, Failure> {
    let base = read_changes(args.overrides.settings.as_deref(), &args.overrides.set)?;
    let headroom = args.headroom.as_deref().map(|text| parse_amount(HEADROOM_OPTION, text)).transpose()?;
    let session = &args.target.session;
    let workspace = Workspace::for_session(session, place, invocation)?;
    let session = require_context(at_leaf(
        &workspace,
        workspace.open_session(session, output)?,
        args.leaf.as_deref(),
    )?)?;
    let base = with_learned_window(args.overrides.window, base, &session, output)?;
    refuse_unsupported(&base, &session)?;
    let policies = replay_policies(&args.overrides.policy, &base, &session)?;
    let context = AxisContext { session: &session, base: &base, policies };
    let axes = args.vary.iter().map(|text| Axis::parse(&context, text)).collect::<Result<Vec<_>, _>>()?;
    Grid::from_axes(&axes)?;
    let steps = cell_policies(args, &base, &axes, &session)?;
    let inputs = ReplayInputs::read(&session, steps.with(Policy::Compact, true))
        .map_err(|error| Failure::unreadable(error.to_string()))?;
    let headroom =
        headroom.map(|amount| resolve_amount(amount, HEADROOM_OPTION, inputs.provider_window)).transpose()?;
    let headroom = headroom.unwrap_or(Tokens::ZERO);
    if args.headroom.is_some() && headroom >= inputs.provider_window {
        return Err(Failure::usage(format!(
            "{HEADROOM_OPTION} {}: the whole window has {}; expected less, such as 10%.",
            args.headroom.as_deref().unwrap_or_default().trim(),
            quantity(inputs.provider_window, "token")
        )));
    }
    if args.headroom.is_some() && inputs.provider_window.is_nan() {
        return Err(Failure::usage(format!(
            "{HEADROOM_OPTION}: the window of the model is unknown, so nothing can be kept free."
        )));
    }
    let steps = without_ineffective(args, &base, &axes, &inputs, steps);
    let chosen = axes.is_empty();
    let spec = SweepSpec { axes, base, policies: steps, headroom };
    let (session, fit_error) = (Arc::new(session), inputs.fit_error);
    let sweep = sweep_with_progress(Arc::clone(&session), inputs, spec)?;
    Ok(SweepReport { session, fit_error, sweep, has_default_axes: chosen })
}

/// Returns the policies of every cell: the requested ones, and those with a varied setting.
fn cell_policies(
    args: &SweepArgs,
    base: &[SettingChange],
    axes: &[Axis],
    session: &LoadedSession,
) -> Result<PolicySet, Failure> {
    let steps = replay_policies(&args.overrides.policy, base, session)?;
    let varied = axes.iter().filter_map(|axis| Some((axis.policy?, axis)));
    if args.overrides.policy.is_empty() {
        let moved = axes.iter().filter_map(Axis::affected_policy);
        return Ok(moved.fold(steps, |steps, step| steps.with(step, true)));
    }
    let mut left_out = varied.filter(|(step, _)| !steps.has(*step));
    if let Some((step, axis)) = left_out.next() {
        let (key, step) = (axis.key(), step.word());
        return Err(Failure::usage(format!(
            "--vary {key}: belongs to the policy `{step}`, which --policy leaves out. Add {step} to --policy."
        )));
    }
    Ok(steps)
}

/// Removes policies that had no effect in the record, unless an option names them.
fn without_ineffective(
    args: &SweepArgs,
    base: &[SettingChange],
    axes: &[Axis],
    inputs: &ReplayInputs,
    steps: PolicySet,
) -> PolicySet {
    let named =
        base.iter().filter_map(SettingChange::policy).chain(axes.iter().filter_map(|axis| axis.policy));
    let named = named.collect::<Vec<_>>();
    let left_out =
        if args.overrides.policy.is_empty() { inputs.contradicted_policies } else { PolicySet::NONE };
    steps.without(left_out.without(PolicySet::of(&named)))
}

/// Replays the cells; Ctrl-C stops cleanly. A terminal shows the progress.
fn sweep_with_progress(
    session: Arc<LoadedSession>,
    inputs: ReplayInputs,
    spec: SweepSpec,
) -> Result<Sweep, Failure> {
    let stopped = Arc::new(AtomicBool::new(false));
    let wanted = || !stopped.load(Ordering::Relaxed);
    let stop = {
        let stopped = Arc::clone(&stopped);
        move || stopped.store(true, Ordering::Relaxed)
    };
    let done = interruptible(stop, || -> Result<Option<Sweep>, Failure> {
        let mut spec = spec;
        let progress = ProgressLine::new();
        let Some(recording) = RecordedSession::without_cache(session, inputs, &wanted)? else {
            return Ok(None);
        };
        if spec.axes.is_empty() {
            progress.show("choosing settings to vary");
            let axes = default_axes(&recording, &spec.base, spec.policies, &wanted);
            let Some(axes) = axes else { return Ok(None) };
            spec.policies = axes
                .iter()
                .filter_map(Axis::affected_policy)
                .fold(spec.policies, |steps, step| steps.with(step, true));
            spec.axes = axes;
        }
        let of = Grid::from_axes(&spec.axes)?.len();
        let filled = sweep(&recording, spec, &wanted, &|_, _: &Cell| progress.increment(of));
        progress.clear();
        let filled = filled?;
        recording.inputs.check_bodies()?;
        Ok(filled)
    })?;
    done?.ok_or_else(|| Failure::refused("stopped before the sweep was complete; nothing was written"))
}

/// The line; silent unless the error stream is a terminal.
#[derive(Debug)]
pub struct ProgressLine {
    is_terminal: bool,
    done: AtomicUsize,
}

impl ProgressLine {
    #[expect(clippy::new_without_default, reason = "it depends on the error stream")]
    pub fn new() -> Self {
        Self { is_terminal: std::io::stderr().is_terminal(), done: AtomicUsize::new(0) }
    }

    /// Replaces the line.
    pub fn show(&self, words: &str) {
        if self.is_terminal {
            // Failed progress output is no reason to stop.
            _ = write!(std::io::stderr().lock(), "\r\u{1b}[K{words}");
        }
    }

    pub(super) fn increment(&self, of: usize) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        // Redraw once per whole percent.
        if done * 100 / of.max(1) != (done - 1) * 100 / of.max(1) {
            self.show(&format!("{done} of {of} settings"));
        }
    }

    /// Removes the line.
    pub fn clear(&self) {
        self.show("");
    }
}
