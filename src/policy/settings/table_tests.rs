#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failing test stops there")]

use super::setting::ruleset_of;
use super::{SETTINGS, Source, config_keys, find_setting, nearest_setting};
use crate::gateway::ruleset::Ruleset;
use crate::policy::settings::SettingId;

#[test]
fn a_key_is_read_between_the_releases_that_brought_and_dropped_it() {
    let read = |path: &str, id: &str| {
        let key = config_keys().find(|key| key.path == path).unwrap();
        key.is_read(ruleset_of(id))
    };
    for (id, expected) in
        [("2026.2.19", false), ("2026.2.21", true), ("2026.7.35", true), ("2026.8.1", false)]
    {
        assert_eq!(read("compaction.reserveTokens", id), expected, "{id}");
    }
    assert!(
        !read("contextLimits.toolResultMaxChars", "2026.4.14")
            && read("contextLimits.toolResultMaxChars", "2026.4.21")
    );
    assert!(read("compaction.enabled", "2026.9.6") && !read("compaction.enabled", "2026.7.1"));
}

#[test]
fn a_removed_key_names_its_replacement_and_release() {
    let why = |path: &str, id: &str| {
        config_keys().find(|key| key.path == path).unwrap().unread_reason(ruleset_of(id))
    };
    assert_eq!(
        why("contextPruning.softTrimRatio", "2026.9.6").as_deref(),
        Some("removed in 2026.8.1, built in: 0.3")
    );
    assert_eq!(why("compaction.maxHistoryShare", "2026.8.2").as_deref(), Some("removed in 2026.8.1"));
    assert_eq!(why("compaction.reserveTokens", "2026.1.30").as_deref(), Some("added in 2026.2.21"));
    assert_eq!(why("contextPruning.ttl", "2026.9.6"), None);
}

#[test]
fn releases_of_the_table_begin_ranges() {
    for key in config_keys() {
        for release in key.since.into_iter().chain(key.removed.map(|(release, _)| release)) {
            let id = ruleset_of(release).id();
            // A key introduced inside a range counts as read in all of it.
            assert!(id == release || release == "2026.3.8", "{} {release}", key.path);
        }
    }
}

#[test]
fn the_rules_of_every_release_read_the_keys_that_the_table_says() {
    for ruleset in Ruleset::ALL.into_iter().filter(|ruleset| !ruleset.is_pi()) {
        let rules = ruleset.rules();
        for setting in &SETTINGS {
            let read = match setting.source {
                Source::Pruning => rules.prune_keys.reads(setting.name()),
                Source::Compaction => rules.reserve.reads(setting.name()),
                Source::ResultChars => rules.result_limit.is_configured(),
                Source::MidTurn => rules.mid_turn_check,
                Source::HistoryLimit
                | Source::BuiltIn
                | Source::Client
                | Source::Preview
                | Source::Session(_) => continue,
            };
            let config = setting.config.expect("a key of the configuration");
            assert_eq!(config.is_read(ruleset), read, "{} {}", setting.key, ruleset.id());
            assert_eq!(config.path, setting.key);
        }
    }
}

#[test]
fn a_mistyped_key_suggests_the_nearest_and_nonsense_suggests_none() {
    let nearest = |typed| nearest_setting(typed).map(|setting| setting.key);
    assert_eq!(nearest("contextPruning.softTrim.maxChar"), Some("contextPruning.softTrim.maxChars"));
    assert_eq!(nearest("keepLastAssistant"), Some("contextPruning.keepLastAssistants"));
    assert_eq!(nearest("reserveTokens"), Some("compaction.reserveTokens"));
    assert_eq!(nearest("contexttokens"), Some("contextTokens"));
    assert_eq!(nearest("zzz"), None);
}

#[test]
fn every_setting_is_found_by_its_key_and_described_in_short_sentences() {
    for setting in &SETTINGS {
        assert_eq!(find_setting(setting.key).map(|found| found.id), Some(setting.id));
        let said = setting.description;
        assert!(said.ends_with('.') && said.split(". ").count() <= 2, "{said}");
        for sentence in said.split(". ") {
            assert!(sentence.starts_with(char::is_uppercase) && sentence.len() <= 100, "{sentence}");
        }
    }
}

#[test]
fn the_idle_time_of_pruning_is_set_against_the_cache_lifetime_of_the_provider() {
    let said = SettingId::PruneTtl.spec().description;
    assert!(said.contains("the provider's own cache lifetime (5m or 1h)"), "{said}");
}
