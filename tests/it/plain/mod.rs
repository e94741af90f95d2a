//! The reading of a transcript is fast, spread over cores and counts texts without building them. These tests compare
//! it with a plain one: each line by itself through `serde_json`, and every rule once more in the simplest words.

mod json;
mod lines;
mod said;
mod sizes;

use std::fmt;
use std::io::Write as _;

use clawscope::ids::LineIds;
use clawscope::js::MAX_DEPTH;
use clawscope::store::entry::{Entry, EntryKind, Role};
use clawscope::store::index::Index;
use clawscope::store::load::{FileChange, load, load_bytes, refresh};
use clawscope::store::source::Source;
use proptest::collection::vec;
use proptest::prelude::*;
use said::{Read, found, read};

use crate::support::generate::{self, Dice, Options};

/// A header of a version and these lines, each ended.
fn transcript(version: u8, lines: &[Line]) -> Vec<u8> {
    let mut text = format!("{{\"type\":\"session\",\"version\":{version},\"id\":\"s\"}}\n").into_bytes();
    for line in lines {
        text.extend(&line.0);
        text.push(b'\n');
    }
    text
}

/// Returns the first entry that the two readings treat differently.
fn differs(index: &Index, plain: &Read) -> Result<(), TestCaseError> {
    let found = found(index);
    for (found, plain) in found.entries.iter().zip(&plain.entries) {
        prop_assert_eq!(found, plain);
    }
    prop_assert_eq!(found.entries.len(), plain.entries.len());
    prop_assert_eq!((found.lines, found.bad_lines), (plain.lines, plain.bad_lines));
    let talks = |entry: &Entry| entry.kind == EntryKind::Message && entry.role() != Some(Role::System);
    let asides = index.iter().filter(|(_, entry)| !talks(entry)).map(|(ix, _)| ix);
    prop_assert!(index.auxiliary_entries().map(|(ix, _)| ix).eq(asides));
    Ok(())
}

fn both(text: &[u8]) -> Result<(), TestCaseError> {
    differs(&load_bytes("t.jsonl", text, &mut LineIds), &read(text))
}

/// A line, shown as text.
#[derive(Clone)]
struct Line(Vec<u8>);

impl fmt::Debug for Line {
    fn fmt(&self, form: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(form, "{}", self.0.escape_ascii())
    }
}

/// Generates lines; a failing case shrinks by whole lines, not bytes.
fn line() -> impl Strategy<Value = Line> {
    any::<u64>().prop_map(|seed| Line(lines::line(&mut Dice::new(seed))))
}

proptest! {
    #[test]
    fn any_lines_read_the_same_as_one_by_one(lines in vec(line(), 1..10), version in 2..4_u8) {
        both(&transcript(version, &lines))?;
    }

    #[test]
    fn a_grown_transcript_is_read_completely(lines in vec(line(), 1..6), cut in 0.0..1.0_f64) {
        let text = transcript(3, &lines);
        let known = (text.len() as f64 * cut) as usize;
        // White space at the end of a text is trimmed, so it does not end a line that others follow.
        prop_assume!(text[..known].trim_ascii_end().last().is_none_or(u8::is_ascii));
        let known = load_bytes("t.jsonl", &text[..known], &mut LineIds);
        match refresh(&known, &Source::from_memory("t.jsonl", &text[..]), &mut LineIds, &mut |_, _| true).unwrap() {
            FileChange::Grown(index) | FileChange::Replaced(index) => differs(&index, &read(&text))?,
            FileChange::Unchanged => differs(&known, &read(&text))?,
        }
    }

    #[test]
    fn ordinary_transcripts_read_the_same_too(seed: u64, steps in 1_usize..12) {
        both(&generate::transcript(seed, &Options { steps, ..Options::default() }))?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn long_texts_may_cross_any_block_boundary(seeds in vec(any::<u64>(), 1..8), long in vec(any::<u64>(), 1..4)) {
        let mut all: Vec<Line> = seeds.iter().map(|seed| Line(lines::line(&mut Dice::new(*seed)))).collect();
        for (at, seed) in long.iter().enumerate() {
            let at = (at * 3).min(all.len());
            all.insert(at, Line(lines::long(&mut Dice::new(*seed))));
        }
        let text = transcript(3, &all);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        std::fs::File::create(&path).and_then(|mut file| file.write_all(&text)).unwrap();
        let source = Source::open(&path).unwrap();
        differs(&load(&source, &mut LineIds, &mut |_, _| true).unwrap(), &read(&text))?;
    }
}

#[test]
fn a_short_line_may_end_at_any_byte_of_a_block() {
    // The blocks of a reader are powers of two, and so are the lanes of the search in them.
    for border in [1 << 6, 1 << 16, 1 << 20] {
        for before in 0..6 {
            let header = transcript(3, &[]);
            let frame = br#"{"type":"custom","data":""}"#.len();
            let filler = "x".repeat(border - header.len() % border + border - frame - 1 - before);
            let lines = [
                format!(r#"{{"type":"custom","data":"{filler}"}}"#).into_bytes(),
                r#"{"type":"message","id":"é","message":{"role":"user","content":"\ud83d\ude00\\\"😀"}}"#
                    .into(),
                Vec::new(),
                br#"{"type":"label","id":"b","label":"\\"}"#.to_vec(),
            ];
            both(&transcript(3, &lines.map(Line))).unwrap();
        }
    }
}

#[test]
fn line_ends_of_other_systems_and_byte_order_marks_are_read_as_in_javascript() {
    let line = r#"{"type":"message","id":"a","message":{"role":"user","content":"x"}}"#;
    for between in
        ["\r\n", "\n\r\n", "\n\u{feff}\n", "\n\u{feff}", "\n\0\n", "\n\0", "\u{2028}\n", "\n\u{a0}"]
    {
        for end in ["", "\n", "\r\n", "\u{feff}", "\n\u{a0}\n", "\0"] {
            for begin in ["", "\u{feff}", "\r\n", "\u{a0}"] {
                let header = r#"{"type":"session","version":3,"id":"s"}"#;
                both(format!("{begin}{header}\n{line}{between}{line}\n{line}{end}").as_bytes()).unwrap();
            }
        }
    }
}

#[test]
fn nesting_is_read_up_to_its_limit() {
    let check = || {
        for depth in [100, 127, 128, 129, MAX_DEPTH - 6, MAX_DEPTH - 1, MAX_DEPTH] {
            let [open, close] = ["[", "]"].map(|mark| mark.repeat(depth - 5));
            let [enter, leave] = ["{\"a\":", "}"].map(|mark| mark.repeat(depth - 5));
            let lines = [
                format!(r#"{{"type":"custom","id":"a","data":{open}{close}}}"#),
                format!(
                    r#"{{"type":"message","id":"b","message":{{"role":"assistant","content":[{{"type":"toolCall","name":"x","arguments":{enter}1.50{leave}}}]}}}}"#
                ),
                format!(
                    r#"{{"type":"message","id":"c","message":{{"role":"assistant","content":[{{"type":"toolCall","name":"x","arguments":{enter}{{"b":[]}}{leave}}}]}}}}"#
                ),
            ];
            both(&transcript(3, &lines.map(|line| Line(line.into_bytes())))).unwrap();
        }
    };
    // The plain reading recurses as deep as its text.
    std::thread::Builder::new().stack_size(512 << 20).spawn(check).unwrap().join().unwrap();
}
