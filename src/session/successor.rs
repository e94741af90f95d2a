//! Finds the session in which the conversation of an orphaned transcript continued: the one that its key names now
//! (compaction 8.19).

use crate::ids::SessionKey;
use crate::store::discovery::Store;
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
    let found = |other: &Session, started: Moment, reported: bool| Successor {
        key: other.key.clone(),
        id: other.id.clone(),
        started_ms: started,
        named_by_row: reported,
    };
    if let Some((other, at)) = store.follower(&session.agent, &session.id) {
        return Some(found(other, at, true));
    }
    let ended = index
        .entries
        .iter()
        .map(|entry| entry.time_ms)
        .filter(|at| at.is_finite())
        .fold(Moment(f64::NAN), Moment::max);
    // A session without a change since the end cannot be the successor.
    let since = store.changed_since(&session.agent, ended).take(MAX_TRANSCRIPTS);
    let soon = |at: Moment| at >= ended && at - ended <= MAX_DELAY_MS;
    let mut near = since.filter(|(_, at)| soon(*at));
    let (other, at) = near.next()?;
    near.next().is_none().then(|| found(other, at, false))
}
