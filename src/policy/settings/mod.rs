//! The parameters of all policies in one value: the input of a plan, and the state that the settings pane edits.

mod pruning;
mod rows;
mod setting;
mod table;
#[cfg(test)]
mod table_tests;

pub use pruning::prune_settings;
pub use rows::{
    PolicySetting, ResultLimits, SettingOwner, SettingSources, assign_to_pi, compaction_settings,
    policy_settings, settings_from_values,
};
pub use setting::{
    ConfigKey, Field, FlushKey, Hint, SessionSetting, SettingId, SettingRow, SettingSpec, Source,
};
pub use table::{SETTINGS, config_keys, find_setting, nearest_setting};

use crate::gateway::compaction::CompactionSettings;
use crate::gateway::pruning::PruneSettings;
use crate::gateway::ruleset::{Aggregate, ResultLimit, Rules, Ruleset};
use crate::policy::clear_tool_uses::ClearSettings;
use crate::policy::compact::ASSUMED_SUMMARY_TOKENS;
use crate::policy::policy_set::{Policy, PolicySet};
use crate::policy::truncate::message::{
    CHARS_PER_TOKEN, HARD_MAX_CHARS, MIN_KEEP_CHARS, UNKNOWN_WINDOW_CHARS, WINDOW_SHARE, result_chars_cap,
};
use crate::units::{Chars, Tokens};

#[derive(Debug, Clone, PartialEq)]
pub struct PolicySettings {
    /// Version whose rules apply.
    pub ruleset: Ruleset,
    pub enabled: PolicySet,
    pub compaction: CompactionSettings,
    /// Tokens of the summary: measured if one was made, otherwise an assumption.
    pub summary_tokens: u64,
    pub truncate: TruncateSettings,
    pub reduce: ReduceSettings,
    pub check: CheckSettings,
    /// User turns that stay; 0 is not a limit (pruning 2.1).
    pub history_limit: f64,
    pub prune: PruneSettings,
    pub guard: GuardSettings,
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
    /// Returns a version's built-in settings for a window in tokens.
    pub fn built_in(ruleset: Ruleset, window: Tokens) -> Self {
        let rules = ruleset.rules();
        let truncate = TruncateSettings::built_in(rules, window);
        let reduce = ReduceSettings::built_in(rules, window, &truncate);
        Self { ruleset, truncate, reduce, ..Self::default() }
    }

    /// Enables only [`Policy::Prune`], with these settings.
    pub fn pruning_only(prune: PruneSettings) -> Self {
        Self { prune, ..Self::default() }
    }
}

/// Limits for a single tool result in the transcript (pruning 6.1). The gateway has these built in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TruncateSettings {
    /// Share of the window that one result may take, 0 to 1.
    pub window_share: f64,
    /// Chars that one result may have under any window.
    pub max_chars: Chars,
    /// Chars that every cut block keeps; since 2026.8.1 only in results that the model has not answered yet (pruning
    /// 8.3).
    pub min_keep_chars: Chars,
}

impl TruncateSettings {
    /// Returns a version's built-in limits: since 2026.5.28 the cap depends on the window (pruning 8, row "Single
    /// limit").
    pub fn built_in(rules: &Rules, window: Tokens) -> Self {
        let max_chars = match rules.result_limit {
            ResultLimit::None => Chars::INFINITY,
            ResultLimit::Share { most, .. } => most,
            ResultLimit::Stepped { .. } => result_chars_cap(window),
        };
        Self { max_chars, ..Self::default() }
    }

    /// Returns the limit of one tool result in chars, for a window in tokens (pruning 6.2).
    pub fn max_result_chars(&self, window_tokens: Tokens) -> Chars {
        let chars = (window_tokens * self.window_share).floor().to_chars(CHARS_PER_TOKEN);
        // Not `f64::min`, which returns the number if the other is NaN.
        if chars > self.max_chars { self.max_chars } else { chars }
    }

    /// [`Self::max_result_chars`] in a version: since 2026.5.28 an unknown window (NaN) also has a limit.
    pub fn max_result_chars_under(&self, rules: &Rules, window: Tokens) -> Chars {
        match rules.result_limit {
            ResultLimit::Stepped { .. } if window.is_nan() => UNKNOWN_WINDOW_CHARS,
            _ => self.max_result_chars(window),
        }
    }
}

impl Default for TruncateSettings {
    fn default() -> Self {
        Self { window_share: WINDOW_SHARE, max_chars: HARD_MAX_CHARS, min_keep_chars: MIN_KEEP_CHARS }
    }
}

/// Budget of all tool results together (releases R35–R38). The gateway has it built in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReduceSettings {
    /// In chars.
    pub all_chars: Chars,
    /// Results that an earlier call sent keep their bytes. Off right after a restart of the gateway.
    pub keeps_sent: bool,
}

impl ReduceSettings {
    /// Returns a version's built-in budget for a window in tokens.
    pub fn built_in(rules: &Rules, window: Tokens, truncate: &TruncateSettings) -> Self {
        let single = truncate.max_result_chars_under(rules, window).max(Chars(1.0));
        let keeps_sent = rules.aggregate == Aggregate::Emptied;
        Self { all_chars: rules.aggregate.budget(window, single, true), keeps_sent }
    }
}

impl Default for ReduceSettings {
    fn default() -> Self {
        Self { all_chars: Chars::INFINITY, keeps_sent: false }
    }
}

/// Settings of the check before a prompt is sent (releases R60).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CheckSettings {
    /// Tokens of the next message.
    pub prompt_tokens: Tokens,
    /// Repeats the check inside a tool loop (releases R43).
    pub mid_turn: bool,
}

/// Shares of the window that the guard of each call allows (pruning 6.30). The gateway has these built in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GuardSettings {
    /// Share of the window for the whole context, 0 to 1; unused since 2026.4.8 (pruning 8.7).
    pub budget_share: f64,
    /// Share of the window for one result, 0 to 1.
    pub single_share: f64,
}

impl Default for GuardSettings {
    fn default() -> Self {
        Self { budget_share: 0.75, single_share: 0.5 }
    }
}
