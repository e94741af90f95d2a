//! The folder of a session file, opened once for a whole commit. Every step names its file relative to the open folder, so
//! that a folder that is renamed, or replaced by a link to another one, never leads a step elsewhere.
//!
//! Linux, macOS and the BSDs have such steps. Elsewhere, as on Windows, each step names the whole path.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::files;
use crate::store::index::FileIdentity;
use crate::store::source::{Source, file_identity};

/// An open folder.
#[derive(Debug)]
pub struct SessionFolder {
    /// The path as the person named it.
    named: PathBuf,
    /// The path without links, as the lock's name needs it (store H1).
    path: PathBuf,
    identity: FileIdentity,
    #[cfg(unix)]
    handle: File,
}

/// A name in an open folder.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    pub folder: &'a SessionFolder,
    pub name: &'a OsStr,
}

/// A session file with the names beside it, in an open folder.
#[derive(Debug)]
pub(super) struct SessionFiles<'a> {
    pub(super) transcript: &'a Path,
    pub(super) folder: SessionFolder,
    name: OsString,
    lock: OsString,
    journal: OsString,
}

impl<'a> SessionFiles<'a> {
    pub(super) fn open(transcript: &'a Path) -> io::Result<Self> {
        let name = file_name(transcript)?;
        let [lock, journal] = [LOCK_SUFFIX, JOURNAL_SUFFIX].map(|suffix| with_suffix(name, suffix));
        let folder = SessionFolder::containing(transcript)?;
        Ok(Self { transcript, folder, name: name.to_owned(), lock, journal })
    }

    /// Opens the transcript for reading.
    pub(super) fn source(&self) -> io::Result<Source> {
        Ok(Source::from_file(self.transcript, self.transcript().open()?))
    }

    pub(super) fn transcript(&self) -> Place<'_> {
        self.folder.place(&self.name)
    }

    pub(super) fn lock(&self) -> Place<'_> {
        self.folder.place(&self.lock)
    }

    pub(super) fn journal(&self) -> Place<'_> {
        self.folder.place(&self.journal)
    }
}

/// The end of a lock's name.
pub(super) const LOCK_SUFFIX: &str = ".lock";
/// The end of a journal's name. It is not `.jsonl`, so that no store lists it as a session and no cleanup deletes it
/// (store C8, F4).
pub(super) const JOURNAL_SUFFIX: &str = ".clawscope-journal";

pub(super) fn file_name(path: &Path) -> io::Result<&OsStr> {
    path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no file name"))
}

pub(super) fn with_suffix(name: &OsStr, suffix: &str) -> OsString {
    [name, OsStr::new(suffix)].iter().copied().collect()
}

/// Returns the folder of a file.
pub(super) fn parent(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

impl SessionFolder {
    /// Opens the folder of a file.
    pub fn containing(file: &Path) -> io::Result<Self> {
        let named = parent(file);
        Self::open(named, named.canonicalize()?)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the path still leads to this folder.
    pub(super) fn is_in_place(&self) -> bool {
        std::fs::metadata(&self.named).is_ok_and(|now| file_identity(&now) == self.identity)
    }

    pub fn place<'a>(&'a self, name: &'a OsStr) -> Place<'a> {
        Place { folder: self, name }
    }
}

impl Place<'_> {
    pub fn path(&self) -> PathBuf {
        self.folder.path.join(self.name)
    }
}

#[cfg(unix)]
mod system {
    use std::os::fd::AsRawFd as _;

    use rustix::fs::{AtFlags, CWD, Mode, OFlags};

    use super::{File, Path, PathBuf, Place, SessionFolder, file_identity, files, io};

    /// A handle for names only, which needs no permission to list the folder.
    #[cfg(target_os = "linux")]
    const HANDLE: OFlags = OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    const HANDLE: OFlags = OFlags::RDONLY;
    const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

    impl SessionFolder {
        pub(super) fn open(named: &Path, path: PathBuf) -> io::Result<Self> {
            let handle = File::from(rustix::fs::open(named, HANDLE | FOLDER, Mode::empty())?);
            let identity = file_identity(&handle.metadata()?);
            Ok(Self { named: named.to_owned(), path, identity, handle })
        }

        /// Syncs the folder's names to the disk.
        pub(in crate::commit) fn sync(&self) -> io::Result<()> {
            let folder = rustix::fs::openat(&self.handle, ".", OFlags::RDONLY | FOLDER, Mode::empty())?;
            File::from(folder).sync_all()
        }

        /// Creates a file without a name, where the system has such files.
        pub(in crate::commit) fn create_unnamed(&self) -> io::Result<File> {
            #[cfg(target_os = "linux")]
            return self.open_at(".", OFlags::WRONLY | OFlags::TMPFILE, 0o666);
            #[cfg(not(target_os = "linux"))]
            Err(io::ErrorKind::Unsupported.into())
        }

        fn open_at(&self, name: impl rustix::path::Arg, flags: OFlags, mode: u32) -> io::Result<File> {
            // The type of a mode differs between systems, so it is made of its bits.
            let mode = Mode::from_bits_truncate(mode as _);
            Ok(File::from(rustix::fs::openat(&self.handle, name, flags | OFlags::CLOEXEC, mode)?))
        }
    }

    impl Place<'_> {
        fn open_at(&self, flags: OFlags, mode: u32) -> io::Result<File> {
            self.folder.open_at(self.name, flags | OFlags::NOFOLLOW, mode)
        }

        /// Opens a regular file for reading.
        pub(in crate::commit) fn open(&self) -> io::Result<File> {
            let found = rustix::fs::statat(&self.folder.handle, self.name, AtFlags::SYMLINK_NOFOLLOW)?;
            if !rustix::fs::FileType::from_raw_mode(found.st_mode).is_file() {
                return Err(files::not_regular());
            }
            let file = self.open_at(OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY, 0)?;
            files::check_regular(&file.metadata()?)?;
            Ok(file)
        }

        pub(in crate::commit) fn open_to_append(&self) -> io::Result<File> {
            self.open_at(OFlags::WRONLY | OFlags::APPEND, 0)
        }

        pub(in crate::commit) fn create(&self, private: bool) -> io::Result<File> {
            let mode = if private { 0o600 } else { 0o666 };
            self.open_at(OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, mode)
        }

        pub(in crate::commit) fn remove(&self) -> io::Result<()> {
            Ok(rustix::fs::unlinkat(&self.folder.handle, self.name, AtFlags::empty())?)
        }

        /// Gives a file without a name this one; fails if it exists.
        pub(in crate::commit) fn link_unnamed(&self, file: &File) -> io::Result<()> {
            let own = format!("/proc/self/fd/{}", file.as_raw_fd());
            Ok(rustix::fs::linkat(CWD, own, &self.folder.handle, self.name, AtFlags::SYMLINK_FOLLOW)?)
        }

        /// Gives a file of the folder this name too; fails if it exists.
        pub(in crate::commit) fn link(&self, from: Place<'_>) -> io::Result<()> {
            let (from, to) = ((&from.folder.handle, from.name), (&self.folder.handle, self.name));
            Ok(rustix::fs::linkat(from.0, from.1, to.0, to.1, AtFlags::empty())?)
        }
    }
}

#[cfg(not(unix))]
mod system {
    use std::fs::OpenOptions;

    use super::{File, Path, PathBuf, Place, SessionFolder, file_identity, files, io};

    impl SessionFolder {
        pub(super) fn open(named: &Path, path: PathBuf) -> io::Result<Self> {
            let identity = file_identity(&std::fs::metadata(named)?);
            Ok(Self { named: named.to_owned(), path, identity })
        }

        pub(in crate::commit) fn sync(&self) -> io::Result<()> {
            Ok(())
        }

        pub(in crate::commit) fn create_unnamed(&self) -> io::Result<File> {
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    impl Place<'_> {
        pub(in crate::commit) fn open(&self) -> io::Result<File> {
            files::open_without_link(&self.path())
        }

        pub(in crate::commit) fn open_to_append(&self) -> io::Result<File> {
            OpenOptions::new().append(true).open(self.path())
        }

        pub(in crate::commit) fn create(&self, _: bool) -> io::Result<File> {
            OpenOptions::new().write(true).create_new(true).open(self.path())
        }

        pub(in crate::commit) fn remove(&self) -> io::Result<()> {
            std::fs::remove_file(self.path())
        }

        pub(in crate::commit) fn link_unnamed(&self, _: &File) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(in crate::commit) fn link(&self, from: Place<'_>) -> io::Result<()> {
            std::fs::hard_link(from.path(), self.path())
        }
    }
}
