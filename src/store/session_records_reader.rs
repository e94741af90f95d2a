//! A store file read block by block, so that never more of it is in memory than the rows that are taken from it. Files
//! grow to tens of megabytes, and nearly all of that is repeated in every row.

use std::collections::HashSet;
use std::io::{self, Read};
use std::ops::Range;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::session_records::SessionRecord;
use crate::js;

/// Bytes read at a time.
const READ_BYTES: usize = 1 << 20;
/// Rows nest a few levels; what nests deeper is left to the reader that knows the limit.
const MAX_DEPTH: u32 = 64;

/// The rows of a store file, in its order. None where anything about it is unusual: then it takes the whole text to tell
/// what it says and what is wrong with it.
pub(super) fn read_records(file: impl Read) -> io::Result<Option<Vec<SessionRecord>>> {
    read_in_blocks(file, READ_BYTES)
}

fn read_in_blocks(mut file: impl Read, block: usize) -> io::Result<Option<Vec<SessionRecord>>> {
    let mut splitter = Splitter::default();
    let (mut bytes, mut rows) = (Vec::new(), Vec::new());
    loop {
        // A row that is longer than a block is not looked at anew for each of its blocks.
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

/// Whether keys stay where they stand: a repeated key has its last value, and those that are numbers come first.
fn has_plain_keys(rows: &[SessionRecord]) -> bool {
    let keys: HashSet<&str> = rows.iter().map(|row| row.key.as_str()).collect();
    keys.len() == rows.len() && !keys.iter().any(|key| key.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Where a key with its quotes and the object behind it stand.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Member {
    key: Range<usize>,
    value: Range<usize>,
}

/// What comes next in the outer object.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum SplitterState {
    /// Its brace.
    #[default]
    Start,
    /// A key, or the end of an empty object.
    First,
    /// A key.
    Key,
    /// The colon.
    Colon,
    /// A row.
    Value,
    /// A comma, or the end.
    Comma,
    /// Nothing but blanks.
    Closed,
    /// It is something else than an object of objects.
    Unexpected,
}

/// Finds the members of the outer object without looking at what is in them.
#[derive(Debug, Default)]
struct Splitter {
    state: SplitterState,
    /// Looked at so far.
    position: usize,
    /// The member that is not complete yet.
    member: Member,
    /// Within a string.
    in_string: bool,
    /// Objects open inside the outer one.
    depth: u32,
}

impl Splitter {
    /// The members that are complete by now; goes on where it stopped, with more bytes behind those it saw.
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

    /// What stands before the incomplete member is done with; answers how many bytes that are.
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

    /// Steps to the end of a string; false where that has not been read yet.
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

    /// Steps behind the next string, or brace, of a row.
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

    /// Steps over one byte between keys and rows.
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

    /// What is read block by block, where that is enough.
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
    fn whatever_is_unusual_is_left_to_the_whole_text() {
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
        fn what_is_read_in_blocks_is_what_the_whole_text_says(
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
