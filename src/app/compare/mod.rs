//! The comparison over the whole screen: a map of two settings, the best trade-offs, and the cell under the cursor. Cells
//! are replayed beside the screen and shown as they come.

mod cell_actions;
pub mod layout;
mod navigation;
mod sweep_request;

use std::sync::Arc;

use crate::app::scroll::Scroll;
use crate::inspect::amount::Amount;
use crate::inspect::setting_change::SettingChange;
use crate::inspect::timeline::RecordedSession;
use crate::policy::PolicySet;
use crate::sweep::{Axis, Cell, Grid, KeepRunning, OnCell, Sweep, SweepSpec, default_axes, sweep};

pub(super) use sweep_request::SweepKey;

/// What the map shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MapMetric {
    /// The largest prompt, tokens.
    #[default]
    Peak,
    /// What calls and summaries cost, USD.
    Cost,
    /// Calls that did not fit.
    Overflows,
    /// Tokens that were not sent.
    Cleared,
}

impl MapMetric {
    /// Each, in the order of the key.
    pub const ALL: [Self; 4] = [Self::Peak, Self::Cost, Self::Overflows, Self::Cleared];

    /// What it is called.
    pub fn label(self) -> &'static str {
        match self {
            Self::Peak => "peak tokens",
            Self::Cost => "cost",
            Self::Overflows => "calls that do not fit",
            Self::Cleared => "tokens cleared",
        }
    }

    /// Of a cell; none where nothing tells it.
    pub fn value_of(self, cell: &Cell) -> Option<f64> {
        match self {
            Self::Peak => Some(cell.peak()),
            Self::Cost => cell.cost(),
            Self::Overflows => Some(cell.overflows() as f64),
            Self::Cleared => Some(cell.cleared_tokens_per_call()),
        }
    }
}

/// What cells are made of.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepQuery {
    /// What is varied; none leaves the choice to the session.
    pub axes: Option<Vec<Axis>>,
    /// Changes that hold in every cell: what is tuned beside the axes.
    pub base_changes: Vec<SettingChange>,
    /// The steps of every cell.
    pub policies: PolicySet,
    /// Tokens that every prompt has to leave free of the window.
    pub headroom: f64,
}

/// What is said of cells on their way.
#[derive(Debug, Clone)]
pub enum SweepUpdate {
    /// These settings are varied.
    Axes(Vec<Axis>),
    /// Some cells are known.
    Cells(Vec<(usize, Cell)>),
    /// All are, and what is best of them.
    Finished(Arc<Sweep>),
    /// There are none: why.
    Failed(String),
}

/// Makes cells as they are asked for, and tells the settings that are varied before any is made; none once nobody waits.
pub fn run_sweep(
    recording: &RecordedSession,
    asked: SweepQuery,
    wanted: KeepRunning<'_>,
    say: &dyn Fn(SweepUpdate),
    tell: OnCell<'_>,
) -> Option<SweepUpdate> {
    let SweepQuery { axes, base_changes: base, policies: mut steps, headroom } = asked;
    let axes = match axes {
        Some(axes) => axes,
        None => default_axes(recording, &base, steps, wanted)?,
    };
    steps = axes.iter().filter_map(Axis::affected_policy).fold(steps, |steps, step| steps.with(step, true));
    if axes.is_empty() {
        return Some(SweepUpdate::Failed(
            "This version lets no setting be varied that does anything here.".into(),
        ));
    }
    say(SweepUpdate::Axes(axes.clone()));
    match sweep(recording, SweepSpec { axes, base, policies: steps, headroom }, wanted, tell) {
        Ok(done) => done.map(|sweep| SweepUpdate::Finished(Arc::new(sweep))),
        Err(error) => Some(SweepUpdate::Failed(error.to_string())),
    }
}

/// Which part has the keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CompareFocus {
    /// The map.
    #[default]
    Map,
    /// The trade-offs.
    List,
}

/// The cells, as far as they are known.
#[derive(Debug, Clone, Default)]
pub struct SweepState {
    /// What is varied; empty until it is known.
    pub axes: Vec<Axis>,
    /// How cells are numbered.
    pub grid: Option<Grid>,
    /// The cells.
    pub cells: Vec<Option<Cell>>,
    /// All of them, with what is best.
    pub sweep: Option<Arc<Sweep>>,
    /// Why there are none.
    pub error: Option<String>,
}

/// What is shown. It is kept while the screen is closed.
#[derive(Debug, Clone, Default)]
pub struct CompareScreen {
    /// The cells.
    pub sweep_state: SweepState,
    /// The settings that a person chose; none leaves the choice to the session.
    chosen_axes: Option<Vec<Axis>>,
    /// What every prompt has to leave free of the window.
    pub headroom: Option<Amount>,
    /// What was asked last.
    sweep_key: Option<SweepKey>,
    /// Which request is awaited; they only count up.
    request_id: u64,
    /// When it was asked, ms.
    pub requested_ms: i64,
    /// What the map shows.
    pub metric: MapMetric,
    /// The point of each axis under the cursor.
    pub point: Vec<usize>,
    /// What was varied before: over the same again the cursor stays where it was.
    previous_axes: Vec<Axis>,
    /// The cursor was moved: it stays where it is when all cells are known.
    cursor_moved: bool,
    /// Which part has the keys.
    pub focus: CompareFocus,
    /// Cursor in the list.
    pub list_scroll: Scroll,
}

impl CompareScreen {
    /// The axes that the map shows: down, and across where there are two.
    pub fn shown_axes(&self) -> (Option<&Axis>, Option<&Axis>) {
        (self.sweep_state.axes.first(), self.sweep_state.axes.get(1))
    }

    /// The cell under the cursor, by its number.
    pub fn selected(&self) -> Option<usize> {
        let grid = self.sweep_state.grid.as_ref()?;
        (self.point.len() == self.sweep_state.axes.len()).then(|| grid.cell_index(&self.point))
    }

    /// The cell of two points of the axes that are shown, the others as under the cursor.
    pub fn cell_at(&self, down: usize, across: usize) -> Option<usize> {
        let grid = self.sweep_state.grid.as_ref()?;
        let mut at = self.point.clone();
        *at.first_mut()? = down;
        if let Some(point) = at.get_mut(1) {
            *point = across;
        }
        Some(grid.cell_index(&at))
    }

    /// A cell, once it is known.
    pub fn cell(&self, number: usize) -> Option<&Cell> {
        self.sweep_state.cells.get(number)?.as_ref()
    }

    /// The cell in which nothing is changed.
    pub fn baseline_cell(&self) -> Option<usize> {
        let at: Vec<usize> = self.sweep_state.axes.iter().map(|axis| axis.current).collect();
        self.sweep_state.grid.as_ref().map(|grid| grid.cell_index(&at))
    }

    /// The best trade-offs, once they are known.
    pub fn trade_offs(&self) -> Vec<usize> {
        self.sweep_state.sweep.as_ref().map(|sweep| sweep.trade_offs()).unwrap_or_default()
    }

    /// How many cells are known, and of how many.
    pub fn progress(&self) -> (usize, usize) {
        let known = self.sweep_state.cells.iter().filter(|cell| cell.is_some()).count();
        (known, self.sweep_state.cells.len())
    }

    /// Takes the settings that are varied: nothing is known of their cells yet.
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
