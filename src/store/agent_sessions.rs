//! The sessions of each agent that lookups from one session to others need. Found once per store: a lookup for each of
//! 100,000 sessions cannot walk all of them.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::header::read_header;
use super::session::Session;
use crate::js::Value;
use crate::units::Moment;

/// Positions in the list of a store's sessions. A clone starts empty, because its list may be changed.
#[derive(Debug, Default)]
pub(super) struct AgentSessions(OnceLock<HashMap<String, Positions>>);

#[derive(Debug, Default)]
struct Positions {
    /// Transcripts without a session record, in the order of the list.
    unrecorded: Vec<usize>,
    /// The newest session whose record has the report of a run.
    reported: Option<(Moment, usize)>,
    /// Sessions with a record, in the order of the list.
    recorded: Vec<RecordedSession>,
    /// The first session whose record names an id as its predecessor.
    followers: HashMap<String, usize>,
}

/// A session with a record, and its times.
#[derive(Debug)]
struct RecordedSession {
    at: usize,
    /// NaN if unknown.
    updated_ms: Moment,
    /// Read from its transcript when it is first needed; NaN if unknown.
    began_ms: OnceLock<Moment>,
}

impl Clone for AgentSessions {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl AgentSessions {
    /// Returns the transcripts of an agent that no record names.
    pub(super) fn unrecorded<'a>(
        &'a self,
        sessions: &'a [Session],
        agent: &str,
    ) -> impl Iterator<Item = &'a Session> {
        let own = self.of(sessions, agent).map_or(&[][..], |own| &own.unrecorded);
        own.iter().filter_map(|at| sessions.get(*at))
    }

    /// Returns the newest session of an agent whose record has the report of a run.
    pub(super) fn newest_reported<'a>(&self, sessions: &'a [Session], agent: &str) -> Option<&'a Session> {
        sessions.get(self.of(sessions, agent)?.reported?.1)
    }

    /// Returns the first session of an agent whose record names `id` as its predecessor.
    pub(super) fn follower<'a>(
        &'a self,
        sessions: &'a [Session],
        agent: &str,
        id: &str,
    ) -> Option<&'a Session> {
        sessions.get(*self.of(sessions, agent)?.followers.get(id)?)
    }

    /// Returns the sessions of an agent with a record that changed at this time or later, with the time at which each
    /// began.
    pub(super) fn changed_since<'a>(
        &'a self,
        sessions: &'a [Session],
        agent: &str,
        since: Moment,
    ) -> impl Iterator<Item = (&'a Session, Moment)> {
        let own = self.of(sessions, agent).map_or(&[][..], |own| &own.recorded);
        let changed = own.iter().filter(move |recorded| recorded.updated_ms >= since);
        changed.filter_map(|recorded| {
            let session = sessions.get(recorded.at)?;
            Some((session, *recorded.began_ms.get_or_init(|| began_ms(session))))
        })
    }

    fn of(&self, sessions: &[Session], agent: &str) -> Option<&Positions> {
        self.0.get_or_init(|| positions(sessions)).get(agent)
    }
}

fn positions(sessions: &[Session]) -> HashMap<String, Positions> {
    let mut found: HashMap<String, Positions> = HashMap::new();
    for (at, session) in sessions.iter().enumerate() {
        if !found.contains_key(&session.agent) {
            found.insert(session.agent.clone(), Positions::default());
        }
        let Some(own) = found.get_mut(&session.agent) else { continue };
        let Some(record) = &session.record else {
            own.unrecorded.push(at);
            continue;
        };
        let updated_ms = session.updated_ms().unwrap_or(Moment(f64::NAN));
        own.recorded.push(RecordedSession { at, updated_ms, began_ms: OnceLock::new() });
        let previous = record.member("previousSessionId");
        if let Some(previous) = previous.as_ref().and_then(Value::as_str) {
            own.followers.entry(previous.to_string_lossy()).or_insert(at);
        }
        let time = record.updated_at.unwrap_or(Moment(f64::MIN));
        if record.has_prompt_report()
            && own.reported.is_none_or(|(newest, _)| newest.total_cmp(&time).is_le())
        {
            own.reported = Some((time, at));
        }
    }
    found
}

/// Returns the time at which a session's transcript began; NaN if unknown.
pub(super) fn began_ms(session: &Session) -> Moment {
    session.path.as_deref().and_then(read_header).map_or(Moment(f64::NAN), |header| header.started_ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js;
    use crate::store::session_builder::{archived_from_key, unlocated_from_record};
    use crate::store::session_record::SessionRecord;

    fn recorded(id: &str, updated: f64, report: bool) -> Session {
        let report = if report { r#","systemPromptReport":{"source":"run"}"# } else { "" };
        let previous = format!(r#""previousSessionId":"before {updated}""#);
        let text = format!(r#"{{"sessionId":"{id}","updatedAt":{updated},{previous}{report}}}"#);
        let record =
            SessionRecord::from_database(format!("agent:main:{id}"), js::parse(&text).unwrap(), None);
        unlocated_from_record(record, "main")
    }

    #[test]
    fn each_agent_has_its_transcripts_without_a_record_and_its_newest_report() {
        let unrecorded = |agent: &str, id: &str| archived_from_key(id.into(), agent.into(), id.into());
        let sessions = [
            recorded("a", 5.0, true),
            unrecorded("main", "x"),
            recorded("b", 9.0, true),
            recorded("c", 12.0, false),
            unrecorded("other", "y"),
            recorded("d", 7.0, true),
            unrecorded("main", "z"),
        ];
        let found = AgentSessions::default();
        let ids = |agent| {
            let own = found.unrecorded(&sessions, agent);
            own.map(|session| session.id.as_str()).collect::<Vec<_>>()
        };
        assert_eq!((ids("main"), ids("other"), ids("none")), (vec!["x", "z"], vec!["y"], vec![]));
        let newest = |agent| found.newest_reported(&sessions, agent).map(|session| session.id.as_str());
        assert_eq!((newest("main"), newest("other")), (Some("b"), None));
        let follower = |agent, id| found.follower(&sessions, agent, id).map(|session| session.id.as_str());
        assert_eq!((follower("main", "before 9"), follower("other", "before 9")), (Some("b"), None));
        let changed = found.changed_since(&sessions, "main", Moment(7.0));
        assert_eq!(changed.map(|(session, _)| session.id.as_str()).collect::<Vec<_>>(), ["b", "c", "d"]);
        assert_eq!(found.clone().unrecorded(&sessions[..2], "main").count(), 1, "another list is read anew");
    }
}
