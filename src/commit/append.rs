//! Appends lines to the end of a file, in one write, or not at all (store P8).

use std::fs::File;
use std::io;
use std::time::SystemTime;

use crate::commit::disk::{Disk, write_once};
use crate::commit::journal::Intent;
use crate::commit::refusal::{CommitError, Refusal};
use crate::commit::session_folder::SessionFiles;
use crate::commit::snapshot::{FileSnapshot, REPLACED};
use crate::store::source::file_identity;
use crate::units::Bytes;

#[derive(Debug)]
pub(super) struct Appender<'a> {
    session: &'a SessionFiles<'a>,
    file: File,
    /// Offset of our first byte.
    start: u64,
    /// Offset of the next byte to append.
    end: u64,
    /// Modification time before our writes.
    modified: Option<SystemTime>,
    disk: &'a dyn Disk,
}

impl<'a> Appender<'a> {
    /// Opens the file and checks that it is the one that was read (store H10).
    pub(super) fn open(
        session: &'a SessionFiles<'a>,
        snapshot: &FileSnapshot,
        disk: &'a dyn Disk,
    ) -> Result<Self, CommitError> {
        let file = open(session)?;
        let unreadable = |source| Refusal::Unreadable { path: session.transcript.into(), source };
        let now = FileSnapshot::in_folder(session).map_err(unreadable)?;
        let opened = file_identity(&file.metadata().map_err(unreadable)?);
        let what = if opened == now.identity { snapshot.difference(&now) } else { Some(REPLACED) };
        if let Some(what) = what {
            return Err(Refusal::FileChanged { path: session.transcript.into(), what }.into());
        }
        let (start, modified) = (snapshot.size, snapshot.modified);
        Ok(Self { session, file, start, end: start, modified, disk })
    }

    /// Opens a file that holds the first `written` bytes of the intended ones. They count as part of the file, and a
    /// rollback keeps them.
    pub(super) fn resume(
        session: &'a SessionFiles<'a>,
        intent: &Intent,
        written: Bytes,
        disk: &'a dyn Disk,
    ) -> Result<Self, CommitError> {
        let file = open(session)?;
        let start = intent.size + written.get();
        let modified = file.metadata().and_then(|now| now.modified()).ok();
        Ok(Self { session, file, start, end: start, modified, disk })
    }

    /// Appends in one write and syncs; returns whether nothing follows our bytes. A partial write is rolled back, and
    /// nothing is written after lines that another program has added meanwhile.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<bool, CommitError> {
        let (from, count) = (self.end, Bytes::from_len(bytes.len()));
        self.session.check_folder()?;
        self.disk.reserve(&self.file, from, count).map_err(|source| self.write_error(source))?;
        // As late as possible: the journal's sync before took long enough for others to write.
        if !self.is_at_end() {
            let what = "the file grew or shrank";
            return Err(Refusal::FileChanged { path: self.session.transcript.into(), what }.into());
        }
        match write_once(self.disk, &mut self.file, bytes) {
            Ok(taken) if taken == bytes.len() => self.end += count.get(),
            Ok(taken) => {
                self.end += taken as u64;
                let what = format!("only {taken} of {count} bytes were written; the disk may be full");
                return Err(self.write_error(io::Error::new(io::ErrorKind::WriteZero, what)));
            }
            Err(source) => return Err(self.write_error(source)),
        }
        self.disk.sync(&self.file).map_err(|source| self.write_error(source))?;
        Ok(self.is_at_end())
    }

    fn write_error(&self, source: io::Error) -> CommitError {
        CommitError::Write { path: self.session.transcript.into(), source, restored: self.roll_back() }
    }

    /// Whether nothing follows our bytes.
    pub(super) fn is_at_end(&self) -> bool {
        self.file.metadata().is_ok_and(|now| now.len() == self.end)
    }

    /// Truncates our bytes if nothing follows them; returns whether the file is restored.
    pub(super) fn roll_back(&self) -> bool {
        let (is_last, is_none) = (self.is_at_end(), self.end == self.start);
        if is_last && !is_none {
            let cut =
                self.disk.truncate(&self.file, Bytes(self.start)).and_then(|()| self.disk.sync(&self.file));
            if cut.is_err() {
                return false;
            }
        }
        // Reserving space counts as a write. A time that cannot be restored is only a newer one.
        if let Some(modified) = self.modified.filter(|_| is_last) {
            let _ = self.disk.set_modified(&self.file, modified);
        }
        is_last || is_none
    }
}

/// Opens the file to append to; refuses links and folders in its place.
fn open(session: &SessionFiles<'_>) -> Result<File, Refusal> {
    session.check_folder()?;
    FileSnapshot::take(session.transcript)?;
    let unreadable = |source| Refusal::Unreadable { path: session.transcript.into(), source };
    session.transcript().open_to_append().map_err(unreadable)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write as _;

    use super::*;
    use crate::commit::disk::SystemDisk;

    fn file(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
        (folder, path)
    }

    #[test]
    fn lines_are_added_at_the_end_and_can_be_taken_back() {
        let (_folder, path) = file("one\n");
        let snapshot = FileSnapshot::take(&path).unwrap();
        let session = SessionFiles::open(&path).unwrap();
        let mut appender = Appender::open(&session, &snapshot, &SystemDisk).unwrap();
        assert!(appender.append(b"two\n").unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        assert!(appender.roll_back());
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\n");
        assert_eq!(fs::metadata(&path).unwrap().modified().ok(), snapshot.modified);
    }

    #[test]
    fn a_rollback_never_removes_lines_of_another_program() {
        let (_folder, path) = file("one\n");
        let snapshot = FileSnapshot::take(&path).unwrap();
        let session = SessionFiles::open(&path).unwrap();
        let mut appender = Appender::open(&session, &snapshot, &SystemDisk).unwrap();
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"other\n").unwrap();
        let refused = appender.append(b"two\n");
        assert!(matches!(refused, Err(CommitError::Refused(Refusal::FileChanged { .. }))), "{refused:?}");
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "one\nother\n",
            "a plan for other lines is not written"
        );
        let snapshot = FileSnapshot::take(&path).unwrap();
        let session = SessionFiles::open(&path).unwrap();
        let mut appender = Appender::open(&session, &snapshot, &SystemDisk).unwrap();
        assert!(appender.append(b"two\n").unwrap());
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"more\n").unwrap();
        assert!(!appender.roll_back());
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\nother\ntwo\nmore\n");
    }

    #[test]
    fn a_file_that_is_not_the_one_that_was_read_is_not_opened() {
        let (folder, path) = file("one\n");
        let snapshot = FileSnapshot::take(&path).unwrap();
        let what = |path: &std::path::Path| match Appender::open(
            &SessionFiles::open(path).unwrap(),
            &snapshot,
            &SystemDisk,
        ) {
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
        let snapshot = FileSnapshot::take(&path).unwrap();
        OpenOptions::new().write(true).open(&path).unwrap().write_all(b"two").unwrap();
        let session = SessionFiles::open(&path).unwrap();
        let opened = Appender::open(&session, &snapshot, &SystemDisk);
        assert!(matches!(
            opened,
            Err(CommitError::Refused(Refusal::FileChanged { what: "the end of the file changed", .. }))
        ));
    }
}
