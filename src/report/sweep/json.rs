//! A sweep as JSON. The command and the file that the screen saves share this function.

use crate::js::{Object, Value};
use crate::replay::TraceTotals;
use crate::report::sweep::{Axis, Cell, Sweep};
use crate::session::LoadedSession;
use crate::session::json::{ruleset_json, session_json};
use crate::session::setting_change::SettingChange;

/// Returns the session, the rules in force, and the sweep.
pub fn sweep_document(session: &LoadedSession, sweep: &Sweep) -> Object {
    let mut answer =
        Object::from([("session", session_json(&session.item)), ("ruleset", ruleset_json(&session.ruleset))]);
    for (key, value) in sweep_members(session, sweep) {
        answer.insert(key, value);
    }
    answer
}

/// Returns axes, cells, the front and the smallest change. Tokens are whole; an unknown number is null.
fn sweep_members(session: &LoadedSession, sweep: &Sweep) -> Object {
    let cells = sweep.cells.iter().map(|cell| cell_value(sweep, cell));
    let indexes = |cells: &[usize]| Value::from(cells.iter().map(|at| Value::from(*at)).collect::<Vec<_>>());
    let policies = sweep.policies.iter().map(|policy| Value::from(policy.word()));
    let smallest = sweep.smallest_fitting.map_or(Value::Null, |cell| smallest_value(session, sweep, cell));
    Object::from([
        ("providerWindow", whole(sweep.window)),
        ("headroom", whole(sweep.headroom)),
        ("policy", Value::from(policies.collect::<Vec<_>>())),
        ("base", changes_value(&sweep.base)),
        ("axes", Value::from(sweep.axes.iter().map(axis_value).collect::<Vec<_>>())),
        ("recorded", recorded_value(&sweep.recorded)),
        ("current", Value::from(sweep.current)),
        ("cells", Value::from(cells.collect::<Vec<_>>())),
        ("pareto", indexes(&sweep.pareto_front)),
        ("tradeOffs", indexes(&sweep.trade_offs())),
        ("smallestChange", smallest),
    ])
}

fn whole(tokens: f64) -> Value {
    if tokens.is_finite() { Value::Number(tokens.round()) } else { Value::Null }
}

fn usd(cost: Option<f64>) -> Value {
    cost.filter(|cost| cost.is_finite()).map_or(Value::Null, Value::Number)
}

fn axis_value(axis: &Axis) -> Value {
    let values = axis.points.iter().map(|point| point.value.clone().unwrap_or(Value::Null));
    Value::from(Object::from([
        ("key", Value::from(axis.key())),
        ("values", Value::from(values.collect::<Vec<_>>())),
        ("current", Value::from(axis.current)),
    ]))
}

/// Returns a cell with the value of each axis, except axes left unset because their policy is off.
fn cell_value(sweep: &Sweep, cell: &Cell) -> Value {
    let mut set = Object::default();
    for (axis, at) in sweep.axes.iter().zip(&cell.points) {
        if let Some(value) = &axis.points[*at].value {
            set.set(axis.key(), value.clone());
        }
    }
    Value::from(Object::from([
        ("set", Value::from(set)),
        ("overflows", Value::from(cell.overflows())),
        ("failed", Value::from(cell.failed_calls())),
        ("fits", Value::from(sweep.fits(cell))),
        ("peak", whole(cell.peak())),
        ("cost", usd(cell.cost())),
        ("cleared", whole(cell.cleared_tokens())),
        ("leftOutPerCall", whole(cell.cleared_tokens_per_call())),
        ("summaries", Value::from(cell.summary_count())),
        ("changes", Value::from(cell.changed_keys)),
        ("distance", Value::Number(cell.distance)),
    ]))
}

fn changes_value(changes: &[SettingChange]) -> Value {
    let mut set = Object::default();
    for change in changes {
        set.set(change.key(), change.value.clone());
    }
    Value::from(set)
}

fn smallest_value(session: &LoadedSession, sweep: &Sweep, cell: usize) -> Value {
    let patch = sweep.patch(session, cell);
    let commands = patch.commands.iter().map(|line| Value::from(line.as_str()));
    Value::from(Object::from([
        ("set", changes_value(&sweep.axis_changes(cell))),
        ("cell", Value::from(cell)),
        ("patch", Value::from(patch.text.as_str())),
        ("commands", Value::from(commands.collect::<Vec<_>>())),
    ]))
}

fn recorded_value(totals: &TraceTotals) -> Value {
    Value::from(Object::from([
        ("calls", Value::from(totals.calls)),
        ("overflows", Value::from(totals.overflows)),
        ("failed", Value::from(totals.failed)),
        ("peak", whole(totals.peak.0)),
        ("cost", usd(totals.cost_breakdown.total())),
        ("cleared", whole(totals.withheld_tokens)),
        ("summaries", Value::from(totals.compactions)),
    ]))
}
