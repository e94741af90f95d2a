//! The data behind `clawscope doctor`, collected from the store, its configuration and its transcripts. `doctor` only
//! prints it.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::environment::Workspace;
use super::failure::Failure;
use super::pi_settings::{PiSettingsReport, ReportedSetting};
use super::sessions::unreadable_diagnostic;
use crate::commit::{LockState, lock_state};
use crate::diagnostic::{Diagnostic, Severity};
use crate::files::PathText;
use crate::format::format_number;
use crate::gateway::compaction::{
    CompactionMode, CompactionSettings, compaction_mode, gateway_compaction_under,
};
use crate::gateway::config::GatewayConfig;
use crate::gateway::effective::{ResolvedSetting, list_settings};
use crate::gateway::eligibility::{ModelRoute, is_eligible_under};
use crate::gateway::memory_flush::{FlushSettings, flush_settings_under};
use crate::gateway::recorded_window::ModelUser;
use crate::gateway::registry::Provenance;
use crate::gateway::ruleset::{Reserve, Ruleset};
use crate::gateway::state_dir::{StateDirSource, state_dir};
use crate::gateway::window::WindowInfo;
use crate::gateway::window_lookup::flush_window;
use crate::js::Value;
use crate::policy::settings::{SettingId, SettingRow, compaction_settings};
use crate::redact::{Redactor, masked};
use crate::runtime::watch::{WatchMode, find_polled, store_folders};
use crate::session::json::finite;
use crate::session::lifecycle::Lifecycle;
use crate::session::simulated_settings::effective_setting_rows;
use crate::session::{LoadedSession, Mark, SessionItem};
use crate::store::model::{DEFAULT_MODEL, ModelRef};
use crate::store::path_kind::load_settings;
use crate::units::{Bytes, Tokens};

/// The model of an agent's next call, unless the session overrides it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AgentModel {
    pub provider: String,
    #[serde(rename = "model", serialize_with = "without_secrets")]
    pub id: String,
    pub window: WindowInfo,
    /// The origin of the window.
    #[serde(rename = "windowFrom")]
    pub window_provenance: Provenance,
    /// Whether the pruner runs on this model.
    #[serde(rename = "pruningEligible")]
    pub is_prunable: bool,
}

fn without_secrets<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&masked(text))
}

/// An agent and the model of its next call.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AgentReport {
    pub id: String,
    #[serde(rename = "configured")]
    pub is_configured: bool,
    #[serde(rename = "onDisk")]
    pub is_on_disk: bool,
    pub sessions: u64,
    #[serde(flatten)]
    pub model: AgentModel,
}

/// A lock file of a transcript.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TranscriptLock {
    #[serde(with = "PathText")]
    pub path: PathBuf,
    /// `held` or `stale`.
    pub state: &'static str,
    pub pid: Option<u32>,
    /// The reason for `stale`, or a note that the process cannot be seen; empty for a live lock.
    #[serde(rename = "why")]
    pub reason: String,
}

#[derive(Debug)]
pub(super) struct DoctorReport {
    /// Setting or variable that named the state dir.
    pub state_dir_origin: String,
    pub agents: Vec<AgentReport>,
    /// The settings of `contextPruning`.
    pub pruning: Vec<ReportedSetting>,
    pub compaction_settings: Vec<ReportedSetting>,
    pub memory_flush: Vec<ReportedSetting>,
    /// Remaining settings that affect sessions, or pi's own.
    pub settings: Vec<ReportedSetting>,
    /// Rules that reset each session, by session key.
    pub lifecycles: Vec<(String, Lifecycle)>,
    /// pi's own settings; `None` in a gateway's store, which does not read them.
    pub pi: Option<PiSettingsReport>,
    pub compaction: CompactionSettings,
    pub mode: CompactionMode,
    /// The reserve floor, if it raises the reserve, in words.
    pub raised_reserve: Option<String>,
    pub locks: Vec<TranscriptLock>,
    /// From the store, its configuration and every transcript.
    pub diagnostics: Vec<Diagnostic>,
    /// Number of transcripts read.
    pub transcripts: u64,
    pub bytes: Bytes,
    pub entries: u64,
    pub bad_lines: u64,
    /// Transcripts per ruleset, in the order of [`Ruleset::ALL`].
    pub ruleset_counts: Vec<(Ruleset, u64)>,
    mark_counts: Vec<(&'static str, u64)>,
}

/// The part of an opened transcript that the report keeps, so that memory holds few transcripts at once.
#[derive(Debug)]
pub(super) struct TranscriptFacts {
    ruleset: Ruleset,
    compaction: CompactionSettings,
    bytes: Bytes,
    entries: u64,
    bad_lines: u64,
    marks: Vec<Mark>,
    diagnostics: Vec<Diagnostic>,
}

impl From<LoadedSession> for TranscriptFacts {
    fn from(session: LoadedSession) -> Self {
        let diagnostics = session.diagnostics();
        let LoadedSession { index, item, ruleset, configured_settings, .. } = session;
        Self {
            ruleset: ruleset.id,
            compaction: configured_settings.compaction,
            bytes: index.file_bytes(),
            entries: index.entries.len() as u64,
            bad_lines: index.bad_lines,
            marks: item.marks,
            diagnostics,
        }
    }
}

/// Reports a transcript that does not exist: lost if its record counts tokens or compactions, otherwise not written yet.
fn missing_diagnostic(item: &SessionItem, failure: Failure) -> Option<Diagnostic> {
    let is_lost = item.tokens.is_some() || item.compactions.is_some_and(|count| count > 0);
    let mut found = unreadable_diagnostic(item, failure)?;
    found.severity = if is_lost { Severity::Warning } else { Severity::Note };
    if let Some((what, next)) = found.message.clone().split_once(". ") {
        (found.message, found.advice) = (what.to_owned(), format!("{next}."));
    }
    Some(found)
}

/// Counts transcripts per ruleset: a pi store may mix versions.
fn count_rulesets(read: &[ReadSession]) -> Vec<(Ruleset, u64)> {
    let opened = |ruleset: Ruleset| {
        let own = read.iter().filter_map(|session| session.as_ref().ok());
        own.filter(|session| session.ruleset == ruleset).count() as u64
    };
    let counts = Ruleset::ALL.into_iter().map(|ruleset| (ruleset, opened(ruleset)));
    counts.filter(|(_, count)| *count > 0).collect()
}

type ReadSession = Result<TranscriptFacts, Failure>;

impl DoctorReport {
    /// `read` has the transcript of each listed item.
    pub(super) fn new(workspace: &Workspace, read: Vec<ReadSession>) -> Self {
        let config = &workspace.store().config;
        let pi = PiSettingsReport::load(workspace.store());
        let agents = agent_reports(workspace, pi.as_ref());
        let compaction = store_compaction(workspace, &read);
        let rules = workspace.store().ruleset.id.rules();
        let model = agents.first().map_or("", |agent| agent.model.id.as_str());
        let flush = flush_settings_under(rules, config, flush_window(config, model, None));
        let compaction_rows = compaction_rows(workspace, &agents, pi.as_ref(), compaction);
        let of_compaction = |row: &SettingRow| {
            reported_below(config, COMPACTION_PATH, row.name(), &row.value, &row.provenance)
        };
        let mut checkup = Self {
            raised_reserve: describe_raised_reserve(&flush, &compaction_rows, compaction),
            compaction_settings: compaction_rows.iter().map(of_compaction).collect(),
            state_dir_origin: describe_state_dir(workspace),
            agents,
            pruning: if pi.is_some() { Vec::new() } else { pruning_settings(workspace) },
            memory_flush: if pi.is_some() { Vec::new() } else { flush_rows(&flush).into() },
            settings: pi.as_ref().map_or_else(
                || redact_secrets(list_settings(config)).iter().map(ReportedSetting::from).collect(),
                PiSettingsReport::reported,
            ),
            lifecycles: session_lifecycles(workspace),
            pi,
            compaction,
            mode: compaction_mode(rules, &config.js_root),
            locks: find_locks(workspace),
            diagnostics: workspace
                .listed
                .diagnostics
                .iter()
                .cloned()
                .chain(polled_folder_diagnostics(workspace))
                .chain(workspace.refused_by_requested_release())
                .collect(),
            transcripts: 0,
            bytes: Bytes::ZERO,
            entries: 0,
            bad_lines: 0,
            ruleset_counts: count_rulesets(&read),
            mark_counts: count_marks(&workspace.listed.items, &read),
        };
        // Several keys may share a transcript (store D4).
        let mut seen: HashSet<&Path> = HashSet::new();
        for (item, session) in workspace.listed.items.iter().zip(read) {
            let is_new = item.path.as_deref().is_none_or(|path| seen.insert(path));
            checkup.add_session(item, session, is_new);
        }
        checkup
            .diagnostics
            .extend(checkup.pi.iter().flat_map(PiSettingsReport::diagnostics).collect::<Vec<_>>());
        checkup.diagnostics.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        // Every session of a workspace reports its cut files.
        let mut seen = HashSet::new();
        checkup.diagnostics.retain(|finding| seen.insert(finding.to_string()));
        checkup
    }

    fn add_session(&mut self, item: &SessionItem, read: ReadSession, is_new: bool) {
        match read {
            Ok(facts) => {
                if is_new {
                    self.transcripts += 1;
                    self.bytes += facts.bytes;
                    self.entries += facts.entries;
                    self.bad_lines += facts.bad_lines;
                }
                self.diagnostics.extend(facts.diagnostics);
            }
            Err(failure) if item.has(Mark::Missing) || item.path.is_none() => {
                self.diagnostics.extend(missing_diagnostic(item, failure));
            }
            Err(failure) => self.diagnostics.extend(unreadable_diagnostic(item, failure)),
        }
    }

    /// Returns the number of damaged sessions and of unreadable lines.
    pub(super) fn damage_counts(&self) -> (u64, u64) {
        let marked = self.mark_counts.iter().find(|(name, _)| *name == Mark::Damaged.as_str());
        (marked.map_or(0, |(_, count)| *count), self.bad_lines)
    }

    /// Returns the number of sessions, then the number per mark.
    pub(super) fn counts(&self) -> Vec<(&'static str, u64)> {
        let sessions = self.agents.iter().map(|agent| agent.sessions).sum();
        let mut counts = vec![
            ("sessions", sessions),
            ("transcripts", self.transcripts),
            ("bytes", self.bytes.get()),
            ("entries", self.entries),
            ("badLines", self.bad_lines),
        ];
        counts.extend(&self.mark_counts);
        counts
    }
}

fn describe_state_dir(workspace: &Workspace) -> String {
    if workspace.listed.is_demo {
        return match workspace.missing_path() {
            Some(path) => format!("the demo store, because there is nothing at {}", path.display()),
            None => "the demo store".to_owned(),
        };
    }
    if workspace.is_explicit {
        return "named on the command line".to_owned();
    }
    match state_dir(&workspace.env).source {
        StateDirSource::Variable(name) => format!("by {name}"),
        StateDirSource::Home => "the usual place".to_owned(),
        StateDirSource::Legacy => "the place of an older version; the usual one does not exist".to_owned(),
    }
}

fn agent_reports(workspace: &Workspace, pi: Option<&PiSettingsReport>) -> Vec<AgentReport> {
    let config = &workspace.store().config;
    let rules = workspace.store().ruleset.id.rules();
    let facts = |agent: &crate::store::locate::Agent| {
        let ModelRef { provider, model } = match pi.map(PiSettingsReport::default_model) {
            Some((provider, model)) => ModelRef { provider, model },
            None => ModelRef::parse(config.default_model(&agent.id).unwrap_or(DEFAULT_MODEL)),
        };
        let sessions = workspace.listed.items.iter().filter(|item| item.agent == agent.id).count();
        let user = ModelUser { agent: &agent.id, session: "" };
        let window = config.window(rules, user, &provider, &model);
        AgentReport {
            id: agent.id.clone(),
            is_configured: agent.is_configured,
            is_on_disk: agent.is_on_disk,
            sessions: sessions as u64,
            model: AgentModel {
                window_provenance: config.window_provenance(&window, user, &provider, &model),
                window,
                is_prunable: is_eligible_under(
                    rules,
                    &provider,
                    &model,
                    &ModelRoute::from_config(&config.js_root, &provider, &model),
                ),
                provider,
                id: model,
            },
        }
    };
    workspace.store().agents.iter().map(facts).collect()
}

/// Takes the settings of any session, as a gateway applies the same to all; pi's come from its own settings file.
fn store_compaction(workspace: &Workspace, read: &[ReadSession]) -> CompactionSettings {
    let any = read.iter().find_map(|read| read.as_ref().ok()).map(|facts| facts.compaction);
    let rules = workspace.store().ruleset.id.rules();
    let config = &workspace.store().config.js_root;
    let pi = load_settings(&workspace.store().path_kind, None).filter(|_| rules.reserve == Reserve::Runtime);
    if let Some(pi) = pi {
        return pi.compaction(Some(""));
    }
    any.unwrap_or_else(|| {
        gateway_compaction_under(rules, config, CompactionSettings::default(), Tokens(f64::NAN))
    })
}

/// Lists the compaction keys for the window of the first agent's model.
fn compaction_rows(
    workspace: &Workspace,
    agents: &[AgentReport],
    pi: Option<&PiSettingsReport>,
    in_force: CompactionSettings,
) -> Vec<SettingRow> {
    let ruleset = workspace.store().ruleset.id;
    let window = agents.first().map_or(f64::NAN, |agent| agent.model.window.tokens.get());
    let of_runtime = ruleset.rules().reserve == Reserve::Runtime;
    let runtime = if of_runtime { in_force } else { CompactionSettings::default() };
    let mut rows = compaction_settings(&workspace.store().config, ruleset, runtime, Tokens(window));
    for row in rows.iter_mut().filter(|_| pi.is_some()) {
        let Some(own) = pi.map(|pi| pi.settings.token_setting(row.name(), Some(""))) else { continue };
        (row.config, row.value, row.provenance) = (own.raw_value, own.value.into(), own.provenance);
    }
    rows
}

/// Parent keys of the rows in the settings tables.
const PRUNING_PATH: [&str; 3] = ["agents", "defaults", "contextPruning"];
const COMPACTION_PATH: [&str; 3] = ["agents", "defaults", "compaction"];

/// Reports a setting below a key, with the places of the file's includes that it overrides.
fn reported_below(
    config: &GatewayConfig,
    above: [&str; 3],
    key: &str,
    value: &Value,
    from: &Provenance,
) -> ReportedSetting {
    let path: Vec<&str> = above.into_iter().chain(key.split('.')).collect();
    let is_from_file = matches!(from, Provenance::File { .. });
    let places = if is_from_file { config.provenance_chain(&path) } else { Vec::new() };
    ReportedSetting::new(key, value, from, places.get(1..).unwrap_or_default())
}

fn pruning_settings(workspace: &Workspace) -> Vec<ReportedSetting> {
    let config = &workspace.store().config;
    let rows = effective_setting_rows(config, workspace.store().ruleset.id);
    rows.iter()
        .map(|row| reported_below(config, PRUNING_PATH, row.key, &row.value, &row.provenance))
        .collect()
}

fn flush_rows(flush: &FlushSettings) -> [ReportedSetting; 4] {
    let (soft, force, floor) = (&flush.soft_tokens, &flush.force_bytes, &flush.floor_tokens);
    [
        ("memoryFlush.enabled", Value::from(flush.enabled.value), &flush.enabled.provenance),
        ("memoryFlush.softThresholdTokens", Value::from(finite(soft.value.get())), &soft.provenance),
        ("memoryFlush.forceFlushTranscriptBytes", Value::from(force.value), &force.provenance),
        ("reserveTokensFloor", Value::from(finite(floor.value.get())), &floor.provenance),
    ]
    .map(|(key, value, from)| ReportedSetting::new(key, &value, from, &[]))
}

/// Explains a reserve above its setting: the reserve floor raises it (compaction 2.2).
fn describe_raised_reserve(
    flush: &FlushSettings,
    rows: &[SettingRow],
    compaction: CompactionSettings,
) -> Option<String> {
    let floor = flush.floor_tokens.value;
    let row = rows.iter().find(|row| row.id == SettingId::ReserveTokens)?;
    let set = row.config.as_ref().and_then(Value::as_f64).filter(|tokens| *tokens >= 0.0);
    let own = set.map_or(CompactionSettings::default().reserve_tokens, Tokens);
    (compaction.reserve_tokens == floor && own < floor).then(|| {
        let what = if set.is_some() { "the configured reserve" } else { "the runtime's reserve" };
        format!(
            "reserveTokensFloor {} ({}) overrides {what} {}",
            format_number(floor.whole()),
            flush.floor_tokens.provenance,
            format_number(own.whole())
        )
    })
}

fn find_locks(workspace: &Workspace) -> Vec<TranscriptLock> {
    let lock = |item: &SessionItem| {
        let path = item.path.as_deref()?;
        let (state, pid, why) = match lock_state(path, workspace.now_ms).ok()? {
            LockState::Free => return None,
            LockState::Held { pid, live, .. } => {
                ("held", pid, if live { String::new() } else { "its process cannot be seen".to_owned() })
            }
            LockState::Stale { reasons } => {
                let words: Vec<&str> = reasons.iter().map(|reason| reason.as_str()).collect();
                ("stale", None, format!("left behind ({}); the next writer takes it", words.join(", ")))
            }
        };
        let mut name = path.as_os_str().to_owned();
        name.push(".lock");
        Some(TranscriptLock { path: name.into(), state, pid, reason: why })
    };
    workspace.listed.items.iter().filter_map(lock).collect()
}

/// Redacts secrets: parameters of models may hold headers and API keys.
fn redact_secrets(mut rows: Vec<ResolvedSetting>) -> Vec<ResolvedSetting> {
    let mut redactor = Redactor::default();
    for row in &rows {
        redactor.learn_value(&row.value);
    }
    for row in &mut rows {
        row.value = redactor.redact_value(&row.value);
    }
    rows
}

fn session_lifecycles(workspace: &Workspace) -> Vec<(String, Lifecycle)> {
    let sessions = workspace.store().sessions_by_key();
    let of = |item: &SessionItem| {
        let session = sessions.get(&item.key).filter(|session| session.path == item.path)?;
        Some((item.key.0.clone(), Lifecycle::for_session(workspace.store(), session)?))
    };
    workspace.listed.items.iter().filter_map(of).collect()
}

/// Counts sessions per mark, including marks that no session has.
fn count_marks(items: &[SessionItem], read: &[ReadSession]) -> Vec<(&'static str, u64)> {
    let has = |(item, read): &(&SessionItem, &ReadSession), mark| {
        read.as_ref().map_or_else(|_| item.has(mark), |facts| facts.marks.contains(&mark))
    };
    let count = |mark| items.iter().zip(read).filter(|read| has(read, mark)).count() as u64;
    Mark::ALL.into_iter().map(|mark| (mark.as_str(), count(mark))).collect()
}

/// Reports folders that send no change notifications, so that followers must poll them.
fn polled_folder_diagnostics(workspace: &Workspace) -> impl Iterator<Item = Diagnostic> {
    let folders = if workspace.listed.is_demo { BTreeSet::new() } else { store_folders(workspace.store()) };
    find_polled(folders, WatchMode::from_env(&workspace.env)).into_iter().map(|polled| {
        let what = format!("is checked every second while clawscope follows it: {}", polled.reason);
        let next = "changes appear up to a second late; run clawscope on the machine with the store, or raise the limit that the reason names";
        Diagnostic::new(polled.folder, Severity::Note, what, next)
    })
}
