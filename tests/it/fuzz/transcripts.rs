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

use super::{damage, for_each_seed, random_bytes};
use crate::support::generate::{Dice, Options, transcript};

/// A generated transcript, damaged.
fn damaged(dice: &mut Dice) -> Vec<u8> {
    let options = Options { steps: 1 + dice.below(12), ..Options::default() };
    let mut bytes = transcript(dice.below(1000) as u64, &options);
    damage(&mut bytes, dice);
    bytes
}

/// Everything that is known of a transcript is asked for.
fn read_all(index: &Index, source: &Source) {
    for rules in [Ruleset::V2026_3_2.rules(), Ruleset::Pi1_5.rules()] {
        let tree = Tree::under(rules, index);
        if let Ok(context) = build_context(index, &tree, &Leaf::Own) {
            let _ = bodies::read_messages(source, index, &context);
        }
    }
}

#[test]
fn any_line_is_read_or_refused() {
    for_each_seed(1500, |dice| {
        let whole = transcript(dice.below(200) as u64, &Options { steps: 2, ..Options::default() });
        let lines: Vec<&[u8]> = whole.split(|byte| *byte == b'\n').collect();
        let mut line = lines[dice.below(lines.len())].to_vec();
        if dice.once_in(5) {
            line = random_bytes(dice, 200);
        }
        damage(&mut line, dice);
        let text = String::from_utf8_lossy(&line);
        if let Ok(value) = js::parse(&text) {
            let again = js::stringify(&value);
            assert_eq!(js::parse(&again).map(|value| js::stringify(&value)).ok(), Some(again), "{text}");
        }
    });
}

#[test]
fn no_whole_line_of_a_damaged_file_is_lost() {
    for_each_seed(250, |dice| {
        let bytes = if dice.once_in(10) { random_bytes(dice, 2000) } else { damaged(dice) };
        let index = load_bytes("fuzz.jsonl", &bytes, &mut LineIds);
        let source = Source::from_memory("fuzz.jsonl", bytes.as_slice());
        assert_eq!(index.end + index.pending_bytes, bytes.len() as u64, "every byte is accounted for");
        for (ix, entry) in index.iter() {
            body::read_entry(&source, &index, ix)
                .unwrap_or_else(|error| panic!("line {}: {error}", entry.line));
        }
        read_all(&index, &source);
        if index.open_status != OpenStatus::Opens || index.pending_bytes > 0 {
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
    });
}

#[test]
fn a_damaged_file_that_grows_ends_where_reading_it_at_once_does() {
    for_each_seed(250, |dice| {
        let bytes = damaged(dice);
        let cut = dice.below(bytes.len() + 1);
        let mut grown = load_bytes("fuzz.jsonl", &bytes[..cut], &mut LineIds);
        let source = Source::from_memory("fuzz.jsonl", bytes.as_slice());
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
    });
}
