//! What a path given on the command line is.

use std::path::{Path, PathBuf};

use super::archive::{FileKind, classify, is_jsonl};
use super::sqlite::DATABASE;
use crate::gateway::secrets::is_secret_file;
use crate::gateway::state_dir::config_in;

/// Entries of a directory that are looked into for grouped sessions: it may be anybody's.
const MAX_GROUPS: usize = 100;

/// What there is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// A gateway's state dir.
    StateDir(PathBuf),
    /// One agent of a gateway: its sessions dir.
    Sessions(PathBuf),
    /// A store file.
    Rows(PathBuf),
    /// A transcript.
    Transcript(PathBuf),
    /// pi's agent dir.
    PiAgentDir(PathBuf),
    /// pi's sessions dir: one directory per working directory, or one of those, or a flat one.
    PiSessions(PathBuf),
    /// A database of an agent, from 2026.9 on.
    Database(PathBuf),
    /// Nothing, or nothing that holds sessions.
    Nothing(PathBuf),
}

/// Tells what is at an absolute path, by its name and by what lies in it.
pub fn shape_of(path: &Path) -> Shape {
    let own = path.to_path_buf();
    if path.is_dir() {
        return shape_of_dir(path);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if !path.is_file() || is_secret_file(path) || matches!(classify(&name), FileKind::Recording) {
        return Shape::Nothing(own);
    }
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("json") => Shape::Rows(own),
        Some("sqlite" | "db") => Shape::Database(own),
        _ => Shape::Transcript(own),
    }
}

fn shape_of_dir(dir: &Path) -> Shape {
    let own = dir.to_path_buf();
    let sessions = dir.join("sessions");
    let names = Names::of(dir);
    let below = Names::of(&sessions);
    let is_agents_child = |dir: &Path| dir.parent().is_some_and(|parent| parent.ends_with("agents"));
    let database =
        [dir.join(DATABASE), dir.join("agent").join(DATABASE)].into_iter().find(|path| path.is_file());
    if dir.join("agents").is_dir() || config_in(dir).is_some() {
        Shape::StateDir(own)
    } else if let Some(database) = database {
        Shape::Database(database)
    } else if names.has("sessions.json")
        || (dir.ends_with("sessions") && dir.parent().is_some_and(is_agents_child))
    {
        Shape::Sessions(own)
    } else if below.has("sessions.json") || (sessions.is_dir() && is_agents_child(dir)) {
        Shape::Sessions(sessions)
    } else if below.any(is_pi_cwd_dir) || names.has("settings.json") && sessions.is_dir() {
        Shape::PiAgentDir(own)
    } else if names.any(is_pi_cwd_dir) || names.any(is_pi_transcript) || is_pi_dir_with(dir, &names) {
        Shape::PiSessions(own)
    } else if below.any(is_pi_transcript) {
        Shape::PiSessions(sessions)
    } else if names.any(is_jsonl) {
        Shape::Sessions(own)
    } else if below.any(is_jsonl) {
        Shape::Sessions(sessions)
    } else if holds_nested(dir) {
        Shape::PiSessions(own)
    } else {
        Shape::Nothing(own)
    }
}

/// A directory of one working directory of pi's, whatever its files are called.
fn is_pi_dir_with(dir: &Path, names: &Names) -> bool {
    let is_own = dir.file_name().is_some_and(|name| is_pi_cwd_dir(&name.to_string_lossy()));
    is_own && names.any(is_jsonl)
}

/// Whether pi's directories lie one or two levels further down, as where sessions are grouped by project.
fn holds_nested(dir: &Path) -> bool {
    let below = |dir: &Path| {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries.take(MAX_GROUPS).map(|entry| entry.path()).filter(|path| path.is_dir()).collect::<Vec<_>>()
    };
    let is_pis = |dir: &PathBuf| Names::of(dir).any(|name| is_pi_cwd_dir(name) || is_pi_transcript(name));
    let groups = below(dir);
    groups.iter().any(is_pis) || groups.iter().any(|group| below(group).iter().any(is_pis))
}

/// The names in a directory; none when it cannot be read.
struct Names(Vec<String>);

impl Names {
    fn of(dir: &Path) -> Self {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        Self(entries.filter_map(|entry| entry.file_name().into_string().ok()).collect())
    }

    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|own| own == name)
    }

    fn any(&self, test: fn(&str) -> bool) -> bool {
        self.0.iter().any(|name| test(name))
    }
}

/// pi's directory for one working directory (store R2).
pub fn is_pi_cwd_dir(name: &str) -> bool {
    name.len() >= 4 && name.starts_with("--") && name.ends_with("--")
}

/// `<ISO time with dashes>_<id>.jsonl`, as pi names its files (store R3).
pub(super) fn is_pi_transcript(name: &str) -> bool {
    let stem = name.strip_suffix(".jsonl").filter(|_| is_jsonl(name));
    let Some((time, id)) = stem.and_then(|stem| stem.split_once('_')) else {
        return false;
    };
    let shape: Vec<u8> = time.bytes().map(|b| if b.is_ascii_digit() { b'0' } else { b }).collect();
    shape == b"0000-00-00T00-00-00-000Z" && !id.is_empty()
}
