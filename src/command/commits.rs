//! `clawscope commits SESSION`: what was written to a session and what of it is in force.

use std::io::Write as _;

use super::described::{number, print_head, session_value};
use super::failure::Failure;
use super::output::{Output, Tone};
use super::scene::{Around, Scene};
use super::table::{Align, Cell, Table};
use super::words::{counted, estimated, moment};
use crate::cli::{PlaceArgs, SessionArgs};
use crate::inspect::commits::{Committed, Force, commits};
use crate::js::{Object, Value};

/// Lists the commits and undos of a session.
pub(super) fn run(
    args: &SessionArgs,
    place: &PlaceArgs,
    around: &Around,
    output: &mut Output,
) -> Result<(), Failure> {
    let inspection = Scene::for_session(&args.session, place, around)?.open(&args.session)?;
    let commits = commits(&inspection).map_err(|error| Failure::unreadable(error.to_string()))?;
    if args.json {
        let values = commits.iter().map(value).collect::<Vec<_>>();
        return Ok(output.json(Object::from([
            ("session", session_value(&inspection.session)),
            ("commits", Value::from(values)),
        ]))?);
    }
    print_head(output, &inspection, inspection.window)?;
    writeln!(output)?;
    if commits.is_empty() {
        return Ok(output.line(Tone::Dim, "nothing was committed to this session")?);
    }
    table(&commits).print(output, "")?;
    writeln!(output)?;
    let in_force = commits.iter().filter(|committed| committed.force == Force::InForce).count();
    let all = counted(commits.len() as u64, "commit or undo", "commits and undos");
    output.line(
        Tone::Plain,
        &format!("{all}, {in_force} in force · undo --commit ID takes one of those back"),
    )?;
    Ok(())
}

fn table(commits: &[Committed]) -> Table {
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
        let tokens = |tokens: Option<f64>| tokens.map(|tokens| estimated(tokens.max(0.0) as u64));
        let tokens = match (tokens(receipt.tokens_before), tokens(receipt.tokens_after)) {
            (Some(before), Some(after)) => format!("{before} → {after}"),
            _ => String::new(),
        };
        let tone = if committed.force == Force::InForce { Tone::Good } else { Tone::Dim };
        table.push(vec![
            receipt.id.as_str().into(),
            moment(receipt.time).into(),
            committed.words().into(),
            tokens.into(),
            if receipt.changed.is_empty() { String::new() } else { receipt.changed.len().to_string() }.into(),
            receipt.from_leaf.as_str().into(),
            Cell::new(committed.force.word(), tone),
        ]);
    }
    table
}

fn value(committed: &Committed) -> Value {
    let receipt = &committed.receipt;
    let steps = receipt.steps.iter().map(|step| {
        Value::from(Object::from([
            ("policy", Value::from(step.policy.as_str())),
            ("settings", step.settings.clone()),
            ("tokensBefore", number(step.tokens_before)),
            ("tokensAfter", number(step.tokens_after)),
        ]))
    });
    let changed = receipt.changed.iter().map(|(from, to)| {
        Value::from(Object::from([("from", Value::from(from.as_str())), ("to", Value::from(to.as_str()))]))
    });
    Value::from(Object::from([
        ("id", Value::from(receipt.id.as_str())),
        ("kind", Value::from(receipt.kind.word())),
        ("time", number(receipt.time)),
        ("inForce", Value::from(committed.force == Force::InForce)),
        ("state", Value::from(committed.force.word())),
        ("fromLeaf", Value::from(receipt.from_leaf.as_str())),
        ("undoes", Value::from(receipt.undoes.clone())),
        ("tool", Value::from(receipt.tool.clone())),
        ("tokensBefore", receipt.tokens_before.map_or(Value::Null, number)),
        ("tokensAfter", receipt.tokens_after.map_or(Value::Null, number)),
        ("changed", Value::from(changed.collect::<Vec<_>>())),
        ("steps", Value::from(steps.collect::<Vec<_>>())),
    ]))
}
