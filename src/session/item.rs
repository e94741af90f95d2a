//! One line of the session list.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::path::PathBuf;

use crate::gateway::ruleset::Ruleset;
use crate::ids::SessionKey;

/// Where a count comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum CountSource {
    /// By rule, from chars.
    #[default]
    Estimated,
    /// By rule, scaled to the counts of this session.
    Calibrated,
    /// Reported by the provider.
    Measured,
}

impl CountSource {
    /// The word in JSON and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Estimated => "est",
            Self::Calibrated => "calibrated",
            Self::Measured => "measured",
        }
    }
}

/// A number of tokens and where it comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenCount {
    /// Tokens.
    pub tokens: u64,
    /// Estimated or measured.
    pub source: CountSource,
}

impl TokenCount {
    /// Whether it is an estimate.
    pub fn is_estimate(&self) -> bool {
        self.source != CountSource::Measured
    }
}

/// A mark a session carries in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mark {
    /// Someone holds its lock: a run is going on (store H11).
    Running,
    /// At least one of its calls did not fit.
    Overflow,
    /// No row names it (store G1).
    Orphan,
    /// Renamed by a reset (store F2).
    Reset,
    /// Renamed by a deletion.
    Deleted,
    /// A backup of a manual compaction.
    Backup,
    /// Its row has no transcript yet (store E7).
    Missing,
    /// Its row names a file of another machine.
    Foreign,
    /// A symbolic link: never written to.
    Symlink,
    /// The file cannot be written.
    ReadOnly,
    /// Lines were left out, or the runtime could not open it.
    Damaged,
    /// A commit to it was broken off.
    Unfinished,
    /// A transcript that its key no longer points to (sqlite F10).
    Earlier,
    /// Archived by its row in a database.
    Archived,
    /// In a cold archive of a database (sqlite E4).
    Cold,
    /// A file whose entries are in a database by now.
    Imported,
    /// A file beside a database that is not in it.
    NotImported,
}

impl Mark {
    /// The word in JSON and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Overflow => "overflow",
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
        }
    }

    /// Whether it says that the transcript is set aside.
    pub fn is_archive(self) -> bool {
        matches!(
            self,
            Self::Reset | Self::Deleted | Self::Backup | Self::Earlier | Self::Archived | Self::Imported
        )
    }
}

/// One session of a store, for lists.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionItem {
    /// Its routing key, or the synthetic one of a transcript without a row.
    pub key: SessionKey,
    /// The agent it belongs to.
    pub agent: String,
    /// Its kind: main, direct, group, cron, … (store D5).
    pub kind: String,
    /// A short name for lists.
    pub title: String,
    /// Its session id.
    pub id: String,
    /// Its transcript, where there is one.
    pub path: Option<PathBuf>,
    /// Provider and model of its last run, or the configured one.
    pub provider: String,
    /// Model id.
    pub model: String,
    /// The rules it is read by: the store's, unless the transcript was read and tells others.
    pub ruleset: Ruleset,
    /// Window in tokens.
    pub window: u64,
    /// Tokens of the next prompt, where known.
    pub tokens: Option<TokenCount>,
    /// Entries of the transcript, once it was read.
    pub entries: Option<u64>,
    /// Compactions: as the row says, else counted.
    pub compactions: Option<u64>,
    /// Calls that did not fit, once it was read.
    pub overflows: Option<u64>,
    /// Last change, ms since the epoch.
    pub updated_ms: Option<i64>,
    /// Bytes of the transcript.
    pub bytes: u64,
    /// What it carries.
    pub marks: Vec<Mark>,
}

impl SessionItem {
    /// Its title as a person says it: the channel and whom it is with, `telegram 8812`.
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

    /// Its place among the sessions of its agent: newest first, what was put aside last.
    pub fn sort_key(&self) -> ((bool, bool), Reverse<Option<i64>>, &SessionKey) {
        let aside = (self.marks.iter().any(|mark| mark.is_archive()), self.has(Mark::Orphan));
        (aside, Reverse(self.updated_ms), &self.key)
    }

    /// Whether it carries a mark.
    pub fn has(&self, mark: Mark) -> bool {
        self.marks.contains(&mark)
    }

    /// Adds a mark or takes it away; marks stay in order.
    pub fn set_mark(&mut self, mark: Mark, on: bool) {
        match (self.marks.binary_search(&mark), on) {
            (Err(at), true) => self.marks.insert(at, mark),
            (Ok(at), false) => drop(self.marks.remove(at)),
            _ => {}
        }
    }

    /// Share of the window its next prompt takes, in whole percent.
    pub fn window_percent(&self) -> Option<u64> {
        let tokens = self.tokens?.tokens;
        (self.window > 0).then(|| (tokens * 100 + self.window / 2) / self.window)
    }
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
