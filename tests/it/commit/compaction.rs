//! A compaction as the entry that ends a branch: after the active leaf, after an edited copy of the path, and
//! with all references to the copied entries.

use clawscope::commit::{PlannedCompaction, Refusal, Remap, SystemClock, UndoTarget, receipts, write};
use clawscope::ids::EntryIx;
use clawscope::js::{self, Value};
use clawscope::policy::compact::FileLists;
use clawscope::policy::truncate::{CutOptions, truncated_message};

use super::branch::{labels_in_force, text_of};
use super::{ANSWER, CALL, RESULT, USER, lines};
use crate::support::session::Session;
use clawscope::units::{Chars, Millis, Tokens};

const TIME: &str = "2026-02-25T06:13:20.000Z";
const NEXT: &str = r#"{"type":"message","id":"u2","parentId":"a2","timestamp":"2026-02-21T05:00:05.000Z","message":{"role":"user","content":"and now?"}}"#;
const LAST: &str = r#"{"type":"message","id":"a3","parentId":"u2","timestamp":"2026-02-21T05:00:06.000Z","message":{"role":"assistant","content":[{"type":"text","text":"later"}],"stopReason":"stop"}}"#;

fn talk() -> Session {
    Session::new(&lines(&[USER, CALL, RESULT, ANSWER, NEXT, LAST]))
}

fn keeping(first_kept: u32) -> PlannedCompaction {
    PlannedCompaction {
        summary: "It was read.".into(),
        first_kept: EntryIx(first_kept),
        tokens_before: Tokens(12.0),
        details: Some(FileLists { read: vec!["a.rs".into()], modified: Vec::new() }),
        from_hook: false,
    }
}

/// The runtime cuts texts by UTF-16 units, so that a summary may end in half an emoji.
#[test]
fn a_summary_that_ends_in_half_a_character_reads_back_unchanged() {
    let session = talk();
    let halved = js::JsString::from([&[b'x'.into(); 3][..], &[0xD83D]].concat());
    let planned = PlannedCompaction { summary: halved.clone(), ..keeping(4) };
    let prepared = session.prepare_with(Vec::new(), Some(planned)).unwrap();
    let line = &prepared.lines.last().expect("a compaction").text;
    assert!(line.contains(r#""summary":"xxx\ud83d""#), "{line}");
    write(&prepared, Millis::ZERO, &SystemClock).unwrap();
    let text = String::from_utf8(session.bytes()).expect("no half of a character is in the file");
    let read = js::parse(text.lines().last().expect("a line")).expect("JSON");
    assert_eq!(read.get("summary").and_then(js::Value::as_str), Some(&halved));
}

fn undone(session: &Session) -> Vec<String> {
    let undo = session.prepare_undo(UndoTarget::LastCommit).unwrap();
    write(&undo, Millis::ZERO, &SystemClock).unwrap();
    session.planned(&undo)
}

#[test]
fn a_compaction_without_edits_copies_no_entry_and_is_the_new_leaf() {
    let session = talk();
    let (before, old) = (session.bytes(), session.context());
    let prepared = session.prepare_with(Vec::new(), Some(keeping(4))).unwrap();
    let [record, compaction] = &prepared.lines[..] else { panic!("{:?}", prepared.lines) };
    assert_eq!(
        compaction.text,
        format!(
            r#"{{"type":"compaction","id":"{}","parentId":"{}","timestamp":"{TIME}","summary":"It was read.","firstKeptEntryId":"u2","tokensBefore":12,"details":{{"readFiles":["a.rs"],"modifiedFiles":[]}},"fromHook":false}}"#,
            compaction.id, record.id
        )
    );
    assert_eq!((prepared.parent.as_deref(), prepared.from_leaf.as_str()), (Some("a3"), "a3"));
    assert_eq!((&prepared.leaf, &prepared.record_id), (&compaction.id, &record.id));
    assert_eq!((prepared.remaps.len(), prepared.changed.len()), (0, 0));
    let written = write(&prepared, Millis::ZERO, &SystemClock).unwrap();
    assert_eq!((&written.leaf, &written.receipt.id), (&compaction.id, &record.id));
    let session = session.reload();
    assert!(session.bytes().starts_with(&before));
    let summary = r#"{"role":"compactionSummary","summary":"It was read.","tokensBefore":12,"timestamp":1772000000000}"#;
    assert_eq!(session.context(), [summary, &old[4], &old[5]]);
    assert_eq!(undone(&session), old);
}

#[test]
fn going_back_to_a_compaction_keeps_it_the_last_line() {
    let session = talk();
    write(&session.prepare_with(Vec::new(), Some(keeping(4))).unwrap(), Millis::ZERO, &SystemClock).unwrap();
    let session = session.reload();
    let (new, leaf) = (session.context(), session.index.display_id(session.index.last().unwrap()));
    let label = format!(
        r#"{{"type":"label","id":"l9","parentId":"u1","timestamp":"2026-02-25T06:13:20.000Z","targetId":"{leaf}","label":"short"}}"#
    );
    // The leaf is the label's, on another branch; then undo to the old one, and redo to the compaction.
    undone(&session);
    let bytes = [session.bytes(), label.into_bytes(), b"\n".to_vec()].concat();
    let text = String::from_utf8(bytes).unwrap();
    let mut kept: Vec<&str> = text.lines().collect();
    let last = kept.len() - 1;
    kept.swap(last - 1, last);
    let session = Session::new((kept.join("\n") + "\n").as_bytes());
    let redo = session.prepare_undo(UndoTarget::LastUndo).unwrap();
    let [record, label, compaction] = &redo.lines[..] else { panic!("{:?}", redo.lines) };
    assert_eq!((&redo.record_id, &redo.leaf), (&record.id, &compaction.id));
    assert!(compaction.text.contains(r#""firstKeptEntryId":"u2""#));
    write(&redo, Millis::ZERO, &SystemClock).unwrap();
    let session = session.reload();
    assert_eq!(session.context(), new, "the same to the byte, the time of the summary included");
    assert_eq!(labels_in_force(&session.bytes()).get(&compaction.id).map(String::as_str), Some("short"));
    assert!(label.text.contains("short"));
    assert_eq!(undone(&session.reload()).len(), 6);
}

#[test]
fn edits_come_first_and_the_compaction_keeps_their_copies() {
    let session = talk();
    let old = session.context();
    let prepared = session.prepare_with(vec![session.replace(EntryIx(5), "cut")], Some(keeping(4))).unwrap();
    // The first kept entry is before the first change, so it is shared.
    let compaction = js::parse(&prepared.lines.last().unwrap().text).unwrap();
    assert_eq!(text_of(&compaction, "firstKeptEntryId"), "u2");
    assert_eq!(prepared.lines[0].copy_of, Some(EntryIx(5)));

    let prepared = session.prepare_with(vec![session.replace(EntryIx(4), "cut")], Some(keeping(4))).unwrap();
    let ids: Vec<&str> = prepared.lines.iter().map(|line| line.id.as_str()).collect();
    let [user, _, _, compaction] = ids[..] else { panic!("{ids:?}") };
    let remap =
        Remap { entry: compaction.into(), key: "firstKeptEntryId", from: "u2".into(), to: user.into() };
    assert_eq!(prepared.remaps, [remap]);
    write(&prepared, Millis::ZERO, &SystemClock).unwrap();
    let session = session.reload();
    let context = session.context();
    assert_eq!(context.len(), 3);
    assert!(context[0].contains("It was read.") && context[1].contains("cut"), "{context:?}");
    assert_eq!(context[2], old[5]);
    assert_eq!(undone(&session), old);
}

#[test]
fn cutting_a_result_before_a_compaction_preserves_its_kept_part_and_labels() {
    let compaction = r#"{"type":"compaction","id":"k1","parentId":"a3","timestamp":"2026-02-21T05:00:07.000Z","summary":"s","firstKeptEntryId":"r1","tokensBefore":9}"#;
    let summary = r#"{"type":"branch_summary","id":"b1","parentId":"k1","timestamp":"2026-02-21T05:00:08.000Z","fromId":"a3","summary":"tried"}"#;
    let label = r#"{"type":"label","id":"l1","parentId":"b1","timestamp":"2026-02-21T05:00:09.000Z","targetId":"a3","label":"here"}"#;
    let long = RESULT.replace("\"long\"", &format!("\"{}\"", "x".repeat(9000)));
    let session = Session::new(&lines(&[USER, CALL, &long, ANSWER, NEXT, LAST, compaction, summary, label]));
    let old = session.context();
    let mut change = session.clear(EntryIx(2));
    let whole =
        clawscope::store::body::read_message(&session.source, &session.index, EntryIx(2)).unwrap().unwrap();
    change.message = truncated_message(&whole, Chars(5000.0), &CutOptions::default()).unwrap();
    write(&session.prepare(vec![change]).unwrap(), Millis::ZERO, &SystemClock).unwrap();
    let session = session.reload();
    let context = session.context();
    assert_eq!(context.len(), old.len(), "nothing that was kept is lost");
    assert!(context[1].contains("truncated") && context[1].len() < old[1].len());
    assert_eq!((&context[2], &context[4]), (&old[2], &old[4]));
    assert!(context[5].contains("tried"), "the branch summary stays");
    let copy = session.index.iter().filter(|(ix, _)| ix.0 > 8).map(|(ix, _)| session.index.display_id(ix));
    let labels = labels_in_force(&session.bytes());
    assert_eq!(labels.get("a3").map(String::as_str), Some("here"));
    assert_eq!(copy.filter(|id| labels.get(id).is_some_and(|label| label == "here")).count(), 1);
    assert_eq!(undone(&session), old);
}

#[test]
fn a_shortened_result_may_lose_its_details_and_no_other_key() {
    let session = talk();
    let mut change = session.clear(EntryIx(2));
    change.message.as_object_mut().unwrap().remove("details");
    let prepared = session.prepare(vec![change.clone()]).unwrap();
    let result = js::parse(&prepared.lines[0].text).unwrap();
    assert_eq!(result.get("message"), Some(&change.message));
    write(&prepared, Millis::ZERO, &SystemClock).unwrap();
    assert!(!session.reload().context()[2].contains("details"));

    let session = talk();
    change.message.as_object_mut().unwrap().remove("isError");
    assert!(matches!(session.prepare(vec![change]), Err(Refusal::NotOnlyContent { .. })));
    let mut added = session.clear(EntryIx(3));
    added.message.as_object_mut().unwrap().set("details", Value::Null);
    assert!(matches!(session.prepare(vec![added]), Err(Refusal::NotOnlyContent { .. })));
}

#[test]
fn an_impossible_compaction_is_refused_without_writing() {
    let session = talk();
    let before = session.bytes();
    let refusal = |compaction| session.prepare_with(Vec::new(), Some(compaction)).unwrap_err();
    for blank in ["", " \n\t"] {
        let refused = refusal(PlannedCompaction { summary: blank.into(), ..keeping(4) });
        assert!(matches!(refused, Refusal::NoSummary { .. }), "{refused:?}");
    }
    assert!(matches!(refusal(keeping(77)), Refusal::NotOnPath { entry, .. } if entry == "number 77"));
    let lost = refusal(keeping(2));
    assert!(matches!(&lost, Refusal::Unpaired { what, .. } if what.contains("c1")), "{lost:?}");
    assert_eq!(session.bytes(), before);

    let broken = r#"{"type":"message","id":"x","parentId":"u1"}"#;
    let session = Session::new(&lines(&[USER, broken, CALL, RESULT, ANSWER, NEXT, LAST]));
    let refused = session.prepare_with(Vec::new(), Some(keeping(5))).unwrap_err();
    assert!(matches!(refused, Refusal::CannotAppend { .. }), "{refused:?}");
}

#[test]
fn old_receipts_are_read_alongside_new_ones() {
    let record = r#"{"type":"custom","customType":"clawscope.commit","data":{"version":1,"policy":"prune","settings":{"softTrimRatio":0.3},"fromLeaf":"a2","leaf":"c9","changed":[],"tokensBefore":1000,"tokensAfter":900,"tool":"clawscope 0.1.0"},"id":"c9","parentId":"a3","timestamp":"2026-02-25T06:13:20.000Z"}"#;
    let session = Session::new(&lines(&[USER, CALL, RESULT, ANSWER, NEXT, LAST, record]));
    write(&session.prepare_with(Vec::new(), Some(keeping(4))).unwrap(), Millis::ZERO, &SystemClock).unwrap();
    let session = session.reload();
    let receipts = receipts(&session.index, &session.source).unwrap();
    let [old, new] = &receipts[..] else { panic!("{receipts:?}") };
    assert_eq!((old.policies.len(), old.policies[0].name.as_str()), (1, "prune"));
    assert_eq!(old.policies[0].settings.get("softTrimRatio"), Some(&Value::Number(0.3)));
    assert!(old.policies[0].tokens_before == Tokens(1000.0) && old.tokens_after == Some(Tokens(900.0)));
    assert_eq!(new.from_leaf, "c9");
}
