//! Pieces of a transcript: each holds the lines that begin in its range of the file, read and scanned.

use std::cell::Cell;
use std::io;

use crate::js::{self, Outline, SyntaxError};
use crate::store::aligned_buffer::AlignedBuffer;
use crate::store::load::is_blank;
use crate::store::scan::{ScannedLine, scan};
use crate::store::source::Source;

/// Bytes of a piece, at least: new memory costs more than reading a small file.
const MIN_CHUNK_BYTES: u64 = 256 * 1024;
/// Bytes of a piece, at most: the room of every piece is held while a file is read.
const MAX_CHUNK_BYTES: u64 = 1024 * 1024;
/// Pieces of a file that is neither small nor large: of fewer, a core waits for the last ones.
const TARGET_CHUNKS: u64 = 512;
/// Bytes read on at a time where the last line of a piece goes on behind it.
const CONTINUATION_BYTES: u64 = 16 * 1024;
/// Bytes of the beginning.
const BEGINNING_BYTES: u64 = 64 * 1024;

/// The lines that begin in a range of a file.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    /// Of the file, to the end of the last of those lines.
    bytes: AlignedBuffer,
    /// Where a last line without an end begins in them.
    rest_start: usize,
    lines: Vec<ChunkLine>,
    outline: Outline,
}

/// A line of a piece.
#[derive(Debug)]
pub(crate) struct ChunkLine {
    /// First byte in the piece.
    start: usize,
    /// Byte after the last, without the line end.
    end: usize,
    /// What it says; none of a blank line.
    pub(crate) scanned: Option<Result<ScannedLine, SyntaxError>>,
}

/// One way through a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadPass<'a> {
    /// The file.
    pub source: &'a Source,
    /// Bytes there are; what is added meanwhile is left for later.
    pub total: u64,
    /// The step from version 2 to 3 (store L3).
    pub rename_hooks: bool,
}

impl ReadPass<'_> {
    /// Bytes of a piece.
    fn chunk_bytes(self) -> u64 {
        (self.total / TARGET_CHUNKS).clamp(MIN_CHUNK_BYTES, MAX_CHUNK_BYTES)
    }

    /// How many pieces follow `start`.
    pub(crate) fn chunk_count(self, start: u64) -> usize {
        self.total.saturating_sub(start).div_ceil(self.chunk_bytes()) as usize
    }

    /// Where the range of the piece of this number ends, of those behind `start`.
    pub(crate) fn chunk_end(self, start: u64, number: usize) -> u64 {
        (start + (number as u64 + 1) * self.chunk_bytes()).min(self.total)
    }
}

impl Chunk {
    /// Its lines in order; taken out, so that they can be handed on.
    pub(crate) fn take_lines(&mut self) -> Vec<ChunkLine> {
        std::mem::take(&mut self.lines)
    }

    /// Gives the room of its lines back.
    pub(crate) fn put_back(&mut self, mut lines: Vec<ChunkLine>) {
        lines.clear();
        self.lines = lines;
    }

    /// The bytes of a line.
    pub(crate) fn bytes_of(&self, line: &ChunkLine) -> &[u8] {
        &self.bytes[line.start..line.end]
    }

    /// The first byte of a line in the file.
    pub(crate) fn offset_of(&self, line: &ChunkLine) -> u64 {
        self.bytes.file_offset() + line.start as u64
    }

    /// What follows its last line end: the beginning of a line that has none yet.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.bytes[self.rest_start..]
    }

    /// Reads the lines of the beginning of a file, not scanned yet: the first ones decide how the others are read. Answers
    /// how far it read.
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
        }
        Ok(end)
    }

    /// Reads the lines that begin from `start` up to `end`. A line begins at `start` where `at_line` says so.
    fn read(&mut self, pass: ReadPass<'_>, start: u64, end: u64, at_line: bool) -> io::Result<()> {
        self.lines.clear();
        // The byte before tells whether a line begins right there.
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

    /// Reads to the end of the last line.
    fn read_last_line(&mut self, pass: ReadPass<'_>, from: u64, end: u64) -> io::Result<()> {
        let mut read = end;
        let mut looked = self.bytes.len().saturating_sub(1);
        while read < pass.total && memchr::memchr(b'\n', &self.bytes[looked..]).is_none() {
            looked = self.bytes.len();
            let next = (read + CONTINUATION_BYTES.max(read - end)).min(pass.total);
            if self.bytes.read_more(pass.source, next)? == 0 {
                break;
            }
            read = next;
        }
        // Lines behind the range are another piece's.
        let own = (end - from) as usize;
        if let Some(behind) = self.bytes.get(own - 1..)
            && let Some(lf) = memchr::memchr(b'\n', behind)
        {
            self.bytes.truncate(own + lf);
        }
        Ok(())
    }

    /// Reads and scans the piece of this number, of those behind `start`.
    pub(crate) fn scan(&mut self, pass: ReadPass<'_>, start: u64, number: usize) -> io::Result<()> {
        self.read(pass, start + number as u64 * pass.chunk_bytes(), pass.chunk_end(start, number), false)?;
        let Self { bytes, lines, outline, .. } = self;
        for line in lines {
            line.scanned = scan_line(&bytes[line.start..line.end], outline, pass.rename_hooks);
        }
        Ok(())
    }
}

/// What a line says; nothing where it is blank.
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
        // The names would stand in a text that is not kept.
        Err(_) => js::parse(&String::from_utf8_lossy(bytes)).map(|line| scan(&line, rename_hooks)),
    })
}

/// What a file is read with. The next one that the same thread reads is read with it too: a store has thousands of small
/// ones, and new memory costs more than reading them.
#[derive(Debug, Default)]
pub(crate) struct ReadBuffers {
    /// For the first lines, which are read one by one.
    pub(crate) beginning: Chunk,
    pub(crate) outline: Outline,
    /// For the others.
    pub(crate) chunks: Vec<Chunk>,
}

thread_local! {
    static READ_BUFFERS: Cell<Option<Box<ReadBuffers>>> = const { Cell::new(None) };
}

impl ReadBuffers {
    /// What the last file was read with.
    pub(crate) fn take_thread_local() -> Box<Self> {
        READ_BUFFERS.take().unwrap_or_default()
    }

    /// Leaves it to the next file, but nothing that only a huge line asked for.
    pub(crate) fn return_to_thread(mut self: Box<Self>) {
        for piece in self.chunks.iter_mut().chain([&mut self.beginning]) {
            piece.bytes.shrink_to(2 * MAX_CHUNK_BYTES as usize);
        }
        READ_BUFFERS.set(Some(self));
    }
}
