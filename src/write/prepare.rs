//! Turns a plan or an undo into the entries to append, and refuses changes that no transcript can hold.

use crate::commit::{
    BranchRequest, PreparedCommit, RandomIds, TranscriptInput, TranscriptStatus, UndoRequest,
};
use crate::session::{LoadedSession, ManualChange, Mark};
use crate::store::index::Index;
use crate::store::source::Source;
use crate::store::sqlite::database_of;
use crate::transcript::Tree;
use crate::write::action::{WriteAction, WriteRequest};
use crate::write::commit_record::{TOOL_VERSION, manual_provenance};
use crate::write::error::WriteError;
use crate::write::new_session::NewSession;
use crate::write::requested_change::RequestedChange;

/// Prepares the entries to append. Writes nothing.
pub fn prepare(request: &WriteRequest<'_>) -> Result<PreparedCommit, WriteError> {
    prepare_on(request, None)
}

/// Prepares the plan for its session, or for the transcript that this has grown to.
pub(super) fn prepare_on(
    request: &WriteRequest<'_>,
    grown: Option<(&Index, &Tree, &Source)>,
) -> Result<PreparedCommit, WriteError> {
    let session = request.session;
    if is_in_database(session) {
        return Ok(NewSession::prepare(request)?.prepared);
    }
    let (status, allow_orphan) = (session_standing(session), request.allow_orphan);
    let (index, tree, source) = grown.unwrap_or((&session.index, &session.tree, &session.source));
    let transcript = TranscriptInput { index, tree, source, status, allow_orphan };
    let new_ids = &mut RandomIds::default();
    match &request.action {
        WriteAction::Undo(target) => {
            let undo = UndoRequest {
                transcript,
                target: target.clone(),
                tool: TOOL_VERSION.to_owned(),
                now_ms: request.now_ms,
            };
            Ok(crate::commit::prepare_undo(&undo, new_ids)?)
        }
        WriteAction::ByHand(change @ ManualChange::Branch(leaf)) => {
            let provenance = manual_provenance(session, change);
            let branch = BranchRequest { transcript, leaf: *leaf, provenance, now_ms: request.now_ms };
            Ok(crate::commit::prepare_branch(&branch, new_ids)?)
        }
        WriteAction::ByHand(ManualChange::Drop(_)) | WriteAction::Commit { .. } => {
            let change = RequestedChange::of(request)?;
            let leaf = &session.leaf;
            Ok(crate::commit::prepare(&change.into_request(transcript, leaf, request.now_ms), new_ids)?)
        }
    }
}

/// Whether the entries are in a database, to which only its gateway writes (sqlite J3).
pub fn is_in_database(session: &LoadedSession) -> bool {
    database_of(session.source.path()).is_some() && session_standing(session) != TranscriptStatus::Archive
}

fn session_standing(loaded: &LoadedSession) -> TranscriptStatus {
    let session = &loaded.item;
    // No program reads a file any more once its entries are in a database.
    let put_away = [Mark::Reset, Mark::Deleted, Mark::Backup, Mark::Imported];
    if put_away.into_iter().any(|mark| session.has(mark)) {
        TranscriptStatus::Archive
    } else if session.has(Mark::Orphan) || session.has(Mark::NotImported) {
        TranscriptStatus::Orphan
    } else {
        TranscriptStatus::Referenced
    }
}
