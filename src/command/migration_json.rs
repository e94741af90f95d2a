//! The answer of `clawscope doctor --migration` as JSON.

use super::doctor::database_value;
use super::migration::{Totals, path_text};
use super::scene::Scene;
use crate::js::{Object, Value};
use crate::store::migration::{Comparison, Difference, Fault, FaultKind, Held, Migration, Pair};

/// The whole answer.
pub(super) fn answer(scene: &Scene, migration: &Migration, totals: &Totals) -> Object {
    let alone = migration.alone.iter().map(|alone| {
        Value::from(Object::from([
            ("agent", Value::from(alone.agent.as_str())),
            ("session", Value::from(alone.session.as_str())),
            ("file", path_text(&alone.file)),
            ("why", Value::from(alone.why.word())),
        ]))
    });
    Object::from([
        ("place", Value::from(scene.listed.name.as_str())),
        ("demo", Value::from(scene.listed.demo)),
        ("databases", Value::from(scene.store().databases.iter().map(database_value).collect::<Vec<_>>())),
        ("clean", Value::from(totals.is_clean() && totals.unreadable == 0)),
        ("totals", totals_value(totals)),
        ("pairs", Value::from(migration.pairs.iter().map(pair_value).collect::<Vec<_>>())),
        ("alone", Value::from(alone.collect::<Vec<_>>())),
        ("withoutFile", Value::from(migration.without_file)),
        ("archives", Value::from(migration.archives)),
    ])
}

fn totals_value(totals: &Totals) -> Value {
    let mut value = Object::from([
        ("compared", Value::from(totals.compared)),
        ("unreadable", Value::from(totals.unreadable)),
        ("lostSessions", Value::from(totals.lost_sessions)),
    ]);
    add_counts(&mut value, &totals.sum);
    Value::from(value)
}

fn add_counts(value: &mut Object, found: &Comparison) {
    let kept = [
        ("entries", found.entries),
        ("identical", found.identical),
        ("rewritten", found.rewritten),
        ("leftOut", found.left_out),
        ("later", found.later),
    ];
    for (name, count) in kept.into_iter().chain(found.counts()) {
        value.set(name, Value::from(count));
    }
}

fn pair_value(pair: &Pair) -> Value {
    let error = pair.result.as_ref().err().map(ToString::to_string);
    let mut value = Object::from([
        ("agent", Value::from(pair.agent.as_str())),
        ("key", Value::from(pair.key.as_str())),
        ("session", Value::from(pair.session.as_str())),
        ("file", path_text(&pair.file)),
        ("database", path_text(&pair.database)),
        ("putAway", Value::from(pair.is_put_away)),
        ("error", Value::from(error)),
    ]);
    if let Ok(found) = &pair.result {
        add_counts(&mut value, found);
        let lines: Vec<Value> = found.unreadable.iter().map(|line| Value::from(*line)).collect();
        value.set("unreadableLines", Value::from(lines));
        value.set("faults", Value::from(found.faults.iter().map(fault_value).collect::<Vec<_>>()));
    }
    Value::from(value)
}

/// Every fault has the same members; those of other kinds are null.
fn fault_value(fault: &Fault) -> Value {
    let (mut taken_by, mut again, mut parents, mut places) = (None, None, Value::Null, Value::Null);
    match &fault.kind {
        FaultKind::IdTaken { by } => taken_by = Some(*by),
        FaultKind::Doubled { again: id } => again.clone_from(id),
        FaultKind::Reparented { file, database } => {
            let both = [("file", Value::from(file.clone())), ("database", Value::from(database.clone()))];
            parents = Value::from(Object::from(both));
        }
        FaultKind::Changed { places: found, .. } => {
            places = Value::from(found.iter().map(place_value).collect::<Vec<_>>());
        }
        FaultKind::Lost | FaultKind::Added | FaultKind::Moved => {}
    }
    let more = if let FaultKind::Changed { more, .. } = &fault.kind { *more } else { 0 };
    Value::from(Object::from([
        ("kind", Value::from(fault.kind.word())),
        ("entry", Value::from(fault.entry.clone())),
        ("line", Value::from(fault.line)),
        ("idTakenByLine", Value::from(taken_by)),
        ("againAs", Value::from(again)),
        ("parent", parents),
        ("places", places),
        ("morePlaces", Value::from(more)),
    ]))
}

fn place_value(place: &Difference) -> Value {
    Value::from(Object::from([
        ("path", Value::from(place.path.as_str())),
        ("file", held_value(&place.file)),
        ("database", held_value(&place.database)),
        ("fromChar", Value::from(place.from)),
    ]))
}

/// Texts are only measured: they may hold secrets.
fn held_value(held: &Held) -> Value {
    let (kind, member) = match held {
        Held::Nothing => return Value::Null,
        Held::Text(chars) => ("text", ("chars", Value::from(*chars))),
        Held::Plain(json) => ("value", ("json", Value::from(json.as_str()))),
        Held::List(items) => ("list", ("items", Value::from(*items))),
        Held::Object => return Value::from(Object::from([("kind", Value::from("object"))])),
    };
    Value::from(Object::from([("kind", Value::from(kind)), member]))
}
