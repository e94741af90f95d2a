//! A session as a store lists it: identity, location of the transcript, and flags.

use std::path::{Path, PathBuf};

use super::archive::ArchiveReason;
use super::key::SessionKind;
use super::location::Location;
use super::session_records::SessionRecord;
use crate::ids::SessionKey;
use crate::units::{Bytes, Moment};

/// Mark of a session in lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Flag {
    /// No record names the transcript (store G).
    Orphan,
    /// Archived transcript (store F).
    Archived(ArchiveReason),
    /// The record's transcript does not exist; normal before the first reply (store E7).
    Missing,
    /// The transcript has a lock file: a run may be writing (store H11).
    Locked,
    /// The transcript is a link; clawscope never writes through it.
    Symlink,
    ReadOnly,
    /// Cron run that also has a second key, which is not listed (store D4).
    DuplicateRun,
    /// The record names a path outside this store.
    ForeignPath,
    /// Its database row says that a run is writing (sqlite I5).
    Running,
    /// Transcript that its key no longer refers to (sqlite F10).
    Superseded,
    /// Its database row is archived.
    MarkedArchived,
    /// An archive holds its entries, not the tables (sqlite E4).
    Cold,
    /// File whose entries were imported into the database.
    Imported,
    /// File next to a database that does not hold its entries.
    NotImported,
}

impl Flag {
    /// Returns the word for screen and JSON.
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

#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// The record's full key (`agent:<id>:…`), or a generated one without a record.
    pub key: SessionKey,
    /// Agent id; `pi` for sessions of the pi coding agent.
    pub agent: String,
    pub kind: SessionKind,
    /// Session id: of the record, else of the transcript, else the file name without extension.
    pub id: String,
    /// Display name; never empty.
    pub title: String,
    /// Path of the transcript, existing or expected; `None` when the record names none. A transcript in a database has
    /// a made-up path (see [`super::sqlite::item_path`]).
    pub path: Option<PathBuf>,
    pub location: Location,
    pub record: Option<SessionRecord>,
    /// Working directory, where the listing read the header.
    pub cwd: Option<String>,
    /// The session that the header names as its parent, where the listing read the header.
    pub parent_session: Option<String>,
    /// Sorted, without duplicates.
    pub flags: Vec<Flag>,
    /// Size of the transcript in bytes; 0 when it is missing.
    pub bytes: Bytes,
    /// Last change of the transcript.
    pub modified_ms: Option<Moment>,
    /// Time of the last message, where the store sorts by it.
    pub active_ms: Option<Moment>,
}

impl Session {
    pub fn has_flag(&self, flag: Flag) -> bool {
        self.flags.contains(&flag)
    }

    /// Whether it is archived, for any reason.
    pub fn is_archived(&self) -> bool {
        self.flags.iter().any(|flag| matches!(flag, Flag::Archived(_)))
    }

    /// Returns the time of the record's update, else of the last message, else of the file.
    pub fn updated_ms(&self) -> Option<Moment> {
        let row = self.record.as_ref().and_then(|row| row.updated_at).map(Moment::to_whole);
        row.or(self.active_ms).or(self.modified_ms)
    }

    /// Returns the session with the current state of its file.
    #[must_use]
    pub fn refreshed(&self) -> Self {
        let mut session = self.clone();
        if session.location.database().is_some() {
            return session;
        }
        let of_file = [Flag::Missing, Flag::Locked, Flag::Symlink, Flag::ReadOnly];
        session.flags.retain(|flag| !of_file.contains(flag));
        (session.bytes, session.modified_ms) = (Bytes::ZERO, None);
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

    /// Reads size, time and flags from the file system.
    pub(super) fn load_file_metadata(&mut self) {
        let Some(path) = self.path.clone() else {
            self.add_flag(Flag::Missing);
            return;
        };
        let own = std::fs::symlink_metadata(&path);
        let is_link = own.as_ref().is_ok_and(std::fs::Metadata::is_symlink);
        match if is_link { std::fs::metadata(&path) } else { own } {
            Ok(meta) if meta.is_file() => {
                self.bytes = Bytes(meta.len());
                self.modified_ms = meta.modified().ok().and_then(Moment::from_system_time);
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

/// Returns the path of a transcript's lock (store H1).
fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".lock");
    path.with_file_name(name)
}

/// Returns the file name without `.jsonl`; a topic stays (store G2).
pub(super) fn session_stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(".jsonl").unwrap_or(&name).to_owned()
}

/// Returns a stem without `-topic-…`, for display.
pub(super) fn short_stem(stem: &str) -> &str {
    stem.split_once("-topic-").map_or(stem, |(id, _)| id)
}
