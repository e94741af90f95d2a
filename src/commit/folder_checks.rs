//! The checks before each step of a commit: the path still leads to the open folder, and that still holds the file that was read.

use std::io;

use crate::commit::refusal::Refusal;
use crate::commit::session_folder::SessionFiles;
use crate::commit::snapshot::{FileSnapshot, REPLACED};
use crate::store::source::file_identity;

impl SessionFiles<'_> {
    /// Refuses a folder that was moved, or replaced by a link, since it was opened. The next step would still go to the open
    /// folder, but nobody would find its result there.
    pub(super) fn check_folder(&self) -> Result<(), Refusal> {
        if self.folder.is_in_place() {
            return Ok(());
        }
        Err(Refusal::FolderReplaced { path: self.transcript.into() })
    }

    /// Refuses a folder whose file is not the one that was read, before a lock is put beside it (store H10).
    pub(super) fn check_transcript(&self, read: &FileSnapshot) -> Result<(), Refusal> {
        let replaced = || Refusal::FileChanged { path: self.transcript.into(), what: REPLACED };
        let found = self.transcript().open().and_then(|file| file.metadata());
        // Any other file than a regular one gets its own refusal when it is opened for writing.
        match found {
            Ok(metadata) if file_identity(&metadata) != read.identity => Err(replaced()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(replaced()),
            _ => Ok(()),
        }
    }
}
