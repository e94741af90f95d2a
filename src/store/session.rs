//! A session as a store lists it: who it is, where its transcript is, and what is odd about it.

use std::path::{Path, PathBuf};

use super::archive::ArchiveReason;
use super::key::SessionKind;
use super::location::Location;
use super::session_records::SessionRecord;
use crate::ids::SessionKey;

/// Something about a session that a list marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Flag {
    /// No row names the transcript (store G).
    Orphan,
    /// Put aside (store F).
    Archived(ArchiveReason),
    /// The row's transcript is not there; normal before the first answer (store E7).
    Missing,
    /// A lock lies beside the transcript: a run may be writing (store H11).
    Locked,
    /// The transcript is a link; nothing is written through it.
    Symlink,
    /// The transcript may not be written.
    ReadOnly,
    /// A cron run listed under a second key, which is left out (store D4).
    DuplicateRun,
    /// The row names a place outside this store.
    ForeignPath,
    /// A run is writing to it, by its row in a database (sqlite I5).
    Running,
    /// A transcript that its key no longer points to (sqlite F10).
    Superseded,
    /// Archived by its row in a database.
    MarkedArchived,
    /// Its entries were moved from the tables to an archive (sqlite E4).
    Cold,
    /// A file left over from before its entries were taken into the database.
    Imported,
    /// A file that lies beside a database and is not in it.
    NotImported,
}

impl Flag {
    /// The word for it, on screen and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Orphan => "orphan",
            Self::Archived(_) => "archived",
            Self::Missing => "missing",
            Self::Locked => "locked",
            Self::Symlink => "symlink",
            Self::ReadOnly => "read-only",
            Self::DuplicateRun => "run-twin",
            Self::ForeignPath => "foreign-path",
            Self::Running => "running",
            Self::Superseded => "earlier",
            Self::MarkedArchived => "shelved",
            Self::Cold => "cold",
            Self::Imported => "imported",
            Self::NotImported => "not-imported",
        }
    }
}

/// One session of a store.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// The row's full key (`agent:<id>:…`), or a made-up one where no row names the transcript.
    pub key: SessionKey,
    /// Agent id; `pi` for sessions of the pi coding agent.
    pub agent: String,
    /// What it is.
    pub kind: SessionKind,
    /// Session id: the row's, else the transcript's, else its file name without the extension.
    pub id: String,
    /// Name to show; never empty.
    pub title: String,
    /// The transcript, or where it would be; `None` when the row names none at all. One in a database goes by the path of
    /// that and its id (see [`super::sqlite::item_path`]).
    pub path: Option<PathBuf>,
    /// Where its entries are kept.
    pub location: Location,
    /// The store's record.
    pub record: Option<SessionRecord>,
    /// Working directory, where the header was read for it.
    pub cwd: Option<String>,
    /// In order, without repetition.
    pub flags: Vec<Flag>,
    /// Size of the transcript; 0 when it is missing.
    pub bytes: u64,
    /// Last change of the transcript, in ms since the epoch.
    pub modified_ms: Option<i64>,
    /// When someone last spoke, in ms since the epoch, where the store orders its sessions by that.
    pub active_ms: Option<i64>,
}

impl Session {
    /// Whether it has this flag.
    pub fn has_flag(&self, flag: Flag) -> bool {
        self.flags.contains(&flag)
    }

    /// Put aside, for whatever reason.
    pub fn is_archived(&self) -> bool {
        self.flags.iter().any(|flag| matches!(flag, Flag::Archived(_)))
    }

    /// The time of the row's last update, else when someone last spoke, else that of the file, in ms since the epoch.
    pub fn updated_ms(&self) -> Option<i64> {
        let row = self.record.as_ref().and_then(|row| row.updated_at).map(|ms| ms as i64);
        row.or(self.active_ms).or(self.modified_ms)
    }

    /// The same session with its file as it is now.
    #[must_use]
    pub fn refreshed(&self) -> Self {
        let mut session = self.clone();
        if session.location.database().is_some() {
            return session;
        }
        let of_file = [Flag::Missing, Flag::Locked, Flag::Symlink, Flag::ReadOnly];
        session.flags.retain(|flag| !of_file.contains(flag));
        (session.bytes, session.modified_ms) = (0, None);
        session.load_file_metadata();
        if session.path.as_deref().is_some_and(|path| lock_path(path).exists()) {
            session.add_flag(Flag::Locked);
        }
        session
    }

    pub(super) fn add_flag(&mut self, flag: Flag) {
        if let Err(at) = self.flags.binary_search(&flag) {
            self.flags.insert(at, flag);
        }
    }

    /// Fills in what the file system tells about the transcript.
    pub(super) fn load_file_metadata(&mut self) {
        let Some(path) = self.path.clone() else {
            self.add_flag(Flag::Missing);
            return;
        };
        let own = std::fs::symlink_metadata(&path);
        let is_link = own.as_ref().is_ok_and(std::fs::Metadata::is_symlink);
        match if is_link { std::fs::metadata(&path) } else { own } {
            Ok(meta) if meta.is_file() => {
                self.bytes = meta.len();
                self.modified_ms = meta.modified().ok().and_then(ms_since_epoch);
                if meta.permissions().readonly() {
                    self.add_flag(Flag::ReadOnly);
                }
            }
            _ => self.add_flag(Flag::Missing),
        }
        if is_link {
            self.add_flag(Flag::Symlink);
        }
    }
}

/// Where a lock on a transcript lies (store H1).
fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".lock");
    path.with_file_name(name)
}

fn ms_since_epoch(time: std::time::SystemTime) -> Option<i64> {
    let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

/// File name without `.jsonl` and without a topic (store G2).
pub(super) fn session_stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(".jsonl").unwrap_or(&name).to_owned()
}

/// A stem as shown: without `-topic-…`.
pub(super) fn short_stem(stem: &str) -> &str {
    stem.split_once("-topic-").map_or(stem, |(id, _)| id)
}
