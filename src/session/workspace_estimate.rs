//! Estimates the system prompt of a session without a stored report: its workspace files as they are on disk now, and the
//! rest as in the newest run of another session of the same agent (compaction 11.2, 11.9).

use std::path::Path;

use crate::context::budget::FixedChars;
use crate::files;
use crate::gateway::config::GatewayConfig;
use crate::gateway::ruleset::FileLimits;
use crate::js::{JsString, Object, Value};
use crate::session::session_settings::injected_sizes;
use crate::store::discovery::Store;
use crate::store::key::SessionKind;
use crate::store::prompt_report::{InjectedFile, ReportSource, SystemPromptReport};
use crate::store::session::Session;
use crate::units::Chars;

/// The files of a prompt in the gateway's order.
const FILES: [&str; 8] =
    ["AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "HEARTBEAT.md", "BOOTSTRAP.md", MEMORY];
/// Runs without a reader get fewer files.
const FILES_OF_RUNS: [&str; 5] = ["AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md"];
/// A missing file is announced to the model, except these two.
const UNANNOUNCED: [&str; 2] = ["BOOTSTRAP.md", MEMORY];
const MEMORY: &str = "MEMORY.md";
/// The gateway ignores larger files.
const MAX_FILE_BYTES: u64 = 2 << 20;
/// Chars around each file besides its path: `## `, and line ends.
const HEADING_CHARS: Chars = Chars(6.0);

/// Returns the chars of an estimated report, from files that may have been read a moment ago.
pub(super) fn estimate_chars(store: &Store, session: &Session) -> Option<FixedChars> {
    let read = || estimate_report(store, session);
    let report = store.workspace_report(&session.agent, is_run(session), read)?;
    Some(FixedChars::new(&report))
}

/// Whether no person reads the answers of a session.
fn is_run(session: &Session) -> bool {
    matches!(session.kind, SessionKind::Subagent | SessionKind::Cron)
}

/// Returns an estimated report; `None` without a workspace that holds one of the files.
pub(super) fn estimate_report(store: &Store, session: &Session) -> Option<SystemPromptReport> {
    let workspace = store.config.workspace_dir(&session.agent, &store.state_dir)?;
    if !store.is_gateway() {
        return None;
    }
    let names: &[&str] = if is_run(session) { &FILES_OF_RUNS } else { &FILES };
    let limits = file_limits(&store.config, store.ruleset.id.rules().workspace_files);
    let files = read_files(&workspace, names, limits);
    if files.iter().all(|file| file.is_missing) {
        return None;
    }
    let other = newest_report(store, session);
    SystemPromptReport::from_value(&report_value(&workspace, &files, limits, other.as_ref()))
}

fn file_limits(config: &GatewayConfig, default: FileLimits) -> FileLimits {
    let own = |key| config.value(&["agents", "defaults", key]).and_then(Value::as_f64);
    let limit =
        |key| own(key).filter(|most| most.is_finite() && *most >= 1.0).map(|most| Chars(most.floor()));
    FileLimits {
        file: limit("bootstrapMaxChars").unwrap_or(default.file),
        total: limit("bootstrapTotalMaxChars").unwrap_or(default.total),
    }
}

/// Reads the sizes of the files, each as much as the gateway would send.
fn read_files(workspace: &Path, names: &[&str], limits: FileLimits) -> Vec<InjectedFile> {
    let read = |name: &&str| {
        let path = workspace.join(name);
        let text = files::read(&path, MAX_FILE_BYTES).ok();
        if text.is_none() && UNANNOUNCED.contains(name) {
            return None;
        }
        let text = text.map(|bytes| JsString::from(String::from_utf8_lossy(&bytes).trim_end()));
        let shown = path.display().to_string();
        let notice = format!("[MISSING] Expected at: {shown}");
        let raw = text.as_ref().map_or(Chars::ZERO, |text| Chars::from_len(text.len()));
        Some(InjectedFile {
            name: (*name).to_owned(),
            path: Some(shown),
            raw_chars: raw,
            injected_chars: if text.is_some() { raw } else { Chars::from_len(notice.len()) },
            is_truncated: false,
            is_missing: text.is_none(),
        })
    };
    let mut files: Vec<InjectedFile> = names.iter().filter_map(read).collect();
    let sizes = injected_sizes(&files, limits);
    for (file, sent) in files.iter_mut().zip(sizes) {
        file.is_truncated = !file.is_missing && sent < file.raw_chars;
        file.injected_chars = sent;
    }
    files
}

/// Returns the report of the newest run of another session of the agent.
fn newest_report(store: &Store, session: &Session) -> Option<SystemPromptReport> {
    let newest = store.newest_reported(&session.agent)?.record.as_ref()?;
    newest.prompt_report().filter(|report| report.source == ReportSource::Run)
}

fn report_value(
    workspace: &Path,
    files: &[InjectedFile],
    limits: FileLimits,
    other: Option<&SystemPromptReport>,
) -> Value {
    let heading = |file: &InjectedFile| {
        file.path.as_ref().map_or(Chars::ZERO, |path| Chars::from_len(path.len())) + HEADING_CHARS
    };
    let project: Chars = files.iter().map(|file| file.injected_chars + heading(file)).sum();
    let own =
        other.map_or(Chars::ZERO, |report| (report.system_chars - report.project_chars).max(Chars::ZERO));
    let group = |key: &str| other.and_then(|report| report.raw.get(key).cloned()).unwrap_or(Value::Null);
    object([
        ("source", Value::from(ReportSource::Workspace.as_str())),
        ("workspaceDir", Value::from(workspace.display().to_string().as_str())),
        ("bootstrapMaxChars", Value::from(limits.file)),
        ("bootstrapTotalMaxChars", Value::from(limits.total)),
        (
            "systemPrompt",
            object([
                ("chars", Value::from(own + project)),
                ("projectContextChars", Value::from(project)),
                ("nonProjectContextChars", Value::from(own)),
            ]),
        ),
        ("injectedWorkspaceFiles", Value::Array(files.iter().map(file_value).collect())),
        ("skills", group("skills")),
        ("tools", group("tools")),
    ])
}

fn file_value(file: &InjectedFile) -> Value {
    object([
        ("name", Value::from(file.name.as_str())),
        ("path", file.path.as_deref().map_or(Value::Null, Value::from)),
        ("missing", Value::Bool(file.is_missing)),
        ("rawChars", Value::from(file.raw_chars)),
        ("injectedChars", Value::from(file.injected_chars)),
        ("truncated", Value::Bool(file.is_truncated)),
    ])
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Object(Object::from(members))
}
