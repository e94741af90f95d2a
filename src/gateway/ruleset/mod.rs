//! The known gateway and pi releases, grouped by equal behaviour: which ruleset applies to a store, and everything
//! that differs between rulesets (releases R1–R3; pruning 8, compaction 12).
//!
//! The rules are data rather than code (`assets/releases.toml`), because one store can hold sessions of several releases and a person may want
//! to see the effect of another release. For example, `"2026.4.20".parse::<Version>()` maps to [`Ruleset::V2026_4_15`],
//! whose rules hold up to 2026.4.23.

mod choice;
mod pi_release;
mod releases;
mod rules;
mod topics;
mod version;

pub use choice::{Era, PiMark, RulesetChoice};
pub use pi_release::{PiChange, PiRelease};
pub use releases::{ReleaseStatus, Ruleset};
pub use rules::*;
pub use topics::Topic;
pub use version::{UnknownVersion, Version};

impl Ruleset {
    /// The oldest and the newest ruleset of pi.
    const PI_ENDS: [Self; 2] = [Self::Pi0_55, Self::Pi1_5];

    /// The gateway's rulesets, oldest first, then the oldest and the newest of pi.
    pub const ALL: [Self; Self::GATEWAYS.len() + Self::PI_ENDS.len()] = {
        let mut all = [Self::Pi0_55; Self::GATEWAYS.len() + Self::PI_ENDS.len()];
        let (gateways, pi) = all.split_at_mut(Self::GATEWAYS.len());
        gateways.copy_from_slice(Self::GATEWAYS);
        pi.copy_from_slice(&Self::PI_ENDS);
        all
    };

    /// The newest ruleset of the gateway.
    pub const NEWEST: Self = Self::GATEWAYS[Self::GATEWAYS.len() - 1];

    /// Every ruleset: the gateway's, then all of pi, each oldest first.
    pub fn all_known() -> impl Iterator<Item = Self> {
        Self::GATEWAYS.iter().chain(Self::PI).copied()
    }

    /// Returns the releases with known rules, for people: `OpenClaw 2026.1.24 to 2026.9.6 and pi 0.55 to 1.6.0`.
    pub fn known_releases() -> String {
        let (oldest, newest) = (Self::GATEWAYS[0].id(), Self::newest_release());
        let oldest_pi = Self::PI_ENDS[0].id().trim_start_matches("pi-");
        let newest_pi = Self::PI_ENDS[1].display_name().rsplit([' ', '–']).next().unwrap_or_default();
        format!("OpenClaw {oldest} to {newest} and pi {oldest_pi} to {newest_pi}")
    }

    /// The newest known release of the gateway.
    fn newest_release() -> String {
        format!("2026.{}", Self::NEWEST.releases().last().map_or("", |(release, _)| release))
    }

    /// The name in flags, files and JSON: the first release with these rules.
    pub fn id(self) -> &'static str {
        &self.range().id
    }

    /// The releases with these rules, for people: `2026.4.15–4.24`.
    pub fn release_span(self) -> &'static str {
        let span = self.display_name().split_once(' ').filter(|_| !self.is_pi());
        span.map_or(self.id(), |(_, span)| span)
    }

    /// The program and its releases, for people: `openclaw 2026.4.15–4.24`.
    pub fn display_name(self) -> &'static str {
        &self.range().name
    }

    pub fn rules(self) -> &'static Rules {
        &self.range().rules
    }

    /// Lists the releases with these rules, oldest first, each with the evidence for its rules.
    pub fn releases(self) -> impl Iterator<Item = (&'static str, ReleaseStatus)> {
        self.range().all()
    }

    /// Whether these are the rules of pi without a gateway.
    pub fn is_pi(self) -> bool {
        self < Self::V2026_1_24
    }

    /// Returns the ruleset of a release of the gateway, given as year, month and day: that of the newest range that does
    /// not begin after it; the oldest for an older release.
    pub fn for_gateway(release: [u32; 3]) -> Self {
        newest_until(Self::GATEWAYS, release)
    }

    /// Returns the ruleset of a release of pi: that of the newest range that does not begin after it.
    pub fn for_pi(release: PiRelease) -> Self {
        newest_until(Self::PI, release.0)
    }
}

fn newest_until(rulesets: &[Ruleset], release: [u32; 3]) -> Ruleset {
    let newest = rulesets.iter().rfind(|ruleset| ruleset.range().first <= release);
    newest.copied().unwrap_or(rulesets[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ruleset_is_found_by_its_id() {
        for ruleset in Ruleset::all_known() {
            let version: Version = ruleset.id().parse().unwrap();
            assert_eq!((version.ruleset(), version.note()), (ruleset, None));
        }
    }

    #[test]
    fn releases_2_2_to_2_19_and_pi_do_not_prune() {
        let idle = Ruleset::ALL.into_iter().filter(|ruleset| !ruleset.rules().pruner.is_active());
        let idle: Vec<&str> = idle.map(Ruleset::id).collect();
        assert_eq!(idle, ["2026.2.2", "2026.2.6", "2026.2.9", "2026.2.12", "2026.2.17", "pi-0.55", "pi-1.5"]);
    }

    #[test]
    fn neighbours_differ() {
        assert_eq!(Ruleset::GATEWAYS.len(), 52);
        for pair in Ruleset::GATEWAYS.windows(2) {
            // The reference keeps its own name, though 2026.3.1 answers as it does.
            if pair[1] == Ruleset::default() {
                continue;
            }
            assert_ne!(pair[0].rules(), pair[1].rules(), "{} {}", pair[0].id(), pair[1].id());
        }
    }

    #[test]
    fn a_release_of_pi_gets_the_nearest_ruleset_that_is_not_newer() {
        for (release, ruleset) in [
            ([0, 30, 0], Ruleset::Pi0_55),
            ([0, 56, 2], Ruleset::Pi0_55),
            ([0, 75, 5], Ruleset::Pi0_63_1),
            ([0, 80, 9], Ruleset::Pi0_80_4),
            ([0, 84, 3], Ruleset::Pi0_81),
            ([1, 3, 0], Ruleset::Pi1_2),
            ([2, 0, 0], Ruleset::Pi1_5),
        ] {
            assert_eq!(Ruleset::for_pi(PiRelease(release)), ruleset);
        }
    }

    /// The rules of pi say it twice: as the release, whose changes the code asks for, and as rules.
    #[test]
    fn the_rules_of_pi_agree_with_the_changes_of_its_releases() {
        for rules in Ruleset::PI.iter().map(|ruleset| ruleset.rules()) {
            let has = |change| rules.pi.has(change);
            let compaction = match (has(PiChange::StartsAtKept), has(PiChange::Projects)) {
                (false, _) => Compaction::AfterPrevious,
                (_, false) => Compaction::EntriesFromKept,
                (_, true) => Compaction::Projected,
            };
            let compactions = if has(PiChange::RecoversOnce) { 1 } else { u32::MAX };
            assert_eq!((rules.read_mode, rules.compaction), (rules.pi.reading(), compaction));
            assert_eq!(rules.recovery.in_run.compactions, compactions);
            assert_eq!(rules.usage_above_zero, has(PiChange::NeedsUsage));
        }
    }
}
