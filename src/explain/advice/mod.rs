//! Which settings would have helped: a few, by what was found, each tried on the failing call as it was. Only keys that the
//! version reads are named.

mod compaction;
mod pruning;
mod turns;
mod window;

use crate::explain::case::Case;
use crate::explain::failure::Failure;
use crate::explain::finding::{Class, Finding};
use crate::gateway::patch::{commands, patch};
use crate::gateway::setting_value::{plain_text, ttl_text};
use crate::inspect::Inspection;
use crate::js::Value;
use crate::policy::settings::{Reader, StepSetting};

/// One changed setting.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Its key as `--set` takes it, or its path where it is none of those.
    pub key: String,
    /// Its path in the configuration.
    pub path: String,
    /// As it is.
    pub was: String,
    /// As it would be, for people.
    pub now: String,
    /// As it would be in the file.
    pub value: Value,
}

/// Settings, and what the failing call would have been under them.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    /// What is changed.
    pub changes: Vec<Change>,
    /// Tokens of the prompt as it was.
    pub before: u64,
    /// Tokens under the change, by the provider's count.
    pub after: u64,
    /// Tokens that fit.
    pub limit: u64,
    /// Whether it would have fitted.
    pub helps: bool,
    /// What else there is to know: what stays in the way, or what it costs.
    pub note: String,
    /// The change as a patch for `openclaw.json` (JSON5).
    pub patch: String,
    /// The same as `openclaw config set` lines; none where a path needs a list.
    pub commands: Vec<String>,
}

impl Advice {
    fn new(failure: &Failure, changes: Vec<Change>, after: u64, note: impl Into<String>) -> Self {
        let settings: Vec<(&str, Value)> =
            changes.iter().map(|change| (change.path.as_str(), change.value.clone())).collect();
        Self {
            before: failure.requested,
            after,
            limit: failure.limit,
            helps: after <= failure.limit,
            note: note.into(),
            commands: commands(settings.iter().cloned()),
            patch: patch(settings),
            changes,
        }
    }

    /// `contextPruning.ttl 1h → 30m`, several parted by commas.
    pub fn words(&self) -> String {
        let change = |change: &Change| format!("{} {} → {}", change.key, change.was, change.now);
        self.changes.iter().map(change).collect::<Vec<_>>().join(", ")
    }
}

/// What might have helped, what did first; empty without a failing call.
pub(super) fn advise(case: &Case<'_>, findings: &[Finding]) -> Vec<Advice> {
    let Some(failure) = &case.failure else { return Vec::new() };
    let has = |class: Class| findings.iter().any(|finding| finding.class == class);
    // A call that fits is still over the trigger there, so nothing else is of use.
    if has(Class::ImpossibleBudget) {
        return compaction::smaller_reserve(case, failure).into_iter().collect();
    }
    let mut advice = Vec::new();
    if has(Class::WrongWindow) {
        advice.extend(window::served(case, failure));
    }
    advice.extend(pruning::advice(case, failure));
    advice.extend(turns::advice(failure));
    advice.extend(compaction::larger_reserve(case, failure));
    // Fewest changes first; what would not have helped is told behind it, as that is asked next.
    advice.sort_by_key(|advice| (!advice.helps, advice.changes.len()));
    advice
}

/// The row of a setting that a person can change in this version's configuration.
fn movable<'a>(inspection: &'a Inspection, key: &str) -> Option<(&'a StepSetting, &'a str)> {
    let row = inspection.settings.iter().find(|row| row.key() == key)?;
    let Reader::Gateway(path) = &row.reader else { return None };
    row.row.control.fixed().is_none().then_some((row, path))
}

/// A change of a setting; none where the version has no such key.
fn change(inspection: &Inspection, key: &str, value: &Value) -> Option<Change> {
    let (row, path) = movable(inspection, key)?;
    let unit = row.row.control.unit();
    let written = if row.row.key == "ttl" { ttl_text(value) } else { value.clone() };
    Some(Change {
        key: row.key(),
        path: path.to_owned(),
        was: plain_text(unit, &row.row.value),
        now: plain_text(unit, value),
        value: written,
    })
}
