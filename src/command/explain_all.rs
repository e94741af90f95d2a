//! `clawscope explain --all`: every session of a store with its verdict, those at risk first.

use std::path::Path;

use rayon::prelude::*;

use super::described::session_value;
use super::explain::tone;
use super::explain_json::{SCHEMA_VERSION, verdict_value};
use super::failure::Failure;
use super::output::{Output, Tone};
use super::ruleset::ruleset_value;
use super::scene::{Around, Scene};
use super::table::{Align, Cell, Table};
use super::words::{counted, estimated, grouped, percent};
use crate::cli::{ExplainArgs, PlaceArgs};
use crate::explain::{Class, Explanation, explain};
use crate::inspect::{Counted, Mark, SessionItem};
use crate::js::{Object, Value};

/// A session and what is said of it, or why nothing is.
struct Explained {
    item: SessionItem,
    said: Result<Explanation, String>,
}

/// Explains a store.
pub(super) fn run(
    args: &ExplainArgs,
    place: &PlaceArgs,
    around: &Around,
    output: &mut Output,
) -> Result<(), Failure> {
    let scene = Scene::list(args.target.as_deref().map(Path::new), place, around)?;
    let readable = scene.listed.items.iter().filter(|item| item.path.is_some() && !item.has(Mark::Missing));
    let mut all: Vec<Explained> =
        readable.collect::<Vec<_>>().into_par_iter().map(|item| one(&scene, item)).collect();
    all.sort_by_cached_key(|explained| (std::cmp::Reverse(risk(explained)), explained.item.key.clone()));
    if args.json {
        return Ok(output.json(answer(&scene, &all, &args.window))?);
    }
    print(&all, &args.window, output)
}

fn one(scene: &Scene, item: &SessionItem) -> Explained {
    let unread = |error: String| Explained { item: item.clone(), said: Err(error) };
    let inspection = match scene.open_item(item) {
        Ok(inspection) => inspection,
        Err(Failure::Told { message, .. }) => return unread(message),
        Err(_) => return unread("it cannot be opened".to_owned()),
    };
    match explain(&inspection) {
        Ok(said) => Explained { item: inspection.session, said: Ok(said) },
        Err(error) => unread(error.to_string()),
    }
}

/// Overflowed before unwell before well; of each the fuller first.
fn risk(explained: &Explained) -> (u8, u64) {
    let class = match &explained.said {
        Err(_) => 1,
        Ok(said) if said.overflowed() => 3,
        Ok(said) if said.verdict().is_some_and(|finding| finding.class != Class::Healthy) => 2,
        Ok(_) => 0,
    };
    (class, explained.item.percent().unwrap_or(0))
}

fn answer(scene: &Scene, all: &[Explained], windows: &[u64]) -> Object {
    let explained = all.iter().filter_map(|it| Some((&it.item, it.said.as_ref().ok()?)));
    let unread = all.iter().filter_map(|it| {
        let error = it.said.as_ref().err()?;
        let parts = [("session", session_value(&it.item)), ("error", Value::from(error.as_str()))];
        Some(Value::from(Object::from(parts)))
    });
    Object::from([
        ("schemaVersion", Value::from(SCHEMA_VERSION)),
        ("ruleset", ruleset_value(&scene.store().ruleset)),
        (
            "sessions",
            Value::from(explained.map(|(item, said)| value(item, said, windows)).collect::<Vec<_>>()),
        ),
        ("unread", Value::from(unread.collect::<Vec<_>>())),
    ])
}

fn value(item: &SessionItem, said: &Explanation, windows: &[u64]) -> Value {
    let tokens = item.tokens.map(|Counted { tokens, source }| {
        Object::from([("value", Value::from(tokens)), ("source", Value::from(source.word()))])
    });
    let windows = windows.iter().map(|window| {
        let over = item.tokens.map(|counted| counted.tokens.saturating_sub(*window));
        Value::from(Object::from([
            ("window", Value::from(*window)),
            ("overflows", over.map_or(Value::Null, |over| Value::from(over > 0))),
            ("over", Value::from(over)),
        ]))
    });
    Value::from(Object::from([
        ("session", session_value(item)),
        ("overflow", Value::from(said.overflowed())),
        ("verdict", verdict_value(said)),
        ("noSettingHelps", Value::from(said.no_setting_helps())),
        ("tokens", Value::from(tokens)),
        ("window", Value::from(item.window)),
        ("windows", Value::from(windows.collect::<Vec<_>>())),
    ]))
}

fn print(all: &[Explained], windows: &[u64], output: &mut Output) -> Result<(), Failure> {
    let heads: Vec<&'static str> = vec!["session", "tokens", "full"];
    let mut columns: Vec<(&'static str, Align)> =
        heads.into_iter().zip([Align::Left, Align::Right, Align::Right]).collect();
    columns.extend(windows.iter().map(|_| ("window", Align::Right)));
    columns.extend([("class", Align::Left), ("", Align::Left), ("verdict", Align::Flexible)]);
    let mut table = Table::new(&columns);
    if !windows.is_empty() {
        let mut cells: Vec<Cell> = vec!["".into(), "".into(), "".into()];
        cells.extend(windows.iter().map(|window| Cell::new(&grouped(*window), Tone::Dim)));
        cells.extend(["".into(), "".into(), "".into()]);
        table.push(cells);
    }
    for explained in all {
        table.push(cells(explained, windows));
    }
    let overflowed = all.iter().filter(|it| risk(it).0 == 3).count() as u64;
    output.line(
        Tone::Strong,
        &format!("{}, {} overflowed", counted(all.len() as u64, "session", "sessions"), grouped(overflowed)),
    )?;
    Ok(table.print(output, "")?)
}

fn cells(explained: &Explained, windows: &[u64]) -> Vec<Cell> {
    let item = &explained.item;
    let tokens = item.tokens.map_or_else(
        || "-".to_owned(),
        |counted| {
            if counted.is_estimate() { estimated(counted.tokens) } else { grouped(counted.tokens) }
        },
    );
    let full = item.tokens.map_or_else(|| "-".to_owned(), |counted| percent(counted.tokens, item.window));
    let mut cells: Vec<Cell> = vec![item.key.0.as_str().into(), tokens.into(), full.into()];
    cells.extend(windows.iter().map(|window| match item.tokens {
        Some(counted) if counted.tokens > *window => {
            Cell::new(&format!("over by {}", grouped(counted.tokens - window)), Tone::Bad)
        }
        Some(_) => Cell::new("fits", Tone::Good),
        None => "-".into(),
    }));
    match &explained.said {
        Ok(said) => {
            let verdict = said.verdict();
            let word = |of: fn(&crate::explain::Finding) -> &'static str| verdict.map(of).unwrap_or_default();
            cells.push(Cell::new(word(|it| it.class.word()), tone(said)));
            cells.push(Cell::new(word(|it| it.confidence.word()), Tone::Dim));
            cells.push(verdict.map(|it| it.line.clone()).unwrap_or_default().into());
        }
        Err(error) => cells.extend([Cell::new("unread", Tone::Warning), "".into(), error.as_str().into()]),
    }
    cells
}
