//! The shape of the lines that a commit appends.

use std::collections::HashMap;

use clawscope::commit::{Remap, SystemClock, write};
use clawscope::ids::EntryIx;
use clawscope::js::{self, Value};
use clawscope::units::{Bytes, Millis};

use super::{ANSWER, CALL, RESULT, USER, lines};
use crate::support::session::Session;

const TIME: &str = "2026-02-25T06:13:20.000Z";

pub(crate) fn text_of(line: &Value, key: &str) -> String {
    line.get(key).and_then(Value::as_str).map(js::JsString::to_string_lossy).unwrap_or_default()
}

#[test]
fn a_changed_result_is_copied_with_later_entries_and_the_receipt_is_last() {
    let session = Session::new(&lines(&[USER, CALL, RESULT, ANSWER]));
    let prepared = session.prepare(vec![session.clear(EntryIx(2))]).unwrap();
    let ids: Vec<&str> = prepared.lines.iter().map(|line| line.id.as_str()).collect();
    let [result, answer, record] = ids[..] else { panic!("{ids:?}") };
    let content = r#"[{"type":"text","text":"[Old tool result content cleared]"}]"#;
    let expected = [
        format!(
            r#"{{"type":"message","id":"{result}","parentId":"a1","timestamp":"{TIME}","message":{{"role":"toolResult","toolCallId":"c1","toolName":"read","content":{content},"details":{{"n":1.50}},"isError":false,"timestamp":5}}}}"#
        ),
        ANSWER
            .replace("a2", answer)
            .replace(r#""r1""#, &format!("\"{result}\""))
            .replace("2026-02-21T05:00:04.000Z", TIME),
        format!(
            r#"{{"type":"custom","customType":"clawscope.commit","data":{{"version":2,"steps":[{{"policy":"prune","settings":{{"softTrimRatio":0.3}},"tokensBefore":1000,"tokensAfter":900}}],"fromLeaf":"a2","leaf":"{record}","changed":[{{"from":"r1","to":"{result}"}}],"tokensBefore":1000,"tokensAfter":900,"promptBefore":1000,"promptAfter":900,"tool":"clawscope 0.1.0"}},"id":"{record}","parentId":"{answer}","timestamp":"{TIME}"}}"#
        ),
    ];
    let written: Vec<&str> = prepared.lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(written, expected);
    assert_eq!((prepared.leaf.as_str(), prepared.record_id.as_str()), (record, record));
    assert_eq!(prepared.byte_len(), Bytes::from_len(expected.iter().map(|line| line.len() + 1).sum()));
    assert_eq!(prepared.file_bytes(), Bytes::from_len(session.bytes().len()));
    assert_eq!(prepared.parent.as_deref(), Some("a1"));
    assert_eq!(prepared.changed, [("r1".to_owned(), result.to_owned())]);
    // The file's own time is not the test's, and no answer carries usage.
    assert_eq!(prepared.warnings, [""; 0]);
}

#[test]
fn a_branch_from_the_first_entry_begins_a_new_root() {
    let odd = RESULT.replace("\"a1\"", "null");
    let session = Session::new(&lines(&[&odd, &ANSWER.replace("c1", "c9")]));
    let prepared = session.prepare(vec![session.clear(EntryIx(0))]).unwrap();
    let first = js::parse(&prepared.lines[0].text).unwrap();
    assert_eq!(first.get("parentId"), Some(&Value::Null));
    assert_eq!(prepared.parent, None);
    // The result was unpaired before; that is reported, not refused.
    assert!(prepared.warnings.iter().any(|text| text.contains("result of call c1 without the call")));
}

#[test]
fn references_to_copied_entries_follow_and_shared_ones_are_kept() {
    let session = Session::new(&lines(&[
        USER,
        CALL,
        RESULT,
        r#"{"type":"compaction","id":"k1","parentId":"r1","timestamp":"2026-02-21T05:00:04.000Z","summary":"s","firstKeptEntryId":"r1","tokensBefore":9}"#,
        r#"{"type":"branch_summary","id":"b1","parentId":"k1","timestamp":"2026-02-21T05:00:05.000Z","fromId":"k1","summary":"t"}"#,
        r#"{"type":"branch_summary","id":"b2","parentId":"b1","timestamp":"2026-02-21T05:00:06.000Z","fromId":"root","summary":"t"}"#,
        r#"{"type":"context_edit","id":"e1","parentId":"b2","timestamp":"2026-02-21T05:00:07.000Z","targetId":"r1","replacement":null}"#,
        r#"{"type":"compaction","id":"k2","parentId":"e1","timestamp":"2026-02-21T05:00:08.000Z","summary":"s","firstKeptEntryId":"a1","tokensBefore":9}"#,
    ]));
    let prepared = session.prepare(vec![session.clear(EntryIx(2))]).unwrap();
    let new = |at: usize| prepared.lines[at].id.clone();
    let remap = |entry: &str, key, from: &str, to| Remap { entry: entry.into(), key, from: from.into(), to };
    assert_eq!(
        prepared.remaps,
        [
            remap("k1", "firstKeptEntryId", "r1", new(0)),
            remap("b1", "fromId", "k1", new(1)),
            remap("e1", "targetId", "r1", new(0)),
        ]
    );
    let kept = js::parse(&prepared.lines[6].text).unwrap();
    assert_eq!(text_of(&kept, "firstKeptEntryId"), "a1", "a shared ancestor stays");
    // The compaction ends the branch as it ended the old one, and our record is before it.
    assert_eq!((&prepared.record_id, &prepared.leaf), (&new(5), &new(6)));
    assert_eq!(text_of(&kept, "parentId"), new(5));
}

#[test]
fn a_kept_part_that_began_at_a_usage_entry_begins_at_the_next_copy() {
    let session = Session::new(&lines(&[
        USER,
        CALL,
        RESULT,
        r#"{"type":"usage","id":"w1","parentId":"r1","timestamp":"2026-02-21T05:00:04.000Z","kind":"cache_warm","usage":{"input":1}}"#,
        &ANSWER.replace("\"r1\"", "\"w1\""),
        r#"{"type":"compaction","id":"k1","parentId":"a2","timestamp":"2026-02-21T05:00:05.000Z","summary":"s","firstKeptEntryId":"w1","tokensBefore":9}"#,
    ]));
    let prepared = session.prepare(vec![session.clear(EntryIx(2))]).unwrap();
    let copied: Vec<_> = prepared.lines.iter().map(|line| line.copy_of).collect();
    assert_eq!(copied, [Some(EntryIx(2)), Some(EntryIx(4)), None, Some(EntryIx(5))]);
    let compaction = js::parse(&prepared.lines[3].text).unwrap();
    assert_eq!(text_of(&compaction, "firstKeptEntryId"), prepared.lines[1].id);
    assert!(prepared.warnings.iter().any(|text| text.contains("1 usage entries")), "{:?}", prepared.warnings);
}

#[test]
fn a_changed_custom_message_keeps_its_other_members() {
    let note = r#"{"type":"custom_message","customType":"note","content":"long","display":true,"id":"n1","parentId":"a2","timestamp":"2026-02-21T05:00:05.000Z"}"#;
    let session = Session::new(&lines(&[USER, CALL, RESULT, ANSWER, note]));
    let mut change = session.clear(EntryIx(2));
    change.entry = EntryIx(4);
    change.message = js::parse(
        r#"{"role":"custom","customType":"note","content":"short","display":true,"timestamp":1771650005000}"#,
    )
    .unwrap();
    let prepared = session.prepare(vec![change]).unwrap();
    assert!(prepared.lines[0].text.starts_with(
        r#"{"type":"custom_message","customType":"note","content":"short","display":true,"id":""#
    ));
    assert!(session.planned(&prepared)[4].contains(r#""content":"short""#));
}

#[test]
fn copies_get_the_labels_of_their_originals() {
    let label = |id: &str, parent: &str, target: &str, label: &str| {
        format!(
            r#"{{"type":"label","id":"{id}","parentId":"{parent}","timestamp":"2026-02-21T05:00:05.000Z","targetId":"{target}"{label}}}"#
        )
    };
    let all = [
        USER.to_owned(),
        CALL.to_owned(),
        RESULT.to_owned(),
        // On another branch: the result's label, and the user's, set again later.
        label("x1", "u1", "r1", r#","label":"elsewhere""#),
        label("l1", "r1", "u1", r#","label":"old""#),
        ANSWER.replace("\"r1\"", "\"l1\""),
        label("l2", "a2", "a2", r#","label":"mine""#),
        label("x2", "u1", "u1", r#","label":"newer""#),
        label("l3", "l2", "l2", ""),
    ];
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let session = Session::new(&lines(&all));
    let prepared = session.prepare(vec![session.clear(EntryIx(2))]).unwrap();
    write(&prepared, Millis::ZERO, &SystemClock).unwrap();
    let new = |at: usize| {
        prepared.lines.iter().find(|line| line.copy_of == Some(EntryIx(at as u32))).unwrap().id.clone()
    };
    let (result, answer) = (new(2), new(5));
    let labels = labels_in_force(&session.bytes());
    let label = |id: &str| labels.get(id).map(String::as_str);
    assert_eq!((label("r1"), label(&result)), (Some("elsewhere"), Some("elsewhere")));
    assert_eq!((label("a2"), label(&answer)), (Some("mine"), Some("mine")));
    assert_eq!(label("u1"), Some("newer"));
}

/// The labels in force in a file, by entry id: the last label line wins (store K8).
pub(crate) fn labels_in_force(bytes: &[u8]) -> HashMap<String, String> {
    let text = String::from_utf8_lossy(bytes);
    let mut labels = HashMap::new();
    for line in text.lines().filter(|line| line.contains("label")) {
        let value = js::parse(line).unwrap();
        if value.get("type").is_some_and(|kind| kind.str_is("label")) {
            labels.insert(text_of(&value, "targetId"), text_of(&value, "label"));
        }
    }
    labels.retain(|_, label| !label.is_empty());
    labels
}

#[test]
fn new_lines_are_never_older_than_their_parent() {
    let late = CALL.replace("2026-02-21T05:00:02.000Z", "2026-12-31T00:00:00.000Z");
    let session = Session::new(&lines(&[USER, &late, RESULT, ANSWER]));
    let prepared = session.prepare(vec![session.clear(EntryIx(2))]).unwrap();
    let times: Vec<String> =
        prepared.lines.iter().map(|line| text_of(&js::parse(&line.text).unwrap(), "timestamp")).collect();
    assert_eq!(times, vec!["2026-12-31T00:00:00.000Z"; 3]);
}

#[test]
fn a_transcript_in_memory_can_be_planned_but_not_written() {
    use clawscope::ids::LineIds;
    use clawscope::store::{load::load, source::Source};
    let bytes = lines(&[USER, CALL, RESULT, ANSWER]);
    let file = Session::new(&bytes);
    let source = Source::from_memory("demo.jsonl", bytes);
    let index = load(&source, &mut LineIds, &mut |_, _| true).unwrap();
    let mut request = file.request(vec![file.clear(EntryIx(2))]);
    request.transcript.source = &source;
    request.transcript.index = &index;
    let prepared =
        clawscope::commit::prepare(&request, &mut clawscope::commit::RandomIds::default()).unwrap();
    assert_eq!(prepared.lines.len(), 3);
    let refused = write(&prepared, Millis::ZERO, &SystemClock).unwrap_err().to_string();
    assert!(refused.starts_with("demo.jsonl: the session is in memory"), "{refused}");
}
