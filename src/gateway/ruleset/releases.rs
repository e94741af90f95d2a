//! Every published release of the gateway, and the range of releases with the same rules that it belongs to
//! (releases R1, R3).

use schemars::JsonSchema;
use serde::Serialize;

use super::gateways as g;
use super::known::Ruleset;
use super::rules::Rules;

#[derive(Debug)]
pub(super) struct GatewayRange {
    pub(super) ruleset: Ruleset,
    pub(super) rules: &'static Rules,
    /// The first release: year, month, day.
    pub(super) first: [u32; 3],
    /// The name in flags, files and JSON.
    pub(super) id: &'static str,
    /// The first and the last release, for people.
    pub(super) span: &'static str,
    /// The program and these releases, for people.
    pub(super) name: &'static str,
    /// Releases without their `2026.`, oldest first. A `*` marks a release whose package was asked itself.
    pub(super) releases: &'static str,
}

/// Every range, oldest first.
pub(super) const RANGES: [GatewayRange; 52] = [
    GatewayRange {
        ruleset: Ruleset::V2026_1_24,
        rules: &g::V2026_1_24,
        first: [2026, 1, 24],
        id: "2026.1.24",
        span: "2026.1.24",
        name: "clawdbot 2026.1.24",
        releases: "1.24* 1.24-3*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_1_29,
        rules: &g::V2026_1_29,
        first: [2026, 1, 29],
        id: "2026.1.29",
        span: "2026.1.29",
        name: "openclaw 2026.1.29",
        releases: "1.29*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_1_30,
        rules: &g::V2026_1_30,
        first: [2026, 1, 30],
        id: "2026.1.30",
        span: "2026.1.30",
        name: "openclaw 2026.1.30",
        releases: "1.30*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_2_1,
        rules: &g::V2026_2_1,
        first: [2026, 2, 1],
        id: "2026.2.1",
        span: "2026.2.1",
        name: "openclaw 2026.2.1",
        releases: "2.1*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_2_2,
        rules: &g::V2026_2_2,
        first: [2026, 2, 2],
        id: "2026.2.2",
        span: "2026.2.2–2.3",
        name: "openclaw 2026.2.2–2.3",
        releases: "2.2* 2.2-3* 2.3* 2.3-1*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_2_6,
        rules: &g::V2026_2_6,
        first: [2026, 2, 6],
        id: "2026.2.6",
        span: "2026.2.6",
        name: "openclaw 2026.2.6",
        releases: "2.6-3*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_2_9,
        rules: &g::V2026_2_9,
        first: [2026, 2, 9],
        id: "2026.2.9",
        span: "2026.2.9",
        name: "openclaw 2026.2.9",
        releases: "2.9*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_2_12,
        rules: &g::V2026_2_12,
        first: [2026, 2, 12],
        id: "2026.2.12",
        span: "2026.2.12",
        name: "openclaw 2026.2.12",
        releases: "2.12*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_2_17,
        rules: &g::V2026_2_17,
        first: [2026, 2, 17],
        id: "2026.2.17",
        span: "2026.2.17–2.19",
        name: "openclaw 2026.2.17–2.19",
        releases: "2.17* 2.19*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_2_21,
        rules: &g::V2026_2_21,
        first: [2026, 2, 21],
        id: "2026.2.21",
        span: "2026.2.21",
        name: "openclaw 2026.2.21",
        releases: "2.21*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_2_22,
        rules: &g::V2026_2_22,
        first: [2026, 2, 22],
        id: "2026.2.22",
        span: "2026.2.22",
        name: "openclaw 2026.2.22",
        releases: "2.22* 2.22-1*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_2_23,
        rules: &g::V2026_2_23,
        first: [2026, 2, 23],
        id: "2026.2.23",
        span: "2026.2.23–2.24",
        name: "openclaw 2026.2.23–2.24",
        releases: "2.23* 2.24*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_2_25,
        rules: &g::V2026_2_25,
        first: [2026, 2, 25],
        id: "2026.2.25",
        span: "2026.2.25",
        name: "openclaw 2026.2.25",
        releases: "2.25*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_2_26,
        rules: &g::V2026_2_26,
        first: [2026, 2, 26],
        id: "2026.2.26",
        span: "2026.2.26",
        name: "openclaw 2026.2.26",
        releases: "2.26*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_3_1,
        rules: &g::V2026_3_1,
        first: [2026, 3, 1],
        id: "2026.3.1",
        span: "2026.3.1",
        name: "openclaw 2026.3.1",
        releases: "3.1*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_3_2,
        rules: &g::V2026_3_2,
        first: [2026, 3, 2],
        id: "2026.3.2",
        span: "2026.3.2",
        name: "openclaw 2026.3.2",
        releases: "3.2*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_3_7,
        rules: &g::V2026_3_7,
        first: [2026, 3, 7],
        id: "2026.3.7",
        span: "2026.3.7",
        name: "openclaw 2026.3.7",
        releases: "3.7*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_3_8,
        rules: &g::V2026_3_8,
        first: [2026, 3, 8],
        id: "2026.3.8",
        span: "2026.3.8",
        name: "openclaw 2026.3.8",
        releases: "3.8*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_3_11,
        rules: &g::V2026_3_11,
        first: [2026, 3, 11],
        id: "2026.3.11",
        span: "2026.3.11–3.13",
        name: "openclaw 2026.3.11–3.13",
        releases: "3.11* 3.13*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_3_22,
        rules: &g::V2026_3_22,
        first: [2026, 3, 22],
        id: "2026.3.22",
        span: "2026.3.22–3.24",
        name: "openclaw 2026.3.22–3.24",
        releases: "3.22* 3.23* 3.23-1* 3.23-2* 3.24*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_3_28,
        rules: &g::V2026_3_28,
        first: [2026, 3, 28],
        id: "2026.3.28",
        span: "2026.3.28",
        name: "openclaw 2026.3.28",
        releases: "3.28*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_3_31,
        rules: &g::V2026_3_31,
        first: [2026, 3, 31],
        id: "2026.3.31",
        span: "2026.3.31",
        name: "openclaw 2026.3.31",
        releases: "3.31*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_4_1,
        rules: &g::V2026_4_1,
        first: [2026, 4, 1],
        id: "2026.4.1",
        span: "2026.4.1–4.2",
        name: "openclaw 2026.4.1–4.2",
        releases: "4.1* 4.2*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_4_5,
        rules: &g::V2026_4_5,
        first: [2026, 4, 5],
        id: "2026.4.5",
        span: "2026.4.5",
        name: "openclaw 2026.4.5",
        releases: "4.5*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_4_7,
        rules: &g::V2026_4_7,
        first: [2026, 4, 7],
        id: "2026.4.7",
        span: "2026.4.7–4.9",
        name: "openclaw 2026.4.7–4.9",
        releases: "4.7* 4.8* 4.9*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_4_10,
        rules: &g::V2026_4_10,
        first: [2026, 4, 10],
        id: "2026.4.10",
        span: "2026.4.10–4.11",
        name: "openclaw 2026.4.10–4.11",
        releases: "4.10* 4.11*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_4_12,
        rules: &g::V2026_4_12,
        first: [2026, 4, 12],
        id: "2026.4.12",
        span: "2026.4.12–4.14",
        name: "openclaw 2026.4.12–4.14",
        releases: "4.12* 4.14*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_4_15,
        rules: &g::V2026_4_15,
        first: [2026, 4, 15],
        id: "2026.4.15",
        span: "2026.4.15–4.23",
        name: "openclaw 2026.4.15–4.23",
        releases: "4.15* 4.20* 4.21* 4.22* 4.23*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_4_24,
        rules: &g::V2026_4_24,
        first: [2026, 4, 24],
        id: "2026.4.24",
        span: "2026.4.24",
        name: "openclaw 2026.4.24",
        releases: "4.24*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_4_25,
        rules: &g::V2026_4_25,
        first: [2026, 4, 25],
        id: "2026.4.25",
        span: "2026.4.25–4.26",
        name: "openclaw 2026.4.25–4.26",
        releases: "4.25* 4.26*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_4_27,
        rules: &g::V2026_4_27,
        first: [2026, 4, 27],
        id: "2026.4.27",
        span: "2026.4.27",
        name: "openclaw 2026.4.27",
        releases: "4.27*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_4_29,
        rules: &g::V2026_4_29,
        first: [2026, 4, 29],
        id: "2026.4.29",
        span: "2026.4.29",
        name: "openclaw 2026.4.29",
        releases: "4.29*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_5_2,
        rules: &g::V2026_5_2,
        first: [2026, 5, 2],
        id: "2026.5.2",
        span: "2026.5.2–5.6",
        name: "openclaw 2026.5.2–5.6",
        releases: "5.2* 5.3* 5.3-1* 5.4* 5.5* 5.6*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_5_7,
        rules: &g::V2026_5_7,
        first: [2026, 5, 7],
        id: "2026.5.7",
        span: "2026.5.7",
        name: "openclaw 2026.5.7",
        releases: "5.7*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_5_12,
        rules: &g::V2026_5_12,
        first: [2026, 5, 12],
        id: "2026.5.12",
        span: "2026.5.12",
        name: "openclaw 2026.5.12",
        releases: "5.12*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_5_18,
        rules: &g::V2026_5_18,
        first: [2026, 5, 18],
        id: "2026.5.18",
        span: "2026.5.18–5.20",
        name: "openclaw 2026.5.18–5.20",
        releases: "5.18* 5.19* 5.20*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_5_22,
        rules: &g::V2026_5_22,
        first: [2026, 5, 22],
        id: "2026.5.22",
        span: "2026.5.22",
        name: "openclaw 2026.5.22",
        releases: "5.22*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_5_26,
        rules: &g::V2026_5_26,
        first: [2026, 5, 26],
        id: "2026.5.26",
        span: "2026.5.26–5.27",
        name: "openclaw 2026.5.26–5.27",
        releases: "5.26* 5.27*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_5_28,
        rules: &g::V2026_5_28,
        first: [2026, 5, 28],
        id: "2026.5.28",
        span: "2026.5.28",
        name: "openclaw 2026.5.28",
        releases: "5.28*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_6_1,
        rules: &g::V2026_6_1,
        first: [2026, 6, 1],
        id: "2026.6.1",
        span: "2026.6.1–6.5",
        name: "openclaw 2026.6.1–6.5",
        releases: "6.1* 6.5*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_6_6,
        rules: &g::V2026_6_6,
        first: [2026, 6, 6],
        id: "2026.6.6",
        span: "2026.6.6",
        name: "openclaw 2026.6.6",
        releases: "6.6*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_6_8,
        rules: &g::V2026_6_8,
        first: [2026, 6, 8],
        id: "2026.6.8",
        span: "2026.6.8",
        name: "openclaw 2026.6.8",
        releases: "6.8*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_6_9,
        rules: &g::V2026_6_9,
        first: [2026, 6, 9],
        id: "2026.6.9",
        span: "2026.6.9–6.10",
        name: "openclaw 2026.6.9–6.10",
        releases: "6.9* 6.10*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_6_11,
        rules: &g::V2026_6_11,
        first: [2026, 6, 11],
        id: "2026.6.11",
        span: "2026.6.11",
        name: "openclaw 2026.6.11",
        releases: "6.11*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_6_33,
        rules: &g::V2026_6_33,
        first: [2026, 6, 33],
        id: "2026.6.33",
        span: "2026.6.33–6.35",
        name: "openclaw 2026.6.33–6.35",
        releases: "6.33* 6.34* 6.35*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_7_1,
        rules: &g::V2026_7_1,
        first: [2026, 7, 1],
        id: "2026.7.1",
        span: "2026.7.1",
        name: "openclaw 2026.7.1",
        releases: "7.1* 7.1-1* 7.1-2*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_7_33,
        rules: &g::V2026_7_33,
        first: [2026, 7, 33],
        id: "2026.7.33",
        span: "2026.7.33–7.35",
        name: "openclaw 2026.7.33–7.35",
        releases: "7.33* 7.34* 7.35*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_8_1,
        rules: &g::V2026_8_1,
        first: [2026, 8, 1],
        id: "2026.8.1",
        span: "2026.8.1–9.1",
        name: "openclaw 2026.8.1–9.1",
        releases: "8.1* 8.2* 9.1*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_9_2,
        rules: &g::V2026_9_2,
        first: [2026, 9, 2],
        id: "2026.9.2",
        span: "2026.9.2",
        name: "openclaw 2026.9.2",
        releases: "9.2*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_9_3,
        rules: &g::V2026_9_3,
        first: [2026, 9, 3],
        id: "2026.9.3",
        span: "2026.9.3–9.4",
        name: "openclaw 2026.9.3–9.4",
        releases: "9.3* 9.4*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_9_5,
        rules: &g::V2026_9_5,
        first: [2026, 9, 5],
        id: "2026.9.5",
        span: "2026.9.5",
        name: "openclaw 2026.9.5",
        releases: "9.5*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_9_6,
        rules: &g::V2026_9_6,
        first: [2026, 9, 6],
        id: "2026.9.6",
        span: "2026.9.6",
        name: "openclaw 2026.9.6",
        releases: "9.6*",
    },
];

/// The newest known release.
pub(super) const NEWEST: [u32; 3] = [2026, 9, 6];

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

impl GatewayRange {
    /// Returns the newest range that does not begin after the release; the oldest range for an older release.
    pub(super) fn for_release(release: [u32; 3]) -> &'static Self {
        RANGES.iter().rev().find(|range| range.first <= release).unwrap_or(&RANGES[0])
    }

    /// Lists the releases, oldest first, each with its evidence.
    pub(super) fn all(&self) -> impl Iterator<Item = (&'static str, ReleaseStatus)> {
        statuses(self.releases)
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
fn statuses(releases: &'static str) -> impl Iterator<Item = (&'static str, ReleaseStatus)> {
    let is_asked = |release: &str| release.ends_with('*');
    let count = releases.split(' ').count();
    let last = releases.split(' ').rev().position(is_asked).map(|from_end| count - from_end);
    releases.split(' ').enumerate().map(move |(at, release)| {
        let status = match last {
            _ if is_asked(release) => ReleaseStatus::Asked,
            Some(last) if at < last => ReleaseStatus::Between,
            _ => ReleaseStatus::NeverAsked,
        };
        (release.trim_end_matches('*'), status)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_in_order_and_begin_with_a_release_that_was_opened() {
        assert!(RANGES.windows(2).all(|pair| pair[0].first < pair[1].first));
        for range in &RANGES {
            let [year, month, day] = range.first;
            assert_eq!(format!("{year}.{month}.{day}"), range.id);
            let mut releases = range.releases.split(' ');
            let first = releases.next().unwrap();
            assert_eq!(format!("2026.{}", first.trim_end_matches('*').split('-').next().unwrap()), range.id);
            assert!(first.ends_with('*'), "{first}");
            let last = releases.next_back().map(|last| last.trim_end_matches('*'));
            let last = last.map(|last| last.split('-').next().unwrap());
            let alone = last.is_none_or(|last| range.id == format!("2026.{last}"));
            let span = if alone { range.id.to_owned() } else { format!("{}–{}", range.id, last.unwrap()) };
            assert_eq!(range.span, span);
        }
    }

    #[test]
    fn all_93_releases_are_listed_once_and_were_asked() {
        let all: Vec<&str> = RANGES.iter().flat_map(|range| range.releases.split(' ')).collect();
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
