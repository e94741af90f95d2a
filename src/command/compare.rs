//! `clawscope undo SESSION --compare [ID [ID]]`: prints two branches side by side.

use std::io::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::environment::{Invocation, Workspace, find_entry};
use super::failure::Failure;
use super::output::Output;
use super::session_output::{SessionJson, print_session_header, session_json};
use crate::cli::{StoreArgs, UndoArgs};
use crate::doc::{Align, Cell, Table, Tone};
use crate::export::json::JsonOutput;
use crate::format::{format_estimate, format_number};
use crate::ids::EntryIx;
use crate::js::Members;
use crate::report::compare::{
    BranchComparison, ComparedBranch, ComparedMessage, MessageChange, compare_branches,
};
use crate::session::LoadedSession;

pub(super) fn run(
    args: &UndoArgs,
    leaves: &[String],
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let session = &args.target.session;
    let session = Workspace::for_session(session, place, invocation)?.open_session(session, output)?;
    let named = |at: usize| leaves.get(at).map(|text| find_entry(&session, "--compare", text)).transpose();
    let leaves = [named(0)?, named(1)?];
    let comparison = compare_branches(&session, leaves)
        .map_err(|what| Failure::usage(format!("{what} `clawscope tree` shows the ids to name.")))?;
    if args.target.json {
        return Ok(output.json(&report_json(&session, &comparison))?);
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
    output.line(Tone::Plain, &comparison.describe_fork(&session.index))?;
    writeln!(output)?;
    facts_table(comparison).print(output, "")?;
    writeln!(output)?;
    for change in MessageChange::ALL {
        let (count, [first, second]) = comparison.count(change);
        if count > 0 {
            let count = format_number(count as u64);
            let tokens = match change {
                MessageChange::Changed => format!("{} → {}", format_estimate(first), format_estimate(second)),
                _ => format_estimate(first.max(second)),
            };
            output.line(
                change_tone(change),
                &format!("{} {count} {}, {tokens} by chars/4", change.sign(), change.label()),
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

/// Two branches of a session, message by message. Tokens of messages are by chars/4; those of a branch are the count of
/// its next prompt.
#[derive(Serialize, JsonSchema)]
pub(super) struct ComparisonJson<'a> {
    session: SessionJson,
    /// The last shared entry.
    parting: Option<String>,
    /// Number of shared entries.
    shared: usize,
    first: &'a ComparedBranch,
    second: &'a ComparedBranch,
    /// Sums by kind of change.
    changes: Members<ChangeJson>,
    rows: Vec<RowJson>,
}

impl JsonOutput for ComparisonJson<'_> {}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ChangeJson {
    messages: usize,
    tokens_first: u64,
    tokens_second: u64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RowJson {
    change: &'static str,
    role: &'static str,
    tool: Option<String>,
    /// Its entry on the first branch.
    first: Option<String>,
    /// Its entry on the second branch.
    second: Option<String>,
    tokens_first: u64,
    tokens_second: u64,
}

fn report_json<'a>(session: &LoadedSession, comparison: &'a BranchComparison) -> ComparisonJson<'a> {
    let name = |entry: Option<EntryIx>| entry.map(|entry| session.index.display_id(entry));
    let changes = MessageChange::ALL.map(|change| {
        let (messages, [tokens_first, tokens_second]) = comparison.count(change);
        (change.as_str(), ChangeJson { messages, tokens_first, tokens_second })
    });
    let row = |row: &ComparedMessage| RowJson {
        change: row.change.as_str(),
        role: row.role.as_str(),
        tool: row.tool(&session.index),
        first: name(row.entries[0]),
        second: name(row.entries[1]),
        tokens_first: row.tokens[0],
        tokens_second: row.tokens[1],
    };
    ComparisonJson {
        session: session_json(&session.item),
        parting: name(comparison.fork_point),
        shared: comparison.shared_entries,
        first: &comparison.first,
        second: &comparison.second,
        changes: changes.into_iter().collect(),
        rows: comparison.rows.iter().map(row).collect(),
    }
}
