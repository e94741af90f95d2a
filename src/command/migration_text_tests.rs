//! Texts of migration faults.

use super::*;

fn words(kind: ImportFaultKind) -> String {
    describe_fault(&ImportFault { entry_id: Some("e3".into()), line: 4, kind })
}

#[test]
fn every_fault_names_its_entry_its_line_and_the_difference() {
    let place = |path: &str, file, database, from| EntryDifference {
        path: path.into(),
        file,
        database,
        first_difference: from,
    };
    let places = vec![
        place("message.content", ValueSummary::Text(6), ValueSummary::Text(1), Some(0)),
        place("timestamp", ValueSummary::Scalar("\"t\"".into()), ValueSummary::Nothing, None),
    ];
    let reported = [
        ImportFaultKind::Lost,
        ImportFaultKind::IdTaken { taken_by_line: 2 },
        ImportFaultKind::Added,
        ImportFaultKind::Changed { differences: places, unlisted: 3 },
        ImportFaultKind::Reparented { file: Some("e2".into()), database: None },
        ImportFaultKind::Duplicated { duplicate_id: Some("e3".into()) },
        ImportFaultKind::Duplicated { duplicate_id: Some("zz".into()) },
        ImportFaultKind::Moved,
    ]
    .map(words);
    let expected = [
        "line 4 e3: lost, not in the database",
        "line 4 e3: lost, because line 2 has the same id and only that one was imported",
        "line 4 e3: added to the file after the import, not in the database",
        "line 4 e3: changed, message.content: 6 chars in the file, 1 char in the database, from character 1; \
         timestamp: \"t\" in the file, nothing in the database; and 3 more",
        "line 4 e3: re-parented, follows e2 in the file but no entry in the database",
        "line 4 e3: duplicated, the database has it twice",
        "line 4 e3: duplicated, the database also has it as zz",
        "line 4 e3: moved to another position in the database",
    ];
    assert_eq!(reported, expected);
}
