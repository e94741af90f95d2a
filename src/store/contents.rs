//! The contents of a store: its agents, sessions and databases, and the configuration around them.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::database_info::DatabaseInfo;
use super::era::detect_era;
use super::locate::Agent;
use super::path_kind::{PathKind, load_settings};
use super::prompt_report::SystemPromptReport;
use super::session::Session;
use super::session_builder::read_header;
use crate::diagnostic::Diagnostic;
use crate::gateway::config::GatewayConfig;
use crate::gateway::env::Environment;
use crate::gateway::recorded_window::RecordedWindow;
use crate::gateway::ruleset::{Era, RulesetChoice};
use crate::ids::SessionKey;
use crate::js::Value;
use crate::units::Moment;

pub(super) const STORE_FILE_NAME: &str = "sessions.json";

#[derive(Debug, Clone)]
pub struct Store {
    pub path_kind: PathKind,
    /// The gateway's state dir; for pi and for single files, the folder that holds them.
    pub state_dir: PathBuf,
    /// The options of a command line that select the store as the person did; empty for the default store.
    pub options: String,
    /// The gateway's configuration; empty when there is no file.
    pub config: Arc<GatewayConfig>,
    /// Rules for reading the sessions: detected from the store, unless the user chose others.
    pub ruleset: RulesetChoice,
    /// Databases that hold sessions, readable or not.
    pub databases: Vec<DatabaseInfo>,
    /// Sorted by id.
    pub agents: Vec<Agent>,
    /// Records first, in the order of their files, then orphans, then archives; agent by agent.
    pub sessions: Vec<Session>,
    /// Includes the diagnostics of the configuration.
    pub diagnostics: Vec<Diagnostic>,
    pub(super) agent_sessions: AgentSessions,
    workspace_reports: WorkspaceReports,
}

impl Store {
    /// Reads the models from the agents' own registries (store A8).
    pub fn read_registries(&mut self, env: &Environment) {
        let agents = self.agents.iter().map(|agent| agent.id.as_str());
        let config = Arc::make_mut(&mut self.config);
        config.read_registries(env, &self.state_dir, agents, &mut self.diagnostics);
    }

    /// Reads the windows that the rows of all sessions record (compaction 7.7).
    pub(super) fn read_recorded_windows(&mut self) {
        let rows = self.sessions.iter().filter_map(|session| {
            let row = session.record.as_ref()?;
            Some(RecordedWindow {
                session: session.key.0.clone(),
                provider: row.provider.clone()?,
                model: row.model.clone()?,
                tokens: row.context_tokens?,
                updated_ms: row.updated_at.unwrap_or(Moment::ZERO),
            })
        });
        let config = Arc::make_mut(&mut self.config);
        rows.for_each(|row| config.recorded_windows.add(row));
    }

    /// Returns the folders of the transcripts.
    pub fn transcript_folders(&self) -> BTreeSet<&Path> {
        let paths = self.sessions.iter().filter_map(|session| session.path.as_deref()?.parent());
        let mut folders: Vec<&Path> = paths.collect();
        // Most sessions share the folder of the one before, which is compared faster than paths are ordered.
        folders.dedup_by_key(|folder| folder.as_os_str());
        folders.into_iter().collect()
    }

    /// Maps the unique keys to the sessions.
    pub fn sessions_by_key(&self) -> HashMap<&SessionKey, &Session> {
        self.sessions.iter().map(|session| (&session.key, session)).collect()
    }

    /// Returns the transcripts of an agent that no record names.
    pub fn unrecorded(&self, agent: &str) -> impl Iterator<Item = &Session> {
        self.agent_sessions.unrecorded(&self.sessions, agent)
    }

    /// Returns the newest session of an agent whose record has the report of a run.
    pub fn newest_reported(&self, agent: &str) -> Option<&Session> {
        self.agent_sessions.newest_reported(&self.sessions, agent)
    }

    /// Returns the estimated report of an agent's workspace as it was a moment ago, else as `read` returns it; `is_run` if
    /// it is for runs without a reader.
    pub fn workspace_report(
        &self,
        agent: &str,
        is_run: bool,
        read: impl FnOnce() -> Option<SystemPromptReport>,
    ) -> Option<Arc<SystemPromptReport>> {
        self.workspace_reports.get_or_read(agent, is_run, read)
    }

    /// Returns the session of an agent whose record names `id` as its predecessor, with the time at which it began.
    pub fn follower(&self, agent: &str, id: &str) -> Option<(&Session, Moment)> {
        let session = self.agent_sessions.follower(&self.sessions, agent, id)?;
        Some((session, began_ms(session)))
    }

    /// Returns the sessions of an agent with a record that changed at this time or later, with the time at which each
    /// began; NaN if unknown.
    pub fn changed_since(&self, agent: &str, since: Moment) -> impl Iterator<Item = (&Session, Moment)> {
        self.agent_sessions.changed_since(&self.sessions, agent, since)
    }

    /// Whether something besides transcripts shows that a gateway stores its sessions here.
    pub fn is_gateway(&self) -> bool {
        self.config.path.as_deref().is_some_and(Path::exists)
            || self.state_dir.join("agents").is_dir()
            || self.state_dir.join(STORE_FILE_NAME).is_file()
    }

    /// Returns the date of the gateway's newest session; `None` for loose files, which any program may have written.
    fn newest_date(&self) -> Option<Date> {
        let recorded = self.sessions.iter().filter(|session| session.record.is_some());
        let newest = recorded.filter_map(Session::updated_ms).map(Moment::whole).max()?;
        Some(Timestamp::from_millisecond(newest).ok()?.to_zoned(TimeZone::UTC).date())
    }

    /// Applies the rules of a release, and its list of models.
    pub fn use_ruleset(&mut self, ruleset: RulesetChoice) {
        Arc::make_mut(&mut self.config).models = ruleset.models();
        self.ruleset = ruleset;
    }

    /// Detects the ruleset from configuration and files.
    pub fn detect_ruleset(&self) -> RulesetChoice {
        let era = detect_era(&self.path_kind, &self.sessions, &self.databases);
        let chosen = RulesetChoice::detect(&self.config, &era).or_date(self.newest_date());
        let settings = (era == Era::Pi).then(|| load_settings(&self.path_kind, None)).flatten();
        chosen.or_pi_version(settings.and_then(|settings| settings.last_version()))
    }
}

pub(super) fn empty_store(shape: PathKind, state_dir: PathBuf, config: GatewayConfig) -> Store {
    let config = Arc::new(config);
    let error = config.error.as_ref().map(Diagnostic::from);
    let diagnostics = error.into_iter().chain(config.diagnostics.iter().cloned()).collect();
    let ruleset = RulesetChoice::default();
    Store {
        path_kind: shape,
        state_dir,
        config,
        ruleset,
        databases: Vec::new(),
        agents: Vec::new(),
        sessions: Vec::new(),
        diagnostics,
        options: String::new(),
        agent_sessions: AgentSessions::default(),
        workspace_reports: WorkspaceReports::default(),
    }
}

// The sessions of each agent that lookups from one session to others need. Found once per store: a lookup for each of
// 100,000 sessions cannot walk all of them.

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

// Estimated prompt reports of the agents, kept for a moment: a list would read the files of a workspace once for each of
// its sessions.

/// Age at which the files are read again.
const MAX_AGE: Duration = Duration::from_secs(1);

/// By agent, and whether it is for runs that get fewer files. A clone starts empty, because its settings may be changed.
#[derive(Debug, Default)]
pub(super) struct WorkspaceReports(Mutex<HashMap<(String, bool), KnownReport>>);

/// When the files were read, and the report; `None` without a workspace.
type KnownReport = (Instant, Option<Arc<SystemPromptReport>>);

impl Clone for WorkspaceReports {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl WorkspaceReports {
    pub(super) fn get_or_read(
        &self,
        agent: &str,
        is_run: bool,
        read: impl FnOnce() -> Option<SystemPromptReport>,
    ) -> Option<Arc<SystemPromptReport>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (agent.to_owned(), is_run);
        if let Some((_, report)) = known.get(&key).filter(|(since, _)| since.elapsed() < MAX_AGE) {
            return report.clone();
        }
        let report = read().map(Arc::new);
        known.insert(key, (Instant::now(), report.clone()));
        report
    }
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

#[cfg(test)]
mod workspace_reports_tests {
    use super::*;

    #[test]
    fn the_files_are_read_once_for_each_agent_and_kind_of_run() {
        let reports = WorkspaceReports::default();
        let mut reads = Vec::new();
        for (agent, is_run) in [("a", false), ("a", false), ("a", true), ("b", false), ("a", true)] {
            reports.get_or_read(agent, is_run, || {
                reads.push((agent, is_run));
                None
            });
        }
        assert_eq!(reads, [("a", false), ("a", true), ("b", false)]);
        let mut again = false;
        let old = Instant::now().checked_sub(MAX_AGE);
        reports.0.lock().unwrap().values_mut().for_each(|known| known.0 = old.unwrap_or(known.0));
        reports.get_or_read("a", false, || {
            again = true;
            None
        });
        assert_eq!(again, old.is_some(), "an old reading is read again");
    }
}
