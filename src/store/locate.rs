//! Finds the transcript of a record (store E).
//!
//! A record may name any path: absolute, from another machine, or hostile. A path is followed only when it is below a
//! sessions dir of this store, or has the form `…/agents/<id>/sessions/<file>` of another store, which is flagged as
//! foreign. For a foreign path the file name is also looked up in the folder of the `sessions.json`.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Component, Path, PathBuf};

use super::archive::is_jsonl;
use super::key::parse_thread;
use super::session_records::SessionRecord;
use crate::diagnostic::{Diagnostic, Severity};
use crate::gateway::config::{GatewayConfig, normalise_agent_id};
use crate::gateway::env::{Environment, absolute};
use crate::gateway::substitute::is_secret_file;
use crate::js;

/// Path of an agent's `sessions.json` (store E1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorePath {
    /// Absolute path.
    pub path: PathBuf,
    /// Whether one file serves all agents.
    pub is_shared: bool,
    /// Whether the configured path is relative; only the running gateway knows its base.
    pub is_relative: bool,
}

/// Returns the `sessions.json` of an agent: `session.store`, else the usual path.
pub fn store_path(config: &GatewayConfig, env: &Environment, state: &Path, agent: &str) -> StorePath {
    let usual = || sessions_dir(state, agent).join("sessions.json");
    let configured = config.root.pointer("/session/store").and_then(serde_json::Value::as_str).map(str::trim);
    let Some(text) = configured.filter(|text| !text.is_empty()) else {
        return StorePath { path: usual(), is_shared: false, is_relative: false };
    };
    let shared = !text.contains("{agentId}");
    let text = text.replace("{agentId}", &normalise_agent_id(agent));
    let relative = Path::new(&text).is_relative() && !text.starts_with('~');
    StorePath { path: env.resolve(&text), is_shared: shared, is_relative: relative }
}

/// Returns `S/agents/A/sessions` (store A6).
pub fn sessions_dir(state: &Path, agent: &str) -> PathBuf {
    state.join("agents").join(agent).join("sessions")
}

/// Whether an id may be used as a file name (store E2).
fn is_safe_id(id: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    (1..=128).contains(&id.len()) && id.as_bytes()[0].is_ascii_alphanumeric() && id.bytes().all(allowed)
}

/// Folders in which a record's transcript may lie.
#[derive(Debug, Clone)]
pub struct TranscriptLocator<'a> {
    /// Folder of the `sessions.json`.
    pub sessions_dir: &'a Path,
    /// Agent of the record.
    pub agent: &'a str,
    /// State dir, for the usual folders of agents.
    pub state: &'a Path,
    /// Folder in which very old versions stored transcripts (store A9).
    pub legacy_dir: Option<&'a Path>,
    /// `sessions_dir` with links resolved.
    real_sessions_dir: PathBuf,
    /// `agents` of the state dir, with links resolved.
    real_agents_dir: PathBuf,
    /// Transcripts of threads in `sessions_dir` by session id; listed when a record first needs them.
    threads: OnceCell<HashMap<String, Vec<String>>>,
}

impl<'a> TranscriptLocator<'a> {
    /// Resolves the real paths once, for all records.
    pub fn new(
        sessions_dir: &'a Path,
        agent: &'a str,
        state: &'a Path,
        legacy_dir: Option<&'a Path>,
    ) -> Self {
        Self {
            sessions_dir,
            agent,
            state,
            legacy_dir,
            real_sessions_dir: real_path(sessions_dir),
            real_agents_dir: real_path(&state.join("agents")),
            threads: OnceCell::new(),
        }
    }

    /// Returns the transcript of a session in a thread (store E3): that of the record's thread, else the only one.
    fn thread_file(&self, row: &SessionRecord) -> Option<PathBuf> {
        let files =
            self.threads.get_or_init(|| list_threads(self.sessions_dir)).get(row.session_id.as_deref()?)?;
        let own = thread_id(row).and_then(|thread| files.iter().find(|name| names_thread(name, &thread)));
        let only = files.first().filter(|_| files.len() == 1);
        own.or(only).map(|name| self.sessions_dir.join(name))
    }

    /// Same as [`real_path`], but a file in the sessions dir that is not a link needs no lookup of its folder.
    fn real_path(&self, path: &Path) -> PathBuf {
        let name = path.file_name().filter(|_| path.parent() == Some(self.sessions_dir));
        let plain = path.symlink_metadata().is_ok_and(|meta| !meta.is_symlink());
        name.filter(|_| plain).map_or_else(|| real_path(path), |name| self.real_sessions_dir.join(name))
    }

    /// Whether a path is below a sessions dir of this store.
    fn contains(&self, path: &Path) -> bool {
        let agents =
            self.real_sessions_dir.parent().and_then(Path::parent).filter(|dir| dir.ends_with("agents"));
        let roots = [Some(self.real_sessions_dir.as_path()), agents, Some(self.real_agents_dir.as_path())];
        roots.into_iter().flatten().any(|root| path.starts_with(root))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocatedTranscript {
    /// The file to read or, when none exists, the one that the gateway would create.
    pub path: PathBuf,
    pub exists: bool,
    /// Whether the record names a path outside this store, such as one on another machine.
    pub is_foreign: bool,
}

/// Finds a record's transcript: the first candidate that is a file (store E6), else the first candidate. `None` when
/// the record has neither a usable id nor a usable `sessionFile`.
pub fn locate(row: &SessionRecord, place: &TranscriptLocator<'_>) -> Option<LocatedTranscript> {
    let named = row.session_file.as_deref();
    let resolved = named.and_then(|text| resolve_session_file(text, place));
    let outside = resolved.as_deref().is_some_and(|path| !place.contains(path));
    let foreign = named.is_some() && (resolved.is_none() || outside) || named.is_some_and(is_windows_path);
    // Records of a copied store still name the original paths; the file is in the folder of the `sessions.json`.
    let beside =
        named.filter(|_| foreign).and_then(transcript_file_name).map(|name| place.sessions_dir.join(name));
    let by_id = row.session_id.as_deref().filter(|id| is_safe_id(id)).map(|id| format!("{id}.jsonl"));
    let usual = sessions_dir(place.state, place.agent);
    let dirs = [Some(place.sessions_dir), Some(usual.as_path()), place.legacy_dir];
    let by_id = dirs.into_iter().flatten().filter_map(|dir| Some(dir.join(by_id.as_deref()?)));
    let resolved = resolved.filter(|_| !named.is_some_and(is_windows_path));
    let candidates: Vec<PathBuf> = resolved.into_iter().chain(beside).chain(by_id).collect();
    let found = candidates.iter().find(|path| path.is_file() && !is_secret_file(path)).cloned();
    let found = found.or_else(|| place.thread_file(row).filter(|_| named.is_none()));
    let exists = found.is_some();
    let path = found.or_else(|| candidates.into_iter().find(|path| !is_secret_file(path)))?;
    Some(LocatedTranscript { path, exists, is_foreign: foreign })
}

/// Resolves a record's `sessionFile` (rule E5); `None` when it must not be followed.
fn resolve_session_file(text: &str, place: &TranscriptLocator<'_>) -> Option<PathBuf> {
    let text = text.trim();
    let base = &place.real_sessions_dir;
    let given = Path::new(text);
    if text.is_empty() {
        return None;
    }
    if given.is_relative() {
        let path = absolute(base, given);
        // The gateway checks only leading dots; clawscope also refuses a path that leaves the folder later.
        return (!text.starts_with("..") && &path != base && path.starts_with(base)).then_some(path);
    }
    let path = place.real_path(&absolute(Path::new("/"), given));
    if let Some(inside) = resolve_below(base, &path) {
        return Some(inside);
    }
    let extracted = agent_in_path(&path);
    let agents = [Some(place.agent.to_owned()), extracted.map(str::to_owned)];
    let in_agent_dirs = agents.into_iter().flatten().map(|id| normalise_agent_id(&id)).find_map(|agent| {
        let sibling =
            sibling_sessions_dir(base, &agent).and_then(|dir| resolve_below(&real_path(&dir), &path));
        sibling.or_else(|| resolve_below(&real_path(&sessions_dir(place.state, &agent)), &path))
    });
    in_agent_dirs.or_else(|| is_store_shaped(&path, extracted?).then(|| path.clone()))
}

/// Separates the session id from the thread in a file name.
const TOPIC_SEPARATOR: &str = "-topic-";

fn list_threads(dir: &Path) -> HashMap<String, Vec<String>> {
    let mut threads: HashMap<String, Vec<String>> = HashMap::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some((id, _)) = name.split_once(TOPIC_SEPARATOR).filter(|_| is_jsonl(&name)) {
            threads.entry(id.to_owned()).or_default().push(name);
        }
    }
    threads
}

/// Returns the thread of a record: from its key, else the one it was last reached in.
fn thread_id(row: &SessionRecord) -> Option<String> {
    let reached = || {
        let raw = row.raw();
        let within = |part: &str| raw.get(part)?.get("threadId");
        let values = [raw.get("lastThreadId"), within("deliveryContext"), within("origin")];
        let given = values.into_iter().flatten().filter(|value| !value.is_null());
        given.map(|value| js::to_text(Some(value)).to_string_lossy()).find(|text| !text.is_empty())
    };
    parse_thread(&row.key).map(|thread| thread.id.to_owned()).or_else(reached)
}

/// Whether a file name belongs to a thread. Keys are in lower case, file names are percent-encoded.
fn names_thread(name: &str, thread: &str) -> bool {
    let own = name.split_once(TOPIC_SEPARATOR).and_then(|(_, rest)| rest.strip_suffix(".jsonl"));
    own.is_some_and(|own| percent_decode(own).to_lowercase() == thread.to_lowercase())
}

fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let hex = behind.get(..2).and_then(|hex| std::str::from_utf8(hex).ok()).filter(|_| *first == b'%');
        let code = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns `path` when it is below `dir`.
fn resolve_below(dir: &Path, path: &Path) -> Option<PathBuf> {
    (path != dir && path.starts_with(dir)).then(|| path.to_path_buf())
}

fn real_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

/// Returns the sibling `…/agents/<agent>/sessions` of a base of that shape.
fn sibling_sessions_dir(base: &Path, agent: &str) -> Option<PathBuf> {
    let agents = base.parent()?.parent()?;
    (base.ends_with("sessions") && agents.ends_with("agents")).then(|| agents.join(agent).join("sessions"))
}

/// Returns the segment before the last `sessions`, when the segment before that is `agents`.
fn agent_in_path(path: &Path) -> Option<&str> {
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    let at = parts.iter().rposition(|part| *part == "sessions").filter(|&at| at >= 2)?;
    (parts[at - 2] == "agents").then_some(parts[at - 1])
}

/// Whether the path is `…/agents/<id>/sessions/<single file>` with a normalised id.
fn is_store_shaped(path: &Path, agent: &str) -> bool {
    path.parent().is_some_and(|dir| dir.ends_with("sessions")) && normalise_agent_id(agent) == agent
}

fn is_windows_path(text: &str) -> bool {
    let bytes = text.trim().as_bytes();
    bytes.starts_with(b"\\\\")
        || matches!(bytes, [drive, b':', b'\\' | b'/', ..] if drive.is_ascii_alphabetic())
}

/// Returns the last part of a path of any system, when it can be a transcript.
fn transcript_file_name(text: &str) -> Option<&str> {
    let name = text.trim().rsplit(['/', '\\']).next()?;
    let plain = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    (plain && is_jsonl(name)).then_some(name)
}

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

#[cfg(test)]
#[path = "locate_tests.rs"]
mod tests;
