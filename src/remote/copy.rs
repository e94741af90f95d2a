//! A copy of a store whose machine has no clawscope: `tar` there, a temporary folder here.
//!
//! A database is copied with its write-ahead log. The copy is consistent if the database file is the same before and
//! after, because a gateway only appends to the log until it writes the log's pages back. Otherwise it is copied again.

use std::io::{self, BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::extract::{ArchiveTotals, unpack};
use super::host::Transport;
use super::link::{Process, StartError};
use super::protocol::read_line;
use crate::text::{shell, visible};

const SCRIPT: &str = include_str!("copy.sh");
/// Copies of a database that changes.
const MAX_TRIES: usize = 3;
/// Bytes of a line before and after the archive.
const MAX_LINE_BYTES: u64 = 1 << 14;

/// A copied store.
#[derive(Debug)]
pub(super) struct StoreCopy {
    /// Only the person can open it; it is removed when the copy is dropped.
    folder: TempDir,
    /// The folder there.
    pub(super) root: String,
    /// The requested path below the folder.
    rest: PathBuf,
    pub(super) unpacked: ArchiveTotals,
}

impl StoreCopy {
    /// Returns the folder of the copy.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the copy of the requested path.
    pub(super) fn path(&self) -> PathBuf {
        // A join with an empty path would end in a separator.
        let rest = Some(&self.rest).filter(|rest| !rest.as_os_str().is_empty());
        rest.map_or_else(|| self.folder().to_path_buf(), |rest| self.folder().join(rest))
    }

    /// Returns the copy of a path there, if it is in the copied folder.
    pub(super) fn path_of(&self, there: &str) -> Option<PathBuf> {
        let rest = Path::new(there).strip_prefix(&self.root).ok()?;
        Some(self.folder.path().join(rest)).filter(|path| path.exists())
    }
}

/// The reason that there is no copy.
#[derive(Debug, thiserror::Error)]
pub(super) enum CopyError {
    #[error(
        "a database changed during each of {MAX_TRIES} copies. Install clawscope there, or copy the store while the \
         gateway is stopped."
    )]
    Changed,
    #[error("{path}: no such store there.")]
    Missing { path: String },
    #[error(transparent)]
    Start(#[from] StartError),
    /// `end` are the last words of the command.
    #[error("cannot copy the store: {source}; {end}")]
    Link { source: io::Error, end: String },
}

/// Copies the store at a path there, or the default store of that machine.
///
/// # Errors
/// The store is missing or changes all the time, or the link ends early.
pub(super) fn copy_store(host: &Transport, path: Option<&str>) -> Result<StoreCopy, CopyError> {
    for _ in 0..MAX_TRIES {
        if let Some(copy) = try_copy(host, path)? {
            return Ok(copy);
        }
    }
    Err(CopyError::Changed)
}

/// Copies once; `None` if a database changed meanwhile.
fn try_copy(host: &Transport, path: Option<&str>) -> Result<Option<StoreCopy>, CopyError> {
    // The script is sent through the standard input, so that no shell in between reads it.
    let command = host.command(&["sh", "-s"], "sh -s");
    let (mut process, output) = Process::start(&command)?;
    process.write_script(&format!("path={}\n{SCRIPT}", posix_word(path.unwrap_or_default())));
    let mut output = BufReader::with_capacity(1 << 16, output);
    match receive_copy(&mut output) {
        Ok(CopyReply::Copy(copy)) => Ok(Some(copy)),
        Ok(CopyReply::Changed) => Ok(None),
        Ok(CopyReply::Missing) => Err(CopyError::Missing { path: path.unwrap_or("~/.openclaw").to_owned() }),
        Err(source) => Err(CopyError::Link { source, end: process.end_text() }),
    }
}

/// The other machine has a POSIX shell, even if this one does not.
fn posix_word(text: &str) -> String {
    if cfg!(windows) { format!("'{}'", text.replace('\'', r"'\''")) } else { shell::word(text) }
}

enum CopyReply {
    Copy(StoreCopy),
    Changed,
    Missing,
}

fn receive_copy(from: &mut dyn BufRead) -> io::Result<CopyReply> {
    let ended = || io::Error::new(io::ErrorKind::UnexpectedEof, "the link ended");
    let unexpected = || io::Error::new(io::ErrorKind::InvalidData, "an unexpected answer");
    let line = |from: &mut dyn BufRead| {
        let line = read_line(from, MAX_LINE_BYTES)?.ok_or_else(ended)?;
        String::from_utf8(line).map_err(|_| unexpected())
    };
    // A login shell may print something first.
    let first = (0..100).find_map(|_| match line(from) {
        Ok(text) if !text.starts_with("clawscope-copy ") => None,
        other => Some(other),
    });
    match first.ok_or_else(unexpected)??.as_str() {
        "clawscope-copy missing" => return Ok(CopyReply::Missing),
        "clawscope-copy 1" => {}
        answer => return Err(answer.strip_prefix("clawscope-copy lacks ").map_or_else(unexpected, lacks)),
    }
    let (root, rest) = (line(from)?, line(from)?);
    let rest = Path::new(rest.trim_start_matches('/')).to_path_buf();
    let is_below = rest.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    if !is_below || root.contains(char::is_control) {
        return Err(unexpected());
    }
    let folder = private_folder()?;
    let mut reader = from;
    let unpacked = unpack(&mut reader, folder.path())?;
    let mut end = Vec::new();
    // The padding of the archive, and the line.
    reader.take(1 << 20).read_to_end(&mut end)?;
    let end = String::from_utf8_lossy(&end).trim_matches(['\0', '\n']).to_owned();
    match end.as_str() {
        "clawscope-copy same" => Ok(CopyReply::Copy(StoreCopy { folder, root, rest, unpacked })),
        "clawscope-copy changed" => Ok(CopyReply::Changed),
        _ => Err(ended()),
    }
}

fn lacks(program: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("it has no program {}", visible(program)))
}

fn private_folder() -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    let builder = {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(std::fs::Permissions::from_mode(0o700))
    };
    builder.prefix("clawscope-copy-").tempdir()
}
