//! A change of the branch that ends what the verdict found: the command writes it, and the screen offers it.

use crate::session::{LoadedSession, ManualChange};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WayOut {
    pub change: ManualChange,
    /// The ids of its entries.
    pub names: Vec<String>,
    /// The command that shows it, and writes it with `--apply`.
    pub command: String,
}

/// The reason that no commit can make a change: a damaged file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked(pub String);

impl WayOut {
    /// Returns the change, unless a commit would refuse the file.
    pub(super) fn new(session: &LoadedSession, change: ManualChange) -> Result<Self, Blocked> {
        let command = change.command(session).map_err(Blocked)?;
        Ok(Self { names: change.names(session), command, change })
    }
}
