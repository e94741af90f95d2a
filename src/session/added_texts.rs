//! The texts that the gateway adds to messages when it sends them, which the transcript does not hold (releases R74).

use jiff::tz::TimeZone;

use crate::context::bodies;
use crate::context::time_stamp::{stamp_at, time_stamp};
use crate::gateway::config::GatewayConfig;
use crate::ids::EntryIx;
use crate::js::{JsString, Value};
use crate::session::LoadedSession;
use crate::session::overflow::Overflow;
use crate::store::body::BodyError;
use crate::store::entry::{EntryKind, Role};
use crate::units::{Chars, Moment, Tokens};

/// Chars per token of the estimate.
const CHARS_PER_TOKEN: f64 = 4.0;

/// The message that makes the model go on after the compaction of a refused prompt.
const CONTINUATION: &str = "Continue the current task from the existing transcript, preserving completed work. If an action was \
                            interrupted, inspect its state before deciding whether to retry it. Do not restart the task or repeat \
                            completed actions.";

/// A text before the first text of a message, or a message of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedText {
    /// Position in the list of messages; one behind the last for a message of its own.
    pub message: usize,
    pub before: String,
}

impl AddedText {
    /// Estimates its tokens.
    pub fn tokens(&self) -> Tokens {
        Chars::from_len(self.before.encode_utf16().count()).to_tokens(CHARS_PER_TOKEN)
    }
}

impl LoadedSession {
    /// Reads the user messages of the context and returns what their sending adds.
    ///
    /// # Errors
    /// When a message cannot be read again.
    pub fn added_texts(&self) -> Result<Vec<AddedText>, BodyError> {
        if !self.ruleset.id.rules().stamps_user_messages {
            return Ok(Vec::new());
        }
        let users = self.context.messages.iter().enumerate();
        let mut bodies = Vec::new();
        for (at, message) in users.filter(|(_, message)| message.size.role == Role::User) {
            bodies.push((at, bodies::read_message(&self.source, &self.index, message)?));
        }
        Ok(self.added_to(bodies.iter().map(|(at, body)| (*at, body)), self.context.messages.len()))
    }

    /// Returns what the sending of these messages adds, of a list of `count`.
    pub fn added_to<'a>(
        &self,
        messages: impl Iterator<Item = (usize, &'a Value)>,
        count: usize,
    ) -> Vec<AddedText> {
        if !self.ruleset.id.rules().stamps_user_messages {
            return Vec::new();
        }
        let zone = user_zone(&self.config);
        let added = messages
            .filter_map(|(message, body)| Some(AddedText { message, before: time_stamp(body, &zone)? }));
        let continued = self.compacted_refusal_ms().map(|at| {
            let stamp = stamp_at(at, &zone).unwrap_or_default();
            AddedText { message: count, before: format!("{stamp}{CONTINUATION}") }
        });
        added.chain(continued).collect()
    }

    /// Returns the time of the compaction after a refused prompt, if that prompt is sent again next.
    fn compacted_refusal_ms(&self) -> Option<Moment> {
        let is_record = |ix: &&EntryIx| self.index.entry(**ix).kind != EntryKind::Custom;
        let last = *self.context.path.iter().rev().find(is_record)?;
        let refused = self.overflow_at(last).is_some_and(Overflow::is_compaction);
        refused.then(|| self.index.entry(last).time_ms)
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

    #[test]
    fn user_messages_get_the_time_from_7_1_on() {
        let user = message(r#"{"role":"user","timestamp":1795785132374,"content":"go"}"#);
        let lines = transcript(&[user, call("c", "exec", "{}"), result("c", "exec", "one", "")]);
        let under = |id: Ruleset| {
            let session = loaded_session(&lines, 1e5);
            let ruleset = RulesetChoice { id, ..session.ruleset.clone() };
            LoadedSession { ruleset, ..session }.added_texts().unwrap()
        };
        let added = under(Ruleset::V2026_7_1);
        assert_eq!(added, [AddedText { message: 0, before: "[Fri 2026-11-27 13:12 UTC] ".to_owned() }]);
        assert_eq!(added[0].tokens(), Tokens(6.75));
        assert!(under(Ruleset::V2026_6_11).is_empty());
    }
}
