//! Bytes to index: reads the lines of a transcript once, in file order, and later only the lines that were added.
//!
//! A session file is live: a writer may be in the middle of its last line. A last line that does not parse stays
//! pending until it grows, and a file whose indexed part changed is read again ([`FileChange::Replaced`]).

use std::io;

use crate::gateway::ruleset::{PiChange, PiRelease};
use crate::ids::IdSource;
use crate::js;
use crate::store::chunk_queue::ChunkQueue;
use crate::store::chunks::{Chunk, ReadBuffers, ReadPass, is_blank, scan_line};
use crate::store::entry::ReadMode;
use crate::store::index::{EdgeBytes, FileIdentity, Index, LinePosition, OpenStatus};
use crate::store::limits;
use crate::store::scan::ScannedLine;
use crate::store::source::Source;
use crate::store::sqlite::event_note;
use crate::units::Bytes;

pub(crate) use crate::store::chunks::{Trim, parse_line};

/// Callback for progress: bytes done, bytes in total. Returning false stops the read.
pub type ProgressFn<'a> = &'a mut dyn FnMut(Bytes, Bytes) -> bool;

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("{path}: cannot read the file: {source}. Check that it exists and that you may read it.")]
    Read { path: String, source: io::Error },
    /// The progress callback returned false.
    #[error("{path}: reading was cancelled")]
    Cancelled { path: String },
}

/// Change of a file since it was indexed (store Q2).
#[derive(Debug)]
pub enum FileChange {
    /// Same length and same bytes at both ends.
    Unchanged,
    /// The file grew: the old index plus the new entries.
    Grown(Box<Index>),
    /// The file was replaced, became shorter, or its indexed end changed: a new index.
    Replaced(Box<Index>),
}

/// Indexes a whole transcript for runtimes that take any value as an entry ([`ReadMode::Entries`]).
pub fn load(source: &Source, new_ids: &mut dyn IdSource, progress: ProgressFn) -> Result<Index, LoadError> {
    load_for_release(source, ReadMode::Entries, new_ids, progress)
}

/// Indexes a whole transcript as a release of pi reads it. Newer releases trim nothing and drop falsy lines
/// (store-pi-1.5 C1, C2).
pub fn load_for_release(
    source: &Source,
    pi: impl Into<PiRelease>,
    new_ids: &mut dyn IdSource,
    progress: ProgressFn,
) -> Result<Index, LoadError> {
    let mut index = Index::new(source.path());
    index.set_pi_release(pi.into());
    index.identity = source.identity().map_err(|error| read_error(source, error))?;
    read_appended(&mut index, source, new_ids, progress)?;
    Ok(index)
}

pub fn load_bytes(path: &str, bytes: &[u8], new_ids: &mut dyn IdSource) -> Index {
    let source = Source::from_memory(path, bytes);
    load(&source, new_ids, &mut |_, _| true).unwrap_or_else(|_| Index::new(path))
}

/// Updates an index from the file that is now at its path: appends new lines, or reads everything when the file was
/// replaced.
pub fn refresh(
    index: &Index,
    source: &Source,
    new_ids: &mut dyn IdSource,
    progress: ProgressFn,
) -> Result<FileChange, LoadError> {
    let fail = |error| read_error(source, error);
    let len = source.len().map_err(fail)?;
    let known = index.file_bytes().get();
    if len < known || !FilePrefix::from_index(index).is_unchanged_in(source) {
        return Ok(FileChange::Replaced(Box::new(load_for_release(
            source,
            index.pi_release,
            new_ids,
            progress,
        )?)));
    }
    if len == known {
        return Ok(FileChange::Unchanged);
    }
    let mut grown = index.clone();
    grown.pop_unfinished();
    if grown.entries.is_empty() {
        // A first line that has grown may have decided already what kind of file this is.
        grown = load_for_release(source, index.pi_release, new_ids, progress)?;
    } else {
        read_appended(&mut grown, source, new_ids, progress)?;
    }
    Ok(FileChange::Grown(Box::new(grown)))
}

/// Indexed part of a file, with the data that detects a replaced or rewritten file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePrefix {
    pub identity: FileIdentity,
    /// Length in bytes, from the start of the file.
    pub end: u64,
    edge_bytes: EdgeBytes,
}

impl FilePrefix {
    pub fn from_index(index: &Index) -> Self {
        Self { identity: index.identity, end: index.end, edge_bytes: index.edge_bytes.clone() }
    }

    /// Covers the first `end` bytes of a file without reading entries.
    pub fn read(source: &Source, end: u64) -> io::Result<Self> {
        Ok(Self { identity: source.identity()?, end, edge_bytes: read_edge_bytes(source, end)? })
    }

    /// Whether the file still starts with these bytes: a replaced file differs in identity, but a rewrite in position
    /// keeps the inode, so the bytes at both ends are compared too (store Q2).
    pub fn is_unchanged_in(&self, source: &Source) -> bool {
        source.identity().is_ok_and(|identity| identity == self.identity)
            && source.len().is_ok_and(|len| len >= self.end)
            && read_edge_bytes(source, self.end).is_ok_and(|ends| ends == self.edge_bytes)
    }
}

/// Bytes compared at each end to decide whether a file has grown.
const EDGE_LEN: u64 = 256;

fn read_edge_bytes(source: &Source, end: u64) -> io::Result<EdgeBytes> {
    let count = end.min(EDGE_LEN);
    let head = source.read_span(0, count as usize)?;
    let tail = source.read_span(end - count, count as usize)?;
    Ok((head.into(), tail.into()))
}

fn cancelled_error(source: &Source) -> LoadError {
    LoadError::Cancelled { path: source.path().display().to_string() }
}

fn read_error(source: &Source, error: io::Error) -> LoadError {
    LoadError::Read { path: source.path().display().to_string(), source: error }
}

/// Reads from `index.end` to the current end of the file: the first lines one by one, because they decide how to read
/// the rest, then the rest on all cores.
fn read_appended(
    index: &mut Index,
    source: &Source,
    new_ids: &mut dyn IdSource,
    progress: ProgressFn,
) -> Result<(), LoadError> {
    let fail = |error| read_error(source, error);
    let total = source.len().map_err(fail)?;
    let start = index.end;
    let mut loader =
        Loader { index, bad_line: None, overlong_start: None, end: start, rest: Vec::new(), new_ids };
    let first_pass = ReadPass { source, total, rename_hooks: false };
    let mut buffers = ReadBuffers::take_thread_local();
    let at = loader.load_first_lines(first_pass, start, &mut buffers).map_err(fail)?;
    if !progress(Bytes(at), Bytes(total)) {
        return Err(cancelled_error(source));
    }
    if at < total {
        let pass = ReadPass { rename_hooks: loader.index.migration_steps().1, ..first_pass };
        read_chunks(&mut loader, pass, at, &mut buffers, progress)?;
    }
    buffers.return_to_thread();
    let pending = loader.finish_overlong_end(source, total).map_err(fail)?;
    let Loader { index, bad_line, end, rest, new_ids, .. } = loader;
    index.end = end;
    if let Some(bytes) = pending {
        index.pending_bytes = bytes;
    } else {
        finish_last_line(index, &rest, bad_line, new_ids);
    }
    index.ids.freeze();
    index.edge_bytes = read_edge_bytes(source, index.end).map_err(fail)?;
    Ok(())
}

/// Reads the chunks from `at` on; while this thread indexes one chunk, others scan the next.
fn read_chunks(
    loader: &mut Loader<'_>,
    pass: ReadPass<'_>,
    at: u64,
    buffers: &mut ReadBuffers,
    progress: ProgressFn,
) -> Result<(), LoadError> {
    let mut continues = true;
    let queue = ChunkQueue::new(pass, at, std::mem::take(&mut buffers.chunks));
    let unused_chunks = queue.for_each(|chunk, end| {
        loader.push_chunk(chunk);
        continues = progress(Bytes(end), Bytes(pass.total));
        continues
    });
    buffers.chunks = unused_chunks.map_err(|error| read_error(pass.source, error))?;
    if continues { Ok(()) } else { Err(cancelled_error(pass.source)) }
}

/// Line that did not parse; only a later line proves that it was not a half-written last one.
struct BadLine {
    bytes: Vec<u8>,
    position: LinePosition,
    error: js::SyntaxError,
}

struct Loader<'a> {
    index: &'a mut Index,
    bad_line: Option<BadLine>,
    /// Offset of a line that is too long to be read, and whose end is not known yet.
    overlong_start: Option<u64>,
    /// Byte offset after the last line end.
    end: u64,
    /// Bytes after `end`, a line without a line end.
    rest: Vec<u8>,
    new_ids: &'a mut dyn IdSource,
}

impl Loader<'_> {
    /// Reads lines until the first one that parses shows the kind of file; returns the offset reached.
    fn load_first_lines(
        &mut self,
        pass: ReadPass<'_>,
        start: u64,
        buffers: &mut ReadBuffers,
    ) -> io::Result<u64> {
        let mut at = start;
        let ReadBuffers { beginning: chunk, outline, .. } = buffers;
        loop {
            let end = chunk.read_beginning(pass, at, at == start)?;
            let lines = chunk.take_lines();
            for line in &lines {
                let bytes = chunk.bytes_of(line);
                let rename_hooks = self.index.migration_steps().1;
                let scanned = match self.index.open_status {
                    OpenStatus::Empty => None,
                    _ => scan_line(bytes, outline, rename_hooks),
                };
                self.push_line(scanned, bytes, chunk.offset_of(line));
            }
            chunk.put_back(lines);
            self.save_rest(chunk);
            if end >= pass.total || self.index.open_status != OpenStatus::Empty {
                return Ok(end);
            }
            at = end;
        }
    }

    /// Indexes the next line. `scanned` is `None` for a blank line, and for every line before the kind of file is known.
    fn push_line(
        &mut self,
        scanned: Option<Result<ScannedLine, js::SyntaxError>>,
        bytes: &[u8],
        offset: u64,
    ) {
        self.finish_overlong(offset);
        let Self { index, bad_line, new_ids, .. } = self;
        index.line_count += 1;
        self.end = offset + bytes.len() as u64 + 1;
        let position = LinePosition { offset, bytes: Bytes::from_len(bytes.len()), line: index.line_count };
        if is_blank(bytes) {
            return;
        }
        if let Some(bad) = bad_line.take() {
            index.record_bad_line(bad.position.line, Bytes::from_len(bad.bytes.len()), bad.error);
        }
        if let Some(limit) = limits::exceeded(index.entries.len(), offset, bytes) {
            index.record_limit(position.line, limit);
            return;
        }
        if let Some(note) = event_note(bytes) {
            index.record_limit(position.line, note.to_owned());
            return;
        }
        let pushed = match scanned {
            Some(scanned) => scanned.map(|line| index.push_scanned(line, bytes, position, *new_ids)),
            // The runtime trims the whole text before it splits it (store I1a), so only the first line may start, and
            // only the last line end, with white space that JSON does not allow.
            None => parse_line(bytes, effective_trim(index, bytes, Trim::Start))
                .map(|value| index.push_parsed(&value, position, *new_ids)),
        };
        if let Err(error) = pushed {
            *bad_line = Some(BadLine { bytes: bytes.to_vec(), position, error });
        }
    }

    fn save_rest(&mut self, chunk: &Chunk) {
        if !chunk.rest().is_empty() {
            self.finish_overlong(chunk.rest_offset());
            self.rest = chunk.rest().to_vec();
        }
        if let Some(start) = chunk.overlong_start() {
            self.finish_overlong(start);
            self.overlong_start = Some(start);
        }
    }

    /// Records a line that was too long to be read, which ends before `next`.
    fn finish_overlong(&mut self, next: u64) {
        let Some(start) = self.overlong_start.take() else { return };
        self.record_deferred_bad_line();
        self.index.line_count += 1;
        self.index.record_limit(self.index.line_count, limits::overlong_line(Bytes(next - start - 1)));
        self.end = next;
    }

    /// Handles such a line at the end of the file. Returns its length when its line end is not written yet.
    fn finish_overlong_end(&mut self, source: &Source, total: u64) -> io::Result<Option<Bytes>> {
        let Some(start) = self.overlong_start else { return Ok(None) };
        if source.read_span(total - 1, 1)? == b"\n" {
            self.finish_overlong(total);
            return Ok(None);
        }
        self.record_deferred_bad_line();
        Ok(Some(Bytes(total - start)))
    }

    fn record_deferred_bad_line(&mut self) {
        if let Some(bad) = self.bad_line.take() {
            self.index.record_bad_line(bad.position.line, Bytes::from_len(bad.bytes.len()), bad.error);
        }
    }

    fn push_chunk(&mut self, chunk: &mut Chunk) {
        let mut lines = chunk.take_lines();
        for line in &mut lines {
            let scanned = line.scanned.take();
            self.push_line(scanned, chunk.bytes_of(line), chunk.offset_of(line));
        }
        chunk.put_back(lines);
        self.save_rest(chunk);
    }
}

/// Handles the end of the file: the last line may lack its line end, or end in white space that the runtime trims.
fn finish_last_line(index: &mut Index, rest: &[u8], bad: Option<BadLine>, new_ids: &mut dyn IdSource) {
    if is_blank(rest) {
        index.pending_bytes = Bytes::from_len(rest.len());
        if let Some(bad) = bad {
            retry_trimmed(index, &bad, new_ids);
        }
        return;
    }
    if let Some(bad) = bad {
        index.record_bad_line(bad.position.line, Bytes::from_len(bad.bytes.len()), bad.error);
    }
    let position =
        LinePosition { offset: index.end, bytes: Bytes::from_len(rest.len()), line: index.line_count + 1 };
    let before = index.entries.len();
    match parse_line(rest, effective_trim(index, rest, Trim::for_last_line(index))) {
        Ok(value) => {
            index.push_parsed(&value, position, new_ids);
            index.pending_bytes = Bytes::ZERO;
            if index.entries.len() > before {
                index.line_count += 1;
                index.end += rest.len() as u64;
                index.is_unterminated = true;
            } else {
                index.pending_bytes = Bytes::from_len(rest.len());
            }
        }
        Err(_) => index.pending_bytes = Bytes::from_len(rest.len()),
    }
}

fn retry_trimmed(index: &mut Index, bad: &BadLine, new_ids: &mut dyn IdSource) {
    let before = index.entries.len();
    match parse_line(&bad.bytes, effective_trim(index, &bad.bytes, Trim::for_last_line(index))) {
        Ok(value) => {
            index.push_parsed(&value, bad.position, new_ids);
            index.depends_on_end = index.entries.len() > before;
        }
        Err(_) => index.record_bad_line(bad.position.line, Bytes::from_len(bad.bytes.len()), bad.error),
    }
}

/// Returns the trim that the file's runtime applies, and marks the index when the reading modes differ on this line.
fn effective_trim(index: &mut Index, bytes: &[u8], trim: Trim) -> Trim {
    let beyond_json = |char: char| js::is_trimmed(char) && !matches!(char, ' ' | '\t' | '\r' | '\n');
    if trim != Trim::None {
        let text = String::from_utf8_lossy(bytes);
        index.depends_on_reading |= trim.trims_start() && text.starts_with(beyond_json)
            || trim.trims_end() && text.ends_with(beyond_json);
    }
    if index.pi_release.has(PiChange::ReadsLines) { Trim::None } else { trim }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::LineIds;

    #[test]
    fn a_line_that_only_nests_too_deep_is_not_called_broken() {
        let deep = "[".repeat(js::MAX_DEPTH + 1) + &"]".repeat(js::MAX_DEPTH + 1);
        let text = format!("{{\"type\":\"session\",\"id\":\"s\"}}\n{deep}\n{{}}\n");
        let index = load_bytes("t.jsonl", text.as_bytes(), &mut LineIds);
        let finding = &index.diagnostics[0];
        assert_eq!((finding.line, index.bad_lines), (Some(2), 1));
        assert!(finding.message.starts_with("JSON nested deeper than 4096 levels"), "{finding}");
        assert!(finding.advice.contains("the runtime may read it"), "{finding}");
    }

    #[test]
    fn an_auxiliary_entry_read_before_its_line_end_is_still_recognised() {
        let text = concat!(
            "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n",
            "{\"type\":\"custom\",\"id\":\"a\",\"customType\":\"x\"}",
            "\n{\"type\":\"custom\",\"id\":\"b\",\"customType\":\"x\"}\n",
        );
        let known = text.find("\n{\"type\":\"custom\",\"id\":\"b\"").unwrap();
        let known = load_bytes("t.jsonl", &text.as_bytes()[..known], &mut LineIds);
        assert!(known.is_unterminated && known.auxiliary_entries().count() == 1);
        let source = Source::from_memory("t.jsonl", text.as_bytes());
        let Ok(FileChange::Grown(grown)) = refresh(&known, &source, &mut LineIds, &mut |_, _| true) else {
            panic!("it grew")
        };
        assert_eq!(grown.auxiliary_entries().map(|(ix, _)| ix.index()).collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn a_growing_file_is_read_like_a_whole_one() {
        for text in [
            "\u{c}9.9",
            "9.9",
            "{\"type\":\"session\",\"id\":\"s\"} ",
            "\n\n7\n{\"id\":\"a\",\"type\":\"label\"}",
            "0\u{b}\n\n\n\u{b}\n\nV\n",
            "1\n0\u{b}\n\nV\n",
        ] {
            let whole = load_bytes("t.jsonl", text.as_bytes(), &mut LineIds);
            for cut in 1..text.len() {
                let known = load_bytes("t.jsonl", &text.as_bytes()[..cut], &mut LineIds);
                let source = Source::from_memory("t.jsonl", text.as_bytes());
                let Ok(FileChange::Grown(grown)) = refresh(&known, &source, &mut LineIds, &mut |_, _| true)
                else {
                    panic!("{text:?} grew from {cut}")
                };
                assert_eq!(
                    format!("{:?}", grown.entries),
                    format!("{:?}", whole.entries),
                    "{text:?} from {cut}"
                );
                let known =
                    |index: &Index| (index.end, index.pending_bytes, index.open_status, index.bad_lines);
                assert_eq!(known(&grown), known(&whole), "{text:?} from {cut}");
            }
        }
    }

    /// Lines as a runtime, a person and a hostile writer would leave them.
    fn line() -> impl Strategy<Value = Vec<u8>> {
        let text = "[a-z\\u{e9}\\u{6f22}\\u{1f600} ]{0,30}";
        let message = (0..6_usize, text, 0..1_000_u32).prop_map(|(role, text, number)| {
            let role = ["user", "assistant", "toolResult", "bashExecution", "custom", "hookMessage"][role];
            format!(
                r#"{{"type":"message","id":"e{number}","parentId":"e{}","timestamp":"2026-11-19T13:00:00.{:03}Z","message":{{"role":"{role}","content":[{{"type":"text","text":"{text}\\n\\ud83d"}},{{"type":"toolCall","id":"c{number}","name":"exec","arguments":{{"a":1.50,"b":["\\u0041"],"a":{{}}}}}}],"toolName":"exec","toolCallId":"c{number}","usage":{{"input":{number},"output":2}}}}}}"#,
                number / 2,
                number
            )
            .into_bytes()
        });
        prop_oneof![
            8 => message,
            1 => Just(b"{\"type\":\"compaction\",\"id\":\"k\",\"summary\":\"so\",\"firstKeptEntryId\":\"e1\"}".to_vec()),
            1 => Just(b"{\"type\":\"custom\",\"id\":\"c\",\"customType\":\"x\",\"data\":{\"timestamp\":5}}".to_vec()),
            1 => Just(b"{broken".to_vec()),
            1 => Just(b"  \xe3\x80\x80".to_vec()),
            1 => Just(b"{\"type\":\"label\",\"id\":\"\xff\",\"label\":\"\xff\"}".to_vec()),
            1 => Just(b"5".to_vec()),
            1 => (0..600_000_usize).prop_map(|count| format!(r#"{{"type":"message","message":{{"role":"user","content":"{}"}}}}"#, "x".repeat(count)).into_bytes()),
        ]
    }

    /// Indexes lines one by one from parsed values.
    fn one_by_one(lines: &[Vec<u8>], version: u32) -> Index {
        let mut index = Index::new("t.jsonl");
        let mut offset = 0;
        let header = format!(r#"{{"type":"session","version":{version},"id":"s"}}"#).into_bytes();
        for bytes in std::iter::once(&header).chain(lines) {
            index.line_count += 1;
            let place = LinePosition { offset, bytes: Bytes::from_len(bytes.len()), line: index.line_count };
            offset += bytes.len() as u64 + 1;
            if !is_blank(bytes) {
                match parse_line(bytes, Trim::None) {
                    Ok(value) => index.push_parsed(&value, place, &mut LineIds),
                    Err(why) => index.record_bad_line(place.line, Bytes::from_len(bytes.len()), why),
                }
            }
        }
        index.end = offset;
        index
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

        #[test]
        fn reading_in_chunks_equals_reading_line_by_line(
            lines in proptest::collection::vec(line(), 1..60),
            version in 1_u32..4,
        ) {
            let header = format!(r#"{{"type":"session","version":{version},"id":"s"}}"#).into_bytes();
            let all: Vec<&[u8]> = std::iter::once(&header[..]).chain(lines.iter().map(Vec::as_slice)).collect();
            let mut text = all.join(&b'\n');
            text.push(b'\n');
            let index = load_bytes("t.jsonl", &text, &mut LineIds);
            let expected = one_by_one(&lines, version);
            prop_assert_eq!(format!("{:?}", &index.entries), format!("{:?}", &expected.entries));
            prop_assert_eq!(format!("{:?}", &index.tool_calls), format!("{:?}", &expected.tool_calls));
            prop_assert_eq!(format!("{:?}", &index.diagnostics), format!("{:?}", &expected.diagnostics));
            prop_assert_eq!(&index.retained_bodies, &expected.retained_bodies);
            prop_assert_eq!((index.pending_bytes, index.is_unterminated), (Bytes::ZERO, false));
            prop_assert_eq!((index.end, index.line_count, index.bad_lines), (text.len() as u64, expected.line_count, expected.bad_lines));
            prop_assert!(index.ids.iter().eq(expected.ids.iter()));
        }
    }
}
