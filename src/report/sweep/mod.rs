//! Sweeps: replays of one session over a grid of settings, with the totals of each cell, the best trade-offs, and the
//! smallest change after which every call fits.
//!
//! Every cell replays the whole session with the same policies, so that cells differ only by their settings. All cells
//! share one recorded trace, and cells with equal settings are replayed once.
//!
//! *Distance*: for each changed setting, its move as a share of its axis (from the smallest to the largest value, the
//! current one included); 1 for a switch. The distance of a cell is the sum.

mod axis;
mod choose;
mod grid;
pub mod json;
mod sides;

pub use axis::{Axis, AxisContext, AxisError, AxisPoint, MAX_VALUES};
pub use choose::{default_axes, usual_axes};
pub use grid::{Grid, MAX_CELLS};
pub use sides::{
    Cell, CellScore, Side, SideComparison, SideName, SideOutcome, compare_sides, pareto_front,
    smallest_fitting,
};

use std::collections::BTreeSet;

use rayon::iter::{IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};

use crate::format::quantity;
use crate::policy::{Policy, PolicySet};
use crate::replay::{Settings, TraceTotals, simulated_totals};
use crate::report::regret::{RegretFinder, RegretTotals};
use crate::report::timeline::RecordedSession;
use crate::session::LoadedSession;
use crate::session::path_texts::IsWanted;
use crate::session::setting_change::SettingChange;
use crate::session::simulated_settings::simulate_settings;
use crate::units::Tokens;
use crate::write::patch::ConfigPatch;

/// The most trade-offs for which a sweep finds the regret.
const MAX_REGRET_CELLS: usize = 24;
/// Calls from which on the regret of one cell is found at a time.
const MANY_CALLS: usize = 20_000;

/// The request for a sweep.
#[derive(Debug, Clone)]
pub struct SweepSpec {
    pub axes: Vec<Axis>,
    /// Changes that hold in every cell.
    pub base: Vec<SettingChange>,
    /// Policies that are on in every cell.
    pub policies: PolicySet,
    /// Tokens of the window that every prompt must leave free.
    pub headroom: Tokens,
}
/// Receives each cell as soon as it is replayed, in any order.
pub type OnCell<'a> = &'a (dyn Fn(usize, &Cell) + Sync);

/// All cells, and the best of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    pub axes: Vec<Axis>,
    pub grid: Grid,
    /// Changes that hold in every cell.
    pub base: Vec<SettingChange>,
    /// Policies that are on in every cell.
    pub policies: PolicySet,
    /// The provider's window in tokens; NaN if unknown.
    pub window: Tokens,
    /// Tokens of the window that every prompt must leave free.
    pub headroom: Tokens,
    /// Totals of the recorded session.
    pub recorded: TraceTotals,
    /// Messages that the recorded prompts lacked and later needed; `None` if a text cannot be read again.
    pub recorded_regret: Option<RegretTotals>,
    pub cells: Vec<Cell>,
    /// The cell without changes.
    pub current: usize,
    /// Cells that no other beats in cost, peak and withheld tokens.
    pub pareto_front: Vec<usize>,
    /// The smallest change after which all calls fit; `None` if no cell fits.
    pub smallest_fitting: Option<usize>,
}

impl Sweep {
    /// Whether every call of a cell fits, with the requested headroom.
    pub fn fits(&self, cell: &Cell) -> bool {
        cell_fits(cell, self.window, self.headroom)
    }

    /// Returns a warning if every call already fits in the replay, although recorded calls overflowed.
    pub fn caveat(&self) -> Option<String> {
        let fits_now = self.smallest_fitting == Some(self.current);
        let refused = self.recorded.overflows;
        (fits_now && refused > 0).then(|| {
            let compacts = self.cells[self.current].totals.compactions > self.recorded.compactions;
            let why = if compacts { ": the simulation compacts when the settings say so" } else { "" };
            format!(
                "{} overflowed in the recording; under these settings every call fits{why}",
                quantity(refused, "call")
            )
        })
    }

    /// Adds the regret of the record and of the cells that a person would choose. For each, a trace is made again and all
    /// later messages are compared, so the other cells have none.
    fn add_regret(&mut self, recording: &RecordedSession, bare: &[(Cell, Settings)], wanted: IsWanted<'_>) {
        let finder = RegretFinder::new(&recording.session, &recording.inputs);
        self.recorded_regret = finder.recorded().ok().map(|regret| regret.totals());
        let mut chosen: BTreeSet<usize> = self.trade_offs().into_iter().take(MAX_REGRET_CELLS).collect();
        chosen.extend([self.current].into_iter().chain(self.smallest_fitting));
        let find = |cell: usize| (cell, finder.simulated(&bare[cell].1).ok().map(|regret| regret.totals()));
        // A trace with its losses takes more than half a kB for each message.
        let found: Vec<(usize, Option<RegretTotals>)> = if recording.trace.calls.len() > MANY_CALLS {
            chosen.into_iter().filter(|_| wanted()).map(find).collect()
        } else {
            chosen.into_par_iter().filter(|_| wanted()).map(find).collect()
        };
        for (cell, regret) in found {
            self.cells[cell].regret = regret;
        }
    }

    /// Returns all changes of a cell: the base changes and its own.
    pub fn changes(&self, cell: usize) -> Vec<SettingChange> {
        let own = self.axis_changes(cell);
        self.base.iter().cloned().chain(own).collect()
    }

    /// Returns the changes of a cell without the base changes.
    pub fn axis_changes(&self, cell: usize) -> Vec<SettingChange> {
        changes_of_points(&self.axes, &self.grid.points_of(cell))
    }

    /// Returns the changes of a cell as a configuration patch.
    pub fn patch(&self, session: &LoadedSession, cell: usize) -> ConfigPatch {
        ConfigPatch::from_changes(session, &self.changes(cell))
    }

    /// Returns the best trade-offs for people: the cells of the front without overflows, or the whole front if all
    /// overflow; of cells with equal totals only the smallest change; the cheapest first.
    pub fn trade_offs(&self) -> Vec<usize> {
        let fitting = |cell: &usize| self.cells[*cell].overflows() == 0;
        let any = self.pareto_front.iter().any(fitting);
        let mut cells: Vec<usize> =
            self.pareto_front.iter().copied().filter(|cell| !any || fitting(cell)).collect();
        let rank = |cell: &usize| {
            let of = &self.cells[*cell];
            let [cost, peak, withheld] = of.trade_off_values();
            (cost, peak, withheld, of.changed_keys as f64, of.distance)
        };
        cells.sort_by(|a, b| rank(a).partial_cmp(&rank(b)).unwrap_or(std::cmp::Ordering::Equal));
        cells.dedup_by(|b, a| self.cells[*a].trade_off_values() == self.cells[*b].trade_off_values());
        cells
    }
}

/// Whether every call of a cell fits and, if headroom is requested, its largest prompt leaves that much of the window.
fn cell_fits(cell: &Cell, window: Tokens, headroom: Tokens) -> bool {
    // An unknown window cannot exclude a cell, and an answered call fitted even above the window.
    let spares = headroom <= Tokens::ZERO || window.is_nan() || cell.peak() <= window - headroom;
    cell.overflows() == 0 && cell.failed_calls() == 0 && spares
}

/// Returns the changes at the points of a cell.
fn changes_of_points(axes: &[Axis], at: &[usize]) -> Vec<SettingChange> {
    axes.iter().zip(at).filter_map(|(axis, point)| axis.change(*point)).collect()
}

/// Returns the settings of a trace under some changes, and whether they switch pruning on.
fn settings_under(
    session: &LoadedSession,
    changes: &[SettingChange],
    policies: PolicySet,
) -> (Settings, bool) {
    let simulated = simulate_settings(session, changes, policies);
    (simulated.replay_settings(), simulated.prune_switched_on)
}

/// Replays a session in every cell of a grid; `None` once the caller cancelled.
///
/// # Errors
/// When the grid has too many cells, or two axes have one key.
pub fn sweep(
    recording: &RecordedSession,
    requested: SweepSpec,
    wanted: IsWanted<'_>,
    tell: OnCell<'_>,
) -> Result<Option<Sweep>, AxisError> {
    let grid = Grid::from_axes(&requested.axes)?;
    if let Some(refused) = recording.session.describe_refused_window(&requested.base) {
        return Err(AxisError(format!("{refused}. Set a larger window.")));
    }
    let bare = cells_to_replay(&recording.session, &requested, &grid);
    let Some(cells) = replay_cells(recording, &bare, wanted, tell) else { return Ok(None) };
    let window = recording.inputs.provider_window;
    let weighed: Vec<CellScore> =
        cells.iter().map(|cell| cell.score(cell_fits(cell, window, requested.headroom))).collect();
    let weights: Vec<[f64; 3]> = cells.iter().map(Cell::trade_off_values).collect();
    let now: Vec<usize> = requested.axes.iter().map(|axis| axis.current).collect();
    let mut sweep = Sweep {
        current: grid.cell_index(&now),
        pareto_front: pareto_front(&weights),
        smallest_fitting: smallest_fitting(&weighed),
        recorded: recording.trace.totals(),
        recorded_regret: None,
        axes: requested.axes,
        base: requested.base,
        policies: requested.policies,
        headroom: requested.headroom,
        window,
        grid,
        cells,
    };
    sweep.add_regret(recording, &bare, wanted);
    Ok(wanted().then_some(sweep))
}

/// Returns the cells with their settings, before any replay.
fn cells_to_replay(session: &LoadedSession, requested: &SweepSpec, grid: &Grid) -> Vec<(Cell, Settings)> {
    let base_on = settings_under(session, &requested.base, requested.policies).1;
    let bare = |cell: usize| {
        let at = grid.points_of(cell);
        let own = changes_of_points(&requested.axes, &at);
        let keys = own.len();
        let distance = requested.axes.iter().zip(&at).map(|(axis, point)| axis.distance(*point)).sum();
        let changes: Vec<SettingChange> = requested.base.iter().cloned().chain(own).collect();
        let policies = cell_policies(&requested.axes, &at, requested.policies);
        let (settings, switched_on) = settings_under(session, &changes, policies);
        let keys = keys + usize::from(switched_on && !base_on);
        (
            Cell { points: at, changed_keys: keys, distance, totals: TraceTotals::default(), regret: None },
            settings,
        )
    };
    (0..grid.len()).map(bare).collect()
}

/// Returns the policies of a cell: without clearing where the cell leaves each of its axes unset.
fn cell_policies(axes: &[Axis], at: &[usize], policies: PolicySet) -> PolicySet {
    let clearing = || axes.iter().zip(at).filter(|(axis, _)| axis.policy == Some(Policy::Clear));
    let is_unset = |(axis, at): (&Axis, &usize)| axis.points.get(*at).is_some_and(|it| it.value.is_none());
    let off = clearing().next().is_some() && clearing().all(is_unset);
    policies.with(Policy::Clear, policies.has(Policy::Clear) && !off)
}

/// Replays the cells in parallel.
fn replay_cells(
    recording: &RecordedSession,
    bare: &[(Cell, Settings)],
    wanted: IsWanted<'_>,
    tell: OnCell<'_>,
) -> Option<Vec<Cell>> {
    let session = recording.inputs.replay_session(&recording.session);
    // The cells of each group of equal settings.
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, (_, settings)) in bare.iter().enumerate() {
        match groups.iter_mut().find(|group| bare[group[0]].1 == *settings) {
            Some(group) => group.push(at),
            None => groups.push(vec![at]),
        }
    }
    let replayed: Option<Vec<Vec<(usize, Cell)>>> = groups
        .par_iter()
        .map(|group| {
            let totals = simulated_totals(&session, &bare[group[0]].1, &recording.trace, &wanted)?;
            let filled = |at: &usize| (*at, Cell { totals, ..bare[*at].0.clone() });
            let cells: Vec<(usize, Cell)> = group.iter().map(filled).collect();
            for (at, cell) in &cells {
                tell(*at, cell);
            }
            Some(cells)
        })
        .collect();
    let mut cells: Vec<(usize, Cell)> = replayed?.into_iter().flatten().collect();
    cells.sort_by_key(|(at, _)| *at);
    Some(cells.into_iter().map(|(_, cell)| cell).collect())
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
#[cfg(test)]
mod whole_tests;
