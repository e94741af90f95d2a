//! The gateway releases whose rules are known: which rules hold for a store, and everything that differs between them
//! (releases R1–R3; pruning 8, compaction 12).

mod choice;
mod gateways;
mod keys;
mod pi;
mod releases;
mod rules;
mod topics;
mod version;

pub use choice::{Era, PiMark, RulesetChoice};
pub use keys::{ConfigKey, KEYS, unread_reason};
pub use pi::{PiChange, PiRelease};
pub use rules::*;
pub use topics::Topic;
pub use version::{UnknownVersion, Version};

use releases::{GatewayRange, RANGES};

/// A set of rules, named after the first release that has them.
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
    /// The oldest that is known, still called clawdbot.
    V2026_1_24,
    /// Its markers have the new name.
    V2026_1_29,
    /// Nothing is pruned: the pruner no longer reaches the session.
    V2026_2_1,
    /// One tool result has a limit.
    V2026_2_12,
    /// A guard watches over tool results; groups have turn limits.
    V2026_2_19,
    /// The pruner works again.
    V2026_2_21,
    /// A block that is cut keeps 2217 chars.
    V2026_2_22,
    /// The reference: everything here is checked against it.
    #[default]
    V2026_3_2,
    /// A cut text keeps its tail where that looks important.
    V2026_3_7,
    /// Results with images are pruned.
    V2026_3_11,
    /// The guard ends calls that are still too large.
    V2026_3_22,
    /// Chinese, Japanese and Korean weigh more to the pruner.
    V2026_3_31,
    /// So do signatures of thinking.
    V2026_4_1,
    /// One tool result has 40,000 chars at most; images stay for three turns.
    V2026_4_5,
    /// Prompts are checked before they are sent; the last touch is that of the same model.
    V2026_4_8,
    /// The reserve leaves room for a prompt there.
    V2026_4_14,
    /// One tool result has 16,000 chars at most, or what is configured.
    V2026_4_15,
    /// References to media go with images.
    V2026_4_25,
    /// Small windows are judged by a share.
    V2026_5_2,
    /// The guard no longer counts details.
    V2026_5_18,
    /// Prompts are checked by what a tokenizer would make of them.
    V2026_5_22,
    /// A runtime of its own, and limits by the size of the window.
    V2026_5_28,
    /// Results that were sent once keep their bytes.
    V2026_6_11,
    /// All results together may have half the window.
    V2026_7_1,
    /// Sessions in a database; what was pruned stays pruned while the gateway runs.
    V2026_8_1,
    /// What was pruned stays pruned for good.
    V2026_9_2,
}

/// The oldest and the newest ruleset of the runtime alone.
const PI: [Ruleset; 2] = [Ruleset::Pi0_55, Ruleset::Pi1_5];

impl Ruleset {
    /// The gateway's rulesets from the oldest on, then the oldest and the newest of the runtime alone.
    pub const ALL: [Self; RANGES.len() + PI.len()] = {
        let mut all = [Self::Pi0_55; RANGES.len() + PI.len()];
        let mut at = 0;
        while at < all.len() {
            all[at] = if at < RANGES.len() { RANGES[at].ruleset } else { PI[at - RANGES.len()] };
            at += 1;
        }
        all
    };

    /// Every ruleset with those of the runtime alone in between.
    pub fn all_known() -> impl Iterator<Item = Self> {
        let gateways = RANGES.iter().map(|range| range.ruleset);
        gateways.chain(pi::RANGES.iter().map(|range| range.ruleset))
    }

    /// The newest of the gateway.
    pub const NEWEST: Self = RANGES[RANGES.len() - 1].ruleset;

    /// The name that flags, files and JSON use: the first release that has these rules.
    pub fn id(self) -> &'static str {
        self.range().map_or_else(|| pi::range(self).map_or("pi", |range| range.id), |range| range.id)
    }

    /// The releases that have these rules, for people: `2026.4.15–4.24`.
    pub fn release_span(self) -> &'static str {
        self.range().map_or(self.id(), |range| range.span)
    }

    /// The program and its releases, for people: `openclaw 2026.4.15–4.24`.
    pub fn display_name(self) -> &'static str {
        self.range().map_or_else(|| pi::range(self).map_or("pi", |range| range.name), |range| range.name)
    }

    /// What differs between versions, as it is in this one.
    pub fn rules(self) -> &'static Rules {
        let of_pi = || pi::range(self).map_or(&gateways::PI_0_55, |range| range.rules);
        self.range().map_or_else(of_pi, |range| range.rules)
    }

    /// Every release that has these rules, oldest first, and whether its own program was asked.
    pub fn releases(self) -> impl Iterator<Item = (&'static str, bool)> {
        let releases = self.range().map(|range| range.releases.split(' '));
        releases.into_iter().flatten().map(|release| (release.trim_end_matches('*'), release.ends_with('*')))
    }

    fn range(self) -> Option<&'static GatewayRange> {
        // The runtime's own stand before the ranges.
        RANGES.get((self as usize).wrapping_sub(Self::V2026_1_24 as usize))
    }

    /// Whether it is the agent runtime's own, without a gateway.
    pub fn is_pi(self) -> bool {
        self < Self::V2026_1_24
    }

    /// The ruleset of a release of the runtime alone: that of the nearest range that is not newer.
    pub fn for_pi(release: PiRelease) -> Self {
        pi::ruleset_of(release)
    }

    /// The ruleset after this one among [`Self::ALL`], the first after the last; one that is not among them goes on to its
    /// next range.
    #[must_use]
    pub fn next(self) -> Self {
        let Some(at) = Self::ALL.iter().position(|known| *known == self) else {
            return Self::all_known().skip_while(|known| *known != self).nth(1).unwrap_or(Self::Pi1_5);
        };
        Self::ALL[(at + 1) % Self::ALL.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ruleset_is_found_by_its_own_id_and_stands_at_its_place() {
        for ruleset in Ruleset::all_known() {
            let version: Version = ruleset.id().parse().unwrap();
            assert_eq!((version.ruleset(), version.note()), (ruleset, None));
        }
        for range in &RANGES {
            assert_eq!(range.ruleset.id(), range.id);
            assert!(range.name.ends_with(range.span), "{}", range.name);
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
