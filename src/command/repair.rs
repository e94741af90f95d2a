//! `clawscope doctor --repair`: completes or rolls back interrupted commits, one after another.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::environment::Workspace;
use crate::commit::{CommitError, RecoveredCommit, SystemClock, SystemDisk, recover_commit};
use crate::doc::{Doc, Tone};
use crate::session::list::unfinished_commit_paths;
use crate::units::Millis;

/// A transcript with a commit journal, and the outcome of its repair.
#[derive(Debug)]
pub(super) struct Repair {
    path: PathBuf,
    result: Result<RecoveredCommit, CommitError>,
}

/// The repair of a commit that was broken off.
#[derive(Serialize, JsonSchema)]
pub(super) struct RepairJson {
    path: String,
    /// The state of the commit before.
    found: Option<String>,
    outcome: &'static str,
    what: String,
}

/// Repairs every interrupted commit of a store.
pub(super) fn settle_unfinished(workspace: &Workspace) -> Vec<Repair> {
    let mut repairs = Vec::new();
    for path in unfinished_commit_paths(workspace.store()) {
        // Another process may have finished the commit meanwhile.
        if let Some(result) = recover_commit(&path, Millis::ZERO, &SystemClock, &SystemDisk).transpose() {
            repairs.push(Repair { path, result });
        }
    }
    repairs
}

impl Repair {
    pub(super) fn has_failed(&self) -> bool {
        self.result.is_err()
    }

    pub(super) fn to_json(&self) -> RepairJson {
        let (found, outcome, what) = match &self.result {
            Ok(settled) => {
                (Some(settled.interrupted.description()), settled.outcome.as_str(), settled.description())
            }
            Err(error) => (None, "failed", error.to_string()),
        };
        RepairJson { path: self.path.to_string_lossy().into_owned(), found, outcome, what }
    }
}

pub(super) fn write(repairs: &[Repair], doc: &mut Doc) {
    if repairs.is_empty() {
        doc.say(Tone::Dim, "repair     no interrupted commits");
    }
    for repair in repairs {
        let (tone, line) = match &repair.result {
            Ok(settled) => (Tone::Good, format!("{}: {}", repair.path.display(), settled.description())),
            Err(error) => (Tone::Bad, error.to_string()),
        };
        doc.say(tone, &format!("repair     {line}"));
    }
}
