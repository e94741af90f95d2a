//! JSON of `clawscope doctor --migration`.

use super::database::database_value;
use super::environment::Workspace;
use super::migration_totals::{MigrationTotals, path_value};
use crate::js::{Object, Value};
use crate::store::migration::{
    EntryDifference, FilePair, ImportComparison, ImportFault, ImportFaultKind, Migration, ValueSummary,
};

pub(super) fn report_json(workspace: &Workspace, migration: &Migration, totals: &MigrationTotals) -> Object {
    let alone = migration.unmatched.iter().map(|alone| {
        Value::from(Object::from([
            ("agent", Value::from(alone.agent.as_str())),
            ("session", Value::from(alone.session_id.as_str())),
            ("file", path_value(&alone.file)),
            ("why", Value::from(alone.reason.as_str())),
        ]))
    });
    Object::from([
        ("place", Value::from(workspace.listed.name.as_str())),
        ("demo", Value::from(workspace.listed.is_demo)),
        (
            "databases",
            Value::from(workspace.store().databases.iter().map(database_value).collect::<Vec<_>>()),
        ),
        ("clean", Value::from(totals.is_clean() && totals.unreadable_pairs == 0)),
        ("totals", totals_value(totals)),
        ("pairs", Value::from(migration.pairs.iter().map(pair_value).collect::<Vec<_>>())),
        ("alone", Value::from(alone.collect::<Vec<_>>())),
        ("withoutFile", Value::from(migration.without_file)),
        ("archives", Value::from(migration.archives)),
    ])
}

fn totals_value(totals: &MigrationTotals) -> Value {
    let mut value = Object::from([
        ("compared", Value::from(totals.compared_pairs)),
        ("unreadable", Value::from(totals.unreadable_pairs)),
        ("lostSessions", Value::from(totals.lost_sessions)),
    ]);
    add_counts(&mut value, &totals.comparison);
    Value::from(value)
}

fn add_counts(value: &mut Object, found: &ImportComparison) {
    let kept = [
        ("entries", found.entries),
        ("identical", found.identical),
        ("rewritten", found.rewritten),
        ("leftOut", found.skipped),
        ("later", found.added_rows),
    ];
    for (name, count) in kept.into_iter().chain(found.fault_counts()) {
        value.set(name, Value::from(count));
    }
}

fn pair_value(pair: &FilePair) -> Value {
    let error = pair.comparison.as_ref().err().map(ToString::to_string);
    let mut value = Object::from([
        ("agent", Value::from(pair.agent.as_str())),
        ("key", Value::from(pair.key.as_str())),
        ("session", Value::from(pair.session_id.as_str())),
        ("file", path_value(&pair.file)),
        ("database", path_value(&pair.database)),
        ("putAway", Value::from(pair.is_moved_aside)),
        ("error", Value::from(error)),
    ]);
    if let Ok(found) = &pair.comparison {
        add_counts(&mut value, found);
        let lines: Vec<Value> = found.unreadable_lines.iter().map(|line| Value::from(*line)).collect();
        value.set("unreadableLines", Value::from(lines));
        value.set("faults", Value::from(found.faults.iter().map(fault_value).collect::<Vec<_>>()));
    }
    Value::from(value)
}

/// Returns a fault as JSON. All faults have the same members; the ones of other kinds are null.
fn fault_value(fault: &ImportFault) -> Value {
    let (mut taken_by, mut again, mut parents, mut places) = (None, None, Value::Null, Value::Null);
    match &fault.kind {
        ImportFaultKind::IdTaken { taken_by_line: by } => taken_by = Some(*by),
        ImportFaultKind::Duplicated { duplicate_id: id } => again.clone_from(id),
        ImportFaultKind::Reparented { file, database } => {
            let both = [("file", Value::from(file.clone())), ("database", Value::from(database.clone()))];
            parents = Value::from(Object::from(both));
        }
        ImportFaultKind::Changed { differences: found, .. } => {
            places = Value::from(found.iter().map(difference_value).collect::<Vec<_>>());
        }
        ImportFaultKind::Lost | ImportFaultKind::Added | ImportFaultKind::Moved => {}
    }
    let more = if let ImportFaultKind::Changed { unlisted: more, .. } = &fault.kind { *more } else { 0 };
    Value::from(Object::from([
        ("kind", Value::from(fault.kind.as_str())),
        ("entry", Value::from(fault.entry_id.clone())),
        ("line", Value::from(fault.line)),
        ("idTakenByLine", Value::from(taken_by)),
        ("againAs", Value::from(again)),
        ("parent", parents),
        ("places", places),
        ("morePlaces", Value::from(more)),
    ]))
}

fn difference_value(place: &EntryDifference) -> Value {
    Value::from(Object::from([
        ("path", Value::from(place.path.as_str())),
        ("file", side_value(&place.file)),
        ("database", side_value(&place.database)),
        ("fromChar", Value::from(place.first_difference)),
    ]))
}

/// Returns kind and size of a value, never its text: it may hold secrets.
fn side_value(value: &ValueSummary) -> Value {
    let (kind, member) = match value {
        ValueSummary::Nothing => return Value::Null,
        ValueSummary::Text(chars) => ("text", ("chars", Value::from(*chars))),
        ValueSummary::Scalar(json) => ("value", ("json", Value::from(json.as_str()))),
        ValueSummary::List(items) => ("list", ("items", Value::from(*items))),
        ValueSummary::Object => return Value::from(Object::from([("kind", Value::from("object"))])),
    };
    Value::from(Object::from([("kind", Value::from(kind)), member]))
}
