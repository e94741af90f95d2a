//! Every published release of the gateway, and the range of releases with the same rules that it belongs to
//! (releases R1, R3).

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
    /// Releases without their `2026.`, oldest first. A `*` marks a release whose package was checked; the others are
    /// assumed to follow their neighbours.
    pub(super) releases: &'static str,
}

/// Every range, oldest first.
pub(super) const RANGES: [GatewayRange; 26] = [
    GatewayRange {
        ruleset: Ruleset::V2026_1_24,
        rules: &g::V2026_1_24,
        first: [2026, 1, 24],
        id: "2026.1.24",
        span: "2026.1.24",
        name: "clawdbot 2026.1.24",
        releases: "1.24* 1.24-3",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_1_29,
        rules: &g::V2026_1_29,
        first: [2026, 1, 29],
        id: "2026.1.29",
        span: "2026.1.29–1.30",
        name: "openclaw 2026.1.29–1.30",
        releases: "1.29* 1.30*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_2_1,
        rules: &g::V2026_2_1,
        first: [2026, 2, 1],
        id: "2026.2.1",
        span: "2026.2.1–2.9",
        name: "openclaw 2026.2.1–2.9",
        releases: "2.1* 2.2* 2.2-3 2.3 2.3-1 2.6-3* 2.9",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_2_12,
        rules: &g::V2026_2_12,
        first: [2026, 2, 12],
        id: "2026.2.12",
        span: "2026.2.12–2.17",
        name: "openclaw 2026.2.12–2.17",
        releases: "2.12* 2.17",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_2_19,
        rules: &g::V2026_2_19,
        first: [2026, 2, 19],
        id: "2026.2.19",
        span: "2026.2.19",
        name: "openclaw 2026.2.19",
        releases: "2.19*",
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
        span: "2026.2.22–3.1",
        name: "openclaw 2026.2.22–3.1",
        releases: "2.22* 2.22-1 2.23 2.24 2.25 2.26 3.1",
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
        span: "2026.3.7–3.8",
        name: "openclaw 2026.3.7–3.8",
        releases: "3.7* 3.8*",
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
        span: "2026.3.22–3.28",
        name: "openclaw 2026.3.22–3.28",
        releases: "3.22* 3.23 3.23-1 3.23-2 3.24 3.28*",
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
        releases: "4.1* 4.2",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_4_5,
        rules: &g::V2026_4_5,
        first: [2026, 4, 5],
        id: "2026.4.5",
        span: "2026.4.5–4.7",
        name: "openclaw 2026.4.5–4.7",
        releases: "4.5* 4.7",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_4_8,
        rules: &g::V2026_4_8,
        first: [2026, 4, 8],
        id: "2026.4.8",
        span: "2026.4.8–4.12",
        name: "openclaw 2026.4.8–4.12",
        releases: "4.8* 4.9 4.10 4.11* 4.12",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_4_14,
        rules: &g::V2026_4_14,
        first: [2026, 4, 14],
        id: "2026.4.14",
        span: "2026.4.14",
        name: "openclaw 2026.4.14",
        releases: "4.14*",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_4_15,
        rules: &g::V2026_4_15,
        first: [2026, 4, 15],
        id: "2026.4.15",
        span: "2026.4.15–4.24",
        name: "openclaw 2026.4.15–4.24",
        releases: "4.15* 4.20 4.21* 4.22 4.23 4.24",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_4_25,
        rules: &g::V2026_4_25,
        first: [2026, 4, 25],
        id: "2026.4.25",
        span: "2026.4.25–4.29",
        name: "openclaw 2026.4.25–4.29",
        releases: "4.25* 4.26 4.27 4.29",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_5_2,
        rules: &g::V2026_5_2,
        first: [2026, 5, 2],
        id: "2026.5.2",
        span: "2026.5.2–5.12",
        name: "openclaw 2026.5.2–5.12",
        releases: "5.2* 5.3 5.3-1 5.4 5.5 5.6 5.7* 5.12",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_5_18,
        rules: &g::V2026_5_18,
        first: [2026, 5, 18],
        id: "2026.5.18",
        span: "2026.5.18–5.20",
        name: "openclaw 2026.5.18–5.20",
        releases: "5.18* 5.19 5.20",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_5_22,
        rules: &g::V2026_5_22,
        first: [2026, 5, 22],
        id: "2026.5.22",
        span: "2026.5.22–5.27",
        name: "openclaw 2026.5.22–5.27",
        releases: "5.22* 5.26 5.27",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_5_28,
        rules: &g::V2026_5_28,
        first: [2026, 5, 28],
        id: "2026.5.28",
        span: "2026.5.28–6.10",
        name: "openclaw 2026.5.28–6.10",
        releases: "5.28* 6.1* 6.5* 6.6 6.8* 6.9 6.10",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_6_11,
        rules: &g::V2026_6_11,
        first: [2026, 6, 11],
        id: "2026.6.11",
        span: "2026.6.11–6.35",
        name: "openclaw 2026.6.11–6.35",
        releases: "6.11* 6.33 6.34 6.35",
    },
    GatewayRange {
        ruleset: Ruleset::V2026_7_1,
        rules: &g::V2026_7_1,
        first: [2026, 7, 1],
        id: "2026.7.1",
        span: "2026.7.1–7.35",
        name: "openclaw 2026.7.1–7.35",
        releases: "7.1* 7.1-1 7.1-2 7.33 7.34 7.35*",
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
        span: "2026.9.2–9.6",
        name: "openclaw 2026.9.2–9.6",
        releases: "9.2* 9.3* 9.4* 9.5* 9.6*",
    },
];

/// The newest known release.
pub(super) const NEWEST: [u32; 3] = [2026, 9, 6];

/// The evidence for the rules of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReleaseStatus {
    /// The package of this release was checked.
    Verified,
    /// Published between two releases that were checked.
    Published,
    /// No package with this number was published.
    Unpublished,
}

impl GatewayRange {
    /// Returns the newest range that does not begin after the release; the oldest range for an older release.
    pub(super) fn for_release(release: [u32; 3]) -> &'static Self {
        RANGES.iter().rev().find(|range| range.first <= release).unwrap_or(&RANGES[0])
    }

    /// Returns the evidence for a release, named by its number after the year, such as `2.6-3`. A number without a
    /// suffix matches every release of its day, so `2.6` matches `2.6-3`.
    pub(super) fn release_status(&self, number: &str) -> ReleaseStatus {
        let plain = |release: &str| release.trim_end_matches('*').to_owned();
        let same = |release: &&str| {
            let name = plain(release);
            name == number || name.split('-').next() == Some(number)
        };
        let found: Vec<&str> = self.releases.split(' ').filter(same).collect();
        match found.as_slice() {
            [] => ReleaseStatus::Unpublished,
            found if found.iter().any(|release| release.ends_with('*')) => ReleaseStatus::Verified,
            _ => ReleaseStatus::Published,
        }
    }
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
            assert_eq!(format!("2026.{}", first.trim_end_matches('*')), range.id);
            assert!(first.ends_with('*'), "{first}");
            let last = releases.next_back().map(|last| last.trim_end_matches('*'));
            let last = last.map(|last| last.split('-').next().unwrap());
            let alone = last.is_none_or(|last| first.trim_end_matches('*') == last);
            let span = if alone { range.id.to_owned() } else { format!("{}–{}", range.id, last.unwrap()) };
            assert_eq!(range.span, span);
        }
    }

    #[test]
    fn all_93_releases_are_listed_once() {
        let all: Vec<&str> = RANGES.iter().flat_map(|range| range.releases.split(' ')).collect();
        assert_eq!(all.len(), 93);
        assert_eq!(all.iter().filter(|release| release.ends_with('*')).count(), 45);
    }
}
