//! The commits and undos of a session, as its file tells of them, and which of them are in force.

use std::sync::Arc;

use crate::commit::{Receipt, ReceiptKind, in_force, receipts};
use crate::inspect::Inspection;
use crate::store::body::BodyError;

/// Whether a commit can be taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// The active branch comes from it.
    InForce,
    /// An undo took it back.
    Undone,
    /// The active branch is another one, that something else made active.
    Elsewhere,
}

impl Force {
    /// The word in JSON and on screen.
    pub fn word(self) -> &'static str {
        match self {
            Self::InForce => "in force",
            Self::Undone => "undone",
            Self::Elsewhere => "on another branch",
        }
    }
}

/// One of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Committed {
    /// What the file tells of it.
    pub receipt: Receipt,
    /// Whether it is in force.
    pub force: Force,
}

impl Committed {
    /// What was done, in a few words: the steps of a commit, what an undo took back.
    pub fn words(&self) -> String {
        let receipt = &self.receipt;
        match (receipt.kind, &receipt.undoes) {
            (ReceiptKind::Undo, Some(undone)) => format!("undo of {undone}"),
            (ReceiptKind::Undo, None) => "undo".to_owned(),
            (ReceiptKind::Commit, _) if receipt.steps.is_empty() => "commit".to_owned(),
            (ReceiptKind::Commit, _) => {
                receipt.steps.iter().map(|step| step.policy.as_str()).collect::<Vec<_>>().join(", ")
            }
        }
    }
}

/// Every commit and undo of a session, in the order they were made.
pub fn commits(inspection: &Inspection) -> Result<Vec<Committed>, BodyError> {
    let (index, source) = (&inspection.index, &inspection.source);
    let receipts = receipts(index, source)?;
    let in_force = in_force(index, &inspection.tree, source)?;
    let undone: Vec<String> = receipts.iter().filter_map(|receipt| receipt.undoes.clone()).collect();
    let force = |receipt: &Receipt| {
        if in_force.contains(&receipt.id) {
            Force::InForce
        } else if undone.contains(&receipt.id) {
            Force::Undone
        } else {
            Force::Elsewhere
        }
    };
    Ok(receipts.into_iter().map(|receipt| Committed { force: force(&receipt), receipt }).collect())
}

/// The same, the newest first.
pub fn newest_first(inspection: &Inspection) -> Result<Arc<Vec<Committed>>, BodyError> {
    let mut commits = commits(inspection)?;
    commits.reverse();
    Ok(Arc::new(commits))
}
