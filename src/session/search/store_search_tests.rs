//! Results of a search over a store, and the forms that texts take in files.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::gateway::env::Environment;
use crate::store::discovery::discover;

fn write(dir: &Path, name: &str, text: &str) {
    let sessions = dir.join("agents/main/sessions");
    std::fs::create_dir_all(&sessions).unwrap();
    std::fs::File::create(sessions.join(name)).unwrap().write_all(text.as_bytes()).unwrap();
}

fn survey(dir: &Path) -> Store {
    discover(Some(dir), &Environment::new([("HOME", "/nowhere")], None, "/".into()))
}

/// A transcript of messages in a row.
fn transcript(messages: &[&str]) -> String {
    let mut text = r#"{"type":"session","version":3,"id":"needle-header"}"#.to_owned() + "\n";
    for (at, message) in messages.iter().enumerate() {
        let parent = if at == 0 { "null".to_owned() } else { format!("\"needle{}\"", at - 1) };
        writeln!(
            text,
            r#"{{"type":"message","id":"needle{at}","parentId":{parent},"timestamp":"2026-02-21T04:00:0{at}.000Z","message":{message}}}"#
        )
        .unwrap();
    }
    text
}

fn search_all(store: &Store, query: &str) -> (Vec<SessionHits>, SearchTotals) {
    let found = Mutex::new(Vec::new());
    let totals =
        search_store(store, &SearchQuery::new(query), &|| true, &|hits| found.lock().unwrap().push(hits));
    let mut found = found.into_inner().unwrap();
    found.sort_by_key(SessionHits::rank);
    (found, totals.unwrap())
}

/// Searches one transcript; returns the lines of the hits, newest first.
#[track_caller]
fn lines(text: &str, query: &str) -> Vec<u64> {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "a.jsonl", text);
    let (found, _) = search_all(&survey(dir.path()), query);
    found.iter().flat_map(|session| &session.hits).map(|hit| hit.line).collect()
}

#[test]
fn text_thinking_calls_results_and_summaries_are_hits() {
    let mut text = transcript(&[
        r#"{"role":"user","content":"the word alpha"}"#,
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"about Alpha"},{"type":"toolCall","id":"c","name":"exec","arguments":{"command":"grep alpha"}}]}"#,
        r#"{"role":"toolResult","toolCallId":"c","toolName":"alpha_tool","content":[{"type":"text","text":"nothing"}]}"#,
        r#"{"role":"assistant","content":[],"stopReason":"error","errorMessage":"ALPHA failed"}"#,
    ]);
    text += r#"{"type":"compaction","id":"k","parentId":"needle3","summary":"alpha so far","firstKeptEntryId":"needle0","tokensBefore":9}"#;
    text += "\n";
    assert_eq!(lines(&text, "alpha"), [6, 5, 4, 3, 2]);
    assert_eq!(lines(&text, "Alpha"), [3]);
    assert_eq!(lines(&text, "alpha about"), [3]);
    assert_eq!(lines(&text, "command: grep"), [3]);
}

#[test]
fn ids_images_and_provider_fields_are_not_searched() {
    let text = transcript(&[
        r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","data":"needle","mimeType":"image/needle"}]}"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"b","textSignature":"needle"}],"api":"needle","model":"needle","responseId":"needle","usage":{"needle":5}}"#,
        r#"{"role":"toolResult","toolCallId":"needle","toolName":"exec","details":{"needle":"needle"},"content":[{"type":"text","text":"c"}]}"#,
    ]);
    assert_eq!(lines(&text, "needle"), [0; 0]);
}

#[test]
fn escaped_text_in_any_script_is_found() {
    let text = transcript(&[
        r#"{"role":"user","content":"line\nneedle says \"hi\" in c:\\temp\/x"}"#,
        r#"{"role":"user","content":"caf\u00e9 b\u0075ild 构建失败了 \ud83d\ude80"}"#,
    ]);
    assert_eq!(lines(&text, "needle"), [2]);
    assert_eq!(lines(&text, "\"hi\""), [2]);
    assert_eq!(lines(&text, r"c:\temp/x"), [2]);
    assert_eq!(lines(&text, "CAFÉ".to_lowercase().as_str()), [3]);
    assert_eq!(lines(&text, "build"), [3]);
    assert_eq!(lines(&text, "构建失败"), [3]);
    assert_eq!(lines(&text, "🚀"), [3]);
    assert_eq!(lines(&text, "nneedle"), [0; 0]);
}

#[test]
fn a_line_longer_than_a_block_and_the_last_one_without_an_end_are_searched() {
    let long = "x ".repeat(600_000);
    let message = format!(r#"{{"role":"user","content":"{long} omega"}}"#);
    let text = transcript(&[&message, r#"{"role":"user","content":"omega"}"#]);
    assert_eq!(lines(text.trim_end(), "omega"), [3, 2]);
}

#[test]
fn hits_off_the_active_branch_are_counted_but_do_not_rank() {
    let dir = tempfile::tempdir().unwrap();
    let entry = |id: &str, parent: &str, text: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"message":{{"role":"user","content":"{text}"}}}}"#
        ) + "\n"
    };
    let header = r#"{"type":"session","version":3,"id":"s"}"#.to_owned() + "\n";
    let forked = [
        header.clone(),
        entry("a", "null", "start"),
        entry("b", "\"a\"", "word"),
        entry("c", "\"a\"", "word"),
        entry("d", "\"c\"", "x"),
    ];
    write(dir.path(), "forked.jsonl", &forked.concat());
    let straight = [header, entry("a", "null", "word"), entry("b", "\"a\"", "word")];
    write(dir.path(), "straight.jsonl", &straight.concat());
    let (found, totals) = search_all(&survey(dir.path()), "word");
    let counts: Vec<_> = found.iter().map(|session| (session.count, session.branch_count)).collect();
    assert_eq!(counts, [(2, 2), (2, 1)]);
    assert_eq!(
        found[1].hits.iter().map(|hit| (hit.id.as_str(), hit.is_on_branch)).collect::<Vec<_>>(),
        [("c", true), ("b", false)]
    );
    assert_eq!((totals.sessions, totals.unread.len()), (2, 0));
}

#[test]
fn a_transcript_that_cannot_be_read_is_named_and_the_rest_is_searched() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "a.jsonl", &transcript(&[r#"{"role":"user","content":"word"}"#]));
    write(
        dir.path(),
        "b.jsonl.deleted.2026-11-20T11-49-06.295Z.0cef322e47e648debdcf66d1825d630a.zst",
        "no archive",
    );
    let (found, totals) = search_all(&survey(dir.path()), "word");
    assert_eq!(found.len(), 1);
    assert_eq!(totals.unread.len(), 1, "{totals:?}");
    assert!(
        totals.unread[0]
            .path
            .ends_with("b.jsonl.deleted.2026-11-20T11-49-06.295Z.0cef322e47e648debdcf66d1825d630a.zst")
    );
}

#[test]
fn damaged_lines_and_an_empty_store_have_no_hits() {
    assert_eq!(
        lines("{\"type\":\"session\",\"id\":\"s\"}\nword {broken word\n[1, \"word\"]\n\"word\"\n", "word"),
        [0; 0]
    );
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("agents/main/sessions")).unwrap();
    let (found, totals) = search_all(&survey(dir.path()), "word");
    assert!(found.is_empty() && totals.sessions == 0);
}

#[test]
fn a_search_can_be_cancelled() {
    let dir = tempfile::tempdir().unwrap();
    for at in 0..20 {
        write(dir.path(), &format!("s{at}.jsonl"), &transcript(&[r#"{"role":"user","content":"word"}"#]));
    }
    let checks = AtomicUsize::new(0);
    let totals = search_store(
        &survey(dir.path()),
        &SearchQuery::new("word"),
        &|| checks.fetch_add(1, Ordering::Relaxed) < 3,
        &|_| {},
    );
    assert_eq!(totals, None);
    assert!(checks.load(Ordering::Relaxed) < 40);
}

#[test]
fn a_session_keeps_its_newest_hits_and_counts_all() {
    let mut text = r#"{"type":"session","version":3,"id":"s"}"#.to_owned() + "\n";
    for at in 0..MANY_HITS + 5 {
        writeln!(
            text,
            r#"{{"type":"message","id":"e{at}","parentId":null,"message":{{"role":"user","content":"word {at}"}}}}"#
        )
        .unwrap();
    }
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "a.jsonl", &text);
    let (found, _) = search_all(&survey(dir.path()), "word");
    assert_eq!((found[0].count, found[0].hits.len()), (MANY_HITS + 5, MANY_HITS));
    assert_eq!(found[0].hits[0].id, format!("e{}", MANY_HITS + 4));
}

#[test]
fn hits_of_the_active_branch_come_first_also_when_newer_copies_displaced_them() {
    let entry = |id: &str, parent: &str, text: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"message":{{"role":"user","content":"{text}"}}}}"#
        ) + "\n"
    };
    let mut text =
        r#"{"type":"session","version":3,"id":"s"}"#.to_owned() + "\n" + &entry("a", "null", "word");
    text.extend((0..MANY_HITS + 5).map(|at| entry(&format!("copy{at}"), "\"a\"", "word")));
    text += &entry("z", "\"a\"", "x");
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "a.jsonl", &text);
    let (found, _) = search_all(&survey(dir.path()), "word");
    let hits = &found[0].hits;
    assert_eq!((found[0].count, hits.len(), hits[0].id.as_str()), (MANY_HITS + 6, MANY_HITS, "a"));
    assert!(hits[0].is_on_branch && hits[1].id == format!("copy{}", MANY_HITS + 4));
}
