//! The time before each user message, and the message that continues a task after a compaction.

use jiff::tz::TimeZone;

use super::{AddedText, Messages};
use crate::context::time_stamp::{stamp_at, time_stamp};
use crate::gateway::config::GatewayConfig;
use crate::gateway::ruleset::Sending;
use crate::js::{JsString, Value};
use crate::session::LoadedSession;
use crate::store::body::BodyError;
use crate::store::entry::{EntryKind, Role};
use crate::units::Moment;

/// The message that makes the model go on after a compaction inside a turn, such as that of a refused prompt.
const CONTINUATION: &str = "Continue the current task from the existing transcript, preserving completed work. If an action was \
                            interrupted, inspect its state before deciding whether to retry it. Do not restart the task or repeat \
                            completed actions.";

impl LoadedSession {
    /// Returns the time of each user message, and the message that continues a task.
    pub(super) fn stamped(&self, messages: &Messages<'_>) -> Result<Vec<AddedText>, BodyError> {
        let sending = self.ruleset.id.rules().sending;
        if !sending.has_times() {
            return Ok(Vec::new());
        }
        let zone = user_zone(&self.config);
        let mut added = Vec::new();
        for (at, _) in messages.shapes.iter().enumerate().filter(|(_, shape)| shape.role == Role::User) {
            added.extend(time_stamp(&(messages.read)(at)?, &zone).map(|stamp| AddedText::before(at, stamp)));
        }
        if let Some(at) = self.compacted_in_turn_ms().filter(|_| sending == Sending::RunLine) {
            let stamp = stamp_at(at, &zone).unwrap_or_default();
            added.push(AddedText::before(messages.shapes.len(), stamp + CONTINUATION));
        }
        Ok(added)
    }

    /// Returns the time of the last compaction, if a message waits for its answer behind it: its prompt is sent again.
    fn compacted_in_turn_ms(&self) -> Option<Moment> {
        let last = self.last_record().map(|last| self.index.entry(last))?;
        let sizes = self.context.path.iter().rev().filter_map(|ix| self.index.entry(*ix).message);
        let before = sizes.map(|size| size.role).find(|role| *role != Role::CompactionSummary);
        let waits = before.is_some_and(|role| role != Role::Assistant);
        (last.kind == EntryKind::Compaction && waits).then_some(last.time_ms)
    }
}

/// Returns the configured zone of the user, otherwise that of this machine, which may not be the gateway's.
fn user_zone(config: &GatewayConfig) -> TimeZone {
    let named = config.value(&["agents", "defaults", "userTimezone"]).and_then(Value::as_str);
    let named = named.map(JsString::to_string_lossy);
    named.and_then(|name| TimeZone::get(name.trim()).ok()).unwrap_or_else(|| config.time_zone.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::{Ruleset, RulesetChoice};
    use crate::session::testing::{call, loaded_session, message, result, transcript};
    use crate::units::Tokens;

    #[test]
    fn after_a_compaction_inside_a_turn_the_model_is_told_to_go_on() {
        let compaction = r#""type":"compaction","summary":"s","firstKeptEntryId":"e1","tokensBefore":9}"#;
        let added = |behind: &[String]| {
            let first = [message(r#"{"role":"user","content":"go"}"#), call("c", "exec", "{}")];
            let session = loaded_session(&transcript(&[&first[..], behind].concat()), 1e5);
            let ruleset = RulesetChoice { id: Ruleset::V2026_9_2, ..session.ruleset.clone() };
            let added = LoadedSession { ruleset, ..session }.sending_changes().unwrap().added;
            added.iter().filter(|text| text.before.ends_with(CONTINUATION)).count()
        };
        let waiting = [result("c", "exec", "one", ""), compaction.to_owned()];
        assert_eq!(added(&waiting), 1);
        assert_eq!(added(&waiting[..1]), 0);
        let answered = message(r#"{"role":"assistant","stopReason":"stop","content":[]}"#);
        assert_eq!(added(&[waiting[0].clone(), answered, waiting[1].clone()]), 0, "the turn has ended");
    }

    #[test]
    fn user_messages_get_the_time_from_7_1_on() {
        let user = message(r#"{"role":"user","timestamp":1795785132374,"content":"go"}"#);
        let lines = transcript(&[user, call("c", "exec", "{}"), result("c", "exec", "one", "")]);
        let under = |id: Ruleset| {
            let session = loaded_session(&lines, 1e5);
            let ruleset = RulesetChoice { id, ..session.ruleset.clone() };
            LoadedSession { ruleset, ..session }.sending_changes().unwrap().added
        };
        let added = under(Ruleset::V2026_7_1);
        assert_eq!(added, [AddedText::before(0, "[Fri 2026-11-27 13:12 UTC] ").estimated()]);
        assert_eq!(added[0].tokens, Tokens(6.75));
        assert!(under(Ruleset::V2026_6_11).is_empty());
    }
}
