//! The releases with the same rules, read from `assets/releases.toml`: one table for each range of releases (releases R1–R3).

use std::sync::LazyLock;

use anyhow::Context as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::rules::Rules;
use crate::gateway::models::numbers;

/// Releases with the same rules, as the file says them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RangeText {
    /// The name in flags, files and JSON.
    id: String,
    /// The program and its releases, for people.
    name: String,
    /// A gateway's releases without their `2026.`, oldest first. A `*` marks a release whose package was asked itself.
    #[serde(default)]
    releases: String,
    /// The id of the range from which the rules differ, if that is not the range above.
    base: Option<String>,
    /// Rules that differ from those of the base.
    #[serde(default)]
    rules: Table,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReleasesFile {
    release: Vec<RangeText>,
}

/// Releases with the same rules.
#[derive(Debug)]
pub(super) struct ReleaseRange {
    pub(super) id: String,
    pub(super) name: String,
    releases: String,
    /// The first release: year, month and day of a gateway; major, minor and patch of pi.
    pub(super) first: [u32; 3],
    pub(super) rules: Rules,
}

/// Every range in the order of [`Ruleset`]. A test checks that the file is read whole.
static RANGES: LazyLock<Vec<ReleaseRange>> =
    LazyLock::new(|| read(include_str!("../../../assets/releases.toml")).unwrap_or_default());

fn read(text: &str) -> anyhow::Result<Vec<ReleaseRange>> {
    let file: ReleasesFile = toml::from_str(text)?;
    let mut ranges: Vec<ReleaseRange> = Vec::with_capacity(file.release.len());
    let mut whole = Table::new();
    for RangeText { id, name, releases, base, rules: changes } in file.release {
        if let Some(base) = base {
            let base = ranges.iter().find(|range| range.id == base).context("a base that is not above")?;
            whole = Table::try_from(base.rules)?;
        }
        overlay(&mut whole, changes);
        let rules: Rules = whole.clone().try_into()?;
        let first = if id.starts_with("pi-") { rules.pi.0 } else { numbers(&id) };
        ranges.push(ReleaseRange { id, name, releases, first, rules });
    }
    Ok(ranges)
}

/// Replaces what a release changed. A table whose keys the old one has changes a part of it; any other is another variant.
fn overlay(rules: &mut Table, changes: Table) {
    for (key, change) in changes {
        match (rules.get_mut(&key), change) {
            (Some(Value::Table(old)), Value::Table(new)) if new.keys().all(|key| old.contains_key(key)) => {
                overlay(old, new);
            }
            (_, change) => drop(rules.insert(key, change)),
        }
    }
}

/// The evidence for the rules of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ReleaseStatus {
    /// The package of this release was asked.
    Asked,
    /// Published between two releases of the range that were asked and answered alike.
    Between,
    /// Published, and not asked; no asked release of the range follows it.
    NeverAsked,
    /// No package with this number was published.
    Unpublished,
}

impl ReleaseRange {
    /// Lists the releases, oldest first, each with its evidence.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, ReleaseStatus)> {
        statuses(&self.releases)
    }

    /// Returns the evidence for a release, named by its number after the year, such as `2.6-3`. A number without a
    /// suffix matches every release of its day, so `2.6` matches `2.6-3`.
    pub(super) fn release_status(&self, number: &str) -> ReleaseStatus {
        let is_same = |name: &str| name == number || name.split('-').next() == Some(number);
        let found = self.all().filter(|(name, _)| is_same(name)).map(|(_, status)| status);
        found.min().unwrap_or(ReleaseStatus::Unpublished)
    }
}

/// The evidence for each release of a list. One between two that were asked answers as they do, because a range holds
/// only releases that answered alike.
fn statuses(releases: &str) -> impl Iterator<Item = (&str, ReleaseStatus)> {
    let is_asked = |release: &str| release.ends_with('*');
    let count = releases.split_whitespace().count();
    let last = releases.split_whitespace().rev().position(is_asked).map(|from_end| count - from_end);
    releases.split_whitespace().enumerate().map(move |(at, release)| {
        let status = match last {
            _ if is_asked(release) => ReleaseStatus::Asked,
            Some(last) if at < last => ReleaseStatus::Between,
            _ => ReleaseStatus::NeverAsked,
        };
        (release.trim_end_matches('*'), status)
    })
}

/// Writes the enum and its lists from the names: those of pi, then those of the gateway.
macro_rules! rulesets {
    ($($pi:ident)*; $($(#[$default:meta])? $gateway:ident)*) => {
        /// A set of rules, named after the first release that has them, which `assets/releases.toml` describes. The
        /// order of the variants is the order of releases, and that of the file.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        pub enum Ruleset { $($pi,)* $($(#[$default])? $gateway,)* }

        impl Ruleset {
            pub(super) const PI: &[Self] = &[$(Self::$pi),*];
            pub(super) const GATEWAYS: &[Self] = &[$(Self::$gateway),*];
        }
    };
}

rulesets! {
    Pi0_55 Pi0_56_3 Pi0_59 Pi0_63_1 Pi0_76 Pi0_78_1 Pi0_79_8 Pi0_80_0 Pi0_80_4 Pi0_81 Pi0_84_4 Pi0_86 Pi0_87
    Pi0_99 Pi1_2 Pi1_4 Pi1_5_0 Pi1_5;
    V2026_1_24 V2026_1_29 V2026_1_30 V2026_2_1 V2026_2_2 V2026_2_6 V2026_2_9 V2026_2_12 V2026_2_17 V2026_2_21
    V2026_2_22 V2026_2_23 V2026_2_25 V2026_2_26 V2026_3_1 #[default] V2026_3_2 V2026_3_7 V2026_3_8 V2026_3_11
    V2026_3_22 V2026_3_28 V2026_3_31 V2026_4_1 V2026_4_5 V2026_4_7 V2026_4_10 V2026_4_12 V2026_4_15 V2026_4_24
    V2026_4_25 V2026_4_27 V2026_4_29 V2026_5_2 V2026_5_7 V2026_5_12 V2026_5_18 V2026_5_22 V2026_5_26 V2026_5_28
    V2026_6_1 V2026_6_6 V2026_6_8 V2026_6_9 V2026_6_11 V2026_6_33 V2026_7_1 V2026_7_33 V2026_8_1 V2026_9_2
    V2026_9_3 V2026_9_5 V2026_9_6
}

impl Ruleset {
    pub(super) fn range(self) -> &'static ReleaseRange {
        &RANGES[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = include_str!("../../../assets/releases.toml");

    #[test]
    fn every_range_loads_and_belongs_to_the_ruleset_of_its_name() {
        let ranges = read(TEXT).unwrap();
        let rulesets: Vec<String> =
            Ruleset::PI.iter().chain(Ruleset::GATEWAYS).map(|it| format!("{it:?}")).collect();
        let named: Vec<String> = ranges
            .iter()
            .map(|range| match range.id.strip_prefix("pi-") {
                Some(release) => format!("Pi{}", release.replace('.', "_")),
                None => format!("V{}", range.id.replace('.', "_")),
            })
            .collect();
        assert_eq!(named, rulesets);
    }

    #[test]
    fn a_release_says_only_what_it_changes() {
        let (file, ranges) = (toml::from_str::<ReleasesFile>(TEXT).unwrap(), read(TEXT).unwrap());
        for (at, range) in file.release.into_iter().enumerate().skip(1) {
            let base = range.base.map_or(at - 1, |base| ranges.iter().position(|it| it.id == base).unwrap());
            let base = Table::try_from(ranges[base].rules).unwrap();
            for (key, change) in range.rules {
                let mut changed = base.clone();
                overlay(&mut changed, Table::from_iter([(key.clone(), change)]));
                assert_ne!(changed, base, "{} {key}", range.id);
            }
        }
    }

    #[test]
    fn a_part_of_a_table_changes_alone_and_a_variant_replaces_another() {
        let mut rules: Table =
            toml::from_str("a = { x = 1, y = { z = 2 } }\nb = { One = { n = 1, m = 2 } }").unwrap();
        overlay(&mut rules, toml::from_str("a.y.z = 3\nb = { Two = { k = 1 } }").unwrap());
        assert_eq!(rules, toml::from_str("a = { x = 1, y = { z = 3 } }\nb = { Two = { k = 1 } }").unwrap());
        overlay(&mut rules, toml::from_str("a.x = 5\nb = 'None'").unwrap());
        assert_eq!(rules, toml::from_str("a = { x = 5, y = { z = 3 } }\nb = 'None'").unwrap());
    }

    #[test]
    fn a_misspelt_rule_is_an_error() {
        for (word, other) in
            [("guard =", "guards ="), ("accepts_malformed_texts", "accepts_texts"), ("stops", "stop")]
        {
            assert!(TEXT.contains(word) && read(&TEXT.replace(word, other)).is_err(), "{word}");
        }
    }

    #[test]
    fn ranges_are_in_order_and_begin_with_a_release_that_was_opened() {
        for rulesets in [Ruleset::PI, Ruleset::GATEWAYS] {
            assert!(rulesets.is_sorted_by_key(|ruleset| ruleset.range().first));
        }
        for range in Ruleset::GATEWAYS.iter().map(|ruleset| ruleset.range()) {
            let mut releases = range.releases.split(' ');
            let first = releases.next().unwrap();
            assert_eq!(format!("2026.{}", first.trim_end_matches('*').split('-').next().unwrap()), range.id);
            assert!(first.ends_with('*'), "{first}");
            let last = releases.next_back().map(|last| last.trim_end_matches('*'));
            let last = last.map(|last| last.split('-').next().unwrap());
            let alone = last.is_none_or(|last| range.id == format!("2026.{last}"));
            let span = if alone { range.id.clone() } else { format!("{}–{}", range.id, last.unwrap()) };
            assert_eq!(range.name.split_once(' ').unwrap().1, span);
        }
    }

    #[test]
    fn all_93_releases_are_listed_once_and_were_asked() {
        let ranges = Ruleset::GATEWAYS.iter().map(|ruleset| ruleset.range());
        let all: Vec<&str> = ranges.flat_map(|range| range.releases.split(' ')).collect();
        assert_eq!(all.len(), 93);
        assert_eq!(all.iter().filter(|release| release.ends_with('*')).count(), 93);
    }

    #[test]
    fn a_release_between_two_that_were_asked_differs_from_one_after_the_last() {
        use ReleaseStatus::{Asked, Between, NeverAsked};
        let found: Vec<ReleaseStatus> = statuses("1.1* 1.2 1.3* 1.4").map(|(_, status)| status).collect();
        assert_eq!(found, [Asked, Between, Asked, NeverAsked]);
    }
}
