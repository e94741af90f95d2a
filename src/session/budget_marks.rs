//! The thresholds on the budget bar, in prompt tokens.
//!
//! A ratio applies to the messages only, so its mark is shifted right by the tokens before the messages. The pruner
//! estimates messages by chars, so its thresholds are scaled by the counted tokens per estimated token. With 10k fixed
//! tokens and a factor of 1.2, a soft ratio of 0.3 of a 200k window is at 10k + 72k = 82k.

use crate::gateway::compaction::CompactionSettings;
use crate::policy::PolicySettings;
use crate::session::LoadedSession;
use crate::units::Tokens;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Threshold {
    /// Soft-trims results from here (pruning 5.5).
    Soft,
    /// Clears results from here (pruning 5.8).
    Hard,
    /// Asks the model to write notes before a compaction from here (compaction 9.3).
    Flush,
    /// Compacts the session above this (compaction 2.7).
    Compact,
    /// The model's context window.
    Window,
}

impl Threshold {
    /// Whether the threshold is a number of tokens; pruning's are chars, so their tokens are an estimate.
    pub fn is_exact(self) -> bool {
        !matches!(self, Self::Soft | Self::Hard)
    }

    pub fn label(self) -> &'static str {
        match self {
            Self::Soft => "soft",
            Self::Hard => "hard",
            Self::Flush => "flush",
            Self::Compact => "compact",
            Self::Window => "window",
        }
    }

    /// The label as the setting is called, where that says more.
    pub fn long_label(self) -> Option<&'static str> {
        match self {
            Self::Soft => Some("soft trim"),
            Self::Hard => Some("hard clear"),
            Self::Flush | Self::Compact | Self::Window => None,
        }
    }
}

/// A threshold's position on the bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThresholdMark {
    pub threshold: Threshold,
    /// Position in prompt tokens.
    pub tokens: u64,
    /// Position under the configured settings, in prompt tokens, when it differs.
    pub configured_tokens: Option<u64>,
}

/// Returns the marks from left to right. `fixed` is the tokens before the messages; `factor` is the counted tokens per
/// token that chars/4 estimates.
pub fn threshold_marks(
    session: &LoadedSession,
    settings: &PolicySettings,
    (fixed, factor): (u64, f64),
) -> Vec<ThresholdMark> {
    let window = session.window.tokens.max(Tokens::ZERO);
    let share = |ratio: f64| fixed + (ratio * window.get() * factor) as u64;
    let moved = |threshold, now: f64, configured: f64| ThresholdMark {
        threshold,
        tokens: share(now),
        configured_tokens: (now != configured).then(|| share(configured)),
    };
    let configured = &session.configured_settings.prune;
    let still =
        |threshold, at: f64| ThresholdMark { threshold, tokens: at.max(0.0) as u64, configured_tokens: None };
    let above = |compaction: CompactionSettings| {
        compaction.trigger(session.limits.runtime_window, window).tokens.whole()
    };
    let compacts = (above(settings.compaction), above(session.configured_settings.compaction));
    let mut marks = vec![
        ThresholdMark {
            configured_tokens: Some(compacts.1).filter(|was| *was != compacts.0),
            ..still(Threshold::Compact, compacts.0 as f64)
        },
        still(Threshold::Window, window.get()),
    ];
    // pi prunes nothing: its marks only help a person who tries the pruner's settings.
    if !session.ruleset.id.is_pi() || settings.prune != *configured {
        marks.push(moved(Threshold::Soft, settings.prune.soft_trim_ratio, configured.soft_trim_ratio));
        marks.push(moved(Threshold::Hard, settings.prune.hard_clear_ratio, configured.hard_clear_ratio));
    }
    let flush = session.memory_flush().filter(|flush| flush.state.is_on());
    marks.extend(flush.map(|flush| still(Threshold::Flush, flush.threshold.get())));
    marks.sort_by_key(|mark| mark.tokens);
    marks
}
