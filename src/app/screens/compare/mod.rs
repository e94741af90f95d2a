//! The full-screen comparison: a map of two settings, the best trade-offs, and the cell under the cursor. A
//! background job replays the cells; the screen shows each as it arrives.

mod cell_actions;
pub mod layout;
mod navigation;
pub mod sides;
mod sweep_request;

use std::sync::Arc;

use crate::app::action::Action;
use crate::app::screens::hint::Hint;
use crate::app::scroll::Scroll;
use crate::format::number::Amount;
use crate::policy::PolicySet;
use crate::report::sweep::{
    Axis, Cell, Grid, OnCell, Side, SideComparison, SideName, Sweep, SweepSpec, compare_sides, default_axes,
    sweep,
};
use crate::report::timeline::RecordedSession;
use crate::session::path_texts::IsWanted;
use crate::session::setting_change::SettingChange;
use crate::units::{Moment, Tokens};

pub(super) use sweep_request::SweepKey;

/// The keys of the comparison for the status line.
pub(super) fn hints() -> Vec<Hint> {
    vec![
        (&[Action::Left, Action::Right], "cell"),
        (&[Action::Open], "to tuning"),
        (&[Action::Back], "back"),
        (&[Action::Copy], "copy patch"),
        (&[Action::NextOrder], "measure"),
        (&[Action::NextMatch], "smallest"),
        (&[Action::Previous, Action::Next], "setting"),
        (&[Action::ViewMenu], "settings, presets"),
        (&[Action::SavePlan], "save"),
    ]
}

/// The keys while presets are compared; few with the configuration alone.
pub(in crate::app) fn side_hints(has_others: bool) -> Vec<Hint> {
    if !has_others {
        return vec![(&[Action::Back], "back"), (&[Action::ViewMenu], "view")];
    }
    vec![
        (&[Action::Left, Action::Right], "column"),
        (&[Action::Open], "to tuning"),
        (&[Action::Back], "back"),
        (&[Action::Fold], "compare with it"),
        (&[Action::Copy], "copy patch"),
        (&[Action::ViewMenu], "view"),
    ]
}

/// The metric that the map shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MapMetric {
    /// The largest prompt, tokens.
    #[default]
    Peak,
    /// The cost of calls and summaries, USD.
    Cost,
    /// Calls that did not fit.
    Overflows,
    /// Tokens cleared per call.
    Cleared,
}

impl MapMetric {
    /// Every metric, in the order of the key that cycles them.
    pub const ALL: [Self; 4] = [Self::Peak, Self::Cost, Self::Overflows, Self::Cleared];

    pub fn label(self) -> &'static str {
        match self {
            Self::Peak => "peak tokens",
            Self::Cost => "cost",
            Self::Overflows => "calls that overflow",
            Self::Cleared => "tokens freed per call",
        }
    }

    /// Returns the metric of a cell; `None` when its cost is unknown.
    pub fn value_of(self, cell: &Cell) -> Option<f64> {
        match self {
            Self::Peak => Some(cell.peak().get()),
            Self::Cost => cell.cost(),
            Self::Overflows => Some(cell.overflows() as f64),
            Self::Cleared => Some(cell.cleared_tokens_per_call().get()),
        }
    }
}

/// The inputs of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepQuery {
    /// The varied settings; `None` lets the session choose.
    pub axes: Option<Vec<Axis>>,
    /// Changes that hold in every cell: tuned settings besides the axes.
    pub base_changes: Vec<SettingChange>,
    /// The policies of every cell.
    pub policies: PolicySet,
    /// Tokens that every prompt must leave free of the window.
    pub headroom: Tokens,
    /// The settings to compare instead of a grid.
    pub sides: Vec<Side>,
}

/// Progress of a sweep.
#[derive(Debug, Clone)]
pub enum SweepUpdate {
    /// The varied settings, before any cell is known.
    Axes(Vec<Axis>),
    /// Finished cells, by number.
    Cells(Vec<(usize, Cell)>),
    /// Every cell, with the trade-offs.
    Finished(Arc<Sweep>),
    /// Every side.
    Sides(Arc<SideComparison>),
    /// The reason that there are no cells.
    Failed(String),
}

/// Runs a sweep, and reports the varied settings before the first cell. Returns `None` once the result is no longer
/// wanted.
pub fn run_sweep(
    recording: &RecordedSession,
    requested: SweepQuery,
    now_ms: Moment,
    wanted: IsWanted<'_>,
    say: &dyn Fn(SweepUpdate),
    tell: OnCell<'_>,
) -> Option<SweepUpdate> {
    let SweepQuery { axes, base_changes: base, policies: mut steps, headroom, sides } = requested;
    if !sides.is_empty() {
        return match compare_sides(recording, sides, now_ms, wanted) {
            Ok(compared) => compared.map(|compared| SweepUpdate::Sides(Arc::new(compared))),
            Err(error) => Some(SweepUpdate::Failed(error.to_string())),
        };
    }
    let axes = match axes {
        Some(axes) => axes,
        None => default_axes(recording, &base, steps, wanted)?,
    };
    steps = axes.iter().filter_map(Axis::affected_policy).fold(steps, |steps, step| steps.with(step, true));
    if axes.is_empty() {
        return Some(SweepUpdate::Failed(
            "No setting of this release changes anything in this session.".into(),
        ));
    }
    say(SweepUpdate::Axes(axes.clone()));
    match sweep(recording, SweepSpec { axes, base, policies: steps, headroom }, wanted, tell) {
        Ok(done) => done.map(|sweep| SweepUpdate::Finished(Arc::new(sweep))),
        Err(error) => Some(SweepUpdate::Failed(error.to_string())),
    }
}

/// The focused part of the comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CompareFocus {
    #[default]
    Map,
    /// The list of trade-offs.
    List,
}

/// The cells known so far.
#[derive(Debug, Clone, Default)]
pub struct SweepState {
    /// The varied settings; empty until known.
    pub axes: Vec<Axis>,
    /// Maps cell numbers to points of the axes.
    pub grid: Option<Grid>,
    /// By number; `None` until a cell is known.
    pub cells: Vec<Option<Cell>>,
    /// The finished sweep.
    pub sweep: Option<Arc<Sweep>>,
    /// The finished comparison of sides.
    pub sides: Option<Arc<SideComparison>>,
    /// The reason that there are no cells.
    pub error: Option<String>,
}

/// The cursor among the sides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SidesView {
    pub selected: SideName,
    /// The first column, from which the others differ.
    pub reference: SideName,
}

/// The state of the comparison, kept while the screen is closed.
#[derive(Debug, Clone, Default)]
pub struct CompareScreen {
    pub sweep_state: SweepState,
    /// The settings that the person chose; `None` lets the session choose.
    chosen_axes: Option<Vec<Axis>>,
    /// Tokens or share of the window that every prompt must leave free.
    pub headroom: Option<Amount>,
    /// The inputs of the last request.
    sweep_key: Option<SweepKey>,
    /// The awaited request; increases with every request.
    request_id: u64,
    /// The time of the request.
    pub requested_ms: Moment,
    pub metric: MapMetric,
    /// The cursor: one point per axis.
    pub point: Vec<usize>,
    /// The axes of the previous sweep; the cursor stays when they are the same.
    previous_axes: Vec<Axis>,
    /// Whether the person moved the cursor; it then stays when the sweep finishes.
    cursor_moved: bool,
    pub focus: CompareFocus,
    pub list_scroll: Scroll,
    /// Set while presets are compared instead of a grid.
    pub sides: Option<SidesView>,
}

impl CompareScreen {
    /// Whether an update answers the newest request.
    pub(in crate::app) fn awaits(&self, request_id: u64) -> bool {
        self.request_id == request_id
    }

    /// Returns the axes of the map: down, and across if there are two.
    pub fn shown_axes(&self) -> (Option<&Axis>, Option<&Axis>) {
        (self.sweep_state.axes.first(), self.sweep_state.axes.get(1))
    }

    /// Returns the number of the cell under the cursor.
    pub fn selected(&self) -> Option<usize> {
        let grid = self.sweep_state.grid.as_ref()?;
        (self.point.len() == self.sweep_state.axes.len()).then(|| grid.cell_index(&self.point))
    }

    /// Returns the cell at two points of the shown axes; further axes stay as under the cursor.
    pub fn cell_at(&self, down: usize, across: usize) -> Option<usize> {
        let grid = self.sweep_state.grid.as_ref()?;
        let mut at = self.point.clone();
        *at.first_mut()? = down;
        if let Some(point) = at.get_mut(1) {
            *point = across;
        }
        Some(grid.cell_index(&at))
    }

    /// Returns a cell, once known.
    pub fn cell(&self, number: usize) -> Option<&Cell> {
        self.sweep_state.cells.get(number)?.as_ref()
    }

    /// Returns the cell without changes.
    pub fn baseline_cell(&self) -> Option<usize> {
        let at: Vec<usize> = self.sweep_state.axes.iter().map(|axis| axis.current).collect();
        self.sweep_state.grid.as_ref().map(|grid| grid.cell_index(&at))
    }

    /// Returns the best trade-offs, once known.
    pub fn trade_offs(&self) -> Vec<usize> {
        self.sweep_state.sweep.as_ref().map(|sweep| sweep.trade_offs()).unwrap_or_default()
    }

    /// Returns the number of known cells, and of all cells.
    pub fn progress(&self) -> (usize, usize) {
        let known = self.sweep_state.cells.iter().filter(|cell| cell.is_some()).count();
        (known, self.sweep_state.cells.len())
    }

    /// Starts over with new axes: no cell is known yet.
    fn set_axes(&mut self, axes: Vec<Axis>) {
        match Grid::from_axes(&axes) {
            Ok(grid) => {
                if !self.cursor_moved || self.previous_axes != axes {
                    self.point = axes.iter().map(|axis| axis.current).collect();
                    self.cursor_moved = false;
                }
                self.sweep_state = SweepState {
                    cells: vec![None; grid.len()],
                    grid: Some(grid),
                    axes,
                    ..SweepState::default()
                };
            }
            Err(error) => {
                self.sweep_state = SweepState { error: Some(error.to_string()), ..SweepState::default() }
            }
        }
    }
}
