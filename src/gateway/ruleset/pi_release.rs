//! The releases of pi and the changes between them, each with the first release that has it.

use serde::{Deserialize, Serialize};

/// A release of pi: major, minor, patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PiRelease(pub [u32; 3]);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PiChange {
    /// The summarizer sees the first 2000 UTF-16 units of a tool result.
    CutsResults,
    /// A refusal is compacted only once in a run. Seen in 0.57.0, not in 0.55.4; the releases between are no longer
    /// published.
    RecoversOnce,
    /// An empty session name clears the earlier name.
    ClearsNames,
    /// A compaction considers again the entries that the previous one kept.
    StartsAtKept,
    /// Images of users count as much as those of tools.
    WeighsUserImages,
    /// Files are read line by line: nothing around a line is trimmed, and falsy lines are junk.
    ReadsLines,
    /// A compaction does not run if it would summarise nothing.
    NeedsMessages,
    /// A usage of 0 anchors no estimate.
    NeedsUsage,
    /// Every part of the context counts towards the budget and can begin the kept part; a missing content is an empty
    /// one; an older compaction inside the kept part is effective again.
    CutsByContext,
    /// The summarizer sees the content of a tool result that is plain text; the content of an answer must be blocks.
    TakesPlainTexts,
    /// The window is checked between the turns of a run too.
    ChecksBetweenTurns,
    /// The prompt and the tools are messages of the transcript.
    KeepsSystemMessages,
    /// Contexts can be edited, estimates respect the edits, and only the last compaction is effective.
    Projects,
    /// Calls that a tool makes itself name files too.
    CountsNestedCalls,
    /// The summarizer sees no thinking.
    OmitsThinking,
    /// The instructions of `/compact` reach the beginning of a split turn.
    FocusesPrefix,
    /// The summary of a branch respects context edits.
    EditsBranchSummaries,
    /// A cut never ends inside a character.
    CutsWholeCharacters,
}

impl PiChange {
    pub const fn since(self) -> PiRelease {
        PiRelease(match self {
            Self::CutsResults | Self::RecoversOnce => [0, 56, 3],
            Self::ClearsNames => [0, 59, 0],
            Self::StartsAtKept => [0, 63, 1],
            Self::WeighsUserImages => [0, 76, 0],
            Self::ReadsLines => [0, 78, 1],
            Self::NeedsMessages => [0, 79, 8],
            Self::NeedsUsage => [0, 80, 0],
            Self::CutsByContext => [0, 80, 4],
            Self::TakesPlainTexts => [0, 81, 0],
            Self::ChecksBetweenTurns => [0, 84, 4],
            Self::KeepsSystemMessages => [0, 86, 0],
            Self::Projects => [0, 87, 0],
            Self::CountsNestedCalls => [0, 99, 0],
            Self::OmitsThinking => [1, 2, 0],
            Self::FocusesPrefix => [1, 4, 0],
            Self::EditsBranchSummaries => [1, 5, 0],
            Self::CutsWholeCharacters => [1, 5, 1],
        })
    }
}

impl PiRelease {
    /// The oldest verified release. Gateways with an older one, or with their own runtime, count as this.
    pub const OLDEST: Self = Self([0, 55, 0]);
    /// The newest verified release.
    pub const NEWEST: Self = Self([1, 5, 2]);

    pub const fn has(self, change: PiChange) -> bool {
        let (own, first) = (self.0, change.since().0);
        let mut at = 0;
        // `const` code cannot compare arrays.
        while at < own.len() {
            if own[at] != first[at] {
                return own[at] > first[at];
            }
            at += 1;
        }
        true
    }
}

impl Default for PiRelease {
    fn default() -> Self {
        Self::OLDEST
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;

    const CHANGES: [PiChange; 17] = [
        PiChange::CutsResults,
        PiChange::ClearsNames,
        PiChange::StartsAtKept,
        PiChange::WeighsUserImages,
        PiChange::ReadsLines,
        PiChange::NeedsMessages,
        PiChange::NeedsUsage,
        PiChange::CutsByContext,
        PiChange::TakesPlainTexts,
        PiChange::ChecksBetweenTurns,
        PiChange::KeepsSystemMessages,
        PiChange::Projects,
        PiChange::CountsNestedCalls,
        PiChange::OmitsThinking,
        PiChange::FocusesPrefix,
        PiChange::EditsBranchSummaries,
        PiChange::CutsWholeCharacters,
    ];

    #[test]
    fn each_range_but_the_oldest_begins_with_the_one_change_that_makes_it_a_range() {
        let firsts: Vec<PiRelease> = Ruleset::PI[1..].iter().map(|ruleset| ruleset.rules().pi).collect();
        assert_eq!(firsts, CHANGES.map(PiChange::since));
        assert!(firsts.is_sorted());
    }

    #[test]
    fn a_range_is_called_after_its_first_release() {
        for ruleset in Ruleset::PI {
            let [major, minor, patch] = ruleset.rules().pi.0;
            let named = ruleset.display_name().trim_start_matches("pi ").split('–').next().unwrap();
            let whole = format!("{major}.{minor}.{patch}");
            assert!(named == whole || patch == 0 && whole.starts_with(&format!("{named}.")), "{named}");
        }
    }

    #[test]
    fn a_release_has_the_changes_up_to_itself() {
        assert!(!PiRelease([0, 80, 3]).has(PiChange::CutsByContext));
        assert!(PiRelease([0, 80, 4]).has(PiChange::CutsByContext));
        assert!(PiRelease([1, 0, 0]).has(PiChange::CountsNestedCalls));
        assert!(!PiRelease::OLDEST.has(PiChange::CutsResults) && PiRelease::NEWEST.has(PiChange::Projects));
    }
}
