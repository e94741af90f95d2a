//! The lifetime of a session: when the gateway resets it, why, and what a reset keeps.

use crate::format::{format_local_time, format_time};
use crate::gateway::reset::{NextReset, ResetPolicy, next_reset, reset_policy};
use crate::gateway::ruleset::Ruleset;
use crate::js::{JsString, Value};
use crate::store::discovery::Store;
use crate::store::key::SessionKind;
use crate::store::session::{Flag, Session};
use crate::units::Moment;

#[derive(Debug, Clone, PartialEq)]
pub struct Lifecycle {
    pub policy: ResetPolicy,
    /// The next reset if the session stays idle; `None` when its last use is unknown.
    pub next_reset: Option<NextReset>,
    /// That time on the clock of the gateway's host, with its time zone.
    pub next_reset_local: Option<String>,
    /// Noun phrase for the result of a reset.
    pub reset_effect: &'static str,
}

impl Lifecycle {
    /// Returns `None` for sessions that no clock resets: those of pi, archived ones, and those without a session
    /// record.
    pub fn for_session(store: &Store, session: &Session) -> Option<Self> {
        let row = session.record.as_ref()?;
        let ruleset = store.ruleset.id;
        // A transcript that its key no longer names gets no more messages.
        if ruleset.is_pi()
            || session.is_archived()
            || session.has_flag(Flag::Superseded)
            || is_started_by_runner(session.kind)
        {
            return None;
        }
        let last = row.member("lastChannel");
        let last = last.as_ref().and_then(Value::as_str).map(JsString::to_string_lossy);
        let channel = last.or_else(|| row.channel.clone());
        let policy = reset_policy(&store.config, &session.key.0, channel.as_deref());
        let zone = &store.config.time_zone;
        let next = session.updated_ms().and_then(|ms| next_reset(&policy, ms, zone));
        let next_words = next.and_then(|next| format_local_time(next.at_ms, zone));
        Some(Self {
            policy,
            next_reset: next,
            next_reset_local: next_words,
            reset_effect: describe_reset_effect(ruleset),
        })
    }

    /// Whether the next message resets the session.
    pub fn is_due(&self, now_ms: Moment) -> bool {
        self.next_reset.is_some_and(|next| next.at_ms < now_ms)
    }

    /// Describes the lifecycle in a sentence or two, independent of the current time.
    pub fn description(&self) -> String {
        let when = match &self.next_reset {
            Some(next) => {
                let at = format_time(next.at_ms);
                format!("Resets at the first message after {at} ({}).", next.mode.as_str())
            }
            None => "The next reset is unknown, because the last use is unknown.".to_owned(),
        };
        format!("{when} The reset leaves {}.", self.reset_effect)
    }

    /// Describes when and why the next reset happens.
    pub fn describe_next_reset(&self, now_ms: Moment) -> String {
        let Some(next) = &self.next_reset else {
            return "unknown, because the last use is unknown".to_owned();
        };
        let (at, mode) = (format_time(next.at_ms), next.mode.as_str());
        if self.is_due(now_ms) { format!("due since {at} ({mode})") } else { format!("{at} ({mode})") }
    }
}

/// Whether the session is started by its runner, not by a clock.
fn is_started_by_runner(kind: SessionKind) -> bool {
    matches!(
        kind,
        SessionKind::Cron
            | SessionKind::Hook
            | SessionKind::Subagent
            | SessionKind::Acp
            | SessionKind::Orphan
            | SessionKind::Archive
            | SessionKind::Pi
            | SessionKind::File
    )
}

fn describe_reset_effect(ruleset: Ruleset) -> &'static str {
    match () {
        () if ruleset >= Ruleset::V2026_9_2 => {
            "a reset entry in the same session; earlier entries stay readable but are not sent"
        }
        // (pkg) 2026.4.25 and 2026.7.1 rename it at every reset; 2026.3.2 only at `/new` (store F2).
        () if ruleset >= Ruleset::V2026_4_25 => "the old transcript beside it, as <id>.jsonl.reset.<time>",
        () if ruleset.rules().archives_at_reset => "the old transcript as an archive, `*.jsonl.reset.*`",
        () => "the old transcript as an orphan, not archived",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_release_of_2026_9_resets_within_the_session() {
        let newest = describe_reset_effect(Ruleset::V2026_9_6);
        for ruleset in [Ruleset::V2026_9_2, Ruleset::V2026_9_3, Ruleset::V2026_9_5] {
            assert_eq!(describe_reset_effect(ruleset), newest);
        }
        assert_ne!(describe_reset_effect(Ruleset::V2026_8_1), newest);
    }
}
