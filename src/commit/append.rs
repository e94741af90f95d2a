//! Lines → the end of a file, in one write, or nothing at all (store P8).

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use crate::commit::refusal::{CommitError, Refusal};
use crate::commit::snapshot::Snapshot;

/// A session file that is open for appending and stands as it did when the branch was prepared.
#[derive(Debug)]
pub(super) struct Appender<'a> {
    path: &'a Path,
    file: File,
    /// Bytes before.
    size: u64,
}

impl<'a> Appender<'a> {
    /// Opens the file and looks again whether it is the one that was read (store H10).
    pub(super) fn open(path: &'a Path, snapshot: &Snapshot) -> Result<Self, CommitError> {
        let unreadable = |source| Refusal::Unreadable { path: path.into(), source };
        // Refuses links and directories that took the file's place.
        Snapshot::take(path)?;
        let file = open(path).map_err(unreadable)?;
        let now = Snapshot::of_open(path, &file).map_err(unreadable)?;
        match snapshot.difference(&now) {
            Some(what) => Err(Refusal::FileChanged { path: path.into(), what }.into()),
            None => Ok(Self { path, file, size: snapshot.size }),
        }
    }

    /// Appends in one write and makes the system keep it. What was written only in part is taken back.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), CommitError> {
        match write_once(&mut self.file, bytes) {
            Ok(count) if count == bytes.len() => {}
            Ok(count) => {
                let source = io::Error::new(
                    io::ErrorKind::WriteZero,
                    format!("only {count} of {} bytes were taken; the disk may be full", bytes.len()),
                );
                return Err(self.write_error(source, count));
            }
            Err(source) => return Err(self.write_error(source, 0)),
        }
        if let Err(source) = self.file.sync_all() {
            return Err(self.write_error(source, bytes.len()));
        }
        match self.file.metadata() {
            Ok(now) if now.len() == self.size + bytes.len() as u64 => Ok(()),
            _ => Err(CommitError::Interleaved { path: self.path.into() }),
        }
    }

    fn write_error(&self, source: io::Error, written: usize) -> CommitError {
        CommitError::Write { path: self.path.into(), source, restored: self.take_back(written) }
    }

    /// Cuts off what was appended, if nothing else was; answers whether the file is as it was.
    pub(super) fn take_back(&self, written: usize) -> bool {
        let is_ours = self.file.metadata().is_ok_and(|now| now.len() == self.size + written as u64);
        is_ours && (written == 0 || (self.file.set_len(self.size).is_ok() && self.file.sync_all().is_ok()))
    }
}

/// One write(2); only an interrupted one, which wrote nothing, is tried again.
fn write_once(file: &mut impl Write, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match file.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let no_links = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::CLOEXEC).bits();
    OpenOptions::new().append(true).custom_flags(no_links.cast_signed()).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).open(path)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn file(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
        (folder, path)
    }

    #[test]
    fn lines_are_added_at_the_end_and_can_be_taken_back() {
        let (_folder, path) = file("one\n");
        let snapshot = Snapshot::take(&path).unwrap();
        let mut appender = Appender::open(&path, &snapshot).unwrap();
        appender.append(b"two\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        assert!(appender.take_back(4));
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\n");
    }

    #[test]
    fn what_another_program_added_is_never_cut_off() {
        let (_folder, path) = file("one\n");
        let snapshot = Snapshot::take(&path).unwrap();
        let mut appender = Appender::open(&path, &snapshot).unwrap();
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"other\n").unwrap();
        assert!(matches!(appender.append(b"two\n"), Err(CommitError::Interleaved { .. })));
        assert!(!appender.take_back(4));
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\nother\ntwo\n");
    }

    #[test]
    fn a_file_that_is_not_the_one_that_was_read_is_not_opened() {
        let (folder, path) = file("one\n");
        let snapshot = Snapshot::take(&path).unwrap();
        let what = |path: &Path| match Appender::open(path, &snapshot) {
            Err(CommitError::Refused(Refusal::FileChanged { what, .. })) => what,
            other => panic!("{other:?}"),
        };
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"more\n").unwrap();
        assert_eq!(what(&path), "the file grew or shrank");
        let other = folder.path().join("other");
        File::create(&other).unwrap().write_all(b"one\n").unwrap();
        fs::rename(&other, &path).unwrap();
        assert_eq!(what(&path), if cfg!(unix) { "the file was replaced" } else { "the file was written to" });
    }

    #[test]
    fn an_edit_in_place_of_the_same_length_is_seen() {
        let (_folder, path) = file("one\n");
        let snapshot = Snapshot::take(&path).unwrap();
        OpenOptions::new().write(true).open(&path).unwrap().write_all(b"two").unwrap();
        let opened = Appender::open(&path, &snapshot);
        assert!(matches!(
            opened,
            Err(CommitError::Refused(Refusal::FileChanged { what: "the end of the file changed", .. }))
        ));
    }

    #[test]
    fn an_interrupted_write_is_tried_again_and_a_short_one_is_told() {
        struct Slow(u32);
        impl Write for Slow {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0 += 1;
                if self.0 == 1 { Err(io::ErrorKind::Interrupted.into()) } else { Ok(bytes.len() / 2) }
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        assert_eq!(write_once(&mut Slow(0), b"four").unwrap(), 2);
    }
}
