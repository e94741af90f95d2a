//! One session in the session list.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::format::{format_percent, whole_percent};
use crate::gateway::ruleset::Ruleset;
use crate::ids::SessionKey;
use crate::replay::Cost;
use crate::session::overflow::CallState;
use crate::units::{Bytes, Moment};

/// The origin of a token count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CountSource {
    /// By the gateway's rule, from chars.
    #[serde(rename = "est")]
    #[default]
    Estimated,
    /// By the gateway's rule, scaled to the provider's counts in this session.
    Calibrated,
    /// Reported by the provider.
    Measured,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TokenCount {
    #[serde(rename = "value")]
    pub tokens: u64,
    pub source: CountSource,
}

impl TokenCount {
    pub fn is_estimate(&self) -> bool {
        self.source != CountSource::Measured
    }
}

/// A mark on a session in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mark {
    /// A process holds its lock, so a run is in progress (store H11).
    Running,
    /// At least one of its calls overflowed.
    Overflow,
    /// Its newest call was refused for another reason than its size.
    Refused,
    /// Its newest call failed for a reason that passes, such as a rate limit.
    Failing,
    /// No session record names it (store G1).
    Orphan,
    /// Renamed by a reset (store F2).
    Reset,
    /// Renamed by a deletion.
    Deleted,
    /// A backup of a manual compaction.
    Backup,
    /// Its session record has no transcript yet (store E7).
    Missing,
    /// Its session record names a file of another machine.
    Foreign,
    /// A symbolic link, which clawscope never writes to.
    Symlink,
    ReadOnly,
    /// Lines were skipped, or the runtime cannot open it.
    Damaged,
    /// A commit to it was interrupted.
    Unfinished,
    /// A transcript that its key no longer points to (sqlite F10).
    Earlier,
    /// Archived by its database row.
    Archived,
    /// In a cold archive of a database (sqlite E4).
    Cold,
    /// A file whose entries were imported into a database.
    Imported,
    /// A file next to a database that was not imported.
    NotImported,
    /// Nothing names the window of its model: the gateway's default is assumed (compaction 7.3).
    AssumedWindow,
}

impl Mark {
    pub const ALL: [Self; 20] = [
        Self::Running,
        Self::Overflow,
        Self::Refused,
        Self::Failing,
        Self::Orphan,
        Self::Reset,
        Self::Deleted,
        Self::Backup,
        Self::Missing,
        Self::Foreign,
        Self::Symlink,
        Self::ReadOnly,
        Self::Damaged,
        Self::Unfinished,
        Self::Earlier,
        Self::Archived,
        Self::Cold,
        Self::Imported,
        Self::NotImported,
        Self::AssumedWindow,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Overflow => "overflow",
            Self::Refused => "refused",
            Self::Failing => "failing",
            Self::Orphan => "orphan",
            Self::Reset => "reset",
            Self::Deleted => "deleted",
            Self::Backup => "backup",
            Self::Missing => "missing",
            Self::Foreign => "foreign",
            Self::Symlink => "symlink",
            Self::ReadOnly => "read-only",
            Self::Damaged => "damaged",
            Self::Unfinished => "unfinished",
            Self::Earlier => "earlier",
            Self::Archived => "archived",
            Self::Cold => "cold",
            Self::Imported => "imported",
            Self::NotImported => "not-imported",
            Self::AssumedWindow => "window-assumed",
        }
    }

    /// Whether the mark means that the transcript is set aside.
    pub fn is_archive(self) -> bool {
        matches!(
            self,
            Self::Reset | Self::Deleted | Self::Backup | Self::Earlier | Self::Archived | Self::Imported
        )
    }
}

/// Usage of a whole transcript, as the provider counted it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct ItemUsage {
    pub calls: u64,
    /// Input, cache and output tokens of all calls together.
    pub tokens: u64,
    #[serde(flatten)]
    pub cost: Cost,
}

impl ItemUsage {
    #[must_use]
    pub fn combined_with(self, other: Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            tokens: self.tokens.saturating_add(other.tokens),
            cost: self.cost.combined_with(other.cost),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct SessionItem {
    /// The routing key; synthetic for a transcript without a session record.
    pub key: SessionKey,
    pub agent: String,
    /// The kind of session: main, direct, group, cron, … (store D5).
    pub kind: String,
    /// The chat program, such as `telegram`, if record or key name it.
    pub channel: Option<String>,
    /// The session that started this one, if record or key name it. It may be missing from the store.
    pub parent: Option<SessionKey>,
    pub title: String,
    pub id: String,
    /// `None` when the session has no transcript.
    pub path: Option<PathBuf>,
    /// Provider of the last run, else the configured one.
    pub provider: String,
    pub model: String,
    /// The store's ruleset, until the transcript is read and shows another.
    pub ruleset: Ruleset,
    /// The model's window in tokens.
    pub window: u64,
    /// The window of a run in tokens: `contextTokens` may lower it.
    pub run_window: u64,
    /// Tokens of the next prompt, if known.
    pub tokens: Option<TokenCount>,
    /// Number of entries; `None` until the transcript is read.
    pub entries: Option<u64>,
    /// Compactions: the session record's count, else the number in the transcript.
    pub compactions: Option<u64>,
    /// Calls that overflowed; `None` until the transcript is read.
    pub overflows: Option<u64>,
    /// How the newest calls ended; `None` until the transcript is read.
    pub state: Option<CallState>,
    /// Usage of every call on every branch; `None` until the transcript is read.
    pub usage: Option<ItemUsage>,
    /// Last change.
    pub updated_ms: Option<Moment>,
    /// Bytes of the transcript.
    pub bytes: Bytes,
    /// Sorted and without duplicates.
    pub marks: Vec<Mark>,
}

impl SessionItem {
    /// Returns the title as a person would say it: channel and peer, `telegram 8812`.
    pub fn display_name(&self) -> Cow<'_, str> {
        let is_channel = |text: &str| {
            let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
            text.starts_with(|first: char| first.is_ascii_lowercase()) && text.bytes().all(plain)
        };
        match self.title.split_once(':') {
            Some((channel, rest))
                if is_channel(channel) && !rest.starts_with(['/', ' ']) && !rest.is_empty() =>
            {
                Cow::Owned(format!("{channel} {rest}"))
            }
            _ => Cow::Borrowed(&self.title),
        }
    }

    /// Returns the key without the agent, as the list shows it.
    pub fn short_key(&self) -> &str {
        let rest = self.key.0.strip_prefix("agent:").and_then(|rest| rest.strip_prefix(self.agent.as_str()));
        rest.and_then(|rest| rest.strip_prefix(':')).unwrap_or(&self.key.0)
    }

    /// Whether it is archived or an orphan, so that lists show it after the others.
    pub fn is_aside(&self) -> bool {
        self.has(Mark::Orphan) || self.marks.iter().any(|mark| mark.is_archive())
    }

    /// Sorts the sessions of an agent newest first, with archived ones and orphans last.
    pub fn sort_key(&self) -> ((bool, bool), Reverse<Option<i64>>, &SessionKey) {
        let aside = (self.marks.iter().any(|mark| mark.is_archive()), self.has(Mark::Orphan));
        (aside, Reverse(self.updated_ms.map(Moment::whole)), &self.key)
    }

    pub fn has(&self, mark: Mark) -> bool {
        self.marks.contains(&mark)
    }

    /// Adds or removes a mark and keeps the marks sorted.
    pub fn set_mark(&mut self, mark: Mark, on: bool) {
        match (self.marks.binary_search(&mark), on) {
            (Err(at), true) => self.marks.insert(at, mark),
            (Ok(at), false) => drop(self.marks.remove(at)),
            _ => {}
        }
    }

    /// Returns the share of the window that the next prompt takes; 1 is a full window.
    pub fn fullness(&self) -> Option<f64> {
        let tokens = self.tokens?.tokens;
        (self.window > 0).then(|| tokens as f64 / self.window as f64)
    }

    /// Returns the cost of all calls in USD, if known.
    pub fn cost_usd(&self) -> Option<f64> {
        self.usage?.cost.total()
    }

    /// Returns the share of the window that the next prompt takes, in whole percent.
    pub fn window_percent(&self) -> Option<u64> {
        let tokens = self.tokens?.tokens;
        whole_percent(tokens, self.window)
    }

    /// Returns that share as text: `41%`, `<1%`.
    pub fn window_share(&self) -> Option<String> {
        let tokens = self.tokens?.tokens;
        (self.window > 0).then(|| format_percent(tokens, self.window))
    }
}

/// Returns the sessions whose key or title contains every word of `text` in any case, the newest first. Sessions in use
/// win over those that are set aside.
pub fn match_part<'a>(items: &'a [SessionItem], text: &str) -> Vec<&'a SessionItem> {
    let text = text.to_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    let contains = |item: &&SessionItem| {
        let names = [&item.key.0, &item.title, &item.id].map(|name| name.to_lowercase());
        words.iter().all(|word| names.iter().any(|name| name.contains(word)))
    };
    let mut found: Vec<&SessionItem> =
        if words.is_empty() { Vec::new() } else { items.iter().filter(contains).collect() };
    found.sort_by_cached_key(|item| {
        let (aside, updated, key) = item.sort_key();
        (aside, updated, key.clone())
    });
    let best = found.first().map(|item| item.sort_key().0);
    found.retain(|item| Some(item.sort_key().0) == best);
    found
}

#[cfg(test)]
mod tests {
    use crate::session::testing;

    #[test]
    fn a_title_reads_as_channel_and_peer() {
        let name = |title: &str| {
            let mut item = testing::loaded_session("", 1.0).item;
            item.title = title.to_owned();
            item.display_name().into_owned()
        };
        assert_eq!(["telegram:8812", "slack:#infra"].map(name), ["telegram 8812", "slack #infra"]);
        let as_they_are =
            ["Hook: mail", "https://example.org", "飞书 周报助手", "Mei id:main", "cron:", "main"];
        assert_eq!(as_they_are.map(name), as_they_are);
    }
}

#[cfg(test)]
mod name_match_tests {
    use super::*;
    use crate::ids::SessionKey;
    use crate::session::{Mark, testing};
    use crate::units::Moment;

    fn item(key: &str, title: &str, updated_ms: Moment) -> SessionItem {
        let item = testing::loaded_session("", 1.0).item;
        let marks = Vec::new();
        let key = SessionKey(key.to_owned());
        SessionItem { key, title: title.to_owned(), updated_ms: Some(updated_ms), marks, ..item }
    }

    fn found(items: &[SessionItem], text: &str) -> Vec<String> {
        match_part(items, text).into_iter().map(|item| item.key.0.clone()).collect()
    }

    #[test]
    fn every_word_is_in_the_key_or_the_title_and_the_newest_is_first() {
        let items = [
            item("agent:main:telegram:direct:8812", "telegram:8812", Moment(1.0)),
            item("agent:main:telegram:direct:9020", "Build FAILS", Moment(2.0)),
        ];
        assert_eq!(found(&items, "8812"), ["agent:main:telegram:direct:8812"]);
        assert_eq!(found(&items, "Telegram build"), ["agent:main:telegram:direct:9020"]);
        assert_eq!(found(&items, "telegram").first().unwrap(), "agent:main:telegram:direct:9020");
        assert_eq!(found(&items, "telegram nobody"), [""; 0]);
        assert_eq!(found(&items, "  "), [""; 0]);
    }

    #[test]
    fn a_session_in_use_wins_over_its_archive() {
        let mut items =
            [item("agent:main:x", "x", Moment(1.0)), item("x.jsonl.reset.2026", "x", Moment(2.0))];
        items[1].set_mark(Mark::Reset, true);
        assert_eq!(found(&items, "x"), ["agent:main:x"]);
        assert_eq!(found(&items, "reset"), ["x.jsonl.reset.2026"]);
    }
}
