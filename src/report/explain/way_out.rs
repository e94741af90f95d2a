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

impl WayOut {
    pub(super) fn new(session: &LoadedSession, change: ManualChange) -> Self {
        Self { names: change.names(session), command: change.command(session), change }
    }
}
