//! Writes a plan as a new session of a gateway that keeps its sessions in a database (sqlite J3, J7).
//!
//! Only the gateway writes to its database, but its own importer takes a transcript file with a row of `sessions.json`.
//! So the planned branch becomes the transcript of a new session in a private folder, and `openclaw doctor
//! --session-sqlite import` takes it in. The old session stays as it is.

mod branch_copy;
mod gateway_place;
mod import_error;
mod import_steps;
mod record;
mod refusals;
mod run;
mod staging;

use crate::commit::{PreparedCommit, RandomIds};
use crate::ids::SessionKey;
use crate::js;
use crate::transcript::Leaf;
use crate::units::Bytes;
use crate::write::action::WriteRequest;
use crate::write::error::WriteError;
use crate::write::requested_change::RequestedChange;
use branch_copy::BranchCopy;
pub use gateway_place::GatewayPlace;
pub use import_error::ImportError;
pub use import_steps::{ImportLines, ImportStep};
use record::SessionDraft;
pub use run::{ImportedSession, run_import};
pub use staging::{StagedSession, staging_root};

/// A plan as a new session. Nothing has been written.
#[derive(Debug, Clone)]
pub struct NewSession {
    pub key: SessionKey,
    pub id: String,
    pub title: String,
    pub place: GatewayPlace,
    /// The lines after the part of the branch that stays, checked against the plan.
    pub prepared: PreparedCommit,
    /// The messages of its context, as canonical JSON.
    expected: Vec<String>,
    /// The whole transcript.
    transcript: String,
    /// `sessions.json` with the one row.
    records: String,
}

impl NewSession {
    /// Copies the branch and applies the changes of a request to the copy.
    ///
    /// # Errors
    /// As for a commit to a file, and when the gateway's importer does not take sessions of this store.
    pub fn prepare(request: &WriteRequest<'_>) -> Result<Self, WriteError> {
        let session = request.session;
        if let Some(refusal) = refusals::refuse_action(request) {
            return Err(refusal.into());
        }
        let place = GatewayPlace::of(session)?;
        let mut ids = RandomIds::default();
        let copy = BranchCopy::read(session)?;
        let change = copy.translated(RequestedChange::of(request)?)?;
        let request_on_copy = change.into_request(copy.transcript(), &Leaf::Own, request.now_ms);
        let prepared = crate::commit::prepare(&request_on_copy, &mut ids)?;
        let draft = SessionDraft::new(request, &place, &prepared, ids.uuid());
        let kept = copy.lines_up_to(prepared.parent.as_deref());
        let new = prepared.lines.iter().map(|line| line.text.as_str());
        let expected = copy.expected_messages(&prepared)?;
        let mut transcript = js::stringify(&draft.header()) + "\n";
        for line in kept.chain(new) {
            transcript.extend([line, "\n"]);
        }
        Ok(Self {
            expected,
            transcript,
            records: js::stringify(&draft.records()),
            key: draft.key,
            id: draft.id,
            title: draft.title,
            place,
            prepared,
        })
    }

    /// Entries of the transcript, without its header.
    pub fn entry_count(&self) -> usize {
        self.transcript.lines().count() - 1
    }

    pub fn byte_len(&self) -> Bytes {
        Bytes::from_len(self.transcript.len())
    }
}
