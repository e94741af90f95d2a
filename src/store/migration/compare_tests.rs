//! Plants losses in an import one by one and expects each to be found; the importer's intended changes are not losses.

use super::*;

const HEADER: &str = r#"{"type":"session","version":3,"id":"s1","timestamp":"t","cwd":"/w"}"#;

fn message(id: &str, parent: &str, text: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"t-{id}","message":{{"role":"user","content":"{text}"}}}}"#
    )
}

fn transcript() -> Vec<String> {
    let mut lines = vec![HEADER.to_owned(), message("e1", "null", "text 1")];
    lines.extend(
        (2..=6).map(|at| message(&format!("e{at}"), &format!("\"e{}\"", at - 1), &format!("text {at}"))),
    );
    lines
}

fn source(lines: &[String]) -> Source {
    Source::from_memory(
        "t.jsonl",
        lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect::<Vec<_>>(),
    )
}

fn compared(lines: &[String], rows: &[String]) -> ImportComparison {
    compare("s1", &source(lines), &source(rows), false).unwrap()
}

fn reported(found: &ImportComparison) -> Vec<(&str, u64, &'static str)> {
    let reported = |fault: &'_ ImportFault| (fault.line, fault.kind.as_str());
    found
        .faults
        .iter()
        .map(|it| (it.entry_id.as_deref().unwrap_or("-"), reported(it).0, reported(it).1))
        .collect()
}

#[test]
fn a_clean_import_has_no_fault_even_after_the_gateway_continued() {
    let (lines, mut rows) = (transcript(), transcript());
    rows.push(message("e7", "\"e6\"", "later"));
    let found = compared(&lines, &rows);
    assert_eq!((found.entries, found.identical, found.added_rows, found.faults.len()), (7, 7, 1, 0));
}

#[test]
fn a_lost_entry_is_named() {
    let (lines, mut rows) = (transcript(), transcript());
    rows.remove(3);
    assert_eq!(reported(&compared(&lines, &rows)), [("e3", 4, "lost")]);
}

#[test]
fn a_changed_entry_is_named_with_the_place_and_without_its_text() {
    let (lines, mut rows) = (transcript(), transcript());
    rows[3] = rows[3].replace("text 3", "text three");
    let found = compared(&lines, &rows);
    assert_eq!(reported(&found), [("e3", 4, "changed")]);
    let ImportFaultKind::Changed { differences: places, unlisted: 0 } = &found.faults[0].kind else {
        panic!("changed")
    };
    assert_eq!((places[0].path.as_str(), places[0].first_difference), ("message.content", Some(5)));
    assert!(!format!("{places:?}").contains("three"));
}

#[test]
fn a_duplicate_entry_is_found_under_the_same_and_another_id() {
    let (lines, mut rows) = (transcript(), transcript());
    rows.push(rows[2].clone());
    rows.push(rows[4].replace("\"id\":\"e4\"", "\"id\":\"zz\""));
    let found = compared(&lines, &rows);
    assert_eq!(reported(&found), [("e2", 3, "doubled"), ("e4", 5, "doubled")]);
    assert_eq!(found.faults[1].kind, ImportFaultKind::Duplicated { duplicate_id: Some("zz".into()) });
}

#[test]
fn a_re_parented_entry_is_named_with_both_parents() {
    let (lines, mut rows) = (transcript(), transcript());
    rows[5] = rows[5].replace("\"parentId\":\"e4\"", "\"parentId\":\"e1\"");
    let found = compared(&lines, &rows);
    assert_eq!(reported(&found), [("e5", 6, "reparented")]);
    let kind = ImportFaultKind::Reparented { file: Some("e4".into()), database: Some("e1".into()) };
    assert_eq!(found.faults[0].kind, kind);
}

#[test]
fn a_changed_order_is_reported_with_the_fewest_entries() {
    let (lines, mut rows) = (transcript(), transcript());
    let moved = rows.remove(2);
    rows.push(moved);
    assert_eq!(reported(&compared(&lines, &rows)), [("e2", 3, "moved")]);
}

#[test]
fn all_planted_losses_are_found_at_once() {
    let (lines, mut rows) = (transcript(), transcript());
    rows[1] = rows[1].replace("text 1", "");
    rows.remove(4);
    rows.push(rows[2].clone());
    let found = compared(&lines, &rows);
    assert_eq!(reported(&found), [("e1", 2, "changed"), ("e2", 3, "doubled"), ("e4", 5, "lost")]);
    let counts = [("lost", 1), ("added", 0), ("changed", 1), ("reparented", 0), ("doubled", 1), ("moved", 0)];
    assert_eq!(found.fault_counts(), counts);
    assert_eq!(found.faulty_entries(), 3);
}

#[test]
fn new_lines_at_the_end_of_a_file_in_use_are_added_not_lost() {
    let (lines, rows) = (transcript(), transcript());
    let found = compare("s1", &source(&lines), &source(&rows[..5]), true).unwrap();
    assert_eq!(reported(&found), [("e5", 6, "added"), ("e6", 7, "added")]);
    let gap: Vec<String> = rows[..2].iter().chain(&rows[3..5]).cloned().collect();
    let found = compare("s1", &source(&lines), &source(&gap), true).unwrap();
    assert_eq!(reported(&found), [("e2", 3, "lost"), ("e5", 6, "added"), ("e6", 7, "added")]);
    assert_eq!(reported(&compared(&lines, &rows[..6])), [("e6", 7, "lost")]);
}

#[test]
fn a_line_that_repeats_another_is_left_out_and_one_that_only_has_its_id_is_lost() {
    let (mut lines, rows) = (transcript(), transcript());
    lines.push(lines[2].clone());
    lines.push(message("e2", "\"e1\"", "another text"));
    let found = compared(&lines, &rows);
    assert_eq!((found.skipped, reported(&found)), (1, vec![("e2", 9, "lost")]));
    assert_eq!(found.faults[0].kind, ImportFaultKind::IdTaken { taken_by_line: 3 });
}

#[test]
fn lines_after_a_broken_line_are_lost_by_the_import() {
    let (mut lines, rows) = (transcript(), transcript());
    lines[5] = "{broken".to_owned();
    let found = compared(&lines, &rows[..5]);
    assert_eq!((found.unreadable_lines.as_slice(), reported(&found)), (&[6][..], vec![("e6", 7, "lost")]));
}

#[test]
fn ids_given_on_import_are_recognised_and_a_second_import_duplicates_entries() {
    let lines: Vec<String> = [
        r#"{"type":"session","id":"s1","timestamp":"t","cwd":"/w"}"#,
        r#"{"type":"message","timestamp":"t1","message":{"role":"user","content":"a"}}"#,
        r#"{"type":"message","timestamp":"t2","message":{"role":"user","content":"b"}}"#,
    ]
    .map(str::to_owned)
    .into();
    let row = |prefix: &str, at: u8, parent: &str, text: &str| {
        format!(
            r#"{{"type":"message","timestamp":"t{at}","message":{{"role":"user","content":"{text}"}},"id":"{prefix}-{at}","parentId":{parent}}}"#
        )
    };
    let (one, two) = ("7a56921d076cb303", "0056921d076cb303");
    let header = r#"{"type":"session","id":"s1","timestamp":"t","cwd":"/w","version":3}"#.to_owned();
    let mut rows = vec![header, row(one, 1, "null", "a"), row(one, 2, "\"7a56921d076cb303-1\"", "b")];
    let found = compared(&lines, &rows);
    assert_eq!((found.identical, reported(&found)), (3, Vec::new()));
    rows.push(row(two, 1, "null", "a"));
    assert_eq!(reported(&compared(&lines, &rows)), [("7a56921d076cb303-1", 2, "doubled")]);
}

#[test]
fn a_dead_branch_of_a_prompt_that_was_sent_again_is_left_out() {
    let mut lines = transcript();
    let context = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\\nx\\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>\\n\\n";
    lines.insert(5, message("d1", "\"e4\"", &format!("{context}text 5")));
    lines.insert(6, message("d2", "\"d1\"", "dead"));
    let found = compared(&lines, &transcript());
    assert_eq!((found.skipped, reported(&found)), (2, Vec::new()));
    let mut rows = transcript();
    rows.remove(3);
    assert_eq!(reported(&compared(&lines, &rows)), [("e3", 4, "lost")], "what the live branch needs is lost");
}

#[test]
fn hostile_lines_are_compared_and_never_panic() {
    for text in [
        "",
        "\n",
        "null\n5\n[]\n\"x\"\n",
        "{\"id\":5}\n",
        "{\"type\":\"session\",\"version\":\"x\"}\n\u{feff}\n",
    ] {
        let same =
            compare("s1", &Source::from_memory("t", text.as_bytes().to_vec()), &source(&transcript()), true);
        assert!(same.is_ok());
    }
    let deep = format!("{}1{}\n", "[".repeat(3000), "]".repeat(3000));
    let deep = vec![deep.trim_end().to_owned()];
    assert_eq!(reported(&compared(&deep, &deep)), []);
}
