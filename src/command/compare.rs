//! `clawscope compare SESSION [LEAF] [LEAF]`: prints two branches side by side.

use std::io::Write as _;

use super::environment::{Invocation, Workspace, find_entry};
use super::failure::Failure;
use super::output::{Output, Tone};
use super::session_output::{budget_value, print_session_header, session_json};
use super::table::{Align, Cell, Table};
use crate::cli::{CompareArgs, StoreArgs};
use crate::format::{format_count, format_estimate};
use crate::ids::EntryIx;
use crate::js::{Object, Value};
use crate::report::compare::{
    BranchComparison, ComparedBranch, ComparedMessage, MessageChange, compare_branches,
};
use crate::session::LoadedSession;

pub(super) fn run(
    args: &CompareArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let session = Workspace::for_session(&args.session, place, invocation)?.open_session(&args.session)?;
    let named =
        |text: &Option<String>| text.as_ref().map(|text| find_entry(&session, "LEAF", text)).transpose();
    let leaves = [named(&args.first)?, named(&args.second)?];
    let comparison = compare_branches(&session, leaves)
        .map_err(|what| Failure::usage(format!("{what} `clawscope tree` shows the ids to name.")))?;
    if args.json {
        return Ok(output.json(report_json(&session, &comparison))?);
    }
    print(&session, &comparison, args.all, output)
}

fn print(
    session: &LoadedSession,
    comparison: &BranchComparison,
    all: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    print_session_header(output, session, session.window)?;
    let shared = format_count(comparison.shared_entries as u64, "entry", "entries");
    let parting = comparison.fork_point.map(|entry| session.index.display_id(entry));
    let parting =
        parting.map_or_else(|| "no common entry".to_owned(), |name| format!("they diverge after {name}"));
    writeln!(output, "{shared} in common; {parting}")?;
    writeln!(output)?;
    facts_table(comparison).print(output, "")?;
    writeln!(output)?;
    for change in MessageChange::ALL {
        let (count, [first, second]) = comparison.count(change);
        if count > 0 {
            let messages = format_count(count as u64, "message", "messages");
            let tokens = match change {
                MessageChange::Changed => format!("{} → {}", format_estimate(first), format_estimate(second)),
                _ => format_estimate(first.max(second)),
            };
            output.line(
                change_tone(change),
                &format!("{} {messages} {}, {tokens}", change.sign(), change.label()),
            )?;
        }
    }
    let shown: Vec<&ComparedMessage> =
        comparison.rows.iter().filter(|row| all || row.change != MessageChange::Identical).collect();
    if shown.is_empty() {
        return Ok(());
    }
    writeln!(output)?;
    let mut table = Table::new(&[
        ("", Align::Left),
        ("role", Align::Left),
        ("tool", Align::Left),
        ("first", Align::Left),
        ("tokens", Align::Right),
        ("second", Align::Left),
        ("tokens", Align::Right),
    ]);
    for row in shown {
        let mut cells = vec![Cell::new(row.change.sign(), change_tone(row.change)), row.role.as_str().into()];
        cells.push(row.tool(&session.index).unwrap_or_default().into());
        for (entry, tokens) in row.entries.iter().zip(row.tokens) {
            cells.push(entry.map_or_else(String::new, |entry| session.index.display_id(entry)).into());
            cells.push(entry.map_or_else(String::new, |_| format_estimate(tokens)).into());
        }
        table.push(cells);
    }
    Ok(table.print(output, "")?)
}

fn change_tone(change: MessageChange) -> Tone {
    match change {
        MessageChange::Identical => Tone::Dim,
        MessageChange::Changed => Tone::Trimmed,
        MessageChange::OnlyFirst => Tone::Bad,
        MessageChange::OnlySecond => Tone::Good,
    }
}

fn facts_table(comparison: &BranchComparison) -> Table {
    let mut table = Table::new(&[("", Align::Left), ("first", Align::Right), ("second", Align::Right)]);
    for (name, of) in ComparedBranch::FACTS {
        let cells = [&comparison.first, &comparison.second].map(|branch| Cell::from(of(branch)));
        let [first, second] = cells;
        table.push(vec![name.into(), first, second]);
    }
    table
}

fn report_json(session: &LoadedSession, comparison: &BranchComparison) -> Object {
    let name = |entry: Option<EntryIx>| Value::from(entry.map(|entry| session.index.display_id(entry)));
    let changes = MessageChange::ALL.map(|change| {
        let (count, [first, second]) = comparison.count(change);
        let members = [
            ("messages", Value::from(count)),
            ("tokensFirst", Value::from(first)),
            ("tokensSecond", Value::from(second)),
        ];
        (change.as_str(), Value::from(Object::from(members)))
    });
    let rows = comparison.rows.iter().map(|row| {
        Value::from(Object::from([
            ("change", Value::from(row.change.as_str())),
            ("role", Value::from(row.role.as_str())),
            ("tool", Value::from(row.tool(&session.index))),
            ("first", name(row.entries[0])),
            ("second", name(row.entries[1])),
            ("tokensFirst", Value::from(row.tokens[0])),
            ("tokensSecond", Value::from(row.tokens[1])),
        ]))
    });
    Object::from([
        ("session", session_json(&session.item)),
        ("parting", name(comparison.fork_point)),
        ("shared", Value::from(comparison.shared_entries)),
        ("first", branch_value(&comparison.first)),
        ("second", branch_value(&comparison.second)),
        ("changes", Value::from(Object::from(changes))),
        ("rows", Value::from(rows.collect::<Vec<_>>())),
    ])
}

fn branch_value(branch: &ComparedBranch) -> Value {
    let cost = |cost: Option<f64>| cost.map_or(Value::Null, Value::Number);
    Value::from(Object::from([
        ("leaf", Value::from(branch.name.as_str())),
        ("active", Value::from(branch.active)),
        ("entries", Value::from(branch.entries)),
        ("ownEntries", Value::from(branch.unique_entries)),
        ("messages", Value::from(branch.messages)),
        ("tokens", Value::from(branch.tokens())),
        ("parts", budget_value(&branch.budget)),
        ("calls", Value::from(branch.calls)),
        ("spent", cost(branch.cost.total())),
        ("ownSpent", cost(branch.unique_cost.total())),
        ("nextCold", cost(branch.next_cost_cold)),
        ("nextWarm", cost(branch.next_cost_warm)),
    ]))
}
