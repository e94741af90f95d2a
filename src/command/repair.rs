//! `clawscope doctor --repair`: commits that were broken off are settled, one after the other.

use std::path::PathBuf;

use super::output::{Output, Tone};
use super::scene::Scene;
use crate::commit::{CommitError, Settled, SystemClock, SystemDisk, settle};
use crate::inspect::list::unfinished_in;
use crate::js::{Object, Value};

/// A transcript with a journal, and what became of it.
#[derive(Debug)]
pub(super) struct Repair {
    path: PathBuf,
    result: Result<Settled, CommitError>,
}

/// Settles every commit of a store that was broken off.
pub(super) fn repair(scene: &Scene) -> Vec<Repair> {
    let mut repairs = Vec::new();
    for path in unfinished_in(scene.store()) {
        // One that ended meanwhile needs none.
        if let Some(result) = settle(&path, 0, &SystemClock, &SystemDisk).transpose() {
            repairs.push(Repair { path, result });
        }
    }
    repairs
}

impl Repair {
    /// Whether it could not be settled.
    pub(super) fn failed(&self) -> bool {
        self.result.is_err()
    }

    /// As JSON.
    pub(super) fn value(&self) -> Value {
        let (found, outcome, what) = match &self.result {
            Ok(settled) => (Some(settled.found.sentence()), settled.outcome.word(), settled.sentence()),
            Err(error) => (None, "failed", error.to_string()),
        };
        Value::from(Object::from([
            ("path", Value::from(self.path.to_string_lossy().as_ref())),
            ("found", Value::from(found)),
            ("outcome", Value::from(outcome)),
            ("what", Value::from(what)),
        ]))
    }

    fn line(&self) -> (Tone, String) {
        match &self.result {
            Ok(settled) => (Tone::Good, format!("{}: {}", self.path.display(), settled.sentence())),
            Err(error) => (Tone::Bad, error.to_string()),
        }
    }
}

/// Prints what was done.
pub(super) fn print(repairs: &[Repair], output: &mut Output) -> std::io::Result<()> {
    if repairs.is_empty() {
        return output.line(Tone::Dim, "repair     no commit was broken off");
    }
    for (tone, line) in repairs.iter().map(Repair::line) {
        output.line(tone, &format!("repair     {line}"))?;
    }
    Ok(())
}
