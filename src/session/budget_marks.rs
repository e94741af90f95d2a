//! The thresholds on the budget bar, all in prompt tokens: a ratio of the messages stands to the right by
//! what precedes the messages. The pruner estimates messages by their chars, so on the scale of counted tokens its thresholds
//! move by the tokens counted for one that it estimates.

use crate::gateway::compaction::CompactionSettings;
use crate::policy::PolicySettings;
use crate::session::LoadedSession;

/// A threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Threshold {
    /// From here results are soft-trimmed (pruning 5.5).
    Soft,
    /// From here results are cleared (pruning 5.8).
    Hard,
    /// From here the model is asked to write notes before a compaction (compaction 9.3).
    Flush,
    /// Above this the session compacts (compaction 2.7).
    Compact,
    /// What the model takes.
    Window,
}

impl Threshold {
    /// Its word under the bar.
    pub fn label(self) -> &'static str {
        match self {
            Self::Soft => "soft",
            Self::Hard => "hard",
            Self::Flush => "flush",
            Self::Compact => "compact",
            Self::Window => "window",
        }
    }
}

/// Where a threshold stands, and where it stood before it was moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThresholdMark {
    /// Which one.
    pub threshold: Threshold,
    /// Prompt tokens.
    pub tokens: u64,
    /// Its place under the configured settings, where that differs.
    pub configured_tokens: Option<u64>,
}

/// The marks from left to right. `fixed` is what precedes the messages, in tokens; `factor` tokens of the messages count for
/// one that chars/4 estimates.
pub fn threshold_marks(
    session: &LoadedSession,
    settings: &PolicySettings,
    (fixed, factor): (u64, f64),
) -> Vec<ThresholdMark> {
    let window = session.window.tokens.max(0.0);
    let share = |ratio: f64| fixed + (ratio * window * factor) as u64;
    let moved = |threshold, now: f64, configured: f64| ThresholdMark {
        threshold,
        tokens: share(now),
        configured_tokens: (now != configured).then(|| share(configured)),
    };
    let configured = &session.configured_settings.prune;
    let still =
        |threshold, at: f64| ThresholdMark { threshold, tokens: at.max(0.0) as u64, configured_tokens: None };
    let above = |compaction: CompactionSettings| compaction.threshold(window).max(0.0) as u64;
    let compacts = (above(settings.compaction), above(session.configured_settings.compaction));
    let mut marks = vec![
        ThresholdMark {
            configured_tokens: Some(compacts.1).filter(|was| *was != compacts.0),
            ..still(Threshold::Compact, compacts.0 as f64)
        },
        still(Threshold::Window, window),
    ];
    // pi prunes nothing: there they are only of use to someone who tries what a pruner would do.
    if !session.ruleset.id.is_pi() || settings.prune != *configured {
        marks.push(moved(Threshold::Soft, settings.prune.soft_trim_ratio, configured.soft_trim_ratio));
        marks.push(moved(Threshold::Hard, settings.prune.hard_clear_ratio, configured.hard_clear_ratio));
    }
    let flush = session.memory_flush().filter(|flush| flush.state.is_on());
    marks.extend(flush.map(|flush| still(Threshold::Flush, flush.threshold)));
    marks.sort_by_key(|mark| mark.tokens);
    marks
}
