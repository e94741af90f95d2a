//! Classifies a path from the command line, by its name and its content.

use std::path::{Path, PathBuf};

use super::archive::{FileKind, classify, is_jsonl};
use super::sqlite::DATABASE_NAME;
use crate::gateway::env::{config_in, state_dir_in};
use crate::gateway::substitute::is_secret_file;

/// Limit of folder entries searched for grouped sessions, because the folder may be anyone's.
const MAX_GROUPS: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathKind {
    StateDir(PathBuf),
    /// Sessions dir of one agent.
    SessionsDir(PathBuf),
    /// A `sessions.json`.
    StoreFile(PathBuf),
    Transcript(PathBuf),
    PiAgentDir(PathBuf),
    /// pi's sessions dir: with one folder per working directory, or one of those, or a flat one.
    PiSessionsDir(PathBuf),
    /// Database of an agent, from 2026.8.1 on.
    Database(PathBuf),
    /// Nothing, or nothing that holds sessions.
    Nothing(PathBuf),
}

/// Classifies an absolute path.
pub fn classify_path(path: &Path) -> PathKind {
    let own = path.to_path_buf();
    if path.is_dir() {
        return classify_dir(path);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if !path.is_file() || is_secret_file(path) || matches!(classify(&name), FileKind::Recording) {
        return PathKind::Nothing(own);
    }
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("json") => PathKind::StoreFile(own),
        Some("sqlite" | "db") => PathKind::Database(own),
        _ => PathKind::Transcript(own),
    }
}

fn classify_dir(dir: &Path) -> PathKind {
    let own = dir.to_path_buf();
    let sessions = dir.join("sessions");
    let names = DirNames::read(dir);
    let below = DirNames::read(&sessions);
    let is_agents_child = |dir: &Path| dir.parent().is_some_and(|parent| parent.ends_with("agents"));
    let database = [dir.join(DATABASE_NAME), dir.join("agent").join(DATABASE_NAME)]
        .into_iter()
        .find(|path| path.is_file());
    if dir.join("agents").is_dir() || config_in(dir).is_some() {
        PathKind::StateDir(own)
    } else if let Some(database) = database {
        PathKind::Database(database)
    } else if names.contains("sessions.json")
        || (dir.ends_with("sessions") && dir.parent().is_some_and(is_agents_child))
    {
        PathKind::SessionsDir(own)
    } else if below.contains("sessions.json") || (sessions.is_dir() && is_agents_child(dir)) {
        PathKind::SessionsDir(sessions)
    } else if below.any(is_pi_cwd_dir) || names.contains("settings.json") && sessions.is_dir() {
        PathKind::PiAgentDir(own)
    } else if names.any(is_pi_cwd_dir) || names.any(is_pi_transcript) || looks_like_pi_dir(dir, &names) {
        PathKind::PiSessionsDir(own)
    } else if below.any(is_pi_transcript) {
        PathKind::PiSessionsDir(sessions)
    } else if names.any(is_jsonl) {
        PathKind::SessionsDir(own)
    } else if below.any(is_jsonl) {
        PathKind::SessionsDir(sessions)
    } else if let Some(state) = state_dir_in(dir) {
        // A home folder or a backup of one.
        PathKind::StateDir(state)
    } else if has_nested_sessions(dir) {
        PathKind::PiSessionsDir(own)
    } else {
        PathKind::Nothing(own)
    }
}

/// Whether this is pi's folder for one working directory, with any names of its files.
fn looks_like_pi_dir(dir: &Path, names: &DirNames) -> bool {
    let is_own = dir.file_name().is_some_and(|name| is_pi_cwd_dir(&name.to_string_lossy()));
    is_own && names.any(is_jsonl)
}

/// Whether pi's folders lie one or two levels down, as when sessions are grouped by project.
fn has_nested_sessions(dir: &Path) -> bool {
    let below = |dir: &Path| {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries.take(MAX_GROUPS).map(|entry| entry.path()).filter(|path| path.is_dir()).collect::<Vec<_>>()
    };
    let is_pis =
        |dir: &PathBuf| DirNames::read(dir).any(|name| is_pi_cwd_dir(name) || is_pi_transcript(name));
    let groups = below(dir);
    groups.iter().any(is_pis) || groups.iter().any(|group| below(group).iter().any(is_pis))
}

/// Names in a folder; empty when it cannot be read.
struct DirNames(Vec<String>);

impl DirNames {
    fn read(dir: &Path) -> Self {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        Self(entries.filter_map(|entry| entry.file_name().into_string().ok()).collect())
    }

    fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|own| own == name)
    }

    fn any(&self, test: fn(&str) -> bool) -> bool {
        self.0.iter().any(|name| test(name))
    }
}

/// Whether a name is that of pi's folder for one working directory (store R2).
pub fn is_pi_cwd_dir(name: &str) -> bool {
    name.len() >= 4 && name.starts_with("--") && name.ends_with("--")
}

/// Whether a name is `<ISO time with dashes>_<id>.jsonl`, as pi names its files (store R3).
pub(super) fn is_pi_transcript(name: &str) -> bool {
    let stem = name.strip_suffix(".jsonl").filter(|_| is_jsonl(name));
    let Some((time, id)) = stem.and_then(|stem| stem.split_once('_')) else {
        return false;
    };
    let shape: Vec<u8> = time.bytes().map(|b| if b.is_ascii_digit() { b'0' } else { b }).collect();
    shape == b"0000-00-00T00-00-00-000Z" && !id.is_empty()
}
