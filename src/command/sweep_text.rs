//! A sweep as text: the best trade-offs, a map of two settings, the smallest change and how it is made.

use std::io::Write as _;

use super::described::print_head;
use super::failure::Failure;
use super::output::{Output, Tone};
use super::replay::estimate_words;
use super::ruleset::print_ruleset;
use super::sweep::Swept;
use super::table::{Align, Cell as TableCell, Table};
use super::words::{counted, estimated, grouped};
use crate::cli::MeasureArg;
use crate::inspect::cost::{cost_short, cost_words};
use crate::sweep::{Axis, Cell, Sweep};

/// Trade-offs that are printed; the JSON has all.
const SHOWN: usize = 12;
/// Columns of a map that is printed.
const WIDEST: usize = 16;

/// Prints it.
pub(super) fn print(swept: &Swept, measure: MeasureArg, output: &mut Output) -> Result<(), Failure> {
    let Swept { inspection, sweep, .. } = swept;
    print_head(output, inspection, inspection.window)?;
    print_ruleset(&inspection.ruleset, output)?;
    writeln!(output)?;
    if sweep.recorded.calls == 0 {
        return Ok(output.line(Tone::Plain, "no call is recorded on this path")?);
    }
    if sweep.axes.is_empty() {
        let words = "no setting of this version can be varied for this session. --vary names one.";
        return Ok(output.line(Tone::Warning, words)?);
    }
    output.line(Tone::Strong, &headline(sweep))?;
    for line in remarks(swept) {
        output.line(Tone::Dim, &line)?;
    }
    print_trade_offs(sweep, output)?;
    print_map(sweep, measure, output)?;
    print_smallest(swept, output)
}

fn headline(sweep: &Sweep) -> String {
    let names: Vec<&str> = sweep.axes.iter().map(Axis::name).collect();
    let fitting = sweep.cells.iter().filter(|cell| sweep.fits(cell)).count();
    let settings = counted(sweep.cells.len() as u64, "setting", "settings");
    let free = if sweep.headroom > 0.0 {
        format!(" with {} tokens to spare", grouped(sweep.headroom.round() as u64))
    } else {
        String::new()
    };
    let fit = match fitting {
        0 => format!("in none of them every call fits{free}"),
        all if all == sweep.cells.len() => format!("in all of them every call fits{free}"),
        some => format!("in {} of them every call fits{free}", grouped(some as u64)),
    };
    format!("{settings} of {}: {fit}", names.join(" × "))
}

fn remarks(swept: &Swept) -> Vec<String> {
    let sweep = &swept.sweep;
    let recorded = &sweep.recorded;
    let mut lines = vec![format!(
        "recorded: {}, {} that did not fit, largest prompt {}, {}",
        counted(recorded.calls as u64, "call", "calls"),
        grouped(recorded.overflows as u64),
        grouped(recorded.peak.0.round() as u64),
        cost_words(&recorded.spent).unwrap_or_else(|| "no price known".to_owned()),
    )];
    lines.push(estimate_words(swept.fit_error));
    lines.push(
        "left out: tokens per call that pruning, turn limit and compaction keep from the model".to_owned(),
    );
    if swept.chosen {
        lines.push("varied are the settings that matter most here; --vary names others".to_owned());
    }
    lines
}

fn cost(cell: &Cell) -> String {
    cost_short(&cell.totals.spent).unwrap_or_else(|| "-".to_owned())
}

/// Tokens that were estimated; nothing is nothing.
fn told(number: f64) -> String {
    if number < 0.5 { "0".to_owned() } else { estimated(tokens(number)) }
}

fn tokens(tokens: f64) -> u64 {
    tokens.max(0.0) as u64
}

fn print_trade_offs(sweep: &Sweep, output: &mut Output) -> Result<(), Failure> {
    let cells = sweep.trade_offs();
    let shown = cells.len().min(SHOWN);
    writeln!(output)?;
    let more = if shown < cells.len() {
        format!(" ({shown} of {}, the cheapest first)", cells.len())
    } else {
        String::new()
    };
    output.line(Tone::Strong, &format!("best trade-offs{more}"))?;
    let mut columns = vec![("#".to_owned(), Align::Right)];
    columns.extend(sweep.axes.iter().map(|axis| (axis.name().to_owned(), Align::Right)));
    let numbers = ["did not fit", "largest", "cost", "left out", "summaries", ""];
    columns.extend(numbers.map(|name| (name.to_owned(), Align::Right)));
    let mut table = Table::new(&columns);
    for (number, at) in cells.iter().take(SHOWN).enumerate() {
        let cell = &sweep.cells[*at];
        let tone = if sweep.fits(cell) { Tone::Plain } else { Tone::Warning };
        let mut row = vec![TableCell::new(&(number + 1).to_string(), Tone::Dim)];
        row.extend(sweep.axes.iter().zip(&cell.at).map(|(axis, point)| {
            let changed = *point != axis.current;
            TableCell::new(&axis.points[*point].text, if changed { Tone::Strong } else { Tone::Dim })
        }));
        row.extend([
            TableCell::new(&grouped(cell.overflows() as u64), tone),
            TableCell::new(&estimated(tokens(cell.peak())), tone),
            cost(cell).into(),
            told(cell.left_out()).into(),
            grouped(cell.summaries() as u64).into(),
            TableCell::new(marks(sweep, *at), Tone::Dim),
        ]);
        table.push(row);
    }
    Ok(table.print(output, "  ")?)
}

fn marks(sweep: &Sweep, at: usize) -> &'static str {
    match (at == sweep.current, sweep.smallest == Some(at)) {
        (true, _) => "as it is now",
        (false, true) => "smallest change",
        (false, false) => "",
    }
}

/// A map of the first two settings, the others where the smallest change has them, or as they are.
fn print_map(sweep: &Sweep, measure: MeasureArg, output: &mut Output) -> Result<(), Failure> {
    let [down, across, others @ ..] = sweep.axes.as_slice() else { return Ok(()) };
    let held = sweep.grid.at(sweep.smallest.unwrap_or(sweep.current));
    writeln!(output)?;
    let rest: Vec<String> = others
        .iter()
        .zip(&held[2..])
        .map(|(axis, point)| format!("{} {}", axis.name(), axis.points[*point].text))
        .collect();
    let at = if rest.is_empty() { String::new() } else { format!(", at {}", rest.join(", ")) };
    let head = format!("{}: {} down, {} across{at}", measure_words(measure), down.name(), across.name());
    output.line(Tone::Strong, &head)?;
    let shown = across.points.len().min(WIDEST);
    let mut columns = vec![(String::new(), Align::Right)];
    columns.extend(across.points.iter().take(shown).map(|point| (point.text.clone(), Align::Right)));
    let mut table = Table::new(&columns);
    for (row, point) in down.points.iter().enumerate() {
        let mut cells = vec![TableCell::new(&point.text, Tone::Dim)];
        cells.extend((0..shown).map(|column| {
            let mut place = held.clone();
            (place[0], place[1]) = (row, column);
            map_cell(sweep, sweep.grid.cell(&place), measure)
        }));
        table.push(cells);
    }
    table.print(output, "  ")?;
    let cut = across.points.len() - shown;
    let more = if cut > 0 { format!("   {cut} columns more in --json") } else { String::new() };
    Ok(output.line(Tone::Dim, &format!("  ! does not fit   * as it is now   > smallest change{more}"))?)
}

fn map_cell(sweep: &Sweep, at: usize, measure: MeasureArg) -> TableCell {
    let cell = &sweep.cells[at];
    let fits = sweep.fits(cell);
    let mark = match (fits, at == sweep.current, sweep.smallest == Some(at)) {
        (_, true, _) => "*",
        (_, _, true) => ">",
        _ => "",
    };
    let over = if fits { "" } else { "!" };
    let value = match measure {
        MeasureArg::Peak => estimated(tokens(cell.peak())),
        MeasureArg::Cost => cost(cell),
        MeasureArg::Overflows => grouped(cell.overflows() as u64),
        MeasureArg::Cleared => told(cell.left_out()),
    };
    let tone = match (fits, mark) {
        (false, _) => Tone::Bad,
        (true, "") => Tone::Plain,
        (true, _) => Tone::Strong,
    };
    TableCell::new(&format!("{mark}{over}{value}"), tone)
}

fn measure_words(measure: MeasureArg) -> &'static str {
    match measure {
        MeasureArg::Peak => "largest prompt",
        MeasureArg::Cost => "cost",
        MeasureArg::Overflows => "calls that did not fit",
        MeasureArg::Cleared => "tokens left out per call",
    }
}

fn print_smallest(swept: &Swept, output: &mut Output) -> Result<(), Failure> {
    let sweep = &swept.sweep;
    writeln!(output)?;
    let Some(at) = sweep.smallest else { return Ok(output.line(Tone::Warning, &no_help(sweep))?) };
    let (cell, now) = (&sweep.cells[at], &sweep.cells[sweep.current]);
    if at == sweep.current {
        let peak = estimated(tokens(cell.peak()));
        let words =
            format!("nothing has to change: every call fits as things are, the largest with {peak} tokens");
        output.line(Tone::Good, &words)?;
        if let Some(words) = sweep.doubt() {
            output.line(Tone::Warning, &crate::command::words::commas(&words))?;
        }
        return Ok(());
    }
    output.line(Tone::Good, &format!("smallest change: {}", change_words(sweep, at)))?;
    let before_after = |what: &str, before: String, after: String| format!("  {what} {before} → {after}");
    let lines = [
        before_after(
            "calls that did not fit",
            grouped(now.overflows() as u64),
            grouped(cell.overflows() as u64),
        ),
        before_after("largest prompt", estimated(tokens(now.peak())), estimated(tokens(cell.peak()))),
        before_after("cost", cost(now), cost(cell)),
    ];
    for line in lines {
        output.line(Tone::Plain, &line)?;
    }
    writeln!(output)?;
    let patch = sweep.patch(&swept.inspection, at);
    for line in patch.commands.iter().map(String::as_str).chain(patch.text.lines()) {
        output.line(Tone::Plain, line)?;
    }
    Ok(())
}

/// `contextPruning.ttl 1h → 30m`, several parted by commas.
fn change_words(sweep: &Sweep, at: usize) -> String {
    let moved = sweep.axes.iter().zip(&sweep.cells[at].at).filter(|(axis, point)| **point != axis.current);
    let words = moved.map(|(axis, point)| {
        format!("{} {} → {}", axis.key, axis.points[axis.current].text, axis.points[*point].text)
    });
    words.collect::<Vec<_>>().join(", ")
}

/// What the best cell still leaves.
fn no_help(sweep: &Sweep) -> String {
    let best = sweep.cells.iter().min_by(|one, other| {
        let rank = |cell: &Cell| (cell.overflows() as f64, cell.peak());
        rank(one).partial_cmp(&rank(other)).unwrap_or(std::cmp::Ordering::Equal)
    });
    let Some(best) = best else { return "no setting of this grid helps".to_owned() };
    let peak = estimated(tokens(best.peak()));
    let window = if sweep.window.is_finite() {
        format!(" of {}", grouped(sweep.window.round() as u64))
    } else {
        String::new()
    };
    match best.overflows() {
        0 => format!(
            "no setting of this grid leaves so much free: at best the largest prompt has {peak}{window} tokens"
        ),
        left => format!(
            "no setting of this grid would have helped: at best {}, the largest prompt with {peak}{window} tokens",
            counted(left as u64, "call does not fit", "calls do not fit")
        ),
    }
}
