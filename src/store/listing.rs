//! The file names in one sessions dir, sorted by kind (store F).

use std::collections::HashSet;
use std::path::Path;

use super::archive::{ArchiveName, FileKind, classify};
use super::informal_archive_name;
use crate::diagnostic::{Diagnostic, Severity};

/// File names of a folder by kind, each list sorted.
#[derive(Debug, Default)]
pub(super) struct DirListing {
    pub(super) transcripts: Vec<String>,
    pub(super) archives: Vec<String>,
    /// Transcripts that an import into a database moved here.
    pub(super) moved_aside: Vec<String>,
    /// Names of files with a lock.
    pub(super) locked_names: HashSet<String>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl DirListing {
    /// Reads a folder. A missing one is empty; an unreadable one is a diagnostic.
    pub(super) fn read(dir: &Path) -> Self {
        let mut listing = Self::default();
        match std::fs::read_dir(dir) {
            Ok(entries) => {
                for entry in entries.flatten() {
                    listing.add(entry.file_name().to_string_lossy().into_owned());
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                let what = format!("cannot list the folder: {error}");
                listing.diagnostics.push(Diagnostic::new(
                    dir,
                    Severity::Error,
                    what,
                    "check the folder's permissions",
                ));
            }
        }
        listing.transcripts.sort();
        listing.archives.sort();
        listing.moved_aside.sort();
        listing
    }

    fn add(&mut self, name: String) {
        match classify(&name) {
            FileKind::Transcript => self.transcripts.push(name),
            FileKind::Archive(archive) if is_transcript_archive(&name, archive) => self.archives.push(name),
            FileKind::Lock(locked) => drop(self.locked_names.insert(locked.to_owned())),
            FileKind::MovedAside(_) => self.moved_aside.push(name),
            FileKind::Archive(_) | FileKind::StoreFile | FileKind::Recording | FileKind::Other => {}
        }
    }
}

/// Whether an archive is a transcript's; a `sessions.json` has backups too.
fn is_transcript_archive(name: &str, archive: ArchiveName<'_>) -> bool {
    archive.original.contains(".jsonl") || informal_archive_name::parse(name).is_some()
}
