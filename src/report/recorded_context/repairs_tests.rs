//! Handwritten lists for repairs that the recorded fixture lacks.

use super::rebuilt::RebuiltMessage;
use super::*;
use crate::ids::EntryIx;
use crate::js::{Value, parse};
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
        rebuilt.map(|(at, own)| RebuiltMessage::new(Some(EntryIx(at as u32)), own)).collect();
    RecordingComparison::new(&recorded, &rebuilt, release)
}

fn names(comparison: &RecordingComparison) -> Vec<&'static str> {
    comparison.repairs.iter().map(|repair| repair.name).collect()
}

const ASK: &str = r#"{"role":"user","content":[{"type":"text","text":"go"}]}"#;

#[test]
fn repairs_of_a_provider_are_found_together_and_named() {
    let rebuilt = [
        ASK,
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":" "},
            {"type":"toolCall","id":"call_1|fc_2","name":"read","arguments":{},"thoughtSignature":"s"}]}"#,
        r#"{"role":"toolResult","toolCallId":"call_1|fc_2","toolName":"read","content":[],"details":1}"#,
    ];
    let recorded = [
        ASK,
        r#"{"role":"assistant","content":[{"type":"toolCall","id":"call1fc2","name":"read","arguments":{}}]}"#,
        r#"{"role":"toolResult","toolCallId":"call1fc2","toolName":"read","content":[]}"#,
    ];
    for release in [None, Some([2026, 6, 11])] {
        let comparison = compared(&recorded, &rebuilt, release);
        assert_eq!(comparison.verdict(), "equal after repairs", "{comparison:?}");
        let wanted = [
            "blank-text-block-removed",
            "tool-result-details-removed",
            "tool-call-ids-rewritten",
            "thinking-dropped",
            "signatures-stripped",
        ];
        assert_eq!(names(&comparison), wanted);
    }
}

#[test]
fn a_call_without_a_result_and_user_messages_in_a_row_are_repaired() {
    let call = r#"{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{}}],"stopReason":"toolUse"}"#;
    let invented = r#"{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"[openclaw] missing tool result in session history; inserted synthetic error result for transcript repair."}],"isError":true,"timestamp":77}"#;
    let more = r#"{"role":"user","content":[{"type":"text","text":"on"}],"timestamp":9}"#;
    let merged = r#"{"role":"user","content":[{"type":"text","text":"go"},{"type":"text","text":"on"}],"timestamp":9}"#;
    let comparison = compared(&[ASK, call, invented, merged], &[ASK, call, ASK, more], None);
    assert_eq!(comparison.verdict(), "equal after repairs", "{comparison:?}");
    assert_eq!(names(&comparison), ["tool-results-paired", "user-turns-merged"]);
    let pair = comparison.repairs.iter().map(|repair| repair.count).collect::<Vec<_>>();
    assert_eq!(pair, [1, 1]);
}

#[test]
fn a_history_limit_and_heartbeats_explain_messages_that_were_left_out() {
    let user = |at: usize| format!(r#"{{"role":"user","content":"turn {at}","timestamp":{at}}}"#);
    let answer = |text: &str, at: usize| {
        format!(r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}],"timestamp":{at}}}"#)
    };
    let all: Vec<String> = vec![
        user(0),
        answer("a", 1),
        user(2),
        answer("b", 3),
        user(4),
        answer("HEARTBEAT_OK", 5),
        user(6),
        answer("c", 7),
    ];
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let kept = [all[2], all[3], all[6], all[7]];
    let comparison = compared(&kept, &all, Some([2026, 9, 1]));
    assert_eq!(comparison.verdict(), "equal after repairs", "{comparison:?}");
    assert_eq!(names(&comparison), ["heartbeats-dropped", "history-limited"]);
    assert_eq!((comparison.rebuilt, comparison.repaired), (8, 4));
}

#[test]
fn usage_before_a_compaction_is_zeroed_and_trailing_failed_answers_are_dropped() {
    let summary = r#"{"role":"compactionSummary","summary":"s","tokensBefore":9,"timestamp":50}"#;
    let answer = |usage: &str| {
        format!(
            r#"{{"role":"assistant","content":[{{"type":"text","text":"a"}}],"usage":{usage},"timestamp":40}}"#
        )
    };
    let zero = r#"{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}"#;
    let failed = r#"{"role":"assistant","content":[],"stopReason":"error","errorMessage":"400"}"#;
    let comparison = compared(
        &[summary, &answer(zero)],
        &[summary, &answer(r#"{"input":7}"#), failed],
        Some([2026, 6, 11]),
    );
    assert_eq!(comparison.verdict(), "equal after repairs", "{comparison:?}");
    assert_eq!(names(&comparison), ["trailing-failed-assistant-dropped", "stale-usage-emptied"]);
}

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
fn a_list_sent_without_repairs_is_equal_with_a_note() {
    let result = r#"{"role":"toolResult","toolCallId":"c","toolName":"read","content":[],"details":1}"#;
    let comparison = compared(&[ASK, result], &[ASK, result], Some([2026, 6, 11]));
    assert_eq!((comparison.verdict().as_str(), comparison.unrepaired), ("equal", true));
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
    assert_eq!((recorded.entry, rebuilt.entry), (None, Some(EntryIx(1))));
    assert!(recorded.role == "assistant" && recorded.chars + Chars(6.0) == rebuilt.chars);
    assert_eq!(
        (difference.only_recorded.clone(), difference.only_rebuilt.clone()),
        (vec![2], vec![EntryIx(2)])
    );
    assert_eq!(DifferenceCause::from_difference(&difference, &comparison, false), DifferenceCause::Rewritten);
    assert_eq!(
        DifferenceCause::from_difference(&difference, &comparison, true),
        DifferenceCause::ContextEngine
    );
}

#[test]
fn calls_and_results_are_paired_as_the_release_does() {
    let call = |id: &str, stop: &str, time: u32| {
        format!(
            r#"{{"role":"assistant","timestamp":{time},"api":"openai-responses","stopReason":"{stop}","content":[{{"type":"toolCall","id":"{id}","name":"read","arguments":{{}}}}]}}"#
        )
    };
    let missing = r#"{"role":"toolResult","toolCallId":"b","toolName":"read","content":[{"type":"text","text":"aborted"}],"isError":true,"timestamp":9}"#;
    let (failed, open) = (call("a", "error", 7), call("b", "toolUse", 8));
    let compare = |release| compared(&[ASK, &open, missing], &[ASK, &failed, &open], Some(release)).verdict();
    assert_eq!(compare([2026, 5, 2]), "equal after repairs");
    assert_ne!(compare([2026, 4, 1]), "equal after repairs");
}
