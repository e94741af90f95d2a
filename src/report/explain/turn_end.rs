//! The check after the turn of an `openclaw agent` command, which counts messages that were summarised long ago
//! (releases R73).

use crate::ids::EntryIx;
use crate::policy::preflight::{Pressure, turn_end_estimate};
use crate::session::LoadedSession;
use crate::store::body;
use crate::store::entry::EntryKind;
use crate::units::Tokens;

/// A check that asks for a compaction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TurnEndCheck {
    /// Its estimate of all messages of the branch.
    pub estimate: Tokens,
    /// The window minus the reserve.
    pub budget: Tokens,
    /// Number of messages in the estimate.
    pub messages: usize,
}

/// Returns the check before a compaction, if the messages of the whole branch exceed its budget.
pub(super) fn turn_end_check(session: &LoadedSession, compaction: EntryIx) -> Option<TurnEndCheck> {
    let rules = session.ruleset.id.rules();
    if !rules.turn_end_counts_summarised {
        return None;
    }
    let path = session.tree.path_to(&session.index, compaction);
    let messages = path.into_iter().filter(|ix| session.index.entry(*ix).kind == EntryKind::Message);
    let read = |ix| body::read_message(&session.source, &session.index, ix).ok().flatten();
    let counted: Vec<Pressure> =
        messages.filter_map(read).map(|message| Pressure::from_message(rules, &message)).collect();
    let estimate = turn_end_estimate(&counted);
    let budget = session.gateway_limit(&session.windows());
    (estimate > budget).then_some(TurnEndCheck { estimate, budget, messages: counted.len() })
}
