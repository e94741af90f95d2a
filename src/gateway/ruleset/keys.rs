//! The keys of `contextPruning`, `compaction` and the limits beside them, with the releases that read each
//! (releases R95). clawscope warns about a key that the store's release ignores.

use super::{Ruleset, Version};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfigKey {
    /// The path below `agents.defaults`; one that begins with `channels` is below the root.
    pub path: &'static str,
    /// The first release that reads the key; `None` for the oldest known.
    pub since: Option<&'static str>,
    /// The release that dropped the key, and its replacement.
    pub removed: Option<(&'static str, &'static str)>,
}

const fn always(path: &'static str) -> ConfigKey {
    ConfigKey { path, since: None, removed: None }
}

const fn since(path: &'static str, since: &'static str) -> ConfigKey {
    ConfigKey { path, since: Some(since), removed: None }
}

/// The release that turned most settings into built-in values.
const BUILT_IN_SINCE: &str = "2026.8.1";

impl ConfigKey {
    const fn until(self, instead: &'static str) -> Self {
        Self { removed: Some((BUILT_IN_SINCE, instead)), ..self }
    }

    pub fn is_read(&self, ruleset: Ruleset) -> bool {
        let not_before = |release: &str| ruleset_of(release) <= ruleset;
        !ruleset.is_pi()
            && self.since.is_none_or(not_before)
            && !self.removed.is_some_and(|(gone, _)| not_before(gone))
    }
}

fn ruleset_of(release: &str) -> Ruleset {
    release.parse::<Version>().map_or(Ruleset::default(), |version| version.ruleset())
}

/// Every key, in the order of the configuration.
pub const KEYS: [ConfigKey; 47] = [
    always("contextPruning.mode"),
    always("contextPruning.ttl"),
    always("contextPruning.keepLastAssistants").until("built in: 3"),
    always("contextPruning.softTrimRatio").until("built in: 0.3"),
    always("contextPruning.hardClearRatio").until("built in: 0.5"),
    always("contextPruning.minPrunableToolChars").until("built in: 50,000"),
    always("contextPruning.softTrim.maxChars").until("built in: 4,000"),
    always("contextPruning.softTrim.headChars").until("built in: 1,500"),
    always("contextPruning.softTrim.tailChars").until("built in: 1,500"),
    always("contextPruning.hardClear.enabled"),
    always("contextPruning.hardClear.placeholder"),
    always("contextPruning.tools.allow"),
    always("contextPruning.tools.deny"),
    always("contextTokens").until("contextTokens of a model in models.providers"),
    since("contextLimits.toolResultMaxChars", "2026.4.15").until("built in: by the size of the window"),
    always("compaction.mode"),
    always("compaction.reserveTokensFloor").until("built in: 20,000"),
    since("compaction.reserveTokens", "2026.2.21").until("built in: 20,000"),
    since("compaction.keepRecentTokens", "2026.2.21"),
    since("compaction.maxHistoryShare", "2026.1.29").until("nothing"),
    since("compaction.identifierPolicy", "2026.3.2"),
    since("compaction.identifierInstructions", "2026.3.2").until("nothing"),
    since("compaction.recentTurnsPreserve", "2026.3.7"),
    since("compaction.qualityGuard.enabled", "2026.3.7"),
    since("compaction.qualityGuard.maxRetries", "2026.3.7"),
    since("compaction.postCompactionSections", "2026.3.7"),
    since("compaction.model", "2026.3.8"),
    since("compaction.customInstructions", "2026.3.11").until("nothing"),
    ConfigKey {
        path: "compaction.postIndexSync",
        since: Some("2026.3.11"),
        removed: Some(("2026.5.18", "nothing")),
    },
    since("compaction.timeoutSeconds", "2026.3.22"),
    since("compaction.notifyUser", "2026.4.5"),
    since("compaction.provider", "2026.4.8"),
    since("compaction.truncateAfterCompaction", "2026.4.25").until("nothing"),
    since("compaction.midTurnPrecheck.enabled", "2026.5.2"),
    since("compaction.maxActiveTranscriptBytes", "2026.5.2"),
    since("compaction.enabled", "2026.8.1"),
    since("compaction.thinkingLevel", "2026.8.1"),
    always("compaction.memoryFlush.enabled"),
    always("compaction.memoryFlush.softThresholdTokens"),
    since("compaction.memoryFlush.forceFlushTranscriptBytes", "2026.3.2"),
    since("compaction.memoryFlush.model", "2026.5.2"),
    always("compaction.memoryFlush.prompt").until("nothing"),
    always("compaction.memoryFlush.systemPrompt").until("nothing"),
    always("channels.*.dmHistoryLimit"),
    always("channels.*.dms.*.historyLimit"),
    since("channels.*.historyLimit", "2026.2.19"),
    since("channels.*.accounts.*.historyLimit", "2026.8.1"),
];

/// Explains why a release does not read a key: the release that dropped it and the replacement, or the release that
/// introduces it. Returns `None` for a key that the release reads, and for an unknown key.
pub fn unread_reason(ruleset: Ruleset, path: &str) -> Option<String> {
    let key = KEYS.iter().find(|key| key.path == path).filter(|key| !key.is_read(ruleset))?;
    match (key.removed, key.since) {
        (Some((release, instead)), _) if ruleset_of(release) <= ruleset => Some(if instead == "nothing" {
            format!("removed in {release}")
        } else {
            format!("removed in {release}, {instead}")
        }),
        (_, Some(release)) => Some(format!("added in {release}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_between_the_releases_that_brought_and_dropped_it() {
        let read = |path: &str, id: &str| {
            let key = KEYS.iter().find(|key| key.path == path).unwrap();
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
    fn what_replaced_a_key_is_named_with_the_release() {
        let why = |path: &str, id: &str| unread_reason(ruleset_of(id), path);
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
        for key in KEYS {
            for release in key.since.into_iter().chain(key.removed.map(|(release, _)| release)) {
                let id = ruleset_of(release).id();
                // A key introduced inside a range counts as read in all of it.
                assert!(id == release || release == "2026.3.8", "{} {release}", key.path);
            }
        }
    }
}
