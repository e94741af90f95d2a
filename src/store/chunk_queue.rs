//! Scans the chunks of a transcript on all cores and delivers them in file order. A worker waits only when it is a few
//! chunks ahead, because the number of chunk buffers is limited.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::store::chunks::{Chunk, ReadPass};

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
