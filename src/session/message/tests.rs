//! Reads messages of every role and entries of every type back from memory.

use super::*;
use crate::gateway::pruning::PruneSettings;
use crate::policy::Fate;
use crate::session::testing::{
    call, entry_ix, loaded_session, message, prune_plan, quoted, result, transcript, user,
};
use crate::units::Chars;

fn read_one(entries: &[String], number: usize) -> MessageText {
    let session = loaded_session(&transcript(entries), 200_000.0);
    read_message(&session, entry_ix(number), None).expect("memory does not change")
}

fn kinds(text: &MessageText) -> Vec<(PartKind, &str)> {
    text.parts.iter().map(|part| (part.kind.clone(), part.text.as_str())).collect()
}

#[test]
fn a_user_message_is_its_text_whether_a_string_or_blocks() {
    let image = r#"{"role":"user","content":[{"type":"text","text":"see"},{"type":"image","data":"QUJD","mimeType":"image/png"}]}"#;
    let plain = read_one(&[user("hello\nthere")], 0);
    assert_eq!(
        (plain.title.clone(), kinds(&plain)),
        ((None, "user".into()), vec![(PartKind::Text, "hello\nthere")])
    );
    assert_eq!((plain.fact("role"), plain.fact("at")), (Some("user"), Some("2026-11-19 13:00:07Z")));
    assert_eq!(
        (plain.fact("entry"), plain.fact("chars"), plain.fact("tokens")),
        (Some("e0"), Some("11"), Some("~3 est"))
    );
    let blocks = read_one(&[message(image)], 0);
    let image = PartKind::Image { mime: "image/png".into(), chars: Chars(4.0) };
    assert_eq!(kinds(&blocks), [(PartKind::Text, "see"), (image, "")]);
    assert_eq!(blocks.fact("images"), Some("1"));
}

#[test]
fn an_assistant_shows_thinking_text_calls_and_its_error() {
    let text = r#"{"role":"assistant","provider":"anthropic","model":"opus","stopReason":"error","errorMessage":"prompt is too long: 203412 tokens > 200000","usage":{"input":10,"output":812,"cacheRead":190000,"cacheWrite":2,"totalTokens":190824,"cost":{"total":0.41}},"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"on it"},{"type":"toolCall","id":"c1","name":"write","arguments":{"path":"a.txt","content":"x\ny","mode":[1]}},{"type":"thinking","thinking":"","redacted":true},{"type":"odd","n":1}]}"#;
    let read = read_one(&[message(text)], 0);
    let call = PartKind::Call { name: "write".into(), id: "c1".into() };
    assert_eq!(
        kinds(&read),
        [
            (PartKind::Thinking, "hm"),
            (PartKind::Text, "on it"),
            (call, "path: a.txt\ncontent:\n  x\n  y\nmode:\n  [\n    1\n  ]"),
            (PartKind::Thinking, "redacted: only the provider can read it"),
            (PartKind::Other, "{\n  \"type\": \"odd\",\n  \"n\": 1\n}"),
            (PartKind::Error, "prompt is too long: 203412 tokens > 200000"),
        ]
    );
    assert_eq!((read.fact("model"), read.fact("stop")), (Some("opus"), Some("error")));
    assert_eq!(read.fact("prompt"), Some("— no usage recorded"), "a failed call anchors nothing");
}

#[test]
fn measured_usage_is_shown_with_its_cost() {
    let text = r#"{"role":"assistant","stopReason":"stop","usage":{"input":10,"output":812,"cacheRead":190000,"cacheWrite":2,"totalTokens":190824,"cost":{"total":0.41}},"content":[]}"#;
    let read = read_one(&[message(text)], 0);
    assert_eq!(read.fact("prompt"), Some("190,012 measured"));
    assert_eq!(read.fact("cached"), Some("190,000 read, 2 written"));
    assert_eq!((read.fact("reply"), read.fact("cost")), (Some("812"), Some("$0.41")));
}

#[test]
fn a_result_is_titled_by_its_call_and_shows_its_outcome() {
    let details = r#","isError":true,"details":{"status":"failed","exitCode":1,"durationMs":38412}"#;
    let entries = [
        user("go"),
        call("c1", "exec", r#"{"command":"ls -la build/ && ninja -v"}"#),
        result("c1", "exec", "total 18", details),
    ];
    let read = read_one(&entries, 2);
    assert_eq!(read.title, (Some("exec".into()), "ls -la build/ && ninja -v".into()));
    let facts = ["tool", "exit", "took", "status", "error", "call"].map(|name| read.fact(name));
    let expected = ["exec", "1", "38s", "failed", "yes", "→ e1"].map(Some);
    assert_eq!(facts, expected);
    assert_eq!(read.joined_text(), "total 18");
}

#[test]
fn a_result_without_its_call_has_a_note() {
    let read = read_one(&[user("go"), result("gone", "exec", "x", "")], 1);
    assert_eq!((read.title.1.as_str(), read.fact("call")), ("", Some("— no call with its id")));
}

#[test]
fn the_call_of_a_result_is_on_the_same_branch() {
    let fork = |parent: &str, entry: &str| entry.replacen('{', &format!("{{\"parentId\":\"{parent}\","), 1);
    let lines = [
        user("go"),
        call("c1", "exec", r#"{"command":"first"}"#),
        call("c1", "exec", r#"{"command":"second"}"#),
        result("c1", "exec", "x", ""),
    ];
    let mut text = transcript(&lines[..2]);
    text += &(fork("e0", &lines[2]).replacen('{', "{\"id\":\"e2\",", 1) + "\n");
    text += &(fork("e1", &lines[3]).replacen('{', "{\"id\":\"e3\",", 1) + "\n");
    let read = read_message(&loaded_session(&text, 200_000.0), entry_ix(3), None).unwrap();
    assert_eq!((read.title.1.as_str(), read.fact("call")), ("first", Some("→ e1")));
}

#[test]
fn a_command_the_person_ran_shows_command_and_output() {
    let text = r#"{"role":"bashExecution","command":"git status","output":"clean","exitCode":0,"cancelled":false,"truncated":true,"excludeFromContext":true}"#;
    let read = read_one(&[message(text)], 0);
    let call = PartKind::Call { name: "!".into(), id: String::new() };
    assert_eq!(kinds(&read), [(call, "git status"), (PartKind::Text, "clean")]);
    assert_eq!(read.title, (Some("!".into()), "git status".into()));
    let facts = ["exit", "stopped", "cut", "sent"].map(|name| read.fact(name));
    assert_eq!(facts, [Some("0"), None, Some("yes"), Some("no")]);
}

#[test]
fn every_other_type_of_entry_has_its_text_and_facts() {
    let cases = [
        (
            r#"{"type":"compaction","summary":"so far","firstKeptEntryId":"e0","tokensBefore":186400}"#,
            "compaction",
            "so far",
            "keeps",
            "e0",
        ),
        (
            r#"{"type":"branch_summary","summary":"tried","fromId":"root"}"#,
            "branch_summary",
            "tried",
            "from",
            "root",
        ),
        (
            r#"{"type":"custom_message","customType":"note","content":"hi","display":true}"#,
            "custom_message",
            "hi",
            "kind",
            "note",
        ),
        (r#"{"type":"custom","customType":"x","data":{"n":1}}"#, "custom", "{\n  \"n\": 1\n}", "kind", "x"),
        (r#"{"type":"session_info","name":"board"}"#, "session_info", "board", "entry", "e0"),
        (r#"{"type":"label","targetId":"e9","label":"here"}"#, "label", "here", "on", "e9"),
        (
            r#"{"type":"thinking_level_change","thinkingLevel":"high"}"#,
            "thinking_level_change",
            "high",
            "level",
            "high",
        ),
        (r#"{"type":"model_change","provider":"p","modelId":"m"}"#, "model_change", "m", "via", "p"),
    ];
    for (line, kind, text, name, value) in cases {
        let read = read_one(&[line.to_owned()], 0);
        assert_eq!(read.fact("type"), Some(kind), "{line}");
        assert_eq!(read.parts[0].text, text, "{line}");
        assert_eq!(read.fact(name), Some(value), "{line}");
    }
}

#[test]
fn an_entry_of_an_unknown_type_is_shown_as_json() {
    let read = read_one(&[r#"{"type":"usage","n":12345678901234567890}"#.to_owned()], 0);
    assert_eq!((read.fact("type"), read.parts[0].kind.clone()), (Some("usage"), PartKind::Other));
    assert!(read.indented_json().contains("\"n\": 12345678901234567890"), "{}", read.indented_json());
}

#[test]
fn messages_of_other_roles_and_without_a_message_do_not_fail() {
    let system = read_one(&[message(r#"{"role":"system","content":"be kind"}"#)], 0);
    assert_eq!((system.title.1.as_str(), system.joined_text().as_ref()), ("system", "be kind"));
    let summary =
        read_one(&[message(r#"{"role":"compactionSummary","summary":"so far","tokensBefore":1}"#)], 0);
    assert_eq!(summary.joined_text(), "so far");
    for odd in
        [r#"{"type":"message"}"#, r#"{"type":"message","message":null}"#, r#"{"type":"message","message":5}"#]
    {
        let read = read_one(&[odd.to_owned()], 0);
        assert!(read.fact("role").is_some() && read.indented_json().starts_with('{'), "{odd}");
    }
    let odd = r#"{"role":"toolResult","content":[null,5,{"type":"text","text":5},{"type":"text"}]}"#;
    assert_eq!(read_one(&[message(odd)], 0).parts.len(), 4);
}

#[test]
fn a_changed_file_is_an_error_that_names_the_line() {
    let mut session = loaded_session(&transcript(&[user("one")]), 200_000.0);
    let other = transcript(&[user("two")]).replace("e0", "f0");
    session.source = crate::store::source::Source::from_memory("memory.jsonl", other.as_bytes());
    let error = read_message(&session, entry_ix(0), None).unwrap_err().to_string();
    assert!(error.contains("line 2") && error.contains("Reload"), "{error}");
}

/// Two results before three assistant messages: a long one and a short one.
fn prunable() -> Vec<String> {
    let long = "x".repeat(5_000);
    vec![
        user("go"),
        call("c1", "exec", r#"{"command":"a"}"#),
        result("c1", "exec", &long, ""),
        call("c2", "exec", r#"{"command":"b"}"#),
        result("c2", "exec", "short", ""),
        message(&format!(r#"{{"role":"assistant","content":[{{"type":"text","text":{}}}]}}"#, quoted("ok"))),
        call("c3", "exec", "{}"),
        result("c3", "exec", "new", ""),
    ]
}

#[test]
fn a_trimmed_result_includes_its_text_after_the_plan() {
    let session = loaded_session(&transcript(&prunable()), 1_000.0);
    let plan = prune_plan(&session, &PruneSettings::default());
    let read = |number| read_message(&session, entry_ix(number), Some(&plan)).unwrap();
    let trimmed = read(2);
    assert_eq!(trimmed.fate.map(|fate| fate.fate), Some(Fate::SoftTrimmed));
    let after = trimmed.planned_text.expect("text after the plan");
    assert!(after.ends_with("kept first 1500 chars and last 1500 chars of 5000 chars.]"), "{after}");
    let kept = read(7);
    assert_eq!((kept.fate.map(|fate| fate.fate), kept.planned_text), (Some(Fate::Protected), None));
}

#[test]
fn a_cleared_result_becomes_the_placeholder() {
    let session = loaded_session(&transcript(&prunable()), 1_000.0);
    let settings = PruneSettings { min_prunable_tool_chars: Chars(0.0), ..PruneSettings::default() };
    let plan = prune_plan(&session, &settings);
    let read = read_message(&session, entry_ix(2), Some(&plan)).unwrap();
    assert_eq!(read.planned_text.as_deref(), Some("[Old tool result content cleared]"));
    assert_eq!(read.joined_text().len(), 5_000);
}
