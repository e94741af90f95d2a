//! Writes a plan as a new session of a gateway that keeps its sessions in a database (sqlite J3, J7).
//!
//! Only the gateway writes to its database, but its own importer takes a transcript file with a row of `sessions.json`.
//! So the planned branch becomes the transcript of a new session in a private folder, and `openclaw doctor
//! --session-sqlite import` takes it in. The old session stays as it is.

mod import_steps;
mod record;
mod run;

use crate::commit::{PreparedCommit, RandomIds, Receipt, ReceiptKind, Refusal, receipts};
use crate::ids::SessionKey;
use crate::js;
use crate::session::{LoadedSession, ManualChange};
use crate::text::shell;
use crate::transcript::Leaf;
use crate::units::Bytes;
use crate::write::error::WriteError;
use crate::write::requested_change::{RequestedChange, WriteAction, WriteRequest};
use record::{BranchCopy, SessionDraft};

pub use import_steps::{GatewayPlace, ImportError, ImportLines, ImportStep};
pub use run::{ImportedSession, StagedSession, run_import, staging_root};

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
        if let Some(refusal) = refuse_action(request) {
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

// Actions that a new session cannot carry, with the supported way to the same end.

/// Refuses to switch branches, which a running gateway does itself, and to undo, because a commit left the old session
/// as it was (sqlite J4).
fn refuse_action(request: &WriteRequest<'_>) -> Option<Refusal> {
    let session = request.session;
    let path = || session.source.path().to_path_buf();
    let key = &session.item.key.0;
    match &request.action {
        WriteAction::Commit { .. } | WriteAction::ByHand(ManualChange::Drop(_)) => None,
        WriteAction::ByHand(ManualChange::Branch(_)) => {
            let params = [("sessionKey", key.as_str()), ("leafEntryId", "…")];
            let params = js::stringify(&js::Value::Object(params.into_iter().collect()));
            let instead = format!(
                "A running gateway switches branches with `openclaw gateway call sessions.branches.switch --params {}`; \
                 `clawscope tree --json` lists them.",
                shell::word(&params)
            );
            Some(Refusal::Database { path: path(), instead })
        }
        WriteAction::Undo(_) => Some(Refusal::NothingInPlace { path: path(), what: describe_both(session) }),
    }
}

/// Describes where the session before a commit is, and how to put the committed one away.
fn describe_both(session: &LoadedSession) -> String {
    let is_commit = |receipt: &Receipt| receipt.kind == ReceiptKind::Commit;
    let is_committed =
        receipts(&session.index, &session.source).is_ok_and(|receipts| receipts.iter().any(is_commit));
    match session.item.parent.as_ref().filter(|_| is_committed) {
        Some(parent) => format!(
            "a commit copied this session from {}, which is as it was: continue with that one. `openclaw sessions archive \
             {}` puts this one away, with the gateway running.",
            shell::word(&parent.0),
            shell::word(&session.item.key.0)
        ),
        None => "nothing was written to this session: on a gateway with a database a commit begins a session of its \
                 own, and the old one stays as it is. `clawscope sessions` lists both."
            .to_owned(),
    }
}
