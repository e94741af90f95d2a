//! Decides whether pi 1.5 starts a compaction between the turns of a run (store-pi-1.5 F2). Its decision after a run and
//! before a prompt only shows in the record.

use crate::gateway::compaction::CompactionSettings;
use crate::units::Tokens;

/// Whether a compaction is due between the turns of a run, by the projected estimate; never when the window is unknown
/// (store-pi-1.5 F2).
pub fn is_due_between_turns(settings: &CompactionSettings, tokens: Tokens, window: Tokens) -> bool {
    window > Tokens::ZERO && settings.should_compact(tokens, window)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_interrupted_above_the_threshold_of_a_known_window() {
        let settings =
            CompactionSettings { reserve_tokens: Tokens(1_000.0), ..CompactionSettings::default() };
        let due = |tokens, window| is_due_between_turns(&settings, tokens, window);
        assert_eq!(
            [due(Tokens(9_000.0), Tokens(10_000.0)), due(Tokens(9_001.0), Tokens(10_000.0))],
            [false, true]
        );
        assert!(!due(Tokens(9_001.0), Tokens::ZERO), "nobody knows the window");
        let off = CompactionSettings { enabled: false, ..settings };
        assert!(!is_due_between_turns(&off, Tokens(9_001.0), Tokens(10_000.0)));
    }
}
