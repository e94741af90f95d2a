//! The file of `--out`: the person's machine writes the document of the other machine.

use std::io;
use std::path::PathBuf;

use crate::command::environment::Invocation;
use crate::command::export::holds_sessions;
use crate::command::failure::Failure;
use crate::command::output::Output;
use crate::gateway::env::absolute;
use crate::runtime::{SaveError, save_as};

/// A file for a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OutFile {
    pub(super) path: PathBuf,
    /// Whether to replace an existing file.
    pub(super) force: bool,
}

impl OutFile {
    /// Refuses a file that the command would refuse on this machine, before anything is read.
    ///
    /// # Errors
    /// The document cannot be written there.
    pub(super) fn check(&self, invocation: &Invocation) -> Result<(), Failure> {
        let path = absolute(&invocation.env.cwd, &self.path);
        let shown = self.path.display();
        if path.is_dir() || self.path.to_string_lossy().ends_with(['/', std::path::MAIN_SEPARATOR]) {
            return Err(Failure::usage(format!(
                "--out {shown}: for a store on another machine, clawscope writes one file, not a folder. Name a file."
            )));
        }
        if path.exists() && !self.force {
            return Err(self.exists());
        }
        let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
        if folder.is_some_and(|folder| holds_sessions(&folder)) {
            return Err(Failure::refused(format!(
                "{shown}: is inside a folder of sessions, where the gateway takes every file for a session. Choose another \
                 folder."
            )));
        }
        Ok(())
    }

    /// Writes the document and says so.
    ///
    /// # Errors
    /// The file exists, or the system refuses.
    pub(super) fn save(
        &self,
        text: &str,
        invocation: &Invocation,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let path = absolute(&invocation.env.cwd, &self.path);
        save_as(&path, text, self.force).map_err(|error| match error {
            SaveError::AlreadyExists { .. } => self.exists(),
            error => Failure::unreadable(error.to_string()),
        })?;
        let written: io::Result<()> = output.note(&format!("{} written.", self.path.display()));
        Ok(written?)
    }

    fn exists(&self) -> Failure {
        Failure::refused(format!("{}: already exists. --force replaces it.", self.path.display()))
    }
}
