//! The known gateway and pi releases, grouped by equal behaviour: which ruleset applies to a store, and everything
//! that differs between rulesets (releases R1–R3; pruning 8, compaction 12).
//!
//! The rules are data rather than code, because one store can hold sessions of several releases and a person may want
//! to see the effect of another release. For example, `"2026.4.20".parse::<Version>()` maps to [`Ruleset::V2026_4_15`],
//! whose rules hold up to 2026.4.23.

mod choice;
mod gateways;
mod pi;
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

use releases::{GatewayRange, RANGES};

/// The oldest and the newest ruleset of pi.
const PI: [Ruleset; 2] = [Ruleset::Pi0_55, Ruleset::Pi1_5];

impl Ruleset {
    /// The gateway's rulesets, oldest first, then the oldest and the newest of pi.
    pub const ALL: [Self; RANGES.len() + PI.len()] = {
        let mut all = [Self::Pi0_55; RANGES.len() + PI.len()];
        let mut at = 0;
        while at < all.len() {
            all[at] = if at < RANGES.len() { RANGES[at].ruleset } else { PI[at - RANGES.len()] };
            at += 1;
        }
        all
    };

    /// Every ruleset: the gateway's, then all of pi, each oldest first.
    pub fn all_known() -> impl Iterator<Item = Self> {
        let gateways = RANGES.iter().map(|range| range.ruleset);
        gateways.chain(pi::RANGES.iter().map(|range| range.ruleset))
    }

    /// Returns the releases with known rules, for people: `OpenClaw 2026.1.24 to 2026.9.6 and pi 0.55 to 1.6.0`.
    pub fn known_releases() -> String {
        let oldest = RANGES.first().map_or("", |range| range.id);
        let newest = Self::NEWEST.releases().last().map_or("", |(release, _)| release);
        let of_pi = |ruleset: Self| ruleset.display_name().trim_start_matches("pi ").split('–');
        let [oldest_pi, newest_pi] =
            [of_pi(PI[0]).next(), of_pi(PI[1]).next_back()].map(Option::unwrap_or_default);
        format!("OpenClaw {oldest} to 2026.{newest} and pi {oldest_pi} to {newest_pi}")
    }

    /// The newest ruleset of the gateway.
    pub const NEWEST: Self = RANGES[RANGES.len() - 1].ruleset;

    /// The name in flags, files and JSON: the first release with these rules.
    pub fn id(self) -> &'static str {
        self.range().map_or_else(|| pi::range(self).map_or("pi", |range| range.id), |range| range.id)
    }

    /// The releases with these rules, for people: `2026.4.15–4.24`.
    pub fn release_span(self) -> &'static str {
        self.range().map_or(self.id(), |range| range.span)
    }

    /// The program and its releases, for people: `openclaw 2026.4.15–4.24`.
    pub fn display_name(self) -> &'static str {
        self.range().map_or_else(|| pi::range(self).map_or("pi", |range| range.name), |range| range.name)
    }

    pub fn rules(self) -> &'static Rules {
        let of_pi = || pi::range(self).map_or(&gateways::PI_0_55, |range| range.rules);
        self.range().map_or_else(of_pi, |range| range.rules)
    }

    /// Lists the releases with these rules, oldest first, each with the evidence for its rules.
    pub fn releases(self) -> impl Iterator<Item = (&'static str, ReleaseStatus)> {
        self.range().into_iter().flat_map(GatewayRange::all)
    }

    fn range(self) -> Option<&'static GatewayRange> {
        // The variants of pi come before those of the gateway.
        RANGES.get((self as usize).wrapping_sub(Self::V2026_1_24 as usize))
    }

    /// Whether these are the rules of pi without a gateway.
    pub fn is_pi(self) -> bool {
        self < Self::V2026_1_24
    }

    /// Returns the ruleset of a release of the gateway, given as year, month and day: that of the newest range that does
    /// not begin after it.
    pub fn for_gateway(release: [u32; 3]) -> Self {
        GatewayRange::for_release(release).ruleset
    }

    /// Returns the ruleset of a release of pi: that of the newest range that does not begin after it.
    pub fn for_pi(release: PiRelease) -> Self {
        pi::ruleset_of(release)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ruleset_is_found_by_its_id_and_matches_its_range() {
        for ruleset in Ruleset::all_known() {
            let version: Version = ruleset.id().parse().unwrap();
            assert_eq!((version.ruleset(), version.note()), (ruleset, None));
        }
        for range in &RANGES {
            assert_eq!(range.ruleset.id(), range.id);
            assert!(range.name.ends_with(range.span), "{}", range.name);
        }
    }
}
