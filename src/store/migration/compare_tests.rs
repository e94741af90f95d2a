//! Plants losses in an import one by one and expects each to be found; the importer's intended changes are not losses.

use super::ImportFaultKind::{Added, Changed, Doubled, Lost, Moved, Reparented};
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

fn reported(found: &ImportComparison) -> Vec<(&str, u64, ImportFaultKind)> {
    found.faults.iter().map(|it| (it.entry.as_deref().unwrap_or("-"), it.line, it.kind)).collect()
}

#[test]
fn a_clean_import_has_no_fault_even_after_the_gateway_continued() {
    let (lines, mut rows) = (transcript(), transcript());
    rows.push(message("e7", "\"e6\"", "later"));
    let found = compared(&lines, &rows);
    assert_eq!(
        (found.counts.entries, found.counts.identical, found.counts.later, found.faults.len()),
        (7, 7, 1, 0)
    );
}

#[test]
fn a_lost_entry_is_named() {
    let (lines, mut rows) = (transcript(), transcript());
    rows.remove(3);
    assert_eq!(reported(&compared(&lines, &rows)), [("e3", 4, Lost)]);
}

#[test]
fn a_changed_entry_is_named() {
    let (lines, mut rows) = (transcript(), transcript());
    rows[3] = rows[3].replace("text 3", "text three");
    assert_eq!(reported(&compared(&lines, &rows)), [("e3", 4, Changed)]);
}

#[test]
fn a_duplicate_entry_is_found_under_the_same_and_another_id() {
    let (lines, mut rows) = (transcript(), transcript());
    rows.push(rows[2].clone());
    rows.push(rows[4].replace("\"id\":\"e4\"", "\"id\":\"zz\""));
    let found = compared(&lines, &rows);
    assert_eq!(reported(&found), [("e2", 3, Doubled), ("e4", 5, Doubled)]);
}

#[test]
fn a_re_parented_entry_is_named() {
    let (lines, mut rows) = (transcript(), transcript());
    rows[5] = rows[5].replace("\"parentId\":\"e4\"", "\"parentId\":\"e1\"");
    let found = compared(&lines, &rows);
    assert_eq!(reported(&found), [("e5", 6, Reparented)]);
}

#[test]
fn a_changed_order_is_reported_with_the_fewest_entries() {
    let (lines, mut rows) = (transcript(), transcript());
    let moved = rows.remove(2);
    rows.push(moved);
    assert_eq!(reported(&compared(&lines, &rows)), [("e2", 3, Moved)]);
}

#[test]
fn all_planted_losses_are_found_at_once() {
    let (lines, mut rows) = (transcript(), transcript());
    rows[1] = rows[1].replace("text 1", "");
    rows.remove(4);
    rows.push(rows[2].clone());
    let found = compared(&lines, &rows);
    assert_eq!(reported(&found), [("e1", 2, Changed), ("e2", 3, Doubled), ("e4", 5, Lost)]);
}

#[test]
fn new_lines_at_the_end_of_a_file_in_use_are_added_not_lost() {
    let (lines, rows) = (transcript(), transcript());
    let found = compare("s1", &source(&lines), &source(&rows[..5]), true).unwrap();
    assert_eq!(reported(&found), [("e5", 6, Added), ("e6", 7, Added)]);
    let gap: Vec<String> = rows[..2].iter().chain(&rows[3..5]).cloned().collect();
    let found = compare("s1", &source(&lines), &source(&gap), true).unwrap();
    assert_eq!(reported(&found), [("e2", 3, Lost), ("e5", 6, Added), ("e6", 7, Added)]);
    assert_eq!(reported(&compared(&lines, &rows[..6])), [("e6", 7, Lost)]);
}

#[test]
fn a_line_that_repeats_another_is_left_out_and_one_that_only_has_its_id_is_lost() {
    let (mut lines, rows) = (transcript(), transcript());
    lines.push(lines[2].clone());
    lines.push(message("e2", "\"e1\"", "another text"));
    let found = compared(&lines, &rows);
    assert_eq!((found.counts.left_out, reported(&found)), (1, vec![("e2", 9, Lost)]));
}

#[test]
fn lines_after_a_broken_line_are_lost_by_the_import() {
    let (mut lines, rows) = (transcript(), transcript());
    lines[5] = "{broken".to_owned();
    let found = compared(&lines, &rows[..5]);
    assert_eq!((found.unreadable_lines.as_slice(), reported(&found)), (&[6][..], vec![("e6", 7, Lost)]));
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
    assert_eq!((found.counts.identical, reported(&found)), (3, Vec::new()));
    rows.push(row(two, 1, "null", "a"));
    assert_eq!(reported(&compared(&lines, &rows)), [("7a56921d076cb303-1", 2, Doubled)]);
}

#[test]
fn a_dead_branch_of_a_prompt_that_was_sent_again_is_left_out() {
    let mut lines = transcript();
    let context = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\\nx\\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>\\n\\n";
    lines.insert(5, message("d1", "\"e4\"", &format!("{context}text 5")));
    lines.insert(6, message("d2", "\"d1\"", "dead"));
    let found = compared(&lines, &transcript());
    assert_eq!((found.counts.left_out, reported(&found)), (2, Vec::new()));
    let mut rows = transcript();
    rows.remove(3);
    assert_eq!(reported(&compared(&lines, &rows)), [("e3", 4, Lost)], "what the live branch needs is lost");
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

fn is_repaired(line: &str, row: &str) -> bool {
    find_fault(js::parse(line).unwrap(), js::parse(row).unwrap()).is_none()
}

#[test]
fn a_repair_of_the_gateway_explains_a_difference() {
    let line = r#"{"type":"message","message":{"role":"user","content":"see","MediaPath":"/a.png","MediaType":"image/png"}}"#;
    let row = r#"{"type":"message","message":{"role":"user","content":"see","__openclaw":{"media":[{"path":"/a.png","contentType":"image/png"}]}}}"#;
    assert!(is_repaired(line, row));
    assert!(!is_repaired(line, &row.replace("/a.png", "/b.png")));
    let none = r#"{"type":"message","message":{"role":"user","MediaPaths":[],"MediaStaged":true}}"#;
    assert!(is_repaired(none, r#"{"type":"message","message":{"role":"user"}}"#));
}

#[test]
fn an_object_of_many_members_does_not_cost_the_square_of_its_size() {
    let object = |last: u8| {
        let members: Vec<String> = (0..100_000).map(|at| format!("\"key {at}\":1")).collect();
        format!("{{{},\"z\":{last}}}", members.join(","))
    };
    let [one, two] = [object(1), object(2)].map(|text| js::parse(&text).unwrap());
    assert_eq!(find_fault(one.clone(), one.clone()), None);
    assert_eq!(find_fault(one, two), Some(Changed));
}
