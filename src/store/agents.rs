//! The agents of a gateway and the folders of their sessions (store A6, A10, E1).

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use super::locate::{sessions_dir, store_path};
use crate::diagnostic::{Diagnostic, Severity};
use crate::gateway::config::GatewayConfig;
use crate::gateway::env::Environment;

/// An agent (store A6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Normalised id.
    pub id: String,
    /// Whether a folder exists for it.
    pub is_on_disk: bool,
    /// Whether the configuration names it, or it is the default agent.
    pub is_configured: bool,
}

/// Returns the agents with a folder, the configured ones and the default agent.
pub(super) fn find_agents(
    config: &GatewayConfig,
    state: &Path,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Agent> {
    let dir = state.join("agents");
    let on_disk: BTreeSet<String> = match std::fs::read_dir(&dir) {
        Ok(entries) => entries
            .flatten()
            .filter(|e| e.path().is_dir() && !links_to_sibling(&e.path()))
            .filter_map(|e| e.file_name().into_string().ok())
            .collect(),
        Err(error) => {
            if error.kind() != std::io::ErrorKind::NotFound {
                let what = format!("cannot list the folder: {error}");
                diagnostics.push(Diagnostic::new(
                    &dir,
                    Severity::Error,
                    what,
                    "check the folder's permissions",
                ));
            }
            BTreeSet::new()
        }
    };
    let mut configured: BTreeSet<String> = config.agent_ids().into_iter().collect();
    configured.insert(config.default_agent_id());
    let agent = |id: &String| Agent {
        id: id.clone(),
        is_on_disk: on_disk.contains(id),
        is_configured: configured.contains(id),
    };
    on_disk.union(&configured).map(agent).collect()
}

/// Whether a folder links to another agent's folder, which would list the same sessions twice.
fn links_to_sibling(dir: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    dir.is_symlink()
        && real(dir).is_some_and(|target| target.parent() == dir.parent().and_then(real).as_deref())
}

/// Returns the `sessions.json` of every agent with its owner; a shared file once, for the default agent. A relative
/// `session.store` is a diagnostic.
pub(super) fn find_store_files(
    config: &GatewayConfig,
    env: &Environment,
    state: &Path,
    agents: &[Agent],
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<(String, PathBuf)> {
    let mut files: Vec<(String, PathBuf)> = Vec::new();
    let mut seen = HashSet::new();
    for agent in agents {
        let found = store_path(config, env, state, &agent.id);
        if found.is_relative && files.is_empty() {
            let path = config.path.clone().unwrap_or_default();
            let what = "session.store is a relative path: the gateway resolves it from its start folder, which \
                 clawscope does not know";
            let next = format!("write an absolute path; clawscope tried {}", found.path.display());
            diagnostics.push(Diagnostic::new(path, Severity::Warning, what, next));
        }
        let is_rows = found.path.extension().is_none_or(|extension| extension != "sqlite");
        if is_rows && seen.insert(found.path.clone()) {
            let owner = if found.is_shared { config.default_agent_id() } else { agent.id.clone() };
            files.push((owner, found.path));
        }
    }
    files
}

/// Returns the folders that may hold transcripts, with their agents.
pub(super) fn find_transcript_dirs(files: &[(String, PathBuf)], state: &Path) -> Vec<(String, PathBuf)> {
    let mut dirs: Vec<(String, PathBuf)> = Vec::new();
    let mut seen = HashSet::new();
    for (agent, rows) in files {
        let beside = rows.parent().unwrap_or(Path::new("/")).to_path_buf();
        for dir in [beside, sessions_dir(state, agent)] {
            if dir.is_dir() && seen.insert(dir.clone()) {
                dirs.push((agent.clone(), dir));
            }
        }
    }
    dirs
}
