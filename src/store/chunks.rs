//! Chunks of a transcript: each reads and scans the lines that begin in its byte range.
//!
//! A line belongs to the chunk in which it begins, so a chunk skips a first partial line and reads on past its end for
//! the last one. That way all cores can scan one file without agreeing on line boundaries first.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::ops::Deref;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::js::{self, JsString, Outline, SyntaxError};
use crate::store::index::{Index, MAX_LINE_BYTES, OpenStatus};
use crate::store::scan::{ScannedLine, scan};
use crate::store::source::{Source, truncated_error};
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

// A buffer for file bytes at the same alignment, relative to cache lines, as in the file: the kernel copies such
// ranges several times faster.

const CACHE_LINE_BYTES: usize = 64;

/// A range of a file; the allocation is reused for the next range.
#[derive(Debug, Default)]
pub(crate) struct AlignedBuffer {
    buffer: Vec<u8>,
    /// Bounds of the range in `buffer`.
    start: usize,
    end: usize,
    /// Offset of the range in the file.
    file_offset: u64,
}

impl Deref for AlignedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }
}

impl AlignedBuffer {
    /// Returns the offset of the range in the file.
    pub(crate) fn file_offset(&self) -> u64 {
        self.file_offset
    }

    pub(crate) fn clear(&mut self) {
        self.end = self.start;
    }

    /// Keeps only the first `bytes` bytes.
    pub(crate) fn truncate(&mut self, bytes: usize) {
        self.end = self.end.min(self.start + bytes);
    }

    /// Frees the allocation when it is larger than `bytes`.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        if self.buffer.len() > bytes {
            *self = Self::default();
        }
    }

    /// Replaces the content with the range `at..end`; shorter when the file ends before `end`.
    ///
    /// # Errors
    /// The system's read error.
    pub(crate) fn read(&mut self, source: &Source, at: u64, end: u64) -> io::Result<()> {
        (self.file_offset, self.end) = (at, self.start);
        self.read_more(source, end).map(drop)
    }

    /// Replaces the content with exactly `bytes` bytes.
    ///
    /// # Errors
    /// The system's read error, or that the file ends before them.
    pub(crate) fn read_exact(&mut self, source: &Source, at: u64, bytes: usize) -> io::Result<()> {
        self.read(source, at, at + bytes as u64)?;
        if self.len() == bytes { Ok(()) } else { Err(truncated_error()) }
    }

    /// Appends bytes up to the file offset `end` and returns their number.
    ///
    /// # Errors
    /// The system's read error.
    pub(crate) fn read_more(&mut self, source: &Source, end: u64) -> io::Result<usize> {
        let len = self.len();
        let next = self.file_offset + len as u64;
        let wanted = end.saturating_sub(next) as usize;
        self.reserve(wanted);
        let mut filled = 0;
        while filled < wanted {
            let room = &mut self.buffer[self.end..self.end + wanted - filled];
            let count = source.read_at(room, next + filled as u64)?;
            if count == 0 {
                break;
            }
            filled += count;
            self.end += count;
        }
        Ok(filled)
    }

    /// Reserves space for `wanted` more bytes and aligns all bytes as in the file.
    fn reserve(&mut self, wanted: usize) {
        let len = self.len();
        let needed = len + wanted + CACHE_LINE_BYTES;
        if self.buffer.len() < needed {
            self.buffer.resize(needed, 0);
        }
        let from = (self.file_offset as usize).wrapping_sub(self.buffer.as_ptr().addr()) % CACHE_LINE_BYTES;
        if len > 0 && from != self.start {
            self.buffer.copy_within(self.start..self.end, from);
        }
        (self.start, self.end) = (from, from + len);
    }
}

// Scans the chunks of a transcript on all cores and delivers them in file order. A worker waits only when it is a few
// chunks ahead, because the number of chunk buffers is limited.

/// Work queue between the scanning threads and the consumer.
#[derive(Debug)]
pub(crate) struct ChunkQueue<'a> {
    pass: ReadPass<'a>,
    start: u64,
    chunk_count: usize,
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct QueueState {
    /// Number of the next chunk to scan.
    next_chunk: usize,
    /// Free buffers.
    free_chunks: Vec<Chunk>,
    /// Scanned chunks that the consumer has not taken, by number.
    scanned: BTreeMap<usize, io::Result<Chunk>>,
    is_stopped: bool,
}

impl<'a> ChunkQueue<'a> {
    /// Starts after `start` and reuses the buffers in `room`.
    pub(crate) fn new(pass: ReadPass<'a>, start: u64, room: Vec<Chunk>) -> Self {
        let state = Mutex::new(QueueState { free_chunks: room, ..QueueState::default() });
        Self { pass, start, chunk_count: pass.chunk_count(start), state, changed: Condvar::new() }
    }

    /// Passes every chunk to `take` in order while all cores scan. `take` also gets the file offset reached, and
    /// returns false to stop. Returns the buffers.
    pub(crate) fn for_each(self, mut take: impl FnMut(&mut Chunk, u64) -> bool) -> io::Result<Vec<Chunk>> {
        let threads = rayon::current_num_threads();
        let mut state = self.lock_state();
        // Existing buffers stay for the files that this thread reads next.
        let room = (2 * threads + 2).min(self.chunk_count).max(state.free_chunks.len());
        state.free_chunks.resize_with(room, Chunk::default);
        drop(state);
        rayon::in_place_scope(|scope| {
            (1..threads.min(self.chunk_count)).for_each(|_| scope.spawn(|_| self.run_worker()));
            let _stop = StopGuard { queue: &self, always: true };
            for number in 0..self.chunk_count {
                let mut piece = self.wait_for(number)?;
                let goes_on = take(&mut piece, self.pass.chunk_end(self.start, number));
                self.recycle(piece);
                if !goes_on {
                    break;
                }
            }
            Ok(())
        })
        .map(|()| std::mem::take(&mut self.lock_state().free_chunks))
    }

    fn lock_state(&self) -> MutexGuard<'_, QueueState> {
        // The state is consistent between any two statements, so a panic elsewhere does no harm.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims the next chunk, if one is left and a buffer is free.
    fn claim_next(&self, state: &mut QueueState) -> Option<(usize, Chunk)> {
        let number = state.next_chunk;
        if number >= self.chunk_count {
            return None;
        }
        let piece = state.free_chunks.pop()?;
        state.next_chunk += 1;
        Some((number, piece))
    }

    /// Scans chunks until none is left.
    fn run_worker(&self) {
        let _stop = StopGuard { queue: self, always: false };
        let mut state = self.lock_state();
        while !state.is_stopped && state.next_chunk < self.chunk_count {
            state = self.scan_or_wait(state);
        }
    }

    /// Scans the next chunk, or waits for a change when none is left or no buffer is free.
    fn scan_or_wait<'s>(&'s self, mut state: MutexGuard<'s, QueueState>) -> MutexGuard<'s, QueueState> {
        let Some(claimed) = self.claim_next(&mut state) else {
            return self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        drop(state);
        self.scan_chunk(claimed);
        self.lock_state()
    }

    fn scan_chunk(&self, (number, mut piece): (usize, Chunk)) {
        let scanned = piece.scan(self.pass, self.start, number).map(|()| piece);
        self.lock_state().scanned.insert(number, scanned);
        self.changed.notify_all();
    }

    /// Returns a chunk; scans others until it is ready.
    fn wait_for(&self, number: usize) -> io::Result<Chunk> {
        let mut state = self.lock_state();
        loop {
            if let Some(scanned) = state.scanned.remove(&number) {
                return scanned;
            }
            if state.is_stopped {
                return Err(io::Error::other("reading stopped early"));
            }
            state = self.scan_or_wait(state);
        }
    }

    fn recycle(&self, mut piece: Chunk) {
        piece.shrink();
        self.lock_state().free_chunks.push(piece);
        self.changed.notify_all();
    }
}

/// Stops all threads when dropped, always or only on a panic, so that no thread waits for a chunk that never arrives.
struct StopGuard<'f, 'a> {
    queue: &'f ChunkQueue<'a>,
    always: bool,
}

impl Drop for StopGuard<'_, '_> {
    fn drop(&mut self) {
        if self.always || std::thread::panicking() {
            self.queue.lock_state().is_stopped = true;
            self.queue.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_buffer_has_the_bytes_of_the_file_at_its_offset(
            reads in proptest::collection::vec((0..9_000_u64, 0..3_000_u64, 0..3_000_u64, 0..4_000_usize), 1..8),
        ) {
            let bytes: Vec<u8> = (0..10_000_u32).map(|at| (at % 251) as u8).collect();
            let source = Source::from_memory("f", bytes.as_slice());
            let expected = |from: u64, to: u64| {
                let end = bytes.len() as u64;
                &bytes[from.min(end) as usize..to.min(end) as usize]
            };
            let mut block = AlignedBuffer::default();
            for (at, first, second, kept) in reads {
                block.read(&source, at, at + first).unwrap();
                prop_assert_eq!(&*block, expected(at, at + first));
                let more = block.read_more(&source, at + first + second).unwrap();
                prop_assert_eq!(&*block, expected(at, at + first + second));
                prop_assert_eq!(more, expected(at + first, at + first + second).len());
                prop_assert_eq!(block.as_ptr().addr() % CACHE_LINE_BYTES, at as usize % CACHE_LINE_BYTES);
                block.truncate(kept);
                prop_assert_eq!(&*block, &expected(at, at + first + second)[..kept.min(expected(at, at + first + second).len())]);
                prop_assert_eq!(block.file_offset(), at);
            }
        }
    }
}

#[cfg(test)]
mod chunk_queue_tests {
    use super::*;
    use crate::store::source::Source;

    /// Lines of many lengths, one of them longer than a chunk.
    fn text() -> Vec<u8> {
        let mut text = Vec::new();
        for number in 0..6_000_usize {
            let chars = match number {
                700 => 600_000,
                _ => number * 7919 % 700,
            };
            text.extend(format!("{{\"n\":{number},\"t\":\"{}\"}}\n", "x".repeat(chars)).into_bytes());
        }
        text
    }

    fn feed(source: &Source, total: u64) -> ChunkQueue<'_> {
        ChunkQueue::new(ReadPass { source, total, rename_hooks: false }, 1, Vec::new())
    }

    #[test]
    fn every_line_after_the_start_arrives_once_and_in_order() {
        let text = text();
        let source = Source::from_memory("t.jsonl", text.clone());
        let (mut lines, mut ends) = (Vec::new(), Vec::new());
        let room = feed(&source, text.len() as u64).for_each(|piece, end| {
            for line in piece.take_lines() {
                assert!(line.scanned.is_some(), "it is scanned");
                lines.push(String::from_utf8(piece.bytes_of(&line).to_vec()).unwrap());
            }
            ends.push(end);
            true
        });
        let behind: Vec<&str> = std::str::from_utf8(&text).unwrap().lines().skip(1).collect();
        assert_eq!(lines, behind);
        assert!(ends.len() > 4 && ends.is_sorted() && ends.last() == Some(&(text.len() as u64)), "{ends:?}");
        assert!(!room.unwrap().is_empty());
    }

    #[test]
    fn a_stopped_queue_delivers_no_more_chunks() {
        let text = text();
        let source = Source::from_memory("t.jsonl", text.clone());
        let mut handed = 0;
        let room = feed(&source, text.len() as u64).for_each(|_, _| {
            handed += 1;
            handed < 2
        });
        assert!(room.is_ok() && handed == 2);
    }

    #[test]
    fn a_file_that_shrinks_meanwhile_is_read_to_its_new_end() {
        let text = text();
        let source = Source::from_memory("t.jsonl", &text[..200_000]);
        let mut lines = 0;
        let room = feed(&source, text.len() as u64).for_each(|piece, _| {
            lines += piece.take_lines().len();
            true
        });
        let whole = memchr::memchr_iter(b'\n', &text[..200_000]).count();
        assert_eq!((room.is_ok(), lines), (true, whole - 1));
    }
}
