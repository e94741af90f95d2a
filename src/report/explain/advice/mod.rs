//! Advice: a search over every key that this release reads, first single keys, then pairs. A replay of the whole
//! session tests each change, so that advice never rests on a guess.

mod asked;
mod candidates;
mod search;

use std::path::PathBuf;

use crate::gateway::patch::{WrittenSetting, patches};
use crate::gateway::setting_value::Unit;
use crate::js::Value;
use crate::policy::settings::SettingId;
use crate::session::replay_summary::ReplaySummary;

pub(super) use asked::{reserve_that_works, try_changes};
pub(super) use search::{SearchResult, search_advice};

/// One changed setting.
#[derive(Debug, Clone, PartialEq)]
pub struct AdvisedChange {
    pub id: SettingId,
    /// The file that holds it; `None` for the gateway's `openclaw.json`.
    pub file: Option<PathBuf>,
    /// The path in that file.
    pub config_path: String,
    pub unit: Option<Unit>,
    pub before: ReplacedValue,
    /// The new value as the file holds it.
    pub value: Value,
    /// The new value as the rules and the settings pane hold it.
    pub setting_value: Value,
}

/// The value before a change.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplacedValue {
    /// The setting was off.
    Off,
    /// The setting had this value, as the rules hold it.
    Set(Value),
    Unknown,
}

impl AdvisedChange {
    /// Returns the key as `--set` takes it.
    pub fn key(&self) -> &'static str {
        self.id.spec().key
    }
}

/// Changed settings, and the replay of the failing call and of all calls under them.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    pub changes: Vec<AdvisedChange>,
    /// Tokens of the recorded prompt.
    pub tokens_before: u64,
    /// Tokens of the prompt under the change, in the provider's count.
    pub tokens_after: u64,
    pub limit: u64,
    /// Whether the failing call fits under the change; for the next call, whether the change makes room for it.
    pub fits: bool,
    /// Whether every call of the session fits, and the change is a cure and no delay.
    pub fits_all: bool,
    /// Whether the failing call fits together with one more typical turn.
    pub has_room: bool,
    /// Totals of the whole session under the change.
    pub whole: ReplaySummary,
    pub outcome: AdviceOutcome,
    /// The change as a patch (JSON5) for `openclaw.json`, or for the pi file that the first line names.
    pub patch: String,
    /// The changes of `openclaw.json` as `openclaw config set` commands; empty if a path needs a list.
    pub commands: Vec<String>,
}

/// The outcome of a replay under changed settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdviceOutcome {
    /// The request would still have too many bytes.
    TooManyBytes,
    /// The failing call is refused first, and fits after the compaction.
    FitsAfterCompaction,
    /// The failing call does not fit.
    TooLarge,
    /// Every call fits, but the failing call leaves less room than a typical turn needs.
    LacksRoom,
    /// The recorded calls fit, but the session goes on growing and overflows a little later.
    Postpones,
    /// The refused prompt has no number, and the change removes too little to be sure that it fits.
    Unproven,
    /// Every call fits, with this number of compactions.
    Fits { compactions: usize },
    /// No call failed, and this number of calls would not fit.
    CallsTooLarge(usize),
    /// The failing call fits, but this number of other calls do not.
    OthersTooLarge(usize),
}

impl Advice {
    /// Returns the number of calls that do not fit under the change.
    pub fn overflows(&self) -> usize {
        self.whole.overflows
    }

    /// Whether the provider counted the prompt under the change.
    pub fn is_measured_after(&self) -> bool {
        match self.whole.failing_call_tokens {
            Some(_) => self.whole.failing_call_measured,
            None => self.whole.peak_measured,
        }
    }

    /// Returns the tokens of the session's largest prompt under the change.
    pub fn peak(&self) -> u64 {
        self.whole.peak_tokens
    }
}

/// Returns the patch, and the commands that apply it.
fn render_patch(changes: &[AdvisedChange]) -> (String, Vec<String>) {
    let written = changes.iter().map(|change| WrittenSetting {
        file: change.file.clone(),
        path: change.config_path.clone(),
        value: change.value.clone(),
    });
    patches(&written.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole() -> ReplaySummary {
        ReplaySummary {
            overflows: 1,
            failing_call_overflows: false,
            failing_call_tokens: Some(900),
            failing_call_measured: true,
            failing_call_compacted: false,
            peak_tokens: 98_000,
            peak_measured: false,
            cost: Some(24.1),
            cost_is_estimated: true,
            compactions: 0,
        }
    }

    fn advice(whole: ReplaySummary) -> Advice {
        Advice {
            changes: Vec::new(),
            tokens_before: 0,
            tokens_after: 0,
            limit: 0,
            fits: true,
            fits_all: false,
            has_room: true,
            whole,
            outcome: AdviceOutcome::Fits { compactions: 0 },
            patch: String::new(),
            commands: Vec::new(),
        }
    }

    #[test]
    fn the_prompt_after_a_change_is_that_of_the_refused_call_or_else_the_largest() {
        let measured = |failing: Option<u64>| {
            let of_call = ReplaySummary { failing_call_tokens: failing, ..whole() };
            let of_peak = ReplaySummary { failing_call_measured: false, peak_measured: true, ..of_call };
            (advice(of_call).is_measured_after(), advice(of_peak).is_measured_after())
        };
        assert_eq!(measured(Some(900)), (true, false));
        assert_eq!(measured(None), (false, true));
    }
}
