//! Finds the session in which the conversation of an orphaned transcript continued: the one that its key names now
//! (compaction 8.19).

use crate::ids::SessionKey;
use crate::js::Value;
use crate::store::discovery::Store;
use crate::store::header::read_header;
use crate::store::index::Index;
use crate::store::session::Session;
use crate::units::{Millis, Moment};

/// Longest delay: the gateway moves the key right after the failed call.
const MAX_DELAY_MS: Millis = Millis(600_000.0);
/// Transcripts whose first line may be read.
const MAX_TRANSCRIPTS: usize = 200;

/// The session that continued the conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Successor {
    pub key: SessionKey,
    pub id: String,
    /// The time at which it began; NaN if unknown.
    pub started_ms: Moment,
    /// Whether its session record names this session as its predecessor. Otherwise only the times match.
    pub named_by_row: bool,
}

/// Finds the successor: the session whose record names this one, else the only session of the agent that began within
/// minutes of the transcript's end.
pub(super) fn find_successor(store: &Store, session: &Session, index: &Index) -> Option<Successor> {
    if session.record.is_some() {
        return None;
    }
    let others =
        || store.sessions.iter().filter(|other| other.agent == session.agent && other.record.is_some());
    others().next()?;
    let began = |other: &Session| {
        other.path.as_deref().and_then(read_header).map_or(Moment(f64::NAN), |header| header.started_ms)
    };
    let before = |other: &&Session| {
        let row = other.record.as_ref().and_then(|row| row.member("previousSessionId"));
        row.as_ref().and_then(Value::as_str).is_some_and(|id| id.to_string_lossy() == session.id)
    };
    let found = |other: &Session, started: Moment, reported: bool| Successor {
        key: other.key.clone(),
        id: other.id.clone(),
        started_ms: started,
        named_by_row: reported,
    };
    if let Some(other) = others().find(before) {
        return Some(found(other, began(other), true));
    }
    let ended = index
        .entries
        .iter()
        .map(|entry| entry.time_ms)
        .filter(|at| at.is_finite())
        .fold(Moment(f64::NAN), Moment::max);
    // A session without a change since the end cannot be the successor.
    let since =
        others().filter(|other| other.updated_ms().is_some_and(|ms| ms >= ended)).take(MAX_TRANSCRIPTS);
    let soon = |at: Moment| at >= ended && at - ended <= MAX_DELAY_MS;
    let mut near = since.map(|other| (other, began(other))).filter(|(_, at)| soon(*at));
    let (other, at) = near.next()?;
    near.next().is_none().then(|| found(other, at, false))
}
