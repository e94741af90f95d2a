//! The JSON of `doctor`.

use schemars::JsonSchema;
use serde::Serialize;

use super::diagnostics::{AgentReport, DoctorReport, TranscriptLock};
use super::environment::Workspace;
use super::pi_settings::ReportedSetting;
use super::repair::{Repair, RepairJson};
use super::ruleset::{RulesetJson, ruleset_json};
use super::session_output::{LifecycleJson, finite, lifecycle_json};
use crate::diagnostic::Diagnostic;
use crate::export::json::JsonOutput;
use crate::gateway::AppliedDefault;
use crate::gateway::compaction::{CompactionMode, CompactionSettings};
use crate::gateway::config::{ConfigError, GatewayConfig};
use crate::js::Members;
use crate::session::lifecycle::Lifecycle;
use crate::store::discovery::DatabaseInfo;
use crate::units::Tokens;

/// The store, its problems and the settings in force.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct DoctorJson<'a> {
    place: String,
    /// Whether this is the demo store.
    demo: bool,
    ruleset: RulesetJson,
    state_dir: StateDirJson,
    config: ConfigJson<'a>,
    databases: Vec<DatabaseJson>,
    /// Transcripts by ruleset.
    rulesets: Members<u64>,
    /// Sessions, transcripts, bytes, entries and bad lines, then sessions by mark.
    counts: Members<u64>,
    agents: &'a [AgentReport],
    context_pruning: &'a [ReportedSetting],
    compaction: CompactionJson,
    compaction_settings: &'a [ReportedSetting],
    memory_flush: &'a [ReportedSetting],
    /// Remaining settings that affect sessions, or pi's own.
    settings: &'a [ReportedSetting],
    /// The resets of each session.
    lifecycle: Vec<SessionLifecycleJson>,
    locks: &'a [TranscriptLock],
    /// With `--repair`.
    repairs: Option<Vec<RepairJson>>,
    findings: &'a [Diagnostic],
}

impl JsonOutput for DoctorJson<'_> {}

#[derive(Serialize, JsonSchema)]
struct StateDirJson {
    path: String,
    /// The setting or variable that named it.
    why: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ConfigJson<'a> {
    path: Option<String>,
    error: Option<&'a ConfigError>,
    /// Defaults that the gateway fills in.
    filled_in: &'a [AppliedDefault],
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CompactionJson {
    enabled: bool,
    mode: &'static str,
    reserve_tokens: Option<Tokens>,
    keep_recent_tokens: Option<Tokens>,
}

#[derive(Serialize, JsonSchema)]
struct SessionLifecycleJson {
    /// The session key.
    key: String,
    #[serde(flatten)]
    lifecycle: LifecycleJson,
}

pub(super) fn report_json<'a>(
    workspace: &'a Workspace,
    checkup: &'a DoctorReport,
    repairs: Option<&[Repair]>,
) -> DoctorJson<'a> {
    let store = workspace.store();
    let lifecycle = |(key, lifecycle): &(String, Lifecycle)| SessionLifecycleJson {
        key: key.clone(),
        lifecycle: lifecycle_json(lifecycle, workspace.now_ms),
    };
    DoctorJson {
        place: workspace.listed.name.clone(),
        demo: workspace.listed.is_demo,
        ruleset: ruleset_json(&store.ruleset),
        state_dir: StateDirJson {
            path: store.state_dir.to_string_lossy().into_owned(),
            why: checkup.state_dir_origin.clone(),
        },
        config: config_json(&store.config),
        databases: store.databases.iter().map(DatabaseJson::from).collect(),
        rulesets: checkup.ruleset_counts.iter().map(|(ruleset, count)| (ruleset.id(), *count)).collect(),
        counts: checkup.counts().into_iter().collect(),
        agents: &checkup.agents,
        context_pruning: &checkup.pruning,
        compaction: compaction_json(&checkup.compaction, checkup.mode),
        compaction_settings: &checkup.compaction_settings,
        memory_flush: &checkup.memory_flush,
        settings: &checkup.settings,
        lifecycle: checkup.lifecycles.iter().map(lifecycle).collect(),
        locks: &checkup.locks,
        repairs: repairs.map(|repairs| repairs.iter().map(Repair::to_json).collect()),
        findings: &checkup.diagnostics,
    }
}

pub(super) fn compaction_json(settings: &CompactionSettings, mode: CompactionMode) -> CompactionJson {
    CompactionJson {
        enabled: settings.enabled,
        mode: mode.as_str(),
        reserve_tokens: finite(settings.reserve_tokens),
        keep_recent_tokens: finite(settings.keep_recent_tokens),
    }
}

fn config_json(config: &GatewayConfig) -> ConfigJson<'_> {
    ConfigJson {
        path: config.path.as_ref().map(|path| path.to_string_lossy().into_owned()),
        error: config.error.as_ref(),
        filled_in: config.applied_defaults(),
    }
}

/// A session database; its versions are null where it cannot be read.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct DatabaseJson {
    path: String,
    agent: Option<String>,
    schema_version: Option<i64>,
    /// The release that wrote it.
    app_version: Option<String>,
}

impl From<&DatabaseInfo> for DatabaseJson {
    fn from(holding: &DatabaseInfo) -> Self {
        let schema = holding.schema.as_ref();
        Self {
            path: holding.path.to_string_lossy().into_owned(),
            agent: schema.and_then(|schema| schema.agent.clone()),
            schema_version: schema.map(|schema| schema.version),
            app_version: schema.and_then(|schema| schema.app_version.clone()),
        }
    }
}

pub(super) fn describe_database(holding: &DatabaseInfo) -> String {
    let path = holding.path.display();
    match &holding.schema {
        None => format!("{path}: not read; see below"),
        Some(schema) => {
            let writer = schema.app_version.as_deref().map(|version| format!(", written by {version}"));
            format!("{path}: schema {}{}, read only", schema.version, writer.unwrap_or_default())
        }
    }
}
