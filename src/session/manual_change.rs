//! A change of the active branch that a person chooses, and no policy: another branch, or one without some messages.

use crate::commit::refuse_lines;
use crate::ids::EntryIx;
use crate::session::LoadedSession;
use crate::text::shell;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ManualChange {
    /// Makes the branch that ends with this entry the active one.
    Branch(EntryIx),
    /// Continues on a branch without these messages.
    Drop(Vec<EntryIx>),
}

impl ManualChange {
    pub fn entries(&self) -> &[EntryIx] {
        match self {
            Self::Branch(leaf) => std::slice::from_ref(leaf),
            Self::Drop(entries) => entries,
        }
    }

    /// Returns the ids of the entries.
    pub fn names(&self, session: &LoadedSession) -> Vec<String> {
        self.entries().iter().map(|ix| session.index.display_id(*ix)).collect()
    }

    /// Returns the option of `clawscope commit` that takes the entries.
    pub fn option(&self) -> &'static str {
        match self {
            Self::Branch(_) => "--branch",
            Self::Drop(_) => "--drop",
        }
    }

    /// Returns the command that shows the change, and writes it with `--apply`; for a damaged file, which no commit
    /// changes, the reason.
    pub fn command(&self, session: &LoadedSession) -> Result<String, String> {
        if let Some(refusal) = refuse_lines(&session.index).filter(|_| session.source.events().is_none()) {
            let (reason, path) = (refusal.to_string(), session.index.path.display().to_string());
            return Err(reason
                .strip_prefix(&path)
                .unwrap_or(&reason)
                .trim_start_matches([':', ' '])
                .to_owned());
        }
        let key = shell::word(&session.item.key.0);
        let line = format!("clawscope commit {key} {} {}", self.option(), self.names(session).join(" "));
        Ok(format!("{line} {}", session.store_options).trim_end().to_owned())
    }

    /// Returns the command that makes `part`, or why no commit does.
    pub(super) fn command_for(&self, session: &LoadedSession, part: &str) -> String {
        match self.command(session) {
            Ok(command) => format!("`{command}` makes {part}."),
            Err(reason) => format!("No commit makes {part} while the file is damaged: {reason}"),
        }
    }
}
