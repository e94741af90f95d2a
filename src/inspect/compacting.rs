//! What a compaction of the open session would come to: whether it would start now, and what its cut does to turns.

use crate::gateway::compaction::CompactionSettings;
use crate::inspect::{Inspection, Unmeasured};
use crate::policy::compact::{BranchEntry, Preparation};
use crate::store::entry::Role;

/// Whether a compaction would start with what the last call counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trigger {
    /// Tokens of the last answer's usage, its own output among them (compaction 2.11); or why there are none.
    pub counted: Result<f64, Unmeasured>,
    /// It starts above so many tokens: window − reserve (compaction 2.7).
    pub above: f64,
    /// Sessions are compacted on their own at all.
    pub enabled: bool,
    /// It would start now.
    pub fires: bool,
}

impl Trigger {
    /// The trigger of a session under these settings.
    pub fn of(inspection: &Inspection, settings: &CompactionSettings) -> Self {
        let window = inspection.window.tokens;
        let rules = inspection.ruleset.ruleset.rules();
        let counted = inspection.measured.and_then(|measured| {
            let usage = inspection.index.entry(measured.entry).message.and_then(|message| message.usage);
            usage.map(|usage| usage.context_tokens).ok_or(Unmeasured::NoUsage)
        });
        Self {
            counted,
            above: settings.threshold(window),
            enabled: settings.enabled,
            fires: counted.is_ok_and(|tokens| settings.should_compact_under(rules, tokens, window)),
        }
    }
}

/// What a cut does to the turn it falls into (compaction 3.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// It stands between two turns.
    Clean,
    /// It splits a turn: the beginning, so many messages, gets a summary of its own (3.8a).
    Turn(usize),
    /// It counts as splitting a turn of which nothing stands before it (3.8b).
    Empty,
    /// Bookkeeping before the next turn makes the whole turn before it count as split: so many messages (3.8c).
    False(usize),
}

impl Split {
    /// What the cut of a prepared compaction does.
    pub fn of(preparation: &Preparation, branch: &[BranchEntry]) -> Self {
        if !preparation.is_split_turn() {
            return Self::Clean;
        }
        let prefix = branch.get(preparation.turn_prefix()).unwrap_or_default();
        let messages = prefix.iter().filter(|entry| entry.message.is_some()).count();
        let kept = branch.get(preparation.cut.first_kept..).unwrap_or_default();
        let first = kept.iter().find_map(|entry| entry.message);
        match messages {
            0 => Self::Empty,
            _ if first.is_some_and(|first| first.role == Role::User) => Self::False(messages),
            _ => Self::Turn(messages),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::Closer;
    use crate::inspect::testing::{call, inspection, message, result, transcript, user};
    use crate::policy::compact::prepare;

    fn split(entries: &[String], keep: f64) -> Split {
        let session = inspection(&transcript(entries), 1e5);
        let closer = Closer::read(&session.source, &session.index, &session.context).unwrap();
        let preparation = prepare(&closer.branch, keep).unwrap().expect("something to prepare");
        Split::of(&preparation, &closer.branch)
    }

    fn answer(text: &str) -> String {
        message(&format!(r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}]}}"#))
    }

    #[test]
    fn a_cut_before_a_user_turn_is_clean_and_one_inside_splits_it() {
        let long = "x".repeat(400);
        let turns = [user("one"), answer("first"), user("two"), answer("second"), answer(&long)];
        assert_eq!(split(&turns, 103.0), Split::Clean);
        assert_eq!(split(&turns, 90.0), Split::Turn(2));
    }

    #[test]
    fn bookkeeping_before_the_next_turn_makes_a_false_split() {
        let mark = r#"{"type":"custom","customType":"openclaw.cache-ttl","data":{}}"#.to_owned();
        let long = "x".repeat(400);
        let turns =
            [user("one"), call("c", "exec", "{}"), result("c", "exec", "done", ""), mark, user(&long)];
        assert_eq!(split(&turns, 90.0), Split::False(3));
    }

    #[test]
    fn a_session_compacts_strictly_above_the_window_less_the_reserve() {
        let usage = |total: u32| {
            let usage = format!(
                r#""usage":{{"input":{total},"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":{total}}}"#
            );
            message(&format!(r#"{{"role":"assistant","stopReason":"stop","content":[],{usage}}}"#))
        };
        let trigger = |total: u32| {
            let mut session = inspection(&transcript(&[user("go"), usage(total)]), 200_000.0);
            session.measured = crate::inspect::count::last_prompt(&session.index, &session.context);
            let settings = CompactionSettings { reserve_tokens: 20_000.0, ..CompactionSettings::default() };
            Trigger::of(&session, &settings)
        };
        assert!(!trigger(180_000).fires && trigger(180_001).fires);
        assert_eq!(trigger(180_000).above, 180_000.0);
    }
}
