//! The ranges of pi's releases with the same rules: the first release of each, and its ruleset.
//!
//! Every change was verified by running the published packages on both sides of it. If one of the two is no longer
//! published, the change log names the release.

use super::gateways::PI_0_55;
use super::pi_release::{PiChange, PiRelease};
use super::releases::Ruleset;
use super::rules::{Compaction, ReadMode, Recovery, Rules, RuntimeRecovery};

impl PiRelease {
    pub const fn reading(self) -> ReadMode {
        if self.has(PiChange::Projects) { ReadMode::Projected } else { ReadMode::Entries }
    }

    const fn compaction(self) -> Compaction {
        match (self.has(PiChange::StartsAtKept), self.has(PiChange::Projects)) {
            (false, _) => Compaction::AfterPrevious,
            (_, false) => Compaction::EntriesFromKept,
            (_, true) => Compaction::Projected,
        }
    }

    const fn recovery(self) -> Recovery {
        let compactions = if self.has(PiChange::RecoversOnce) { 1 } else { u32::MAX };
        let in_run = RuntimeRecovery { compactions, counts_completed: true };
        Recovery { in_run, ..PI_0_55.recovery }
    }

    const fn rules(self) -> Rules {
        Rules {
            read_mode: self.reading(),
            pi: self,
            usage_above_zero: self.has(PiChange::NeedsUsage),
            compaction: self.compaction(),
            recovery: self.recovery(),
            ..PI_0_55
        }
    }
}

/// For callers that know only the read mode: the oldest release that reads entries, the newest that projects them.
impl From<ReadMode> for PiRelease {
    fn from(reading: ReadMode) -> Self {
        match reading {
            ReadMode::Entries => Self::OLDEST,
            ReadMode::Projected => Self::NEWEST,
        }
    }
}

#[derive(Debug)]
pub(super) struct PiRange {
    pub ruleset: Ruleset,
    /// The name in flags, files and JSON.
    pub id: &'static str,
    /// The program and its releases, for people.
    pub name: &'static str,
    /// The first release; the range ends before the next one.
    pub first: PiRelease,
    pub rules: &'static Rules,
}

macro_rules! ranges {
    ($($ruleset:ident $id:literal $name:literal $first:expr;)*) => {
        /// Every range, oldest first.
        pub(super) static RANGES: &[PiRange] = &[$(
            PiRange {
                ruleset: Ruleset::$ruleset,
                id: $id,
                name: $name,
                first: PiRelease($first),
                rules: { static RULES: Rules = PiRelease($first).rules(); &RULES },
            },
        )*];
    };
}

ranges! {
    Pi0_55 "pi-0.55" "pi 0.55–0.56.2" [0, 55, 0];
    Pi0_56_3 "pi-0.56.3" "pi 0.56.3–0.58" [0, 56, 3];
    Pi0_59 "pi-0.59" "pi 0.59–0.63.0" [0, 59, 0];
    Pi0_63_1 "pi-0.63.1" "pi 0.63.1–0.75" [0, 63, 1];
    Pi0_76 "pi-0.76" "pi 0.76–0.78.0" [0, 76, 0];
    Pi0_78_1 "pi-0.78.1" "pi 0.78.1–0.79.7" [0, 78, 1];
    Pi0_79_8 "pi-0.79.8" "pi 0.79.8–0.79.10" [0, 79, 8];
    Pi0_80_0 "pi-0.80.0" "pi 0.80.0–0.80.3" [0, 80, 0];
    Pi0_80_4 "pi-0.80.4" "pi 0.80.4–0.80.10" [0, 80, 4];
    Pi0_81 "pi-0.81" "pi 0.81–0.84.3" [0, 81, 0];
    Pi0_84_4 "pi-0.84.4" "pi 0.84.4–0.85" [0, 84, 4];
    Pi0_86 "pi-0.86" "pi 0.86" [0, 86, 0];
    Pi0_87 "pi-0.87" "pi 0.87" [0, 87, 0];
    Pi0_99 "pi-0.99" "pi 0.99–1.1" [0, 99, 0];
    Pi1_2 "pi-1.2" "pi 1.2–1.3" [1, 2, 0];
    Pi1_4 "pi-1.4" "pi 1.4" [1, 4, 0];
    Pi1_5_0 "pi-1.5.0" "pi 1.5.0" [1, 5, 0];
    Pi1_5 "pi-1.5" "pi 1.5.1–1.6.0" [1, 5, 1];
}

/// Returns the range of a ruleset; `None` for a gateway's.
pub(super) fn range(ruleset: Ruleset) -> Option<&'static PiRange> {
    RANGES.iter().find(|range| range.ruleset == ruleset)
}

/// Returns the ruleset of the newest range that does not begin after the release.
pub(super) fn ruleset_of(release: PiRelease) -> Ruleset {
    let range = RANGES.iter().rev().find(|range| range.first <= release);
    range.map_or(Ruleset::Pi0_55, |range| range.ruleset)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let firsts: Vec<PiRelease> = RANGES[1..].iter().map(|range| range.first).collect();
        assert_eq!(firsts, CHANGES.map(PiChange::since));
        assert!(firsts.is_sorted());
    }

    #[test]
    fn a_range_is_called_after_its_first_release() {
        for range in RANGES {
            let [major, minor, patch] = range.first.0;
            let named = range.name.trim_start_matches("pi ").split('–').next().unwrap();
            let whole = format!("{major}.{minor}.{patch}");
            assert!(
                named == whole || patch == 0 && whole.starts_with(&format!("{named}.")),
                "{}",
                range.name
            );
        }
    }

    #[test]
    fn a_release_has_the_changes_up_to_itself() {
        assert!(!PiRelease([0, 80, 3]).has(PiChange::CutsByContext));
        assert!(PiRelease([0, 80, 4]).has(PiChange::CutsByContext));
        assert!(PiRelease([1, 0, 0]).has(PiChange::CountsNestedCalls));
        assert!(!PiRelease::OLDEST.has(PiChange::CutsResults) && PiRelease::NEWEST.has(PiChange::Projects));
    }

    #[test]
    fn a_release_gets_the_nearest_ruleset_that_is_not_newer() {
        for (release, ruleset) in [
            ([0, 30, 0], Ruleset::Pi0_55),
            ([0, 56, 2], Ruleset::Pi0_55),
            ([0, 75, 5], Ruleset::Pi0_63_1),
            ([0, 80, 9], Ruleset::Pi0_80_4),
            ([0, 84, 3], Ruleset::Pi0_81),
            ([1, 3, 0], Ruleset::Pi1_2),
            ([2, 0, 0], Ruleset::Pi1_5),
        ] {
            assert_eq!(ruleset_of(PiRelease(release)), ruleset);
        }
    }
}
