//! Lists the commits and undos of a session from its file, and determines which are in force.

use std::sync::Arc;

use crate::commit::{Receipt, ReceiptKind, active_record_ids, receipts};
use crate::session::LoadedSession;
use crate::store::body::BodyError;

/// The current effect of a commit or an undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitStatus {
    /// The active branch contains it.
    InForce,
    /// An undo reverted it.
    Undone,
    /// Another branch is active, and no undo made it so.
    OtherBranch,
}

impl CommitStatus {
    /// The word in JSON.
    pub fn json_name(self) -> &'static str {
        match self {
            Self::InForce => "in force",
            other => other.as_str(),
        }
    }

    /// The words in lists.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InForce => "active",
            Self::Undone => "undone",
            Self::OtherBranch => "on another branch",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct CommitRecord {
    /// The record in the file.
    pub receipt: Receipt,
    pub status: CommitStatus,
}

impl CommitRecord {
    /// Describes the record in a few words: a commit's policies, or the id that an undo reverted.
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

/// Returns every commit and undo of a session, oldest first.
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

/// Returns every commit and undo of a session, newest first.
pub fn list_commits_newest_first(session: &LoadedSession) -> Result<Arc<Vec<CommitRecord>>, BodyError> {
    let mut commits = list_commits(session)?;
    commits.reverse();
    Ok(Arc::new(commits))
}
