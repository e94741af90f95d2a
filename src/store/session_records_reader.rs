//! Reads a `sessions.json` block by block, so that memory holds only the records taken from it. Such files grow to tens
//! of megabytes, and nearly all of that repeats in every record.

use std::collections::HashSet;
use std::io::{self, Read};
use std::ops::Range;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::session_record::SessionRecord;
use crate::js;

const READ_BYTES: usize = 1 << 20;
/// Maximum nesting; the full parser reads deeper records, which knows the real limit.
const MAX_DEPTH: u32 = 64;

/// Reads the records in file order. Returns `None` when anything is unusual: then the full parser must read the whole
/// text and report the problem.
pub(super) fn read_records(file: impl Read) -> io::Result<Option<Vec<SessionRecord>>> {
    read_in_blocks(file, READ_BYTES)
}

fn read_in_blocks(mut file: impl Read, block: usize) -> io::Result<Option<Vec<SessionRecord>>> {
    let mut splitter = Splitter::default();
    let (mut bytes, mut rows) = (Vec::new(), Vec::new());
    loop {
        // Doubles the buffer for a record that is longer than a block, so that few passes suffice.
        let wanted = block.max(bytes.len());
        let count = file.by_ref().take(wanted as u64).read_to_end(&mut bytes)?;
        let members = splitter.split(&bytes);
        let read: Option<Vec<SessionRecord>> =
            members.par_iter().map(|member| parse_record(&bytes, member)).collect();
        let Some(read) = read.filter(|_| splitter.state != SplitterState::Unexpected) else {
            return Ok(None);
        };
        rows.extend(read);
        if count == 0 {
            return Ok(
                Some(rows).filter(|rows| splitter.state == SplitterState::Closed && has_plain_keys(rows))
            );
        }
        bytes.drain(..splitter.discard_complete());
    }
}

fn parse_record(bytes: &[u8], member: &Member) -> Option<SessionRecord> {
    let text = |range: &Range<usize>| std::str::from_utf8(&bytes[range.clone()]).ok();
    let key = js::parse(text(&member.key)?).ok()?;
    SessionRecord::from_text(key.as_str()?.to_string_lossy(), text(&member.value)?)
}

/// Whether JavaScript would keep these keys in order: a repeated key takes its last value, and keys that are integers
/// come first.
fn has_plain_keys(rows: &[SessionRecord]) -> bool {
    let keys: HashSet<&str> = rows.iter().map(|row| row.key.as_str()).collect();
    keys.len() == rows.len() && !keys.iter().any(|key| key.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Byte ranges of a key with its quotes, and of its object.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Member {
    key: Range<usize>,
    value: Range<usize>,
}

/// Next token that the outer object expects.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum SplitterState {
    /// The opening brace.
    #[default]
    Start,
    /// A key, or the end of an empty object.
    First,
    Key,
    Colon,
    Value,
    /// A comma, or the end.
    Comma,
    /// Only white space.
    Closed,
    /// Not an object of objects.
    Unexpected,
}

/// Finds the members of the outer object without parsing them.
#[derive(Debug, Default)]
struct Splitter {
    state: SplitterState,
    /// Bytes scanned so far.
    position: usize,
    /// The incomplete member.
    member: Member,
    /// Whether `position` is inside a string.
    in_string: bool,
    /// Open objects inside the outer one.
    depth: u32,
}

impl Splitter {
    /// Returns the members that are complete; a later call with more bytes continues.
    fn split(&mut self, bytes: &[u8]) -> Vec<Member> {
        let mut members = Vec::new();
        while self.position < bytes.len() && self.state != SplitterState::Unexpected {
            if self.in_string {
                if !self.skip_string(bytes) {
                    break;
                }
            } else if self.depth > 0 {
                self.step_in_record(bytes, &mut members);
            } else {
                self.step(bytes[self.position]);
            }
        }
        members
    }

    /// Forgets the bytes before the incomplete member and returns their number.
    fn discard_complete(&mut self) -> usize {
        let done = match self.state {
            SplitterState::Key | SplitterState::First if self.in_string => self.member.key.start,
            SplitterState::Colon | SplitterState::Value => self.member.key.start,
            _ => self.position,
        };
        self.position -= done;
        for range in [&mut self.member.key, &mut self.member.value] {
            *range = range.start.saturating_sub(done)..range.end.saturating_sub(done);
        }
        done
    }

    /// Moves to the end of a string; false when it is not in the buffer yet.
    fn skip_string(&mut self, bytes: &[u8]) -> bool {
        loop {
            match memchr::memchr2(b'"', b'\\', &bytes[self.position..]) {
                None => {
                    self.position = bytes.len();
                    return false;
                }
                Some(run) if bytes[self.position + run] == b'\\' => {
                    if self.position + run + 1 == bytes.len() {
                        self.position += run;
                        return false;
                    }
                    self.position += run + 2;
                }
                Some(run) => {
                    self.position += run + 1;
                    self.in_string = false;
                    if self.depth == 0 {
                        self.member.key.end = self.position;
                        self.state = SplitterState::Colon;
                    }
                    return true;
                }
            }
        }
    }

    /// Moves past the next quote or brace of a record.
    fn step_in_record(&mut self, bytes: &[u8], members: &mut Vec<Member>) {
        let Some(run) = memchr::memchr3(b'"', b'{', b'}', &bytes[self.position..]) else {
            self.position = bytes.len();
            return;
        };
        self.position += run + 1;
        match bytes[self.position - 1] {
            b'"' => self.in_string = true,
            b'{' if self.depth == MAX_DEPTH => self.state = SplitterState::Unexpected,
            b'{' => self.depth += 1,
            _ => self.depth -= 1,
        }
        if self.depth == 0 {
            self.member.value.end = self.position;
            self.state = SplitterState::Comma;
            members.push(self.member.clone());
        }
    }

    /// Handles one byte between keys and records.
    fn step(&mut self, byte: u8) {
        let own = self.position;
        self.position += 1;
        self.state = match (self.state, byte) {
            (state, b' ' | b'\t' | b'\r' | b'\n') => state,
            (SplitterState::Start, b'{') => SplitterState::First,
            (state @ (SplitterState::First | SplitterState::Key), b'"') => {
                self.member.key.start = own;
                self.in_string = true;
                state
            }
            (SplitterState::Colon, b':') => SplitterState::Value,
            (SplitterState::Value, b'{') => {
                self.member.value.start = own;
                self.depth = 1;
                SplitterState::Value
            }
            (SplitterState::Comma, b',') => SplitterState::Key,
            (SplitterState::First | SplitterState::Comma, b'}') => SplitterState::Closed,
            _ => SplitterState::Unexpected,
        };
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;
    use crate::store::session_records::parse_records;

    /// Returns the records when reading block by block suffices.
    fn read(text: &str, block: usize) -> Option<Vec<SessionRecord>> {
        read_in_blocks(text.as_bytes(), block).unwrap()
    }

    #[test]
    fn blocks_of_any_size_give_the_rows_of_the_whole_text() {
        let text = "\n{ \"a\\\"}\" : {\"sessionId\":\"s\\\\\",\"x\":[{\"y\":\"}{\\\"\"}],\"skillsSnapshot\":{\"prompt\":\"\\\\\\\"{漢😀\"}},\r\n\t\"b\":{} }\n ";
        let whole = parse_records(Path::new("s"), text);
        assert_eq!((whole.records.len(), whole.diagnostics.len()), (2, 0));
        for block in 1..text.len() + 2 {
            assert_eq!(read(text, block).as_ref(), Some(&whole.records), "blocks of {block}");
        }
        assert_eq!(read("{}", 1), Some(Vec::new()));
    }

    #[test]
    fn unusual_files_are_not_read_in_blocks() {
        let deep = format!("{{\"a\":{}{}}}", "{\"b\":".repeat(100) + "1", "}".repeat(100));
        for text in [
            "",
            " ",
            "[]",
            "{",
            "{}x",
            "\u{feff}{}",
            "{\"a\":1}",
            "{\"a\":{}",
            "{\"a\":{},}",
            "{,}",
            "{\"a\" {}}",
            "{\"a\":{}\"b\":{}}",
            "{\"a\":{\"b\":[}]}}",
            "{\"a\":{\"b\":01}}",
            "{\"a\":{\"systemPromptReport\":nul}}",
            "{\"a\":{\"skillsSnapshot\":\"\t\"}}",
            "{\"a\":{},\"a\":{}}",
            "{\"b\":{},\"1\":{}}",
            "{\"a\\x\":{}}",
            "{a:{}}",
            "{\"a\":{\"x\":{]}}}",
            &deep,
        ] {
            for block in [1, 2, 7, 1 << 10] {
                assert_eq!(read(text, block), None, "{text:?} in blocks of {block}");
            }
        }
        assert_eq!(read_in_blocks(&b"{\"a\":{\"x\":\"\xff\"}}"[..], 5).unwrap(), None);
    }

    proptest! {
        #[test]
        fn reading_in_blocks_equals_parsing_the_whole_text(
            text in r#"(\{|\}|\[|\]|"|\\|:|,| |a|"k":\{|"v":1|\},|\\"|"systemPromptReport":\{\}|"skillsSnapshot":"x"|é|1){0,40}"#,
            wrapped in any::<bool>(),
            block in 1..50_usize,
        ) {
            let text = if wrapped { format!("{{\"k1\":{{\"a\":\"{}\"}},\"k2\":{{{text}}}}}", text.replace(['\\', '"'], "\\\"")) } else { text };
            if let Some(rows) = read(&text, block) {
                let whole = parse_records(Path::new("s"), &text);
                prop_assert_eq!(&rows, &whole.records);
                prop_assert!(whole.diagnostics.is_empty());
            }
        }
    }
}
