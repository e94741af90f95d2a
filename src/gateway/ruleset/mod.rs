//! The gateway versions whose rules are known: which one holds for a store, and every number that differs
//! (pruning 8, compaction 12).

mod choice;
mod pi;
mod rules;
mod version;

pub use choice::{Chosen, Era, PiMark};
pub use pi::{PiChange, PiRelease};
pub use rules::*;
pub use version::{UnknownVersion, Version};

/// A set of rules, named after the version it was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Ruleset {
    /// The agent runtime alone, without a gateway.
    Pi0_55,
    /// The same since whoever summarises sees tool results cut; what each later one changes is in `pi.rs`.
    Pi0_56_3,
    /// The same since an empty name clears the name.
    Pi0_59,
    /// The same since a compaction starts where the one before it began to keep.
    Pi0_63_1,
    /// The same since images of users weigh.
    Pi0_76,
    /// The same since files are read line by line.
    Pi0_78_1,
    /// The same since a compaction needs something to summarise.
    Pi0_79_8,
    /// The same since a usage of 0 anchors nothing.
    Pi0_80_0,
    /// The same since compactions cut by what is part of the context.
    Pi0_80_4,
    /// The same since whoever summarises sees tool results that are plain texts.
    Pi0_81,
    /// The same since the window is checked between turns.
    Pi0_84_4,
    /// The same since prompt and tools are messages.
    Pi0_86,
    /// The same since contexts are edited.
    Pi0_87,
    /// The same since nested calls name files.
    Pi0_99,
    /// The same since whoever summarises sees no thinking.
    Pi1_2,
    /// The same since instructions reach the beginning of a split turn.
    Pi1_4,
    /// The same since summaries of branches respect edits.
    Pi1_5_0,
    /// Today's: from 1.5.1 on.
    Pi1_5,
    /// The last gateway whose pruner fails to load.
    V2026_2_19,
    /// The reference: everything here is checked against it.
    #[default]
    V2026_3_2,
    /// The gateway with its own runtime and its sessions in a database.
    V2026_9,
}

impl Ruleset {
    /// The gateway's rulesets from the oldest on, then the oldest and the newest of the runtime alone.
    pub const ALL: [Self; 5] = [Self::V2026_2_19, Self::V2026_3_2, Self::V2026_9, Self::Pi0_55, Self::Pi1_5];

    /// Every ruleset with those of the runtime alone in between.
    pub fn known() -> impl Iterator<Item = Self> {
        let gateways = Self::ALL.into_iter().filter(|ruleset| !ruleset.is_pi());
        gateways.chain(pi::RANGES.iter().map(|range| range.ruleset))
    }

    /// The name that flags, files and JSON use.
    pub fn id(self) -> &'static str {
        match self {
            Self::V2026_2_19 => "2026.2.19",
            Self::V2026_3_2 => "2026.3.2",
            Self::V2026_9 => "2026.9",
            pi => pi::range(pi).map_or("pi", |range| range.id),
        }
    }

    /// The program and its version, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::V2026_2_19 => "openclaw 2026.2.19",
            Self::V2026_3_2 => "openclaw 2026.3.2",
            Self::V2026_9 => "openclaw 2026.9",
            pi => pi::range(pi).map_or("pi", |range| range.name),
        }
    }

    /// What differs between versions, as it is in this one.
    pub fn rules(self) -> &'static Rules {
        match self {
            Self::V2026_2_19 => &V2026_2_19,
            Self::V2026_3_2 => &V2026_3_2,
            Self::V2026_9 => &V2026_9,
            pi => pi::range(pi).map_or(&PI_0_55, |range| range.rules),
        }
    }

    /// Whether it is the agent runtime's own, without a gateway.
    pub fn is_pi(self) -> bool {
        pi::range(self).is_some()
    }

    /// The ruleset of a release of the runtime alone: that of the nearest range that is not newer.
    pub fn of_pi(release: PiRelease) -> Self {
        pi::ruleset_of(release)
    }

    /// The ruleset after this one among [`Self::ALL`], the first after the last; one that is not among them goes on to its
    /// next range.
    #[must_use]
    pub fn next(self) -> Self {
        let Some(at) = Self::ALL.iter().position(|known| *known == self) else {
            return Self::known().skip_while(|known| *known != self).nth(1).unwrap_or(Self::Pi1_5);
        };
        Self::ALL[(at + 1) % Self::ALL.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ruleset_is_found_by_its_own_id() {
        for ruleset in Ruleset::known() {
            let version: Version = ruleset.id().parse().unwrap();
            assert_eq!((version.ruleset(), version.note()), (ruleset, None));
        }
    }

    #[test]
    fn going_on_from_one_to_the_next_meets_all_and_comes_back() {
        let mut seen = vec![Ruleset::default()];
        while seen[0] != seen[seen.len() - 1].next() {
            seen.push(seen[seen.len() - 1].next());
        }
        seen.sort_unstable();
        let mut all = Ruleset::ALL.to_vec();
        all.sort_unstable();
        assert_eq!(seen, all);
        assert_eq!([Ruleset::Pi0_86.next(), Ruleset::Pi1_5_0.next()], [Ruleset::Pi0_87, Ruleset::Pi1_5]);
    }
}
