//! Byte sources of a transcript. Session files are live, so they are read at positions and never memory-mapped (store
//! Q2). Rows of a database read like the lines of a file.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::files;
use crate::store::file_identity::FileIdentity;
use crate::store::sqlite::Events;

pub use crate::store::file_identity::file_identity;

/// An open transcript: a file, an unpacked archive, rows of a database, or bytes in memory (tests, generated stores).
#[derive(Debug, Clone)]
pub enum Source {
    File {
        path: Arc<Path>,
        /// The opened file; it stays readable when another file replaces it.
        file: Arc<File>,
    },
    /// Content of an archive, unpacked into an anonymous temporary file.
    Unpacked {
        /// Path of the archive.
        path: Arc<Path>,
        file: Arc<File>,
        /// Identity of the archive.
        identity: FileIdentity,
    },
    /// Events of one session in a database.
    DatabaseRows(Arc<Events>),
    Memory {
        /// Name for display.
        path: Arc<Path>,
        bytes: Arc<[u8]>,
    },
}

impl Source {
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self::from_file(path, files::open(path)?))
    }

    /// A file that the caller opened as a regular one.
    pub fn from_file(path: &Path, file: File) -> Self {
        Self::File { path: path.into(), file: Arc::new(file) }
    }

    pub fn from_memory(path: impl Into<PathBuf>, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self::Memory { path: path.into().into(), bytes: bytes.into() }
    }

    /// Returns the path for display, which may not exist as a file.
    pub fn path(&self) -> &Path {
        match self {
            Self::File { path, .. } | Self::Unpacked { path, .. } | Self::Memory { path, .. } => path,
            Self::DatabaseRows(events) => events.path(),
        }
    }

    /// Returns the database rows; `None` for other sources.
    pub fn events(&self) -> Option<&Events> {
        match self {
            Self::DatabaseRows(events) => Some(events),
            _ => None,
        }
    }

    /// Returns the current length in bytes.
    pub fn len(&self) -> io::Result<u64> {
        match self {
            Self::File { file, .. } | Self::Unpacked { file, .. } => Ok(file.metadata()?.len()),
            Self::DatabaseRows(events) => Ok(events.len()),
            Self::Memory { bytes, .. } => Ok(bytes.len() as u64),
        }
    }

    pub fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Returns the identity of the file behind the source.
    pub fn identity(&self) -> io::Result<FileIdentity> {
        match self {
            Self::File { file, .. } => Ok(file_identity(&file.metadata()?)),
            Self::Unpacked { identity, .. } => Ok(*identity),
            Self::DatabaseRows(events) => Ok(events.identity()),
            Self::Memory { .. } => Ok(FileIdentity::default()),
        }
    }

    /// Reads up to `buffer.len()` bytes at a position; fewer at the end of the file.
    pub fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        match self {
            Self::File { file, .. } | Self::Unpacked { file, .. } => read_file_at(file, buffer, at),
            Self::DatabaseRows(events) => events.read_at(buffer, at),
            Self::Memory { bytes, .. } => {
                let from = (at as usize).min(bytes.len());
                let count = buffer.len().min(bytes.len() - from);
                buffer[..count].copy_from_slice(&bytes[from..from + count]);
                Ok(count)
            }
        }
    }

    /// Reads exactly `bytes` bytes.
    ///
    /// # Errors
    /// The read fails, or the source ends before them.
    pub fn read_span(&self, at: u64, bytes: usize) -> io::Result<Vec<u8>> {
        let mut buffer = vec![0; bytes];
        let mut done = 0;
        while done < bytes {
            let count = self.read_at(&mut buffer[done..], at + done as u64)?;
            if count == 0 {
                return Err(truncated_error());
            }
            done += count;
        }
        Ok(buffer)
    }
}

/// Returns the error for a file that became shorter while it was read.
fn truncated_error() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter")
}

#[cfg(unix)]
fn read_file_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, at)
}

#[cfg(windows)]
fn read_file_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, at)
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
