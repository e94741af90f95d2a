//! How long a session lives: what begins it anew, when, and what that leaves behind.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::gateway::reset::{NextReset, ResetPolicy, next_reset, reset_policy};
use crate::gateway::ruleset::Ruleset;
use crate::js::{JsString, Value};
use crate::store::key::Kind;
use crate::store::session::{Flag, Session};
use crate::store::survey::Store;

/// The lifecycle of one session.
#[derive(Debug, Clone, PartialEq)]
pub struct Lifecycle {
    /// The settings that apply.
    pub policy: ResetPolicy,
    /// When it would begin anew if nothing else came; none where that cannot be told.
    pub next: Option<NextReset>,
    /// The same in the clock of the gateway's host, with its zone.
    pub next_words: Option<String>,
    /// What it leaves behind, in a sentence.
    pub leaves: &'static str,
}

impl Lifecycle {
    /// Of a session that a gateway resets by itself; none for transcripts without a row and for pi's own.
    pub fn of(store: &Store, session: &Session) -> Option<Self> {
        let row = session.row.as_ref()?;
        let ruleset = store.ruleset.ruleset;
        // What a key no longer points to gets no message any more.
        if ruleset.is_pi() || session.archived() || session.has(Flag::Earlier) || runs_anew(session.kind) {
            return None;
        }
        let text = |key: &str| row.raw.get(key).and_then(Value::as_str).map(JsString::to_string_lossy);
        let channel = text("lastChannel").or_else(|| row.channel.clone());
        let policy = reset_policy(&store.config, &session.key.0, channel.as_deref());
        let zone = &store.config.zone;
        let next = session.updated_ms().and_then(|ms| next_reset(&policy, ms as f64, zone));
        let next_words = next.and_then(|next| clock(next.at_ms, zone));
        Some(Self { policy, next, next_words, leaves: leaves(ruleset) })
    }

    /// Whether the next message already begins it anew.
    pub fn is_due(&self, now_ms: f64) -> bool {
        self.next.is_some_and(|next| next.at_ms < now_ms)
    }

    /// All of it in a sentence or two, whatever the time is.
    pub fn sentence(&self) -> String {
        let when = match (&self.next, &self.next_words) {
            (Some(next), Some(at)) => {
                format!("Begins anew with the first message after {at} ({}).", next.mode.word())
            }
            _ => "When it begins anew cannot be told: its last use is not known.".to_owned(),
        };
        format!("{when} That leaves {}.", self.leaves)
    }

    /// When and why, in words.
    pub fn words(&self, now_ms: f64) -> String {
        match (&self.next, &self.next_words) {
            (Some(next), Some(at)) if self.is_due(now_ms) => {
                format!("due since {at} ({}): the next message begins anew", next.mode.word())
            }
            (Some(next), Some(at)) => format!("{at} ({}), unless a message comes before", next.mode.word()),
            _ => "cannot be told: its last use is not known".to_owned(),
        }
    }
}

/// Sessions that are begun by what runs them, not by a clock.
fn runs_anew(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Cron
            | Kind::Hook
            | Kind::Subagent
            | Kind::Acp
            | Kind::Orphan
            | Kind::Archive
            | Kind::Pi
            | Kind::File
    )
}

fn leaves(ruleset: Ruleset) -> &'static str {
    match ruleset {
        Ruleset::V2026_9_2 => {
            "a reset entry in the same session; what came before stays readable and is not sent any more"
        }
        _ => "the transcript as an orphan, not archived",
    }
}

/// A moment in the clock of a zone: `2026-03-06 04:00 Europe/Berlin`.
fn clock(at_ms: f64, zone: &TimeZone) -> Option<String> {
    let at = Timestamp::from_millisecond(at_ms as i64).ok()?.to_zoned(zone.clone());
    let name = zone.iana_name().map_or_else(|| at.strftime("%:z").to_string(), str::to_owned);
    Some(format!("{} {name}", at.strftime("%Y-%m-%d %H:%M")))
}
