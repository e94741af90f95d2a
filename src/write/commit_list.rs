//! The commits and undos of a session, as its file tells of them, and which of them are in force.

use std::sync::Arc;

use crate::commit::{Receipt, ReceiptKind, active_record_ids, receipts};
use crate::session::LoadedSession;
use crate::store::body::BodyError;

/// Whether a commit can be taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitStatus {
    /// The active branch comes from it.
    InForce,
    /// An undo took it back.
    Undone,
    /// The active branch is another one, that something else made active.
    OtherBranch,
}

impl CommitStatus {
    /// The word in JSON and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InForce => "in force",
            Self::Undone => "undone",
            Self::OtherBranch => "on another branch",
        }
    }
}

/// One of them.
#[derive(Debug, Clone, PartialEq)]
pub struct CommitRecord {
    /// What the file tells of it.
    pub receipt: Receipt,
    /// Whether it is in force.
    pub status: CommitStatus,
}

impl CommitRecord {
    /// What was done, in a few words: the steps of a commit, what an undo took back.
    pub fn summary(&self) -> String {
        let receipt = &self.receipt;
        match (receipt.kind, &receipt.undoes) {
            (ReceiptKind::Undo, Some(undone)) => format!("undo of {undone}"),
            (ReceiptKind::Undo, None) => "undo".to_owned(),
            (ReceiptKind::Commit, _) if receipt.policies.is_empty() => "commit".to_owned(),
            (ReceiptKind::Commit, _) => {
                receipt.policies.iter().map(|policy| policy.name.as_str()).collect::<Vec<_>>().join(", ")
            }
        }
    }
}

/// Every commit and undo of a session, in the order they were made.
pub fn list_commits(session: &LoadedSession) -> Result<Vec<CommitRecord>, BodyError> {
    let (index, source) = (&session.index, &session.source);
    let receipts = receipts(index, source)?;
    let in_force = active_record_ids(index, &session.tree, source)?;
    let undone: Vec<String> = receipts.iter().filter_map(|receipt| receipt.undoes.clone()).collect();
    let force = |receipt: &Receipt| {
        if in_force.contains(&receipt.id) {
            CommitStatus::InForce
        } else if undone.contains(&receipt.id) {
            CommitStatus::Undone
        } else {
            CommitStatus::OtherBranch
        }
    };
    Ok(receipts.into_iter().map(|receipt| CommitRecord { status: force(&receipt), receipt }).collect())
}

/// The same, the newest first.
pub fn list_commits_newest_first(session: &LoadedSession) -> Result<Arc<Vec<CommitRecord>>, BodyError> {
    let mut commits = list_commits(session)?;
    commits.reverse();
    Ok(Arc::new(commits))
}
