//! Handwritten lists for cases that the recorded fixture lacks.

use super::*;
use crate::js::parse;
use crate::store::trajectory::RecordedList;
use crate::units::Chars;

/// Builds a list of messages; a message without a time takes its position.
fn messages(list: &[&str]) -> Vec<Value> {
    let timed = |(at, text): (usize, &&str)| {
        let mut message = parse(text).unwrap();
        let object = message.as_object_mut().unwrap();
        if !object.contains("timestamp") {
            object.set("timestamp", Value::from(at));
        }
        message
    };
    list.iter().enumerate().map(timed).collect()
}

fn compared(recorded: &[&str], rebuilt: &[&str], release: Option<[u32; 3]>) -> RecordingComparison {
    let items = messages(recorded);
    let recorded = RecordedList { total: items.len() as u64, items };
    let rebuilt = messages(rebuilt).into_iter().enumerate();
    let rebuilt: Vec<_> =
        rebuilt.map(|(at, message)| RebuiltMessage { entry: format!("e{at}"), message }).collect();
    RecordingComparison::new(&recorded, &rebuilt, release, false)
}

fn names(comparison: &RecordingComparison) -> Vec<&'static str> {
    comparison.repairs.iter().map(|repair| repair.name).collect()
}

const ASK: &str = r#"{"role":"user","content":[{"type":"text","text":"go"}]}"#;

#[test]
fn a_release_before_the_sanitiser_keeps_delivery_copies() {
    let mirror = r#"{"role":"assistant","provider":"openclaw","model":"delivery-mirror","content":"a"}"#;
    let block = r#"{"role":"assistant","provider":"openclaw","model":"delivery-mirror","content":[{"type":"text","text":"a"}]}"#;
    let old = compared(&[ASK, block], &[ASK, mirror], Some([2026, 4, 22]));
    assert_eq!(
        (old.verdict().as_str(), names(&old)),
        ("equal after repairs", vec!["assistant-text-made-a-block"])
    );
    let new = compared(&[ASK, block], &[ASK, mirror], Some([2026, 6, 11]));
    assert_eq!(new.verdict(), "different");
}

#[test]
fn a_list_sent_without_repairs_is_equal() {
    let result = r#"{"role":"toolResult","toolCallId":"c","toolName":"read","content":[],"details":1}"#;
    let comparison = compared(&[ASK, result], &[ASK, result], Some([2026, 6, 11]));
    assert_eq!((comparison.verdict().as_str(), names(&comparison)), ("equal", vec![]));
}

#[test]
fn the_first_difference_names_both_sides_and_unmatched_messages() {
    let answer = r#"{"role":"assistant","content":[{"type":"text","text":"yes"}]}"#;
    let other = r#"{"role":"assistant","content":[{"type":"text","text":"no, never"}]}"#;
    let late = r#"{"role":"user","content":"late","timestamp":70}"#;
    let lost = r#"{"role":"user","content":"lost","timestamp":80}"#;
    let comparison = compared(&[ASK, answer, lost], &[ASK, other, late], Some([2026, 6, 11]));
    let difference = comparison.difference.clone().unwrap();
    assert_eq!((comparison.verdict().as_str(), difference.position), ("different", 1));
    assert_eq!(difference.paths, ["/content/0/text"]);
    let (recorded, rebuilt) = (difference.recorded.clone().unwrap(), difference.rebuilt.clone().unwrap());
    assert_eq!((recorded.entry, rebuilt.entry.as_deref()), (None, Some("e1")));
    assert!(recorded.role == "assistant" && recorded.chars + Chars(6.0) == rebuilt.chars);
    assert_eq!(
        (difference.only_recorded.clone(), difference.only_rebuilt.clone()),
        (vec![2], vec!["e2".to_owned()])
    );
}

#[test]
fn a_repair_for_a_provider_is_a_difference_with_its_place() {
    let answer =
        |rest: &str| format!(r#"{{"role":"assistant","content":[{{"type":"text","text":"a"{rest}}}]}}"#);
    let comparison =
        compared(&[ASK, &answer("")], &[ASK, &answer(r#","textSignature":"s""#)], Some([2026, 6, 11]));
    let difference = comparison.difference.unwrap();
    assert_eq!(difference.position, 1);
    assert_eq!(difference.paths, ["/content/0/textSignature"]);
}
