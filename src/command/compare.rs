//! `clawscope compare SESSION [LEAF] [LEAF]`: two branches beside each other.

use std::io::Write as _;

use super::described::{budget_value, print_head, session_value};
use super::failure::Failure;
use super::output::{Output, Tone};
use super::scene::{Around, Scene, find_entry};
use super::table::{Align, Cell, Table};
use super::words::{counted, estimated};
use crate::cli::{CompareArgs, PlaceArgs};
use crate::ids::EntryIx;
use crate::inspect::Inspection;
use crate::inspect::compare::{Branch, Change, Comparison, Row, compared};
use crate::js::{Object, Value};

/// Compares two branches of a session.
pub(super) fn run(
    args: &CompareArgs,
    place: &PlaceArgs,
    around: &Around,
    output: &mut Output,
) -> Result<(), Failure> {
    let inspection = Scene::for_session(&args.session, place, around)?.open(&args.session)?;
    let named =
        |text: &Option<String>| text.as_ref().map(|text| find_entry(&inspection, "LEAF", text)).transpose();
    let leaves = [named(&args.first)?, named(&args.second)?];
    let comparison = compared(&inspection, leaves)
        .map_err(|what| Failure::usage(format!("{what} `clawscope tree` shows the ids to name.")))?;
    if args.json {
        return Ok(output.json(answer(&inspection, &comparison))?);
    }
    print(&inspection, &comparison, args.all, output)
}

fn print(
    inspection: &Inspection,
    comparison: &Comparison,
    all: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    print_head(output, inspection, inspection.window)?;
    let shared = counted(comparison.shared as u64, "entry", "entries");
    let parting = comparison.parting.map(|entry| inspection.index.name(entry));
    let parting =
        parting.map_or_else(|| "they share nothing".to_owned(), |name| format!("they part after {name}"));
    writeln!(output, "{shared} in common; {parting}")?;
    writeln!(output)?;
    facts(comparison).print(output, "")?;
    writeln!(output)?;
    for change in Change::ALL {
        let (count, [first, second]) = comparison.count(change);
        if count > 0 {
            let messages = counted(count as u64, "message", "messages");
            let tokens = match change {
                Change::Differs => format!("{} → {}", estimated(first), estimated(second)),
                _ => estimated(first.max(second)),
            };
            output
                .line(tone(change), &format!("{} {messages} {}, {tokens}", change.sign(), change.words()))?;
        }
    }
    let shown: Vec<&Row> = comparison.rows.iter().filter(|row| all || row.change != Change::Same).collect();
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
        let mut cells = vec![Cell::new(row.change.sign(), tone(row.change)), row.role.word().into()];
        cells.push(row.tool(&inspection.index).unwrap_or_default().into());
        for (entry, tokens) in row.entries.iter().zip(row.tokens) {
            cells.push(entry.map_or_else(String::new, |entry| inspection.index.name(entry)).into());
            cells.push(entry.map_or_else(String::new, |_| estimated(tokens)).into());
        }
        table.push(cells);
    }
    Ok(table.print(output, "")?)
}

fn tone(change: Change) -> Tone {
    match change {
        Change::Same => Tone::Dim,
        Change::Differs => Tone::Trimmed,
        Change::OnlyFirst => Tone::Bad,
        Change::OnlySecond => Tone::Good,
    }
}

/// Both branches, a fact a line.
fn facts(comparison: &Comparison) -> Table {
    let mut table = Table::new(&[("", Align::Left), ("first", Align::Right), ("second", Align::Right)]);
    for (name, of) in Branch::FACTS {
        let cells = [&comparison.first, &comparison.second].map(|branch| Cell::from(of(branch)));
        let [first, second] = cells;
        table.push(vec![name.into(), first, second]);
    }
    table
}

fn answer(inspection: &Inspection, comparison: &Comparison) -> Object {
    let name = |entry: Option<EntryIx>| Value::from(entry.map(|entry| inspection.index.name(entry)));
    let changes = Change::ALL.map(|change| {
        let (count, [first, second]) = comparison.count(change);
        let members = [
            ("messages", Value::from(count)),
            ("tokensFirst", Value::from(first)),
            ("tokensSecond", Value::from(second)),
        ];
        (change.word(), Value::from(Object::from(members)))
    });
    let rows = comparison.rows.iter().map(|row| {
        Value::from(Object::from([
            ("change", Value::from(row.change.word())),
            ("role", Value::from(row.role.word())),
            ("tool", Value::from(row.tool(&inspection.index))),
            ("first", name(row.entries[0])),
            ("second", name(row.entries[1])),
            ("tokensFirst", Value::from(row.tokens[0])),
            ("tokensSecond", Value::from(row.tokens[1])),
        ]))
    });
    Object::from([
        ("session", session_value(&inspection.session)),
        ("parting", name(comparison.parting)),
        ("shared", Value::from(comparison.shared)),
        ("first", branch_value(&comparison.first)),
        ("second", branch_value(&comparison.second)),
        ("changes", Value::from(Object::from(changes))),
        ("rows", Value::from(rows.collect::<Vec<_>>())),
    ])
}

fn branch_value(branch: &Branch) -> Value {
    let cost = |cost: Option<f64>| cost.map_or(Value::Null, Value::Number);
    Value::from(Object::from([
        ("leaf", Value::from(branch.name.as_str())),
        ("active", Value::from(branch.active)),
        ("entries", Value::from(branch.entries)),
        ("ownEntries", Value::from(branch.own_entries)),
        ("messages", Value::from(branch.messages)),
        ("tokens", Value::from(branch.tokens())),
        ("parts", budget_value(&branch.budget)),
        ("calls", Value::from(branch.calls)),
        ("spent", cost(branch.spent.total())),
        ("ownSpent", cost(branch.own_spent.total())),
        ("nextCold", cost(branch.next_cold)),
        ("nextWarm", cost(branch.next_warm)),
    ]))
}
