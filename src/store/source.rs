//! Where the bytes of a transcript come from. Session files are live: they are read at positions and
//! never memory-mapped (store Q2). Rows of a database are read as if they were the lines of one.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::store::index::FileIdentity;
use crate::store::sqlite::Events;

/// An open transcript: a file, rows of a database, or bytes held in memory (tests, generated stores).
#[derive(Debug, Clone)]
pub enum Source {
    /// A file of the store.
    File {
        /// Its path.
        path: Arc<Path>,
        /// The file as it was opened; it stays readable when it is replaced.
        file: Arc<File>,
    },
    /// What an archive holds, unpacked into a file of no name.
    Unpacked {
        /// The name it goes by.
        path: Arc<Path>,
        /// The lines.
        file: Arc<File>,
        /// What the archive is told by.
        identity: FileIdentity,
    },
    /// The events of one session in a database.
    DatabaseRows(Arc<Events>),
    /// Bytes in memory.
    Memory {
        /// The name it goes by.
        path: Arc<Path>,
        /// The bytes.
        bytes: Arc<[u8]>,
    },
}

impl Source {
    /// Opens a file for reading.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self::File { path: path.into(), file: Arc::new(File::open(path)?) })
    }

    /// Bytes in memory under a name.
    pub fn from_memory(path: impl Into<PathBuf>, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self::Memory { path: path.into().into(), bytes: bytes.into() }
    }

    /// The path it goes by.
    pub fn path(&self) -> &Path {
        match self {
            Self::File { path, .. } | Self::Unpacked { path, .. } | Self::Memory { path, .. } => path,
            Self::DatabaseRows(events) => events.path(),
        }
    }

    /// The rows of a database, where it is those.
    pub fn events(&self) -> Option<&Events> {
        match self {
            Self::DatabaseRows(events) => Some(events),
            _ => None,
        }
    }

    /// Bytes there are now.
    pub fn len(&self) -> io::Result<u64> {
        match self {
            Self::File { file, .. } | Self::Unpacked { file, .. } => Ok(file.metadata()?.len()),
            Self::DatabaseRows(events) => Ok(events.len()),
            Self::Memory { bytes, .. } => Ok(bytes.len() as u64),
        }
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Which file it is.
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

    /// Reads exactly these bytes.
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

/// Bytes that were there are not any more.
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

/// Device and inode of a file; zeros where the system has none.
pub fn file_identity(metadata: &std::fs::Metadata) -> FileIdentity {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        FileIdentity { device: metadata.dev(), inode: metadata.ino() }
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        FileIdentity::default()
    }
}
