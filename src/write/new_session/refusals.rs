//! Actions that a new session cannot carry, with the supported way to the same end.

use crate::commit::{ReceiptKind, Refusal};
use crate::js;
use crate::session::{LoadedSession, ManualChange};
use crate::text::shell;
use crate::write::action::{WriteAction, WriteRequest};
use crate::write::commit_list::{CommitRecord, list_commits};

/// Refuses to switch branches, which a running gateway does itself, and to undo, because a commit left the old session
/// as it was (sqlite J4).
pub(super) fn refuse_action(request: &WriteRequest<'_>) -> Option<Refusal> {
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
    let is_commit = |record: &CommitRecord| record.receipt.kind == ReceiptKind::Commit;
    let is_committed = list_commits(session).is_ok_and(|records| records.iter().any(is_commit));
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
