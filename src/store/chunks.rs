//! Chunks of a transcript: each reads and scans the lines that begin in its byte range.
//!
//! A line belongs to the chunk in which it begins, so a chunk skips a first partial line and reads on past its end for
//! the last one. That way all cores can scan one file without agreeing on line boundaries first.

use std::cell::Cell;
use std::io;

use crate::js::{self, JsString, Outline, SyntaxError};
use crate::store::index::{Index, OpenStatus};
use crate::store::limits::MAX_LINE_BYTES;
use crate::store::scan::{ScannedLine, scan};
use crate::store::source::{AlignedBuffer, Source};
use crate::units::Bytes;

/// Minimum bytes of a chunk: allocating costs more than reading a small file.
const MIN_CHUNK_BYTES: u64 = 256 * 1024;
/// Maximum bytes of a chunk: the buffers of all chunks stay allocated during a read.
const MAX_CHUNK_BYTES: u64 = 1024 * 1024;
/// Number of chunks of a medium file: with fewer, cores idle while the last ones are scanned.
const TARGET_CHUNKS: u64 = 512;
/// Minimum bytes per read while completing the last line of a chunk.
const CONTINUATION_BYTES: u64 = 16 * 1024;
/// Bytes read at a time until the kind of file is known.
const BEGINNING_BYTES: u64 = 64 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Chunk {
    /// From the start of the range to the end of the last line that begins in it.
    bytes: AlignedBuffer,
    /// Offset in `bytes` of a last line without a line end.
    rest_start: usize,
    /// File offset of a last line that is longer than [`MAX_LINE_BYTES`]; `bytes` ends before it.
    overlong_start: Option<u64>,
    lines: Vec<ChunkLine>,
    outline: Outline,
}

#[derive(Debug)]
pub(crate) struct ChunkLine {
    /// Offset of the first byte in the chunk.
    start: usize,
    /// Offset after the last byte, without the line end.
    end: usize,
    /// `None` for a blank line, and for a line not scanned yet.
    pub(crate) scanned: Option<Result<ScannedLine, SyntaxError>>,
}

/// One read of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadPass<'a> {
    pub source: &'a Source,
    /// Bytes to read; bytes appended later are left for the next refresh.
    pub total: u64,
    /// Whether to apply the migration from version 2 to 3 (store L3).
    pub rename_hooks: bool,
}

impl ReadPass<'_> {
    fn chunk_bytes(self) -> u64 {
        (self.total / TARGET_CHUNKS).clamp(MIN_CHUNK_BYTES, MAX_CHUNK_BYTES)
    }

    /// Returns the number of chunks after `start`.
    pub(crate) fn chunk_count(self, start: u64) -> usize {
        self.total.saturating_sub(start).div_ceil(self.chunk_bytes()) as usize
    }

    /// Returns the end offset of a chunk; chunk 0 begins at `start`.
    pub(crate) fn chunk_end(self, start: u64, number: usize) -> u64 {
        (start + (number as u64 + 1) * self.chunk_bytes()).min(self.total)
    }
}

impl Chunk {
    /// Takes the lines in order, so that the chunk can be borrowed while they are used.
    pub(crate) fn take_lines(&mut self) -> Vec<ChunkLine> {
        std::mem::take(&mut self.lines)
    }

    /// Returns the vector for reuse.
    pub(crate) fn put_back(&mut self, mut lines: Vec<ChunkLine>) {
        lines.clear();
        self.lines = lines;
    }

    pub(crate) fn bytes_of(&self, line: &ChunkLine) -> &[u8] {
        &self.bytes[line.start..line.end]
    }

    /// Returns the offset of a line in the file.
    pub(crate) fn offset_of(&self, line: &ChunkLine) -> u64 {
        self.bytes.file_offset() + line.start as u64
    }

    /// Returns the bytes after the last line end: a line without a line end.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.bytes[self.rest_start..]
    }

    /// Returns the file offset of the bytes after the last line end.
    pub(crate) fn rest_offset(&self) -> u64 {
        self.bytes.file_offset() + self.rest_start as u64
    }

    /// Returns the file offset of a last line that is too long to be read. It ends where the next line begins.
    pub(crate) fn overlong_start(&self) -> Option<u64> {
        self.overlong_start
    }

    /// Frees the space of a huge line.
    pub(crate) fn shrink(&mut self) {
        self.shrink_to(2 * MAX_CHUNK_BYTES);
    }

    fn shrink_to(&mut self, bytes: u64) {
        self.bytes.shrink_to(bytes as usize);
        self.outline.shrink();
    }

    /// Reads the next lines without scanning them, because the first lines of a file decide how the rest is read.
    /// Returns the offset reached.
    pub(crate) fn read_beginning(
        &mut self,
        pass: ReadPass<'_>,
        start: u64,
        at_line: bool,
    ) -> io::Result<u64> {
        let end = pass.total.min(start + BEGINNING_BYTES);
        if end > start {
            self.read(pass, start, end, at_line)?;
        } else {
            self.lines.clear();
            self.bytes.clear();
            self.rest_start = 0;
            self.overlong_start = None;
        }
        Ok(end)
    }

    /// Reads the lines that begin in `start..end`. `at_line` says that a line begins at `start`.
    fn read(&mut self, pass: ReadPass<'_>, start: u64, end: u64, at_line: bool) -> io::Result<()> {
        self.lines.clear();
        self.overlong_start = None;
        // The byte before `start` shows whether a line begins at `start`.
        let from = if at_line { start } else { start - 1 };
        self.bytes.read(pass.source, from, end)?;
        let skipped = if at_line { Some(0) } else { memchr::memchr(b'\n', &self.bytes).map(|lf| lf + 1) };
        let Some(skipped) = skipped.filter(|skipped| from + (*skipped as u64) < end) else {
            self.rest_start = 0;
            self.bytes.clear();
            return Ok(());
        };
        self.read_last_line(pass, from, end)?;
        let mut begin = skipped;
        for lf in memchr::memchr_iter(b'\n', &self.bytes[skipped..]) {
            self.lines.push(ChunkLine { start: begin, end: skipped + lf, scanned: None });
            begin = skipped + lf + 1;
        }
        self.rest_start = begin;
        Ok(())
    }

    /// Reads on to the end of the last line.
    fn read_last_line(&mut self, pass: ReadPass<'_>, from: u64, end: u64) -> io::Result<()> {
        let mut read = end;
        let mut looked = self.bytes.len().saturating_sub(1);
        while read < pass.total && memchr::memchr(b'\n', &self.bytes[looked..]).is_none() {
            if Bytes(read - end) > MAX_LINE_BYTES {
                let begin = memchr::memrchr(b'\n', &self.bytes).map_or(0, |lf| lf + 1);
                self.bytes.truncate(begin);
                self.overlong_start = Some(self.bytes.file_offset() + begin as u64);
                return Ok(());
            }
            looked = self.bytes.len();
            let next = (read + CONTINUATION_BYTES.max(read - end)).min(pass.total);
            if self.bytes.read_more(pass.source, next)? == 0 {
                break;
            }
            read = next;
        }
        // Lines that begin after the range belong to the next chunk.
        let own = (end - from) as usize;
        if let Some(behind) = self.bytes.get(own - 1..)
            && let Some(lf) = memchr::memchr(b'\n', behind)
        {
            self.bytes.truncate(own + lf);
        }
        Ok(())
    }

    /// Reads and scans a chunk; chunk 0 begins at `start`.
    pub(crate) fn scan(&mut self, pass: ReadPass<'_>, start: u64, number: usize) -> io::Result<()> {
        self.read(pass, start + number as u64 * pass.chunk_bytes(), pass.chunk_end(start, number), false)?;
        let Self { bytes, lines, outline, .. } = self;
        for line in lines {
            line.scanned = scan_line(&bytes[line.start..line.end], outline, pass.rename_hooks);
        }
        Ok(())
    }
}

/// Scans a line; `None` when it is blank.
pub(crate) fn scan_line(
    bytes: &[u8],
    outline: &mut Outline,
    rename_hooks: bool,
) -> Option<Result<ScannedLine, SyntaxError>> {
    if is_blank(bytes) {
        return None;
    }
    Some(match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => outline.read(text).map(|line| scan(line, rename_hooks)),
        // Spans would refer to the lossy copy, which is dropped; parsing copies the strings instead.
        Err(_) => parse_line(bytes, Trim::None).map(|line| scan(&line, rename_hooks)),
    })
}

/// Buffers for reading a file, reused by the thread's next file: a store has thousands of small files, and allocating
/// costs more than reading them.
#[derive(Debug, Default)]
pub(crate) struct ReadBuffers {
    /// For the first lines, which are read one by one.
    pub(crate) beginning: Chunk,
    pub(crate) outline: Outline,
    /// For the rest of the file.
    pub(crate) chunks: Vec<Chunk>,
}

thread_local! {
    static READ_BUFFERS: Cell<Option<Box<ReadBuffers>>> = const { Cell::new(None) };
}

impl ReadBuffers {
    /// Takes the buffers that the thread used for its last file.
    pub(crate) fn take_thread_local() -> Box<Self> {
        READ_BUFFERS.take().unwrap_or_default()
    }

    /// Keeps the buffers for the next file, except those that one huge line or file enlarged.
    pub(crate) fn return_to_thread(mut self: Box<Self>) {
        for piece in self.chunks.iter_mut().chain([&mut self.beginning]) {
            piece.shrink_to(2 * MIN_CHUNK_BYTES);
        }
        self.outline.shrink();
        READ_BUFFERS.set(Some(self));
    }
}

/// Ends of a line to trim, as the runtime trims the whole text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trim {
    None,
    Start,
    End,
    /// The last line is also the first.
    Both,
}

impl Trim {
    /// Returns the trim for the last line of a file.
    pub(super) fn for_last_line(index: &Index) -> Self {
        if index.open_status == OpenStatus::Empty { Self::Both } else { Self::End }
    }

    pub(super) fn trims_start(self) -> bool {
        matches!(self, Self::Start | Self::Both)
    }

    pub(super) fn trims_end(self) -> bool {
        matches!(self, Self::End | Self::Both)
    }
}

/// Parses one line as the runtime does: invalid UTF-8 becomes U+FFFD (store I1a).
pub(crate) fn parse_line(bytes: &[u8], trim: Trim) -> Result<js::Value, js::SyntaxError> {
    let text = js::utf8_lossy(bytes);
    let mut text: &str = &text;
    if trim.trims_start() {
        text = text.trim_start_matches(js::is_trimmed);
    }
    if trim.trims_end() {
        text = text.trim_end_matches(js::is_trimmed);
    }
    if text.len() > js::MAX_LINE_VALUES {
        js::Outline::default().read(text)?;
    }
    js::parse(text)
}

/// Whether the line is empty after the ECMAScript trim (pruning 0.3).
pub(crate) fn is_blank(bytes: &[u8]) -> bool {
    match bytes.first() {
        None => true,
        Some(b'{') => false,
        Some(_) => JsString::from(&*js::utf8_lossy(bytes)).is_blank(),
    }
}
