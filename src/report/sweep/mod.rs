//! Many replays of one session over a grid of settings: what each cell comes to, the best trade-offs, and the smallest
//! change after which every call fits.
//!
//! Every cell is a whole replay with the same steps, so that cells differ by their settings alone. The recorded lane is
//! made once for all of them, and cells whose settings come to the same are replayed once.
//!
//! *Distance*: of each changed setting, how far it is moved as a share of its axis (from the least to the largest value,
//! the current one included); 1 for a switch. The distance of a cell is the sum.

mod axis;
mod cell;
mod choose;
mod front;
mod grid;
pub mod json;

pub use axis::{Axis, AxisContext, AxisError, AxisPoint, MAX_VALUES};
pub use cell::Cell;
pub use choose::{default_axes, usual_axes};
pub use front::{CellScore, pareto_front, smallest_fitting};
pub use grid::{Grid, MAX_CELLS};

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::format::group_digits;
use crate::policy::PolicySet;
use crate::replay::{Settings, TraceTotals, simulated_totals};
use crate::report::timeline::RecordedSession;
use crate::session::LoadedSession;
use crate::session::setting_change::SettingChange;
use crate::session::simulated_settings::simulate_settings;
use crate::write::patch::ConfigPatch;

/// What is asked.
#[derive(Debug, Clone)]
pub struct SweepSpec {
    /// What is varied.
    pub axes: Vec<Axis>,
    /// Changes that hold in every cell.
    pub base: Vec<SettingChange>,
    /// The steps that take part in every cell.
    pub policies: PolicySet,
    /// Tokens that every prompt has to leave free of the window.
    pub headroom: f64,
}

/// Whether anybody still waits for the answer.
pub type KeepRunning<'a> = &'a (dyn Fn() -> bool + Sync);
/// Takes cells as they are known, in any order.
pub type OnCell<'a> = &'a (dyn Fn(usize, &Cell) + Sync);

/// All cells, and what is best of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// What was varied.
    pub axes: Vec<Axis>,
    /// How cells are numbered.
    pub grid: Grid,
    /// Changes that hold in every cell.
    pub base: Vec<SettingChange>,
    /// The steps that took part in every cell.
    pub policies: PolicySet,
    /// What the provider takes, in tokens; NaN when nobody knows.
    pub window: f64,
    /// Tokens that were to be left free.
    pub headroom: f64,
    /// What the record comes to.
    pub recorded: TraceTotals,
    /// The cells.
    pub cells: Vec<Cell>,
    /// The cell in which nothing is changed.
    pub current: usize,
    /// Cells that none beats in cost, peak and tokens withheld.
    pub pareto_front: Vec<usize>,
    /// The smallest change after which all fits; none where no cell does.
    pub smallest_fitting: Option<usize>,
}

impl Sweep {
    /// Whether every call of a cell fits, with the head-room asked for.
    pub fn fits(&self, cell: &Cell) -> bool {
        cell_fits(cell, self.window, self.headroom)
    }

    /// What has to be known where every call fits as things are: that the record had some that did not.
    pub fn caveat(&self) -> Option<String> {
        let fits_now = self.smallest_fitting == Some(self.current);
        let refused = self.recorded.overflows;
        (fits_now && refused > 0).then(|| {
            let calls = if refused == 1 { "1 call" } else { &format!("{} calls", group_digits(refused as u64)) };
            format!(
                "the record has {calls} that did not fit: in the cells compactions are made where the settings say, not where they were"
            )
        })
    }

    /// Everything that is changed in a cell: what holds in every one, and its own.
    pub fn changes(&self, cell: usize) -> Vec<SettingChange> {
        let own = self.axis_changes(cell);
        self.base.iter().cloned().chain(own).collect()
    }

    /// What is changed in a cell beside what holds in every one.
    pub fn axis_changes(&self, cell: usize) -> Vec<SettingChange> {
        changes_of_points(&self.axes, &self.grid.points_of(cell))
    }

    /// The changes of a cell, written down.
    pub fn patch(&self, session: &LoadedSession, cell: usize) -> ConfigPatch {
        ConfigPatch::from_changes(session, &self.changes(cell))
    }

    /// The best trade-offs for people: of the front the cells where no call overflows, or all of it where there is none such;
    /// of those that come to the same the smallest change alone; the cheapest first.
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

/// Whether every call of a cell fits, and where room is to be left its largest prompt leaves that of the window.
fn cell_fits(cell: &Cell, window: f64, headroom: f64) -> bool {
    // A window that nobody knows keeps nothing from fitting, and what was answered fits above one too.
    let spares = headroom <= 0.0 || window.is_nan() || cell.peak() <= window - headroom;
    cell.overflows() == 0 && cell.failed_calls() == 0 && spares
}

/// What the points of a cell change.
fn changes_of_points(axes: &[Axis], at: &[usize]) -> Vec<SettingChange> {
    axes.iter().zip(at).filter_map(|(axis, point)| axis.change(*point)).collect()
}

/// The settings of a lane under some changes, and whether they switch pruning on.
fn settings_under(
    session: &LoadedSession,
    changes: &[SettingChange],
    policies: PolicySet,
) -> (Settings, bool) {
    let simulated = simulate_settings(session, changes, policies);
    (simulated.replay_settings(), simulated.prune_switched_on)
}

/// Replays a session in every cell of a grid; none once nobody waits for it any more.
///
/// # Errors
/// When the grid has too many cells, or two axes of one key.
pub fn sweep(
    recording: &RecordedSession,
    requested: SweepSpec,
    wanted: KeepRunning<'_>,
    tell: OnCell<'_>,
) -> Result<Option<Sweep>, AxisError> {
    let grid = Grid::from_axes(&requested.axes)?;
    let bare = cells_to_replay(&recording.session, &requested, &grid);
    let Some(cells) = replay_cells(recording, &bare, wanted, tell) else { return Ok(None) };
    let window = recording.inputs.provider_window;
    let weighed: Vec<CellScore> =
        cells.iter().map(|cell| cell.score(cell_fits(cell, window, requested.headroom))).collect();
    let weights: Vec<[f64; 3]> = cells.iter().map(Cell::trade_off_values).collect();
    let now: Vec<usize> = requested.axes.iter().map(|axis| axis.current).collect();
    Ok(Some(Sweep {
        current: grid.cell_index(&now),
        pareto_front: pareto_front(&weights),
        smallest_fitting: smallest_fitting(&weighed),
        recorded: recording.trace.totals(),
        axes: requested.axes,
        base: requested.base,
        policies: requested.policies,
        headroom: requested.headroom,
        window,
        grid,
        cells,
    }))
}

/// The cells with their settings, nothing replayed.
fn cells_to_replay(session: &LoadedSession, requested: &SweepSpec, grid: &Grid) -> Vec<(Cell, Settings)> {
    let base_on = settings_under(session, &requested.base, requested.policies).1;
    let bare = |cell: usize| {
        let at = grid.points_of(cell);
        let own = changes_of_points(&requested.axes, &at);
        let keys = own.len();
        let distance = requested.axes.iter().zip(&at).map(|(axis, point)| axis.distance(*point)).sum();
        let changes: Vec<SettingChange> = requested.base.iter().cloned().chain(own).collect();
        let (settings, switched_on) = settings_under(session, &changes, requested.policies);
        let keys = keys + usize::from(switched_on && !base_on);
        (Cell { points: at, changed_keys: keys, distance, totals: TraceTotals::default() }, settings)
    };
    (0..grid.len()).map(bare).collect()
}

/// Replays each of them, at once as far as there are cores.
fn replay_cells(
    recording: &RecordedSession,
    bare: &[(Cell, Settings)],
    wanted: KeepRunning<'_>,
    tell: OnCell<'_>,
) -> Option<Vec<Cell>> {
    let session = recording.inputs.replay_session(&recording.session);
    // For each group of equal settings its cells.
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
