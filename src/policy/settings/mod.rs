//! The parameters of every step in one value: what a plan is made with, and what a person tunes.

mod rows;

pub use rows::{Reader, RowSource, StepSetting, rows, settings_of};

use crate::gateway::compaction::CompactionSettings;
use crate::gateway::pruning::PruneSettings;
use crate::gateway::ruleset::Ruleset;
use crate::policy::clear_tool_uses::ClearSettings;
use crate::policy::compact::ASSUMED_SUMMARY_TOKENS;
use crate::policy::step::{Step, StepSet};
use crate::policy::truncate::{HARD_MAX_CHARS, MIN_KEEP_CHARS, WINDOW_SHARE};

/// Every step's parameters, and which steps take part.
#[derive(Debug, Clone, PartialEq)]
pub struct StepSettings {
    /// The version whose rules the steps follow.
    pub ruleset: Ruleset,
    /// The steps that take part.
    pub steps: StepSet,
    /// Reserve and keep of a compaction.
    pub compaction: CompactionSettings,
    /// Tokens of the summary: those of one that was made, else an assumption.
    pub summary_tokens: u64,
    /// Cutting oversized results.
    pub truncate: TruncateSettings,
    /// User turns that stay; 0 is no limit (pruning 2.1).
    pub history_limit: f64,
    /// Context pruning.
    pub prune: PruneSettings,
    /// The guard of every call.
    pub guard: GuardSettings,
    /// Clearing of tool uses.
    pub clear: ClearSettings,
}

impl Default for StepSettings {
    fn default() -> Self {
        Self {
            ruleset: Ruleset::default(),
            steps: StepSet::of(&[Step::Prune]),
            compaction: CompactionSettings::default(),
            summary_tokens: ASSUMED_SUMMARY_TOKENS,
            truncate: TruncateSettings::default(),
            history_limit: 0.0,
            prune: PruneSettings::default(),
            guard: GuardSettings::default(),
            clear: ClearSettings::default(),
        }
    }
}

impl StepSettings {
    /// Pruning alone, under these settings.
    pub fn prune(prune: PruneSettings) -> Self {
        Self { prune, ..Self::default() }
    }
}

/// How far a single tool result is cut in the transcript (pruning 6.1). The gateway has these built in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TruncateSettings {
    /// Share of the window that one result may take, 0 to 1.
    pub window_share: f64,
    /// Chars that one result may have whatever the window.
    pub max_chars: f64,
    /// Chars that every cut block keeps.
    pub min_keep_chars: f64,
}

impl Default for TruncateSettings {
    fn default() -> Self {
        Self { window_share: WINDOW_SHARE, max_chars: HARD_MAX_CHARS, min_keep_chars: MIN_KEEP_CHARS }
    }
}

/// What tool results may take of the window in one call (pruning 6.30). The gateway has these built in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GuardSettings {
    /// Share of the window that the whole context may take, 0 to 1.
    pub budget_share: f64,
    /// Share of the window that one result may take, 0 to 1.
    pub single_share: f64,
}

impl Default for GuardSettings {
    fn default() -> Self {
        Self { budget_share: 0.75, single_share: 0.5 }
    }
}
