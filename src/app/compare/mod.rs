//! The comparison over the whole screen: a map of two settings, the best trade-offs, and the cell under the cursor. Cells
//! are replayed beside the screen and shown as they come.

mod asked;
mod moves;
pub mod places;
mod take;

use std::sync::Arc;

use crate::app::scroll::Scroll;
use crate::inspect::amount::Amount;
use crate::inspect::change::Change;
use crate::inspect::timeline::Recording;
use crate::policy::StepSet;
use crate::sweep::{Asked, Axis, Cell, Grid, Sweep, Tell, Wanted, default_axes, sweep};

pub(super) use asked::Request;

/// What the map shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Measure {
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

impl Measure {
    /// Each, in the order of the key.
    pub const ALL: [Self; 4] = [Self::Peak, Self::Cost, Self::Overflows, Self::Cleared];

    /// What it is called.
    pub fn words(self) -> &'static str {
        match self {
            Self::Peak => "peak tokens",
            Self::Cost => "cost",
            Self::Overflows => "calls that do not fit",
            Self::Cleared => "tokens cleared",
        }
    }

    /// Of a cell; none where nothing tells it.
    pub fn of(self, cell: &Cell) -> Option<f64> {
        match self {
            Self::Peak => Some(cell.peak()),
            Self::Cost => cell.cost(),
            Self::Overflows => Some(cell.overflows() as f64),
            Self::Cleared => Some(cell.left_out()),
        }
    }
}

/// What cells are made of.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepAsked {
    /// What is varied; none leaves the choice to the session.
    pub axes: Option<Vec<Axis>>,
    /// Changes that hold in every cell: what is tuned beside the axes.
    pub base: Vec<Change>,
    /// The steps of every cell.
    pub steps: StepSet,
    /// Tokens that every prompt has to leave free of the window.
    pub headroom: f64,
}

/// What is said of cells on their way.
#[derive(Debug, Clone)]
pub enum SweepSaid {
    /// These settings are varied.
    Axes(Vec<Axis>),
    /// Some cells are known.
    Cells(Vec<(usize, Cell)>),
    /// All are, and what is best of them.
    Done(Arc<Sweep>),
    /// There are none: why.
    Failed(String),
}

/// Makes cells as they are asked for, and tells the settings that are varied before any is made; none once nobody waits.
pub fn swept(
    recording: &Recording,
    asked: SweepAsked,
    wanted: Wanted<'_>,
    say: &dyn Fn(SweepSaid),
    tell: Tell<'_>,
) -> Option<SweepSaid> {
    let SweepAsked { axes, base, mut steps, headroom } = asked;
    let axes = match axes {
        Some(axes) => axes,
        None => default_axes(recording, &base, steps, wanted)?,
    };
    steps = axes.iter().filter_map(Axis::moved_step).fold(steps, |steps, step| steps.with(step, true));
    if axes.is_empty() {
        return Some(SweepSaid::Failed(
            "This version lets no setting be varied that does anything here.".into(),
        ));
    }
    say(SweepSaid::Axes(axes.clone()));
    match sweep(recording, Asked { axes, base, steps, headroom }, wanted, tell) {
        Ok(done) => done.map(|sweep| SweepSaid::Done(Arc::new(sweep))),
        Err(error) => Some(SweepSaid::Failed(error.to_string())),
    }
}

/// Which part has the keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Part {
    /// The map.
    #[default]
    Map,
    /// The trade-offs.
    List,
}

/// The cells, as far as they are known.
#[derive(Debug, Clone, Default)]
pub struct Filling {
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
    pub filling: Filling,
    /// The settings that a person chose; none leaves the choice to the session.
    chosen: Option<Vec<Axis>>,
    /// What every prompt has to leave free of the window.
    pub headroom: Option<Amount>,
    /// What was asked last.
    asked: Option<Request>,
    /// Which request is awaited; they only count up.
    request: u64,
    /// When it was asked, ms.
    pub since_ms: i64,
    /// What the map shows.
    pub measure: Measure,
    /// The point of each axis under the cursor.
    pub at: Vec<usize>,
    /// What was varied before: over the same again the cursor stays where it was.
    before: Vec<Axis>,
    /// The cursor was moved: it stays where it is when all cells are known.
    moved: bool,
    /// Which part has the keys.
    pub part: Part,
    /// Cursor in the list.
    pub list: Scroll,
}

impl CompareScreen {
    /// The axes that the map shows: down, and across where there are two.
    pub fn shown(&self) -> (Option<&Axis>, Option<&Axis>) {
        (self.filling.axes.first(), self.filling.axes.get(1))
    }

    /// The cell under the cursor, by its number.
    pub fn selected(&self) -> Option<usize> {
        let grid = self.filling.grid.as_ref()?;
        (self.at.len() == self.filling.axes.len()).then(|| grid.cell(&self.at))
    }

    /// The cell of two points of the axes that are shown, the others as under the cursor.
    pub fn cell_at(&self, down: usize, across: usize) -> Option<usize> {
        let grid = self.filling.grid.as_ref()?;
        let mut at = self.at.clone();
        *at.first_mut()? = down;
        if let Some(point) = at.get_mut(1) {
            *point = across;
        }
        Some(grid.cell(&at))
    }

    /// A cell, once it is known.
    pub fn cell(&self, number: usize) -> Option<&Cell> {
        self.filling.cells.get(number)?.as_ref()
    }

    /// The cell in which nothing is changed.
    pub fn current(&self) -> Option<usize> {
        let at: Vec<usize> = self.filling.axes.iter().map(|axis| axis.current).collect();
        self.filling.grid.as_ref().map(|grid| grid.cell(&at))
    }

    /// The best trade-offs, once they are known.
    pub fn trade_offs(&self) -> Vec<usize> {
        self.filling.sweep.as_ref().map(|sweep| sweep.trade_offs()).unwrap_or_default()
    }

    /// How many cells are known, and of how many.
    pub fn progress(&self) -> (usize, usize) {
        let known = self.filling.cells.iter().filter(|cell| cell.is_some()).count();
        (known, self.filling.cells.len())
    }

    /// Takes the settings that are varied: nothing is known of their cells yet.
    fn take_axes(&mut self, axes: Vec<Axis>) {
        match Grid::of(&axes) {
            Ok(grid) => {
                if !self.moved || self.before != axes {
                    self.at = axes.iter().map(|axis| axis.current).collect();
                    self.moved = false;
                }
                self.filling =
                    Filling { cells: vec![None; grid.len()], grid: Some(grid), axes, ..Filling::default() };
            }
            Err(error) => self.filling = Filling { error: Some(error.to_string()), ..Filling::default() },
        }
    }
}
