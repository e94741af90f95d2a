//! Text of `clawscope sweep`: the best trade-offs, a map of two settings, and the smallest change with its
//! configuration.

use std::io::Write as _;

use super::environment::Invocation;
use super::failure::Failure;
use super::output::Output;
use super::replay::describe_estimates;
use super::ruleset::print_ruleset;
use super::session_output::print_session_header;
use super::sweep_report::{SweepReport, run_sweep};
use crate::cli::{MeasureArg, StoreArgs, SweepArgs};
use crate::doc::{Align, Cell as TableCell, Table, Tone};
use crate::export::json::JsonOutput;
use crate::format::{format_count, format_counted, format_estimate, format_number, quantity, round_tokens};
use crate::policy::settings::SettingId;
use crate::report::cost::{describe_cost, format_cost};
use crate::report::sweep::json::{self, SweepJson};
use crate::report::sweep::{Axis, Cell, Sweep};
use crate::runtime::{SaveError, save_as};
use crate::units::Tokens;

/// Trade-offs printed; the JSON has all.
const MAX_TRADE_OFFS: usize = 12;
/// Columns of a printed map.
const MAX_MAP_COLUMNS: usize = 16;

pub(super) fn print(swept: &SweepReport, measure: MeasureArg, output: &mut Output) -> Result<(), Failure> {
    let SweepReport { session, sweep, .. } = swept;
    print_session_header(output, session, session.window)?;
    print_ruleset(&session.ruleset, output)?;
    writeln!(output)?;
    if sweep.recorded.calls == 0 {
        return Ok(output.line(Tone::Plain, "this path has no recorded calls")?);
    }
    if sweep.axes.is_empty() {
        let words = "this release has no setting to vary for this session. Choose one with --vary.";
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
    let count = sweep.cells.len();
    let all = quantity(count, "combination");
    let free = if sweep.headroom > Tokens::ZERO {
        format!(" with a headroom of {} tokens", format_number(round_tokens(sweep.headroom)))
    } else {
        String::new()
    };
    let settings = match fitting {
        0 => format!("none of {all}"),
        all_fit if all_fit == count => format!("all {all}"),
        some => format!("{} of {all}", format_number(some)),
    };
    format!("every call fits{free} in {settings} of {}", names.join(" × "))
}

fn remarks(swept: &SweepReport) -> Vec<String> {
    let sweep = &swept.sweep;
    let recorded = &sweep.recorded;
    let mut lines = vec![format!(
        "recorded: {}, {}, largest prompt {}{}, {}",
        quantity(recorded.calls, "call"),
        quantity(recorded.overflows, "overflow"),
        format_counted(round_tokens(recorded.peak.0), recorded.peak_is_measured),
        if recorded.refused.0 > recorded.answered.0 { " (refused)" } else { "" },
        describe_cost(&recorded.cost_breakdown).unwrap_or_else(|| "no price known".to_owned()),
    )];
    lines.push(describe_estimates(swept.fit_error));
    lines.push(
        "peak: the largest prompt; freed: tokens per call that pruning, history limit and compaction remove; cost: this branch with its summaries"
            .to_owned(),
    );
    lines.extend(describe_high_triggers(swept));
    if swept.has_default_axes {
        lines.push("clawscope chose the settings that matter most here; --vary chooses your own".to_owned());
    }
    lines
}

/// Warns of triggers of clearing that no prompt reaches before it overflows.
fn describe_high_triggers(swept: &SweepReport) -> Option<String> {
    let window = swept.session.window.tokens;
    let triggers = swept.sweep.axes.iter().filter(|axis| axis.id == SettingId::ClearTrigger);
    let points = triggers.flat_map(|axis| &axis.points).filter(|point| point.value.is_some());
    let high = points
        .filter_map(|point| point.number)
        .filter(|trigger| window > Tokens::ZERO && *trigger > window.get());
    let high: Vec<String> = high.map(|trigger| format_number(round_tokens(Tokens(trigger)))).collect();
    (!high.is_empty()).then(|| {
        format!(
            "clearToolUses.trigger {} is above the window of {} tokens, so nothing is cleared before a call overflows; \
             70% to 80% of the window leaves room",
            high.join(", "),
            format_number(round_tokens(window))
        )
    })
}

fn format_cell_cost(cell: &Cell) -> String {
    format_cost(&cell.totals.cost_breakdown).unwrap_or_else(|| "-".to_owned())
}

fn format_peak(cell: &Cell) -> String {
    format_counted(round_tokens(cell.peak()), cell.totals.peak_is_measured)
}

/// Formats estimated tokens; below 0.5 prints as `0`.
fn format_freed(number: f64) -> String {
    if number < 0.5 { "0".to_owned() } else { format_estimate(round_tokens(Tokens(number))) }
}

fn print_trade_offs(sweep: &Sweep, output: &mut Output) -> Result<(), Failure> {
    let cells = sweep.trade_offs();
    let shown = cells.len().min(MAX_TRADE_OFFS);
    writeln!(output)?;
    let more = if shown < cells.len() {
        format!(" ({shown} of {}, the cheapest first)", cells.len())
    } else {
        String::new()
    };
    output.line(Tone::Strong, &format!("best trade-offs{more}"))?;
    let mut columns = vec![("#".to_owned(), Align::Right)];
    columns.extend(sweep.axes.iter().map(|axis| (axis.name().to_owned(), Align::Right)));
    let numbers = ["overflows", "peak", "cost", "freed", "compactions", "needed again", ""];
    columns.extend(numbers.map(|name| (name.to_owned(), Align::Right)));
    let mut table = Table::new(&columns);
    for (number, at) in cells.iter().take(MAX_TRADE_OFFS).enumerate() {
        let cell = &sweep.cells[*at];
        let tone = if sweep.fits(cell) { Tone::Plain } else { Tone::Warning };
        let mut row = vec![TableCell::new(&(number + 1).to_string(), Tone::Dim)];
        row.extend(sweep.axes.iter().zip(&cell.points).map(|(axis, point)| {
            let changed = *point != axis.current;
            TableCell::new(&axis.points[*point].text, if changed { Tone::Strong } else { Tone::Dim })
        }));
        row.extend([
            TableCell::new(&format_number(cell.overflows() as u64), tone),
            TableCell::new(&format_peak(cell), tone),
            format_cell_cost(cell).into(),
            format_freed(cell.cleared_tokens_per_call().get()).into(),
            format_number(cell.summary_count() as u64).into(),
            cell.regret.map_or_else(|| "-".to_owned(), |regret| regret.describe_short()).into(),
            TableCell::new(cell_mark(sweep, *at), Tone::Dim),
        ]);
        table.push(row);
    }
    table.print(output, "  ")?;
    print_regret(sweep, output)
}

/// Prints the lost messages under the smallest change, or under the current settings.
fn print_regret(sweep: &Sweep, output: &mut Output) -> Result<(), Failure> {
    let (name, cell) = match sweep.smallest_fitting.filter(|cell| *cell != sweep.current) {
        Some(cell) => ("smallest change", cell),
        None => ("current settings", sweep.current),
    };
    let Some(regret) = &sweep.cells[cell].regret else { return Ok(()) };
    let tone = if regret.needed == 0 { Tone::Good } else { Tone::Warning };
    Ok(output.line(tone, &format!("  {name}: {}", regret.describe()))?)
}

fn cell_mark(sweep: &Sweep, at: usize) -> &'static str {
    match (at == sweep.current, sweep.smallest_fitting == Some(at)) {
        (true, _) => "current",
        (false, true) => "smallest change",
        (false, false) => "",
    }
}

/// Prints a map of the first two settings. The others keep their value from the smallest change, or from the
/// configuration.
fn print_map(sweep: &Sweep, measure: MeasureArg, output: &mut Output) -> Result<(), Failure> {
    let [down, across, others @ ..] = sweep.axes.as_slice() else { return Ok(()) };
    let points = sweep.grid.points_of(sweep.smallest_fitting.unwrap_or(sweep.current));
    writeln!(output)?;
    let rest: Vec<String> = others
        .iter()
        .zip(&points[2..])
        .map(|(axis, point)| format!("{} {}", axis.name(), axis.points[*point].text))
        .collect();
    let at = if rest.is_empty() { String::new() } else { format!(", at {}", rest.join(", ")) };
    let head = format!("{}{at} (rows: {}, columns: {})", measure_label(measure), down.name(), across.name());
    output.line(Tone::Strong, &head)?;
    let shown = across.points.len().min(MAX_MAP_COLUMNS);
    let mut columns = vec![(String::new(), Align::Right)];
    // The marks of a cell are behind its number.
    columns
        .extend(across.points.iter().take(shown).map(|point| (format!("{}   ", point.text), Align::Right)));
    let mut table = Table::new(&columns);
    for (row, point) in down.points.iter().enumerate() {
        let mut cells = vec![TableCell::new(&point.text, Tone::Dim)];
        cells.extend((0..shown).map(|column| {
            let mut place = points.clone();
            (place[0], place[1]) = (row, column);
            map_cell(sweep, sweep.grid.cell_index(&place), measure)
        }));
        table.push(cells);
    }
    table.print(output, "  ")?;
    let cut = across.points.len() - shown;
    let more = if cut > 0 { format!("   {cut} more columns in --json") } else { String::new() };
    Ok(output.line(Tone::Dim, &format!("  ! overflows   * current   ✓ smallest change{more}"))?)
}

fn map_cell(sweep: &Sweep, at: usize, measure: MeasureArg) -> TableCell {
    let cell = &sweep.cells[at];
    let fits = sweep.fits(cell);
    let mark = match (fits, at == sweep.current, sweep.smallest_fitting == Some(at)) {
        (_, true, _) => "*",
        (_, _, true) => "✓",
        _ => " ",
    };
    let over = if fits { " " } else { "!" };
    let value = match measure {
        MeasureArg::Peak => format_peak(cell),
        MeasureArg::Cost => format_cell_cost(cell),
        MeasureArg::Overflows => format_number(cell.overflows() as u64),
        MeasureArg::Freed => format_freed(cell.cleared_tokens_per_call().get()),
    };
    let tone = match (fits, mark) {
        (false, _) => Tone::Bad,
        (true, " ") => Tone::Plain,
        (true, _) => Tone::Strong,
    };
    TableCell::new(&format!("{value} {over}{mark}"), tone)
}

fn measure_label(measure: MeasureArg) -> &'static str {
    match measure {
        MeasureArg::Peak => "peak",
        MeasureArg::Cost => "cost",
        MeasureArg::Overflows => "overflows",
        MeasureArg::Freed => "freed",
    }
}

fn print_smallest(swept: &SweepReport, output: &mut Output) -> Result<(), Failure> {
    let sweep = &swept.sweep;
    writeln!(output)?;
    let Some(at) = sweep.smallest_fitting else {
        return Ok(output.line(Tone::Warning, &describe_best_cell(sweep))?);
    };
    let (cell, now) = (&sweep.cells[at], &sweep.cells[sweep.current]);
    if at == sweep.current {
        let peak = format_peak(cell);
        let words = format!("no change needed: every call fits, the largest with {peak} tokens");
        output.line(Tone::Good, &words)?;
        if let Some(words) = sweep.caveat() {
            output.line(Tone::Warning, &words)?;
        }
        return Ok(());
    }
    output.line(Tone::Good, &format!("smallest change: {}", describe_change(sweep, at)))?;
    let before_after = |what: &str, before: String, after: String| format!("  {what} {before} → {after}");
    let lines = [
        before_after(
            "overflows",
            format_number(now.overflows() as u64),
            format_number(cell.overflows() as u64),
        ),
        before_after("largest prompt", format_peak(now), format_peak(cell)),
        before_after("cost", format_cell_cost(now), format_cell_cost(cell)),
    ];
    for line in lines {
        output.line(Tone::Plain, &line)?;
    }
    writeln!(output)?;
    let patch = sweep.patch(&swept.session, at);
    for line in patch.commands.iter().map(String::as_str).chain(patch.text.lines()) {
        output.line(Tone::Plain, line)?;
    }
    Ok(())
}

/// Formats the changed settings of a cell, separated by commas: `contextPruning.ttl 1h → 30m`.
fn describe_change(sweep: &Sweep, at: usize) -> String {
    let moved =
        sweep.axes.iter().zip(&sweep.cells[at].points).filter(|(axis, point)| **point != axis.current);
    let words = moved.map(|(axis, point)| {
        format!("{} {} → {}", axis.key(), axis.points[axis.current].text, axis.points[*point].text)
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Describes the best cell of a grid in which no cell fits.
fn describe_best_cell(sweep: &Sweep) -> String {
    let best = sweep.cells.iter().min_by(|one, other| {
        let rank = |cell: &Cell| (cell.overflows() as f64, cell.peak());
        rank(one).partial_cmp(&rank(other)).unwrap_or(std::cmp::Ordering::Equal)
    });
    let Some(best) = best else { return "no combination helps".to_owned() };
    let peak = format_peak(best);
    let window = if sweep.window.is_finite() {
        format!(" of {}", format_number(round_tokens(sweep.window)))
    } else {
        String::new()
    };
    match best.overflows() {
        0 => format!(
            "no combination leaves that much free: at best the largest prompt has {peak}{window} tokens"
        ),
        left => format!(
            "no combination makes every call fit: at best {}, the largest prompt with {peak}{window} tokens",
            format_count(left as u64, "call still overflows", "calls still overflow")
        ),
    }
}

// `clawscope sweep SESSION`: replays a grid of settings and prints the best trade-offs, and the smallest change after
// which every call fits.

/// The user's own file: a patch never overwrites it.
const CONFIG_FILE: &str = "openclaw.json";

impl JsonOutput for SweepJson {}

pub(super) fn run(
    args: &SweepArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    if let Some(file) = args.patch.as_deref().filter(|file| file.ends_with(CONFIG_FILE)) {
        return Err(Failure::refused(format!(
            "--patch {}: clawscope never overwrites your {CONFIG_FILE}. Choose another file name. Nothing was written.",
            file.display()
        )));
    }
    let swept = run_sweep(args, place, invocation, output)?;
    if args.target.json {
        output.json(&json::sweep_json(&swept.session, &swept.sweep))?;
    } else {
        print(&swept, args.measure, output)?;
    }
    match &args.patch {
        Some(file) => save_patch(&swept, file, output),
        None => Ok(()),
    }
}

fn save_patch(swept: &SweepReport, file: &std::path::Path, output: &mut Output) -> Result<(), Failure> {
    let patch = swept.sweep.smallest_fitting.map(|cell| swept.sweep.patch(&swept.session, cell).text);
    let Some(text) = patch.filter(|text| !text.is_empty()) else {
        return Err(Failure::refused(format!(
            "--patch {}: there is no change to write: {}. Nothing was written.",
            file.display(),
            if swept.sweep.smallest_fitting.is_some() {
                "every call already fits"
            } else {
                "no combination makes every call fit"
            }
        )));
    };
    save_as(file, &format!("{text}\n"), false).map_err(|error| match error {
        SaveError::AlreadyExists { .. } => Failure::refused(format!(
            "{}: already exists, and clawscope does not overwrite it. Choose another file name.",
            file.display()
        )),
        error => Failure::refused(error.to_string()),
    })?;
    let into = if text.starts_with("// /") { "the file it names" } else { CONFIG_FILE };
    Ok(output.note(&format!("saved as {}; merge it into {into} yourself", file.display()))?)
}
