//! Opens files for reading or as a lock, everywhere in the program. A store is shared, synced and copied, so that a FIFO, a device, a
//! folder or a link to one may be where a file is expected: opening it could wait for ever or change it.
//! Only regular files are opened, and whole files are read up to a limit. [`replace`](mod@replace) writes a whole file.

pub mod replace;

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

use ruzstd::decoding::StreamingDecoder;

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
