//! The parameters of every step in one value: what a plan is made with, and what a person tunes.

mod rows;

pub use rows::{
    PolicySetting, ResultLimits, SettingOwner, SettingSources, assign_to_pi, policy_settings,
    settings_from_values,
};

use crate::gateway::compaction::CompactionSettings;
use crate::gateway::pruning::PruneSettings;
use crate::gateway::ruleset::{Aggregate, ResultLimit, Rules, Ruleset};
use crate::policy::clear_tool_uses::ClearSettings;
use crate::policy::compact::ASSUMED_SUMMARY_TOKENS;
use crate::policy::policy_set::{Policy, PolicySet};
use crate::policy::truncate::{HARD_MAX_CHARS, MIN_KEEP_CHARS, WINDOW_SHARE, v2026_9};

/// Every step's parameters, and which steps take part.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicySettings {
    /// The version whose rules the steps follow.
    pub ruleset: Ruleset,
    /// The steps that take part.
    pub enabled: PolicySet,
    /// Reserve and keep of a compaction.
    pub compaction: CompactionSettings,
    /// Tokens of the summary: those of one that was made, else an assumption.
    pub summary_tokens: u64,
    /// Cutting oversized results.
    pub truncate: TruncateSettings,
    /// Holding all tool results to a budget.
    pub reduce: ReduceSettings,
    /// Checking a prompt before it is sent.
    pub check: CheckSettings,
    /// User turns that stay; 0 is no limit (pruning 2.1).
    pub history_limit: f64,
    /// Context pruning.
    pub prune: PruneSettings,
    /// The guard of every call.
    pub guard: GuardSettings,
    /// Clearing of tool uses.
    pub clear: ClearSettings,
}

impl Default for PolicySettings {
    fn default() -> Self {
        Self {
            ruleset: Ruleset::default(),
            enabled: PolicySet::of(&[Policy::Prune]),
            compaction: CompactionSettings::default(),
            summary_tokens: ASSUMED_SUMMARY_TOKENS,
            truncate: TruncateSettings::default(),
            reduce: ReduceSettings::default(),
            check: CheckSettings::default(),
            history_limit: 0.0,
            prune: PruneSettings::default(),
            guard: GuardSettings::default(),
            clear: ClearSettings::default(),
        }
    }
}

impl PolicySettings {
    /// What a version has built in for a window in tokens.
    pub fn built_in(ruleset: Ruleset, window: f64) -> Self {
        let rules = ruleset.rules();
        let truncate = TruncateSettings::built_in(rules, window);
        let reduce = ReduceSettings::built_in(rules, window, &truncate);
        Self { ruleset, truncate, reduce, ..Self::default() }
    }

    /// Pruning alone, under these settings.
    pub fn pruning_only(prune: PruneSettings) -> Self {
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
    /// Chars that every cut block keeps; in 2026.9 only of results that the model has not answered yet (pruning 8.3).
    pub min_keep_chars: f64,
}

impl TruncateSettings {
    /// What a version has built in: the newest caps a result by the size of the window (pruning 8, row "Single limit").
    pub fn built_in(rules: &Rules, window: f64) -> Self {
        let max_chars = match rules.result_limit {
            ResultLimit::None => f64::INFINITY,
            ResultLimit::Share { most, .. } => most,
            ResultLimit::Stepped { .. } => v2026_9::result_chars_cap(window),
        };
        Self { max_chars, ..Self::default() }
    }

    /// [`Self::max_result_chars`] by the rules of a version: the newest has a limit for a window that is not known.
    pub fn max_result_chars_under(&self, rules: &Rules, window: f64) -> f64 {
        match rules.result_limit {
            ResultLimit::Stepped { .. } if window.is_nan() => v2026_9::UNKNOWN_WINDOW_CHARS,
            _ => self.max_result_chars(window),
        }
    }
}

impl Default for TruncateSettings {
    fn default() -> Self {
        Self { window_share: WINDOW_SHARE, max_chars: HARD_MAX_CHARS, min_keep_chars: MIN_KEEP_CHARS }
    }
}

/// What all tool results may have together (releases R35–R38). The gateway has these built in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReduceSettings {
    /// Chars of all of them.
    pub all_chars: f64,
    /// Results that were sent once keep their bytes; off, as after a restart of the gateway.
    pub keeps_sent: bool,
}

impl ReduceSettings {
    /// What a version has built in for a window in tokens.
    pub fn built_in(rules: &Rules, window: f64, truncate: &TruncateSettings) -> Self {
        let single = truncate.max_result_chars_under(rules, window).max(1.0);
        let keeps_sent = rules.aggregate == Aggregate::Emptied;
        Self { all_chars: rules.aggregate.budget(window, single, true), keeps_sent }
    }
}

impl Default for ReduceSettings {
    fn default() -> Self {
        Self { all_chars: f64::INFINITY, keeps_sent: false }
    }
}

/// What is checked before a prompt is sent (releases R60).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CheckSettings {
    /// Tokens of the message to come.
    pub prompt_tokens: f64,
    /// The check is repeated inside a tool loop (releases R43).
    pub mid_turn: bool,
}

/// What tool results may take of the window in one call (pruning 6.30). The gateway has these built in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GuardSettings {
    /// Share of the window that the whole context may take, 0 to 1; in 2026.9 nothing holds it to one (pruning 8.7).
    pub budget_share: f64,
    /// Share of the window that one result may take, 0 to 1.
    pub single_share: f64,
}

impl Default for GuardSettings {
    fn default() -> Self {
        Self { budget_share: 0.75, single_share: 0.5 }
    }
}
