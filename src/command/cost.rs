//! `clawscope cost [SESSION]`: shows what the calls of a session cost and what the prompt cache missed, or the sums of a
//! store.

use std::io::Write as _;
use std::path::Path;

use super::cache_json::{CacheJson, StoreLedger, read_store, store_json};
use super::environment::{Invocation, Workspace, is_store_folder};
use super::failure::Failure;
use super::output::Output;
use super::session_output::print_session_header;
use crate::cli::{CostArgs, StoreArgs};
use crate::doc::{Align, Cell, Table, Tone};
use crate::format::{format_count, format_number, format_percent, format_time, quantity, round_tokens};
use crate::replay::Cost;
use crate::report::cache_ledger::{CacheLedger, CacheTotals, CachedCall, CallCount, cache_ledger};
use crate::report::cost::{describe_cost, format_cost};
use crate::session::LoadedSession;
use crate::units::Tokens;

/// Newest calls printed without `--all`.
const MAX_CALLS: usize = 40;

pub(super) fn run(
    args: &CostArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let Some(name) = &args.session else { return run_store(None, args, place, invocation, output) };
    if is_store_folder(name, place, invocation) {
        return run_store(Some(Path::new(name)), args, place, invocation, output);
    }
    let session = Workspace::for_session(name, place, invocation)?.open_session(name, output)?;
    let ledger = cache_ledger(&session)?;
    if args.json {
        return Ok(output.json(&CacheJson::new(&session, &ledger))?);
    }
    print_session_header(output, &session, session.window)?;
    writeln!(output)?;
    let totals = ledger.totals();
    print_headline(&totals, output)?;
    if ledger.calls.is_empty() {
        return Ok(());
    }
    print_causes(&totals, output)?;
    print_days(&ledger, output)?;
    print_calls(&session, &ledger, args.all, output)
}

fn run_store(
    path: Option<&Path>,
    args: &CostArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let workspace = Workspace::from_path(path, place, invocation)?;
    let store = read_store(&workspace);
    if args.json {
        output.json(&store_json(&store))?;
        return workspace.require_databases();
    }
    print_headline(&store.totals, output)?;
    print_causes(&store.totals, output)?;
    print_sessions(&store, output)?;
    let days = store.days.iter().map(|(day, totals)| (day.as_str(), totals));
    print_totals("day (UTC)", days, output)?;
    for (item, failure) in &store.unread {
        output.line(Tone::Warning, &format!("{}: {}", item.key, failure.message()))?;
    }
    workspace.require_databases()
}

/// Prints the answer: what the calls cost, how many of them missed, how many tokens that were, and what that cost.
fn print_headline(totals: &CacheTotals, output: &mut Output) -> Result<(), Failure> {
    if let Some(cost) = describe_cost(&totals.cost) {
        let calls = format_count(totals.billed_calls() as u64, "call", "calls");
        output.line(Tone::Strong, &format!("{calls} on all branches: {cost}"))?;
    }
    if totals.calls == 0 {
        return Ok(output.line(Tone::Plain, "no call has token counts")?);
    }
    let missed = totals.misses.calls as u64;
    let calls = totals.calls as u64;
    let (tone, head) = match missed {
        0 if totals.uncached_calls == totals.calls => {
            (Tone::Plain, format!("no cache: the provider reported none for {}", quantity(calls, "call")))
        }
        0 => (Tone::Good, format!("no call of {} missed the cache", format_number(calls))),
        _ => (
            Tone::Strong,
            format!(
                "{} missed the cache: {} tokens{}",
                format_count(missed, "call", "calls"),
                format_number(round_tokens(totals.misses.tokens)),
                totals.describe_extra_cost().map(|cost| format!(", {cost}")).unwrap_or_default()
            ),
        ),
    };
    output.line(tone, &head)?;
    let whole = round_tokens(totals.prompt_tokens());
    let part = |tokens: Tokens, verb: &str| {
        let tokens = round_tokens(tokens);
        format!("{} {verb} ({})", format_number(tokens), format_percent(tokens, whole))
    };
    let parts = [part(totals.read, "read"), part(totals.written, "written"), part(totals.input, "uncached")];
    Ok(output.line(Tone::Plain, &format!("prompt tokens: {}", parts.join(" · ")))?)
}

fn print_causes(totals: &CacheTotals, output: &mut Output) -> Result<(), Failure> {
    if totals.by_cause.is_empty() {
        return Ok(());
    }
    writeln!(output)?;
    let columns = [
        ("cause", Align::Left),
        ("calls", Align::Right),
        ("missed", Align::Right),
        ("extra cost", Align::Right),
        ("", Align::Left),
    ];
    let mut table = Table::new(&columns);
    let new_last =
        |new: bool| totals.by_cause.iter().filter(move |(cause, _)| cause.makes_new_prompt() == new);
    for (cause, count) in new_last(false).chain(new_last(true)) {
        let is_new = cause.makes_new_prompt();
        let tone = if is_new { Tone::Dim } else { Tone::Plain };
        let note = if is_new { "a new prompt: no miss" } else { "" };
        let mut row = vec![Cell::new(cause.label(), tone)];
        row.extend(count_cells(count, tone));
        row.push(Cell::new(note, Tone::Dim));
        table.push(row);
    }
    Ok(table.print(output, "  ")?)
}

fn count_cells(count: &CallCount, tone: Tone) -> [Cell; 3] {
    [
        Cell::new(&format_number(count.calls as u64), tone),
        Cell::new(&format_number(round_tokens(count.tokens)), tone),
        cost_cell(&count.cost, tone),
    ]
}

fn cost_cell(cost: &Cost, tone: Tone) -> Cell {
    Cell::new(&format_cost(cost).unwrap_or_else(|| "-".to_owned()), tone)
}

/// Prints the sums of each day, if there are several.
fn print_days(ledger: &CacheLedger, output: &mut Output) -> Result<(), Failure> {
    let days = ledger.totals_by_day();
    if days.len() < 2 {
        return Ok(());
    }
    print_totals("day (UTC)", days.iter().map(|(day, totals)| (day.as_str(), totals)), output)
}

fn print_sessions(store: &StoreLedger, output: &mut Output) -> Result<(), Failure> {
    let sessions = store.sessions.iter().map(|(item, totals)| (item.key.0.as_str(), totals));
    print_totals("session", sessions, output)
}

/// Prints a table with one row of sums for each name.
fn print_totals<'a>(
    head: &str,
    rows: impl Iterator<Item = (&'a str, &'a CacheTotals)>,
    output: &mut Output,
) -> Result<(), Failure> {
    let columns = [
        (head, Align::Flexible),
        ("cost", Align::Right),
        ("calls", Align::Right),
        ("read", Align::Right),
        ("written", Align::Right),
        ("uncached", Align::Right),
        ("misses", Align::Right),
        ("missed", Align::Right),
        ("extra cost", Align::Right),
        ("worst cause", Align::Left),
    ];
    let mut table = Table::new(&columns);
    table.drop_first(&["uncached", "written", "read"]);
    for (name, totals) in rows {
        let tokens = |tokens: Tokens| Cell::from(format_number(round_tokens(tokens)));
        let mut row: Vec<Cell> = vec![
            name.into(),
            cost_cell(&totals.cost, Tone::Plain),
            format_number(totals.billed_calls() as u64).into(),
        ];
        row.extend([tokens(totals.read), tokens(totals.written), tokens(totals.input)]);
        row.extend(count_cells(&totals.misses, Tone::Plain));
        row.push(totals.worst_cause().map_or("", |(cause, _)| cause.label()).into());
        table.push(row);
    }
    writeln!(output)?;
    Ok(table.print(output, "  ")?)
}

fn print_calls(
    session: &LoadedSession,
    ledger: &CacheLedger,
    all: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    let columns = [
        ("answered", Align::Left),
        ("entry", Align::Left),
        ("cost", Align::Right),
        ("read", Align::Right),
        ("written", Align::Right),
        ("uncached", Align::Right),
        ("missed", Align::Right),
        ("extra cost", Align::Right),
        ("cause", Align::Left),
    ];
    let mut table = Table::new(&columns);
    table.drop_first(&["entry"]);
    let hidden = if all { 0 } else { ledger.calls.len().saturating_sub(MAX_CALLS) };
    for call in &ledger.calls[hidden..] {
        table.push(call_cells(session, call));
    }
    writeln!(output)?;
    if hidden > 0 {
        let line = format!(
            "{} not shown; --all shows them",
            format_count(hidden as u64, "older call", "older calls")
        );
        output.line(Tone::Dim, &line)?;
    }
    Ok(table.print(output, "  ")?)
}

fn call_cells(session: &LoadedSession, call: &CachedCall) -> Vec<Cell> {
    let tokens = |tokens: Tokens| Cell::from(format_number(round_tokens(tokens)));
    let mut row: Vec<Cell> = vec![
        format_time(call.ended).into(),
        session.index.display_id(call.entry).into(),
        cost_cell(&call.cost, Tone::Plain),
    ];
    row.extend([tokens(call.split.read), tokens(call.split.write), tokens(call.split.input)]);
    let Some(miss) = &call.miss else {
        let word = if call.is_uncached { "no cache" } else { "" };
        row.extend([Cell::from(""), Cell::from(""), Cell::new(word, Tone::Dim)]);
        return row;
    };
    let tone = if miss.is_counted() { Tone::Warning } else { Tone::Dim };
    row.push(Cell::new(&format_number(round_tokens(miss.tokens)), tone));
    row.push(cost_cell(&miss.cost, tone));
    row.push(Cell::new(&miss.describe_cause(session), tone));
    row
}
