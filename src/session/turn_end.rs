//! The check after the turn of an `openclaw agent` command, which counts messages that were summarised long ago
//! (releases R73).

use schemars::JsonSchema;
use serde::Serialize;

use crate::ids::EntryIx;
use crate::policy::preflight::{Pressure, turn_end_estimate};
use crate::session::LoadedSession;
use crate::store::body;
use crate::store::entry::EntryKind;
use crate::units::Tokens;

/// The check after a turn of `openclaw agent`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct TurnEndCheck {
    /// Estimated tokens of all messages of the branch, those that were summarised too.
    pub estimate: Tokens,
    /// Tokens above which the gateway compacts: the window minus the reserve.
    pub budget: Tokens,
    /// Number of messages in the estimate.
    pub messages: usize,
    /// Whether the turn ends with a compaction.
    pub compacts: bool,
}

impl LoadedSession {
    /// Returns the check after a turn that ends with this path; `None` for a release that counts the context alone, as
    /// the runtime's own trigger does.
    pub fn turn_end_check(&self, path: &[EntryIx]) -> Option<TurnEndCheck> {
        let rules = self.ruleset.id.rules();
        if !rules.turn_end_counts_summarised {
            return None;
        }
        let messages = path.iter().filter(|ix| self.index.entry(**ix).kind == EntryKind::Message);
        let read = |ix: &EntryIx| body::read_message(&self.source, &self.index, *ix).ok().flatten();
        let counted: Vec<Pressure> =
            messages.filter_map(read).map(|message| Pressure::from_message(rules, &message)).collect();
        let estimate = turn_end_estimate(&counted);
        let budget = self.gateway_limit(&self.windows());
        Some(TurnEndCheck { estimate, budget, messages: counted.len(), compacts: estimate > budget })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;
    use crate::session::testing::{loaded_session, transcript, user};

    #[test]
    fn summarised_messages_count_in_the_check_of_some_releases() {
        let compaction =
            r#""type":"compaction","summary":"so far","firstKeptEntryId":"e1","tokensBefore":9}"#;
        let entries = [user(&"word ".repeat(4_000)), user("on"), compaction.to_owned(), user("go")];
        let mut session = loaded_session(&transcript(&entries), 5_000.0);
        session.ruleset.id = Ruleset::V2026_7_1;
        let check = session.turn_end_check(&session.context.path).unwrap();
        assert_eq!((check.messages, check.compacts), (3, true), "{check:?}");
        assert!(check.estimate > Tokens(6_000.0), "chars/4 and a fifth more: {check:?}");
        session.ruleset.id = Ruleset::V2026_9_2;
        assert_eq!(session.turn_end_check(&session.context.path), None);
    }
}
