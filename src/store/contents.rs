//! The contents of a store: its agents, sessions and databases, and the configuration around them.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::agent_sessions::{AgentSessions, began_ms};
use super::agents::Agent;
use super::database_info::DatabaseInfo;
use super::era::detect_era;
use super::path_kind::PathKind;
use super::pi_dirs::load_settings;
use super::prompt_report::SystemPromptReport;
use super::session::Session;
use super::workspace_reports::WorkspaceReports;
use crate::diagnostic::Diagnostic;
use crate::gateway::config::GatewayConfig;
use crate::gateway::env::Environment;
use crate::gateway::recorded_window::RecordedWindow;
use crate::gateway::ruleset::{Era, RulesetChoice};
use crate::ids::SessionKey;
use crate::units::Moment;

pub(super) const STORE_FILE_NAME: &str = "sessions.json";

#[derive(Debug, Clone)]
pub struct Store {
    pub path_kind: PathKind,
    /// The gateway's state dir; for pi and for single files, the folder that holds them.
    pub state_dir: PathBuf,
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
        agent_sessions: AgentSessions::default(),
        workspace_reports: WorkspaceReports::default(),
    }
}
