//! How long a session lives: what begins it anew, when, and what that leaves behind.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::gateway::reset::{NextReset, ResetPolicy, next_reset, reset_policy};
use crate::gateway::ruleset::Ruleset;
use crate::js::{JsString, Value};
use crate::store::discovery::Store;
use crate::store::key::SessionKind;
use crate::store::session::{Flag, Session};

/// The lifecycle of one session.
#[derive(Debug, Clone, PartialEq)]
pub struct Lifecycle {
    /// The settings that apply.
    pub policy: ResetPolicy,
    /// When it would begin anew if nothing else came; none where that cannot be told.
    pub next_reset: Option<NextReset>,
    /// The same in the clock of the gateway's host, with its zone.
    pub next_reset_local: Option<String>,
    /// What it leaves behind, in a sentence.
    pub reset_effect: &'static str,
}

impl Lifecycle {
    /// Of a session that a gateway resets by itself; none for transcripts without a row and for pi's own.
    pub fn for_session(store: &Store, session: &Session) -> Option<Self> {
        let row = session.record.as_ref()?;
        let ruleset = store.ruleset.id;
        // What a key no longer points to gets no message any more.
        if ruleset.is_pi()
            || session.is_archived()
            || session.has_flag(Flag::Superseded)
            || is_started_by_runner(session.kind)
        {
            return None;
        }
        let text = |key: &str| row.raw.get(key).and_then(Value::as_str).map(JsString::to_string_lossy);
        let channel = text("lastChannel").or_else(|| row.channel.clone());
        let policy = reset_policy(&store.config, &session.key.0, channel.as_deref());
        let zone = &store.config.time_zone;
        let next = session.updated_ms().and_then(|ms| next_reset(&policy, ms as f64, zone));
        let next_words = next.and_then(|next| format_local_time(next.at_ms, zone));
        Some(Self {
            policy,
            next_reset: next,
            next_reset_local: next_words,
            reset_effect: describe_reset_effect(ruleset),
        })
    }

    /// Whether the next message already begins it anew.
    pub fn is_due(&self, now_ms: f64) -> bool {
        self.next_reset.is_some_and(|next| next.at_ms < now_ms)
    }

    /// All of it in a sentence or two, whatever the time is.
    pub fn description(&self) -> String {
        let when = match (&self.next_reset, &self.next_reset_local) {
            (Some(next), Some(at)) => {
                format!("Begins anew with the first message after {at} ({}).", next.mode.as_str())
            }
            _ => "When it begins anew cannot be told: its last use is not known.".to_owned(),
        };
        format!("{when} That leaves {}.", self.reset_effect)
    }

    /// When and why, in words.
    pub fn describe_next_reset(&self, now_ms: f64) -> String {
        match (&self.next_reset, &self.next_reset_local) {
            (Some(next), Some(at)) if self.is_due(now_ms) => {
                format!("due since {at} ({}): the next message begins anew", next.mode.as_str())
            }
            (Some(next), Some(at)) => format!("{at} ({}), unless a message comes before", next.mode.as_str()),
            _ => "cannot be told: its last use is not known".to_owned(),
        }
    }
}

/// Sessions that are begun by what runs them, not by a clock.
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
    match ruleset {
        Ruleset::V2026_9_2 => {
            "a reset entry in the same session; what came before stays readable and is not sent any more"
        }
        _ => "the transcript as an orphan, not archived",
    }
}

/// A moment in the clock of a zone: `2026-03-06 04:00 Europe/Berlin`.
fn format_local_time(at_ms: f64, zone: &TimeZone) -> Option<String> {
    let at = Timestamp::from_millisecond(at_ms as i64).ok()?.to_zoned(zone.clone());
    let name = zone.iana_name().map_or_else(|| at.strftime("%:z").to_string(), str::to_owned);
    Some(format!("{} {name}", at.strftime("%Y-%m-%d %H:%M")))
}
