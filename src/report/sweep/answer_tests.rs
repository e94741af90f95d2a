//! Conclusions from a finished sweep: the trade-offs worth showing, the cells that fit, and the warning.

use super::*;
use crate::replay::bill::Cost;
use crate::units::Tokens;

/// A cell with these overflows, cost and largest prompt.
fn cell(overflows: usize, cost: f64, peak: f64) -> Cell {
    let totals = TraceTotals {
        overflows,
        peak: (Tokens(peak), None),
        largest_prompt: Tokens(peak),
        cost_breakdown: Cost { recorded: Some(cost), ..Cost::default() },
        ..TraceTotals::default()
    };
    Cell { points: Vec::new(), changed_keys: 1, distance: 0.5, totals, regret: None }
}

/// A sweep of these cells, all of them on the front; the first is the current one.
fn sweep_of(cells: Vec<Cell>) -> Sweep {
    Sweep {
        axes: Vec::new(),
        base: Vec::new(),
        policies: PolicySet::NONE,
        grid: Grid::from_axes(&[]).expect("one cell"),
        window: Tokens(1_000.0),
        headroom: Tokens::ZERO,
        recorded: TraceTotals::default(),
        recorded_regret: None,
        current: 0,
        pareto_front: (0..cells.len()).collect(),
        smallest_fitting: None,
        cells,
    }
}

#[test]
fn overflowing_cells_are_no_trade_off_if_others_fit() {
    let sweep = sweep_of(vec![cell(1, 0.5, 90.0), cell(0, 5.0, 40.0), cell(0, 3.0, 60.0)]);
    assert_eq!(sweep.trade_offs(), [2, 1], "the cheapest first");
    let none_fits = sweep_of(vec![cell(1, 4.0, 90.0), cell(2, 3.0, 95.0)]);
    assert_eq!(none_fits.trade_offs(), [1, 0]);
}

#[test]
fn of_cells_with_equal_totals_the_smallest_change_is_shown() {
    let two_keys = Cell { changed_keys: 2, ..cell(0, 3.0, 60.0) };
    let far = Cell { distance: 0.9, ..cell(0, 3.0, 60.0) };
    let sweep = sweep_of(vec![two_keys, far, cell(0, 3.0, 60.0), cell(0, 3.0, 61.0)]);
    assert_eq!(sweep.trade_offs(), [2, 3]);
}

#[test]
fn a_cell_fits_to_the_token_and_any_prompt_fits_without_headroom() {
    let fits = |cell: &Cell, window: f64, headroom: f64| cell_fits(cell, Tokens(window), Tokens(headroom));
    let peak = |peak: f64| cell(0, 1.0, peak);
    assert!(fits(&peak(900.0), 1_000.0, 100.0) && !fits(&peak(901.0), 1_000.0, 100.0));
    assert!(fits(&peak(5_000.0), 1_000.0, 0.0), "the provider answered it");
    assert!(fits(&peak(5_000.0), f64::NAN, 100.0), "an unknown window excludes nothing");
    assert!(!fits(&cell(1, 1.0, 10.0), 1_000.0, 0.0));
    let failed = Cell { totals: TraceTotals { failed: 1, ..peak(10.0).totals }, ..peak(10.0) };
    assert!(!fits(&failed, 1_000.0, 0.0));
}

#[test]
fn the_caveat_names_recorded_overflows_that_vanish_without_a_change() {
    let recorded = TraceTotals { overflows: 2, ..TraceTotals::default() };
    let fits_now = Sweep { recorded, smallest_fitting: Some(0), ..sweep_of(vec![cell(0, 1.0, 10.0); 2]) };
    let words = fits_now.caveat().expect("a warning");
    assert!(words.starts_with("2 calls overflowed in the recording"), "{words}");
    assert_eq!(Sweep { smallest_fitting: Some(1), ..fits_now.clone() }.caveat(), None, "a change is needed");
    assert_eq!(Sweep { recorded: TraceTotals::default(), ..fits_now }.caveat(), None);
}

#[test]
fn withheld_tokens_are_spread_over_the_calls() {
    let withheld = |calls: usize| {
        let totals = TraceTotals { withheld_tokens: Tokens(100.4), calls, ..TraceTotals::default() };
        let cell = Cell { totals, ..cell(0, 1.0, 10.0) };
        (cell.cleared_tokens(), cell.cleared_tokens_per_call())
    };
    assert_eq!(withheld(4), (Tokens(100.0), Tokens(25.0)));
    assert_eq!(withheld(0), (Tokens(100.0), Tokens(100.0)));
}
