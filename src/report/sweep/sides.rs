//! Settings with a name side by side: the configuration, the tuned settings and presets, replayed as the cells of a
//! sweep are.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::policy::PolicySet;
use crate::replay::{Settings, TraceTotals};
use crate::report::regret::{RegretFinder, RegretTotals};
use crate::report::sweep::{replay_cells, settings_under};
use crate::report::timeline::RecordedSession;
use crate::session::path_texts::IsWanted;
use crate::session::setting_change::SettingChange;
use crate::session::simulated_settings::simulate_settings;
use crate::session::{ContextDetails, LoadedSession};
use crate::store::body::BodyError;
use crate::units::{Moment, Tokens};

#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SideName {
    #[default]
    Config,
    /// The settings of the tuning pane.
    Tuning,
    Preset(String),
}

impl SideName {
    pub fn label(&self) -> &str {
        match self {
            Self::Config => "config",
            Self::Tuning => "tuning",
            Self::Preset(name) => name,
        }
    }
}

/// Settings that are compared with others.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    pub name: SideName,
    /// The differences from the configuration.
    pub changes: Vec<SettingChange>,
    /// The policies of the replay.
    pub policies: PolicySet,
}

/// A session under the settings of a side.
#[derive(Debug, Clone, PartialEq)]
pub struct SideOutcome {
    pub cell: Cell,
    /// Tokens of the next prompt; `None` if no plan can be made.
    pub next_call_tokens: Option<u64>,
    /// Whether the gateway refuses the window, so that every message fails.
    pub is_window_refused: bool,
}

/// The compared sides, with an outcome for each.
#[derive(Debug, Clone, PartialEq)]
pub struct SideComparison {
    pub sides: Vec<Side>,
    pub outcomes: Vec<SideOutcome>,
}

/// Replays a session under every side; `None` once the caller cancelled.
///
/// # Errors
/// When an entry cannot be read again.
pub fn compare_sides(
    recording: &RecordedSession,
    sides: Vec<Side>,
    now_ms: Moment,
    wanted: IsWanted<'_>,
) -> Result<Option<SideComparison>, BodyError> {
    let session = &recording.session;
    let bare = |(at, side): (usize, &Side)| {
        let totals = TraceTotals::default();
        let (points, changed_keys) = (vec![at], side.changes.len());
        let cell = Cell { points, changed_keys, distance: 0.0, totals, regret: None };
        (cell, settings_under(session, &side.changes, side.policies).0)
    };
    let bare: Vec<(Cell, Settings)> = sides.iter().enumerate().map(bare).collect();
    let Some(cells) = replay_cells(recording, &bare, wanted, &|_, _| {}) else { return Ok(None) };
    let Some(detailed) = with_details(session, wanted)? else { return Ok(None) };
    let finder = RegretFinder::new(session, &recording.inputs);
    let outcome = |((side, cell), (_, settings)): ((&Side, Cell), &(Cell, Settings))| {
        let regret = finder.simulated(settings).ok().map(|regret| regret.totals());
        let simulated = simulate_settings(session, &side.changes, side.policies);
        let gate = detailed.gate(simulated.prune_on, &simulated.policies.prune, now_ms);
        let plan = detailed.plan(&simulated.policies, gate).ok();
        wanted().then(|| SideOutcome {
            cell: Cell { regret, ..cell },
            next_call_tokens: plan.map(|plan| detailed.next_budget_after(&plan).total()),
            is_window_refused: simulated.refused_window.is_some(),
        })
    };
    let outcomes: Option<Vec<SideOutcome>> = sides.iter().zip(cells).zip(&bare).map(outcome).collect();
    Ok(outcomes.map(|outcomes| SideComparison { sides, outcomes }))
}

/// Reads the texts of a session's messages, as some policies cannot decide by sizes.
fn with_details(session: &LoadedSession, wanted: IsWanted<'_>) -> Result<Option<LoadedSession>, BodyError> {
    if session.details.is_some() {
        return Ok(Some(session.clone()));
    }
    let LoadedSession { source, index, context, .. } = session;
    let rules = session.ruleset.id.rules();
    let details = ContextDetails::read_while(source, index, context, rules, None, &mut || wanted())?;
    let read = |details| LoadedSession { details: Some(Arc::new(details)), ..session.clone() };
    Ok(details.map(read))
}

#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The point on each axis.
    pub points: Vec<usize>,
    /// Number of settings that differ from the current ones, including pruning if the cell switches it on.
    pub changed_keys: usize,
    /// Sum of the distances from the current settings, where 1 is a whole axis.
    pub distance: f64,
    pub totals: TraceTotals,
    /// Messages that its prompts lacked and later needed; only known for cells that a person would choose.
    pub regret: Option<RegretTotals>,
}

impl Cell {
    /// Returns the calls whose prompt did not fit at first.
    pub fn overflows(&self) -> usize {
        self.totals.overflows
    }

    /// Returns the calls that did not fit even after recovery.
    pub fn failed_calls(&self) -> usize {
        self.totals.failed
    }

    /// Returns the largest prompt in whole tokens.
    pub fn peak(&self) -> Tokens {
        self.totals.peak.0.round()
    }

    /// Returns the cost of calls and summaries, USD; `None` if the model has no price.
    pub fn cost(&self) -> Option<f64> {
        self.totals.cost_breakdown.total()
    }

    /// Returns the tokens that the model was not sent, summed over all calls and every cause: a withheld message counts
    /// at each call.
    pub fn cleared_tokens(&self) -> Tokens {
        Tokens(self.totals.withheld_tokens.get().round())
    }

    /// Returns the tokens withheld per call by pruning, turn limit and compaction.
    pub fn cleared_tokens_per_call(&self) -> Tokens {
        Tokens((self.totals.withheld_tokens / self.totals.calls.max(1) as f64).get().round())
    }

    /// Returns the number of summaries.
    pub fn summary_count(&self) -> usize {
        self.totals.compactions
    }

    /// Returns the values of the trade-off: cost, the largest prompt (refused ones included), and withheld tokens.
    pub fn trade_off_values(&self) -> [f64; 3] {
        [self.cost().unwrap_or(0.0), self.totals.largest_prompt.get().round(), self.cleared_tokens().get()]
    }

    /// Returns the input for the search of the smallest change.
    pub fn score(&self, fits: bool) -> CellScore {
        let [cost, peak, _] = self.trade_off_values();
        CellScore { fits, changed_keys: self.changed_keys, distance: self.distance, cost, peak }
    }
}

// Selects the best cells: those that no other beats in every value, and the smallest change after which all calls fit.

/// Whether `one` is at least as good in every value and better in one. Less is better.
fn dominates(one: &[f64; 3], other: &[f64; 3]) -> bool {
    let pairs = || one.iter().zip(other);
    pairs().all(|(one, other)| one <= other) && pairs().any(|(one, other)| one < other)
}

fn compare(one: &[f64; 3], other: &[f64; 3]) -> Ordering {
    let pairs = one.iter().zip(other);
    pairs.map(|(one, other)| one.total_cmp(other)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// Returns the Pareto front, the items that no other dominates, in input order. Less is better in each of the three.
pub fn pareto_front(values: &[[f64; 3]]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| compare(&values[*a], &values[*b]));
    // In this order a dominating item precedes those it dominates, so each is compared with the front so far.
    let mut front: Vec<usize> = Vec::new();
    for at in order {
        if !front.iter().any(|known| dominates(&values[*known], &values[at])) {
            front.push(at);
        }
    }
    front.sort_unstable();
    front
}

/// Input of the search for the smallest change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellScore {
    /// Whether every call fits, headroom included.
    pub fits: bool,
    /// Number of settings that differ from the current ones.
    pub changed_keys: usize,
    /// Sum of the distances from the current settings, where 1 is a whole axis.
    pub distance: f64,
    /// USD.
    pub cost: f64,
    /// Tokens.
    pub peak: f64,
}

/// Returns the smallest change that fits: fewest settings, then smallest distance, then lowest cost, then lowest peak,
/// then the first. `None` if no cell fits.
pub fn smallest_fitting(cells: &[CellScore]) -> Option<usize> {
    let fitting = cells.iter().enumerate().filter(|(_, cell)| cell.fits);
    let least = fitting.min_by(|(_, one), (_, other)| {
        let keys = one.changed_keys.cmp(&other.changed_keys);
        keys.then(compare(&[one.distance, one.cost, one.peak], &[other.distance, other.cost, other.peak]))
    });
    least.map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn weighed() -> impl Strategy<Value = CellScore> {
        (any::<bool>(), 0..4_usize, 0..4_u8, 0..4_u8, 0..4_u8).prop_map(
            |(fits, keys, distance, cost, peak)| {
                let [distance, cost, peak] = [distance, cost, peak].map(f64::from);
                CellScore { fits, changed_keys: keys, distance, cost, peak }
            },
        )
    }

    proptest! {
        #[test]
        fn the_front_is_every_cell_that_no_other_beats(values in prop::collection::vec(prop::array::uniform3(0..5_u8), 0..40)) {
            let values: Vec<[f64; 3]> = values.into_iter().map(|three| three.map(f64::from)).collect();
            let beaten = |at: &usize| values.iter().any(|other| {
                let mine = values[*at];
                (0..3).all(|axis| other[axis] <= mine[axis]) && *other != mine
            });
            let naive: Vec<usize> = (0..values.len()).filter(|at| !beaten(at)).collect();
            prop_assert_eq!(pareto_front(&values), naive);
        }

        #[test]
        fn the_smallest_change_equals_that_of_an_exhaustive_search(cells in prop::collection::vec(weighed(), 0..40)) {
            let rank = |cell: &CellScore| (cell.changed_keys, cell.distance as u8, cell.cost as u8, cell.peak as u8);
            let mut all: Vec<usize> = (0..cells.len()).filter(|at| cells[*at].fits).collect();
            all.sort_by_key(|at| (rank(&cells[*at]), *at));
            prop_assert_eq!(smallest_fitting(&cells), all.first().copied());
        }
    }
}
