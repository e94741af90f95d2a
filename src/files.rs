//! Opens files for reading or as a lock, everywhere in the program. A store is shared, synced and copied, so that a FIFO, a device, a
//! folder or a link to one may be where a file is expected: opening it could wait for ever or change it.
//! Only regular files are opened, and whole files are read up to a limit. [`replace`] writes a whole file.

use std::fmt::Debug;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use ruzstd::decoding::StreamingDecoder;
use tempfile::NamedTempFile;

/// Limit for settings and other small files that are read whole, bytes.
pub const SMALL_FILE_BYTES: u64 = 8 << 20;

/// Writes a path to JSON as text, also one that is not UTF-8: `#[serde(with = "PathText")]`.
#[derive(Debug)]
pub enum PathText {}

impl PathText {
    pub fn serialize<S: serde::Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&path.to_string_lossy())
    }
}

crate::units::schema_of!(PathText, String);

/// Opens a regular file; follows links.
///
/// # Errors
/// The system's, or [`io::ErrorKind::InvalidInput`] for anything but a regular file.
pub fn open(path: &Path) -> io::Result<File> {
    // Before the open, because opening some devices acts on them; after it, because the file may have been exchanged.
    check_regular(&std::fs::metadata(path)?)?;
    let file = open_without_waiting(path, false)?;
    check_regular(&file.metadata()?)?;
    Ok(file)
}

/// Opens a regular file; refuses a link in its place.
///
/// # Errors
/// Like [`open`].
pub fn open_without_link(path: &Path) -> io::Result<File> {
    check_regular(&std::fs::symlink_metadata(path)?)?;
    let file = open_without_waiting(path, true)?;
    check_regular(&file.metadata()?)?;
    Ok(file)
}

/// Creates a file that serves as a lock, or opens it; refuses anything but a regular file, which is never truncated.
///
/// # Errors
/// Like [`open_without_link`].
pub fn open_for_lock(path: &Path) -> io::Result<File> {
    if let Ok(found) = std::fs::symlink_metadata(path) {
        check_regular(&found)?;
    }
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    let file = without_waiting(&mut options, true).open(path)?;
    check_regular(&file.metadata()?)?;
    Ok(file)
}

/// Reads a whole file of at most `limit` bytes.
///
/// # Errors
/// Like [`open`], but fails with [`io::ErrorKind::FileTooLarge`] beyond the limit.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_open(open(path)?, limit)
}

/// Reads the rest of an open file of at most `limit` bytes.
///
/// # Errors
/// The system's, or [`io::ErrorKind::FileTooLarge`] beyond the limit.
pub fn read_open(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if file.take(limit.saturating_add(1)).read_to_end(&mut bytes)? as u64 > limit {
        return Err(too_large(limit));
    }
    Ok(bytes)
}

fn too_large(limit: u64) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("the file has more than {limit} bytes"))
}

/// Reads a whole text file of at most `limit` bytes.
///
/// # Errors
/// Like [`read`], but fails with [`io::ErrorKind::InvalidData`] for invalid UTF-8.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    String::from_utf8(read(path, limit)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// # Errors
/// [`io::ErrorKind::InvalidInput`] for anything but a regular file.
pub fn check_regular(metadata: &Metadata) -> io::Result<()> {
    if metadata.is_file() { Ok(()) } else { Err(not_regular()) }
}

/// The error for a folder, a link, a pipe or a device where a file is expected.
pub fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}

fn open_without_waiting(path: &Path, refuses_links: bool) -> io::Result<File> {
    without_waiting(OpenOptions::new().read(true), refuses_links).open(path)
}

#[cfg(unix)]
fn without_waiting(options: &mut OpenOptions, refuses_links: bool) -> &mut OpenOptions {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt as _;
    let links = if refuses_links { OFlags::NOFOLLOW } else { OFlags::empty() };
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | links;
    options.custom_flags(flags.bits().cast_signed())
}

#[cfg(not(unix))]
fn without_waiting(options: &mut OpenOptions, _: bool) -> &mut OpenOptions {
    options
}

/// Unpacks a text that the program has in it; `None` if it is broken.
pub fn unpack_text(packed: &[u8]) -> Option<String> {
    let mut text = String::new();
    StreamingDecoder::new(packed).ok()?.read_to_string(&mut text).ok()?;
    Some(text)
}

// Replaces a whole file so that a reader, also after a power failure, sees the old content or the new one: the new
// bytes go to a temporary file in the same folder, are synced, and are renamed over the old name, which is synced too.

/// The steps of a replacement. They are behind a trait so that a test can record their order.
pub trait ReplaceSteps: Debug {
    /// Creates a temporary file in the folder. Only its owner may read it.
    fn create(&self, folder: &Path) -> io::Result<NamedTempFile> {
        NamedTempFile::new_in(folder)
    }

    fn write(&self, file: &mut NamedTempFile, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)
    }

    /// Syncs the bytes of the temporary file to the disk.
    fn sync(&self, file: &NamedTempFile) -> io::Result<()> {
        file.as_file().sync_all()
    }

    /// Renames the temporary file over `path`.
    fn rename(&self, file: NamedTempFile, path: &Path) -> io::Result<()> {
        file.persist(path).map(drop).map_err(|error| error.error)
    }

    /// Syncs the names in a folder to the disk.
    fn sync_dir(&self, folder: &Path) -> io::Result<()> {
        if cfg!(unix) { open_folder(folder)?.sync_all() } else { Ok(()) }
    }
}

/// The steps on this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemSteps;

impl ReplaceSteps for SystemSteps {}

/// Writes a file, in place of one with the same name.
///
/// # Errors
/// The system's. The old file is unchanged then, except where only the sync of the folder failed.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_with(&SystemSteps, path, bytes)
}

/// Runs [`replace`] with steps that a test can observe.
pub fn replace_with(steps: &dyn ReplaceSteps, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = steps.create(folder)?;
    steps.write(&mut file, bytes)?;
    steps.sync(&file)?;
    steps.rename(file, path)?;
    steps.sync_dir(folder)
}

fn open_folder(folder: &Path) -> io::Result<File> {
    std::fs::OpenOptions::new().read(true).open(folder)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn write(path: &Path, text: &str) {
        File::create(path).and_then(|mut file| file.write_all(text.as_bytes())).unwrap();
    }

    #[test]
    fn a_whole_file_is_read_up_to_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write(&path, "four");
        assert_eq!(read_text(&path, 4).unwrap(), "four");
        assert_eq!(read(&path, 3).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read(&folder.path().join("b"), 3).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(open(folder.path()).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[cfg(unix)]
    #[test]
    fn only_regular_files_are_opened_and_opening_never_blocks() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        write(&at("file"), "x");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("fifo"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        for (link, target) in
            [("good", "file"), ("pipe", "fifo"), ("zero", "/dev/zero"), ("loop", "loop"), ("gone", "none")]
        {
            symlink(target, at(link)).unwrap();
        }
        assert!(open(&at("good")).is_ok());
        assert!(open_without_link(&at("file")).is_ok());
        for name in ["fifo", "pipe", "zero", "loop", "gone"] {
            assert!(open(&at(name)).is_err(), "{name}");
            assert!(open_without_link(&at(name)).is_err(), "{name}");
            assert!(open_for_lock(&at(name)).is_err(), "{name}");
        }
        assert!(open_for_lock(&at("good")).is_err() && !at("none").exists());
        assert!(open_for_lock(&at("new")).is_ok() && open_for_lock(&at("file")).is_ok());
        assert_eq!(read_text(&at("file"), 9).unwrap(), "x");
        assert!(open_without_link(&at("good")).is_err());
    }
}

#[cfg(test)]
mod replace_tests {
    use std::cell::RefCell;
    use std::fs;

    use super::*;

    /// Records each step, with the content that a reader of `path` sees after it.
    #[derive(Debug)]
    struct Recorder<'a> {
        path: &'a Path,
        log: RefCell<Vec<(&'static str, String)>>,
        /// The step that fails.
        fails: &'static str,
    }

    impl Recorder<'_> {
        fn step<T>(&self, name: &'static str, step: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
            let done = if name == self.fails { Err(io::ErrorKind::StorageFull.into()) } else { step() };
            self.log.borrow_mut().push((name, fs::read_to_string(self.path).unwrap()));
            done
        }
    }

    impl ReplaceSteps for Recorder<'_> {
        fn create(&self, folder: &Path) -> io::Result<NamedTempFile> {
            self.step("create", || SystemSteps.create(folder))
        }

        fn write(&self, file: &mut NamedTempFile, bytes: &[u8]) -> io::Result<()> {
            self.step("write", || SystemSteps.write(file, bytes))
        }

        fn sync(&self, file: &NamedTempFile) -> io::Result<()> {
            self.step("sync", || SystemSteps.sync(file))
        }

        fn rename(&self, file: NamedTempFile, path: &Path) -> io::Result<()> {
            self.step("rename", || SystemSteps.rename(file, path))
        }

        fn sync_dir(&self, folder: &Path) -> io::Result<()> {
            self.step("sync folder", || SystemSteps.sync_dir(folder))
        }
    }

    const ORDER: [&str; 5] = ["create", "write", "sync", "rename", "sync folder"];

    #[test]
    fn every_prefix_of_the_steps_leaves_the_old_content_or_the_new() {
        for (at, fails) in ORDER.into_iter().chain(["nothing"]).enumerate() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.toml");
            replace(&path, b"old").unwrap();
            let recorder = Recorder { path: &path, log: RefCell::default(), fails };
            assert_eq!(replace_with(&recorder, &path, b"new content").is_ok(), fails == "nothing");
            let log = recorder.log.into_inner();
            let names: Vec<&str> = log.iter().map(|(name, _)| *name).collect();
            assert_eq!(names, ORDER[..ORDER.len().min(at + 1)], "the steps up to the failure, in order");
            for (place, (name, content)) in log.iter().enumerate() {
                let renamed = place > 3 || (*name == "rename" && fails != "rename");
                assert_eq!(content, if renamed { "new content" } else { "old" }, "after {name}");
            }
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file stays");
        }
    }

    #[test]
    fn a_file_in_the_working_directory_has_a_folder_too() {
        let nowhere = replace(Path::new("/nowhere/at/all"), b"x").unwrap_err();
        assert_eq!(nowhere.kind(), io::ErrorKind::NotFound);
    }
}
