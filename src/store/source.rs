//! Byte sources of a transcript. Session files are live, so they are read at positions and never memory-mapped (store
//! Q2). Rows of a database read like the lines of a file.

use std::fs::File;
use std::io;
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
pub(super) fn truncated_error() -> io::Error {
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
