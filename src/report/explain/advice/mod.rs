//! What would have helped: a search over every key that this release reads, one key first, then pairs, each tried by a
//! replay of the whole session.

mod candidates;
mod search;

use std::path::PathBuf;

use crate::format::{format_usd, format_usd_difference};
use crate::gateway::patch::{WrittenSetting, patches};
use crate::js::Value;
use crate::report::explain::format::{format_count, format_estimate};
use crate::session::replay_summary::ReplaySummary;

pub(super) use search::{SearchResult, search_advice};

/// One changed setting.
#[derive(Debug, Clone, PartialEq)]
pub struct AdvisedChange {
    /// Its key as `--set` takes it.
    pub key: String,
    /// The file that holds it; none for the gateway's `openclaw.json`.
    pub file: Option<PathBuf>,
    /// Its path in that file.
    pub config_path: String,
    /// As it is.
    pub before: String,
    /// As it would be, for people.
    pub after: String,
    /// As it would be in the file.
    pub value: Value,
    /// As the rules and the settings pane hold it.
    pub setting_value: Value,
}

/// Settings, and what the failing call and all others would have been under them.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    /// What is changed.
    pub changes: Vec<AdvisedChange>,
    /// Tokens of the prompt as it was.
    pub tokens_before: u64,
    /// Tokens under the change, by the provider's count.
    pub tokens_after: u64,
    /// Tokens that fit.
    pub limit: u64,
    /// Whether the failing call fits under the change; of the next call, whether the change makes room for it.
    pub fits: bool,
    /// Whether every call of the session fits.
    pub fits_all: bool,
    /// Whether the failing call fits with a typical turn more.
    pub has_room: bool,
    /// The whole session under the change.
    pub whole: ReplaySummary,
    /// What else there is to know.
    pub note: String,
    /// The change as a patch for `openclaw.json`, or for the file of pi that its first line names (JSON5).
    pub patch: String,
    /// The same as `openclaw config set` lines; none where a path needs a list.
    pub commands: Vec<String>,
}

impl Advice {
    /// `contextPruning.ttl 1h → 30m`, several parted by commas.
    pub fn description(&self) -> String {
        let change = |change: &AdvisedChange| format!("{} {} → {}", change.key, change.before, change.after);
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
        self.whole.peak_tokens
    }

    /// `Over the whole session: 0 overflows, peak ~98k, $24.10 (-$2.24)`. `recorded` is the session as it was.
    pub fn session_effect(&self, recorded: Option<ReplaySummary>) -> String {
        let before = recorded.and_then(|recorded| recorded.cost);
        let cost = match (self.whole.cost, before) {
            (Some(cost), Some(before)) => {
                format!(", {} ({})", format_usd(cost), format_usd_difference(cost - before))
            }
            (Some(cost), None) => format!(", {}", format_usd(cost)),
            (None, _) => String::new(),
        };
        let over = format_count(self.overflows(), "overflow");
        format!("Over the whole session: {over}, peak {}{cost}", format_estimate(self.peak()))
    }
}

/// The patch of some changes, and the commands that make them.
fn render_patch(changes: &[AdvisedChange]) -> (String, Vec<String>) {
    let written = changes.iter().map(|change| WrittenSetting {
        file: change.file.clone(),
        path: change.config_path.clone(),
        value: change.value.clone(),
    });
    patches(&written.collect::<Vec<_>>())
}
