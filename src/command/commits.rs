//! `clawscope commits SESSION`: lists the commits and undos of a session, and which are in force.

use std::io::Write as _;

use super::environment::{Invocation, Workspace};
use super::failure::Failure;
use super::output::{Output, Tone};
use super::session_output::{number_value, print_session_header, session_json};
use super::table::{Align, Cell, Table};
use crate::cli::{SessionArgs, StoreArgs};
use crate::format::{format_count, format_estimate, format_time};
use crate::js::{Object, Value};
use crate::write::commit_list::{CommitRecord, CommitStatus, list_commits};

pub(super) fn run(
    args: &SessionArgs,
    place: &StoreArgs,
    invocation: &Invocation,
    output: &mut Output,
) -> Result<(), Failure> {
    let session = Workspace::for_session(&args.session, place, invocation)?.open_session(&args.session)?;
    let commits = list_commits(&session).map_err(|error| Failure::unreadable(error.to_string()))?;
    if args.json {
        let values = commits.iter().map(commit_value).collect::<Vec<_>>();
        return Ok(output.json(Object::from([
            ("session", session_json(&session.item)),
            ("commits", Value::from(values)),
        ]))?);
    }
    print_session_header(output, &session, session.window)?;
    writeln!(output)?;
    if commits.is_empty() {
        return Ok(output.line(Tone::Dim, "this session has no commits")?);
    }
    table(&commits).print(output, "")?;
    writeln!(output)?;
    let in_force = commits.iter().filter(|committed| committed.status == CommitStatus::InForce).count();
    let all = format_count(commits.len() as u64, "commit or undo", "commits and undos");
    output.line(
        Tone::Plain,
        &format!("{all}, {in_force} active · `clawscope undo --commit ID` undoes one of them"),
    )?;
    Ok(())
}

fn table(commits: &[CommitRecord]) -> Table {
    let mut table = Table::new(&[
        ("id", Align::Left),
        ("written", Align::Left),
        ("what", Align::Flexible),
        ("tokens", Align::Right),
        ("changed", Align::Right),
        ("left", Align::Left),
        ("state", Align::Left),
    ]);
    for committed in commits {
        let receipt = &committed.receipt;
        let tokens = |tokens: Option<f64>| tokens.map(|tokens| format_estimate(tokens.max(0.0) as u64));
        let tokens = match (tokens(receipt.tokens_before), tokens(receipt.tokens_after)) {
            (Some(before), Some(after)) => format!("{before} → {after}"),
            _ => String::new(),
        };
        let tone = if committed.status == CommitStatus::InForce { Tone::Good } else { Tone::Dim };
        table.push(vec![
            receipt.id.as_str().into(),
            format_time(receipt.time).into(),
            committed.summary().into(),
            tokens.into(),
            if receipt.changed.is_empty() { String::new() } else { receipt.changed.len().to_string() }.into(),
            receipt.from_leaf.as_str().into(),
            Cell::new(committed.status.as_str(), tone),
        ]);
    }
    table
}

fn commit_value(committed: &CommitRecord) -> Value {
    let receipt = &committed.receipt;
    let policies = receipt.policies.iter().map(|policy| {
        Value::from(Object::from([
            ("policy", Value::from(policy.name.as_str())),
            ("settings", policy.settings.clone()),
            ("tokensBefore", number_value(policy.tokens_before)),
            ("tokensAfter", number_value(policy.tokens_after)),
        ]))
    });
    let changed = receipt.changed.iter().map(|(from, to)| {
        Value::from(Object::from([("from", Value::from(from.as_str())), ("to", Value::from(to.as_str()))]))
    });
    Value::from(Object::from([
        ("id", Value::from(receipt.id.as_str())),
        ("kind", Value::from(receipt.kind.as_str())),
        ("time", number_value(receipt.time)),
        ("inForce", Value::from(committed.status == CommitStatus::InForce)),
        ("state", Value::from(committed.status.json_name())),
        ("fromLeaf", Value::from(receipt.from_leaf.as_str())),
        ("undoes", Value::from(receipt.undoes.clone())),
        ("tool", Value::from(receipt.tool.clone())),
        ("tokensBefore", receipt.tokens_before.map_or(Value::Null, number_value)),
        ("tokensAfter", receipt.tokens_after.map_or(Value::Null, number_value)),
        ("changed", Value::from(changed.collect::<Vec<_>>())),
        ("steps", Value::from(policies.collect::<Vec<_>>())),
    ]))
}
