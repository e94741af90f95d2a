//! Lists every agent and session of a store without reading a transcript in full.
//!
//! Nothing here is fatal: a file that cannot be read becomes a diagnostic, and the rest is listed. A path may name any
//! part of a store, such as a state dir, one agent's folder, a database or a single transcript; clawscope then finds
//! the gateway around it, so that its configuration and rows apply.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::agents::{Agent, find_agents, find_store_files, find_transcript_dirs};
use super::archive::{FileKind, classify};
use super::era::detect_era;
use super::foreign_file::{self, ForeignFile};
use super::listing::DirListing;
use super::locate::{TranscriptLocator, locate};
use super::location::Location;
use super::path_kind::{PathKind, classify_path, is_pi_cwd_dir};
use super::pi;
use super::pi_dirs::{agent_dir_of, load_settings};
use super::session::{Flag, Session};
use super::session_builder::{
    session_from_archive, session_from_file, session_from_moved_aside, session_from_orphan,
    session_from_record,
};
use super::session_records::load_records;
use super::sqlite::{self, Database, SizeCache};
use super::unique_keys::make_keys_unique;
use crate::diagnostic::{Diagnostic, Severity};
use crate::gateway::config::GatewayConfig;
use crate::gateway::env::{Environment, absolute};
use crate::gateway::ruleset::{Era, RulesetChoice};
use crate::gateway::secrets::is_secret_file;
use crate::gateway::state_dir::{config_in, config_path, legacy_sessions_dir, state_dir};
use crate::ids::SessionKey;

pub use super::database_info::DatabaseInfo;

const STORE_FILE_NAME: &str = "sessions.json";
/// Number of folders above a transcript to search for its `sessions.json`.
const MAX_PARENTS: usize = 4;
/// Folder of an agent to which an import moves the files that it read into a database (sqlite A6).
const IMPORT_ARCHIVE: &str = "session-sqlite-import-archive";

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
}

impl Store {
    /// Reads the models from the agents' own registries (store A8).
    pub fn read_registries(&mut self, env: &Environment) {
        let agents = self.agents.iter().map(|agent| agent.id.as_str());
        let config = Arc::make_mut(&mut self.config);
        config.read_registries(env, &self.state_dir, agents, &mut self.diagnostics);
    }

    /// Maps the unique keys to the sessions.
    pub fn sessions_by_key(&self) -> HashMap<&SessionKey, &Session> {
        self.sessions.iter().map(|session| (&session.key, session)).collect()
    }

    /// Whether something besides transcripts shows that a gateway stores its sessions here.
    pub fn is_gateway(&self) -> bool {
        self.config.path.as_deref().is_some_and(Path::exists)
            || self.state_dir.join("agents").is_dir()
            || self.state_dir.join(STORE_FILE_NAME).is_file()
    }

    /// Detects the ruleset from configuration and files.
    pub fn detect_ruleset(&self) -> RulesetChoice {
        let era = detect_era(&self.path_kind, &self.sessions, &self.databases);
        let chosen = RulesetChoice::detect(&self.config, &era);
        let settings = (era == Era::Pi).then(|| load_settings(&self.path_kind, None)).flatten();
        chosen.or_pi_version(settings.and_then(|settings| settings.last_version()))
    }
}

/// Lists the store at `path`, or the gateway's state dir for `None`. Relative paths start at `env.cwd`.
pub fn discover(path: Option<&Path>, env: &Environment) -> Store {
    discover_with(path, env, &SizeCache::default())
}

/// Does the same with a cache: the sizes of transcripts in databases.
pub fn discover_with(path: Option<&Path>, env: &Environment, sizes: &SizeCache) -> Store {
    let store = discover_at(path, &DiscoveryInputs { env, sizes });
    Store { ruleset: store.detect_ruleset(), ..store }
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
            let list =
                |dir: &Path, findings: &mut Vec<Diagnostic>| pi::list_agent_dir_sessions(dir, env, findings);
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

fn empty_store(shape: PathKind, state_dir: PathBuf, config: GatewayConfig) -> Store {
    let config = Arc::new(config);
    let error = config.error.as_ref().map(Diagnostic::from);
    let findings = error.into_iter().chain(config.diagnostics.iter().cloned()).collect();
    let ruleset = RulesetChoice::default();
    Store {
        path_kind: shape,
        state_dir,
        config,
        ruleset,
        databases: Vec::new(),
        agents: Vec::new(),
        sessions: Vec::new(),
        diagnostics: findings,
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
            (what, "pass a state dir, a sessions folder, a sessions.json or a transcript")
        }
    };
    let finding = Diagnostic::new(&path, Severity::Error, what, next);
    let mut store = empty_store(PathKind::Nothing(path.clone()), path, config);
    store.diagnostics.push(finding);
    store
}

fn store_of_foreign_file(path: PathBuf, kind: ForeignFile) -> Store {
    let what = format!("this is {}; expected the JSON lines of a session", kind.describe());
    let next = "pass a transcript (*.jsonl), a sessions folder, a sessions.json or a state dir";
    let finding = Diagnostic::new(&path, Severity::Error, &what, next);
    let mut store = empty_store(PathKind::Nothing(path.clone()), path, GatewayConfig::empty());
    store.diagnostics.push(finding);
    store
}

/// Lists one database, with its agent and state dir when it lies at the usual path.
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
    store
}

/// Adds the sessions of databases, each found for an agent. A database without sessions serves another purpose.
fn add_databases(store: &mut Store, files: &[(String, PathBuf)], sizes: &SizeCache) {
    for (agent, path) in files {
        match Database::open(path) {
            Ok(database) => add_database(store, agent, &database, sizes),
            Err(error) if is_worth_reporting(store, path) => {
                let finding = Diagnostic::new(path, Severity::Error, error.to_string(), error.next_step());
                store.diagnostics.push(finding);
                store.databases.push(DatabaseInfo { path: path.clone(), schema: None });
            }
            Err(_) if std::fs::metadata(path).is_ok_and(|meta| meta.len() == 0) => {
                let what = "the database is empty (0 bytes): it contains no sessions";
                let next = "the gateway fills it when it starts; if it contained sessions before, restore it from a \
                     backup";
                store.diagnostics.push(Diagnostic::new(path, Severity::Warning, what, next));
            }
            Err(_) => store.diagnostics.extend(no_sessions_diagnostic(path)),
        }
    }
}

/// Returns a note that this database is from a release that keeps sessions in files, so that nobody searches it for
/// them.
fn no_sessions_diagnostic(path: &Path) -> Option<Diagnostic> {
    let version = sqlite::version_without_sessions(path)?;
    let what = format!(
        "contains no sessions: schema version {version} belongs to releases 2026.6.11 to 2026.7.35, which \
         keep sessions in files"
    );
    Some(Diagnostic::new(path, Severity::Note, what, sqlite::NO_SESSIONS_HINT))
}

/// Records databases whose sessions are not listed: their existence decides the version of the gateway, whichever part
/// of its store was named.
fn note_databases(store: &mut Store, files: &[(String, PathBuf)]) {
    for (_, path) in files {
        let schema = Database::open(path).ok().map(|database| database.schema().clone());
        if schema.is_some()
            || is_worth_reporting(store, path) && path.metadata().is_ok_and(|meta| meta.len() > 0)
        {
            store.databases.push(DatabaseInfo { path: path.clone(), schema });
        }
    }
}

/// Whether to report a database that could not be opened: the user named it, or it holds sessions (sqlite A7). An
/// unreadable database counts as holding sessions, because silence would look like an empty store.
fn is_worth_reporting(store: &Store, path: &Path) -> bool {
    matches!(&store.path_kind, PathKind::Database(own) if own == path)
        || sqlite::has_sessions(path).unwrap_or(true)
}

fn add_database(store: &mut Store, agent: &str, database: &Database, sizes: &SizeCache) {
    let schema = database.schema();
    let owner = schema.agent.clone().unwrap_or_else(|| agent.to_owned());
    let mut note = |severity, what: String, next: &str| {
        store.diagnostics.push(Diagnostic::new(database.path(), severity, what, next));
    };
    if schema.is_older_than_known() {
        let what = format!("the database has the older schema version {}", schema.version);
        note(
            Severity::Note,
            what,
            "clawscope reads its tables like those of version 23; `openclaw doctor` migrates it",
        );
    }
    if database.is_immutable() {
        let what = "opened as an unchanging file, because clawscope may not write in its folder".to_owned();
        note(Severity::Note, what, "reload to see what a running gateway writes");
    }
    store.databases.push(DatabaseInfo { path: database.path().to_path_buf(), schema: Some(schema.clone()) });
    let added = sqlite::add_sessions(database, &owner, &mut store.sessions, &mut store.diagnostics, sizes);
    if let Err(error) = added {
        let what = format!("cannot read its sessions: {error}");
        let next = "reload; if the error stays, run `openclaw doctor`";
        store.diagnostics.push(Diagnostic::new(database.path(), Severity::Error, what, next));
    }
}

/// Marks every file beside a database as imported or not.
fn mark_leftovers_of_databases(store: &mut Store) {
    for holding in store.databases.clone() {
        let Some(agent) = holding.schema.as_ref().and_then(|schema| schema.agent.clone()) else { continue };
        // It opened a moment ago; if it no longer does, its files stay unmarked.
        let Ok(database) = Database::open(&holding.path) else { continue };
        sqlite::mark_leftovers(&database, &agent, &mut store.sessions, &mut store.diagnostics);
    }
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

/// Returns the agent of a `sessions.json` and its state dir, when the file lies at the usual path.
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

/// Returns the `sessions.json` that may list a transcript: beside it, or in a parent folder, since rows may name files
/// in subfolders.
fn find_store_file(file: &Path) -> PathBuf {
    let beside = file.with_file_name(STORE_FILE_NAME);
    let above = file.ancestors().skip(1).take(MAX_PARENTS).map(|dir| dir.join(STORE_FILE_NAME));
    above.into_iter().find(|rows| rows.is_file()).unwrap_or(beside)
}

/// Whether a transcript lies in a folder that only pi uses.
fn is_in_pi_dir(file: &Path) -> bool {
    let above = || file.ancestors().skip(1).take(MAX_PARENTS);
    let in_cwd_dir =
        above().any(|dir| dir.file_name().is_some_and(|name| is_pi_cwd_dir(&name.to_string_lossy())));
    let is_pis = |shape: PathKind| matches!(shape, PathKind::PiSessionsDir(_) | PathKind::PiAgentDir(_));
    let listed_by = |dir: &Path| is_pis(classify_path(dir));
    in_cwd_dir || file.parent().is_some_and(listed_by)
}

fn real_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

/// Resolved folders, each looked up once: a file that is not a link resolves to its folder's real path plus its name.
#[derive(Debug, Default)]
struct RealPathCache(HashMap<PathBuf, PathBuf>);

impl RealPathCache {
    /// Same as [`real_path`].
    fn real_path(&mut self, path: &Path) -> PathBuf {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return real_path(path) };
        match path.symlink_metadata() {
            Ok(meta) if meta.is_symlink() => real_path(path),
            Ok(_) => match self.0.get(folder) {
                Some(known) => known.join(name),
                None => self.0.entry(folder.to_path_buf()).or_insert_with(|| real_path(folder)).join(name),
            },
            Err(_) => path.to_path_buf(),
        }
    }
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
    store
}

fn add_records(
    store: &mut Store,
    listings: &mut BTreeMap<PathBuf, DirListing>,
    agent: &str,
    file: &Path,
    ancient: &Path,
) {
    let loaded = load_records(file);
    store.diagnostics.extend(loaded.diagnostics);
    let dir = file.parent().unwrap_or(Path::new("/"));
    listings.entry(dir.to_path_buf()).or_insert_with(|| DirListing::read(dir));
    let place = TranscriptLocator::new(dir, agent, &store.state_dir, Some(ancient));
    for row in loaded.records {
        let located = locate(&row, &place);
        if located.is_none() {
            let what = "the row has neither a usable sessionId nor a usable sessionFile";
            let next = "clawscope lists the session without a transcript";
            store
                .diagnostics
                .push(Diagnostic::new(file, Severity::Warning, what, next).about(row.key.clone()));
        }
        store.sessions.push(session_from_record(row, agent, located));
    }
}

/// Drops the second key of a cron run where the first has the same transcript (store D4).
fn drop_duplicate_runs(sessions: &mut Vec<Session>) {
    let twin = |session: &Session| super::key::is_cron_run(&session.key.0);
    let place = |session: &Session| (session.agent.clone(), session.path.clone());
    let runs: HashSet<_> = sessions.iter().filter(|s| twin(s)).map(place).collect();
    let bases: HashSet<_> = sessions.iter().filter(|s| !twin(s)).map(place).collect();
    sessions.retain(|session| !twin(session) || !bases.contains(&place(session)));
    for session in sessions.iter_mut().filter(|s| !twin(s) && s.path.is_some()) {
        if runs.contains(&place(session)) {
            session.add_flag(Flag::DuplicateRun);
        }
    }
}

/// Adds transcripts without a record in any store, and archives (store G, F).
fn add_unlisted(store: &mut Store, listings: &mut BTreeMap<PathBuf, DirListing>, dirs: &[(String, PathBuf)]) {
    let mut folders = RealPathCache::default();
    let paths = store.sessions.iter().filter_map(|session| session.path.as_deref());
    let named: HashSet<PathBuf> = paths.map(|path| folders.real_path(path)).collect();
    for (agent, dir) in dirs {
        let listing = listings.entry(dir.clone()).or_insert_with(|| DirListing::read(dir));
        store.diagnostics.append(&mut listing.diagnostics);
        let mut is_free = |path: &PathBuf| {
            !named.contains(&folders.real_path(path)) && !path.is_dir() && !is_secret_file(path)
        };
        let orphans = listing.transcripts.iter().map(|name| dir.join(name)).filter(&mut is_free);
        store.sessions.extend(orphans.map(|path| session_from_orphan(&path, agent)));
        // The archives of a database may also exist as files.
        let known: HashSet<String> = store.sessions.iter().filter_map(published_archive_name).collect();
        let archives = listing.archives.iter().filter(|name| !known.contains(*name));
        let archives = archives.map(|name| dir.join(name)).filter(is_free);
        store.sessions.extend(archives.filter_map(|path| session_from_archive(&path, agent)));
    }
}

/// Adds the files that an import moved aside when it read an agent's files into its database (sqlite A6).
fn add_moved_aside(store: &mut Store) {
    for agent in store.agents.clone() {
        let dir = store.state_dir.join("agents").join(&agent.id).join(IMPORT_ARCHIVE);
        let mut listing = DirListing::read(&dir);
        store.diagnostics.append(&mut listing.diagnostics);
        store.sessions.extend(
            listing.moved_aside.iter().map(|name| session_from_moved_aside(&dir.join(name), &agent.id)),
        );
    }
}

/// Returns the file name under which a database publishes this archive (sqlite C9).
fn published_archive_name(session: &Session) -> Option<String> {
    let in_database = matches!(session.location, Location::DatabaseArchive { .. });
    let name = session.path.as_deref().filter(|_| in_database)?.file_name()?.to_string_lossy().into_owned();
    name.rsplit_once('#').map(|(_, name)| name.to_owned())
}

/// Reports a path that exists but is not a readable transcript file.
fn not_a_file_diagnostic(session: &Session) -> Option<Diagnostic> {
    let path = session
        .path
        .as_deref()
        .filter(|_| session.has_flag(Flag::Missing) && session.location == Location::File)?;
    let what = match path.symlink_metadata().ok()? {
        meta if meta.is_symlink() => "the link does not lead to a regular file",
        _ => "not a regular file",
    };
    let next = "put the transcript there; until then clawscope lists the session without one";
    Some(Diagnostic::new(path, Severity::Warning, what, next).about(session.key.0.clone()))
}

fn mark_locked(sessions: &mut [Session], listings: &mut BTreeMap<PathBuf, DirListing>) {
    for session in sessions.iter_mut().filter(|session| !session.is_archived()) {
        let Some((dir, name)) =
            session.path.as_deref().and_then(|path| Some((path.parent()?, path.file_name()?)))
        else {
            continue;
        };
        let name = name.to_string_lossy().into_owned();
        let listing = listings.entry(dir.to_path_buf()).or_insert_with(|| DirListing::read(dir));
        if listing.locked_names.contains(&name) {
            session.add_flag(Flag::Locked);
        }
    }
}

#[cfg(test)]
#[path = "discovery_tests.rs"]
mod tests;
