//! Transcripts: lines, whole files, and files that grow.

use clawscope::context::{bodies, build_context};
use clawscope::gateway::ruleset::Ruleset;
use clawscope::ids::LineIds;
use clawscope::js;
use clawscope::store::body;
use clawscope::store::index::{Index, OpenStatus};
use clawscope::store::load::{FileChange, load, load_bytes, refresh};
use clawscope::store::source::Source;
use clawscope::transcript::{Leaf, Tree};
use clawscope::units::Bytes;

/// Checks that JSON that parses is written so that it parses to the same value.
pub fn line_is_read_or_refused(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(value) = js::parse(&text) {
        let again = js::stringify(&value);
        assert_eq!(js::parse(&again).map(|value| js::stringify(&value)).ok(), Some(again), "{text}");
    }
}

/// Reads all data of a transcript.
fn read_all(index: &Index, source: &Source) {
    for rules in [Ruleset::V2026_3_2.rules(), Ruleset::Pi1_5.rules()] {
        let tree = Tree::under(rules, index);
        if let Ok(context) = build_context(index, &tree, &Leaf::Own) {
            let _ = bodies::read_messages(source, index, &context);
        }
    }
}

/// Checks that every byte is accounted for, and that every whole line with an entry is listed and read again.
pub fn file_keeps_its_lines(bytes: &[u8]) {
    let index = load_bytes("fuzz.jsonl", bytes, &mut LineIds);
    let source = Source::from_memory("fuzz.jsonl", bytes);
    assert_eq!(index.file_bytes(), Bytes::from_len(bytes.len()), "every byte is accounted for");
    for (ix, entry) in index.iter() {
        body::read_entry(&source, &index, ix).unwrap_or_else(|error| panic!("line {}: {error}", entry.line));
    }
    read_all(&index, &source);
    if index.open_status != OpenStatus::Opens || index.pending_bytes > Bytes(0) {
        return;
    }
    let lines: Vec<u64> = index.iter().map(|(_, entry)| entry.line).collect();
    for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let entry = serde_json::from_slice::<serde_json::Value>(line).ok();
        let is_entry = entry.as_ref().is_some_and(|entry| {
            entry["type"].is_string() && entry["type"] != "session" && entry["id"].is_string()
        });
        assert!(!is_entry || lines.contains(&(at as u64 + 1)), "line {} is lost", at + 1);
    }
}

/// Checks that a file that grows from `cut` bytes to its end has the same index as the whole.
pub fn growth_ends_like_the_whole(bytes: &[u8], cut: usize) {
    let mut grown = load_bytes("fuzz.jsonl", &bytes[..cut], &mut LineIds);
    let source = Source::from_memory("fuzz.jsonl", bytes);
    match refresh(&grown, &source, &mut LineIds, &mut |_, _| true).unwrap() {
        FileChange::Unchanged => {}
        FileChange::Grown(index) | FileChange::Replaced(index) => grown = *index,
    }
    let whole = load(&source, &mut LineIds, &mut |_, _| true).unwrap();
    let entries = |index: &Index| -> Vec<(u64, String)> {
        index.iter().map(|(ix, entry)| (entry.line, index.display_id(ix))).collect()
    };
    assert_eq!(entries(&grown), entries(&whole), "cut at {cut}");
    assert_eq!((grown.end, grown.pending_bytes), (whole.end, whole.pending_bytes));
}

/// Checks both, cut at a place that depends on the bytes.
#[allow(dead_code, reason = "for the target; the tests choose the cut")]
pub fn file_keeps_its_lines_and_grows(bytes: &[u8]) {
    file_keeps_its_lines(bytes);
    let sum: usize = bytes.iter().rev().take(8).map(|byte| usize::from(*byte)).sum();
    growth_ends_like_the_whole(bytes, sum % (bytes.len() + 1));
}
