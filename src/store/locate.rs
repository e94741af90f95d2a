//! From a session row to its transcript, staying inside the store (store E).

use std::path::{Component, Path, PathBuf};

use super::archive::is_jsonl;
use super::rows::Row;
use crate::gateway::config::{GatewayConfig, normalise_agent_id};
use crate::gateway::env::{Environment, absolute};
use crate::gateway::secrets::is_secret_file;

/// Where an agent's `sessions.json` is (store E1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorePath {
    /// Absolute.
    pub path: PathBuf,
    /// One file serves all agents.
    pub shared: bool,
    /// Configured with a relative path: where it starts is known only to the running gateway.
    pub relative: bool,
}

/// The store file of an agent: `session.store`, else the usual place.
pub fn store_path(config: &GatewayConfig, env: &Environment, state: &Path, agent: &str) -> StorePath {
    let usual = || sessions_dir(state, agent).join("sessions.json");
    let configured = config.root.pointer("/session/store").and_then(serde_json::Value::as_str).map(str::trim);
    let Some(text) = configured.filter(|text| !text.is_empty()) else {
        return StorePath { path: usual(), shared: false, relative: false };
    };
    let shared = !text.contains("{agentId}");
    let text = text.replace("{agentId}", &normalise_agent_id(agent));
    let relative = Path::new(&text).is_relative() && !text.starts_with('~');
    StorePath { path: env.resolve(&text), shared, relative }
}

/// `S/agents/A/sessions` (store A6).
pub fn sessions_dir(state: &Path, agent: &str) -> PathBuf {
    state.join("agents").join(agent).join("sessions")
}

/// Whether an id can name a file (store E2).
fn is_safe_id(id: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    (1..=128).contains(&id.len()) && id.as_bytes()[0].is_ascii_alphanumeric() && id.bytes().all(allowed)
}

/// Everything that decides where a row's transcript may be.
#[derive(Debug, Clone)]
pub struct Place<'a> {
    /// Directory of the store file.
    pub sessions_dir: &'a Path,
    /// Agent of the row.
    pub agent: &'a str,
    /// State dir, for agents' usual places.
    pub state: &'a Path,
    /// Where very old versions kept transcripts (store A9).
    pub ancient: Option<&'a Path>,
    /// `sessions_dir` without links.
    base: PathBuf,
    /// The state dir's `agents`, without links.
    agents: PathBuf,
}

impl<'a> Place<'a> {
    /// A place; asks the file system for the real paths once, for all rows.
    pub fn new(sessions_dir: &'a Path, agent: &'a str, state: &'a Path, ancient: Option<&'a Path>) -> Self {
        Self {
            sessions_dir,
            agent,
            state,
            ancient,
            base: real(sessions_dir),
            agents: real(&state.join("agents")),
        }
    }

    /// As [`real`]; of a file in the sessions dir it is enough to know that it is no link.
    fn real(&self, path: &Path) -> PathBuf {
        let name = path.file_name().filter(|_| path.parent() == Some(self.sessions_dir));
        let plain = path.symlink_metadata().is_ok_and(|meta| !meta.is_symlink());
        name.filter(|_| plain).map_or_else(|| real(path), |name| self.base.join(name))
    }

    /// Below a sessions dir of this store.
    fn holds(&self, path: &Path) -> bool {
        let agents = self.base.parent().and_then(Path::parent).filter(|dir| dir.ends_with("agents"));
        let roots = [Some(self.base.as_path()), agents, Some(self.agents.as_path())];
        roots.into_iter().flatten().any(|root| path.starts_with(root))
    }
}

/// A row's transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// The file to read or, when there is none yet, the one the gateway would make.
    pub path: PathBuf,
    /// Whether it is there.
    pub exists: bool,
    /// The row names a place outside this store, such as one on another machine.
    pub foreign: bool,
}

/// Finds a row's transcript: the first candidate that is a file (store E6), else the first candidate. `None` when
/// the row has neither a usable id nor a usable `sessionFile`.
pub fn locate(row: &Row, place: &Place<'_>) -> Option<Located> {
    let named = row.session_file.as_deref();
    let resolved = named.and_then(|text| resolve_session_file(text, place));
    let outside = resolved.as_deref().is_some_and(|path| !place.holds(path));
    let foreign = named.is_some() && (resolved.is_none() || outside) || named.is_some_and(is_windows_path);
    // A store that was copied here still names the places it came from; the file lies beside the rows.
    let beside = named.filter(|_| foreign).and_then(own_file_name).map(|name| place.sessions_dir.join(name));
    let by_id = row.session_id.as_deref().filter(|id| is_safe_id(id)).map(|id| format!("{id}.jsonl"));
    let usual = sessions_dir(place.state, place.agent);
    let dirs = [Some(place.sessions_dir), Some(usual.as_path()), place.ancient];
    let by_id = dirs.into_iter().flatten().filter_map(|dir| Some(dir.join(by_id.as_deref()?)));
    let resolved = resolved.filter(|_| !named.is_some_and(is_windows_path));
    let candidates: Vec<PathBuf> = resolved.into_iter().chain(beside).chain(by_id).collect();
    let found = candidates.iter().find(|path| path.is_file() && !is_secret_file(path)).cloned();
    let exists = found.is_some();
    let path = found.or_else(|| candidates.into_iter().find(|path| !is_secret_file(path)))?;
    Some(Located { path, exists, foreign })
}

/// Rule E5: the path a row's `sessionFile` stands for, or `None` when it is not to be followed.
fn resolve_session_file(text: &str, place: &Place<'_>) -> Option<PathBuf> {
    let text = text.trim();
    let base = &place.base;
    let given = Path::new(text);
    if text.is_empty() {
        return None;
    }
    if given.is_relative() {
        let path = absolute(base, given);
        // The gateway looks only at the first dots; a detour that leaves the directory later is refused here as well.
        return (!text.starts_with("..") && &path != base && path.starts_with(base)).then_some(path);
    }
    let path = place.real(&absolute(Path::new("/"), given));
    if let Some(inside) = below(base, &path) {
        return Some(inside);
    }
    let extracted = agent_in_path(&path);
    let agents = [Some(place.agent.to_owned()), extracted.map(str::to_owned)];
    let in_agent_dirs = agents.into_iter().flatten().map(|id| normalise_agent_id(&id)).find_map(|agent| {
        let sibling = sibling_sessions_dir(base, &agent).and_then(|dir| below(&real(&dir), &path));
        sibling.or_else(|| below(&real(&sessions_dir(place.state, &agent)), &path))
    });
    in_agent_dirs.or_else(|| is_store_shaped(&path, extracted?).then(|| path.clone()))
}

/// `path` when it lies below `dir`.
fn below(dir: &Path, path: &Path) -> Option<PathBuf> {
    (path != dir && path.starts_with(dir)).then(|| path.to_path_buf())
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

/// `…/agents/<agent>/sessions` beside a base of that shape.
fn sibling_sessions_dir(base: &Path, agent: &str) -> Option<PathBuf> {
    let agents = base.parent()?.parent()?;
    (base.ends_with("sessions") && agents.ends_with("agents")).then(|| agents.join(agent).join("sessions"))
}

/// The segment before the last `sessions` whose grandparent is `agents`.
fn agent_in_path(path: &Path) -> Option<&str> {
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    let at = parts.iter().rposition(|part| *part == "sessions").filter(|&at| at >= 2)?;
    (parts[at - 2] == "agents").then_some(parts[at - 1])
}

/// `…/agents/<id>/sessions/<single file>` with a normalised id.
fn is_store_shaped(path: &Path, agent: &str) -> bool {
    path.parent().is_some_and(|dir| dir.ends_with("sessions")) && normalise_agent_id(agent) == agent
}

fn is_windows_path(text: &str) -> bool {
    let bytes = text.trim().as_bytes();
    bytes.starts_with(b"\\\\")
        || matches!(bytes, [drive, b':', b'\\' | b'/', ..] if drive.is_ascii_alphabetic())
}

/// The last part of a path of any system, if it can be a transcript.
fn own_file_name(text: &str) -> Option<&str> {
    let name = text.trim().rsplit(['/', '\\']).next()?;
    let plain = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    (plain && is_jsonl(name)).then_some(name)
}

#[cfg(test)]
#[path = "locate_tests.rs"]
mod tests;
