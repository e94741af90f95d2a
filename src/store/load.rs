//! Bytes → index: the lines of a transcript, read once in file order, and again only what was added.

use std::io;

use crate::ids::NewIds;
use crate::js::{self, JsString};
use crate::store::entry::Reading;
use crate::store::index::{Ends, Index, Place, Standing};
use crate::store::source::Source;

/// Bytes read at a time.
const BLOCK: usize = 1 << 20;

/// Told how far the reading is: bytes done, bytes in all. Answering false stops it.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64) -> bool;

/// Why a transcript could not be indexed.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("{path}: cannot be read: {source}. Check that it exists and that you may read it.")]
    Read {
        /// The file.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// The reading was stopped.
    #[error("{path}: reading was stopped")]
    Stopped {
        /// The file.
        path: String,
    },
}

/// What became of a file since it was indexed (store Q2).
#[derive(Debug)]
pub enum Growth {
    /// Nothing that shows.
    Same,
    /// It grew: the old index with the new entries.
    Grown(Box<Index>),
    /// It is another file, or shorter, or its known end changed: read anew.
    Replaced(Box<Index>),
}

/// Indexes a whole transcript as runtimes read it that take entries one by one.
pub fn load(source: &Source, new_ids: &mut dyn NewIds, progress: Progress) -> Result<Index, LoadError> {
    load_as(source, Reading::Entries, new_ids, progress)
}

/// Indexes a whole transcript as a runtime reads it. One that projects trims nothing and drops falsy lines
/// (store-pi-1.5 C1, C2).
pub fn load_as(
    source: &Source,
    reading: Reading,
    new_ids: &mut dyn NewIds,
    progress: Progress,
) -> Result<Index, LoadError> {
    let mut index = Index::new(source.path());
    index.reading = reading;
    index.identity = source.identity().map_err(|error| read_error(source, error))?;
    read_on(&mut index, source, new_ids, progress)?;
    Ok(index)
}

/// Indexes bytes in memory.
pub fn load_bytes(path: &str, bytes: &[u8], new_ids: &mut dyn NewIds) -> Index {
    let source = Source::memory(path, bytes);
    load(&source, new_ids, &mut |_, _| true).unwrap_or_else(|_| Index::new(path))
}

/// Follows a transcript: indexes what was added, or everything when it is another file by now.
/// `source` is the file as it is at the path now.
pub fn grow(
    index: &Index,
    source: &Source,
    new_ids: &mut dyn NewIds,
    progress: Progress,
) -> Result<Growth, LoadError> {
    let fail = |error| read_error(source, error);
    let len = source.len().map_err(fail)?;
    let known = index.end + index.pending;
    if source.identity().map_err(fail)? != index.identity || len < known || !ends_match(index, source) {
        return Ok(Growth::Replaced(Box::new(load_as(source, index.reading, new_ids, progress)?)));
    }
    if len == known {
        return Ok(Growth::Same);
    }
    let mut grown = index.clone();
    grown.pop_unterminated();
    read_on(&mut grown, source, new_ids, progress)?;
    Ok(Growth::Grown(Box::new(grown)))
}

/// Bytes at both ends of what is known that must stay for a file to count as grown.
const PROBE: u64 = 256;

/// The bytes at both ends of what is known.
fn probe(source: &Source, end: u64) -> io::Result<Ends> {
    let count = end.min(PROBE);
    let head = source.read_span(0, count as usize)?;
    let tail = source.read_span(end - count, count as usize)?;
    Ok((head.into(), tail.into()))
}

/// Whether what is known still stands where it stood: a rewrite in place keeps the inode (store Q2).
fn ends_match(index: &Index, source: &Source) -> bool {
    probe(source, index.end).is_ok_and(|ends| ends == index.ends)
}

fn read_error(source: &Source, error: io::Error) -> LoadError {
    LoadError::Read { path: source.path().display().to_string(), source: error }
}

/// Reads from `index.end` to the end of the file.
fn read_on(
    index: &mut Index,
    source: &Source,
    new_ids: &mut dyn NewIds,
    progress: Progress,
) -> Result<(), LoadError> {
    let fail = |error| read_error(source, error);
    let total = source.len().map_err(fail)?;
    let mut buffer: Vec<u8> = Vec::with_capacity(BLOCK);
    let mut at = index.end;
    let mut bad_tail = None;
    loop {
        let filled = buffer.len();
        buffer.resize(filled + BLOCK, 0);
        let count = source.read_at(&mut buffer[filled..], at + filled as u64).map_err(fail)?;
        buffer.truncate(filled + count);
        if count == 0 {
            break;
        }
        let used = take_lines(index, &buffer, at, &mut bad_tail, new_ids);
        buffer.drain(..used);
        at += used as u64;
        if !progress(at.min(total), total.max(at)) {
            return Err(LoadError::Stopped { path: source.path().display().to_string() });
        }
    }
    index.end = at;
    finish(index, &buffer, bad_tail, new_ids);
    index.ends = probe(source, index.end).map_err(fail)?;
    Ok(())
}

/// A line that did not parse, kept until a later line shows that it was not the last one.
struct BadLine {
    bytes: Vec<u8>,
    place: Place,
    why: js::SyntaxError,
}

/// Takes every whole line of the buffer; answers how many bytes they are.
fn take_lines(
    index: &mut Index,
    buffer: &[u8],
    at: u64,
    bad: &mut Option<BadLine>,
    new_ids: &mut dyn NewIds,
) -> usize {
    let mut from = 0;
    for end in memchr::memchr_iter(b'\n', buffer) {
        take_line(index, &buffer[from..end], at + from as u64, bad, new_ids);
        from = end + 1;
    }
    from
}

fn take_line(
    index: &mut Index,
    bytes: &[u8],
    offset: u64,
    bad: &mut Option<BadLine>,
    new_ids: &mut dyn NewIds,
) {
    index.lines += 1;
    let place = Place { offset, bytes: bytes.len() as u32, line: index.lines };
    if is_blank(bytes) {
        return;
    }
    if let Some(bad) = bad.take() {
        index.push_bad(bad.place.line, bad.bytes.len(), bad.why);
    }
    // The whole text is trimmed before it is split (store I1a), so only the very first line may start,
    // and only the very last one end, with white space that JSON does not know.
    let trim = if index.standing == Standing::Empty { Trim::Start } else { Trim::None };
    match parse_line(bytes, trimmed_by(index, bytes, trim)) {
        Ok(value) => index.push(value, place, new_ids),
        Err(why) => *bad = Some(BadLine { bytes: bytes.to_vec(), place, why }),
    }
}

/// The end of the file: the last line may lack its end, or end in white space that was trimmed away.
fn finish(index: &mut Index, rest: &[u8], bad: Option<BadLine>, new_ids: &mut dyn NewIds) {
    if is_blank(rest) {
        index.pending = rest.len() as u64;
        if let Some(bad) = bad {
            retry_trimmed(index, &bad, new_ids);
        }
        return;
    }
    if let Some(bad) = bad {
        index.push_bad(bad.place.line, bad.bytes.len(), bad.why);
    }
    let place = Place { offset: index.end, bytes: rest.len() as u32, line: index.lines + 1 };
    let before = index.entries.len();
    match parse_line(rest, trimmed_by(index, rest, Trim::Both)) {
        Ok(value) => {
            index.push(value, place, new_ids);
            index.pending = 0;
            if index.entries.len() > before {
                index.lines += 1;
                index.end += rest.len() as u64;
                index.unterminated = true;
            } else {
                index.pending = rest.len() as u64;
            }
        }
        Err(_) => index.pending = rest.len() as u64,
    }
}

fn retry_trimmed(index: &mut Index, bad: &BadLine, new_ids: &mut dyn NewIds) {
    match parse_line(&bad.bytes, trimmed_by(index, &bad.bytes, Trim::Both)) {
        Ok(value) => index.push(value, bad.place, new_ids),
        Err(_) => index.push_bad(bad.place.line, bad.bytes.len(), bad.why),
    }
}

/// Which ends of a line are trimmed as the whole text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trim {
    /// A line in the middle.
    None,
    /// The first line.
    Start,
    /// The last line, which may be the first too.
    Both,
}

/// What of a line is trimmed by the runtime that reads the file; notes where that makes a difference.
fn trimmed_by(index: &mut Index, bytes: &[u8], trim: Trim) -> Trim {
    let beyond_json = |char: char| js::is_trimmed(char) && !matches!(char, ' ' | '\t' | '\r' | '\n');
    if trim != Trim::None {
        let text = String::from_utf8_lossy(bytes);
        index.reads_differently |=
            text.starts_with(beyond_json) || trim == Trim::Both && text.ends_with(beyond_json);
    }
    if index.reading == Reading::Projected { Trim::None } else { trim }
}

/// One line as the runtime parses it: invalid UTF-8 becomes U+FFFD (store I1a).
pub(crate) fn parse_line(bytes: &[u8], trim: Trim) -> Result<js::Value, js::SyntaxError> {
    let text = String::from_utf8_lossy(bytes);
    let mut text: &str = &text;
    if trim != Trim::None {
        text = text.trim_start_matches(js::is_trimmed);
    }
    if trim == Trim::Both {
        text = text.trim_end_matches(js::is_trimmed);
    }
    js::parse(text)
}

/// Blank after the ECMAScript trim (pruning 0.3).
fn is_blank(bytes: &[u8]) -> bool {
    match bytes.first() {
        None => true,
        Some(b'{') => false,
        Some(_) => JsString::from(&*String::from_utf8_lossy(bytes)).is_blank(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::LineIds;

    #[test]
    fn a_line_that_only_nests_too_deep_is_not_called_broken() {
        let deep = "[".repeat(js::MAX_DEPTH + 1) + &"]".repeat(js::MAX_DEPTH + 1);
        let text = format!("{{\"type\":\"session\",\"id\":\"s\"}}\n{deep}\n{{}}\n");
        let index = load_bytes("t.jsonl", text.as_bytes(), &mut LineIds);
        let finding = &index.findings[0];
        assert_eq!((finding.line, index.bad_lines), (Some(2), 1));
        assert!(finding.what.starts_with("nests deeper than 4096 levels"), "{finding}");
        assert!(finding.next.contains("the runtime may read it"), "{finding}");
    }
}
