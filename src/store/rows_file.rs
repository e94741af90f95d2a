//! A store file read block by block, so that never more of it is in memory than the rows that are taken from it. Files
//! grow to tens of megabytes, and nearly all of that is repeated in every row.

use std::collections::HashSet;
use std::io::{self, Read};
use std::ops::Range;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::rows::Row;
use crate::js;

/// Bytes read at a time.
const BLOCK: usize = 1 << 20;
/// Rows nest a few levels; what nests deeper is left to the reader that knows the limit.
const DEEP: u32 = 64;

/// The rows of a store file, in its order. None where anything about it is unusual: then it takes the whole text to tell
/// what it says and what is wrong with it.
pub(super) fn read_rows(file: impl Read) -> io::Result<Option<Vec<Row>>> {
    read_in_blocks(file, BLOCK)
}

fn read_in_blocks(mut file: impl Read, block: usize) -> io::Result<Option<Vec<Row>>> {
    let mut splitter = Splitter::default();
    let (mut bytes, mut rows) = (Vec::new(), Vec::new());
    loop {
        // A row that is longer than a block is not looked at anew for each of its blocks.
        let wanted = block.max(bytes.len());
        let count = file.by_ref().take(wanted as u64).read_to_end(&mut bytes)?;
        let members = splitter.split(&bytes);
        let read: Option<Vec<Row>> = members.par_iter().map(|member| row(&bytes, member)).collect();
        let Some(read) = read.filter(|_| splitter.state != State::Odd) else { return Ok(None) };
        rows.extend(read);
        if count == 0 {
            return Ok(Some(rows).filter(|rows| splitter.state == State::Closed && keys_are_plain(rows)));
        }
        bytes.drain(..splitter.forget());
    }
}

fn row(bytes: &[u8], member: &Member) -> Option<Row> {
    let text = |range: &Range<usize>| std::str::from_utf8(&bytes[range.clone()]).ok();
    let key = js::parse(text(&member.key)?).ok()?;
    Row::of_text(key.as_str()?.to_string_lossy(), text(&member.value)?)
}

/// Whether keys stay where they stand: a repeated key has its last value, and those that are numbers come first.
fn keys_are_plain(rows: &[Row]) -> bool {
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
enum State {
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
    Odd,
}

/// Finds the members of the outer object without looking at what is in them.
#[derive(Debug, Default)]
struct Splitter {
    state: State,
    /// Looked at so far.
    at: usize,
    /// The member that is not complete yet.
    member: Member,
    /// Within a string.
    quoted: bool,
    /// Objects open inside the outer one.
    depth: u32,
}

impl Splitter {
    /// The members that are complete by now; goes on where it stopped, with more bytes behind those it saw.
    fn split(&mut self, bytes: &[u8]) -> Vec<Member> {
        let mut members = Vec::new();
        while self.at < bytes.len() && self.state != State::Odd {
            if self.quoted {
                if !self.leave_string(bytes) {
                    break;
                }
            } else if self.depth > 0 {
                self.step_in_row(bytes, &mut members);
            } else {
                self.step(bytes[self.at]);
            }
        }
        members
    }

    /// What stands before the incomplete member is done with; answers how many bytes that are.
    fn forget(&mut self) -> usize {
        let done = match self.state {
            State::Key | State::First if self.quoted => self.member.key.start,
            State::Colon | State::Value => self.member.key.start,
            _ => self.at,
        };
        self.at -= done;
        for range in [&mut self.member.key, &mut self.member.value] {
            *range = range.start.saturating_sub(done)..range.end.saturating_sub(done);
        }
        done
    }

    /// Steps to the end of a string; false where that has not been read yet.
    fn leave_string(&mut self, bytes: &[u8]) -> bool {
        loop {
            match memchr::memchr2(b'"', b'\\', &bytes[self.at..]) {
                None => {
                    self.at = bytes.len();
                    return false;
                }
                Some(run) if bytes[self.at + run] == b'\\' => {
                    if self.at + run + 1 == bytes.len() {
                        self.at += run;
                        return false;
                    }
                    self.at += run + 2;
                }
                Some(run) => {
                    self.at += run + 1;
                    self.quoted = false;
                    if self.depth == 0 {
                        self.member.key.end = self.at;
                        self.state = State::Colon;
                    }
                    return true;
                }
            }
        }
    }

    /// Steps behind the next string, or brace, of a row.
    fn step_in_row(&mut self, bytes: &[u8], members: &mut Vec<Member>) {
        let Some(run) = memchr::memchr3(b'"', b'{', b'}', &bytes[self.at..]) else {
            self.at = bytes.len();
            return;
        };
        self.at += run + 1;
        match bytes[self.at - 1] {
            b'"' => self.quoted = true,
            b'{' if self.depth == DEEP => self.state = State::Odd,
            b'{' => self.depth += 1,
            _ => self.depth -= 1,
        }
        if self.depth == 0 {
            self.member.value.end = self.at;
            self.state = State::Comma;
            members.push(self.member.clone());
        }
    }

    /// Steps over one byte between keys and rows.
    fn step(&mut self, byte: u8) {
        let own = self.at;
        self.at += 1;
        self.state = match (self.state, byte) {
            (state, b' ' | b'\t' | b'\r' | b'\n') => state,
            (State::Start, b'{') => State::First,
            (state @ (State::First | State::Key), b'"') => {
                self.member.key.start = own;
                self.quoted = true;
                state
            }
            (State::Colon, b':') => State::Value,
            (State::Value, b'{') => {
                self.member.value.start = own;
                self.depth = 1;
                State::Value
            }
            (State::Comma, b',') => State::Key,
            (State::First | State::Comma, b'}') => State::Closed,
            _ => State::Odd,
        };
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;
    use crate::store::rows::parse_rows;

    /// What is read block by block, where that is enough.
    fn read(text: &str, block: usize) -> Option<Vec<Row>> {
        read_in_blocks(text.as_bytes(), block).unwrap()
    }

    #[test]
    fn blocks_of_any_size_give_the_rows_of_the_whole_text() {
        let text = "\n{ \"a\\\"}\" : {\"sessionId\":\"s\\\\\",\"x\":[{\"y\":\"}{\\\"\"}],\"skillsSnapshot\":{\"prompt\":\"\\\\\\\"{漢😀\"}},\r\n\t\"b\":{} }\n ";
        let whole = parse_rows(Path::new("s"), text);
        assert_eq!((whole.rows.len(), whole.findings.len()), (2, 0));
        for block in 1..text.len() + 2 {
            assert_eq!(read(text, block).as_ref(), Some(&whole.rows), "blocks of {block}");
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
                let whole = parse_rows(Path::new("s"), &text);
                prop_assert_eq!(&rows, &whole.rows);
                prop_assert!(whole.findings.is_empty());
            }
        }
    }
}
