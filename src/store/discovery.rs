//! Lists every agent and session of a store without reading a transcript in full.
//!
//! Nothing here is fatal: a file that cannot be read becomes a diagnostic, and the rest is listed. A path may name any
//! part of a store, such as a state dir, one agent's folder, a database or a single transcript; clawscope then finds
//! the gateway around it, so that its configuration and rows apply.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::archive::{FileKind, classify};
use super::contents::{STORE_FILE_NAME, empty_store};
use super::foreign_file::ForeignFile;
use super::listed_files::{
    IMPORT_ARCHIVE, add_databases, add_moved_aside, add_records, add_unlisted, drop_duplicate_runs,
    mark_leftovers_of_databases, mark_locked, no_sessions_diagnostic, not_a_file_diagnostic, note_databases,
    real_path,
};
use super::locate::{Agent, find_agents, find_store_files, find_transcript_dirs};
use super::path_kind::{PathKind, agent_dir_of, classify_path, is_pi_cwd_dir};
use super::session::Session;
use super::session_builder::{
    session_from_archive, session_from_file, session_from_moved_aside, session_from_orphan,
};
use super::sqlite::SizeCache;
use super::{foreign_file, pi, sqlite};
use crate::diagnostic::{Diagnostic, Severity};
use crate::gateway::config::GatewayConfig;
use crate::gateway::env::{Environment, absolute};
use crate::gateway::state_dir::{config_in, config_path, legacy_sessions_dir, state_dir};
use crate::ids::SessionKey;

pub use super::contents::Store;
pub use super::database_info::DatabaseInfo;

/// Number of folders above a transcript to search for its `sessions.json`.
const MAX_PARENTS: usize = 4;

/// Lists the store at `path`, or the gateway's state dir for `None`. Relative paths start at `env.cwd`.
pub fn discover(path: Option<&Path>, env: &Environment) -> Store {
    discover_with(path, env, &SizeCache::default())
}

/// Does the same with a cache: the sizes of transcripts in databases.
pub fn discover_with(path: Option<&Path>, env: &Environment, sizes: &SizeCache) -> Store {
    let mut store = discover_at(path, &DiscoveryInputs { env, sizes });
    store.use_ruleset(store.detect_ruleset());
    store.use_refused_file_if_proved();
    store
}

#[derive(Debug, Clone, Copy)]
struct DiscoveryInputs<'a> {
    env: &'a Environment,
    sizes: &'a SizeCache,
}

fn discover_at(path: Option<&Path>, invocation: &DiscoveryInputs<'_>) -> Store {
    let env = invocation.env;
    let Some(path) = path else {
        let state = state_dir(env).path;
        let config = GatewayConfig::load(config_path(env, &state).as_deref(), env, &state);
        return if state.is_dir() {
            discover_gateway(PathKind::StateDir(state.clone()), state, config, invocation, None)
        } else {
            store_of_nothing(state, config)
        };
    };
    let path = absolute(&env.cwd, path);
    // The environment's configuration does not apply to a named store; the configuration next to that store does.
    let config_of = |state: &Path| GatewayConfig::load(config_in(state).as_deref(), env, state);
    match classify_path(&path) {
        PathKind::StateDir(state) => {
            let config = config_of(&state);
            discover_gateway(PathKind::StateDir(state.clone()), state, config, invocation, None)
        }
        PathKind::SessionsDir(dir) => {
            discover_agent(PathKind::SessionsDir(dir.clone()), &dir.join("sessions.json"), invocation)
        }
        PathKind::StoreFile(file) => discover_agent(PathKind::StoreFile(file.clone()), &file, invocation),
        PathKind::Transcript(file) => match foreign_file::recognise(&file) {
            None | Some(ForeignFile::Empty) => discover_transcript(&file, invocation),
            Some(kind) => store_of_foreign_file(file, kind),
        },
        PathKind::PiAgentDir(dir) => {
            let list = |dir: &Path, diagnostics: &mut Vec<Diagnostic>| {
                pi::list_agent_dir_sessions(dir, env, diagnostics)
            };
            discover_pi(PathKind::PiAgentDir(dir.clone()), &dir, list)
        }
        PathKind::PiSessionsDir(dir) => {
            discover_pi(PathKind::PiSessionsDir(dir.clone()), &dir, pi::list_sessions)
        }
        PathKind::Database(file) if sqlite::version_without_sessions(&file).is_some() => {
            let dir = sqlite::artifact_dir(&file);
            let mut store =
                discover_agent(PathKind::SessionsDir(dir.clone()), &dir.join(STORE_FILE_NAME), invocation);
            if store.diagnostics.iter().all(|finding| finding.path != file) {
                store.diagnostics.extend(no_sessions_diagnostic(&file));
            }
            store
        }
        PathKind::Database(file) => discover_database(&file, invocation),
        PathKind::Nothing(path) => store_of_nothing(path, GatewayConfig::empty()),
    }
}

fn store_of_nothing(path: PathBuf, config: GatewayConfig) -> Store {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (what, next) = match classify(&name) {
        FileKind::Recording if path.is_file() => {
            ("this is the gateway's recording of its runs, not a transcript", "pass the transcript beside it")
        }
        _ => {
            let what = if path.exists() { "contains no sessions" } else { "does not exist" };
            (
                what,
                "pass a state dir, an agent dir, a sessions dir, a sessions.json, a database or a transcript",
            )
        }
    };
    let finding = Diagnostic::new(&path, Severity::Error, what, next);
    let mut store = empty_store(PathKind::Nothing(path.clone()), path, config);
    store.diagnostics.push(finding);
    store
}

fn store_of_foreign_file(path: PathBuf, kind: ForeignFile) -> Store {
    let what = format!("this is {}; expected the JSON lines of a session", kind.describe());
    let next = "pass a state dir, an agent dir, a sessions dir, a sessions.json, a database or a transcript (*.jsonl)";
    let finding = Diagnostic::new(&path, Severity::Error, &what, next);
    let mut store = empty_store(PathKind::Nothing(path.clone()), path, GatewayConfig::empty());
    store.diagnostics.push(finding);
    store
}

/// Lists one database, with its agent and state dir when it is at the usual path.
fn discover_database(file: &Path, invocation: &DiscoveryInputs<'_>) -> Store {
    let own = file.parent().unwrap_or(Path::new("/"));
    let agent = own
        .parent()
        .filter(|agent| own.ends_with("agent") && agent.parent().is_some_and(|it| it.ends_with("agents")));
    let state = agent.and_then(|agent| agent.ancestors().nth(2)).unwrap_or(own).to_path_buf();
    let name = agent
        .and_then(Path::file_name)
        .map_or_else(|| "main".into(), |name| name.to_string_lossy().into_owned());
    let config = GatewayConfig::load(config_in(&state).as_deref(), invocation.env, &state);
    let mut store = empty_store(PathKind::Database(file.to_path_buf()), state, config);
    add_databases(&mut store, &[(name, file.to_path_buf())], invocation.sizes);
    let mut owners: Vec<String> = store.sessions.iter().map(|session| session.agent.clone()).collect();
    owners.sort();
    owners.dedup();
    store.agents =
        owners.into_iter().map(|id| Agent { id, is_on_disk: true, is_configured: false }).collect();
    let artifacts = sqlite::artifact_dir(file);
    let owner = store.agents.first().map_or_else(|| "main".to_owned(), |agent| agent.id.clone());
    if artifacts != own || agent.is_none() {
        add_unlisted(&mut store, &mut BTreeMap::new(), &[(owner, artifacts)]);
    }
    add_moved_aside(&mut store);
    mark_leftovers_of_databases(&mut store);
    make_keys_unique(&mut store.sessions);
    store.read_recorded_windows();
    store
}

fn discover_pi(
    shape: PathKind,
    dir: &Path,
    list: impl FnOnce(&Path, &mut Vec<Diagnostic>) -> Vec<Session>,
) -> Store {
    let mut store = empty_store(shape, dir.to_path_buf(), GatewayConfig::empty());
    store.sessions = list(dir, &mut store.diagnostics);
    if let Some(agent_dir) = agent_dir_of(&store.path_kind) {
        Arc::make_mut(&mut store.config).read_registry(pi::PI_AGENT, &agent_dir, &mut store.diagnostics);
    }
    make_keys_unique(&mut store.sessions);
    store.agents = vec![Agent { id: pi::PI_AGENT.to_owned(), is_on_disk: true, is_configured: false }];
    store
}

/// Returns the agent of a `sessions.json` and its state dir, when the file is at the usual path.
fn agent_of_store_file(rows: &Path) -> (String, PathBuf) {
    let dir = rows.parent().unwrap_or(Path::new("/"));
    let agent = dir.parent().filter(|_| dir.ends_with("sessions") || dir.ends_with(IMPORT_ARCHIVE));
    let agents = agent.and_then(Path::parent).filter(|agents| agents.ends_with("agents"));
    match (agent.and_then(Path::file_name), agents.and_then(Path::parent)) {
        (Some(agent), Some(state)) => (agent.to_string_lossy().into_owned(), state.to_path_buf()),
        _ => ("main".to_owned(), dir.to_path_buf()),
    }
}

fn discover_agent(shape: PathKind, rows: &Path, invocation: &DiscoveryInputs<'_>) -> Store {
    let (agent, state) = agent_of_store_file(rows);
    let config = GatewayConfig::load(config_in(&state).as_deref(), invocation.env, &state);
    discover_gateway(shape, state, config, invocation, Some((agent, rows.to_path_buf())))
}

/// Lists a single transcript: the surrounding store supplies its record, configuration and ruleset, but none of its
/// other sessions are listed.
fn discover_transcript(file: &Path, invocation: &DiscoveryInputs<'_>) -> Store {
    let shape = PathKind::Transcript(file.to_path_buf());
    if is_in_pi_dir(file) {
        return discover_pi(shape, file.parent().unwrap_or(file), |_, _| vec![pi::read_session(file)]);
    }
    let rows = find_store_file(file);
    let mut store = discover_agent(shape, &rows, invocation);
    let real = real_path(file);
    store
        .sessions
        .retain(|session| session.path.as_deref().is_some_and(|path| self::real_path(path) == real));
    if store.sessions.is_empty() {
        store.sessions.push(unlisted_session(file, &store, &agent_of_store_file(&rows).0));
    }
    store.sessions.truncate(1);
    mark_leftovers_of_databases(&mut store);
    // The record describes the file behind a link, but the user named the link: it is read, never written.
    if file.is_symlink() {
        store.sessions[0].path = Some(file.to_path_buf());
        store.sessions[0].load_file_metadata();
    }
    let kept = store.sessions[0].agent.clone();
    store.agents.retain(|agent| agent.id == kept);
    store
}

/// Builds the session of a transcript without a record, as the list of its folder would.
fn unlisted_session(file: &Path, store: &Store, agent: &str) -> Session {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    match classify(&name) {
        _ if !store.is_gateway() => session_from_file(file),
        FileKind::MovedAside(_) => session_from_moved_aside(file, agent),
        _ => session_from_archive(file, agent).unwrap_or_else(|| session_from_orphan(file, agent)),
    }
}

/// Returns the `sessions.json` that may list a transcript: in the same folder, or in a parent folder, since rows may
/// name files in subfolders.
fn find_store_file(file: &Path) -> PathBuf {
    let beside = file.with_file_name(STORE_FILE_NAME);
    let above = file.ancestors().skip(1).take(MAX_PARENTS).map(|dir| dir.join(STORE_FILE_NAME));
    above.into_iter().find(|rows| rows.is_file()).unwrap_or(beside)
}

/// Whether a transcript is in a folder that only pi uses.
fn is_in_pi_dir(file: &Path) -> bool {
    let above = || file.ancestors().skip(1).take(MAX_PARENTS);
    let in_cwd_dir =
        above().any(|dir| dir.file_name().is_some_and(|name| is_pi_cwd_dir(&name.to_string_lossy())));
    let is_pis = |shape: PathKind| matches!(shape, PathKind::PiSessionsDir(_) | PathKind::PiAgentDir(_));
    let listed_by = |dir: &Path| is_pis(classify_path(dir));
    in_cwd_dir || file.parent().is_some_and(listed_by)
}

/// Lists a gateway's store; only one agent's part when `only` names an agent and its `sessions.json`.
fn discover_gateway(
    shape: PathKind,
    state: PathBuf,
    config: GatewayConfig,
    invocation: &DiscoveryInputs<'_>,
    only: Option<(String, PathBuf)>,
) -> Store {
    let mut store = empty_store(shape, state, config);
    store.agents = find_agents(&store.config, &store.state_dir, &mut store.diagnostics);
    store.read_registries(invocation.env);
    let all_databases =
        sqlite::find_databases(&store.config, invocation.env, &store.state_dir, &store.agents);
    let is_whole = only.is_none();
    let files = match only {
        Some((agent, rows)) => {
            store.agents.retain(|own| own.id == agent);
            if store.agents.is_empty() {
                store.agents.push(Agent { id: agent.clone(), is_on_disk: true, is_configured: false });
            }
            vec![(agent, rows)]
        }
        None => find_store_files(
            &store.config,
            invocation.env,
            &store.state_dir,
            &store.agents,
            &mut store.diagnostics,
        ),
    };
    let databases = match &store.path_kind {
        PathKind::StoreFile(_) | PathKind::Transcript(_) => Vec::new(),
        _ if is_whole => all_databases.clone(),
        _ => sqlite::find_databases(&store.config, invocation.env, &store.state_dir, &store.agents),
    };
    add_databases(&mut store, &databases, invocation.sizes);
    if store.databases.is_empty() {
        note_databases(&mut store, &all_databases);
    }
    let ancient = legacy_sessions_dir(invocation.env);
    let mut listings = BTreeMap::new();
    for (agent, rows) in &files {
        add_records(&mut store, &mut listings, agent, rows, &ancient);
    }
    drop_duplicate_runs(&mut store.sessions);
    let is_single = matches!(store.path_kind, PathKind::Transcript(_));
    if !is_single {
        let dirs = find_transcript_dirs(&files, &store.state_dir);
        add_unlisted(&mut store, &mut listings, &dirs);
    }
    if matches!(store.path_kind, PathKind::StateDir(_) | PathKind::SessionsDir(_)) {
        add_moved_aside(&mut store);
    }
    if !is_single {
        mark_leftovers_of_databases(&mut store);
    }
    make_keys_unique(&mut store.sessions);
    mark_locked(&mut store.sessions, &mut listings);
    store.diagnostics.extend(store.sessions.iter().filter_map(not_a_file_diagnostic));
    store.read_recorded_windows();
    store
}

// Makes session keys unique. Users select sessions by key, so a shared key could show, and write to, the transcript of
// the wrong session.

/// Renames every session whose key is already used. A record whose own text is the key wins over one whose key was
/// completed (store D1), and records win over orphans and archives, which only have generated keys (store G2).
pub(super) fn make_keys_unique(sessions: &mut [Session]) {
    let own = |session: &Session| session.record.as_ref().is_some_and(|row| row.key.trim() == session.key.0);
    let mut taken = HashSet::new();
    let mut late = Vec::new();
    for rank in [true, false] {
        for at in (0..sessions.len()).filter(|at| own(&sessions[*at]) == rank) {
            if !taken.insert(sessions[at].key.0.clone()) {
                late.push(at);
            }
        }
    }
    for at in late {
        let key = unused_key(&sessions[at], &taken);
        taken.insert(key.clone());
        sessions[at].key = SessionKey(key);
    }
}

/// Returns a free key: the record's own text, that text with its agent, the file name, or the key with the id.
fn unused_key(session: &Session, taken: &HashSet<String>) -> String {
    let Session { key, agent, id, .. } = session;
    let raw = session.record.as_ref().map(|row| row.key.trim());
    let file = session.path.as_deref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
    let front = if key.0.starts_with("pi:") { "" } else { "agent:" };
    let named = match raw {
        Some(raw) if raw.starts_with("agent:") => None,
        Some(raw) => Some(format!("agent:{agent}:{raw}")),
        None => file.map(|file| format!("{front}{agent}:{file}")),
    };
    let numbered = (2_u32..).map(|count| format!("{key} ({id}) {count}"));
    let candidates = raw.map(str::to_owned).into_iter().chain(named).chain([format!("{key} ({id})")]);
    let free =
        candidates.chain(numbered).find(|candidate| !candidate.is_empty() && !taken.contains(candidate));
    free.unwrap_or_else(|| key.0.clone())
}

#[cfg(test)]
#[path = "discovery_tests.rs"]
mod tests;

#[cfg(test)]
mod unique_keys_tests {
    use std::ffi::OsStr;
    use std::io::Write as _;
    use std::path::Path;

    use crate::gateway::env::Environment;
    use crate::store::discovery::{Store, discover};

    fn store(files: &[(&str, &str)]) -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
        }
        let store = discover(Some(dir.path()), &Environment::default());
        (dir, store)
    }

    /// Returns the keys with the file names of their sessions.
    fn listed(store: &Store) -> Vec<(&str, &str)> {
        fn file(path: Option<&Path>) -> &str {
            path.and_then(Path::file_name).and_then(OsStr::to_str).unwrap()
        }
        store.sessions.iter().map(|session| (session.key.0.as_str(), file(session.path.as_deref()))).collect()
    }

    #[test]
    fn the_same_sentinel_in_two_agents_is_two_sessions() {
        let rows = r#"{"global":{"sessionId":"a"}}"#;
        let (_dir, store) = store(&[
            ("agents/main/sessions/sessions.json", rows),
            ("agents/ops/sessions/sessions.json", rows),
        ]);
        assert_eq!(listed(&store), [("global", "a.jsonl"), ("agent:ops:global", "a.jsonl")]);
    }

    #[test]
    fn a_row_keeps_its_key_next_to_a_short_key_and_an_orphan() {
        let rows = r#"{"main":{"sessionId":"short"},"agent:main:main":{"sessionId":"whole"}}"#;
        let (_dir, store) =
            store(&[("agents/main/sessions/sessions.json", rows), ("agents/main/sessions/main.jsonl", "")]);
        assert_eq!(
            listed(&store),
            [
                ("main", "short.jsonl"),
                ("agent:main:main", "whole.jsonl"),
                ("agent:main:main.jsonl", "main.jsonl")
            ]
        );
    }

    #[test]
    fn copies_of_one_pi_session_are_distinguished() {
        let header = "{\"type\":\"session\",\"version\":3,\"id\":\"x\",\"cwd\":\"/w\"}\n";
        let (_dir, store) = store(&[
            ("sessions/--w--/1_x.jsonl", header),
            ("sessions/--w--/2_x.jsonl", header),
            ("auth.json", ""),
        ]);
        assert_eq!(listed(&store), [("pi:x", "1_x.jsonl"), ("pi:2_x.jsonl", "2_x.jsonl")]);
    }
}
