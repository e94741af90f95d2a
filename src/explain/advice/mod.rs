//! What would have helped: a search over every key that this release reads, one key first, then pairs, each tried by a
//! replay of the whole session.

mod candidates;
mod search;

use std::path::PathBuf;

use crate::explain::words::{about, count};
use crate::gateway::patch::{Written, patches};
use crate::inspect::whole::Whole;
use crate::inspect::words::{difference, dollars};
use crate::js::Value;

pub(super) use search::{Tries, search};

/// One changed setting.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Its key as `--set` takes it.
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

/// Settings, and what the failing call and all others would have been under them.
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
    /// Whether the failing call fits under the change; of the next call, whether the change makes room for it.
    pub fits: bool,
    /// Whether every call of the session fits.
    pub helps: bool,
    /// Whether the failing call fits with a typical turn more.
    pub has_room: bool,
    /// The whole session under the change.
    pub whole: Whole,
    /// What else there is to know.
    pub note: String,
    /// The change as a patch for `openclaw.json`, or for the file of pi that its first line names (JSON5).
    pub patch: String,
    /// The same as `openclaw config set` lines; none where a path needs a list.
    pub commands: Vec<String>,
}

impl Advice {
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

    /// Calls of the session that do not fit under the change.
    pub fn overflows(&self) -> usize {
        self.whole.overflows
    }

    /// Tokens of the largest prompt of the session under the change.
    pub fn peak(&self) -> u64 {
        self.whole.peak
    }

    /// `Over the whole session: 0 overflows, peak ~98k, $24.10 (-$2.24)`. `recorded` is the session as it was.
    pub fn over_all_words(&self, recorded: Option<Whole>) -> String {
        let before = recorded.and_then(|recorded| recorded.cost);
        let cost = match (self.whole.cost, before) {
            (Some(cost), Some(before)) => format!(", {} ({})", dollars(cost), difference(cost - before)),
            (Some(cost), None) => format!(", {}", dollars(cost)),
            (None, _) => String::new(),
        };
        let over = count(self.overflows(), "overflow");
        format!("Over the whole session: {over}, peak {}{cost}", about(self.peak()))
    }
}

/// The patch of some changes, and the commands that make them.
fn written(changes: &[Change]) -> (String, Vec<String>) {
    let written = changes.iter().map(|change| Written {
        file: change.file.clone(),
        path: change.path.clone(),
        value: change.value.clone(),
    });
    patches(&written.collect::<Vec<_>>())
}
