//! The sessions of each agent that lookups from one session to others need. Found once per store: a lookup for each of
//! 100,000 sessions cannot walk all of them.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::session::Session;
use super::session_record::SessionRecord;
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

    fn of(&self, sessions: &[Session], agent: &str) -> Option<&Positions> {
        self.0.get_or_init(|| positions(sessions)).get(agent)
    }
}

fn positions(sessions: &[Session]) -> HashMap<String, Positions> {
    let mut found: HashMap<String, Positions> = HashMap::new();
    for (at, session) in sessions.iter().enumerate() {
        let is_reported = session.record.as_ref().is_some_and(SessionRecord::has_prompt_report);
        if session.record.is_some() && !is_reported {
            continue;
        }
        let own = found.entry(session.agent.clone()).or_default();
        let Some(record) = &session.record else {
            own.unrecorded.push(at);
            continue;
        };
        let time = record.updated_at.unwrap_or(Moment(f64::MIN));
        if own.reported.is_none_or(|(newest, _)| newest.total_cmp(&time).is_le()) {
            own.reported = Some((time, at));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js;
    use crate::store::session_builder::{archived_from_key, unlocated_from_record};

    fn recorded(id: &str, updated: f64, report: bool) -> Session {
        let report = if report { r#","systemPromptReport":{"source":"run"}"# } else { "" };
        let text = format!(r#"{{"sessionId":"{id}","updatedAt":{updated}{report}}}"#);
        let record = SessionRecord::from_database(format!("agent:main:{id}"), js::parse(&text).unwrap());
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
        assert_eq!(found.clone().unrecorded(&sessions[..2], "main").count(), 1, "another list is read anew");
    }
}
