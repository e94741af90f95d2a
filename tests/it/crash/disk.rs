//! A disk that counts its steps and fails at one of them.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clawscope::commit::{Disk, Place, SessionFolder, SystemDisk};
use clawscope::units::Bytes;
use rustix::process::{Signal, getpid, kill_process};

/// The fault at the chosen point.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fault {
    /// No fault.
    None,
    /// The process is killed.
    Kill,
    /// The step fails for lack of space.
    Full,
    /// It fails, and so does every later step that needs space.
    StaysFull,
    /// Another program, which takes no lock, appends a line to this file.
    Append(PathBuf, String),
    /// Another program replaces this file with a rewritten one.
    Replace(PathBuf),
    /// Someone moves the first folder to the second path and puts a link to the third into its place.
    Swap([PathBuf; 3]),
}

/// The ways in which a file system lets a lock appear with its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockNames {
    /// It has files without a name.
    Unnamed,
    /// It has only hard links.
    Draft,
    /// It has neither.
    NoLinks,
}

/// Counts the points at which a commit can end: before and after every step, and within every write.
#[derive(Debug)]
pub(crate) struct Faulty {
    fault: Fault,
    /// The point, from 1.
    at: usize,
    passed: Cell<usize>,
    full: Cell<bool>,
    names: LockNames,
}

impl Faulty {
    pub(crate) fn new(fault: Fault, at: usize) -> Self {
        Self { fault, at, passed: Cell::new(0), full: Cell::new(false), names: LockNames::Unnamed }
    }

    /// The same disk with another way to create locks.
    pub(crate) fn with(self, names: LockNames) -> Self {
        Self { names, ..self }
    }

    /// A disk that never fails.
    pub(crate) fn counting() -> Self {
        Self::new(Fault::None, 0)
    }

    /// Points that were passed.
    pub(crate) fn passed(&self) -> usize {
        self.passed.get()
    }

    /// Whether the next point is the chosen one.
    fn is_here(&self) -> bool {
        self.passed.set(self.passed.get() + 1);
        self.passed.get() == self.at
    }

    /// A point between two steps.
    fn point(&self) -> io::Result<()> {
        if self.is_here() { self.strike() } else { Ok(()) }
    }

    fn strike(&self) -> io::Result<()> {
        match &self.fault {
            Fault::None => Ok(()),
            Fault::Kill => {
                kill_process(getpid(), Signal::KILL).expect("the signal is sent");
                unreachable!("it was killed")
            }
            Fault::Full | Fault::StaysFull => {
                self.full.set(self.fault == Fault::StaysFull);
                Err(io::ErrorKind::StorageFull.into())
            }
            Fault::Append(path, line) => append(path, line),
            Fault::Replace(path) => {
                let other = path.with_extension("rewritten");
                std::fs::copy(path, &other)?;
                std::fs::rename(&other, path)
            }
            Fault::Swap([folder, moved, other]) => {
                std::fs::rename(folder, moved)?;
                std::os::unix::fs::symlink(other, folder)
            }
        }
    }

    /// Performs a step that needs space.
    fn room(&self) -> io::Result<()> {
        if self.full.get() { Err(io::ErrorKind::StorageFull.into()) } else { self.point() }
    }

    /// A step with a point before it and one after it. After a completed step only the process can still fail.
    fn around<T>(&self, step: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.point()?;
        let done = step();
        if self.is_here() && !matches!(self.fault, Fault::Full | Fault::StaysFull) {
            self.strike()?;
        }
        done
    }
}

pub(crate) fn append(path: &Path, line: &str) -> io::Result<()> {
    std::fs::OpenOptions::new().append(true).open(path)?.write_all(line.as_bytes())
}

/// Limit of the places at which one write is interrupted.
const MOST_CUTS: usize = 40;

/// Returns the places at which a write is interrupted: after its first byte, in the middle, before its last byte,
/// around every line end, and every end of a page; of many places some, evenly.
fn cuts(bytes: &[u8]) -> Vec<usize> {
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
    let mut cuts: Vec<usize> = ends.flat_map(|at| [at, at + 1, at + 2]).collect();
    cuts.extend([1, bytes.len() / 2, bytes.len().saturating_sub(1)]);
    cuts.extend((1..=bytes.len() / 4096).map(|page| page * 4096));
    cuts.retain(|cut| (1..bytes.len()).contains(cut));
    cuts.sort_unstable();
    cuts.dedup();
    let every = cuts.len().div_ceil(MOST_CUTS).max(1);
    cuts.into_iter().step_by(every).collect()
}

impl Disk for Faulty {
    fn create(&self, at: Place<'_>, private: bool) -> io::Result<File> {
        self.around(|| SystemDisk.create(at, private))
    }

    fn create_unnamed(&self, folder: &SessionFolder) -> io::Result<File> {
        match self.names {
            LockNames::Unnamed => self.around(|| SystemDisk.create_unnamed(folder)),
            LockNames::Draft | LockNames::NoLinks => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn link_unnamed(&self, file: &File, at: Place<'_>) -> io::Result<()> {
        self.around(|| SystemDisk.link_unnamed(file, at))
    }

    fn link(&self, from: Place<'_>, to: Place<'_>) -> io::Result<()> {
        match self.names {
            LockNames::NoLinks => Err(io::ErrorKind::Unsupported.into()),
            LockNames::Unnamed | LockNames::Draft => self.around(|| SystemDisk.link(from, to)),
        }
    }

    fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<usize> {
        self.room()?;
        for cut in cuts(bytes) {
            if !self.is_here() {
                continue;
            }
            match self.fault {
                Fault::Kill => {
                    SystemDisk.write(file, &bytes[..cut])?;
                    self.strike()?;
                }
                // A full disk takes as much as it can, and fails for the rest.
                Fault::Full | Fault::StaysFull => {
                    let taken = SystemDisk.write(file, &bytes[..cut]);
                    let _ = self.strike();
                    return taken;
                }
                _ => self.strike()?,
            }
        }
        let written = SystemDisk.write(file, bytes);
        if self.is_here() && !matches!(self.fault, Fault::Full | Fault::StaysFull) {
            self.strike()?;
        }
        written
    }

    fn reserve(&self, file: &File, end: u64, bytes: Bytes) -> io::Result<()> {
        self.room()?;
        SystemDisk.reserve(file, end, bytes)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.around(|| SystemDisk.sync(file))
    }

    fn sync_dir(&self, folder: &SessionFolder) -> io::Result<()> {
        self.around(|| SystemDisk.sync_dir(folder))
    }

    fn truncate(&self, file: &File, bytes: Bytes) -> io::Result<()> {
        // Truncating a file needs no space, so a full disk does not prevent it.
        if matches!(self.fault, Fault::Kill) {
            return self.around(|| SystemDisk.truncate(file, bytes));
        }
        SystemDisk.truncate(file, bytes)
    }

    fn set_modified(&self, file: &File, at: SystemTime) -> io::Result<()> {
        if matches!(self.fault, Fault::Full | Fault::StaysFull) {
            return SystemDisk.set_modified(file, at);
        }
        self.around(|| SystemDisk.set_modified(file, at))
    }

    fn remove(&self, at: Place<'_>) -> io::Result<()> {
        if matches!(self.fault, Fault::Full | Fault::StaysFull) {
            return SystemDisk.remove(at);
        }
        self.around(|| SystemDisk.remove(at))
    }
}
