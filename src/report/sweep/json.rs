//! A sweep as JSON. The command and the file that the screen saves share this function.

use schemars::JsonSchema;
use serde::Serialize;

use crate::js::{Object, Value};
use crate::policy::Policy;
use crate::report::regret::RegretTotals;
use crate::report::sweep::{Axis, Cell, Sweep};
use crate::session::LoadedSession;
use crate::session::json::{RulesetJson, SessionJson, rounded, ruleset_json, session_json};
use crate::session::setting_change::SettingChange;
use crate::units::Tokens;

/// Many replays over a grid of settings. Tokens are whole, costs are USD; an unknown number is null.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SweepJson {
    session: SessionJson,
    ruleset: RulesetJson,
    /// Tokens that the provider takes.
    provider_window: Option<Tokens>,
    /// Tokens that must stay free.
    headroom: Option<Tokens>,
    /// The policies that are on.
    policy: Vec<&'static str>,
    /// Settings of every cell, by key.
    base: Object,
    axes: Vec<AxisJson>,
    recorded: RecordedJson,
    /// Index of the cell with the current settings.
    current: usize,
    cells: Vec<CellJson>,
    /// Indices of the cells that no other cell beats in every number.
    pareto: Vec<usize>,
    /// Indices of the best trade-offs among them.
    trade_offs: Vec<usize>,
    /// The smallest change with which every call fits.
    smallest_change: Option<SmallestChangeJson>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct AxisJson {
    key: String,
    /// Null leaves the setting unset.
    values: Vec<Option<Value>>,
    /// Index of the current value.
    current: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CellJson {
    /// The value of each axis, except axes left unset because their policy is off.
    set: Object,
    /// Calls whose prompt did not fit at first.
    overflows: usize,
    /// Calls whose last try did not fit either.
    failed: usize,
    /// Whether every call fits.
    fits: bool,
    /// The largest prompt in tokens.
    peak: Option<Tokens>,
    cost: Option<f64>,
    /// Tokens that were not sent, counted once for each call.
    cleared: Option<Tokens>,
    left_out_per_call: Option<Tokens>,
    summaries: usize,
    /// Messages that the prompts lacked and later needed. Null except for trade-offs, the current cell and the smallest
    /// change.
    regret: Option<RegretTotals>,
    /// Number of settings that differ from the current ones.
    changes: usize,
    /// Distance from the current settings.
    distance: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SmallestChangeJson {
    set: Object,
    /// Index of the cell.
    cell: usize,
    /// The change as a patch of the configuration.
    patch: String,
    commands: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct RecordedJson {
    calls: usize,
    overflows: usize,
    failed: usize,
    /// The largest prompt in tokens.
    peak: Option<Tokens>,
    cost: Option<f64>,
    /// Tokens that were not sent, counted once for each call.
    cleared: Option<Tokens>,
    summaries: usize,
    /// Messages that the prompts lacked and later needed.
    regret: Option<RegretTotals>,
}

/// Returns the session, the rules in force, axes, cells, the front and the smallest change.
pub fn sweep_json(session: &LoadedSession, sweep: &Sweep) -> SweepJson {
    SweepJson {
        session: session_json(&session.item),
        ruleset: ruleset_json(&session.ruleset),
        provider_window: rounded(sweep.window),
        headroom: rounded(sweep.headroom),
        policy: sweep.policies.iter().map(Policy::word).collect(),
        base: changes_json(&sweep.base),
        axes: sweep.axes.iter().map(axis_json).collect(),
        recorded: recorded_json(sweep),
        current: sweep.current,
        cells: sweep.cells.iter().map(|cell| cell_json(sweep, cell)).collect(),
        pareto: sweep.pareto_front.clone(),
        trade_offs: sweep.trade_offs(),
        smallest_change: sweep.smallest_fitting.map(|cell| smallest_json(session, sweep, cell)),
    }
}

fn axis_json(axis: &Axis) -> AxisJson {
    let values = axis.points.iter().map(|point| point.value.clone());
    AxisJson { key: axis.key().to_owned(), values: values.collect(), current: axis.current }
}

fn cell_json(sweep: &Sweep, cell: &Cell) -> CellJson {
    let points = sweep.axes.iter().zip(&cell.points);
    let set = points.filter_map(|(axis, at)| Some((axis.key(), axis.points[*at].value.clone()?)));
    CellJson {
        set: set.collect(),
        overflows: cell.overflows(),
        failed: cell.failed_calls(),
        fits: sweep.fits(cell),
        peak: rounded(cell.peak()),
        cost: cell.cost(),
        cleared: rounded(cell.cleared_tokens()),
        left_out_per_call: rounded(cell.cleared_tokens_per_call()),
        summaries: cell.summary_count(),
        regret: cell.regret,
        changes: cell.changed_keys,
        distance: cell.distance,
    }
}

fn changes_json(changes: &[SettingChange]) -> Object {
    changes.iter().map(|change| (change.key(), change.value.clone())).collect()
}

fn smallest_json(session: &LoadedSession, sweep: &Sweep, cell: usize) -> SmallestChangeJson {
    let patch = sweep.patch(session, cell);
    SmallestChangeJson {
        set: changes_json(&sweep.axis_changes(cell)),
        cell,
        patch: patch.text,
        commands: patch.commands,
    }
}

fn recorded_json(sweep: &Sweep) -> RecordedJson {
    let totals = &sweep.recorded;
    RecordedJson {
        calls: totals.calls,
        overflows: totals.overflows,
        failed: totals.failed,
        peak: rounded(totals.peak.0),
        cost: totals.cost_breakdown.total(),
        cleared: rounded(totals.withheld_tokens),
        summaries: totals.compactions,
        regret: sweep.recorded_regret,
    }
}
