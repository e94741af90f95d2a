//! Which settings would have helped: a few, by what was found, each tried on the failing call as it was and then, by replay,
//! on every call of the session. Only keys that the version reads are named.

mod compaction;
mod pruning;
mod tried;
mod turns;
mod whole;
mod window;

use std::path::{Path, PathBuf};

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::explain::case::Case;
use crate::explain::failure::Failure;
use crate::explain::finding::{Class, Finding};
use crate::explain::words::{about, count};
use crate::gateway::patch::{Written, patches};
use crate::gateway::setting_value::{plain_text, ttl_text};
use crate::inspect::Inspection;
use crate::inspect::words::{difference, dollars};
use crate::js::Value;
use crate::policy::settings::{Reader, StepSetting};
use crate::store::body::BodyError;
use tried::{Tried, settings_under};
use whole::Session;
pub use whole::Whole;

/// The key of a window that the runtime's own trigger reads; no setting of a step.
const WINDOW: &str = "contextWindow";
/// Share of the window from which on a session that fits is at risk.
const AT_RISK: f64 = 0.5;

/// One changed setting.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Its key as `--set` takes it, or its path where it is none of those.
    pub key: String,
    /// The file that holds it; none for the gateway's `openclaw.json`.
    pub file: Option<PathBuf>,
    /// Its path in that file.
    pub path: String,
    /// As it is.
    pub was: String,
    /// As it would be, for people.
    pub now: String,
    /// As it would be in the file.
    pub value: Value,
    /// As the rules and the settings pane hold it.
    pub tuned: Value,
}

/// Settings, and what the failing call, and all others, would have been under them.
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
    /// Whether the call would have fitted; of one that fits as it is, whether the change is worth it.
    pub fits: bool,
    /// The call does not fit under the change.
    pub is_over: bool,
    /// Whether it would have fitted, and every other call of the session too.
    pub helps: bool,
    /// The whole session under the change; none where it cannot be replayed.
    pub whole: Option<Whole>,
    /// What else there is to know: what stays in the way, or what it costs.
    pub note: String,
    /// The change as a patch for `openclaw.json`, or for the file of pi that its first line names (JSON5).
    pub patch: String,
    /// The same as `openclaw config set` lines; none where a path needs a list.
    pub commands: Vec<String>,
}

impl Advice {
    fn new(failure: &Failure, changes: Vec<Change>, after: u64, note: impl Into<String>) -> Self {
        let fits = failure.fits(after);
        let written = |change: &Change| Written {
            file: change.file.clone(),
            path: change.path.clone(),
            value: change.value.clone(),
        };
        let (patch, commands) = patches(&changes.iter().map(written).collect::<Vec<_>>());
        Self {
            before: failure.requested,
            after,
            limit: failure.known(),
            fits,
            is_over: after > failure.known(),
            helps: fits,
            whole: None,
            note: note.into(),
            commands,
            patch,
            changes,
        }
    }

    /// `contextPruning.ttl 1h → 30m`, several parted by commas.
    pub fn words(&self) -> String {
        let change = |change: &Change| format!("{} {} → {}", change.key, change.was, change.now);
        self.changes.iter().map(change).collect::<Vec<_>>().join(", ")
    }

    /// The file that the change belongs in, for people.
    pub fn file_name(&self) -> String {
        let own = self.changes.iter().find_map(|change| change.file.as_deref());
        own.map_or_else(|| "openclaw.json".to_owned(), |file| file.display().to_string())
    }

    /// Calls of the session that would not have fitted under the change, the one that failed among them.
    pub fn overflows(&self) -> usize {
        let whole = self.whole.map_or((0, false), |whole| (whole.others, whole.failing));
        whole.0 + usize::from(self.is_over || whole.1)
    }

    /// Tokens of the largest prompt of the session under the change.
    pub fn peak(&self) -> u64 {
        self.whole.map_or(0, |whole| whole.peak).max(self.after)
    }

    /// `over the whole session: 0 overflows, peak ~98.1k, $24.10 (-$2.24)`; none where it cannot be replayed. `recorded` is
    /// the session as it was.
    pub fn over_all_words(&self, recorded: Option<Whole>) -> Option<String> {
        let whole = self.whole?;
        let before = recorded.and_then(|recorded| recorded.cost);
        let cost = match (whole.cost, before) {
            (Some(cost), Some(before)) => format!(", {} ({})", dollars(cost), difference(cost - before)),
            (Some(cost), None) => format!(", {}", dollars(cost)),
            (None, _) => String::new(),
        };
        let over = count(self.overflows(), "overflow");
        Some(format!("Over the whole session: {over}, peak {}{cost}", about(self.peak())))
    }

    /// The same with what the replay of the whole session says. A reserve that leaves no room is no matter of one call, so
    /// that what became of it is not asked again.
    fn over_all(mut self, whole: Whole, asked_of_call: bool) -> Self {
        let whole = if asked_of_call {
            whole
        } else {
            Whole { failing: false, peak: whole.peak.min(self.after), ..whole }
        };
        if self.fits && (whole.others > 0 || whole.failing) {
            self.helps = false;
            self.note = match whole.others {
                0 => "by a replay of the whole session it would still not have fitted".to_owned(),
                others => {
                    format!("the call fits, but {} of the session would not", count(others, "other call"))
                }
            };
        }
        self.whole = Some(whole);
        self
    }
}

/// What was tried, and the session as it was.
#[derive(Debug, Default)]
pub(super) struct Tries {
    /// What helps first; then the fewest changes.
    pub advice: Vec<Advice>,
    /// The whole session as it was; none where nothing was tried.
    pub recorded: Option<Whole>,
}

/// What might have helped: with a failing call that, without one what makes room for the next, where a session is at risk.
///
/// # Errors
/// When an entry cannot be read again.
pub(super) fn advise(case: &Case<'_>, findings: &[Finding]) -> Result<Tries, BodyError> {
    let ahead = if case.failure.is_none() { ahead(case, findings) } else { None };
    let Some(failure) = case.failure.as_ref().or(ahead.as_ref()) else { return Ok(Tries::default()) };
    let has = |class: Class| findings.iter().any(|finding| finding.class == class);
    let advice = candidates(case, failure, has);
    let kept_too_much = has(Class::CompactionNoOp) || has(Class::CompactionRefused);
    let keeps =
        if kept_too_much && !has(Class::EngineOwned) { compaction::keeps(failure) } else { Vec::new() };
    if advice.is_empty() && keeps.is_empty() {
        return Ok(Tries::default());
    }
    let session = Session::read(case, failure)?;
    let whole = |changes: &[Change]| {
        session.as_ref().map(|session| session.under(&Tried::new(&failure.then, changes)))
    };
    let over_all = |advice: &Advice| match whole(&advice.changes) {
        Some(whole) => advice.clone().over_all(whole, !has(Class::ImpossibleBudget)),
        None => advice.clone(),
    };
    let mut tried: Vec<Advice> = advice.par_iter().map(over_all).collect();
    tried.extend(compaction::smaller_keep(failure, keeps, whole));
    // Before anything failed, what changes nothing is not worth a line.
    tried.retain(|advice| !failure.ahead || advice.after < advice.before);
    // Fewest changes first; what would not have helped is told behind it, as that is asked next.
    tried.sort_by_key(|advice| (!advice.helps, advice.changes.len()));
    let recorded = session.filter(|_| !tried.is_empty()).map(|session| session.as_it_was());
    Ok(Tries { advice: tried, recorded })
}

/// What is tried on the call alone at first.
fn candidates(case: &Case<'_>, failure: &Failure, has: impl Fn(Class) -> bool) -> Vec<Advice> {
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
    // Where a plugin owns compaction the gateway's settings of it are not read.
    if !has(Class::EngineOwned) {
        advice.extend(compaction::larger_reserve(case, failure));
    }
    advice
}

/// The next call of a session that is not well and half full, or more than full.
fn ahead(case: &Case<'_>, findings: &[Finding]) -> Option<Failure> {
    let unwell = |finding: &Finding| !matches!(finding.class, Class::Healthy | Class::CounterInflated);
    let window = case.window();
    let full = window > 0 && case.prompt().0 as f64 >= AT_RISK * window as f64;
    (full && findings.first().is_some_and(unwell)).then(|| Failure::ahead(case))
}

/// The row of a setting that a person can change in this version's configuration, the file where it is pi's own, and the path.
fn movable<'a>(
    inspection: &'a Inspection,
    key: &str,
) -> Option<(&'a StepSetting, Option<&'a Path>, &'a str)> {
    let row = inspection.settings.iter().find(|row| row.key() == key)?;
    let (file, path) = match &row.reader {
        Reader::Gateway(path) => (None, path),
        Reader::Runtime { file, path, .. } => (Some(file.as_path()), path),
        _ => return None,
    };
    row.row.control.fixed().is_none().then_some((row, file, path))
}

/// A change of a setting; none where the version has no such key.
fn change(inspection: &Inspection, key: &str, value: &Value) -> Option<Change> {
    let (row, file, path) = movable(inspection, key)?;
    let unit = row.row.control.unit();
    let written = if row.row.key == "ttl" { ttl_text(value) } else { value.clone() };
    Some(Change {
        key: row.key(),
        file: file.map(Path::to_path_buf),
        path: path.to_owned(),
        was: plain_text(unit, &row.row.value),
        now: plain_text(unit, value),
        value: written,
        tuned: value.clone(),
    })
}
