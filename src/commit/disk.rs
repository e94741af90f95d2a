//! The disk operations of a commit. They are behind a trait so that a test can stop at each of them, as a kill, a full
//! disk or another writer would.

use std::fmt::Debug;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::SystemTime;

use crate::commit::session_folder::{Place, SessionFolder, file_name};
use crate::files;
use crate::units::Bytes;

/// The operations that change something on the disk. Each of them can be the last one.
pub trait Disk: Debug {
    /// Creates a file for writing; fails if it exists. `private` denies other users access.
    fn create(&self, at: Place<'_>, private: bool) -> io::Result<File> {
        at.create(private)
    }

    /// Creates a file without a name, which [`Disk::link_unnamed`] gives it; fails where the system has no such files.
    fn create_unnamed(&self, folder: &SessionFolder) -> io::Result<File> {
        folder.create_unnamed()
    }

    /// Gives a file without a name one; fails if it exists.
    fn link_unnamed(&self, file: &File, at: Place<'_>) -> io::Result<()> {
        at.link_unnamed(file)
    }

    /// Gives a file a second name; fails if it exists.
    fn link(&self, from: Place<'_>, to: Place<'_>) -> io::Result<()> {
        to.link(from)
    }

    /// Makes one write(2) and returns the number of bytes taken.
    fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<usize> {
        file.write(bytes)
    }

    /// Reserves space after the end of a file without making it longer, so that a full disk fails before the write.
    /// Does nothing on a file system without support for it.
    fn reserve(&self, file: &File, end: u64, bytes: Bytes) -> io::Result<()> {
        reserve(file, end, bytes)
    }

    /// Syncs a file's bytes to the disk.
    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    /// Syncs a folder's names to the disk.
    fn sync_dir(&self, folder: &SessionFolder) -> io::Result<()> {
        folder.sync()
    }

    /// Shortens a file to `bytes`.
    fn truncate(&self, file: &File, bytes: Bytes) -> io::Result<()> {
        file.set_len(bytes.get())
    }

    /// Restores a file's modification time.
    fn set_modified(&self, file: &File, at: SystemTime) -> io::Result<()> {
        file.set_modified(at)
    }

    fn remove(&self, at: Place<'_>) -> io::Result<()> {
        at.remove()
    }
}

/// The disk of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemDisk;

impl Disk for SystemDisk {}

#[cfg(target_os = "linux")]
fn reserve(file: &File, end: u64, bytes: Bytes) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;
    match fallocate(file, FallocateFlags::KEEP_SIZE, end, bytes.get()) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL | Errno::NODEV) | Ok(()) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn reserve(_: &File, _: u64, _: Bytes) -> io::Result<()> {
    Ok(())
}

/// Writes everything in as few writes as possible; repeats interrupted ones, which wrote nothing.
pub(super) fn write_all(disk: &dyn Disk, file: &mut File, bytes: &[u8]) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        match write_once(disk, file, &bytes[done..])? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => done += count,
        }
    }
    Ok(())
}

/// Makes one write; repeats it only if interrupted.
pub(super) fn write_once(disk: &dyn Disk, file: &mut File, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match disk.write(file, bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// Writes a new file with the folders above it; fails if the file exists.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    let folder = SessionFolder::containing(path)?;
    let mut file = SystemDisk.create(folder.place(file_name(path)?), true)?;
    file.write_all(bytes)?;
    SystemDisk.sync(&file)
}

/// Removes a copy that the program made, if the file still has its bytes.
pub fn remove_copy(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // One more byte than expected shows that the file is longer.
    match files::read(path, bytes.len() as u64 + 1) {
        Ok(own) if own == bytes => {
            SystemDisk.remove(SessionFolder::containing(path)?.place(file_name(path)?))
        }
        Ok(_) => Ok(()),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::FileTooLarge) => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::ffi::OsStr;
    use std::fs;

    use super::*;

    /// Takes half of each write, after one interruption.
    #[derive(Debug, Default)]
    struct Slow(Cell<u32>);

    impl Disk for Slow {
        fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<usize> {
            self.0.set(self.0.get() + 1);
            match self.0.get() {
                1 => Err(io::ErrorKind::Interrupted.into()),
                _ => file.write(&bytes[..bytes.len().div_ceil(2)]),
            }
        }
    }

    #[test]
    fn an_interrupted_write_is_tried_again_and_a_short_one_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let opened = SessionFolder::containing(&folder.path().join("a")).unwrap();
        let mut file = SystemDisk.create(opened.place(OsStr::new("a")), true).unwrap();
        assert_eq!(write_once(&Slow::default(), &mut file, b"four").unwrap(), 2);
        write_all(&Slow::default(), &mut file, b"seven77").unwrap();
        assert_eq!(fs::read(folder.path().join("a")).unwrap(), b"foseven77");
    }

    #[test]
    fn disk_space_is_reserved_without_making_the_file_longer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let opened = SessionFolder::containing(&path).unwrap();
        let place = opened.place(OsStr::new("a"));
        let mut file = SystemDisk.create(place, false).unwrap();
        SystemDisk.write(&mut file, b"one\n").unwrap();
        SystemDisk.reserve(&file, 4, Bytes(1 << 20)).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one\n");
        assert!(SystemDisk.create(place, false).is_err(), "nothing is written over");
    }
}

#[cfg(test)]
mod private_file_tests {
    use super::*;

    #[test]
    fn an_existing_file_is_never_overwritten_and_a_changed_one_never_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/s.jsonl");
        write_private(&path, b"mine").unwrap();
        assert_eq!(write_private(&path, b"other").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        for bytes in [&b"other"[..], b"min", b"mine and more"] {
            remove_copy(&path, bytes).unwrap();
            assert!(path.exists());
        }
        remove_copy(&path, b"mine").unwrap();
        remove_copy(&path, b"mine").unwrap();
        assert!(!path.exists());
    }
}
