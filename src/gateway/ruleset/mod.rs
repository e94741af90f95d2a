//! The gateway versions whose rules are known: which one holds for a store, and every number that differs
//! (pruning 8, compaction 12).

mod choice;
mod rules;
mod version;

pub use choice::{Chosen, Era};
pub use rules::*;
pub use version::{UnknownVersion, Version};

/// A set of rules, named after the version it was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Ruleset {
    /// The agent runtime alone, without a gateway.
    Pi0_55,
    /// The same since it edits contexts and keeps system messages: from 0.87 to today.
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
    /// Every ruleset, the gateway's from the oldest on.
    pub const ALL: [Self; 5] = [Self::V2026_2_19, Self::V2026_3_2, Self::V2026_9, Self::Pi0_55, Self::Pi1_5];

    /// The name that flags, files and JSON use.
    pub fn id(self) -> &'static str {
        match self {
            Self::Pi0_55 => "pi-0.55",
            Self::Pi1_5 => "pi-1.5",
            Self::V2026_2_19 => "2026.2.19",
            Self::V2026_3_2 => "2026.3.2",
            Self::V2026_9 => "2026.9",
        }
    }

    /// The program and its version, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pi0_55 => "pi 0.55.3",
            Self::Pi1_5 => "pi 1.5.2",
            Self::V2026_2_19 => "openclaw 2026.2.19",
            Self::V2026_3_2 => "openclaw 2026.3.2",
            Self::V2026_9 => "openclaw 2026.9",
        }
    }

    /// What differs between versions, as it is in this one.
    pub fn rules(self) -> &'static Rules {
        match self {
            Self::Pi0_55 => &PI_0_55,
            Self::Pi1_5 => &PI_1_5,
            Self::V2026_2_19 => &V2026_2_19,
            Self::V2026_3_2 => &V2026_3_2,
            Self::V2026_9 => &V2026_9,
        }
    }

    /// Whether it is the agent runtime's own, without a gateway.
    pub fn is_pi(self) -> bool {
        matches!(self, Self::Pi0_55 | Self::Pi1_5)
    }

    /// The ruleset after this one; the first after the last.
    #[must_use]
    pub fn next(self) -> Self {
        let at = Self::ALL.iter().position(|known| *known == self).unwrap_or(0);
        Self::ALL[(at + 1) % Self::ALL.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ruleset_is_found_by_its_own_id() {
        for ruleset in Ruleset::ALL {
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
    }
}
