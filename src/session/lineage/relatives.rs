//! Other files of the same session key: the transcript before a reset, those that continue this one, and a record that
//! names another session than the file.

use std::path::{Path, PathBuf};

use crate::js::{JsString, Value};
use crate::store::archive::{ArchiveReason, parse_archive_name};
use crate::store::discovery::Store;
use crate::store::entry::EntryKind;
use crate::store::header::read_header;
use crate::store::index::Index;
use crate::store::load::load;
use crate::store::session::{Flag, Session};
use crate::units::{Millis, Moment};

/// Longest time between a reset's archive and the file that follows it.
const MAX_RESET_DELAY_MS: Millis = Millis(60_000.0);

/// A record and its file that name different sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdMismatch {
    /// The id in the session record.
    pub record: String,
    /// The id in the file's header.
    pub file: String,
}

/// The transcript that the key named before a reset.
#[derive(Debug, Clone, PartialEq)]
pub struct Predecessor {
    pub path: PathBuf,
    /// Time of the reset; `None` if the name does not say.
    pub reset_ms: Option<Moment>,
    /// Whether the session record names it. Otherwise only the times match.
    pub named_by_record: bool,
    session: Box<Session>,
}

impl Predecessor {
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Reads the file and counts its messages; `None` if it cannot be read.
    pub fn count_messages(&self) -> Option<usize> {
        let source = self.session.location.open(&self.path, None).ok()?;
        let index = load(&source, &mut crate::ids::LineIds, &mut |_, _| true).ok()?;
        Some(index.iter().filter(|(_, entry)| entry.kind == EntryKind::Message).count())
    }
}

/// A transcript that names this one as its parent and that no record names.
#[derive(Debug, Clone, PartialEq)]
pub struct Continuation {
    pub path: PathBuf,
    pub id: String,
    /// The time at which it began; NaN if unknown.
    pub started_ms: Moment,
}

/// Compares the record's session id with that in the file's header.
pub(super) fn find_id_mismatch(session: &Session, index: &Index) -> Option<IdMismatch> {
    let record = session.record.as_ref()?.session_id.clone().filter(|id| !id.is_empty())?;
    let file = index.header.as_ref()?.id.clone();
    // A database finds the transcript by its id, and a file with the record's id in its name was made for it.
    let name = session.path.as_deref().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let is_own = session.location.database().is_some() || name.contains(&record);
    let differs = !is_own && !file.is_empty() && file != record;
    differs.then_some(IdMismatch { record, file })
}

/// Returns the ids that the record lists as earlier sessions of the same key.
fn earlier_ids(session: &Session) -> Vec<String> {
    let Some(record) = &session.record else { return Vec::new() };
    let text = |value: &Value| value.as_str().map(JsString::to_string_lossy);
    let family = record.member("usageFamilySessionIds");
    let family = family.as_ref().and_then(Value::as_array).unwrap_or_default();
    let previous = record.member("previousSessionId");
    let ids = family.iter().filter_map(text).chain(previous.as_ref().and_then(text));
    ids.filter(|id| *id != session.id).collect()
}

/// Finds the newest transcript of the same agent that the record names as an earlier one, else the archive of a reset
/// at the moment when this file began.
pub(super) fn find_predecessor(store: &Store, session: &Session, index: &Index) -> Option<Predecessor> {
    session.record.as_ref()?;
    let started = index.header.as_ref().map_or(Moment(f64::NAN), |header| header.started_ms);
    let ids = earlier_ids(session);
    let others = || {
        let same = store.unrecorded(&session.agent);
        same.filter(|other| other.path.is_some() && other.path != session.path)
    };
    let found = |other: &Session, named_by_record: bool| {
        let path = other.path.clone()?;
        let reset_ms = archive_time(&path);
        Some(Predecessor { reset_ms, named_by_record, session: Box::new(other.clone()), path })
    };
    let named = || others().filter(|other| ids.contains(&other.id));
    let newest = || named().max_by(|a, b| order_ms(a).total_cmp(&order_ms(b)));
    if let Some(other) = (!ids.is_empty()).then(newest).flatten() {
        return found(other, true);
    }
    let is_reset = |other: &&Session| other.has_flag(Flag::Archived(ArchiveReason::Reset));
    let is_near = |other: &&Session| {
        let at = other.path.as_deref().and_then(archive_time);
        at.is_some_and(|at| (started - at).get().abs() <= MAX_RESET_DELAY_MS.get())
    };
    let mut near = others().filter(is_reset).filter(is_near);
    let other = near.next()?;
    near.next().is_none().then(|| found(other, false)).flatten()
}

fn archive_time(path: &Path) -> Option<Moment> {
    parse_archive_name(path.file_name()?.to_str()?)?.time_ms
}

fn order_ms(session: &Session) -> Moment {
    session.path.as_deref().and_then(archive_time).or(session.modified_ms).unwrap_or(Moment(f64::NAN))
}

/// Finds the orphans that name this session's file, or its id, as their parent.
pub(super) fn find_continuations(store: &Store, session: &Session, index: &Index) -> Vec<Continuation> {
    let Some(own) = session.path.as_deref().filter(|_| session.record.is_some()) else { return Vec::new() };
    let id = index.header.as_ref().map_or(session.id.as_str(), |header| header.id.as_str());
    let name = own.file_name();
    let is_own =
        |parent: &str| parent == id || Path::new(parent) == own || Path::new(parent).file_name() == name;
    let orphans = store
        .unrecorded(&session.agent)
        .filter(|other| other.has_flag(Flag::Orphan) && other.parent_session.as_deref().is_some_and(is_own));
    let mut found: Vec<Continuation> = orphans
        .filter_map(|other| {
            let path = other.path.clone()?;
            let started = read_header(&path).map_or(Moment(f64::NAN), |header| header.started_ms);
            Some(Continuation { id: other.id.clone(), started_ms: started, path })
        })
        .collect();
    found.sort_by(|a, b| a.started_ms.total_cmp(&b.started_ms));
    found
}
