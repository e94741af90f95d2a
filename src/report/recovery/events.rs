//! Recorded events of a recovery, in the order of the file (compaction 8.8).

use std::collections::HashSet;

use crate::commit::own_entries;
use crate::ids::EntryIx;
use crate::js::Value;
use crate::report::recovery::refused_call;
use crate::report::recovery::refused_call::RefusedCall;
use crate::session::LoadedSession;
use crate::session::message::facts::time_ms;
use crate::store::body::{self, BodyError};
use crate::store::entry::{Entry, EntryKind, Role};
use crate::store::intern::IdIx;
use crate::units::Moment;

/// The maximum number of entries to scan after the refusal.
const MAX_ENTRIES: usize = 2_000;

/// One recorded event.
#[derive(Debug, Clone, PartialEq)]
pub enum RecoveryEvent {
    /// The provider refused a call.
    Refused(RefusedCall),
    /// A call failed for another reason.
    Failed {
        /// The answer that holds the error.
        entry: EntryIx,
    },
    /// A compaction was written.
    Compacted { entry: EntryIx },
    /// The user wrote, or the prompt was sent again.
    Prompted { entry: EntryIx },
    /// The branch was rewritten from an earlier entry, with tool results cut.
    Rewritten {
        /// The first copied result.
        entry: EntryIx,
    },
    /// The model answered.
    Answered { entry: EntryIx },
}

impl RecoveryEvent {
    /// Returns the entry of the event.
    pub fn entry(&self) -> Option<EntryIx> {
        match self {
            Self::Refused(refusal) => refusal.entry,
            Self::Failed { entry }
            | Self::Compacted { entry }
            | Self::Prompted { entry }
            | Self::Rewritten { entry }
            | Self::Answered { entry } => Some(*entry),
        }
    }

    /// The name in JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Refused(_) => "refused",
            Self::Failed { .. } => "failed",
            Self::Compacted { .. } => "compacted",
            Self::Prompted { .. } => "prompted",
            Self::Rewritten { .. } => "rewritten",
            Self::Answered { .. } => "answered",
        }
    }
}

/// Reads the events from a refusal to the next answer or the end of the file. A branch that clawscope wrote ends it.
pub(super) fn read_events(
    session: &LoadedSession,
    refusal: &RefusedCall,
) -> Result<Vec<RecoveryEvent>, BodyError> {
    let index = &session.index;
    let Some(first) = refusal.entry else { return Ok(Vec::new()) };
    let mut recorded = vec![RecoveryEvent::Refused(refusal.clone())];
    recorded.extend(compaction_of(session, first));
    let mut rewriting = false;
    let own = own_entries(index, &session.tree);
    let answered = answered_before(session, first);
    for (ix, entry) in index.iter().skip(first.index() + 1).take(MAX_ENTRIES) {
        let role = entry
            .message
            .filter(|_| entry.kind == EntryKind::Message)
            .map(|size| (size.role, size.stop_reason));
        if own.contains(&ix) {
            break;
        }
        if let Some(refusal) = refused_call::refused_call_at(session, ix) {
            if !rewriting || !is_copy(session, ix, refusal.time_ms)? {
                recorded.push(RecoveryEvent::Refused(refusal));
                recorded.extend(compaction_of(session, ix));
            }
            continue;
        }
        match role {
            _ if entry.kind == EntryKind::Compaction && !rewriting => {
                recorded.push(RecoveryEvent::Compacted { entry: ix });
            }
            Some((Role::User, _)) if !rewriting => recorded.push(RecoveryEvent::Prompted { entry: ix }),
            Some((Role::ToolResult, _))
                if !rewriting && answered_call_id(entry).is_some_and(|id| answered.contains(&id)) =>
            {
                rewriting = true;
                recorded.push(RecoveryEvent::Rewritten { entry: ix });
            }
            // The gateway wrote it; no call was made.
            Some(_) if entry.message.is_some_and(|size| size.is_synthetic) => {}
            message if refused_call::is_answer(message) => {
                if rewriting && is_copy(session, ix, refusal.time_ms)? {
                    continue;
                }
                recorded.push(RecoveryEvent::Answered { entry: ix });
                break;
            }
            Some((Role::Assistant, _)) if !rewriting => recorded.push(RecoveryEvent::Failed { entry: ix }),
            _ => {}
        }
    }
    Ok(recorded)
}

/// Returns the compaction that is all that an entry records of a refusal.
fn compaction_of(session: &LoadedSession, entry: EntryIx) -> Option<RecoveryEvent> {
    let is_it = session.index.entry(entry).kind == EntryKind::Compaction;
    is_it.then_some(RecoveryEvent::Compacted { entry })
}

/// Returns the calls answered before the refusal: a later result of such a call is a copy.
fn answered_before(session: &LoadedSession, refused: EntryIx) -> HashSet<IdIx> {
    session.index.entries.iter().take(refused.index()).filter_map(answered_call_id).collect()
}

fn answered_call_id(entry: &Entry) -> Option<IdIx> {
    entry.message.and_then(|size| size.call_id)
}

/// Whether a message is older than the refusal: a copy keeps the original message's time.
fn is_copy(session: &LoadedSession, ix: EntryIx, refused_at: Moment) -> Result<bool, BodyError> {
    let message = body::read_message(&session.source, &session.index, ix)?.unwrap_or(Value::Null);
    Ok(time_ms(session.index.entry(ix), &message) <= refused_at)
}
