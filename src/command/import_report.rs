//! A commit to a gateway with a database: the staged session, and its import by hand or at once.

use std::io::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::failure::Failure;
use super::output::Output;
use crate::commit::SystemClock;
use crate::doc::Tone;
use crate::gateway::env::Environment;
use crate::session::LoadedSession;
use crate::text::shell;
use crate::write::new_session::{
    ImportError, ImportLines, ImportedSession, NewSession, StagedSession, run_import, staging_root,
};

/// A staged session, and the result of its import.
#[derive(Debug)]
pub(super) struct ImportReport {
    staged: StagedSession,
    lines: ImportLines,
    imported: Option<ImportedSession>,
}

impl ImportReport {
    /// Stages the session and, with `run`, imports it.
    pub(super) fn make(
        new: NewSession,
        session: &LoadedSession,
        run: bool,
        env: &Environment,
    ) -> Result<Self, ImportError> {
        let staged = new.stage(&staging_root(env), session.ruleset.id, env)?;
        let lines = staged.lines(env);
        let imported = run.then(|| run_import(&staged, session, env, &SystemClock)).transpose()?;
        Ok(Self { staged, lines, imported })
    }

    pub(super) fn print(&self, output: &mut Output) -> Result<(), Failure> {
        let new = &self.staged.session;
        writeln!(output)?;
        if let Some(imported) = &self.imported {
            output.line(Tone::Good, &imported.describe())?;
            output.line(Tone::Plain, &format!("  key: {}", new.key))?;
            output.line(Tone::Plain, &format!("  {}", imported.next_step()))?;
            return Ok(output.line(Tone::Dim, &format!("  to put it away: {}", self.archive_line()))?);
        }
        let staged = format!("staged in {}, and read back as planned", self.staged.folder.display());
        output.line(Tone::Good, &staged)?;
        output.line(Tone::Plain, "Run these lines to import it, or add --run:")?;
        for line in &self.lines.lines {
            output.line(Tone::Plain, &format!("  {line}"))?;
        }
        Ok(output.line(Tone::Dim, &format!("The lines are in {} too.", self.staged.script().display()))?)
    }

    fn archive_line(&self) -> String {
        format!("openclaw sessions archive {}", shell::word(&self.staged.session.key.0))
    }
}

/// A new session of a gateway with a database.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ImportJson {
    key: String,
    session_id: String,
    title: String,
    /// The folder with the staged transcript and `import.sh`.
    folder: String,
    /// The command lines that import it.
    lines: Vec<String>,
    /// Whether it was imported and read back as planned.
    imported: bool,
    /// Messages of its context that were compared; null before the import.
    messages: Option<usize>,
    /// The command line that puts the new session away.
    archive: String,
}

impl From<ImportReport> for ImportJson {
    fn from(report: ImportReport) -> Self {
        let new = &report.staged.session;
        Self {
            key: new.key.0.clone(),
            session_id: new.id.clone(),
            title: new.title.clone(),
            folder: report.staged.folder.to_string_lossy().into_owned(),
            messages: report.imported.as_ref().map(|imported| imported.messages),
            imported: report.imported.is_some(),
            archive: report.archive_line(),
            lines: report.lines.lines,
        }
    }
}
