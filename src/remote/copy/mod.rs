//! A copy of a store whose machine has no clawscope: `tar` there, a temporary folder here.
//!
//! A database is copied with its write-ahead log. The copy is consistent if the database file is the same before and
//! after, because a gateway only appends to the log until it writes the log's pages back. Otherwise it is copied again.

mod extract;
mod folder;
pub(super) mod limits;
mod meter;

use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use self::extract::{ArchiveTotals, unpack};
use self::folder::CopyFolder;
use self::limits::{CopyLimits, Limit};
use self::meter::{Early, Meter, MeteredStream};
use super::transport::{StartError, StopRequest, Terminal, Transport};
use crate::text::{shell, visible};

const SCRIPT: &str = include_str!("store.sh");
/// Copies of a database that changes.
const MAX_TRIES: usize = 3;
/// Bytes of a line before and after the archive.
const MAX_LINE_BYTES: u64 = 1 << 14;
/// Wait for the command to end by itself, and the time between two looks.
const END_WAIT: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(20);
/// Lines of a login shell that are ignored.
const MAX_NOISE_LINES: usize = 100;

/// A copied store.
#[derive(Debug)]
pub(super) struct StoreCopy {
    folder: CopyFolder,
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
    #[error("the copy reached a limit")]
    Reached(Limit),
    /// A signal ended it.
    #[error("the copy was stopped")]
    Stopped,
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("cannot receive signals: {0}")]
    Signals(io::Error),
    /// `end` describes how the command ended.
    #[error("cannot copy the store: {source}; {end}")]
    Link { source: io::Error, end: String },
}

/// Copies the store at a path there, or the default store of that machine, until a request to stop.
///
/// # Errors
/// The store is missing, changes all the time or exceeds the limits, or the link ends early.
pub(super) fn copy_store(
    host: &Transport,
    path: Option<&str>,
    limits: CopyLimits,
    request: &StopRequest,
) -> Result<StoreCopy, CopyError> {
    let meter = Meter::new(limits, visible(&host.name()).into_owned(), request);
    for _ in 0..MAX_TRIES {
        meter.restart();
        if let Some(copy) = try_copy(host, path, &meter)? {
            return Ok(copy);
        }
    }
    Err(CopyError::Changed)
}

/// Copies once; `None` if a database changed meanwhile.
fn try_copy(host: &Transport, path: Option<&str>, meter: &Meter<'_>) -> Result<Option<StoreCopy>, CopyError> {
    // The script is sent through the standard input, so that no shell in between reads it.
    let words = ["sh", "-s"].map(str::to_owned);
    let script = format!("path={}\n{SCRIPT}", shell::posix_word(path.unwrap_or_default()));
    let (mut sender, output) = Sender::start(&host.command(&words, Terminal::None), script)?;
    let mut stream = BufReader::with_capacity(1 << 16, MeteredStream::new(output, meter));
    match receive_copy(&mut stream, meter) {
        Ok(CopyReply::Copy(copy)) => Ok(Some(copy)),
        Ok(CopyReply::Changed) => Ok(None),
        Ok(CopyReply::Missing) => Err(CopyError::Missing { path: path.unwrap_or("~/.openclaw").to_owned() }),
        Err(source) => Err(match meter.early() {
            Some(Early::Reached(limit)) => CopyError::Reached(limit),
            Some(Early::Stopped) => CopyError::Stopped,
            None => CopyError::Link { source, end: sender.end_text() },
        }),
    }
}

/// The command that sends the copy. Dropping it ends the command.
#[derive(Debug)]
struct Sender(Child);

impl Sender {
    /// Starts the command, which reads the script from its standard input; returns its standard output too.
    fn start(command: &[String], script: String) -> Result<(Self, ChildStdout), StartError> {
        let (program, arguments) = command.split_first().map_or(("", command), |(first, rest)| (first, rest));
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|source| StartError::new(program, source))?;
        if let Some(mut input) = child.stdin.take() {
            // A command that reads nothing must not keep the clock from being seen.
            std::thread::spawn(move || {
                // A command that ended already is reported by its exit code.
                _ = input.write_all(script.as_bytes());
            });
        }
        let output = child.stdout.take();
        let output = output.ok_or_else(|| StartError::new(program, io::ErrorKind::BrokenPipe.into()))?;
        Ok((Self(child), output))
    }

    /// Describes how the command ended; its own words are on the error stream.
    fn end_text(&mut self) -> String {
        let (_open, never) = channel::<()>();
        let deadline = Instant::now() + END_WAIT;
        let mut status = self.0.try_wait();
        while matches!(status, Ok(None)) && Instant::now() < deadline {
            // Nothing is sent: this only passes time.
            _ = never.recv_timeout(TICK);
            status = self.0.try_wait();
        }
        match status.map(|status| status.map(|status| status.code())) {
            Ok(Some(Some(code))) => format!("the command ended with exit code {code}."),
            Ok(Some(None)) => "the command was ended by a signal.".to_owned(),
            Ok(None) | Err(_) => "the command did not end.".to_owned(),
        }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        // A command that has ended is only collected.
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

enum CopyReply {
    Copy(StoreCopy),
    Changed,
    Missing,
}

fn receive_copy(from: &mut dyn BufRead, meter: &Meter<'_>) -> io::Result<CopyReply> {
    let unexpected = || io::Error::new(io::ErrorKind::InvalidData, "an unexpected answer");
    // A login shell may print something first.
    let first = (0..MAX_NOISE_LINES).find_map(|_| match read_line(from) {
        Ok(text) if !text.starts_with("clawscope-copy ") => None,
        other => Some(other),
    });
    match first.ok_or_else(unexpected)??.as_str() {
        "clawscope-copy missing" => return Ok(CopyReply::Missing),
        "clawscope-copy 1" => {}
        answer => return Err(answer.strip_prefix("clawscope-copy lacks ").map_or_else(unexpected, lacks)),
    }
    let (root, rest) = (read_line(from)?, read_line(from)?);
    let rest = Path::new(rest.trim_start_matches('/')).to_path_buf();
    let is_below = rest.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    if !is_below || root.contains(char::is_control) {
        return Err(unexpected());
    }
    let folder = CopyFolder::new()?;
    let mut reader = from;
    let unpacked = unpack(&mut reader, folder.path(), meter)?;
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

/// Reads a line without its line end.
fn read_line(from: &mut dyn BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    from.take(MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
    if line.pop_if(|byte| *byte == b'\n').is_none() {
        return Err(ended());
    }
    String::from_utf8(line)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "a line that is not UTF-8"))
}

fn ended() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the link ended")
}

fn lacks(program: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("it has no program {}", visible(program)))
}
