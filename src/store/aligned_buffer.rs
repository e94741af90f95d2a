//! A buffer for file bytes at the same alignment, relative to cache lines, as in the file: the kernel copies such
//! ranges several times faster.

use std::io;
use std::ops::Deref;

use crate::store::source::{Source, truncated_error};

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
