//! Every published release of the gateway, and the range of releases with the same rules that it belongs to
//! (releases R1, R3).

use schemars::JsonSchema;
use serde::Serialize;

use super::gateways as g;
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

/// Builds the ranges from a line for each: program, ruleset, month and day of the first release, the last release after `–`, and
/// every release without its `2026.`, oldest first. A `*` marks a release whose package was asked itself.
macro_rules! ranges {
    ($($program:literal $ruleset:ident $month:literal $day:literal $to:literal $releases:literal)*) => {
        [$(GatewayRange {
            ruleset: Ruleset::$ruleset,
            rules: &g::$ruleset,
            first: [2026, $month, $day],
            id: concat!("2026.", $month, ".", $day),
            span: concat!("2026.", $month, ".", $day, $to),
            name: concat!($program, " 2026.", $month, ".", $day, $to),
            releases: $releases,
        }),*]
    };
}

/// Every range, oldest first.
pub(super) const RANGES: [GatewayRange; 52] = ranges! {
    "clawdbot" V2026_1_24 1 24 "" "1.24* 1.24-3*"
    "openclaw" V2026_1_29 1 29 "" "1.29*"
    "openclaw" V2026_1_30 1 30 "" "1.30*"
    "openclaw" V2026_2_1 2 1 "" "2.1*"
    "openclaw" V2026_2_2 2 2 "–2.3" "2.2* 2.2-3* 2.3* 2.3-1*"
    "openclaw" V2026_2_6 2 6 "" "2.6-3*"
    "openclaw" V2026_2_9 2 9 "" "2.9*"
    "openclaw" V2026_2_12 2 12 "" "2.12*"
    "openclaw" V2026_2_17 2 17 "–2.19" "2.17* 2.19*"
    "openclaw" V2026_2_21 2 21 "" "2.21*"
    "openclaw" V2026_2_22 2 22 "" "2.22* 2.22-1*"
    "openclaw" V2026_2_23 2 23 "–2.24" "2.23* 2.24*"
    "openclaw" V2026_2_25 2 25 "" "2.25*"
    "openclaw" V2026_2_26 2 26 "" "2.26*"
    "openclaw" V2026_3_1 3 1 "" "3.1*"
    "openclaw" V2026_3_2 3 2 "" "3.2*"
    "openclaw" V2026_3_7 3 7 "" "3.7*"
    "openclaw" V2026_3_8 3 8 "" "3.8*"
    "openclaw" V2026_3_11 3 11 "–3.13" "3.11* 3.13*"
    "openclaw" V2026_3_22 3 22 "–3.24" "3.22* 3.23* 3.23-1* 3.23-2* 3.24*"
    "openclaw" V2026_3_28 3 28 "" "3.28*"
    "openclaw" V2026_3_31 3 31 "" "3.31*"
    "openclaw" V2026_4_1 4 1 "–4.2" "4.1* 4.2*"
    "openclaw" V2026_4_5 4 5 "" "4.5*"
    "openclaw" V2026_4_7 4 7 "–4.9" "4.7* 4.8* 4.9*"
    "openclaw" V2026_4_10 4 10 "–4.11" "4.10* 4.11*"
    "openclaw" V2026_4_12 4 12 "–4.14" "4.12* 4.14*"
    "openclaw" V2026_4_15 4 15 "–4.23" "4.15* 4.20* 4.21* 4.22* 4.23*"
    "openclaw" V2026_4_24 4 24 "" "4.24*"
    "openclaw" V2026_4_25 4 25 "–4.26" "4.25* 4.26*"
    "openclaw" V2026_4_27 4 27 "" "4.27*"
    "openclaw" V2026_4_29 4 29 "" "4.29*"
    "openclaw" V2026_5_2 5 2 "–5.6" "5.2* 5.3* 5.3-1* 5.4* 5.5* 5.6*"
    "openclaw" V2026_5_7 5 7 "" "5.7*"
    "openclaw" V2026_5_12 5 12 "" "5.12*"
    "openclaw" V2026_5_18 5 18 "–5.20" "5.18* 5.19* 5.20*"
    "openclaw" V2026_5_22 5 22 "" "5.22*"
    "openclaw" V2026_5_26 5 26 "–5.27" "5.26* 5.27*"
    "openclaw" V2026_5_28 5 28 "" "5.28*"
    "openclaw" V2026_6_1 6 1 "–6.5" "6.1* 6.5*"
    "openclaw" V2026_6_6 6 6 "" "6.6*"
    "openclaw" V2026_6_8 6 8 "" "6.8*"
    "openclaw" V2026_6_9 6 9 "–6.10" "6.9* 6.10*"
    "openclaw" V2026_6_11 6 11 "" "6.11*"
    "openclaw" V2026_6_33 6 33 "–6.35" "6.33* 6.34* 6.35*"
    "openclaw" V2026_7_1 7 1 "" "7.1* 7.1-1* 7.1-2*"
    "openclaw" V2026_7_33 7 33 "–7.35" "7.33* 7.34* 7.35*"
    "openclaw" V2026_8_1 8 1 "–9.1" "8.1* 8.2* 9.1*"
    "openclaw" V2026_9_2 9 2 "" "9.2*"
    "openclaw" V2026_9_3 9 3 "–9.4" "9.3* 9.4*"
    "openclaw" V2026_9_5 9 5 "" "9.5*"
    "openclaw" V2026_9_6 9 6 "" "9.6*"
};

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

/// A set of rules, named after the first release that has them. The order of the variants is the order of releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Ruleset {
    /// The oldest known pi, an agent runtime without a gateway.
    Pi0_55,
    /// The summarizer sees truncated tool results. `pi_release.rs` lists the changes of this and every later release.
    Pi0_56_3,
    /// An empty session name clears the name.
    Pi0_59,
    /// A compaction starts at the first entry that the previous one kept.
    Pi0_63_1,
    /// Images of users count.
    Pi0_76,
    /// Files are read line by line.
    Pi0_78_1,
    /// A compaction needs something to summarise.
    Pi0_79_8,
    /// A usage of 0 anchors no estimate.
    Pi0_80_0,
    /// Compactions cut by the parts of the context.
    Pi0_80_4,
    /// The summarizer sees tool results that are plain text.
    Pi0_81,
    /// The window is checked between turns.
    Pi0_84_4,
    /// The prompt and the tools are messages.
    Pi0_86,
    /// Contexts can be edited.
    Pi0_87,
    /// Nested calls name files.
    Pi0_99,
    /// The summarizer sees no thinking.
    Pi1_2,
    /// Instructions reach the beginning of a split turn.
    Pi1_4,
    /// Summaries of branches respect edits.
    Pi1_5_0,
    /// The newest, from 1.5.1 on.
    Pi1_5,
    /// The oldest known gateway, still called clawdbot.
    V2026_1_24,
    /// Markers carry the new name.
    V2026_1_29,
    /// The runtime reads `exceeded model token limit` as an overflow.
    V2026_1_30,
    /// The lower of two windows counts.
    V2026_2_1,
    /// Nothing is pruned: the pruner no longer reaches the session.
    V2026_2_2,
    /// Results of failed calls are dropped.
    V2026_2_6,
    /// A single tool result has a limit.
    V2026_2_9,
    /// Rate limits are checked before overflows.
    V2026_2_12,
    /// A guard limits tool results; groups have turn limits.
    V2026_2_17,
    /// The pruner works again.
    V2026_2_21,
    /// A truncated block keeps 2217 chars.
    V2026_2_22,
    /// A ttl may have several parts; more providers are pruned.
    V2026_2_23,
    /// A text about cooling down is a rate limit.
    V2026_2_25,
    /// Images that the model has answered become a text.
    V2026_2_26,
    /// The rules of the reference.
    V2026_3_1,
    /// The reference: the version that every rule is checked against.
    #[default]
    V2026_3_2,
    /// A truncated text keeps its tail if the tail looks important.
    V2026_3_7,
    /// The runtime compacts once in a run.
    V2026_3_8,
    /// Results with images are pruned.
    V2026_3_11,
    /// The guard ends calls that are still too large.
    V2026_3_22,
    /// Providers are known by their aliases.
    V2026_3_28,
    /// The pruner counts Chinese, Japanese and Korean characters more than once.
    V2026_3_31,
    /// The pruner counts the signatures of thinking.
    V2026_4_1,
    /// A tool result has at most 40,000 chars; images stay for three turns.
    V2026_4_5,
    /// Prompts are checked before they are sent; only a marker of the same model is the last touch.
    V2026_4_7,
    /// More texts of llama.cpp are overflows.
    V2026_4_10,
    /// The reserve of the check before a prompt leaves room for a prompt.
    V2026_4_12,
    /// A tool result has at most 16,000 chars, or the configured number.
    V2026_4_15,
    /// Failed answers with calls are not sent.
    V2026_4_24,
    /// Media references are removed with the images.
    V2026_4_25,
    /// Chinese texts are rate limits.
    V2026_4_27,
    /// A share of the window decides whether a window is too small.
    V2026_4_29,
    /// The check before a chat turn reads the usage.
    V2026_5_2,
    /// It adds what follows the usage.
    V2026_5_7,
    /// Answers without calls no longer end the search for a result.
    V2026_5_12,
    /// The guard no longer counts details.
    V2026_5_18,
    /// The check before a prompt approximates a tokenizer.
    V2026_5_22,
    /// The limit of a result depends on the size of the window.
    V2026_5_26,
    /// The gateway has its own runtime.
    V2026_5_28,
    /// Late results move up; ids may carry their provider.
    V2026_6_1,
    /// A compaction has three minutes.
    V2026_6_6,
    /// The check before a chat turn uses the window of the run.
    V2026_6_8,
    /// It adds the new message to the stored total.
    V2026_6_9,
    /// Results that were sent once keep their bytes.
    V2026_6_11,
    /// The check before a prompt counts results by the unit.
    V2026_6_33,
    /// All results together may take half the window.
    V2026_7_1,
    /// The pruner splits no surrogate pair.
    V2026_7_33,
    /// Sessions are in a database; pruned results stay pruned while the gateway runs.
    V2026_8_1,
    /// Pruned results stay pruned for good.
    V2026_9_2,
    /// The reserve is at most a quarter of the window.
    V2026_9_3,
    /// The lower window of a configured model counts, and the tools.
    V2026_9_5,
    /// The newest: an estimate also counts what surrounds a message.
    V2026_9_6,
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
